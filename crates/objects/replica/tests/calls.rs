//! Calls and queries through any of three members.

mod support;

use consensus_raft::MemberId;
use objects_replica::edge::{Consistency, EventId, Question, Request, SessionProof, Subject};
use objects_replica::{SERVES_LEVEL, limits};
use objects_state::{
    Batch, Caller, Command, Identity, Invocation, Origin, Outcome, Ranges, Session, SideEffect, Slug,
};
use support::{START_MS, World, by, key, object, proof, session};

use Consistency::{Linearizable, Stale};
use Identity::Anonymous;

#[test]
fn write_at_any_member_is_answered_once_and_all_states_are_equal() {
    let mut world = World::new();
    for id in (1..=3).cycle().take(9) {
        let asked = world.call(id, "counter/a", "increment", "", Anonymous);
        world.wait(id, asked);
    }
    world.check_equal();
    assert_eq!((1..=3).map(|id| world.counted(id, "counter/a")).collect::<Vec<_>>(), [9, 9, 9]);
}

#[test]
fn commands_of_one_turn_are_one_entry() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    let before = world.members[&leader].core.status();
    for id in [leader, follower].repeat(50) {
        world.call(id, "counter/a", "increment", "", Anonymous);
    }
    world.check_equal();
    let after = world.members[&leader].core.status();
    assert_eq!(after.commands - before.commands, 100);
    assert!(after.entries - before.entries <= 3, "{} entries", after.entries - before.entries);
}

#[test]
fn linearizable_query_at_any_member_sees_what_was_answered_before() {
    let mut world = World::new();
    for round in 1..=6 {
        let (writer, reader) = (round % 3 + 1, (round + 1) % 3 + 1);
        let wrote = world.call(writer, "counter/a", "increment", "", Anonymous);
        world.wait(writer, wrote);
        let read = world.query(reader, "counter/a", "get", Linearizable);
        assert_eq!(world.wait(reader, read), format!("{{\"value\":{round}}}"));
        assert!(world.position(reader, read) >= world.position(writer, wrote));
    }
}

#[test]
fn stale_query_is_answered_in_the_call_itself() {
    let mut world = World::new();
    let follower = world.follower();
    let read = world.query(follower, "counter/a", "get", Stale);
    let mail = world.member(follower).core.answers(0).len();
    assert_eq!(mail, 1);
    assert_eq!(world.wait(follower, read), "{\"value\":0}");
}

#[test]
fn member_without_a_lease_refuses_everything_without_effect() {
    let mut world = World::new();
    let away = world.follower();
    world.set_away(away, true);
    world.pass(3_000);
    let asked = [
        world.query(away, "counter/a", "get", Stale),
        world.query(away, "counter/a", "get", Linearizable),
        world.call(away, "counter/a", "increment", "", Anonymous),
    ];
    for asked in asked {
        assert_eq!(world.wait(away, asked), "refused no-leader");
    }
    world.set_away(away, false);
    world.check_equal();
    assert_eq!(world.counted(away, "counter/a"), 0);
}

#[test]
fn command_that_no_leader_took_is_refused_and_never_takes_effect() {
    let mut world = World::with(|config| config.leaderless_ms = 1_000);
    let (leader, follower) = (world.leader(), world.follower());
    world.kill(leader);
    world.kill(6 - leader - follower);
    world.pass(1_000);
    assert!(world.members[&follower].core.is_serving(), "it has a lease still");
    let asked = world.call(follower, "counter/a", "increment", "", Anonymous);
    assert_eq!(world.wait(follower, asked), "refused no-leader");
    let Outcome::Refused(problem) = &world.members[&follower].done[&asked].1 else { panic!() };
    assert_eq!(problem.effect, SideEffect::None);
    world.start(leader);
    world.start(6 - leader - follower);
    world.check_equal();
    assert_eq!(world.counted(follower, "counter/a"), 0);
}

