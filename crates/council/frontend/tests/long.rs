//! Requests that take very much: their replies are bounded, they are done in pieces between which others are served,
//! and they answer what the tree showed at one moment.

mod support;

use std::collections::BTreeSet;

use council_frontend::Asker;
use council_frontend::read::evaluate;
use council_frontend::{FromCore, FrontConfig};
use council_tree::{Identities, Policy};
use council_wire::{Acl, ErrorCode, MultiHeader, OpCode, Reader, ReplyHeader, SessionId};
use support::rounds::Rounds;
use support::{House, wire};

const MIB: usize = 1 << 20;

fn path(path: &str) -> Vec<u8> {
    wire::body(|writer| {
        writer.text(path);
    })
}

fn multi_read(paths: &[&str]) -> Vec<u8> {
    wire::body(|writer| {
        for path in paths {
            MultiHeader { operation: OpCode::GetData.code(), done: false, err: -1 }.write(writer);
            writer.raw(&wire::read(path, false));
        }
        MultiHeader::END.write(writer);
    })
}

/// The error in a reply's header.
fn error(frame: &[u8]) -> i32 {
    ReplyHeader::read(&mut Reader::new(frame)).expect("a header").err
}

/// The list that a reply consists of.
fn list(frame: &[u8]) -> BTreeSet<String> {
    let mut reader = Reader::new(frame);
    assert_eq!(ReplyHeader::read(&mut reader).expect("a list").err, 0);
    let count = reader.count().expect("a list");
    let names: BTreeSet<_> = (0..count).map(|_| reader.text().expect("a list").to_owned()).collect();
    assert_eq!(names.len(), count, "nothing is listed twice");
    names
}

#[test]
fn multi_read_beyond_the_limit_is_refused_from_there_on() {
    let config = FrontConfig { reply_bytes_max: 3 * MIB, ..FrontConfig::default() };
    let mut rounds = Rounds::new(&config);
    let big = wire::create("/big", Some(&vec![1; 1_000_000]), &[Acl::open()], 0);
    rounds.write(OpCode::Create, &big);
    rounds.write(OpCode::Create, &wire::create("/small", Some(b"x"), &[Acl::open()], 0));
    let mut paths = vec!["/big"; 4000];
    paths.push("/small");
    rounds.send(&wire::request(1, OpCode::MultiRead.code(), &multi_read(&paths)));
    let mut most = 0;
    let (frames, _) = rounds.finish(|rounds, _| most = most.max(rounds.unsent()));
    assert!(most <= 3 * MIB + 32 * paths.len(), "{most}");
    let text = wire::describe(&frames[0], |_| Some(OpCode::MultiRead));
    assert_eq!((text.matches("getData").count(), text.matches("BadArguments").count()), (3, 3998));
    assert_eq!(rounds.unsent(), 0);
}

#[test]
fn multi_read_of_many_megabytes_is_answered_within_the_limit() {
    let mut rounds = Rounds::new(&FrontConfig::default());
    let big = wire::create("/big", Some(&vec![1; 1_000_000]), &[Acl::open()], 0);
    rounds.write(OpCode::Create, &big);
    let request = multi_read(&["/big"; 40]);
    rounds.send(&wire::request(1, OpCode::MultiRead.code(), &request));
    let (frames, made_in) = rounds.finish(|_, _| {});
    assert_eq!(error(&frames[0]), 0);
    assert!(frames[0].len() > 40_000_000 && made_in > 5, "{} bytes in {made_in} rounds", frames[0].len());
}

#[test]
fn single_read_beyond_the_limit_is_refused() {
    let config = FrontConfig { reply_bytes_max: 10_000, request_bytes_max: 9_000, ..FrontConfig::default() };
    let mut rounds = Rounds::new(&config);
    rounds.plant(9_000);
    for (xid, opcode, body) in
        [(1, OpCode::GetChildren, wire::read("/p", false)), (2, OpCode::GetChildren2, wire::read("/p", true))]
    {
        rounds.send(&wire::request(xid, opcode.code(), &body));
        let (frames, _) = rounds.finish(|_, _| {});
        assert_eq!(error(&frames[0]), ErrorCode::BadArguments.code());
    }
    let stats = rounds.house.fronts[0].stats();
    assert_eq!((stats.unsent_bytes, stats.in_flight_bytes, stats.watch_count), (0, 0, 0));
}

