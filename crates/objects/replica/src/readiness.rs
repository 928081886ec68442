//! What members' engines make of versions of types. Each member tells the leader when its engine is done with a version, and
//! whether it rejects it. The leader puts a verdict into the log when every member that is alive, a majority at the least, is
//! done: so no member stands still at calls of a version that it has not compiled. A version is rejected if one engine rejects
//! it; one that is ready already is closed then, and opened again when no engine does any more.
//!
//! A member that is alive and never done holds a verdict up for a bounded time. It applies nothing more then until it is
//! done, and refuses its clients with what it waits for ([`Readiness::waits_for`]); the others go on.

use std::collections::BTreeMap;
use std::sync::Arc;

use base::MonoTime;
use consensus_raft::MemberId;
use consensus_replica::View;
use objects_state::guest::{Engine, VersionHash};
use objects_state::{Command, OpenVersion, Problem, Slug, Stage, State, TypeId, Verdict};

use crate::VERDICTS_LEVEL;
use crate::group::Group;
use crate::message::{ObjectsMessage, VERSIONS_MAX};

/// How often the engine is asked while it works, milliseconds.
pub(crate) const ASK_MS: u64 = 20;
/// After how long what was proposed and not applied is taken for lost, milliseconds.
const LOST_MS: u64 = 2_000;
/// After how long the leader is told again what it may not have heard, milliseconds.
const TELL_AGAIN_MS: u64 = 200;
/// How long a member that is alive is waited for when a majority is done, milliseconds: the largest runners are compiled in a
/// tenth of that.
const PATIENCE_MS: u64 = 120_000;
/// After how long a client is to come again that this member refuses, milliseconds.
const RETRY_MS: u64 = 1_000;

/// Why an engine rejects a version, if it does.
type Opinion = Option<String>;

/// See the module.
pub(crate) struct Readiness {
    engine: Arc<dyn Engine>,
    /// Which versions the state has, as of so many changes of them.
    open: Vec<OpenVersion>,
    changes: Option<u64>,
    level: u32,
    /// Versions that the log says are ready, and with which this engine was not done.
    missing: Vec<OpenVersion>,
    /// Versions that are ready and that this engine rejects.
    rejected: BTreeMap<VersionHash, String>,
    /// What other members have said to this leader.
    said: BTreeMap<VersionHash, BTreeMap<MemberId, Opinion>>,
    /// Since when a majority has been done.
    done_since: BTreeMap<VersionHash, MonoTime>,
    /// When the leader was told last.
    told: BTreeMap<VersionHash, MonoTime>,
    proposed: Vec<((TypeId, VersionHash), MonoTime)>,
}

impl Readiness {
    pub(crate) fn new(state: &State) -> Self {
        let mut readiness = Self {
            engine: Arc::clone(state.engine()),
            open: Vec::new(),
            changes: None,
            level: 0,
            missing: Vec::new(),
            rejected: BTreeMap::new(),
            said: BTreeMap::new(),
            done_since: BTreeMap::new(),
            told: BTreeMap::new(),
            proposed: Vec::new(),
        };
        readiness.look(state);
        readiness
    }

    /// Another state has come.
    pub(crate) fn look_anew(&mut self, state: &State) {
        self.changes = None;
        self.look(state);
    }

    /// Commands were applied.
    pub(crate) fn look(&mut self, state: &State) {
        self.level = state.feature_level();
        let is_news = self.changes != Some(state.types_changes());
        if is_news {
            self.changes = Some(state.types_changes());
            self.open = state.open_versions();
            self.forget_closed();
        }
        if is_news {
            self.ask_engine();
        }
        self.ask_again();
    }

    /// The engine may be done with what was missing.
    fn ask_again(&mut self) {
        if !self.missing.is_empty() && !self.must_wait() {
            self.ask_engine();
        }
    }

    /// Nothing is kept of versions that there are no more, or that have their verdict.
    fn forget_closed(&mut self) {
        let open = &self.open;
        let has = |hash: &VersionHash| open.iter().any(|version| version.hash == *hash);
        self.said.retain(|hash, _| has(hash));
        self.told.retain(|hash, _| has(hash));
        self.done_since.retain(|hash, _| {
            open.iter().any(|version| version.hash == *hash && version.stage != Stage::Ready)
        });
        self.proposed.clear();
    }

    /// What this engine makes of the versions that are ready.
    fn ask_engine(&mut self) {
        let ready = self.open.iter().filter(|version| version.stage == Stage::Ready);
        let (done, missing): (Vec<_>, Vec<_>) =
            ready.cloned().partition(|version| self.engine.is_done(version.hash));
        self.missing = if self.engine.unfinished() == 0 { Vec::new() } else { missing };
        let rejected =
            |version: OpenVersion| Some((version.hash, self.engine.ready(version.hash).err()?.detail));
        self.rejected = done.into_iter().filter_map(rejected).collect();
    }

    /// What this engine makes of a version, once it is done.
    fn own(&self, hash: VersionHash) -> Option<Opinion> {
        let is_done = self.engine.is_done(hash);
        is_done.then(|| self.engine.ready(hash).err().map(|rejected| rejected.detail))
    }

    /// Another member is done with versions. One that does not matter any more is none of these.
    pub(crate) fn hear(&mut self, from: MemberId, versions: Vec<(VersionHash, Opinion)>) {
        for (hash, opinion) in versions {
            if self.open.iter().any(|version| version.hash == hash) {
                self.said.entry(hash).or_default().insert(from, opinion);
            }
        }
    }