#[test]
fn min_position_is_waited_for_and_given_up() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    let next = world.members[&follower].state.position() + 1;
    let read = world.query_at(follower, "counter/a", "get", Stale, Some(next));
    let late = world.query_at(follower, "counter/a", "get", Linearizable, Some(next + 1_000));
    world.pass(100);
    assert_eq!(world.answer(follower, read), None);
    let wrote = world.call(leader, "counter/a", "increment", "", Anonymous);
    world.wait(leader, wrote);
    assert_eq!(world.wait(follower, read), "{\"value\":1}");
    assert!(world.position(follower, read) >= next);
    assert_eq!(world.wait(follower, late), "refused no-leader");
}

#[test]
fn repeat_at_another_member_is_answered_the_same_bytes() {
    let mut world = World::new();
    world.open(1, 7, 60_000);
    for identity in [by(7, 1), key("k")] {
        let first = world.call(1, "counter/a", "increment", "{\"by\":5}", identity.clone());
        let first = world.wait(1, first);
        let other = world.call(2, "counter/a", "increment", "", Anonymous);
        world.wait(2, other);
        for id in [2, 3, 1] {
            let again = world.call(id, "counter/a", "increment", "{\"by\":5}", identity.clone());
            assert_eq!(world.wait(id, again), first);
        }
    }
    world.check_equal();
    assert_eq!(world.counted(1, "counter/a"), 12);
}

#[test]
fn refusals_are_repeated_too() {
    let mut world = World::new();
    let refused = world.call(1, "counter/a", "increment", "{\"by\":\"x\"}", key("k"));
    world.wait(1, refused);
    let again = world.call(2, "counter/a", "increment", "{\"by\":\"x\"}", key("k"));
    world.wait(2, again);
    assert_eq!(world.members[&1].done[&refused].1, world.members[&2].done[&again].1);
}

#[test]
fn session_opened_elsewhere_a_moment_ago_is_known() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    world.open(leader, 7, 60_000);
    let asked = world.call(follower, "counter/a", "increment", "", by(7, 1));
    assert!(world.wait(follower, asked).starts_with("{\"value\":1"));
    let unknown = world.call(follower, "counter/a", "increment", "", by(8, 1));
    assert_eq!(world.wait(follower, unknown), "refused session-expired");
}

#[test]
fn wrong_secret_is_refused_and_is_no_sign_of_the_client() {
    let mut world = World::new();
    world.open(1, 7, 1_000);
    for _ in 0..30 {
        let wrong = SessionProof { session: session(7), secret_hash: [9; 32] };
        let asked = world.ask(1, |origin| Request::Renew { origin, principal: "ada".into(), proof: wrong });
        world.pass(100);
        let refused = world.answer(1, asked).expect("an answer");
        assert!(refused == "refused unauthenticated" || refused == "refused session-expired");
    }
    assert!(world.members[&1].state.session(session(7)).is_none(), "it expired");
    let caller = |origin| Caller { origin, principal: "ada".into(), identity: by(7, 1) };
    let asked = world.ask(1, |origin| Request::Command {
        command: Command::CloseSession { caller: caller(origin), session: session(7) },
        secret_hash: None,
    });
    assert_eq!(world.wait(1, asked), "refused unauthenticated");
}

