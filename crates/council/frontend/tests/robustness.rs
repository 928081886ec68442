//! Bad input: cut anywhere, arbitrary, and valid requests damaged. Nothing panics, nothing grows beyond its limit,
//! and how the bytes are cut makes no difference to what is answered.

mod support;

use council_frontend::{FrontConfig, FrontEvent};
use council_wire::{Acl, ConnectRequest, OpCode};
use support::{House, peer, wire};

/// Numbers from a seed: the same ones each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.roll() >> 11) as usize % limit.max(1)
    }
}

fn handshake() -> Vec<u8> {
    wire::connect(&ConnectRequest {
        protocol_version: 0,
        last_zxid_seen: 0,
        timeout_ms: 10_000,
        session_id: 0,
        password: Some(&[0; 16]),
        read_only: Some(false),
    })
}

/// A well-formed request of every kind, more or less.
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn requests() -> Vec<(OpCode, Vec<u8>)> {
    let open = [Acl::open()];
    let path = |path: &str| {
        wire::body(|writer| {
            writer.text(path);
        })
    };
    let path_and = |path: &str, number: i32| {
        wire::body(|writer| {
            writer.text(path).i32(number);
        })
    };
    let watches = |lists: usize| {
        wire::body(|writer| {
            writer.i64(0);
            for _ in 0..lists {
                writer.texts(["/a", "/b"].into_iter());
            }
        })
    };
    let multi = wire::body(|writer| {
        council_wire::MultiHeader { operation: 1, done: false, err: -1 }.write(writer);
        writer.raw(&wire::create("/m", None, &open, 0));
        council_wire::MultiHeader { operation: 13, done: false, err: -1 }.write(writer);
        writer.text("/m").i32(0);
        council_wire::MultiHeader::END.write(writer);
    });
    let multi_read = wire::body(|writer| {
        council_wire::MultiHeader { operation: 4, done: false, err: -1 }.write(writer);
        writer.raw(&wire::read("/a", true));
        council_wire::MultiHeader::END.write(writer);
    });
    vec![
        (OpCode::Create, wire::create("/a", Some(b"one"), &open, 0)),
        (OpCode::Create2, wire::create("/b", None, &open, 1)),
        (OpCode::Exists, wire::read("/c", true)),
        (OpCode::GetData, wire::read("/a", true)),
        (OpCode::GetChildren, wire::read("/", true)),
        (OpCode::GetChildren2, wire::read("/", false)),
        (OpCode::GetAcl, path("/a")),
        (
            OpCode::SetData,
            wire::body(|writer| {
                writer.text("/a").buffer(Some(b"two")).i32(-1);
            }),
        ),
        (
            OpCode::SetAcl,
            wire::body(|writer| {
                writer.text("/a");
                Acl::write_all(&open, writer);
                writer.i32(-1);
            }),
        ),
        (OpCode::Sync, path("/a")),
        (OpCode::Ping, Vec::new()),
        (OpCode::Multi, multi),
        (OpCode::MultiRead, multi_read),
        (OpCode::AddWatch, path_and("/a", 1)),
        (OpCode::CheckWatches, path_and("/a", 5)),
        (OpCode::SetWatches, watches(3)),
        (OpCode::SetWatches2, watches(5)),
        (OpCode::RemoveWatches, path_and("/a", 3)),
        (OpCode::GetEphemerals, path("/")),
        (OpCode::GetAllChildrenNumber, path("/")),
        (OpCode::WhoAmI, Vec::new()),
        (
            OpCode::Auth,
            wire::body(|writer| {
                writer.i32(0).text("digest").buffer(Some(b"a:b"));
            }),
        ),
        (
            OpCode::Sasl,
            wire::body(|writer| {
                writer.buffer(Some(b""));
            }),
        ),
        (OpCode::Delete, path_and("/a", -1)),
        (
            OpCode::Reconfig,
            wire::body(|writer| {
                writer.string(None).string(None).string(None).i64(-1);
            }),
        ),
        (OpCode::CloseSession, Vec::new()),
    ]
}