#[test]
fn count_of_descendants_yields_and_counts_right() {
    let mut rounds = Rounds::new(&FrontConfig::default());
    rounds.plant(30_000);
    let one = wire::request(1, OpCode::GetAllChildrenNumber.code(), &path("/p"));
    rounds.send(&one);
    let (frames, made_in) = rounds.finish(|_, _| {});
    assert_eq!(frames[0][16..], 30_000_i32.to_be_bytes());
    assert!((6..20).contains(&made_in), "30,000 nodes in {made_in} rounds of 4,096");
}

#[test]
fn many_counts_of_small_trees_yield_too() {
    let mut rounds = Rounds::new(&FrontConfig::default());
    rounds.plant(1_000);
    let Rounds { house, a, .. } = &mut rounds;
    let one = wire::request(1, OpCode::GetAllChildrenNumber.code(), &path("/p"));
    let all = one.repeat(100);
    let taken = house.fronts[0].receive(*a, &all, &house.core.tree, house.now);
    assert_eq!(taken, 5 * one.len(), "a turn is so much work, however few bytes it makes");
}

#[test]
fn children_listed_in_pieces_are_those_of_one_moment() {
    let mut rounds = Rounds::new(&FrontConfig::default());
    rounds.plant(10_000);
    for (stop, opcode) in [(1, OpCode::GetChildren), (2, OpCode::GetChildren2)] {
        rounds.send(&wire::request(1, opcode.code(), &wire::read("/p", true)));
        let (frames, _) = rounds.finish(|rounds, round| {
            if round == stop {
                rounds.delete(&format!("/p/{:06}", 9_999 - stop));
                rounds.create(&format!("/p/new{stop}"));
            }
        });
        let node = rounds.house.core.tree.node("/p").unwrap();
        let there: BTreeSet<_> = node.children().map(String::from).collect();
        assert_eq!(list(frames.last().unwrap()), there);
        let zxid = ReplyHeader::read(&mut Reader::new(frames.last().unwrap())).unwrap().zxid;
        assert_eq!(zxid, rounds.house.core.tree.last_zxid().0);
    }
    assert_eq!(rounds.house.fronts[0].stats().watch_count, 1, "the watch is left with the reply");
}

#[test]
fn children_that_never_stand_still_are_listed_as_a_whole() {
    let mut rounds = Rounds::new(&FrontConfig::default());
    rounds.plant(10_000);
    rounds.send(&wire::request(1, OpCode::GetChildren.code(), &wire::read("/p", false)));
    let (frames, made_in) = rounds.finish(|rounds, round| rounds.create(&format!("/p/new{round}")));
    let node = rounds.house.core.tree.node("/p").unwrap();
    let there: BTreeSet<_> = node.children().map(String::from).collect();
    assert_eq!(list(&frames[0]), there);
    assert!(made_in < 20, "{made_in}");
}

#[test]
fn multi_read_in_pieces_shows_one_moment() {
    let mut rounds = Rounds::new(&FrontConfig::default());
    rounds.create("/x");
    rounds.create("/y");
    let set = |value: &[u8], path: &str| {
        wire::body(|writer| {
            writer.text(path).buffer(Some(value)).i32(-1);
        })
    };
    let mut paths = vec!["/x"];
    paths.extend(["/"; 9_000]);
    paths.push("/y");
    rounds.send(&wire::request(1, OpCode::MultiRead.code(), &multi_read(&paths)));
    // The first is read in the first round: seen apart, the two would never be equal.
    let (frames, _) = rounds.finish(|rounds, round| {
        if round == 1 {
            rounds.write(OpCode::SetData, &set(b"late", "/x"));
            rounds.write(OpCode::SetData, &set(b"late", "/y"));
        }
    });
    let text = wire::describe(&frames[0], |_| Some(OpCode::MultiRead));
    assert_eq!(text.matches("\"late\"").count(), 2, "{}", &text[..200]);
}

/// So many entries of an ACL, the last for clients at this address; different for each number.
fn long_acl(entries: usize, number: usize, address: &str) -> Vec<Acl> {
    let entry = |scheme: &str, id: String| Acl { permissions: 31, scheme: scheme.into(), id };
    let others = (1..entries).map(|other| entry("digest", format!("u{number}-{other}:x")));
    others.chain([entry("ip", address.into())]).collect()
}

/// A multiRead of nodes with long ACLs, of which the client may read every other one.
fn rounds_of_long_acls(nodes: usize, entries: usize, number: impl Fn(usize) -> usize) -> (Rounds, Vec<u8>) {
    let mut rounds = Rounds::new(&FrontConfig::default());
    for node in 0..nodes {
        let acl = long_acl(entries, number(node), if node % 2 == 0 { "127.0.0.1" } else { "127.0.0.2" });
        rounds.write(OpCode::Create, &wire::create(&format!("/n{node}"), Some(b"x"), &acl, 0));
    }
    let paths: Vec<_> = (0..nodes).map(|node| format!("/n{node}")).collect();
    let body = multi_read(&paths.iter().map(String::as_str).collect::<Vec<_>>());
    (rounds, body)
}

