//! The log from its beginning, played into the model and into a state that never saw a snapshot, beside each other and under
//! the rules of a log alone. What it says of each request is kept for those who judge what clients saw.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::WallTime;
use consensus_raft::EntryKind;
use consensus_replica::batch::BatchReader;
use objects_state::guest::{Engine, NoEngine};
use objects_state::{
    AccessChange, Command, Effect, Effects, Identity, ObjectName, Outcome, Principal, QuotaOf, SessionId,
    State, TicketEnd, TicketState,
};
use sim_kit::Judged;

use super::log::{self, LogCommand};
use super::queries::Queries;
use super::{Evidence, Findings};
use crate::book::Book;
use crate::copies;
use crate::guests::judge::{self, Guests};
use crate::guests::unharmed::Unharmed;
use crate::members::engine::FakeEngine;
use crate::members::node::Modules;
use crate::members::record::{Committed, Deed};
use crate::model::{ENDED_LEVEL, ENDED_MS, Group};
use crate::outcome::told_by;
use crate::rules::{self, Rules, Seen, Wrong};

/// What a command did for its request.
#[derive(Clone, Debug)]
pub(super) enum Said {
    Answered(Outcome),
    Parked(u64),
}

/// A request in the log.
#[derive(Clone, Debug)]
pub(super) struct Occurrence {
    /// Its first position, and that of the state behind it.
    pub(super) first: u64,
    pub(super) last: u64,
    /// Who asked, as the member says that took it in.
    pub(super) principal: Principal,
    pub(super) said: Said,
}

/// A ticket.
#[derive(Clone, Debug)]
pub(super) struct Ticket {
    /// Who made the entry in which its call began to wait, and when.
    pub(super) began: Option<Deed>,
    /// How long it may wait, milliseconds.
    pub(super) wait_ms: Option<i64>,
    pub(super) end: Option<End>,
    /// The object that it waits for, and when a run was under way last at that which took long.
    object: Option<ObjectName>,
    pub(super) busy_ms: u64,
}

/// The end of a ticket.
#[derive(Clone, Debug)]
pub(super) struct End {
    pub(super) position: u64,
    pub(super) how: TicketEnd,
    pub(super) outcome: Outcome,
    pub(super) made: Option<Deed>,
}

/// A session's life.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub(super) opened_ms: u64,
    pub(super) ttl_ms: u64,
    /// Whether another one had its id that had ended, though all members knew that it must not be used again.
    pub(super) is_again: bool,
    /// When its end was made, and whether that was for its silence.
    pub(super) ended: Option<(Deed, bool)>,
}

/// What the log says.
#[derive(Default)]
pub(super) struct LogTold {
    /// By the life that gave a command, and its request's number there.
    pub(super) requests: BTreeMap<(u64, u64), Vec<Occurrence>>,
    pub(super) tickets: BTreeMap<u64, Ticket>,
    pub(super) sessions: BTreeMap<SessionId, Vec<Life>>,
    /// The state's digest behind each command, by its position.
    digests: BTreeMap<u64, u64>,
    /// How many calls wait, and how many sessions are open, in the end.
    pub(super) left: [u64; 2],
    /// Attempts of commands whose refusals by members are right at the positions that they name.
    pub(super) refused_rightly: BTreeSet<u64>,
    /// Changes of how many calls each member lets in within a second: the position behind each, and whose that is.
    pub(super) rates: Vec<(u64, QuotaOf, Option<u64>)>,
}

/// See the module.
pub(super) struct Replay<'a> {
    evidence: &'a Evidence<'a>,
    group: Group,
    state: State,
    book: Book,
    rules: Rules,
    queries: Queries<'a>,
    /// The models of types of users in WebAssembly.
    guests: Option<Guests>,
    /// When sessions have ended since all members know that their ids are used up, by the log's stamps.
    used_up: BTreeMap<SessionId, WallTime>,
    pub(super) told: LogTold,
}