fn house() -> House {
    let config =
        FrontConfig { request_bytes_max: 10_000, request_skip_bytes_max: 100_000, ..FrontConfig::default() };
    House::new(&config, 1)
}

/// What a client gets for a whole conversation, handed over in pieces of the given sizes. When it is read from is not
/// part of that: what comes while a setWatches waits for writes before it waits too.
fn conversation(mut piece: impl FnMut() -> usize) -> String {
    let mut house = house();
    let mut bytes = handshake();
    for (xid, (opcode, body)) in requests().into_iter().enumerate() {
        bytes.extend(wire::request(1 + xid as i32, opcode.code(), &body));
    }
    house.open("a", 0, peer());
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let (now, later) = rest.split_at(piece().clamp(1, rest.len()));
        house.send("a", now);
        rest = later;
    }
    house.take_log().replace("a paused\n", "")
}

#[test]
fn how_the_bytes_are_cut_makes_no_difference() {
    let whole = conversation(|| usize::MAX);
    assert!(whole.ends_with("closed: client_closed_session\n"), "{whole}");
    // Behind the handshake one request a reply, and the events of the conversation's own watches.
    assert!(whole.lines().count() > requests().len());
    assert_eq!(conversation(|| 1), whole);
    for seed in 1..40 {
        let mut dice = Dice(seed);
        assert_eq!(conversation(|| 1 + dice.below(60)), whole, "seed {seed}");
    }
}

#[test]
fn a_conversation_may_end_after_any_byte() {
    let mut bytes = handshake();
    for (xid, (opcode, body)) in requests().into_iter().enumerate() {
        bytes.extend(wire::request(1 + xid as i32, opcode.code(), &body));
    }
    for cut in 0..bytes.len() {
        let mut house = house();
        house.open("a", 0, peer());
        house.send("a", &bytes[..cut]);
        house.disconnect("a");
        let stats = house.fronts[0].stats();
        assert_eq!((stats.connections, stats.sessions, stats.watch_count, stats.outstanding), (0, 0, 0, 0));
    }
}

#[test]
fn arbitrary_bytes_harm_nobody() {
    for seed in 1..400 {
        let mut dice = Dice(seed);
        let mut house = house();
        house.connect("good");
        house.take_log();
        house.open("bad", 0, peer());
        if seed % 2 == 0 {
            house.send("bad", &handshake());
        }
        for _ in 0..20 {
            let mut bytes: Vec<u8> = (0..dice.below(300)).map(|_| dice.roll() as u8).collect();
            if dice.below(2) == 0 {
                // A frame that is one, of an operation that may be one, with anything in it.
                let operation = OpCode::ALL[dice.below(OpCode::ALL.len())].code();
                bytes = wire::request(dice.roll() as i32, operation, &bytes);
            }
            house.send("bad", &bytes);
        }
        house.take_log();
        house.ask("good", OpCode::Ping, &[]);
        assert!(house.take_log().contains("good <- xid=-2 ping"), "seed {seed}");
    }
}

#[test]
fn damaged_requests_harm_nobody() {
    let requests = requests();
    for seed in 1..600 {
        let mut dice = Dice(seed);
        let mut house = house();
        house.connect("good");
        house.connect("bad");
        house.core.held = dice.below(4) == 0;
        for _ in 0..30 {
            let (opcode, body) = &requests[dice.below(requests.len() - 1)];
            let mut bytes = wire::request(1 + dice.below(9) as i32, opcode.code(), body);
            for _ in 0..dice.below(3) {
                let at = dice.below(bytes.len());
                bytes[at] = dice.roll() as u8;
            }
            house.send("bad", &bytes);
            if dice.below(5) == 0 {
                house.release(dice.below(5));
                house.core.held = dice.below(4) == 0;
            }
        }
        house.core.held = false;
        house.pump();
        house.take_log();
        house.ask("good", OpCode::Ping, &[]);
        assert!(house.take_log().contains("good <- xid=-2 ping"), "seed {seed}");
        house.disconnect("bad");
        let stats = house.fronts[0].stats();
        assert_eq!(
            (stats.connections, stats.watch_count, stats.outstanding, stats.in_flight_bytes),
            (1, 0, 0, 0)
        );
        assert_eq!(stats.unsent_bytes, 0, "seed {seed}");
    }
}