fn verdicts(frame: &[u8]) -> (usize, usize) {
    let text = wire::describe(frame, |_| Some(OpCode::MultiRead));
    (text.matches("getData").count(), text.matches("NoAuth").count())
}

#[test]
fn multi_read_is_charged_for_every_acl_that_it_judges() {
    let (mut rounds, body) = rounds_of_long_acls(400, 500, |node| node);
    rounds.send(&wire::request(1, OpCode::MultiRead.code(), &body));
    let (frames, made_in) = rounds.finish(|_, _| {});
    assert_eq!(verdicts(&frames[0]), (200, 200));
    // 200,000 entries, eight for a unit of work, in turns of 4,096.
    assert!((6..12).contains(&made_in), "{made_in}");
}

#[test]
fn multi_read_judges_an_acl_once_in_each_piece() {
    let (mut rounds, body) = rounds_of_long_acls(400, 500, |node| node % 2);
    rounds.send(&wire::request(1, OpCode::MultiRead.code(), &body));
    let (frames, made_in) = rounds.finish(|_, _| {});
    assert_eq!((verdicts(&frames[0]), made_in), ((200, 200), 1));
}

#[test]
fn multi_read_of_long_acls_behind_a_write_is_not_left_to_the_core() {
    for (nodes, entries, is_light) in [(4, 500, true), (40, 500, false)] {
        let (mut rounds, body) = rounds_of_long_acls(nodes, entries, |node| node);
        let house = &mut rounds.house;
        house.core.held = true;
        house.ask("a", OpCode::Create, &wire::create("/w", None, &[Acl::open()], 0));
        house.ask("a", OpCode::MultiRead, &body);
        let waiting = house.waiting();
        assert_eq!(waiting.contains("multiRead"), is_light, "{nodes} nodes: {waiting}");
        house.core.held = false;
        house.take_log();
        house.pump();
        let log = house.take_log();
        assert_eq!(log.matches("NoAuth").count(), nodes / 2, "{log}");
    }
}

#[test]
fn ephemerals_are_listed_in_pieces() {
    let mut rounds = Rounds::new(&FrontConfig::default());
    let session = rounds.house.clients["a"].session;
    for node in 0..10_000 {
        rounds.house.ask("a", OpCode::Create, &wire::create(&format!("/e{node}"), None, &[Acl::open()], 1));
    }
    rounds.house.take_log();
    rounds.send(&wire::request(1, OpCode::GetEphemerals.code(), &path("/e")));
    let (frames, made_in) = rounds.finish(|rounds, round| {
        if round == 1 {
            rounds.delete("/e77");
        }
    });
    assert_eq!(list(&frames[0]), rounds.house.core.tree.ephemerals_of(session).collect());
    assert!(made_in >= 3, "{made_in}");
}

#[test]
fn set_watches_of_many_paths_yields_and_tells_each_once() {
    let mut rounds = Rounds::new(&FrontConfig::default());
    let seen = rounds.house.core.tree.last_zxid().0;
    let names: Vec<_> = (0..10_000).map(|name| format!("/n{name}")).collect();
    for name in &names[..5_000] {
        rounds.create(name);
        rounds.delete(name);
    }
    let body = wire::body(|writer| {
        writer.i64(seen).texts(std::iter::empty());
        // Each is named twice, except for the one that comes meanwhile.
        let again = names.iter().filter(|name| *name != "/n7000");
        writer.texts(names.iter().chain(again).map(String::as_str).collect::<Vec<_>>().into_iter());
        writer.texts(std::iter::empty());
    });
    rounds.send(&wire::request(-8, OpCode::SetWatches.code(), &body));
    // This one is already checked, and its deletion is still reported.
    let (frames, made_in) = rounds.finish(|rounds, round| {
        if round == 4 {
            rounds.create("/n7000");
        }
    });
    assert!(made_in >= 5, "{made_in}");
    let told = |path: &str| {
        let event = |frame: &&Vec<u8>| wire::describe(frame, |_| None).contains(&format!(" {path} "));
        frames.iter().filter(event).count()
    };
    assert_eq!(["/n0", "/n4999", "/n5000", "/n7000"].map(told), [1, 1, 0, 1]);
    assert_eq!(frames.len(), 5_000 + 1 + 1);
    assert_eq!(rounds.house.fronts[0].stats().watch_count, 9_999);
    assert_eq!(rounds.house.fronts[0].stats().in_flight_bytes, 0);
}

