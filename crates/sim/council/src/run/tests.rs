//! The rules bite: in a run that was clean one thing is made up, and the rule that should find it does.

use base::LogIndex;
use std::sync::OnceLock;

use bytes::Bytes;
use consensus_raft::{Entry, Membership};
use council_tree::{Command, Operation, Origin};
use council_wire::{ErrorCode, EventType, MultiHeader, OpCode, SessionId, Stat, Writer};

use super::*;
use crate::history::{Ask, Call, Outcome};
use crate::record::{Committed, Outsider, Resumed};

/// The first of these seeds whose run has all that the forgeries need.
const SEEDS: std::ops::Range<u64> = 4..24;

/// A run under load of all kinds, with clients that come and go.
fn clean() -> Run {
    static SEED: OnceLock<u64> = OnceLock::new();
    let fits = |seed: &u64| {
        let mut run = play(*seed);
        asked_without_room(&mut run, true).is_some() && asked_without_room(&mut run, false).is_some()
    };
    play(*SEED.get_or_init(|| SEEDS.clone().find(fits).expect("a seed whose run has a full disk")))
}

fn play(seed: u64) -> Run {
    let mut run = Run::of(Random::new(seed), Some(3), 50_000);
    run.faults = Faults { kill: 1, restart: 10, ..Faults::NONE };
    run.appetite = Appetite { asks: 40, features: Features::ALL, ..Appetite::LIGHT };
    run.load = Load::new(run.appetite, 3, Random::new(seed));
    (run.squeezes, run.loss) = (Some(Random::new(seed)), None);
    assert_eq!(run_to_end(&mut run), Vec::<String>::new());
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
        nodes.get_mut("/w0").expect("a client's own").data.push(b'x');
    }),
    (3, "a member lacks what was applied", |run| run.standings[0].index = run.standings[0].index.previous()),
    (4, "what was refused took effect", |run| {
        let call = run.answered(|call| matches!(call.ask, Ask::Set { .. }));
        call.answer.as_mut().expect("answered").err = ErrorCode::BadVersion.code();
    }),
    (5, "a write takes effect twice", second_coming),
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
        run.answered(|call| call.ask.is_read()).fresh_ms += 20_000;
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
    (14, "a request is passed over for its number", |run| {
        let all = run.history.connections.iter().flat_map(|connection| connection.calls.windows(2));
        let calls = &run.history.calls;
        let mut all = all.filter(|two| two.iter().all(|call| calls[*call].answer.is_some()));
        let two = all.find(|two| calls[two[0]].xid < -100).expect("two calls below 0");
        run.history.calls[two[0]].answer = None;
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
    (16, "two events change places", |run| {
        let later = |one: &Delivery, other: &Delivery| match (one, other) {
            (Delivery::Event { zxid, .. }, Delivery::Event { zxid: other, .. }) => *zxid > 0 && other > zxid,
            _ => false,
        };
        for connection in &mut run.history.connections {
            let deliveries = &mut connection.deliveries;
            if let Some(at) = deliveries.windows(2).position(|two| later(&two[0].1, &two[1].1)) {
                deliveries.swap(at, at + 1);
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
    (18, "events are lost", lose_events),
    (19, "an event is of nothing", |run| {
        let zxid =
            run.answered(|call| matches!(call.ask, Ask::Set { .. })).answer.as_ref().map(|one| one.zxid);
        let kind = EventType::NodeDataChanged;
        let event = Delivery::Event { zxid: zxid.unwrap_or(0), kind, path: "/nowhere".into() };
        run.history.connections[0].deliveries.push((0, event));
    }),
    (20, "watches set again say nothing", |run| {
        for call in &mut run.history.calls {
            if let Ask::SetWatches { relative_zxid, .. } = &mut call.ask {
                *relative_zxid = 0;
            }
        }
    }),
    (21, "persistent watches are silent", lose_events),
    (22, "clients are told what they may not know", claim_to_be_others),
    (23, "an exists of nothing leaves no watch", lose_events),
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
            for (count, call) in connection.calls.iter().enumerate().filter(|_| at_ms.is_some()) {
                let call = &mut run.history.calls[*call];
                (call.sent_ms, call.overslept) = (at_ms.unwrap_or(0) - 200 * (1 + count as u64 % 10), false);
                call.reached_ms = 0;
            }
        }
    }),
    (26, "a session that is silent lives on", |run| {
        run.history.healed_ms = Some(0);
        run.ensemble.record.reign_began_ms = 0;
        run.history.disturbed_ms = 0;
        run.history.calls.iter_mut().for_each(|call| (call.sent_ms, call.reached_ms) = (0, 0));
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
    (30, "a number is given twice", |run| {
        let call = run.answered(|call| matches!(call.ask, Ask::Create { flags: 2, stat: false, .. }));
        *call.answer.as_mut().expect("answered").body.last_mut().expect("a digit") ^= 1;
    }),
    (31, "a change of children is not counted", |run| shown(run, |stat| stat.cversion -= 1)),
    (31, "a child comes without a trace", |run| shown(run, |stat| stat.pzxid -= 1)),
    (32, "a write is not counted", |run| shown(run, |stat| stat.version += 1)),
    (32, "a setACL is not counted", |run| shown(run, |stat| stat.aversion += 1)),
    (33, "a member goes by its own clock", |run| shown(run, |stat| stat.mtime += 1)),
    (34, "a child is counted twice", |run| shown(run, |stat| stat.num_children += 1)),
    (34, "a member miscounts its data", |run| {
        run.standings[2].nodes.get_mut("/w0").expect("a client's own").stat.data_length += 1;
    }),
    (35, "nodes have no parent", |run| drop(run.standings[0].nodes.remove("/q"))),
    (35, "a node is under an ephemeral one", |run| {
        run.standings[1].nodes.get_mut("/q").expect("the queue").stat.ephemeral_owner = 77;
    }),
    (36, "a container that is empty stays", leave_a_container),
    (37, "a system node is gone", |run| drop(run.standings[0].nodes.remove("/zookeeper/quota"))),
    (38, "a failed multi has no culprit", |run| {
        let has_failed = |call: &Call| {
            let body = call.answer.as_ref().map_or(&[][..], |answer| &answer.body);
            matches!(call.ask, Ask::Multi(_)) && body.starts_with(&[255, 255, 255, 255, 0])
        };
        let body = &mut run.answered(has_failed).answer.as_mut().expect("answered").body;
        let none = ErrorCode::RuntimeInconsistency.code().to_be_bytes();
        body[9..13].copy_from_slice(&none);
    }),
    (39, "clients may do what they may not", claim_to_be_others),
    (40, "two lead at a time", |run| {
        run.ensemble.record.reigns.values_mut().next().expect("a reign").insert(base::MemberId(99));
    }),
    (40, "a member knows of none", |run| {
        run.ensemble.record.members.unlike.push((2, LogIndex(7), Membership::default()));
    }),
    (41, "a write in the calm is lost", |run| {
        let calls = run.history.calls.iter_mut().rev();
        calls.filter(|call| matches!(call.ask, Ask::Set { .. })).take(1).for_each(|call| call.answer = None);
    }),
    (42, "a member is silent in the calm", |run| {
        let mut served = run.history.connections.iter_mut().filter(|one| one.grant.is_some());
        served.next().expect("a client").silent_since_ms = Some(run.history.ended_ms);
    }),
    (43, "much is kept for somebody who reads nothing", |run| {
        run.ensemble.record.unsent_bytes = 100 << 20;
    }),
    (45, "a write stands in the log otherwise than it was asked", |run| {
        let call = run.answered(|call| matches!(call.ask, Ask::Set { .. }));
        if let Ask::Set { version, .. } = &mut call.ask {
            *version += 1;
        }
    }),
    (45, "a write stands in the log as of another address", |run| {
        let connections = run.history.connections.iter_mut();
        connections.for_each(|connection| connection.address = "192.0.2.1".parse().expect("an address"));
    }),
    (45, "a write stands in the log that nobody asked", second_coming),
    (46, "a client is granted more than the log gives it", |run| {
        let mut grants =
            run.history.connections.iter_mut().filter_map(|connection| connection.grant.as_mut());
        grants.next().expect("a grant").timeout_ms += 1;
    }),
    (46, "a client is let in by a member that knows less", |run| {
        let mut granted = run.history.connections.iter_mut().filter(|connection| connection.grant.is_some());
        granted.next().expect("a connection").seen_zxid = i64::MAX;
    }),
    (47, "a node is counted twice", |run| {
        let call = run.answered(|call| matches!(call.ask, Ask::Count { .. }));
        call.answer.as_mut().expect("answered").body[3] ^= 1;
    }),
    (48, "a write is done without room", |run| {
        without_room(run, true).answer.as_mut().expect("answered").err = 0;
    }),
    (48, "a member without room keeps a client waiting", |run| without_room(run, true).answer = None),
    (48, "a member without room lets nobody read", |run| {
        without_room(run, false).answer.as_mut().expect("answered").err = ErrorCode::SystemError.code();
    }),
    (49, "a zxid of the lost ensemble is given again", |run| {
        run.ensemble.record.resumed =
            Some(Resumed { index: LogIndex(1), given_zxid: i64::MAX, ..Resumed::default() });
    }),
    (49, "a member with data of the lost ensemble serves", |run| {
        let outsiders = [(0, Outsider { member: 1, served: true, led: false })].into();
        run.ensemble.record.resumed = Some(Resumed { outsiders, ..Resumed::default() });
    }),
    (49, "a member with data of the lost ensemble grants a session", |run| {
        let granted = run.history.connections.iter().find(|connection| connection.grant.is_some());
        let outsiders = [(granted.expect("a session").life, Outsider::default())].into();
        run.ensemble.record.resumed = Some(Resumed { outsiders, ..Resumed::default() });
    }),
    (50, "two machines of one number serve", |run| {
        run.ensemble.record.both_served.insert(1, 7);
    }),
    (52, "a member hears what came on an old connection", |run| {
        run.ensemble.record.pairs.misused.push(String::from("a member is told what came before"));
    }),
    (51, "a member misuses its membership", |run| {
        run.ensemble.record.misused_memberships.push(String::from("a member tells what is not on its disk"));
    }),
];

/// A write, or something else, that a member was asked for whose disk was full.
fn asked_without_room(run: &mut Run, is_write: bool) -> Option<&mut Call> {
    let squeezed = run.history.squeezed.as_ref()?;
    let from = run.history.calls.iter().position(|call| {
        squeezed.clients.contains(&run.history.connections[call.connection].client)
            && squeezed.was_full(call.sent_ms)
            && call.ask.is_write() == is_write
    });
    Some(&mut run.history.calls[from?])
}

fn without_room(run: &mut Run, is_write: bool) -> &mut Call {
    asked_without_room(run, is_write).expect("such a call")
}

fn lose_events(run: &mut Run) {
    for connection in &mut run.history.connections {
        connection.deliveries.retain(|(_, one)| !matches!(one, Delivery::Event { .. }));
    }
}

/// Whoever said who it is was somebody else.
fn claim_to_be_others(run: &mut Run) {
    for call in &mut run.history.calls {
        if let Ask::Auth { credentials } = &mut call.ask {
            *credentials = "mallory:m".into();
        }
    }
}

/// The Stat of a node with children, or at least with a history, is shown otherwise.
fn shown(run: &mut Run, change: impl Fn(&mut Stat)) {
    let call = run.answered(|call| matches!(&call.ask, Ask::Exists { path, .. } if path == "/q"));
    let body = &mut call.answer.as_mut().expect("answered").body;
    let mut stat = Stat::read(&mut council_wire::Reader::new(body)).expect("a Stat");
    change(&mut stat);
    body.clear();
    stat.write(&mut Writer::new(body));
}

/// A container had a child once, and is there in the end.
fn leave_a_container(run: &mut Run) {
    let mut body = Vec::new();
    let mut writer = Writer::new(&mut body);
    let container = Ask::Container { path: "/left".into() };
    let all = [container, Ask::plain("/left/child"), Ask::Delete { path: "/left/child".into(), version: -1 }];
    for one in &all {
        MultiHeader { operation: one.opcode().code(), done: false, err: -1 }.write(&mut writer);
        one.write(&mut writer);
    }
    MultiHeader::END.write(&mut writer);
    let command = Command::internal(Operation::Client { opcode: OpCode::Multi, body: &body });
    append(run, &command);
    for standing in &mut run.standings {
        let held = standing.nodes["/zookeeper/quota"].clone();
        standing.zxid += 1;
        standing.nodes.insert("/left".into(), held);
    }
}

/// One more entry in the log, which everybody knew long ago.
fn append(run: &mut Run, command: &Command<'_>) {
    let mut encoded = Vec::new();
    command.encode(&mut encoded);
    let record = &mut run.ensemble.record;
    let stamped = record.entries.iter().rev().find(|committed| committed.entry.data.len() > 9);
    // The stamp of another entry stands before its first command.
    let mut data = stamped.expect("an entry with commands").entry.data[..9].to_vec();
    data.extend_from_slice(&(encoded.len() as u32).to_le_bytes());
    data.extend_from_slice(&encoded);
    let last = record.entries.last().expect("entries").clone();
    let entry = Entry { index: last.entry.index.next(), data: Bytes::from(data), ..last.entry };
    record.entries.push(Committed { entry, at_ms: 0, ..last });
}

/// Once more what a living session's client last asked for.
fn second_coming(run: &mut Run) {
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
    let operation = Operation::Client { opcode: OpCode::SetData, body: &done.body };
    append(run, &Command { origin: Some(origin), ..Command::internal(operation) });
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