/// None of them has too much for one, all together have too much for the shard.
#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn clients_that_do_not_read_are_held_off_together_and_others_are_served() {
    let config = FrontConfig { output_bytes_all_max: 300_000, ..FrontConfig::default() };
    let mut house = House::new(&config, 1);
    for name in ["a", "b", "good"] {
        house.connect(name);
    }
    house.ask("good", OpCode::Create, &wire::create("/big", Some(&[1; 90_000]), &[Acl::open()], 0));
    house.ask(
        "a",
        OpCode::AddWatch,
        &wire::body(|writer| {
            writer.text("/big").i32(0);
        }),
    );
    for name in ["a", "b"] {
        house.clients.get_mut(name).unwrap().stalled = true;
        for _ in 0..10 {
            house.ask(name, OpCode::GetData, &wire::read("/big", false));
        }
    }
    house.take_log();
    let unsent = house.fronts[0].stats().unsent_bytes;
    assert!((300_000..700_000).contains(&unsent), "{unsent}");
    house.ask("good", OpCode::GetData, &wire::read("/big", false));
    assert!(house.take_log().starts_with("good <- xid=2 getData"), "others are served");
    // A client that reads its replies may go on.
    house.clients.get_mut("b").unwrap().stalled = false;
    house.pump();
    assert_eq!(house.take_log().lines().filter(|line| line.starts_with("b <- xid=")).count(), 10);
    // Events come unasked: with twice as much unsent, the connection that has the most of it is closed.
    house.clients.get_mut("b").unwrap().stalled = true;
    house.ask(
        "b",
        OpCode::AddWatch,
        &wire::body(|writer| {
            writer.text("/").i32(1);
        }),
    );
    let change = |house: &mut House| {
        house.ask(
            "good",
            OpCode::SetData,
            &wire::body(|writer| {
                writer.text("/big").buffer(None).i32(-1);
            }),
        );
        house.take_log()
    };
    let mut changes = 0;
    while !change(&mut house).contains("a closed: slow_client") {
        changes += 1;
        assert!(changes < 20_000, "{}", house.fronts[0].stats().unsent_bytes);
    }
    assert!(house.fronts[0].stats().unsent_bytes < 600_000);
    for name in ["a", "b", "good"] {
        house.disconnect(name);
    }
    assert_eq!(house.fronts[0].stats().unsent_bytes, 0);
}

/// A few bytes may ask for megabytes: a client that asks for little does not wait until they are all made.
#[test]
fn large_replies_are_made_in_turns() {
    let mut house = House::new(&FrontConfig::default(), 1);
    house.connect("greedy");
    house.connect("modest");
    house.ask("greedy", OpCode::Create, &wire::create("/big", Some(&[1; 100_000]), &[Acl::open()], 0));
    house.take_log();
    let one = |xid| wire::request(xid, OpCode::GetData.code(), &wire::read("/big", false));
    let all: Vec<u8> = (1..=100).flat_map(one).collect();
    let conn = |house: &House, name| house.clients[name].conn.unwrap();
    let (greedy, modest) = (conn(&house, "greedy"), conn(&house, "modest"));
    let (front, tree, now) = (&mut house.fronts[0], &house.core.tree, house.now);
    let (mut used, mut turns) = (0, 0);
    while used < all.len() {
        let taken = front.receive(greedy, &all[used..], tree, now);
        assert!(front.unsent(greedy) < 400_000, "one turn made {}", front.unsent(greedy));
        let ping = wire::request(-2, OpCode::Ping.code(), &[]);
        assert_eq!(front.receive(modest, &ping, tree, now), ping.len());
        assert!(!front.output(modest).is_empty());
        for conn in [greedy, modest] {
            front.sent(conn, front.unsent(conn));
        }
        let events: Vec<_> = front.events().collect();
        let goes_on = events.iter().any(|event| matches!(event, FrontEvent::ResumeReading(_)));
        assert!(goes_on || used + taken == all.len(), "{events:?}");
        (used, turns) = (used + taken, turns + 1);
    }
    assert!(turns > 25, "{turns}");
}