#[test]
fn what_is_too_large_or_would_not_come_back_from_the_log_is_refused_before_it() {
    let mut world = World::new();
    let before = world.members[&1].state.position();
    let long = "x".repeat(limits::COMMAND_BYTES_MAX);
    let asked = world.call(1, "value/a", "set", &format!("{{\"value\":\"{long}\"}}"), Anonymous);
    assert_eq!(world.wait(1, asked), "refused too-large");
    let asked = world.call(1, "counter/a", "increment", "", key(&"k".repeat(256)));
    assert_eq!(world.wait(1, asked), "refused bad-argument");
    for count in [0, 101] {
        let invocation = Invocation { method: "increment".into(), args: Vec::new() };
        let (object, invocations) = (object("counter/a"), vec![invocation; count]);
        let batch =
            |caller| Command::Batch(Batch { caller, object, incarnation: None, create: true, invocations });
        let asked = world.command(1, batch, Anonymous);
        assert_eq!(world.wait(1, asked), "refused bad-argument");
    }
    let principal = "p".repeat(256);
    let asked = world.ask(1, |origin| {
        let caller = Caller { origin, principal: principal.into(), identity: Anonymous };
        Request::Command {
            command: Command::Delete { caller, object: object("counter/a"), incarnation: None },
            secret_hash: None,
        }
    });
    assert_eq!(world.wait(1, asked), "refused bad-argument");
    world.check_equal();
    assert_eq!(world.members[&1].state.position(), before);
}

#[test]
fn callers_command_nothing_that_is_the_leaders() {
    let mut world = World::new();
    let before = world.members[&1].state.position();
    for command in [
        Command::Tick,
        Command::FeatureLevel(9),
        Command::ExpireSession { session: session(1), generation: 1 },
    ] {
        world.tell(1, Request::Command { command, secret_hash: None });
    }
    world.check_equal();
    assert_eq!(world.members[&1].state.position(), before);
}

/// Request 3 acknowledges the reply to 2, while 1 waits. Gives what is known of the session then.
fn acknowledge_above(world: &mut World) -> Session {
    let member = world.follower();
    world.open(member, 1, 60_000);
    let waits = world.call(member, "latch/l", "await", "", by(1, 1));
    world.ticket(member, waits);
    let first = world.call(member, "counter/c", "increment", "", by(1, 2));
    world.wait(member, first);
    let mut above = Ranges::new();
    assert!(above.insert(2, 2));
    let identity = Identity::Session { session: session(1), request: 3, acknowledged: 0, above };
    let second = world.call(member, "counter/c", "increment", "", identity);
    assert_eq!(world.wait(member, second), "{\"value\":2}");
    let again = world.call(member, "counter/c", "increment", "", by(1, 2));
    let again = world.wait(member, again);
    let open = world.members[&member].state.session(session(1)).expect("it is open");
    let is_forgotten = again == "refused request-forgotten";
    assert!(is_forgotten || again == "{\"value\":1}", "{again}");
    assert_eq!(is_forgotten, !open.above.is_empty());
    world.check_equal();
    open
}

#[test]
fn single_replies_are_acknowledged_once_all_members_can_read_that() {
    let new = acknowledge_above(&mut World::new());
    assert_eq!((new.floor, new.unacknowledged, new.above.contains(2)), (0, 2, true));
    let old = acknowledge_above(&mut World::with(|config| config.replica.feature_level = 1));
    assert_eq!((old.floor, old.unacknowledged, old.above.is_empty()), (0, 3, true));
}

#[test]
fn commands_beyond_the_bound_are_refused_without_effect() {
    let mut world = World::new();
    let follower = world.follower();
    let asked: Vec<_> = (0..limits::COMMANDS_MAX + 10)
        .map(|_| world.call(follower, "counter/a", "increment", "", Anonymous))
        .collect();
    world.pass(5_000);
    world.check_equal();
    let refused = asked.iter().filter(|asked| world.slug(follower, **asked) == Some(Slug::Rate)).count();
    assert_eq!(refused, 10);
    assert_eq!(world.counted(follower, "counter/a"), limits::COMMANDS_MAX as i64);
}

#[test]
fn full_disk_refuses_commands_and_not_queries() {
    let mut world = World::new();
    let leader = world.leader();
    let now = world.now(leader);
    let full = consensus_replica::JournalEvent::Space(storage_raft_log::Space::Full);
    world.member(leader).core.journal(full, now).expect("no fault");
    let asked = world.call(leader, "counter/a", "increment", "", Anonymous);
    assert_eq!(world.wait(leader, asked), "refused disk-full");
    let read = world.query(leader, "counter/a", "get", Linearizable);
    assert_eq!(world.wait(leader, read), "{\"value\":0}");
}

