//! Tokens and rights over several members: a token holds as soon as it was answered, wherever it is used; what was under way when
//! it was revoked is judged at its position; what goes on by it ends at every member.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod support;

use objects_replica::edge::{Consistency, Question, Request, Subject};
use objects_replica::limits::STRANGERS_MAX;
use objects_state::{
    AccessChange, Authority, Caller, Command, Grant, Identity, NewSession, Outcome, Principal, SideEffect,
    TokenNumber,
};
use support::{World, key, object, proof, session};

const ANONYMOUS: Identity = Identity::Anonymous;

fn grants(texts: &[&str]) -> Vec<Grant> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// A change by the root token of a member.
fn change(world: &mut World, id: u64, change: AccessChange) -> u64 {
    world.ask(id, |origin| {
        let caller = Caller { origin, principal: Principal::root(), identity: ANONYMOUS };
        Request::Command { command: Command::Access { caller, change }, secret_hash: None }
    })
}

fn changed(world: &mut World, id: u64, to: AccessChange) -> String {
    let asked = change(world, id, to);
    world.wait(id, asked)
}

/// A token whose hash is that number, at a member.
fn create(world: &mut World, id: u64, name: &str, secret: u8, allow: &[&str]) -> TokenNumber {
    let (hash, lives_ms, grants) = ([secret; 32], None, grants(allow));
    let answer = changed(world, id, AccessChange::CreateToken { name: name.into(), hash, lives_ms, grants });
    assert!(answer.starts_with("{\"number\""), "{answer}");
    match world.members[&id].state.principal_of(&[secret; 32]).unwrap().authority {
        Authority::Token(number) => number,
        other => panic!("{other:?}"),
    }
}

fn closed() -> World {
    let mut world = World::new();
    world.pass(1_000);
    let leader = world.leader();
    assert_eq!(changed(&mut world, leader, AccessChange::Set { closed: true }), "{\"access\":\"closed\"}");
    world
}

/// The request of that number again, by a token.
fn by(world: &mut World, id: u64, secret: u8, request: impl FnOnce(&mut World, u64) -> u64) -> u64 {
    world.token = Some([secret; 32]);
    let asked = request(world, id);
    world.token = None;
    asked
}

fn increment(world: &mut World, id: u64, secret: u8) -> String {
    let asked = by(world, id, secret, |world, id| world.call(id, "counter/a", "increment", "", ANONYMOUS));
    world.wait(id, asked)
}

fn in_name_of(number: u8, request: u64) -> Identity {
    let (session, above) = (session(number), objects_state::Ranges::new());
    Identity::Session { session, request, acknowledged: 0, above }
}

#[test]
fn token_holds_at_every_member_as_soon_as_it_was_answered() {
    let mut world = closed();
    for secret in 1..20 {
        let (at, used_at) = (u64::from(secret % 3) + 1, u64::from(secret + 1) % 3 + 1);
        create(&mut world, at, "ci", secret, &["counter/a:increment"]);
        assert_eq!(increment(&mut world, used_at, secret), format!("{{\"value\":{secret}}}"));
        // And no one else's does.
        assert_eq!(increment(&mut world, used_at, 99), "refused unauthenticated");
    }
    world.check_equal();
}