#[test]
fn large_read_behind_a_write_shows_that_write_and_no_later_one() {
    let mut rounds = Rounds::new(&FrontConfig::default());
    rounds.plant(5_000);
    let Rounds { house, .. } = &mut rounds;
    house.core.held = true;
    house.ask("a", OpCode::Create, &wire::create("/p/first", None, &[Acl::open()], 0));
    house.ask("a", OpCode::GetChildren, &wire::read("/p", false));
    house.ask("a", OpCode::Create, &wire::create("/p/second", None, &[Acl::open()], 0));
    assert_eq!(house.waiting(), "command 1", "nothing passes a read that the core does not know");
    house.core.held = false;
    house.pump();
    let log = house.take_log();
    let order: Vec<_> = log.lines().filter_map(|line| line.split_whitespace().nth(3)).collect();
    assert_eq!(order, ["create", "getChildren", "create"]);
    assert!(log.contains("004999 first)") && log.contains("/p/second"), "{}", log.len());
    assert_eq!(house.fronts[0].stats().in_flight_bytes, 0);
}

#[test]
fn long_requests_of_lost_connections_leave_nothing() {
    let mut rounds = Rounds::new(&FrontConfig::default());
    rounds.plant(20_000);
    rounds.send(&wire::request(1, OpCode::GetChildren.code(), &wire::read("/p", false)));
    rounds.round();
    assert!(rounds.unsent() > 0, "what is kept for a reply counts");
    rounds.house.fronts[0].disconnected(rounds.a);
    let stats = rounds.house.fronts[0].stats();
    assert_eq!((stats.unsent_bytes, stats.in_flight_bytes), (0, 0));
    // Another's is not held up by it.
    std::mem::swap(&mut rounds.a, &mut rounds.b);
    let Rounds { house, a, .. } = &mut rounds;
    let request = wire::request(1, OpCode::GetChildren.code(), &wire::read("/p", false));
    house.fronts[0].receive(*a, &request, &house.core.tree, house.now);
    for _ in 0..20 {
        let front = &mut house.fronts[0];
        front.go_on(&house.core.tree, house.now);
        front.events().for_each(drop);
    }
    assert!(house.fronts[0].unsent(*a) > 20_000);
}

#[test]
fn reply_of_the_core_is_bounded() {
    let mut rounds = Rounds::new(&FrontConfig::default());
    let big = wire::create("/big", Some(&vec![1; 300_000]), &[Acl::open()], 0);
    rounds.write(OpCode::Create, &big);
    let asker = Asker { session: SessionId(1), identities: Identities::NONE, policy: Policy::standard() };
    let tree = &rounds.house.core.tree;
    let reply = evaluate(tree, OpCode::GetData, 1, &wire::read("/big", true), asker);
    assert_eq!((reply.error, reply.frame.len()), (ErrorCode::ThrottledOp, 20));
    assert!(reply.watches.is_empty() && reply.reads.is_empty());
}

#[test]
fn large_replies_are_made_one_after_the_other() {
    let config = FrontConfig { output_bytes_all_max: 2 * MIB, ..FrontConfig::default() };
    let mut house = House::new(&config, 1);
    house.connect("writer");
    let big = wire::create("/big", Some(&vec![1; 1_000_000]), &[Acl::open()], 0);
    house.ask("writer", OpCode::Create, &big);
    let names: Vec<_> = (0..20).map(|name| format!("c{name}")).collect();
    let body = multi_read(&["/big"; 5]);
    for name in &names {
        house.connect(name);
        house.clients.get_mut(name).unwrap().stalled = true;
        house.ask(name, OpCode::MultiRead, &body);
        let unsent = house.fronts[0].stats().unsent_bytes;
        assert!(unsent < 8 * MIB, "{unsent} after {name}");
    }
    // Those that had to wait are answered when others have read.
    house.take_log();
    for name in &names {
        house.clients.get_mut(name).unwrap().stalled = false;
    }
    house.pump();
    let log = house.take_log();
    for name in &names {
        let line = log.lines().find(|line| line.starts_with(&format!("{name} <- xid=1 multiRead")));
        assert_eq!(line.map(|line| line.matches("getData").count()), Some(5), "{name}");
    }
}

/// Nodes of each list in tests that replace the tree: more than one turn visits.
const SHIFTED: usize = 5_000;