/// Three counters and a value.
fn with_objects() -> World {
    let mut world = World::new();
    for name in ["b/1", "a/1", "a/2"] {
        let asked = world.call(1, &format!("counter/{name}"), "increment", "", Anonymous);
        world.wait(1, asked);
    }
    let asked = world.call(1, "value/b/1", "set", "{\"value\":1}", Anonymous);
    world.wait(1, asked);
    world
}

fn ask(world: &mut World, question: Question) -> String {
    let asked = world.ask(2, |origin| Request::Query {
        origin,
        principal: "ada".into(),
        question,
        consistency: Linearizable,
        min_position: None,
        proof: None,
    });
    world.wait(2, asked)
}

/// A page behind which nothing is.
const NOTHING: &str = "{\"objects\":[],\"next\":null}";

#[test]
fn objects_are_described_and_listed_in_pages() {
    let mut world = with_objects();
    let kind = object("counter/a").kind;
    let list = |after: Option<&str>| Question::List {
        kind,
        prefix: "a/".into(),
        after: after.map(String::from),
        limit: 1,
    };
    let first = ask(&mut world, list(None));
    assert!(first.contains("\"name\":\"a/1\"") && first.ends_with("\"next\":\"a/1\"}"), "{first}");
    let second = ask(&mut world, list(Some("a/1")));
    assert!(second.contains("\"name\":\"a/2\"") && second.ends_with("\"next\":null}"), "{second}");
    assert_eq!(ask(&mut world, list(Some("a"))), first, "what comes before the prefix leaves nothing out");
    assert_eq!(ask(&mut world, list(Some("a/1x"))), second, "a name of which there is no object");
    assert_eq!(ask(&mut world, list(Some("a/2"))), NOTHING);
    assert_eq!(ask(&mut world, list(Some("b"))), NOTHING);
    let described = ask(&mut world, Question::Describe(object("counter/b/1")));
    assert!(described.starts_with("{\"type\":\"counter\",\"name\":\"b/1\",\"incarnation\":"), "{described}");
    assert_eq!(ask(&mut world, Question::Describe(object("counter/zzz"))), "refused no-such-object");
}

#[test]
fn objects_of_all_types_are_listed_one_type_behind_the_other() {
    let mut world = with_objects();
    let mut all = |prefix: &str, after: Option<&str>| {
        let (prefix, after) = (prefix.into(), after.map(String::from));
        ask(&mut world, Question::ListAll { prefix, after, limit: 2 })
    };
    let first = all("", None);
    assert!(first.ends_with("\"next\":\"counter/a/2\"}"), "{first}");
    let second = all("", Some("counter/a/2"));
    let has = |kind: &str| second.contains(&format!("\"type\":\"{kind}\",\"name\":\"b/1\""));
    assert!(has("counter") && has("value"), "{second}");
    assert!(second.ends_with("\"next\":null}"), "{second}");
    let of_a = all("a/", None);
    assert!(!of_a.contains("b/1") && of_a.ends_with("\"next\":null}"), "{of_a}");
    assert_eq!(all("", Some("map/z")), NOTHING);
}

