//! A command goes to the state; what it did goes to those who wait or watch.
//!
//! All of it happens while the driver lends the state for writing: what an edge must know of a command is in its mailbox
//! before anyone can read the state that the command made.

use consensus_raft::Malformed;
use consensus_replica::Stamp;
use objects_state::{
    Authority, Command, Effect, Identity, Origin, Outcome, Problem, SideEffect, Slug, Source, State,
    TicketState,
};

use super::ObjectsMachine;
use crate::commands::Pending;
use crate::edge::{Answer, EventId, Happening};
use crate::entry;
use crate::group::Group;
use crate::joined::Joined;

/// Commands no longer than this, and of no kind that ends many waits, cost about what they have bytes.
const SHORT_BYTES: usize = 4 << 10;
/// What each command costs, however short it is.
const EACH: u64 = 256;

/// What it will cost to apply this command, in about bytes.
pub(super) fn cost(state: &State, command: &[u8]) -> u64 {
    let Ok((_, encoded)) = entry::split(command) else { return EACH };
    // The version, then the kind: see `Command::encode`. Calls that are short are nearly all that there is.
    if command.len() <= SHORT_BYTES && encoded.get(1) == Some(&0) && !state.has_user_types() {
        return EACH + command.len() as u64;
    }
    Command::decode(encoded).map_or(EACH, |command| state.cost(&command))
}

/// What a command of this member is to those who wait for it.
struct Own {
    origin: Option<Origin>,
    is_anonymous: bool,
    authority: Authority,
}

impl Own {
    const fn joined(&self, origin: Origin) -> Joined {
        Joined { origin, is_anonymous: self.is_anonymous, authority: self.authority, is_others: false }
    }
}

impl ObjectsMachine {
    /// Applies a command. Gives what it cost, in about bytes.
    pub(super) fn apply_one(
        &mut self,
        state: &mut State,
        stamp: Stamp,
        bytes: &[u8],
        group: &mut Group,
    ) -> Result<usize, Malformed> {
        let read = entry::decode(bytes)?;
        let own = match read.source {
            Some(source) if !state.admit(source) => return Ok(bytes.len()),
            Some(source) => self.settle(source, &read.command, group),
            None => None,
        };
        let mut effects = core::mem::take(&mut self.effects);
        let cost = state.apply(stamp.wall, &read.command, &mut effects);
        self.disagreement.applied(&read.command, state);
        self.commands.learn(&read.command, cost, own.is_some(), group.now());
        self.out.set_position(state.position());
        let position = state.position();
        self.moments.note(position, state.stamp().ms());
        let mut ordinal = 0;
        for effect in effects.drain(..) {
            self.take_effect(effect, own.as_ref(), (position, &mut ordinal), state, group);
        }
        self.effects = effects;
        self.judge_again(state, group.now().mono());
        if matches!(read.command, Command::TypeReady { .. } | Command::TypeVerdict { .. }) {
            // Behind it come calls of the version.
            self.readiness.look(state);
        }
        if read.command == Command::Tick {
            self.tick_proposed = None;
            self.begin_term(state, group);
        }
        Ok(bytes.len() + cost)
    }

    /// A member's command is applied next. Gives who waits for it, if it is one of this process's.
    fn settle(&mut self, source: Source, command: &Command, group: &Group) -> Option<Own> {
        if self.commands.is_overtaken_by(source) {
            let unknown = self.commands.state_knows(source);
            self.outcome_unknown(unknown);
            return None;
        }
        let pending = self.commands.applied(source, group.now())?;
        let caller = command.caller();
        let is_anonymous = caller.is_some_and(|caller| caller.identity == Identity::Anonymous);
        let authority = caller.map(|caller| caller.principal.authority).unwrap_or_default();
        Some(Own { origin: pending.origin, is_anonymous, authority })
    }

