//! A hand-over that a leader prepares.

use base::MonoTime;
use replication_appointed::{Replica, ReplicaId, Seq};

use crate::settings::Settings;

/// See the module. First the leader goes on and sees whether the next leader keeps up. Then it pauses: it appends nothing until the
/// next leader has everything. Nothing depends on that but who is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HandOver {
    to: ReplicaId,
    /// A controller that has not asked again by then has given it up.
    asked_until: MonoTime,
    phase: Phase,
}

/// How far a hand-over has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// At that time the log ended there. If the next leader has that soon, it is near.
    Nears { end: Seq, since: MonoTime },
    /// Nothing is appended until then. Controllers were told that it is prepared, or not; if that was lost they ask again.
    Pauses { until: MonoTime, is_told: bool },
    /// The pause is over. There is no other one while the controller goes on asking.
    Paused,
}

/// How many entries the next leader is behind; nothing if that is not known.
pub(crate) type Behind = Option<u64>;

/// What is to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Appends stop.
    Pause,
    /// Controllers are told that the next leader has everything.
    Tell,
    /// Appends go on. The operator is told if it was never prepared.
    Resume(Option<Behind>),
    /// Nobody asks for it any more. The operator is told if it never came to a pause.
    End(Option<Behind>),
}

impl HandOver {
    pub(crate) fn new(to: ReplicaId, replica: &Replica, now: MonoTime, settings: &Settings) -> Self {
        let phase = Phase::Nears { end: replica.log().end(), since: now };
        Self { to, asked_until: now.plus_ms(settings.asked_ms), phase }
    }

    /// The controller asks for it again.
    pub(crate) fn prolong(&mut self, now: MonoTime, settings: &Settings) {
        self.asked_until = now.plus_ms(settings.asked_ms);
        if let Phase::Pauses { is_told, .. } = &mut self.phase {
            *is_told = false;
        }
    }

    pub(crate) const fn to(&self) -> ReplicaId {
        self.to
    }

    /// Whether nothing may be appended.
    pub(crate) const fn pauses(&self) -> bool {
        matches!(self.phase, Phase::Pauses { .. })
    }

    /// The next thing to do; it is done by the caller.
    pub(crate) fn next(&mut self, replica: &Replica, now: MonoTime, settings: &Settings) -> Option<Next> {
        let (end, durable) = (replica.log().end(), replica.durable_on(self.to));
        let behind = durable.map(|durable| end.0.saturating_sub(durable.0));
        match &mut self.phase {
            Phase::Nears { .. } if self.asked_until <= now => return Some(Next::End(Some(behind))),
            Phase::Paused if self.asked_until <= now => return Some(Next::End(None)),
            Phase::Pauses { is_told, .. } if !*is_told && behind == Some(0) => {
                *is_told = true;
                return Some(Next::Tell);
            }
            Phase::Pauses { until, is_told } if *until <= now => {
                let told = (!*is_told).then_some(behind);
                self.phase = Phase::Paused;
                return Some(Next::Resume(told));
            }
            Phase::Nears { end: before, since } if durable.is_some_and(|durable| durable >= *before) => {
                if behind == Some(0) || now <= since.plus_ms(settings.near_ms) {
                    self.phase = Phase::Pauses { until: now.plus_ms(settings.pause_ms), is_told: false };
                    return Some(Next::Pause);
                }
                (*before, *since) = (end, now);
            }
            _ => {}
        }
        None
    }

    /// When to look at it again.
    pub(crate) const fn deadline(&self) -> MonoTime {
        match self.phase {
            Phase::Pauses { until, .. } => until,
            Phase::Nears { .. } | Phase::Paused => self.asked_until,
        }
    }
}