/// A house whose nodes lie in other slots once its tree is loaded from a snapshot: where children and ephemeral nodes
/// lie now, children of `/secret` will lie, or nothing.
fn shifted_rounds() -> Rounds {
    let mut rounds = Rounds::new(&FrontConfig::default());
    rounds.create("/first");
    (0..2 * SHIFTED).for_each(|node| rounds.create(&format!("/first/{node}")));
    rounds.plant(SHIFTED);
    let session = rounds.house.clients["a"].session;
    (0..SHIFTED).for_each(|node| rounds.house.core.create_ephemeral(session, &format!("/e{node}")));
    rounds.create("/secret");
    (0..SHIFTED).for_each(|node| rounds.create(&format!("/secret/hidden{node}")));
    (0..2 * SHIFTED).for_each(|node| rounds.delete(&format!("/first/{node}")));
    rounds
}

/// Every kind of request that takes several turns, with a part of the first one done in the first.
fn long_requests() -> Vec<(OpCode, Vec<u8>)> {
    let children = wire::body(|writer| {
        MultiHeader { operation: OpCode::GetChildren.code(), done: false, err: -1 }.write(writer);
        writer.raw(&wire::read("/p", false));
        MultiHeader::END.write(writer);
    });
    let names: Vec<_> = (0..3 * SHIFTED).map(|name| format!("/p/{:06}", name % SHIFTED)).collect();
    let watches = wire::body(|writer| {
        writer.i64(i64::MAX).texts(names.iter().map(String::as_str).collect::<Vec<_>>().into_iter());
        writer.texts(std::iter::empty()).texts(std::iter::empty());
    });
    vec![
        (OpCode::GetChildren, wire::read("/p", false)),
        (OpCode::GetChildren2, wire::read("/p", false)),
        (OpCode::MultiRead, children),
        (OpCode::MultiRead, multi_read(&["/p"; SHIFTED])),
        (OpCode::GetAllChildrenNumber, path("/p")),
        (OpCode::GetEphemerals, path("/e")),
        (OpCode::SetWatches, watches),
    ]
}

#[test]
fn long_requests_answer_right_when_the_tree_is_replaced_in_their_middle() {
    let mut rounds = shifted_rounds();
    for (opcode, body) in long_requests() {
        let request = wire::request(1, opcode.code(), &body);
        rounds.send(&request);
        let (expected, undisturbed) = rounds.finish(|_, _| {});
        rounds.send(&request);
        let (answered, made_in) = rounds.finish(|rounds, round| {
            if round == 1 {
                rounds.house.core.replace_tree();
            }
        });
        assert!(
            undisturbed >= 2 && made_in >= undisturbed,
            "{opcode:?} in {undisturbed} and {made_in} rounds"
        );
        assert_eq!(answered.len(), 1, "{opcode:?}");
        let names = |frame: &[u8]| match opcode {
            // In no order.
            OpCode::GetChildren | OpCode::GetChildren2 | OpCode::GetEphemerals => list(frame),
            _ => {
                let text = wire::describe(frame, |_| Some(opcode));
                text.split([' ', '(', ')']).map(String::from).collect()
            }
        };
        assert_eq!(names(&answered[0]), names(&expected[0]), "{opcode:?}");
        // The next one finds the tree as it was before.
        rounds = if opcode == OpCode::SetWatches { rounds } else { shifted_rounds() };
    }
    assert_eq!(rounds.house.fronts[0].stats().watch_count, SHIFTED);
}

#[test]
fn long_requests_of_connections_that_are_cut_for_a_replaced_tree_leave_nothing() {
    for (opcode, body) in long_requests() {
        let mut rounds = Rounds::new(&FrontConfig::default());
        rounds.plant(SHIFTED);
        let session = rounds.house.clients["a"].session;
        (0..SHIFTED).for_each(|node| rounds.house.core.create_ephemeral(session, &format!("/e{node}")));
        rounds.send(&wire::request(1, opcode.code(), &body));
        rounds.round();
        assert!(rounds.house.fronts[0].has_long(), "{opcode:?} is in its middle");
        rounds.house.core.replace_tree();
        let zxid = rounds.house.core.tree.last_zxid();
        rounds.house.deliver_to_all(FromCore::TreeReplaced { zxid });
        let front = &mut rounds.house.fronts[0];
        while front.sweep() {}
        let stats = front.stats();
        let left = (stats.unsent_bytes, stats.in_flight_bytes, stats.watch_count, front.has_long());
        assert_eq!(left, (0, 0, 0, false), "{opcode:?}");
    }
}