/// If many clients ask for megabytes and read none of them, a client that asks for little waits for one reply to each
/// at most.
#[test]
fn turns_go_round() {
    let mut house = House::new(&FrontConfig::default(), 1);
    let names: Vec<String> = (0..20).map(|number| format!("greedy{number}")).collect();
    for name in names.iter().map(String::as_str).chain(["modest"]) {
        house.connect(name);
    }
    house.ask("modest", OpCode::Create, &wire::create("/big", Some(&[1; 900_000]), &[Acl::open()], 0));
    house.take_log();
    let one = wire::request(1, OpCode::GetData.code(), &wire::read("/big", false));
    let conn = |house: &House, name: &str| house.clients[name].conn.unwrap();
    let modest = conn(&house, "modest");
    let mut asked: Vec<_> = names.iter().map(|name| (conn(&house, name), one.repeat(100))).collect();
    asked.push((modest, wire::request(-2, OpCode::Ping.code(), &[])));
    let (front, tree, now) = (&mut house.fronts[0], &house.core.tree, house.now);
    front.sent(modest, front.unsent(modest));
    let mut rounds = 0;
    let mut ready: Vec<_> = asked.iter().map(|(conn, _)| *conn).collect();
    while front.output(modest).is_empty() {
        for conn in ready.drain(..) {
            let (_, input) = asked.iter_mut().find(|(other, _)| *other == conn).unwrap();
            let taken = front.receive(conn, input, tree, now);
            input.drain(..taken);
        }
        ready.extend(front.events().filter_map(|event| match event {
            FrontEvent::ResumeReading(conn) => Some(conn),
            _ => None,
        }));
        rounds += 1;
        // A round makes five replies or less.
        assert!(rounds <= 5, "the client that asked for little still waits");
    }
}

/// Freed numbers of paths are used again in another order. This once took time quadratic in a connection's watches, and
/// all clients waited.
#[test]
fn a_connections_many_watches_come_and_go_as_fast_as_few() {
    let mut house = House::new(&FrontConfig::default(), 1);
    let paths: Vec<String> = (0..500_000).map(|number| format!("/{number:x}")).collect();
    // Another client's watch keeps the table from being dropped as a whole.
    house.connect("b");
    house.ask("b", OpCode::Exists, &wire::read("/b", true));
    let mut round = || {
        let began = std::time::Instant::now();
        house.connect("a");
        for some in paths.chunks(50_000) {
            let body = wire::body(|writer| {
                writer
                    .i64(0)
                    .texts([].into_iter())
                    .texts(some.iter().map(String::as_str))
                    .texts([].into_iter());
            });
            house.ask("a", OpCode::SetWatches, &body);
        }
        assert_eq!(house.fronts[0].stats().watch_count, 1 + paths.len());
        house.disconnect("a");
        while house.fronts[0].sweep() {}
        assert_eq!(house.fronts[0].stats().watch_count, 1);
        began.elapsed()
    };
    // It was thirty times as long, and with ten times the watches three hundred.
    let (first, second) = (round(), round());
    assert!(second < 8 * first + std::time::Duration::from_secs(2), "{first:?}, then {second:?}");
}

