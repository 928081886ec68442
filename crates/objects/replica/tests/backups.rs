//! Backups: what a client is given, and who is given one.

mod support;

use objects_replica::edge::{Question, Request, origin};
use objects_state::{AccessChange, Command, Grant, Identity, Principal, Slug};
use support::{World, by, object};

/// How long a member rests at the least, milliseconds, and a little more.
const REST_MS: u64 = 1_100;

#[test]
fn backup_at_any_member_holds_all_that_was_answered_before_it_was_asked_for() {
    let mut world = World::new();
    world.open(1, 7, 600_000);
    for round in 1..=9 {
        let (writer, reader) = (round % 3 + 1, (round + 1) % 3 + 1);
        let wrote = world.call(writer, "counter/a", "increment", "", by(7, round));
        let told = world.wait(writer, wrote);
        assert_eq!(told, format!("{{\"value\":{round}}}"));
        let asked = world.question(reader, Question::Backup);
        let (_, state) = world.backup(reader, asked);
        assert!(state.position() >= world.position(writer, wrote));
        let counted = state.query(&object("counter/a"), None, true, "get", b"").expect("a counter");
        assert_eq!(counted, told);
        state.check().expect("its records fit together");
        world.hang_up(reader, asked);
        world.pass(REST_MS);
    }
    world.check_equal();
}

#[test]
fn snapshot_that_covers_everything_is_given_without_another_one() {
    let mut world = World::new();
    let wrote = world.call(1, "counter/a", "increment", "", Identity::Anonymous);
    world.wait(1, wrote);
    world.pass(1_000);
    let first = world.question(2, Question::Backup);
    let (index, state) = world.backup(2, first);
    world.hang_up(2, first);
    world.pass(REST_MS);
    let second = world.question(2, Question::Backup);
    let (again, same) = world.backup(2, second);
    assert_eq!((index, state.digest()), (again, same.digest()));
}

#[test]
fn member_gives_one_backup_at_a_time_and_rests_behind_it() {
    let mut world = World::new();
    let first = world.question(1, Question::Backup);
    let others: Vec<u64> = (0..9).map(|_| world.question(1, Question::Backup)).collect();
    world.backup(1, first);
    for other in others {
        assert_eq!(world.wait(1, other), "refused rate");
    }
    // Another member has its own.
    let elsewhere = world.question(2, Question::Backup);
    world.backup(2, elsewhere);
    world.pass(60_000);
    let late = world.question(1, Question::Backup);
    assert_eq!(world.wait(1, late), "refused rate", "the first client still reads");
    world.hang_up(1, first);
    let soon = world.question(1, Question::Backup);
    assert_eq!(world.wait(1, soon), "refused rate", "it took a minute");
    world.pass(60_000);
    let next = world.question(1, Question::Backup);
    world.backup(1, next);
    world.hang_up(1, next);
    world.pass(REST_MS);
    assert!(world.members.values().all(|member| member.core.status().requests_waiting <= 1));
}

#[test]
fn client_that_goes_before_its_backup_is_there_leaves_room_for_the_next() {
    let mut world = World::new();
    let gone = world.question(1, Question::Backup);
    world.hang_up(1, gone);
    // It waited for the leader when it went: its edge is given what nobody reads any more, and says so.
    world.pass_until(5_000, |world| world.members[&1].backups.contains_key(&gone));
    world.hang_up(1, gone);
    world.pass(REST_MS);
    let next = world.question(1, Question::Backup);
    world.backup(1, next);
}

#[test]
fn snapshot_that_cannot_be_written_is_a_refusal_and_the_next_one_is_given() {
    let mut world = World::new();
    let wrote = world.call(1, "counter/a", "increment", "", Identity::Anonymous);
    world.wait(1, wrote);
    world.refuse_snapshots(1, true);
    let asked = world.question(1, Question::Backup);
    assert_eq!(world.wait(1, asked), "refused disk-full");
    world.refuse_snapshots(1, false);
    world.pass(REST_MS);
    let next = world.question(1, Question::Backup);
    world.backup(1, next);
}

fn change(world: &mut World, change: AccessChange) {
    world.principal = Principal::root();
    let command = |caller| Command::Access { caller, change };
    let asked = world.command(1, command, Identity::Anonymous);
    let answer = world.wait(1, asked);
    assert!(answer.starts_with('{'), "{answer}");
}

fn allow(world: &mut World, name: &str, right: &str) {
    let grants: Vec<Grant> = vec![right.parse().expect("a right")];
    change(world, AccessChange::Allow { principal: name.into(), grants });
}

#[test]
fn backup_takes_the_right_to_administer_everything_and_ends_with_it() {
    let mut world = World::new();
    let token = AccessChange::CreateToken {
        name: "boss".into(),
        hash: [1; 32],
        lives_ms: None,
        grants: vec!["*:admin".parse().expect("a right")],
    };
    change(&mut world, token);
    change(&mut world, AccessChange::Set { closed: true });
    allow(&mut world, "cert:CN=most", "*:*");
    allow(&mut world, "cert:CN=all", "*:admin");
    world.pass(1_000);
    for name in ["cert:CN=most", "cert:CN=eve", "anonymous"] {
        world.principal = if name == "anonymous" { Principal::anonymous() } else { name.into() };
        let asked = world.question(1, Question::Backup);
        world.wait(1, asked);
        let slug = world.slug(1, asked).expect("it is refused");
        assert!(matches!(slug, Slug::Forbidden | Slug::Unauthenticated), "{name}: {slug:?}");
    }
    world.principal = "cert:CN=all".into();
    let asked = world.question(1, Question::Backup);
    world.backup(1, asked);
    let grants = vec!["*:admin".parse().expect("a right")];
    change(&mut world, AccessChange::Deny { principal: "cert:CN=all".into(), grants });
    assert_eq!(world.wait(1, asked), "refused forbidden", "it has no right to the rest");
    // Its room is free: another one is given.
    world.pass(60_000);
    world.principal = Principal::root();
    let next = world.question(1, Question::Backup);
    world.backup(1, next);
    world.tell(1, Request::Gone { origin: origin(1, 0, next) });
}