    /// The leader is told what it may not have heard.
    pub(crate) fn report(&mut self, leader: Option<MemberId>, group: &mut Group) {
        let Some(leader) = leader.filter(|leader| *leader != group.view().own()) else { return };
        self.ask_again();
        if self.level < VERDICTS_LEVEL || !self.has_news() {
            return;
        }
        let now = group.now().mono();
        let is_due = |told: Option<&MonoTime>| told.is_none_or(|at| now >= at.plus_ms(TELL_AGAIN_MS));
        let due = self.open.iter().filter(|version| is_due(self.told.get(&version.hash)));
        let due = due.filter_map(|version| Some((version.hash, self.news_of(version)?)));
        let versions: Vec<_> = due.take(VERSIONS_MAX).collect();
        if !versions.is_empty() {
            self.told.extend(versions.iter().map(|(hash, _)| (*hash, now)));
            group.send(leader, ObjectsMessage::Compiled(versions));
        }
    }

    /// Whether there may be anything to tell, or to decide.
    fn has_news(&self) -> bool {
        !self.rejected.is_empty() || self.open.iter().any(|version| version.stage != Stage::Ready)
    }

    /// What the leader should know of a version.
    fn news_of(&self, version: &OpenVersion) -> Option<Opinion> {
        match version.stage {
            Stage::Preparing | Stage::Closed => self.own(version.hash),
            Stage::Ready => self.rejected.get(&version.hash).map(|detail| Some(detail.clone())),
        }
    }

    /// What this leader is to say now.
    pub(crate) fn due(&mut self, view: &View) -> Vec<Command> {
        self.ask_again();
        if !self.has_news() && self.said.is_empty() {
            return Vec::new();
        }
        let now = view.now.mono();
        self.proposed.retain(|(_, at)| now < at.plus_ms(LOST_MS));
        let mut commands = Vec::new();
        for version in self.open.clone() {
            let key = (version.kind, version.hash);
            if self.proposed.iter().all(|(known, _)| *known != key)
                && let Some(command) = self.command(&version, view)
            {
                self.proposed.push((key, now));
                commands.push(command);
            }
        }
        commands
    }

    fn command(&mut self, version: &OpenVersion, view: &View) -> Option<Command> {
        let (kind, hash) = (version.kind, version.hash);
        if self.level < VERDICTS_LEVEL {
            let is_ready = version.stage == Stage::Preparing && self.engine.is_done(hash);
            return is_ready.then_some(Command::TypeReady { kind, version: hash });
        }
        let own = self.own(hash);
        let rejected = own.clone().flatten().or_else(|| self.rejected_elsewhere(hash, view));
        let rejected = match (version.stage, rejected) {
            (Stage::Preparing | Stage::Ready, Some(detail)) => Some(detail),
            (Stage::Preparing | Stage::Closed, None) if own.is_some() && self.is_done(hash, view) => None,
            _ => return None,
        };
        let described = if rejected.is_none() { self.engine.description(hash) } else { None };
        Some(Command::TypeVerdict { kind, version: hash, verdict: Verdict { rejected, described } })
    }

    /// Why a member's engine rejects a version, if one does.
    fn rejected_elsewhere(&self, hash: VersionHash, view: &View) -> Option<String> {
        let others = view.others();
        let said = self.said.get(&hash)?.iter().filter(|(member, _)| others.contains(member));
        let mut rejected = said.filter_map(|(member, opinion)| Some((member, opinion.as_ref()?)));
        rejected.next().map(|(member, detail)| format!("member {}: {detail}", member.number().0))
    }

    /// Whether all have said so who can be expected to: a majority of those who vote, this member included, and every member
    /// that is alive, unless that has taken too long.
    fn is_done(&mut self, hash: VersionHash, view: &View) -> bool {
        let nobody = BTreeMap::new();
        let said = self.said.get(&hash).unwrap_or(&nobody);
        let voters = said.keys().filter(|member| view.is_voter(**member)).count();
        if voters + usize::from(view.is_voter(view.own())) < view.members().majority() {
            self.done_since.remove(&hash);
            return false;
        }
        let now = view.now.mono();
        let since = *self.done_since.entry(hash).or_insert(now);
        let is_waited_for = |member: &MemberId| {
            view.heard_at(*member) > MonoTime::ZERO && view.lives(*member) && !said.contains_key(member)
        };
        !view.others().iter().any(is_waited_for) || now >= since.plus_ms(PATIENCE_MS)
    }

    /// Another leads, or leads in another term: it was told nothing, and has heard nothing.
    pub(crate) fn leader_changed(&mut self) {
        self.forget_proposed();
        self.told.clear();
        self.said.clear();
        self.done_since.clear();
    }

    /// What was proposed is lost.
    pub(crate) fn forget_proposed(&mut self) {
        self.proposed.clear();
    }

    /// Whether the engine is to be asked again in a while.
    pub(crate) fn is_open(&self) -> bool {
        !self.missing.is_empty()
            || !self.rejected.is_empty()
            || self.open.iter().any(|version| version.stage == Stage::Preparing)
    }

    /// Whether commands may run a version with which this engine is not done.
    pub(crate) fn must_wait(&self) -> bool {
        self.missing.iter().any(|version| !self.engine.is_done(version.hash))
    }

    /// What a client is told while this member applies nothing for that reason.
    pub(crate) fn waits_for(&self) -> Option<Problem> {
        let missing: Vec<_> =
            self.missing.iter().filter(|version| !self.engine.is_done(version.hash)).collect();
        let first = missing.first()?;
        let more = if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
        let short: String = first.hash.to_string().chars().take(12).collect();
        let detail = format!(
            "this member still compiles version {short} of type `{}`{more}: ask another one",
            first.name
        );
        Some(Problem { retry_after_ms: Some(RETRY_MS), ..Problem::new(Slug::TypeNotReady, detail) })
    }
}