/// A client that is not read from while it waits for answers is not silent; one that does not read its own answers is silent.
#[test]
fn session_is_heard_of_while_its_client_waits_for_answers_and_is_not_read_from() {
    use council_frontend::{FromCore, ToCore};
    let config = FrontConfig { outstanding_max: 1, output_bytes_max: 300, ..FrontConfig::default() };
    let mut house = House::new(&config, 1);
    let heard_later = |house: &mut House, round| {
        house.now.advance_ms(5_000);
        house.deliver_to_all(FromCore::TouchRound { round });
        let answer = house.core.queue.iter().find_map(|(_, message)| match message {
            ToCore::Touched { round: of, sessions } if *of == round => Some(sessions.clone()),
            _ => None,
        });
        let now = house.now.mono();
        let sessions = answer.expect("each round is answered");
        sessions.iter().filter(|(_, heard)| *heard == now).map(|(session, _)| session.0).collect::<Vec<_>>()
    };
    house.connect("a");
    house.connect("b");
    let id = |house: &House, name: &str| house.clients[name].session.0;
    house.core.held = true;
    house.now.advance_ms(1);
    assert_eq!(heard_later(&mut house, 1), Vec::<i64>::new());
    for path in ["/a", "/b", "/c"] {
        house.ask("a", OpCode::Create, &wire::create(path, None, &[Acl::open()], 0));
    }
    for round in 2..5 {
        assert_eq!(heard_later(&mut house, round), [id(&house, "a")], "its answers are due");
    }
    house.core.held = false;
    house.core.queue.retain(|(_, message)| !matches!(message, ToCore::Touched { .. }));
    house.pump();
    house.core.held = true;
    assert_eq!(heard_later(&mut house, 5), Vec::<i64>::new(), "it has its answers");
    house.clients.get_mut("b").expect("it is connected").stalled = true;
    (0..5).for_each(|_| house.ask("b", OpCode::GetData, &wire::read("/", false)));
    house.now.advance_ms(1);
    assert_eq!(heard_later(&mut house, 6), Vec::<i64>::new());
    assert_eq!(heard_later(&mut house, 7), Vec::<i64>::new(), "it does not read what it was answered");
}

/// An event of a change that came while replies waited is behind the reply that left its watch, in whichever order the
/// core answers.
#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn an_answer_before_its_turn_keeps_its_events_behind_it() {
    use council_frontend::Asker;
    use council_frontend::read::evaluate;
    use council_frontend::{FromCore, ToCore};
    let mut house = house();
    house.connect("a");
    house.connect("b");
    house.take_log();
    house.core.held = true;
    house.ask(
        "a",
        OpCode::Sync,
        &wire::body(|writer| {
            writer.text("/");
        }),
    );
    house.ask("a", OpCode::Exists, &wire::read("/x", true));
    house.ask("a", OpCode::Ping, &[]);
    // The core answers the second read first, and the node is created before the sync is done.
    let answers: Vec<_> = house.core.queue.drain(..).collect();
    let mut answers = answers.into_iter().map(|(_, message)| {
        let ToCore::Read { conn, session, xid, opcode, body, identities, policy, .. } = message else {
            panic!()
        };
        let asker = Asker { session, identities: identities.identities(), policy };
        FromCore::ReadDone { conn, xid, reply: evaluate(&house.core.tree, opcode, xid, &body, asker) }
    });
    let (sync, exists) = (answers.next().unwrap(), answers.next().unwrap());
    drop(answers);
    house.deliver_to_all(exists);
    house.core.held = false;
    house.ask("b", OpCode::Create, &wire::create("/x", None, &[Acl::open()], 0));
    assert_eq!(house.take_log(), "b <- xid=1 create zxid=3 /x\n");
    house.deliver_to_all(sync);
    let log = house.take_log();
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(
        lines,
        [
            "a <- xid=1 sync zxid=2 /",
            "a <- xid=2 exists zxid=2 NoNode",
            "a <- event NodeCreated /x zxid=3",
            "a <- xid=-2 ping zxid=3"
        ]
    );
}
