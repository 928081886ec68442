//! A member's disk is full while all else is calm. One client writes there until the member notices, then two write and
//! read, open and close sessions, until there is room again. As many other voters as may be are down meanwhile. What is
//! seen goes into the history; rule 48 judges it.

use super::visitor::Visitor;
use crate::ensemble::Ensemble;
use crate::history::{Ask, History, Squeezed};

/// Where the clients write.
const PATH: &str = "/squeezed";
/// How large a value is that fills the disk. One is under way at a time, so that what is under way when the member notices
/// fits into the room that is kept for refusals.
const VALUE_BYTES: usize = 500;
/// How long the disk may take to be full, milliseconds. Segments that a snapshot frees may keep it from that.
const FILLS_MAX_MS: u64 = 20_000;
/// How long clients ask for something in each stage, how often, and how long they wait for the last answers.
const ASKS_MS: u64 = 4_000;
const ASKS_EVERY_MS: u64 = 400;
const ANSWERS_MS: u64 = 4_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// A client makes the node that it will write to. Then the disk takes what it still has room for.
    Filling,
    /// The member knows that its disk is full, and the others find out who lives.
    Settling,
    /// Clients ask.
    Full,
    /// There is room, and the member finds out.
    Noticing,
    /// Clients ask.
    Roomy,
    /// Everybody leaves.
    Leaving,
    Over,
}

/// See the module.
pub struct Squeeze {
    member: u64,
    life: u64,
    /// How long it may take until those that are left serve.
    recovery_ms: u64,
    stage: Stage,
    since_ms: u64,
    asked_ms: u64,
    /// Has a session since before the disk was full.
    filler: Visitor,
    /// Opens sessions and closes them.
    guest: Visitor,
    /// The call that makes the node, once it is asked for.
    creates: Option<usize>,
    is_filled: bool,
    number: u64,
}

impl Squeeze {
    /// Of a member of an ensemble that is at rest; nothing if it does not run.
    #[must_use]
    pub fn begin(ensemble: &mut Ensemble, member: u64, clients: usize, recovery_ms: u64) -> Option<Self> {
        let life = ensemble.life(member)?;
        Some(Self {
            member,
            life,
            recovery_ms,
            stage: Stage::Filling,
            since_ms: ensemble.now_ms(),
            asked_ms: 0,
            filler: Visitor::new(clients + 4, 8_000),
            guest: Visitor::new(clients + 5, 8_000),
            creates: None,
            is_filled: false,
            number: 0,
        })
    }

    /// Whether it is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// What happens in this moment.
    #[expect(clippy::too_many_lines, reason = "the stages of one story, of which each leads to the next")]
    pub fn moment(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        self.filler.hear(ensemble, history);
        self.guest.hear(ensemble, history);
        if ensemble.life(self.member) != Some(self.life) {
            // Its disk failed for want of room. It comes back with the others.
            return self.end(ensemble, history);
        }
        if self.stage != Stage::Leaving {
            self.filler.ping(ensemble, history);
            self.guest.ping(ensemble, history);
        }
        let is_full = ensemble.node(self.member).is_some_and(|node| !node.core().status().writable);
        if let Some(squeezed) = &mut history.squeezed
            && !is_full
        {
            squeezed.until_ms.get_or_insert(ensemble.now_ms());
        }
        match self.stage {
            Stage::Filling if is_full => self.settle(ensemble, history),
            Stage::Filling if self.lasted(ensemble, FILLS_MAX_MS) => self.end(ensemble, history),
            Stage::Filling => self.fill(ensemble, history),
            Stage::Settling if self.lasted(ensemble, self.recovery_ms) => {
                ensemble.count("full disk after the faults", 1);
                let (member, life, from_ms) = (self.member, self.life, ensemble.now_ms());
                let clients = vec![self.filler.name, self.guest.name];
                history.squeezed =
                    Some(Squeezed { member, life, clients, from_ms, until_ms: None, room_ms: None });
                self.enter(Stage::Full, ensemble);
            }
            Stage::Full if self.lasted(ensemble, ASKS_MS + ANSWERS_MS) => {
                ensemble.give_room(self.member);
                ensemble.start_all();
                if let Some(squeezed) = &mut history.squeezed {
                    squeezed.room_ms = Some(ensemble.now_ms());
                }
                self.enter(Stage::Noticing, ensemble);
            }
            Stage::Noticing if self.lasted(ensemble, self.recovery_ms) => self.enter(Stage::Roomy, ensemble),
            Stage::Roomy if self.lasted(ensemble, ASKS_MS + ANSWERS_MS) => {
                self.filler.ask(ensemble, history, Ask::Close);
                self.enter(Stage::Leaving, ensemble);
            }
            Stage::Leaving if self.lasted(ensemble, ANSWERS_MS) => self.end(ensemble, history),
            Stage::Full | Stage::Roomy if !self.lasted(ensemble, ASKS_MS) => self.ask(ensemble, history),
            _ => {}
        }
    }

    fn enter(&mut self, stage: Stage, ensemble: &Ensemble) {
        (self.stage, self.since_ms) = (stage, ensemble.now_ms());
    }

    fn lasted(&self, ensemble: &Ensemble, long_ms: u64) -> bool {
        ensemble.now_ms() >= self.since_ms + long_ms
    }

    fn fill(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        if !self.filler.is_there() {
            self.filler.open(ensemble, history, self.member);
        }
        if self.filler.is_served() && self.filler.outstanding() == 0 {
            let answer = self.creates.and_then(|call| history.calls[call].answer.as_ref());
            if answer.is_none_or(|answer| answer.err != 0) {
                self.creates = self.filler.ask(ensemble, history, Ask::plain(PATH));
                return;
            }
            if !self.is_filled {
                ensemble.fill_disk(self.member);
                self.is_filled = true;
            }
            self.write(ensemble, history, VALUE_BYTES);
        }
    }

    /// The member knows. Nothing is to be decided without it from now on.
    fn settle(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        if !self.filler.is_served() {
            return self.end(ensemble, history);
        }
        ensemble.kill_all_but_a_majority_with(self.member);
        history.disturbed_ms = ensemble.now_ms();
        self.enter(Stage::Settling, ensemble);
    }

    fn ask(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        let now_ms = ensemble.now_ms();
        if now_ms < self.asked_ms + ASKS_EVERY_MS {
            return;
        }
        self.asked_ms = now_ms;
        self.write(ensemble, history, 0);
        self.filler.ask(ensemble, history, Ask::Get { path: PATH.into(), watch: false });
        if !self.guest.is_there() {
            self.guest.forget();
            self.guest.open(ensemble, history, self.member);
        } else if self.guest.is_served() && self.guest.outstanding() == 0 {
            self.guest.ask(ensemble, history, Ask::Get { path: PATH.into(), watch: false });
            self.guest.ask(ensemble, history, Ask::Close);
        }
    }

    /// No two values are the same.
    fn write(&mut self, ensemble: &mut Ensemble, history: &mut History, bytes: usize) {
        self.number += 1;
        let data = format!("squeezed {:0>bytes$}", self.number).into_bytes();
        self.filler.ask(ensemble, history, Ask::Set { path: PATH.into(), data, version: -1 });
    }

    fn end(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        ensemble.give_room(self.member);
        ensemble.start_all();
        self.filler.part(ensemble, history, true);
        self.guest.part(ensemble, history, true);
        self.enter(Stage::Over, ensemble);
    }
}