impl<'a> Replay<'a> {
    pub(super) fn new(evidence: &'a Evidence<'a>) -> Self {
        let engine: Arc<dyn Engine> = match evidence.modules {
            Modules::None => Arc::new(NoEngine),
            Modules::Words => Arc::new(FakeEngine::new(false)),
            Modules::WebAssembly(_) => Arc::new(Unharmed::new()),
        };
        let guests = matches!(evidence.modules, Modules::WebAssembly(_)).then(Guests::default);
        Self {
            evidence,
            group: Group::default(),
            state: State::with_engine(engine),
            book: Book::default(),
            rules: Rules::default(),
            queries: Queries::of(evidence),
            guests,
            used_up: BTreeMap::new(),
            told: LogTold::default(),
        }
    }

    /// # Errors
    /// The first thing that is wrong.
    pub(super) fn play(&mut self) -> Result<(), Wrong> {
        self.told.digests.insert(0, self.state.digest());
        self.ask()?;
        for committed in &self.evidence.record.entries {
            if committed.entry.kind == EntryKind::Normal {
                self.entry(committed)?;
            }
        }
        let [_, sessions, tickets, _] = self.state.counts();
        self.told.left = [tickets, sessions];
        self.guests.as_mut().map_or(Ok(()), |guests| guests.is_done(&self.state))?;
        self.queries.are_done()
    }

    fn entry(&mut self, committed: &Committed) -> Result<(), Wrong> {
        let unreadable = |what: &str| (1, format!("entry {}: {what}", committed.entry.index.0));
        let mut reader = BatchReader::new(&committed.entry.data).map_err(|_| unreadable("its head"))?;
        let stamp = reader.wall;
        while let Some(bytes) = reader.next_command().map_err(|_| unreadable("its end"))? {
            let read = log::read(bytes).map_err(|words| unreadable(&words))?;
            self.command(stamp, &read, committed)?;
        }
        Ok(())
    }

    fn command(&mut self, stamp: WallTime, read: &LogCommand, committed: &Committed) -> Result<(), Wrong> {
        let LogCommand { source, command } = read;
        if let Some(source) = *source {
            let (due, shown) = (self.group.admit(source), self.state.admit(source));
            self.rules.count(3, "commands of members", 1);
            if due != shown {
                return Err((3, format!("{source:?} is admitted: {shown}, and should be: {due}")));
            }
            if !due {
                self.rules.count(3, "copies passed over", 1);
                return Ok(());
            }
        }
        self.cancelled(command)?;
        let first = self.state.position() + 1;
        let stamp_ms = self.state.stamp().ms().max(stamp.ms());
        let effects = self.apply(stamp, first, stamp_ms, command)?;
        let made = self.evidence.record.made(&committed.entry);
        self.note(read, first, (committed.at_ms, made), &effects)?;
        self.look_for_busy_objects(made);
        self.told.digests.insert(self.state.position(), self.state.digest());
        self.ask()
    }

    /// A wait does not end while a run is under way at its object that takes long.
    fn look_for_busy_objects(&mut self, made: Option<Deed>) {
        let Some(made) = made else { return };
        for ticket in self.told.tickets.values_mut().filter(|ticket| ticket.end.is_none()) {
            let object = ticket.object.as_ref().and_then(|object| self.state.describe(object)?.user);
            if object.is_some_and(|user| user.is_busy) {
                ticket.busy_ms = made.at_ms;
            }
        }
    }

    /// Queries that were answered at this position.
    fn ask(&mut self) -> Result<(), Wrong> {
        let group = (!self.evidence.has_guests()).then_some(&self.group);
        self.queries.ask(&self.state, (group, self.guests.as_ref()), &mut self.rules)?;
        self.told.refused_rightly.append(&mut self.queries.refused_rightly);
        Ok(())
    }