#[test]
fn watch_tells_of_grants_and_of_the_end_of_a_session() {
    let mut world = World::new();
    world.open(1, 7, 1_000);
    let begin: EventId = EventId { position: world.members[&2].state.position(), ordinal: 0 };
    let watch = world.ask(2, |origin| Request::Watch {
        origin,
        principal: "ada".into(),
        subject: Subject::Session(proof(7)),
        after: None,
    });
    assert!(world.pass_until(1_000, |world| world.members[&2].watching.contains(&watch)));
    let asked = world.call(1, "lock/a", "acquire", "", by(7, 1));
    world.wait(1, asked);
    world.pass(3_000);
    let kinds: Vec<_> = world.members[&2]
        .events
        .iter()
        .map(|(origin, what)| {
            assert_eq!(*origin, watch);
            format!("{what:?}").split([' ', '(', '{']).take(2).collect::<String>()
        })
        .collect();
    assert_eq!(kinds.len(), 3, "{kinds:?}");
    assert!(kinds[2].starts_with("SessionEnded"), "{kinds:?}");
    let resumed = world.ask(2, |origin| Request::Watch {
        origin,
        principal: "ada".into(),
        subject: Subject::Object(object("lock/a")),
        after: Some(begin),
    });
    world.pass(20);
    let resumed = world.members[&2].events.iter().filter(|(origin, _)| *origin == resumed).count();
    assert!(resumed >= 2, "its creation, its grant and its loss: {resumed}");
    assert_eq!(world.members[&2].lost_events, 0);
}

#[test]
fn answer_of_an_unknown_edge_is_dropped() {
    let mut world = World::new();
    let origin: Origin = objects_replica::edge::origin(1, 9, 5);
    world.tell(1, Request::Renew { origin, principal: "ada".into(), proof: proof(3) });
    world.pass(100);
    assert!(world.members[&1].done.is_empty());
}

#[test]
fn waits_are_shown_at_any_member_with_the_times_that_it_knows() {
    let mut world = World::new();
    world.open(1, 7, 60_000);
    world.open(2, 8, 60_000);
    let held = world.call(1, "lock/a", "acquire", "", by(7, 1));
    world.wait(1, held);
    world.pass(5_000);
    let waiting = world.call(2, "lock/a", "acquire", "", by(8, 1));
    let ticket = world.ticket(2, waiting);
    let since = START_MS as u64 + world.now_ms;
    for id in 1..=3 {
        let question = Question::Waits { kind: None, prefix: String::new(), after: None, limit: 10 };
        let asked = world.question(id, question);
        let page: serde_json::Value = serde_json::from_str(&world.wait(id, asked)).expect("JSON");
        let found = &page["objects"][0];
        assert_eq!(
            (&found["type"], &found["name"], &found["waiting"]),
            (&"lock".into(), &"a".into(), &1.into())
        );
        let call = &found["calls"][0];
        assert_eq!(
            (&call["ticket"], &call["method"], &call["for"]),
            (&ticket.into(), &"acquire".into(), &"holders".into())
        );
        assert_eq!((&call["session"], &call["principal"]), (&session(8).to_string().into(), &"ada".into()));
        let known = call["since_ms"].as_u64().expect("this member applied it");
        assert!((since - 1_500..=since).contains(&known), "{known} {since}");
        assert!(call["until_ms"].as_u64().is_some_and(|until| until > since + 3_000_000));
        let holder = &found["holders"][0];
        assert_eq!((&holder["session"], &holder["holds"]), (&session(7).to_string().into(), &"lock".into()));
        assert!(holder["fence"].as_u64().is_some_and(|fence| fence < ticket));
        assert_eq!(
            (&found["more_calls"], &found["more_holders"], &page["next"]),
            (&0.into(), &false.into(), &().into())
        );
    }
}