    fn take_effect(
        &mut self,
        effect: Effect,
        own: Option<&Own>,
        (position, ordinal): (u64, &mut u32),
        state: &State,
        group: &Group,
    ) {
        match effect {
            Effect::Answered { outcome, .. } => {
                if let Some(origin) = own.and_then(|own| own.origin) {
                    self.out.done(origin, outcome);
                }
            }
            Effect::Parked { ticket, .. } => {
                if let Some(own) = own {
                    self.parked(own, ticket, state, group);
                }
            }
            Effect::TicketEnded { ticket, outcome, .. } => self.ticket_ended(ticket, outcome),
            Effect::SessionOpened { session, generation } => {
                self.sessions.opened(session, generation, state, group.now());
            }
            Effect::SessionEnded { session, expired } => {
                self.sessions.ended(session);
                self.happened(Happening::SessionEnded { session, expired }, position, ordinal);
            }
            Effect::Event(event) => self.happened(Happening::Object(event), position, ordinal),
        }
    }

    fn happened(&mut self, what: Happening, position: u64, ordinal: &mut u32) {
        let id = EventId { position, ordinal: *ordinal };
        *ordinal += 1;
        self.watches.happened(id, what, &mut self.out);
    }

    /// A call waits. If its caller has gone meanwhile and nothing can find it again, it is cancelled in the log.
    fn parked(&mut self, own: &Own, ticket: u64, state: &State, group: &Group) {
        let Some(origin) = own.origin else { return };
        if !self.gone.contains(origin) {
            // Whoever may repeat the call is its own client.
            let keeps = match state.ticket(ticket) {
                Some(TicketState::Waits { session, .. }) => session,
                _ => None,
            };
            self.out.tell(origin, Answer::Parked { origin, ticket, keeps });
            self.joined.join(ticket, own.joined(origin));
        } else if own.is_anonymous {
            self.commands.take_own(&Command::CancelTicket { caller: None, ticket }, group.now());
        }
    }

    fn ticket_ended(&mut self, ticket: u64, outcome: Outcome) {
        let mut joined = self.joined.end(ticket);
        let last = joined.pop();
        joined.iter().for_each(|one| self.out.done(one.origin, outcome.clone()));
        if let Some(last) = last {
            self.out.done(last.origin, outcome);
        }
    }

    /// If the tick was the first command of this leader, each session gets its full time to live from now.
    fn begin_term(&mut self, state: &State, group: &mut Group) {
        if group.begin_term() {
            self.raise_level(state, group);
            self.sessions.term_began(state, group.now());
        }
    }

    /// Another state has taken the place of this member's: what happened between the two was not seen here.
    pub(super) fn take_over(&mut self, state: &State, group: &Group) {
        self.out.set_position(state.position());
        self.readiness.look_anew(state);
        self.disagreement.look_anew(state);
        self.long_runs.look(state, !self.readiness.must_wait());
        if let Some(last) = state.last_of(group.view().own().number().0) {
            let unknown = self.commands.state_knows(last);
            self.outcome_unknown(unknown);
        }
        for ticket in self.joined.tickets() {
            match state.ticket(ticket) {
                Some(TicketState::Waits { .. }) => {}
                Some(TicketState::Ended { outcome, .. }) => self.ticket_ended(ticket, outcome),
                None => self.ticket_ended(ticket, Outcome::Refused(unknown(state.position()))),
            }
        }
        self.watches.lost(state.position(), &mut self.out);
        self.moments.lost();
        // Two states may have changed equally often.
        self.access_changes = u64::MAX;
        self.judge_again(state, group.now().mono());
        if group.leads() {
            self.sessions.term_began(state, group.now());
        }
    }

    /// Whether these took effect is not known, and never will be here.
    pub(super) fn outcome_unknown(&mut self, pending: Vec<Pending>) {
        for origin in pending.into_iter().filter_map(|pending| pending.origin) {
            self.out.refuse(origin, unknown(0));
        }
    }
}

pub(super) fn unknown(position: u64) -> Problem {
    let detail = "the member does not know whether the command took effect";
    Problem { effect: SideEffect::Unknown, position, ..Problem::new(Slug::OutcomeUnknown, detail) }
}
