//! Versions come, are judged and go; objects are moved between them and back, stopped and released.

use std::collections::{BTreeMap, BTreeSet};

use objects_state::guest::VersionHash;
use objects_state::{Command, State, Verdict};
use serde_json::{Value, json};

use super::calls::{number_of_version, refused};
use super::{Guests, Key, Named, Said, Seen, Wait, key_named};
use crate::guests::{GuestType, REJECTED, TYPES, module, module_of};
use crate::outcome::parsed;
use crate::rules::{Rules, Wrong};
use crate::told::Answer;

/// What a version that objects cannot be moved to is refused with.
const NOT_READY: [&str; 3] = ["no-such-type", "type-not-ready", "type-rejected"];

/// Which versions there are.
#[derive(Default)]
pub(super) struct Versions {
    /// With the position at which each came.
    put: BTreeMap<VersionHash, u64>,
    /// Those that may be run, by the members' verdict.
    ready: BTreeSet<VersionHash>,
    /// Those of new objects.
    current: BTreeMap<GuestType, VersionHash>,
    /// Those whose creations have killed members, and that nobody has released since.
    stopped: BTreeSet<VersionHash>,
}

/// From this feature level on a version whose creation has killed members creates nothing more.
const STOPS_LEVEL: u32 = 9;

/// What a migration that is tried is answered, or refused with: one of these.
type Tried = Result<Vec<(&'static str, Value)>, &'static [&'static str]>;

impl Versions {
    /// The number of the version of new objects.
    pub(super) fn current(&self, of: GuestType) -> Option<u64> {
        self.current.get(&of).and_then(|hash| number_of_version(of, *hash))
    }

    /// Whether no new objects are made of what would be their version.
    pub(super) fn creates_nothing(&self, of: GuestType) -> bool {
        self.current.get(&of).is_some_and(|hash| self.stopped.contains(hash))
    }

    /// A creation has killed members.
    pub(super) fn stop(&mut self, of: GuestType, level: u32) {
        let current = self.current.get(&of).filter(|_| level >= STOPS_LEVEL);
        self.stopped.extend(current);
    }

    /// It is deleted: new objects have the one that came last of those that are left.
    fn delete(&mut self, hash: VersionHash) {
        self.put.remove(&hash);
        self.ready.remove(&hash);
        self.stopped.remove(&hash);
        let Some(of) = module_of(hash).map(|module| module.of) else { return };
        if self.current.get(&of) == Some(&hash) {
            self.current.remove(&of);
            let is_of_it = |hash: &&VersionHash| number_of_version(of, **hash).is_some();
            let left = self.ready.iter().filter(is_of_it).max_by_key(|hash| self.put.get(hash));
            self.current.extend(left.map(|hash| (of, *hash)));
        }
    }

    /// How the creation of an object may be refused whose type has no version that may run. While none is under way, one may have
    /// been rejected.
    pub(super) fn refusals(&self, of: GuestType) -> &'static [&'static str] {
        let is_of_it = |hash: &&VersionHash| module_of(**hash).is_some_and(|module| module.of == of);
        let is_under_way = self.put.keys().filter(is_of_it).any(|hash| !self.ready.contains(hash));
        match is_under_way {
            true => &["no-such-type", "type-not-ready"],
            false => &NOT_READY,
        }
    }
}

impl Guests {
    pub(super) fn of_version(&mut self, seen: &Seen<'_>, said: &Said<'_>) -> Result<(), Wrong> {
        match seen.command {
            Command::TypePut { module, description, .. } if said.done().is_some() => {
                let hash = VersionHash::of(*module, None, description.as_bytes());
                self.versions.put.entry(hash).or_insert(seen.first);
                if let Some(module) = module_of(hash).filter(|_| self.versions.ready.contains(&hash)) {
                    self.versions.current.insert(module.of, hash);
                }
            }
            Command::TypeRelease { version, .. } => return self.released(*version, said),
            Command::TypeVerdict { version, verdict, .. } => return self.verdict(*version, verdict),
            Command::TypeReady { version, .. } => return self.verdict(*version, &Verdict::default()),
            Command::TypeDelete { version, .. } if said.done().is_some() => {
                self.versions.delete(*version);
                self.reached("version deleted");
                let is_of_it = |key: &Key, number| module(key.0, number).hash == *version;
                if let Some((key, _)) =
                    self.objects.iter().find(|(key, one)| is_of_it(key, one.guest.version))
                {
                    return Err((26, format!("a version is deleted that {key:?} has")));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// O27: a version may be run once all members' engines have said so, and only if they take it.
    fn verdict(&mut self, hash: VersionHash, verdict: &Verdict) -> Result<(), Wrong> {
        let Some(module) = module_of(hash).filter(|_| self.versions.put.contains_key(&hash)) else {
            return Ok(());
        };
        self.judged(27, "verdicts");
        let is_rejected = verdict.rejected.is_some();
        if is_rejected != (module.number == REJECTED) {
            return Err((27, format!("{:?} {} is judged: {verdict:?}", module.of, module.number)));
        }
        match is_rejected {
            // It may be put again.
            true => {
                self.versions.put.remove(&hash);
                self.reached("version rejected");
            }
            false if self.versions.ready.insert(hash) => _ = self.versions.current.insert(module.of, hash),
            false => {}
        }
        Ok(())
    }

    /// Somebody says that objects of a version may be created again.
    fn released(&mut self, hash: VersionHash, said: &Said<'_>) -> Result<(), Wrong> {
        if !self.versions.put.contains_key(&hash) {
            return refused(23, said, &["no-such-type"], "there is no such version");
        }
        let was_stopped = self.versions.stopped.remove(&hash);
        self.reached(if was_stopped { "version released" } else { "version that is not stopped released" });
        match said.done().is_some_and(|reply| parsed(reply)["released"] == was_stopped) {
            true => Ok(()),
            false => Err((23, format!("a version whose creations are stopped {was_stopped}: {said:?}"))),
        }
    }

    /// O23: no objects are created of the versions whose creations have killed members, and of no others.
    pub(super) fn look_at_versions(&mut self, state: &State) -> Result<(), Wrong> {
        let types = TYPES.into_iter().filter_map(|of| state.user_type(state.type_named(of.name())?));
        let versions = types.flat_map(|info| info.versions);
        let stopped = versions.filter(|version| version.stopped.is_some()).map(|version| version.hash);
        let stopped: BTreeSet<_> = stopped.collect();
        match stopped == self.versions.stopped {
            true => Ok(()),
            false => {
                Err((23, format!("creations are stopped of {stopped:?}, not {:?}", self.versions.stopped)))
            }
        }
    }

    /// Whether a run is under way at an object, or something waits for its turn there.
    fn is_busy(&self, key: &Key) -> bool {
        self.tickets.values().any(|ticket| ticket.key == *key && matches!(ticket.wait, Wait::Run { .. }))
    }

    /// The number of a version that objects may be moved to.
    fn ready_number(&self, of: GuestType, hash: VersionHash) -> Option<u64> {
        number_of_version(of, hash).filter(|_| self.versions.ready.contains(&hash))
    }

    pub(super) fn migrated(&mut self, key: &Key, to: VersionHash, said: &Said<'_>) -> Result<(), Wrong> {
        let (is_busy, number) = (self.is_busy(key), self.ready_number(key.0, to));
        let Some(object) = self.objects.get_mut(key) else {
            return refused(26, said, &["no-such-object", "no-such-type"], "there is no such object");
        };
        if is_busy {
            self.reached("move of a busy guest");
            return refused(26, said, &["rate"], "a run is under way at it");
        }
        let own = module(key.0, object.guest.version).hash;
        if own == to {
            let is_same = said.done().is_some_and(|reply| parsed(reply)["migrated"] == false);
            return if is_same { Ok(()) } else { Err((26, format!("it is of that version: {said:?}"))) };
        }
        let Some(number) = number else {
            return refused(26, said, &NOT_READY, "that version may not run");
        };
        if object.is_quarantined {
            return refused(26, said, &["quarantined"], "it is stopped");
        }
        let by_layout = object.guest.goes_by_layout(number);
        let Some(moved) = object.guest.migrated(number) else {
            self.reached("move that failed");
            self.judged(26, "moves that fail");
            return refused(26, said, &["not-migrated"], "that version takes nothing over");
        };
        let reply = said.done().map(parsed).unwrap_or_default();
        let is_moved = reply["migrated"] == true && (reply["by"] == "layout") == by_layout;
        object.before = Some((std::mem::replace(&mut object.guest, moved), 0));
        self.judged(26, "moves");
        self.reached(if by_layout { "guest moved with its memory" } else { "guest moved" });
        if is_moved {
            Ok(())
        } else {
            Err((26, format!("it should be moved, with its memory {by_layout}: {said:?}")))
        }
    }

    /// O26: a migration that is tried is answered what a real one would be, at that position. That it leaves nothing shows in the
    /// members' states.
    pub(crate) fn tried(
        &self,
        (object, to): (&Named, u64),
        answer: &Answer,
        rules: &mut Rules,
    ) -> Result<(), Wrong> {
        let Some(key) = key_named(object) else { return Ok(()) };
        let (due, what) = self.would_be_tried(&key, to);
        rules.count(26, what, 1);
        let body = parsed(&answer.body);
        let slug = body["type"].as_str().and_then(|kind| kind.rsplit(':').next());
        let is_right = match &due {
            Ok(due) => answer.status == 200 && due.iter().all(|(name, value)| body[name] == *value),
            Err(slugs) => slug.is_some_and(|slug| slugs.contains(&slug)),
        };
        match is_right {
            true => Ok(()),
            false => Err((26, format!("{key:?} is tried to be moved to {to}: {answer:?}, due {due:?}"))),
        }
    }

    /// What it is answered, and what that is called.
    fn would_be_tried(&self, key: &Key, to: u64) -> (Tried, &'static str) {
        const REFUSED: &str = "tried moves that are refused";
        let Some(object) = self.objects.get(key) else {
            return (Err(&["no-such-object", "no-such-type"]), REFUSED);
        };
        let (own, hash) = (module(key.0, object.guest.version).hash, module(key.0, to).hash);
        if self.is_busy(key) {
            return (Err(&["rate"]), REFUSED);
        }
        let told = |would| {
            vec![
                ("would_migrate", json!(would)),
                ("from", json!(own.to_string())),
                ("version", json!(hash.to_string())),
            ]
        };
        if own == hash {
            return (Ok(told(false)), "tried moves to the same version");
        }
        if self.ready_number(key.0, hash).is_none() {
            return (Err(&NOT_READY), REFUSED);
        }
        if object.is_quarantined {
            return (Err(&["quarantined"]), REFUSED);
        }
        if object.guest.migrated(to).is_none() {
            return (Err(&["not-migrated"]), "tried moves that fail");
        }
        let mut due = told(true);
        if object.guest.goes_by_layout(to) {
            due.push(("by", json!("layout")));
            return (Ok(due), "tried moves of memory");
        }
        due.push(("state_bytes", json!(object.guest.saved().len())));
        (Ok(due), "tried moves")
    }

    pub(super) fn rolled_back(&mut self, key: &Key, loses: bool, said: &Said<'_>) -> Result<(), Wrong> {
        let is_busy = self.is_busy(key);
        let Some(object) = self.objects.get(key) else {
            return refused(26, said, &["no-such-object", "no-such-type"], "there is no such object");
        };
        if is_busy {
            return refused(26, said, &["rate"], "a run is under way at it");
        }
        let Some((before, runs)) = object.before.clone() else {
            return refused(26, said, &["not-migrated"], "there is no way back");
        };
        if self.ready_number(key.0, module(key.0, before.version).hash).is_none() {
            return refused(26, said, &NOT_READY, "the version of before may not run");
        }
        let moved = object.guest.migrated(before.version).filter(|_| !object.is_quarantined);
        let back = if object.guest.goes_by_layout(before.version) { "layout" } else { "migrate" };
        let (how, lost, guest) = match moved {
            _ if runs == 0 => ("memory", 0, before),
            Some(moved) => (back, 0, moved),
            None if loses => ("memory", runs, before),
            None => return refused(26, said, &["not-migrated"], "commands would be lost"),
        };
        let Some(object) = self.objects.get_mut(key) else { return Ok(()) };
        let left = std::mem::replace(&mut object.guest, guest);
        object.before = (how == back).then_some((left, 0));
        self.judged(26, "ways back");
        self.reached(match (how, lost) {
            ("migrate", _) => "way back by a move",
            ("layout", _) => "way back with its memory",
            (_, 0) => "way back to the memory of before",
            _ => "way back that loses commands",
        });
        let reply = said.done().map(parsed).unwrap_or_default();
        match reply["by"] == how && reply["lost"] == lost {
            true => Ok(()),
            false => Err((26, format!("it should go back by {how} and lose {lost}: {said:?}"))),
        }
    }

    pub(super) fn quarantined(&mut self, key: &Key, stops: bool, said: &Said<'_>) -> Result<(), Wrong> {
        let Some(object) = self.objects.get_mut(key) else {
            return refused(26, said, &["no-such-object", "no-such-type"], "there is no such object");
        };
        object.is_quarantined = stops;
        let reply = said.done().map(parsed).unwrap_or_default();
        self.reached(if stops { "guest stopped" } else { "guest released" });
        if reply["quarantined"] == stops {
            Ok(())
        } else {
            Err((22, format!("it is stopped {stops}: {said:?}")))
        }
    }
}