#[test]
#[expect(clippy::too_many_lines, reason = "a story, step by step")]
fn what_strangers_ask_comes_not_into_the_log() {
    let mut world = closed();
    world.pass(1_000);
    let before = world.members[&1].state.position();
    for id in 1..=3 {
        for identity in [ANONYMOUS, key("k")] {
            world.principal = Principal::anonymous();
            let asked = world.call(id, "counter/a", "increment", "", identity.clone());
            assert_eq!(world.wait(id, asked), "refused unauthenticated");
            world.principal = "cert:CN=eve".into();
            let asked = world.call(id, "counter/a", "increment", "", identity);
            assert_eq!(world.wait(id, asked), "refused forbidden");
        }
        assert_eq!(increment(&mut world, id, 7), "refused unauthenticated");
        for consistency in [Consistency::Linearizable, Consistency::Stale] {
            let asked = world.query(id, "counter/a", "get", consistency);
            assert_eq!(world.wait(id, asked), "refused forbidden");
            let asked = by(&mut world, id, 7, |world, id| world.query(id, "counter/a", "get", consistency));
            assert_eq!(world.wait(id, asked), "refused unauthenticated");
        }
        for question in
            [Question::Counts, Question::Types, Question::Tokens, Question::Access { after: None }]
        {
            let asked = world.ask(id, |origin| Request::Query {
                origin,
                principal: Principal::anonymous(),
                question,
                consistency: Consistency::Linearizable,
                min_position: None,
                proof: None,
            });
            assert_eq!(world.wait(id, asked), "refused unauthenticated");
        }
        let watched = world.ask(id, |origin| {
            let (principal, subject) = (Principal::anonymous(), Subject::Object(object("counter/a")));
            Request::Watch { origin, principal, subject, after: None }
        });
        assert_eq!(world.wait(id, watched), "refused unauthenticated");
        // A probe may be anybody's, and says nothing.
        let ready = world.ask(id, |origin| Request::Query {
            origin,
            principal: Principal::anonymous(),
            question: Question::Ready,
            consistency: Consistency::Stale,
            min_position: None,
            proof: None,
        });
        assert_eq!(world.wait(id, ready), "{}");
    }
    assert_eq!(world.members[&1].state.position(), before);
}

#[test]
fn command_under_way_when_its_token_is_revoked_is_refused_at_its_position() {
    let mut world = closed();
    let (leader, follower) = (world.leader(), world.follower());
    let number = create(&mut world, leader, "ci", 1, &["counter/a:*"]);
    world.pass(1_000);
    // The follower's state still has the token when the call comes, and lets it go to the leader.
    let call =
        by(&mut world, follower, 1, |world, id| world.call(id, "counter/a", "increment", "", key("k")));
    let revoked = change(&mut world, leader, AccessChange::RevokeToken { number });
    assert_eq!(world.wait(leader, revoked), "{\"revoked\":1}");
    assert_eq!(world.wait(follower, call), "refused unauthenticated");
    assert!(world.position(follower, call) > world.position(leader, revoked), "it was judged in the log");
    world.pass(100);
    assert_eq!(world.members[&leader].state.counts()[..1], [0]);
    world.check_equal();
}

#[test]
fn member_that_lags_behind_says_nothing_of_a_ticket_by_a_token_that_is_over_or_to_who_has_gone() {
    let mut world = closed();
    let (leader, follower) = (world.leader(), world.follower());
    let number = create(&mut world, leader, "ci", 1, &["latch/a:*"]);
    let waits = by(&mut world, leader, 1, |world, id| world.call(id, "latch/a", "await", "", key("k")));
    let ticket = world.ticket(leader, waits);
    world.pass(1_000);
    let collect = |world: &mut World| {
        by(world, follower, 1, |world, id| {
            let principal = Principal::anonymous();
            world.ask(id, |origin| Request::Collect { origin, principal, ticket, proof: None })
        })
    };
    let gone = collect(&mut world);
    world.hang_up(follower, gone);
    world.pass(1_000);
    let collects = collect(&mut world);
    assert_eq!(world.ticket(follower, collects), ticket);
    assert!(!world.members[&follower].parked.contains_key(&gone), "nobody waits for it");
    // The follower's state still has the token when it is asked.
    assert_eq!(changed(&mut world, leader, AccessChange::RevokeToken { number }), "{\"revoked\":1}");
    let late = collect(&mut world);
    assert_eq!(world.wait(follower, late), "refused unauthenticated");
    assert!(!world.members[&follower].parked.contains_key(&late), "it is not told that the ticket waits");
    world.check_equal();
}

