//! Quotas over several members: calls that each of them lets in, and what members of earlier builds cannot read.

mod support;

use objects_replica::edge::{Consistency, Request};
use objects_state::{
    AccessChange, Caller, Command, Grant, Identity, Invocation, Outcome, Principal, QuotaLimits, QuotaOf,
    Ranges, RoleNames,
};
use support::{World, object, session};

const ANONYMOUS: Identity = Identity::Anonymous;
const RATE: &str = "refused rate";

fn set(world: &mut World, id: u64, of: QuotaOf, limits: QuotaLimits) -> String {
    changed(world, id, AccessChange::Quota { of, limits })
}

fn changed(world: &mut World, id: u64, change: AccessChange) -> String {
    let asked = world.ask(id, |origin| {
        let caller = Caller { origin, principal: Principal::root(), identity: ANONYMOUS };
        Request::Command { command: Command::Access { caller, change }, secret_hash: None }
    });
    let answer = world.wait(id, asked);
    world.pass(200);
    answer
}

fn rate(calls: u64) -> QuotaLimits {
    QuotaLimits { calls_per_second: Some(calls), ..QuotaLimits::default() }
}

fn ada() -> QuotaOf {
    QuotaOf::Principal("ada".into())
}

fn team() -> QuotaOf {
    QuotaOf::Namespace("team".into())
}

fn increment(world: &mut World, id: u64, path: &str) -> String {
    let asked = world.call(id, path, "increment", "", ANONYMOUS);
    world.wait(id, asked)
}

/// How many of these calls are let in, none of which takes time.
fn let_in(world: &mut World, id: u64, path: &str, count: usize) -> usize {
    let asked: Vec<_> = (0..count).map(|_| world.call(id, path, "increment", "", ANONYMOUS)).collect();
    let answers: Vec<_> = asked.into_iter().map(|asked| world.wait(id, asked)).collect();
    answers.iter().filter(|answer| *answer != RATE).count()
}

#[test]
fn each_member_lets_in_as_many_calls_as_the_quota_says() {
    let mut world = World::new();
    let (leader, follower) = (world.leader(), world.follower());
    set(&mut world, leader, ada(), rate(20));
    let before = world.members[&leader].state.position();
    assert_eq!(let_in(&mut world, leader, "counter/a", 50), 20);
    world.pass(50);
    assert!(world.members[&leader].state.position() <= before + 25, "the others are not in the log");
    let at_the_other = let_in(&mut world, follower, "counter/a", 50);
    assert!((20..25).contains(&at_the_other), "{at_the_other}");
    // Who is not bounded is not.
    world.principal = "bob".into();
    assert_eq!(let_in(&mut world, leader, "counter/b", 50), 50);
    world.principal = "ada".into();
    world.pass(2_000);
    assert_eq!(let_in(&mut world, leader, "counter/a", 50), 20);
    // As soon as it is taken away.
    set(&mut world, leader, ada(), QuotaLimits::default());
    assert_eq!(let_in(&mut world, leader, "counter/a", 50), 50);
    world.check_equal();
}

#[test]
fn refusal_says_when_and_queries_count_but_what_gives_back_does_not() {
    let mut world = World::new();
    let id = world.follower();
    set(&mut world, id, team(), rate(2));
    assert_eq!(increment(&mut world, id, "counter/team/a"), "{\"value\":1}");
    for consistency in [Consistency::Linearizable, Consistency::Stale] {
        world.pass(2_000);
        let asked: Vec<_> = (0..4).map(|_| world.query(id, "counter/team/a", "get", consistency)).collect();
        let answers: Vec<_> = asked.into_iter().map(|asked| world.wait(id, asked)).collect();
        assert_eq!(answers.iter().filter(|answer| *answer == RATE).count(), 2, "{answers:?}");
    }
    let asked = world.call(id, "counter/team/a", "increment", "", ANONYMOUS);
    world.wait(id, asked);
    let Some((_, Outcome::Refused(problem))) = world.members[&id].done.get(&asked) else {
        panic!("it is let in")
    };
    assert!(problem.retry_after_ms.is_some_and(|ms| (1..=500).contains(&ms)), "{problem:?}");
    assert!(problem.detail.contains("namespace `team` is 2 calls a second"), "{problem:?}");
    // A batch is as many calls as it has; other namespaces are none of it.
    assert_eq!(increment(&mut world, id, "counter/other/a"), "{\"value\":1}");
    world.pass(2_000);
    let calls = (0..2).map(|_| Invocation { method: "increment".into(), args: Vec::new() });
    let (invocations, object) = (calls.collect(), object("counter/team/a"));
    let asked = world.command(
        id,
        |caller| {
            let (incarnation, create) = (None, true);
            Command::Batch(objects_state::Batch { caller, object, incarnation, create, invocations })
        },
        ANONYMOUS,
    );
    assert!(world.wait(id, asked).starts_with("{\"results\""));
    assert_eq!(increment(&mut world, id, "counter/team/a"), RATE);
    // Nobody is kept from raising his quota, and a wait can be given up.
    world.principal = Principal::root();
    set(&mut world, id, QuotaOf::Principal("root".into()), rate(1));
    assert!(
        set(&mut world, id, QuotaOf::Principal("root".into()), rate(2)).contains("\"calls_per_second\":2")
    );
    assert!(
        set(&mut world, id, QuotaOf::Principal("root".into()), rate(3)).contains("\"calls_per_second\":3")
    );
}

