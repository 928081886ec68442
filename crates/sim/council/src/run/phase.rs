//! What happens in a run, one moment behind the other: everything goes wrong, everything heals and comes to rest, a disk is
//! full for a while in some runs, all clients are served once more, and it is calm. Judges nothing.

use super::Run;
use crate::ensemble::Faults;
use crate::load::Squeeze;
use crate::random::Random;

/// How long everything may take to come to rest after it healed, milliseconds.
const REST_MAX_MS: u64 = 180_000;
/// How long all is calm after that: the longest timeout, and room, so that whoever left expires.
const CALM_MS: u64 = 20_000;

/// What a run is at.
pub(super) enum Phase {
    /// Everything goes wrong.
    Faults,
    /// Everything comes to rest, until then at the latest.
    Rest {
        until_ms: u64,
        then: Then,
    },
    /// One member's disk is full.
    Squeeze(Box<Squeeze>),
    /// All is calm until then.
    Calm {
        until_ms: u64,
    },
    /// What was before the ensemble was lost is wrong: nothing else is judged.
    Broken,
    Over,
}

/// What comes once everything is at rest.
#[derive(Clone, Copy)]
pub(super) enum Then {
    /// A disk is full for a while, if this run has that.
    Squeeze,
    /// All clients are served once more.
    Serve,
    End,
}

impl Run {
    /// The next moment.
    pub(super) fn next_moment(&mut self) {
        let now_ms = self.ensemble.now_ms();
        match &mut self.phase {
            Phase::Faults if now_ms < self.faulty_ms => self.faulty_moment(),
            Phase::Faults => self.heal(),
            Phase::Rest { until_ms, .. } if now_ms >= *until_ms => {
                let words = format!("it does not come to rest:{}", self.describe());
                self.found.push(words);
                self.phase = Phase::Over;
            }
            Phase::Rest { then, .. } => {
                let then = *then;
                self.calm_moment();
                if self.is_at_rest() {
                    self.go_on(then);
                }
            }
            Phase::Squeeze(squeeze) if squeeze.is_over() => self.rest(Then::Serve),
            Phase::Squeeze(_) => self.squeezed_moment(),
            Phase::Calm { until_ms } if now_ms < *until_ms => self.calm_moment(),
            Phase::Calm { .. } => self.rest(Then::End),
            Phase::Broken | Phase::Over => {}
        }
    }

    fn faulty_moment(&mut self) {
        let faults = self.faults;
        self.ensemble.moment(&faults);
        self.load.moment(&mut self.ensemble, &mut self.history);
        self.look_for_outsiders();
        let (now_ms, faulty_ms) = (self.ensemble.now_ms(), self.faulty_ms);
        if let Some(loss) = self.loss.take_if(|loss| loss.is_due(now_ms, faulty_ms)) {
            self.found = self.lose(loss);
            if !self.found.is_empty() {
                self.phase = Phase::Broken;
            }
        }
    }

    fn calm_moment(&mut self) {
        self.ensemble.moment(&Faults::NONE);
        self.load.wait(&mut self.ensemble, &mut self.history);
    }

    fn squeezed_moment(&mut self) {
        self.calm_moment();
        if let Phase::Squeeze(squeeze) = &mut self.phase {
            squeeze.moment(&mut self.ensemble, &mut self.history);
        }
    }

    fn heal(&mut self) {
        self.ensemble.heal();
        self.history.healed_ms = Some(self.ensemble.now_ms());
        self.rest(Then::Squeeze);
    }

    fn rest(&mut self, then: Then) {
        self.phase = Phase::Rest { until_ms: self.ensemble.now_ms() + REST_MAX_MS, then };
    }

    fn go_on(&mut self, then: Then) {
        match then {
            Then::Squeeze => match self.squeezes.take() {
                Some(chance) => self.squeeze(chance),
                None => self.serve(),
            },
            Then::Serve => self.serve(),
            Then::End => self.phase = Phase::Over,
        }
    }

    /// One member's disk is full, for a while.
    fn squeeze(&mut self, mut chance: Random) {
        let members = self.members();
        let member = members.get(chance.below(members.len() as u64) as usize);
        let (clients, recovery_ms) = (self.appetite.clients, self.settings.recovery_max_ms());
        let begun =
            member.and_then(|member| Squeeze::begin(&mut self.ensemble, *member, clients, recovery_ms));
        match begun {
            Some(squeeze) => self.phase = Phase::Squeeze(Box::new(squeeze)),
            None => self.rest(Then::Serve),
        }
    }

    /// Every client is served once more, and all is calm.
    fn serve(&mut self) {
        self.history.served_ms = Some(self.ensemble.now_ms());
        self.history.served_from = self.history.calls.len();
        self.load.serve(&mut self.ensemble, &mut self.history);
        self.phase = Phase::Calm { until_ms: self.ensemble.now_ms() + CALM_MS };
    }

    fn is_at_rest(&mut self) -> bool {
        self.load.is_done() && self.ensemble.is_whole() && self.is_settled()
    }
}