#[test]
#[expect(clippy::too_many_lines, reason = "a story, step by step")]
fn revocation_ends_what_waits_watches_and_keeps_a_session_at_every_member() {
    let mut world = closed();
    let leader = world.leader();
    let ci = create(&mut world, leader, "ci", 1, &["lock/a:*"]);
    create(&mut world, leader, "ci", 2, &[]);
    let mut waiting = Vec::new();
    for id in 1..=3_u64 {
        let number = id as u8;
        let new = NewSession {
            id: session(number),
            secret_hash: [number; 32],
            generation: 1,
            ttl_ms: 3_000,
            name: None,
        };
        let opened = by(&mut world, id, 1, |world, id| {
            world.command(id, |caller| Command::OpenSession { caller, session: new }, ANONYMOUS)
        });
        assert!(world.wait(id, opened).starts_with("{\"session\""));
        let held =
            by(&mut world, id, 1, |world, id| world.call(id, "lock/a", "acquire", "", in_name_of(number, 1)));
        let watch = by(&mut world, id, 1, |world, id| {
            world.ask(id, |origin| {
                let (principal, subject) = (Principal::anonymous(), Subject::Object(object("lock/a")));
                Request::Watch { origin, principal, subject, after: None }
            })
        });
        let of_session = by(&mut world, id, 1, |world, id| {
            world.ask(id, |origin| {
                let (principal, subject) = (Principal::anonymous(), Subject::Session(proof(number)));
                Request::Watch { origin, principal, subject, after: None }
            })
        });
        world.pass(100);
        waiting.push((id, held, watch, of_session));
    }
    // By another token of the same principal.
    let ticket = world.ticket(2, waiting[1].1);
    let collects = by(&mut world, 3, 1, |world, id| {
        world.ask(id, |origin| {
            let principal = Principal::anonymous();
            Request::Collect { origin, principal, ticket, proof: None }
        })
    });
    assert_eq!(world.ticket(3, collects), ticket);
    assert_eq!(changed(&mut world, leader, AccessChange::RevokeToken { number: ci }), "{\"revoked\":1}");
    world.pass(100);
    assert!(world.answer(1, waiting[0].1).unwrap().contains("\"acquired\":true"));
    for (id, held, watch, of_session) in &waiting {
        if *id != 1 {
            assert_eq!(world.answer(*id, *held).as_deref(), Some("refused forbidden"));
        }
        for stream in [watch, of_session] {
            assert_eq!(world.answer(*id, *stream).as_deref(), Some("refused unauthenticated"), "{id}");
        }
    }
    assert_eq!(world.answer(3, collects).as_deref(), Some("refused forbidden"));
    // The session is heard of no more, whatever is sent with its secret.
    for _ in 0..80 {
        let renew = |world: &mut World, id: u64| {
            world.ask(id, |origin| Request::Renew {
                origin,
                principal: Principal::anonymous(),
                proof: proof(1),
            })
        };
        let renewed = by(&mut world, 1, 1, renew);
        assert_eq!(world.wait(1, renewed), "refused unauthenticated");
        let renewed = renew(&mut world, 1);
        assert!(matches!(&world.wait(1, renewed)[..], "refused unauthenticated" | "refused session-expired"));
        world.pass(100);
    }
    assert_eq!(world.members[&leader].state.counts()[1], 0);
    world.check_equal();
}

#[test]
fn session_of_one_principal_is_not_kept_by_another_who_knows_its_secret() {
    let mut world = World::new();
    world.pass(1_000);
    world.open(1, 1, 3_000);
    world.principal = "eve".into();
    for _ in 0..80 {
        let renewed =
            world.ask(1, |origin| Request::Renew { origin, principal: "eve".into(), proof: proof(1) });
        assert!(matches!(&world.wait(1, renewed)[..], "refused forbidden" | "refused session-expired"));
        world.pass(100);
    }
    assert_eq!(world.members[&1].state.counts()[1], 0);
}

#[test]
fn member_that_took_over_a_snapshot_judges_what_goes_on_there() {
    let mut world = World::with(|config| {
        config.replica.window_bytes_max = 0;
        config.replica.snapshot_after_commands = 20;
        config.unknown_ms = 600_000;
    });
    world.pass(1_000);
    let (leader, away) = (world.leader(), world.follower());
    changed(&mut world, leader, AccessChange::Set { closed: true });
    let number = create(&mut world, leader, "ci", 1, &["queue/*:*"]);
    let watch = by(&mut world, away, 1, |world, id| {
        world.ask(id, |origin| {
            let (principal, subject) = (Principal::anonymous(), Subject::Object(object("queue/a")));
            Request::Watch { origin, principal, subject, after: None }
        })
    });
    let takes = by(&mut world, away, 1, |world, id| world.call(id, "queue/a", "take", "", key("k")));
    world.ticket(away, takes);
    world.set_away(away, true);
    changed(&mut world, leader, AccessChange::RevokeToken { number });
    world.principal = Principal::root();
    for item in 0..100 {
        let put = world.call(leader, "queue/b", "put", &format!("{{\"item\":{item}}}"), ANONYMOUS);
        world.wait(leader, put);
    }
    world.request_snapshot(leader);
    world.pass(500);
    world.set_away(away, false);
    world.pass(3_000);
    assert!(world.members[&away].core.status().states_replaced > 0);
    assert_eq!(world.answer(away, takes).as_deref(), Some("refused forbidden"));
    assert_eq!(world.answer(away, watch).as_deref(), Some("refused unauthenticated"));
    world.check_equal();
}