#[test]
fn client_whose_calls_are_too_many_keeps_its_session() {
    let mut world = World::new();
    let id = world.follower();
    world.open(id, 1, 1_000);
    set(&mut world, id, ada(), rate(1));
    for request in 1..30 {
        world.pass(100);
        // What is let in is another one's.
        increment(&mut world, id, "counter/a");
        let identity =
            Identity::Session { session: session(1), request, acknowledged: 0, above: Ranges::new() };
        let asked = world.call(id, "counter/a", "increment", "", identity);
        assert_eq!(world.wait(id, asked), RATE);
    }
    let asked = world.renew(id, 1);
    assert!(world.wait(id, asked).starts_with('{'), "it has asked all the time");
    world.pass(3_000);
    let asked = world.renew(id, 1);
    assert_eq!(world.wait(id, asked), "refused session-expired", "it asks for nothing more");
}

#[test]
fn quota_is_judged_at_the_position_at_every_member_alike() {
    let mut world = World::new();
    let leader = world.leader();
    let limits = QuotaLimits { objects: Some(3), ..QuotaLimits::default() };
    assert!(set(&mut world, leader, team(), limits).contains("\"objects\":3"));
    let asked: Vec<_> = (0..9)
        .map(|number: u64| {
            let id = number % 3 + 1;
            (id, world.call(id, &format!("counter/team/c{number}"), "increment", "", ANONYMOUS))
        })
        .collect();
    let answers: Vec<_> = asked.into_iter().map(|(id, asked)| world.wait(id, asked)).collect();
    assert_eq!(answers.iter().filter(|answer| *answer == "{\"value\":1}").count(), 3, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| *answer == "refused quota").count(), 6, "{answers:?}");
    world.pass(500);
    world.check_equal();
}

#[test]
fn group_with_members_of_earlier_builds_has_neither_quotas_nor_roles() {
    let mut world = World::with(|config| config.replica.feature_level = 8);
    let leader = world.leader();
    assert_eq!(set(&mut world, leader, ada(), rate(1)), "refused type-not-ready");
    let roles = AccessChange::Roles { principal: "ci".into(), roles: RoleNames::default() };
    assert_eq!(changed(&mut world, leader, roles), "refused type-not-ready");
    assert_eq!(let_in(&mut world, leader, "counter/a", 5), 5);
}

#[test]
fn change_of_access_that_could_not_be_read_back_does_not_come_into_the_log() {
    let mut world = World::new();
    let long = "n".repeat(256);
    let grants: Vec<Grant> = ["lock/a:*".parse().expect("a right")].into();
    for id in 1..=3 {
        let before = world.members[&id].state.position();
        for change in [
            AccessChange::Allow { principal: long.clone(), grants: grants.clone() },
            AccessChange::RevokePrincipal { principal: long.clone() },
            AccessChange::Quota { of: QuotaOf::Principal(long.clone()), limits: rate(1) },
            AccessChange::Role { role: long.clone(), grants: grants.clone() },
            AccessChange::Roles { principal: long.clone(), roles: RoleNames::default() },
            AccessChange::Roles { principal: "ci".into(), roles: RoleNames(vec!["r".into(); 17]) },
            AccessChange::Allow { principal: "ci".into(), grants: vec![grants[0].clone(); 65] },
        ] {
            assert_eq!(changed(&mut world, id, change), "refused bad-argument");
        }
        assert_eq!(world.members[&id].state.position(), before);
    }
    world.pass(500);
    assert_eq!(increment(&mut world, 1, "counter/a"), "{\"value\":1}");
}
