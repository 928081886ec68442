//! Runs of modules that go on beside the commands, in the engines of all members. When this leader's engine is done with one, and
//! those of the members that are alive, it proposes that the run takes effect: then no member need wait for its engine. Who is
//! alive and not done is waited for only so long; such a member waits where it applies that command.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::MonoTime;
use consensus_raft::MemberId;
use consensus_replica::View;
use objects_state::guest::{Engine, Progress};
use objects_state::{Command, LongRun, State};

use crate::group::Group;
use crate::message::{ObjectsMessage, RunName};

/// How often the engine is asked while a run is under way, milliseconds.
const ASK_MS: u64 = 1;
/// After how long what was proposed and not applied is taken for lost, milliseconds.
const LOST_MS: u64 = 2_000;
/// After how long the leader is told again what it may not have heard, milliseconds.
const TELL_AGAIN_MS: u64 = 200;
/// How long members that are alive and not done are waited for when this leader is done, milliseconds: it is the object alone that
/// waits, and a member whose processor is short of time would make all others wait.
const PATIENCE_MS: u64 = 10_000;

fn name(run: &LongRun) -> RunName {
    (run.space, run.begun)
}

/// See the module.
pub(crate) struct LongRuns {
    engine: Arc<dyn Engine>,
    /// What is under way, as the state says.
    open: Vec<LongRun>,
    /// Of which there is nothing to be waited for: they run nothing here.
    idle: BTreeSet<RunName>,
    /// Which members have told this leader that they are done.
    said: BTreeMap<RunName, BTreeSet<MemberId>>,
    /// Since when this leader is done.
    done_since: BTreeMap<RunName, MonoTime>,
    /// When the leader was told last.
    told: BTreeMap<RunName, MonoTime>,
    proposed: BTreeMap<RunName, MonoTime>,
}

impl LongRuns {
    pub(crate) fn new(state: &State) -> Self {
        Self {
            engine: Arc::clone(state.engine()),
            open: Vec::new(),
            idle: BTreeSet::new(),
            said: BTreeMap::new(),
            done_since: BTreeMap::new(),
            told: BTreeMap::new(),
            proposed: BTreeMap::new(),
        }
    }

    /// Commands were applied, or a state has come. What the engine knows nothing of is begun, if it may be asked.
    pub(crate) fn look(&mut self, state: &State, may_begin: bool) {
        let open: Vec<_> = state.long_runs().collect();
        if open != self.open {
            self.open = open;
            self.forget_ended();
        }
        for run in self.open.iter().filter(|_| may_begin) {
            if !self.idle.contains(&name(run)) && self.progress(run) == Progress::Unknown {
                state.begin_long_run(run.space);
                if self.progress(run) == Progress::Unknown {
                    self.idle.insert(name(run));
                }
            }
        }
    }

    fn forget_ended(&mut self) {
        let open: BTreeSet<_> = self.open.iter().map(name).collect();
        self.idle.retain(|name| open.contains(name));
        self.said.retain(|name, _| open.contains(name));
        self.done_since.retain(|name, _| open.contains(name));
        self.told.retain(|name, _| open.contains(name));
        self.proposed.retain(|name, _| open.contains(name));
    }

    fn progress(&self, run: &LongRun) -> Progress {
        self.engine.progress(run.space, run.run)
    }

    /// Whether this member need not wait for a run.
    fn is_done(&self, run: &LongRun) -> bool {
        self.idle.contains(&name(run)) || self.progress(run) == Progress::Ended
    }

    /// Another member is done with runs. What is not under way here may be so later.
    pub(crate) fn hear(&mut self, from: MemberId, runs: Vec<RunName>) {
        for name in runs {
            if self.said.len() < 2 * objects_state::limits::LONG_RUNS_MAX || self.said.contains_key(&name) {
                self.said.entry(name).or_default().insert(from);
            }
        }
    }

    /// The leader is told what it may not have heard.
    pub(crate) fn report(&mut self, leader: Option<MemberId>, group: &mut Group) {
        let Some(leader) = leader.filter(|leader| *leader != group.view().own()) else { return };
        if self.open.is_empty() {
            return;
        }
        let now = group.now().mono();
        let is_due = |told: Option<&MonoTime>| told.is_none_or(|at| now >= at.plus_ms(TELL_AGAIN_MS));
        let due = self.open.iter().filter(|run| is_due(self.told.get(&name(run))) && self.is_done(run));
        let due: Vec<_> = due.map(name).collect();
        if !due.is_empty() {
            self.told.extend(due.iter().map(|name| (*name, now)));
            group.send(leader, ObjectsMessage::Ended(due));
        }
    }

    /// What this leader is to propose now.
    pub(crate) fn due(&mut self, view: &View) -> Vec<Command> {
        let now = view.now.mono();
        self.proposed.retain(|_, at| now < at.plus_ms(LOST_MS));
        let mut commands = Vec::new();
        for run in self.open.clone() {
            let name = name(&run);
            if !self.proposed.contains_key(&name) && self.is_done(&run) && self.all_are_done(name, view) {
                self.proposed.insert(name, now);
                commands.push(Command::Finish { space: run.space, begun: run.begun });
            }
        }
        commands
    }

    /// Whether all have said so who are alive, unless that has taken too long.
    fn all_are_done(&mut self, name: RunName, view: &View) -> bool {
        let now = view.now.mono();
        let since = *self.done_since.entry(name).or_insert(now);
        let said = self.said.get(&name);
        let is_waited_for = |member: &MemberId| {
            view.heard_at(*member) > MonoTime::ZERO
                && view.lives(*member)
                && !said.is_some_and(|said| said.contains(member))
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

    /// When the engine is to be asked again, if it is.
    pub(crate) fn asks_at(&self, now: MonoTime) -> Option<MonoTime> {
        (!self.open.is_empty()).then(|| now.plus_ms(ASK_MS))
    }
}