/// By a number and by a key: both under a token that may nothing but read by then.
#[test]
fn copy_of_a_request_is_told_its_reply_though_the_right_has_gone_meanwhile() {
    let mut world = closed();
    let leader = world.leader();
    create(&mut world, leader, "ci", 1, &["counter/a:*"]);
    let new = NewSession { id: session(1), secret_hash: [1; 32], generation: 1, ttl_ms: 60_000, name: None };
    let opened = by(&mut world, leader, 1, |world, id| {
        world.command(id, |caller| Command::OpenSession { caller, session: new }, ANONYMOUS)
    });
    assert!(world.wait(leader, opened).starts_with("{\"session\""));
    let ask = |world: &mut World, id: u64, identity: Identity| {
        let asked = by(world, id, 1, |world, id| world.call(id, "counter/a", "increment", "", identity));
        (world.wait(id, asked), asked)
    };
    let kinds = [in_name_of(1, 1), key("k")];
    for (number, identity) in (1..).zip(&kinds) {
        assert_eq!(ask(&mut world, leader, identity.clone()).0, format!("{{\"value\":{number}}}"));
    }
    changed(&mut world, leader, AccessChange::Deny { principal: "ci".into(), grants: vec![] });
    changed(
        &mut world,
        leader,
        AccessChange::Allow { principal: "ci".into(), grants: grants(&["counter/a:query"]) },
    );
    for id in 1..=3 {
        for (number, identity) in (1..).zip(&kinds) {
            assert_eq!(ask(&mut world, id, identity.clone()).0, format!("{{\"value\":{number}}}"));
        }
        // What was never carried out is refused, and comes not into the log.
        let before = world.members[&leader].state.position();
        for identity in [in_name_of(1, 2), key("l")] {
            let (told, asked) = ask(&mut world, id, identity);
            assert_eq!((&told[..], effect(&world, id, asked)), ("refused forbidden", SideEffect::None));
        }
        assert_eq!(world.members[&leader].state.position(), before);
        // Nor is another one told what the key has got.
        world.principal = "cert:CN=eve".into();
        let asked = world.call(id, "counter/a", "increment", "", key("k"));
        assert_eq!(world.wait(id, asked), "refused forbidden");
        assert_eq!(effect(&world, id, asked), SideEffect::Unknown);
    }
    world.check_equal();
}

#[test]
fn copy_of_a_request_by_a_revoked_token_is_told_nothing_and_no_untruth() {
    let mut world = closed();
    let leader = world.leader();
    let first = create(&mut world, leader, "ci", 1, &["counter/a:*"]);
    create(&mut world, leader, "ci", 2, &[]);
    let ask = |world: &mut World, id: u64, secret: u8, identity: Identity| {
        let asked = by(world, id, secret, |world, id| world.call(id, "counter/a", "increment", "", identity));
        (world.wait(id, asked), asked)
    };
    assert_eq!(ask(&mut world, leader, 1, key("k")).0, "{\"value\":1}");
    changed(&mut world, leader, AccessChange::RevokeToken { number: first });
    for id in 1..=3 {
        let (told, asked) = ask(&mut world, id, 1, key("k"));
        assert_eq!((&told[..], effect(&world, id, asked)), ("refused unauthenticated", SideEffect::Unknown));
        // Without a key there are no copies.
        let (told, asked) = ask(&mut world, id, 1, ANONYMOUS);
        assert_eq!((&told[..], effect(&world, id, asked)), ("refused unauthenticated", SideEffect::None));
        // The principal finds out by another token.
        assert_eq!(ask(&mut world, id, 2, key("k")).0, "{\"value\":1}");
    }
    world.check_equal();
}

