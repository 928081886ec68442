//! The rules bite: in a run that was clean one thing is made up, and the rule that should find it does.

use bytes::Bytes;
use council::Entry;
use jute::{ErrorCode, OpCode, SessionId};
use tree::{Command, Operation, Origin};

use super::*;
use crate::history::Call;
use crate::record::Committed;

/// A run under light load, with clients that come and go.
fn clean() -> Run {
    let mut run = Run::of(Random::new(4), Some(3));
    (run.faults, run.appetite) = (Faults { kill: 1, restart: 10, ..Faults::NONE }, Appetite::LIGHT);
    run.load = Load::new(run.appetite, 3, Random::new(4));
    assert_eq!(run.all(30_000), Vec::<String>::new());
    run
}

impl Run {
    /// The first call that was answered well and is of that kind.
    fn answered(&mut self, fits: impl Fn(&Call) -> bool) -> &mut Call {
        let calls = self.history.calls.iter_mut();
        let mut calls = calls.filter(|call| call.outcome() == Outcome::Ok && call.answer.is_some());
        calls.find(|call| fits(call)).expect("such a call")
    }
}

/// What is made up, and which rule finds it.
type Forgery = (u32, &'static str, fn(&mut Run));

const FORGERIES: &[Forgery] = &[
    (1, "a member stands elsewhere", |run| {
        run.ensemble.record.applies.last_mut().expect("it applied").zxid += 1;
    }),
    (2, "a member's tree differs for a moment", |run| {
        run.ensemble.record.applies.last_mut().expect("it applied").digest ^= 1;
    }),
    (2, "a member holds other data", |run| {
        let nodes = &mut run.standings[1].nodes;
        nodes.get_mut("/w0").expect("a client's own").0.push(b'x');
    }),
    (3, "a member lacks what was applied", |run| run.standings[0].index -= 1),
    (4, "what was refused took effect", |run| {
        let call = run.answered(|call| matches!(call.ask, Ask::Set { .. }));
        call.answer.as_mut().expect("answered").err = ErrorCode::BadVersion.code();
    }),
    (5, "a write takes effect twice", |run| {
        let again = second_coming(run);
        let record = &mut run.ensemble.record;
        let last = record.entries.last().expect("entries").clone();
        let entry = Entry { index: last.entry.index + 1, data: again, ..last.entry.clone() };
        record.entries.push(Committed { entry, ..last });
    }),
    (6, "a write that was sent late stands early", |run| {
        run.answered(|call| matches!(call.ask, Ask::Set { .. })).sent_ms += 20_000;
    }),
    (6, "a write was told another result", |run| {
        let call = run.answered(|call| matches!(call.ask, Ask::Set { .. }));
        call.answer.as_mut().expect("answered").body[0] ^= 1;
    }),
    (7, "two answers change places", |run| {
        let mut all = run.history.connections.iter_mut();
        let connection = all.find(|connection| connection.deliveries.len() > 20).expect("a long one");
        let replies = connection.deliveries.iter().enumerate();
        let replies: Vec<_> = replies.filter(|(_, (_, one))| matches!(one, Delivery::Reply(_))).collect();
        let (one, other) = (replies[0].0, replies[1].0);
        connection.deliveries.swap(one, other);
    }),
    (8, "a read behind a write does not see it", |run| {
        let calls = &run.history.calls;
        let answered = |call: &usize| calls[*call].answer.is_some() && calls[*call].outcome() == Outcome::Ok;
        let is_write = |call: &usize| matches!(calls[*call].ask, Ask::Set { .. }) && answered(call);
        let behind_a_write = run.history.connections.iter().find_map(|connection| {
            let behind = connection.calls.iter().skip_while(|call| !is_write(call));
            behind.copied().find(|call| calls[*call].ask.is_read() && answered(call))
        });
        let read = &mut run.history.calls[behind_a_write.expect("a read behind a write")];
        read.answer.as_mut().expect("answered").zxid = 1;
    }),
    (9, "a session is taken back", |run| {
        let reads: Vec<_> =
            run.history.calls.iter().enumerate().filter(|(_, call)| call.ask.is_read()).collect();
        let last = reads.iter().rev().find(|(_, call)| call.answer.is_some()).expect("a read").0;
        run.history.calls[last].answer.as_mut().expect("answered").zxid = 1;
    }),
    (10, "a read shows what never was", |run| {
        let call = run.answered(|call| matches!(call.ask, Ask::Get { .. }));
        call.answer.as_mut().expect("answered").body.iter_mut().for_each(|byte| *byte ^= 1);
    }),
    (11, "a read is old", |run| {
        run.answered(|call| call.ask.is_read()).answer.as_mut().expect("answered").at_ms += 20_000;
    }),
    (12, "two connections are the same", |run| {
        let granted = run.history.connections.iter().find_map(|connection| connection.grant);
        let other = run.history.connections.iter_mut().rev().find(|connection| connection.grant.is_some());
        other.expect("another").grant = granted;
    }),
    (13, "a stranger was let in", |run| {
        let mut all = run.history.connections.iter_mut();
        let again = all.find(|connection| connection.asked != 0 && connection.grant.is_some());
        again.expect("a session taken up again").rightful = false;
    }),
    (15, "an event comes behind what it is about", |run| {
        for connection in &mut run.history.connections {
            let events = connection.deliveries.iter();
            let event = events.clone().position(|(_, one)| matches!(one, Delivery::Event { .. }));
            if let Some(event) = event.filter(|event| event + 1 < connection.deliveries.len()) {
                let late = connection.deliveries.remove(event);
                connection.deliveries.push(late);
            }
        }
    }),
    (17, "an event comes twice", |run| {
        for connection in &mut run.history.connections {
            let fired = |one: &Delivery| matches!(one, Delivery::Event { zxid, .. } if *zxid > 0);
            if let Some(at) = connection.deliveries.iter().position(|(_, one)| fired(one)) {
                let again = connection.deliveries[at].clone();
                connection.deliveries.insert(at, again);
            }
        }
    }),
    (18, "events are lost", |run| {
        for connection in &mut run.history.connections {
            connection.deliveries.retain(|(_, one)| !matches!(one, Delivery::Event { .. }));
        }
    }),
    (20, "watches set again say nothing", |run| {
        for call in &mut run.history.calls {
            if let Ask::SetWatches { relative_zxid, .. } = &mut call.ask {
                *relative_zxid = 0;
            }
        }
    }),
    (24, "a node outlives its session", |run| {
        let oracle = Oracle::of(&run.ensemble.record);
        let ends = oracle.sessions.iter().filter_map(|(id, story)| Some((*id, story.ended.as_ref()?.zxid)));
        let (id, zxid) = ends.min_by_key(|(_, zxid)| *zxid).expect("a session that ended");
        let call = run.answered(|call| {
            let late = call.answer.as_ref().is_some_and(|answer| answer.zxid > zxid);
            late && matches!(call.ask, Ask::Exists { .. })
        });
        call.answer.as_mut().expect("answered").body[44..52].copy_from_slice(&id.to_be_bytes());
    }),
    (25, "a session ends while its client talks", |run| {
        let oracle = Oracle::of(&run.ensemble.record);
        let ended = |session: i64| {
            let story = oracle.sessions.get(&session)?;
            story.ended.as_ref().filter(|end| end.expired).map(|end| end.at_ms)
        };
        for connection in &run.history.connections {
            let at_ms = connection.grant.and_then(|grant| ended(grant.session));
            for call in connection.calls.iter().filter(|_| at_ms.is_some()) {
                run.history.calls[*call].sent_ms = at_ms.unwrap_or(0) - 10;
            }
        }
    }),
    (26, "a session that is silent lives on", |run| {
        run.history.healed_ms = Some(0);
        run.ensemble.record.reign_began_ms = 0;
        run.history.calls.iter_mut().for_each(|call| call.sent_ms = 0);
        let grants = run.history.connections.iter_mut().filter_map(|connection| connection.grant.as_mut());
        grants.for_each(|grant| grant.at_ms = 0);
    }),
    (27, "a session is taken up that no log knows", |run| {
        let mut grants =
            run.history.connections.iter_mut().filter_map(|connection| connection.grant.as_mut());
        grants.next().expect("a grant").generation += 1_000;
    }),
    (28, "a node is owned by nobody", |run| {
        let call = run.answered(|call| matches!(call.ask, Ask::Exists { .. }));
        let body = &mut call.answer.as_mut().expect("answered").body;
        body[44..52].copy_from_slice(&77_i64.to_be_bytes());
    }),
    (40, "two lead at a time", |run| {
        run.ensemble.record.reigns.values_mut().next().expect("a reign").insert(99);
    }),
];

/// An entry that does once more what a living session's client last asked for.
fn second_coming(run: &Run) -> Bytes {
    let oracle = Oracle::of(&run.ensemble.record);
    let lives = |session| oracle.sessions.get(&session).is_some_and(|story| story.ended.is_none());
    let mut sets = oracle.transactions.iter().rev().filter(|done| done.opcode == Some(OpCode::SetData));
    let done = sets.find(|done| done.error == 0 && done.origin.is_some_and(|origin| lives(origin.0)));
    let done = done.expect("a write of a living session");
    let (session, generation, _) = done.origin.expect("a client's");
    let own = oracle.transactions.iter().filter_map(|done| done.origin);
    let last =
        own.filter(|origin| (origin.0, origin.1) == (session, generation)).map(|origin| origin.2).max();
    let origin = Origin { session: SessionId(session), generation, sequence: last.unwrap_or(0) + 1 };
    let entry = &run.ensemble.record.entries[done.index as usize - 1].entry;
    let operation = Operation::Client { opcode: OpCode::SetData, body: &done.body };
    let mut command = Vec::new();
    Command { origin: Some(origin), ..Command::internal(operation) }.encode(&mut command);
    // The entry's own stamp stands before its first command.
    let mut data = entry.data[..9].to_vec();
    data.extend_from_slice(&(command.len() as u32).to_le_bytes());
    data.extend_from_slice(&command);
    Bytes::from(data)
}

#[test]
fn each_forgery_is_found_by_its_rule() {
    for (rule, what, forge) in FORGERIES {
        let mut run = clean();
        forge(&mut run);
        let wrongs = run.verdict();
        let found = wrongs.iter().any(|wrong| wrong.starts_with(&format!("rule {rule} ")));
        assert!(found, "{what}: rule {rule} did not find it, but {wrongs:#?}");
    }
}