    /// O15: a member cancels only waits that nobody can find again.
    fn cancelled(&mut self, command: &Command) -> Result<(), Wrong> {
        let Command::CancelTicket { caller: None, ticket } = command else { return Ok(()) };
        let waiters = self.group.objects.iter().flat_map(|object| &object.waiters);
        let Some(waiter) = waiters.into_iter().find(|waiter| waiter.ticket == *ticket) else { return Ok(()) };
        self.rules.count(15, "waits cancelled by members", 1);
        match waiter.process {
            Some(_) => Ok(()),
            None => Err((15, format!("a member cancels a wait that can be found again: {:?}", waiter.asker))),
        }
    }

    /// Both do it, and the rules see it.
    fn apply(
        &mut self,
        stamp: WallTime,
        first: u64,
        stamp_ms: i64,
        command: &Command,
    ) -> Result<Effects, Wrong> {
        let mut effects = Effects::new();
        if self.evidence.has_guests() {
            self.state.apply(stamp, command, &mut effects);
            let seen = judge::Seen { command, first, stamp_ms, effects: &effects, state: &self.state };
            self.guests.as_mut().map_or(Ok(()), |guests| guests.see(&seen))?;
            return Ok(effects);
        }
        let object = rules::object_of(command);
        let is_turned_away = self.group.turns_away(command, stamp_ms);
        let repeated = object.filter(|_| !is_turned_away && self.rules.is_repeat(command, stamp_ms));
        let before = repeated.map(|object| rules::visible(&self.state, object));
        let (told, is_refused_for_bytes) =
            copies::apply_beside(&mut self.group, &mut self.state, stamp.ms(), command)?;
        self.state.apply(stamp, command, &mut effects);
        let shown = told_by(&effects);
        self.rules.see(&Seen {
            command,
            first,
            stamp_ms,
            told: &told,
            shown: &shown,
            effects: &effects,
            state: &self.state,
            group: &self.group,
            book: &self.book,
            before,
            may_be_kept: !is_turned_away && self.rules.may_be_kept(command, &effects),
            is_turned_away,
            has_quotas: self.evidence.has_quotas,
            is_refused_for_bytes,
        })?;
        self.book.note(command, first, stamp_ms, &shown);
        let (model, state) = (self.group.position(), self.state.position());
        if model == state {
            Ok(effects)
        } else {
            Err((1, format!("position {state}, and {model} of the model")))
        }
    }

    /// Keeps what the command did for its request, for tickets and sessions.
    fn note(
        &mut self,
        read: &LogCommand,
        first: u64,
        (at_ms, made): (u64, Option<Deed>),
        effects: &Effects,
    ) -> Result<(), Wrong> {
        let last = self.state.position();
        for effect in effects {
            match effect {
                Effect::Answered { outcome, .. } => {
                    self.note_rate(&read.command, outcome);
                    self.occurred(read, (first, last), Said::Answered(outcome.clone()))?;
                }
                // A message that waits for its turn, or has tried to wait: no member asked for it.
                Effect::Parked { .. } if read.source.is_none() && read.command == Command::Tick => {}
                Effect::Parked { ticket, .. } => {
                    self.occurred(read, (first, last), Said::Parked(*ticket))?;
                    self.parked(*ticket, made);
                }
                Effect::TicketEnded { ticket, end, outcome } => {
                    let end = End { position: last, how: *end, outcome: outcome.clone(), made };
                    let new = Ticket { began: None, wait_ms: None, end: None, object: None, busy_ms: 0 };
                    self.told.tickets.entry(*ticket).or_insert(new).end = Some(end);
                }
                Effect::SessionOpened { session, .. } => {
                    let open = self.state.session(*session);
                    let ttl_ms = open.map_or(0, |open| u64::try_from(open.ttl_ms).unwrap_or(0));
                    let is_used_up = |at: &WallTime| self.state.stamp().since(*at) < ENDED_MS;
                    let is_again = self.used_up.get(session).is_some_and(is_used_up);
                    let life = Life { opened_ms: at_ms, ttl_ms, is_again, ended: None };
                    self.told.sessions.entry(*session).or_default().push(life);
                }
                Effect::SessionEnded { session, expired } => {
                    let deed = made.unwrap_or(Deed { at_ms, life: 0 });
                    self.session_ended(*session, (deed, *expired));
                }
                Effect::Event(_) => {}
            }
        }
        Ok(())
    }