fn effect(world: &World, id: u64, asked: u64) -> SideEffect {
    match &world.members[&id].done[&asked].1 {
        Outcome::Refused(problem) => problem.effect,
        Outcome::Done(result) => panic!("{result}"),
    }
}

fn stale_from(world: &mut World, id: u64, path: &str, min_position: u64) -> u64 {
    let object = object(path);
    world.ask(id, |origin| Request::Query {
        origin,
        principal: Principal::anonymous(),
        question: Question::Method {
            object,
            incarnation: None,
            create: true,
            method: "get".into(),
            args: Vec::new(),
        },
        consistency: Consistency::Stale,
        min_position: Some(min_position),
        proof: None,
    })
}

#[test]
fn stale_query_by_a_token_that_is_on_its_way_waits_for_the_position_that_it_names() {
    let mut world = closed();
    let (leader, follower) = (world.leader(), world.follower());
    for secret in 1..10 {
        create(&mut world, leader, "ci", secret, &["counter/a:query"]);
        let position = world.members[&leader].state.position();
        assert!(world.members[&follower].state.position() < position, "it lags");
        let asked =
            by(&mut world, follower, secret, |world, id| stale_from(world, id, "counter/a", position));
        assert_eq!(world.wait(follower, asked), "{\"value\":0}");
        assert!(world.position(follower, asked) >= position);
        // One that is made up is refused when the position is there.
        let asked =
            by(&mut world, follower, 99, |world, id| stale_from(world, id, "counter/a", position + 1));
        create(&mut world, leader, "ci", secret + 100, &[]);
        assert_eq!(world.wait(follower, asked), "refused unauthenticated");
    }
}

#[test]
fn strangers_who_wait_for_a_position_that_never_comes_are_few_and_hold_up_nobody() {
    let mut world = closed();
    let (leader, follower) = (world.leader(), world.follower());
    create(&mut world, leader, "ci", 1, &["counter/a:*"]);
    world.pass(100);
    let never = 1 << 50;
    let waiting: Vec<_> = (0..STRANGERS_MAX)
        .map(|_| by(&mut world, follower, 99, |world, id| stale_from(world, id, "counter/a", never)))
        .collect();
    let beyond = by(&mut world, follower, 99, |world, id| stale_from(world, id, "counter/a", never));
    assert_eq!(world.wait(follower, beyond), "refused rate");
    assert_eq!(world.members[&follower].core.status().requests_waiting, STRANGERS_MAX);
    assert_eq!(increment(&mut world, follower, 1), "{\"value\":1}");
    let own = by(&mut world, follower, 1, |world, id| {
        world.query(id, "counter/a", "get", Consistency::Linearizable)
    });
    assert_eq!(world.wait(follower, own), "{\"value\":1}");
    world.pass(5_200);
    for asked in waiting {
        assert_eq!(world.answer(follower, asked).as_deref(), Some("refused no-leader"));
    }
    assert_eq!(world.members[&follower].core.status().requests_waiting, 0);
}

#[test]
fn waits_are_shown_to_those_who_may_list_and_events_to_those_who_may_see() {
    let mut world = closed();
    let at = world.leader();
    create(&mut world, at, "lister", 1, &["lock/team/*:query"]);
    create(&mut world, at, "caller", 2, &["lock/team/a:call"]);
    let lock = Some(object("lock/a").kind);
    let waits = |kind, prefix: &str| Question::Waits { kind, prefix: prefix.into(), after: None, limit: 10 };
    let history = |name: &str| Question::History { object: object(name), after: None };
    let mut ask = |secret, question: Question| {
        let asked = by(&mut world, at, secret, |world, id| world.question(id, question));
        world.wait(at, asked)
    };
    assert!(ask(1, waits(lock, "team/")).starts_with("{\"objects\":[]"));
    assert!(ask(1, history("lock/team/a")).starts_with("{\"type\":\"lock\""));
    for (secret, question) in [
        (1, waits(lock, "")),
        (1, waits(lock, "tea")),
        (1, waits(None, "team/")),
        (1, history("lock/other")),
        (2, waits(lock, "team/")),
        (2, history("lock/team/a")),
    ] {
        assert_eq!(ask(secret, question.clone()), "refused forbidden", "{secret} {question:?}");
    }
    let strangers = world.question(at, waits(lock, "team/"));
    assert_eq!(world.wait(at, strangers), "refused forbidden");
}
