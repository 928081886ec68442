//! Which call became which command of the log. Members know; from outside it is told by what the log says of each command:
//! its session, its bytes, and the zxid that its answer has to bear.

use std::collections::{BTreeMap, BTreeSet};

use council_wire::{OpCode, Writer};
use sim_council::history::{Ask, Call, History, Outcome};
use sim_council::oracle::{Oracle, Origin, Transaction};

/// The number of a command that is in no log: what was said to be done and is not there.
const NOWHERE: u64 = u64::MAX;

/// Writes down which calls became which commands, and which of its session's connections each one was.
pub(super) fn link(history: &mut History, oracle: &Oracle) {
    let mut links = Links::of(oracle);
    let mut generations: BTreeMap<usize, u32> = BTreeMap::new();
    // What was answered says itself where it stands.
    let answered = |call: &Call| call.answer.is_some();
    for is_answered in [true, false] {
        for call in
            history.calls.iter_mut().filter(|call| call.ask.is_write() && answered(call) == is_answered)
        {
            let Some(grant) = history.connections[call.connection].grant else { continue };
            let generation = generations.get(&call.connection).copied();
            let found = links.find(call, grant.session, generation);
            if let Some((_, generation, sequence)) = found {
                generations.insert(call.connection, generation);
                call.sequence = sequence;
            } else if call.outcome() == Outcome::Ok && call.ask != Ask::Close {
                call.sequence = NOWHERE;
            }
        }
    }
    number(history, oracle, &generations);
}

/// The commands of all sessions that no call has been found for yet.
struct Links<'a> {
    by_session: BTreeMap<i64, Vec<&'a Transaction>>,
    found: BTreeSet<Origin>,
}

impl<'a> Links<'a> {
    fn of(oracle: &'a Oracle) -> Self {
        let mut by_session: BTreeMap<i64, Vec<&Transaction>> = BTreeMap::new();
        for done in &oracle.transactions {
            if let Some((session, ..)) = done.origin {
                by_session.entry(session).or_default().push(done);
            }
        }
        Self { by_session, found: BTreeSet::new() }
    }

    /// The first command that may be this call, in a session, and on one of its connections if that is known.
    fn find(&mut self, call: &Call, session: i64, generation: Option<u32>) -> Option<Origin> {
        let all = self.by_session.get(&session)?;
        let zxid = call.answer.as_ref().map(|answer| answer.zxid);
        let from = zxid.map_or(0, |zxid| all.partition_point(|done| done.zxid < zxid));
        let behind = all[from..].iter().take_while(|done| zxid.is_none_or(|zxid| done.zxid == zxid));
        let body = body(&call.ask);
        let origin = behind.filter_map(|done| {
            let origin = done.origin?;
            // Of a command that was refused on its way nothing stands in the log but the error. If the call was not answered
            // either, and nothing else tells which generation its connection had, it may be any call of the session.
            let fits = match done.refused {
                true => call.answer.as_ref().map_or(generation.is_some(), |answer| answer.err == done.error),
                false => {
                    done.opcode == Some(call.ask.opcode())
                        && (done.opcode == Some(OpCode::CloseSession) || done.body == body)
                }
            };
            let fits = fits && generation.is_none_or(|generation| generation == origin.1);
            (fits && !self.found.contains(&origin)).then_some(origin)
        });
        let origin = origin.min_by_key(|(_, generation, sequence)| (*generation, *sequence))?;
        self.found.insert(origin);
        Some(origin)
    }
}

fn body(ask: &Ask) -> Vec<u8> {
    let mut bytes = Vec::new();
    ask.write(&mut Writer::new(&mut bytes));
    bytes
}