#[test]
fn events_are_remembered_by_a_process_and_the_next_one_says_what_it_did_not_see() {
    let mut world = World::new();
    world.open(1, 7, 60_000);
    let held = world.call(1, "lock/a", "acquire", "", by(7, 1));
    world.wait(1, held);
    let other = world.call(1, "counter/c", "increment", "", Anonymous);
    world.wait(1, other);
    let history = |world: &mut World, id: u64, after: Option<EventId>| {
        let asked = world.question(id, Question::History { object: object("lock/a"), after });
        serde_json::from_str::<serde_json::Value>(&world.wait(id, asked)).expect("JSON")
    };
    let follower = world.follower();
    let page = history(&mut world, follower, None);
    let events = page["events"].as_array().expect("a list").clone();
    let names: Vec<_> = events.iter().map(|event| event["event"].as_str().expect("a name")).collect();
    assert_eq!(names, ["acquired", "created"]);
    let acquired = events.iter().find(|event| event["event"] == "acquired").expect("it was acquired");
    assert_eq!(acquired["session"], session(7).to_string());
    let now = START_MS as u64 + world.now_ms;
    assert!(acquired["at_ms"].as_u64().is_some_and(|at| at <= now && at + 20_000 > now));
    assert_eq!((&page["next"], &page["type"], &page["name"]), (&().into(), &"lock".into(), &"a".into()));
    assert_ne!(page["latest"], events.last().expect("events")["id"], "that of the counter is the latest");
    let last = events
        .last()
        .and_then(|event| event["id"].as_str()?.split_once('.').map(|(a, b)| (a.parse(), b.parse())));
    let Some((Ok(position), Ok(ordinal))) = last else { panic!("{events:?}") };
    let behind = history(&mut world, follower, Some(EventId { position, ordinal }));
    assert_eq!(behind["events"], serde_json::json!([]));
    world.request_snapshot(follower);
    world.pass(1_000);
    world.kill(follower);
    world.pass(100);
    world.start(follower);
    world.pass(3_000);
    let anew = history(&mut world, follower, None);
    assert_eq!(anew["events"], serde_json::json!([]));
    let behind = anew["behind"].as_str().and_then(|id| id.split_once('.')?.0.parse::<u64>().ok());
    assert!(behind >= Some(position), "{anew}");
}

/// Members that tell where they serve clients.
fn announcing() -> World {
    World::with(|config| config.serves_at = Some(format!("127.0.0.1:{}", config.replica.member.0)))
}

/// What a member knows of where the leader's clients connect.
fn known(world: &World, id: u64) -> Option<String> {
    world.members[&id].core.leader_address().map(String::from)
}

#[test]
fn followers_know_where_the_leader_serves_its_clients_also_after_it_has_changed() {
    let mut world = announcing();
    let ids = [1, 2, 3];
    let tell_levels = |world: &mut World| {
        for (id, peer) in
            ids.iter().flat_map(|id| ids.map(|peer| (*id, peer))).filter(|(id, peer)| id != peer)
        {
            if let Some(member) = world.members.get_mut(&id) {
                member.core.understands(MemberId(peer), SERVES_LEVEL);
            }
        }
    };
    world.pass(1_000);
    assert!(ids.iter().all(|id| known(&world, *id).is_none()), "their builds may not read it");
    tell_levels(&mut world);
    world.pass(1_000);
    let check = |world: &World| {
        let leader = world.leader();
        for id in world.members.keys().filter(|id| **id != leader) {
            assert_eq!(known(world, *id), Some(format!("127.0.0.1:{leader}")), "{id}");
        }
        assert_eq!(known(world, leader), None, "it leads itself");
    };
    check(&world);
    let dead = world.leader();
    world.kill(dead);
    world.pass(5_000);
    check(&world);
    world.start(dead);
    tell_levels(&mut world);
    world.pass(2_000);
    check(&world);
}

#[test]
fn address_of_a_leader_is_told_again_when_it_was_lost_and_forgotten_with_the_connection() {
    let mut world = announcing();
    let (leader, follower) = (world.leader(), world.follower());
    world.faults.lost = 1_000;
    for id in 1..=3 {
        for peer in (1..=3).filter(|peer| *peer != id) {
            world.member(id).core.understands(MemberId(peer), SERVES_LEVEL);
        }
    }
    world.turn();
    world.faults.lost = 0;
    world.pass(500);
    assert_eq!(known(&world, follower), None, "it was lost");
    world.pass(11_000);
    let leads = world.leader();
    assert_eq!(leads, leader);
    assert_eq!(known(&world, follower), Some(format!("127.0.0.1:{leader}")));
    let now = world.now(follower);
    world.member(follower).core.link(MemberId(leader), true, now);
    assert_eq!(known(&world, follower), None, "its process may be another one");
}
