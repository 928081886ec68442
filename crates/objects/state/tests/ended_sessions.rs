//! Sessions that have ended: their ids open no other ones.

mod support;

use objects_state::limits::{ENDED_SESSION_MS, ENDED_SESSIONS_MAX};
use objects_state::{Call, Caller, Command, NewSession, SessionId};
use support::{Anyone, K, S, World, load, session, snapshot};

/// All members of the group know of such ids.
fn group() -> World {
    let mut world = World::new();
    world.apply(&Command::FeatureLevel(4));
    world
}

fn new(id: SessionId) -> NewSession {
    NewSession { id, secret_hash: [id.0[0]; 32], generation: 1, ttl_ms: 10_000, name: None }
}

/// A copy of the request that opened a session comes late.
fn open_again(world: &mut World, id: SessionId) -> String {
    let caller = world.caller(Anyone);
    world.answer(&Command::OpenSession { caller, session: new(id) })
}

#[test]
fn late_copies_of_an_ended_sessions_requests_are_not_carried_out() {
    let mut world = group();
    for ends in [World::close, World::expire] {
        let number = 1 + world.state.counts()[0] as u8;
        world.open(number, 1);
        let count = world.new_call(S(number), &format!("counter/c{number}"), "increment", "");
        assert_eq!(world.answer(&Command::Call(count.clone())), "{\"value\":1}");
        ends(&mut world, number);
        assert_eq!(open_again(&mut world, session(number)), "refused session-expired");
        let late = Call { caller: Caller { origin: world.caller(Anyone).origin, ..count.caller }, ..count };
        assert_eq!(world.answer(&Command::Call(late)), "refused session-expired");
        assert_eq!(world.query(&format!("counter/c{number}"), "get", ""), "{\"value\":1}");
    }
    assert_eq!(world.state.check(), Ok(()));
}

#[test]
fn call_opens_no_session_under_an_id_that_has_ended() {
    let mut world = group();
    world.open(1, 1);
    world.close(1);
    let mut acquire = world.new_call(K("a"), "lock/a", "acquire", "");
    acquire.opens = Some(new(session(1)));
    assert_eq!(world.answer(&Command::Call(acquire)), "refused session-expired");
    assert_eq!(world.state.counts()[..2], [0, 0], "it has no effect");
}

#[test]
fn id_is_free_again_when_its_time_is_over() {
    let mut world = group();
    world.open(1, 1);
    world.close(1);
    world.pass(ENDED_SESSION_MS - 1);
    assert_eq!(open_again(&mut world, session(1)), "refused session-expired");
    world.pass(1);
    world.open(1, 1);
    world.close(1);
    assert_eq!(open_again(&mut world, session(1)), "refused session-expired", "its second end counts");
    assert_eq!(world.state.check(), Ok(()));
}

#[test]
fn ids_are_bounded_and_the_oldest_are_free_first() {
    let mut world = group();
    let id = |number: u64| SessionId(u128::from(number + 1).to_be_bytes());
    let mut state = core::mem::take(&mut world.state);
    let stamp = base::WallTime::of_ms(world.now);
    let mut do_ = |command: &Command| {
        let mut effects = Vec::new();
        state.apply(stamp, command, &mut effects);
        effects
    };
    for number in 0..=ENDED_SESSIONS_MAX {
        do_(&Command::OpenSession { caller: world.caller(Anyone), session: new(id(number)) });
        do_(&Command::ExpireSession { session: id(number), generation: 1 });
    }
    let mut refused = |number| {
        let command = Command::OpenSession { caller: world.caller(Anyone), session: new(id(number)) };
        format!("{:?}", do_(&command)).contains("SessionExpired")
    };
    assert_eq!([refused(0), refused(1), refused(ENDED_SESSIONS_MAX)], [false, true, true]);
    assert_eq!(state.check(), Ok(()));
}

#[test]
fn ids_are_part_of_a_snapshot_and_leave_in_time() {
    let mut world = group();
    for number in 1..=9 {
        world.open(number, 1);
        world.close(number);
    }
    let (bytes, digest) = snapshot(&mut world.state, 100);
    let mut other = World::new();
    (other.state, other.now) = (load(&bytes, 100).unwrap(), world.now);
    assert_eq!((other.state.digest(), world.state.digest()), (digest, digest));
    for world in [&mut world, &mut other] {
        assert_eq!(open_again(world, session(9)), "refused session-expired");
        world.pass(ENDED_SESSION_MS);
        for number in 11..=15 {
            world.open(number, 1);
            world.close(number);
        }
        assert_eq!(world.state.check(), Ok(()));
    }
    assert_eq!(other.state.digest(), world.state.digest());
}
