//! Versions come, are judged and go; objects are moved between them and back, stopped and released.

use std::collections::BTreeSet;

use objects_state::guest::VersionHash;
use objects_state::{Command, Verdict};
use serde_json::{Value, json};

use super::calls::{number_of_version, refused};
use super::{Guests, Key, Named, Said, Wait, key_named};
use crate::guests::{GuestType, REJECTED, module, module_of};
use crate::members::history::Answer;
use crate::outcome::parsed;
use crate::rules::{Rules, Wrong};

/// What a version that objects cannot be moved to is refused with.
const NOT_READY: [&str; 3] = ["no-such-type", "type-not-ready", "type-rejected"];

/// Which versions there are.
#[derive(Default)]
pub(super) struct Versions {
    put: BTreeSet<VersionHash>,
    /// Those that may be run, by the members' verdict.
    ready: BTreeSet<VersionHash>,
}

/// What a migration that is tried is answered, or refused with: one of these.
type Tried = Result<Vec<(&'static str, Value)>, &'static [&'static str]>;

impl Versions {
    /// Numbers of a type's versions that may be run.
    pub(super) fn ready(&self, of: GuestType) -> Vec<u64> {
        self.ready.iter().filter_map(|hash| number_of_version(of, *hash)).collect()
    }

    pub(super) fn has_ready(&self, of: GuestType) -> bool {
        !self.ready(of).is_empty()
    }

    /// How the creation of an object may be refused whose type has no version that may run. While none is under way, one may have
    /// been rejected.
    pub(super) fn refusals(&self, of: GuestType) -> &'static [&'static str] {
        let is_of_it = |hash: &&VersionHash| module_of(**hash).is_some_and(|module| module.of == of);
        let is_under_way = self.put.iter().filter(is_of_it).any(|hash| !self.ready.contains(hash));
        match is_under_way {
            true => &["no-such-type", "type-not-ready"],
            false => &NOT_READY,
        }
    }
}

impl Guests {
    pub(super) fn of_version(&mut self, command: &Command, said: &Said<'_>) -> Result<(), Wrong> {
        match command {
            Command::TypePut { module, description, .. } if said.done().is_some() => {
                let hash = VersionHash::of(*module, None, description.as_bytes());
                self.versions.put.insert(hash);
            }
            Command::TypeVerdict { version, verdict, .. } => return self.verdict(*version, verdict),
            Command::TypeReady { version, .. } => return self.verdict(*version, &Verdict::default()),
            Command::TypeDelete { version, .. } if said.done().is_some() => {
                self.versions.put.remove(version);
                self.versions.ready.remove(version);
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
        let Some(module) = module_of(hash).filter(|_| self.versions.put.contains(&hash)) else {
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
            false => _ = self.versions.ready.insert(hash),
        }
        Ok(())
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
        let Some(moved) = object.guest.migrated(number) else {
            self.reached("move that failed");
            self.judged(26, "moves that fail");
            return refused(26, said, &["not-migrated"], "that version takes nothing over");
        };
        let is_moved = said.done().is_some_and(|reply| parsed(reply)["migrated"] == true);
        object.before = Some((std::mem::replace(&mut object.guest, moved), 0));
        self.judged(26, "moves");
        self.reached("guest moved");
        if is_moved { Ok(()) } else { Err((26, format!("it should be moved: {said:?}"))) }
    }

    /// O26: a migration that is tried is answered what a real one would be, at that position. That it leaves nothing shows in the
    /// members' states.
    pub(in super::super) fn tried(
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
        let (how, lost, guest) = match moved {
            _ if runs == 0 => ("memory", 0, before),
            Some(moved) => ("migrate", 0, moved),
            None if loses => ("memory", runs, before),
            None => return refused(26, said, &["not-migrated"], "commands would be lost"),
        };
        let Some(object) = self.objects.get_mut(key) else { return Ok(()) };
        let left = std::mem::replace(&mut object.guest, guest);
        object.before = (how == "migrate").then_some((left, 0));
        self.judged(26, "ways back");
        self.reached(match (how, lost) {
            ("migrate", _) => "way back by a move",
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