    /// A quota was set, or taken away.
    fn note_rate(&mut self, command: &Command, outcome: &Outcome) {
        let Command::Access { change: AccessChange::Quota { of, limits }, .. } = command else { return };
        if matches!(outcome, Outcome::Done(_)) {
            self.told.rates.push((self.state.position(), of.clone(), limits.calls_per_second));
        }
    }

    /// A session has ended then; whether for its silence.
    fn session_ended(&mut self, session: SessionId, ended: (Deed, bool)) {
        let lives = self.told.sessions.entry(session).or_default();
        lives.iter_mut().last().into_iter().for_each(|life| life.ended = Some(ended));
        if self.state.feature_level() >= ENDED_LEVEL {
            self.used_up.insert(session, self.state.stamp());
        }
    }

    /// A call waits, from now on or still.
    fn parked(&mut self, ticket: u64, began: Option<Deed>) {
        let (wait_ms, object) = match self.state.ticket(ticket) {
            Some(TicketState::Waits { deadline, object, .. }) => {
                (deadline.map(|at| at.since(self.state.stamp())), Some(object))
            }
            _ => (None, None),
        };
        let object = object.filter(|_| self.evidence.has_guests());
        let new = Ticket { began, wait_ms, end: None, object, busy_ms: 0 };
        self.told.tickets.entry(ticket).or_insert(new);
    }

    /// A request of a member's caller is in the log.
    fn occurred(&mut self, read: &LogCommand, (first, last): (u64, u64), said: Said) -> Result<(), Wrong> {
        let Some(source) = read.source else {
            return Err((3, format!("a leader of its own accord: {}", crate::outcome::brief(&read.command))));
        };
        let Some(caller) = read.command.caller() else { return Ok(()) };
        let lives = &self.evidence.record.lives;
        let Some(life) = lives.get(&(source.member, source.incarnation)) else {
            return Err((3, format!("{source:?} is no process that ever was")));
        };
        let occurrences = self.told.requests.entry((*life, caller.origin.number)).or_default();
        let is_once = caller.identity == Identity::Anonymous && rules::object_of(&read.command).is_some();
        if is_once && !occurrences.is_empty() {
            let words = crate::outcome::brief(&read.command);
            return Err((3, format!("without session and key, it takes effect twice: {words}")));
        }
        occurrences.push(Occurrence { first, last, principal: caller.principal.clone(), said });
        Ok(())
    }

    pub(super) fn take_judged(&mut self) -> impl Iterator<Item = (u32, Judged)> {
        let of_guests = self.guests.as_mut().map(|guests| std::mem::take(&mut guests.judged));
        std::mem::take(&mut self.rules.judged).into_iter().chain(of_guests.into_iter().flatten())
    }

    /// What is out of the ordinary and has happened to guests.
    pub(super) fn take_reached(&mut self) -> BTreeMap<&'static str, u64> {
        self.guests.take().map(|guests| guests.reached).unwrap_or_default()
    }

    /// The digest of the state behind the command of that position.
    pub(super) fn digest_at(&self, position: u64) -> Option<u64> {
        self.told.digests.get(&position).copied()
    }

    /// O19, O24: at equal positions all members have what the log makes.
    pub(super) fn digests(&self, findings: &mut Findings) {
        for seen in &self.evidence.record.digests {
            findings.judged(19, "states of members");
            if seen.is_behind_snapshot {
                findings.judged(24, "states behind another member's snapshot");
            }
            let due = self.told.digests.get(&seen.position);
            if due == Some(&seen.digest) {
                continue;
            }
            let rule = if seen.is_behind_snapshot { 24 } else { 19 };
            let words = format!(
                "member {} in life {} has the digest {:x} at position {}, and the log makes {due:x?}",
                seen.member, seen.life, seen.digest, seen.position
            );
            return findings.add(&(rule, words));
        }
    }
}