/// Numbers the connections of each session: those of which nothing is in the log have a place between the others. One that
/// has none in the log stays 0.
fn number(history: &mut History, oracle: &Oracle, known: &BTreeMap<usize, u32>) {
    let mut by_session: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (number, connection) in history.connections.iter().enumerate() {
        if let Some(grant) = connection.grant {
            by_session.entry(grant.session).or_default().push(number);
        }
    }
    for (session, connections) in by_session {
        let Some(story) = oracle.sessions.get(&session) else { continue };
        let mut before = 0;
        for (place, number) in connections.iter().enumerate() {
            let behind = connections[place + 1..].iter().find_map(|later| known.get(later)).copied();
            let between =
                story.generations.iter().map(|(generation, ..)| *generation).find(|generation| {
                    *generation > before && behind.is_none_or(|behind| *generation < behind)
                });
            let generation = known.get(number).copied().or(between).unwrap_or(0);
            before = generation.max(before);
            if let Some(grant) = &mut history.connections[*number].grant {
                grant.generation = generation;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use sim_council::run::{Plan, Remains, remains};

    use super::*;

    /// Where members are simulated, it is known which call became which command.
    fn simulated(seed: u64) -> Remains {
        remains(&Plan::of(seed, 20_000)).expect("a clean run")
    }

    #[test]
    fn what_is_told_from_outside_is_what_members_know() {
        let (mut linked, mut numbered, mut unanswered) = (0, 0, 0);
        for seed in 0..8 {
            let Remains { history: known, record, .. } = simulated(seed);
            let oracle = Oracle::of(&record);
            let mut history = known.clone();
            history.calls.iter_mut().for_each(|call| call.sequence = 0);
            let grants = history.connections.iter_mut().filter_map(|connection| connection.grant.as_mut());
            grants.for_each(|grant| grant.generation = 0);
            link(&mut history, &oracle);
            for (call, known) in history.calls.iter().zip(&known.calls) {
                if call.sequence != 0 {
                    assert_eq!(call.sequence, known.sequence, "seed {seed}: {known:?}");
                    linked += 1;
                    unanswered += u64::from(call.answer.is_none());
                }
                let is_done = known.ask.is_write() && known.outcome() == Outcome::Ok;
                assert!(!is_done || known.ask == Ask::Close || call.sequence != 0, "seed {seed}: {known:?}");
            }
            for (connection, known) in history.connections.iter().zip(&known.connections) {
                let mut calls = connection.calls.iter().map(|call| &history.calls[*call]);
                if calls.any(|call| call.sequence != 0) {
                    let generation =
                        |one: &sim_council::history::Connection| one.grant.map(|grant| grant.generation);
                    assert_eq!(generation(connection), generation(known), "seed {seed}");
                    numbered += 1;
                }
            }
        }
        assert!(linked > 500 && numbered > 50 && unanswered > 10, "{linked}, {numbered}, {unanswered}");
    }

    /// A write that was under way when the disk was full: its place in the log bears the error, and nothing of what was asked.
    #[test]
    fn refused_write_is_told_by_its_error_whether_it_was_answered_or_not() {
        for is_answered in [true, false] {
            let Remains { mut history, record, .. } = simulated(1);
            let mut oracle = Oracle::of(&record);
            let is_set =
                |call: &&mut Call| matches!(call.ask, Ask::Set { .. }) && call.outcome() == Outcome::Ok;
            let call = history.calls.iter_mut().find(is_set).expect("a write");
            let (number, sequence, connection) = (call.xid, call.sequence, call.connection);
            let refusal = council_wire::ErrorCode::SystemError.code();
            match &mut call.answer {
                Some(answer) if is_answered => answer.err = refusal,
                answer => *answer = None,
            }
            let session = history.connections[connection].grant.expect("a session").session;
            let of_call = |done: &&mut Transaction| {
                done.origin.is_some_and(|origin| origin.0 == session && origin.2 == sequence)
            };
            let done = oracle.transactions.iter_mut().find(of_call).expect("it is in the log");
            (done.refused, done.opcode, done.error) = (true, None, refusal);
            done.body.clear();
            history.calls.iter_mut().for_each(|call| call.sequence = 0);
            link(&mut history, &oracle);
            let mut calls = history.calls.iter();
            let call = calls.find(|call| call.connection == connection && call.xid == number);
            assert_eq!(call.expect("the same").sequence, sequence, "answered: {is_answered}");
        }
    }

    #[test]
    fn what_was_done_and_is_in_no_log_has_a_number_that_is_in_none() {
        let Remains { mut history, record, .. } = simulated(1);
        let oracle = Oracle::of(&record);
        let is_done = |call: &&mut Call| matches!(call.ask, Ask::Set { .. }) && call.outcome() == Outcome::Ok;
        let call = history.calls.iter_mut().find(is_done).expect("a write");
        if let Ask::Set { data, .. } = &mut call.ask {
            data.push(b'x');
        }
        link(&mut history, &oracle);
        assert_eq!(history.calls.iter().filter(|call| call.sequence == NOWHERE).count(), 1);
    }
}
