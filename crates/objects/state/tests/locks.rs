//! Locks, semaphores, barriers, latches: who gets what, in which order, and what deaths and deadlines do to it.

mod support;

use support::{Anyone, S, World};

fn fence(position: u64) -> String {
    format!("{{\"fence\":{position}}}")
}

#[test]
fn lock_is_granted_in_order_with_rising_fences() {
    let mut world = World::with_sessions(3);
    assert_eq!(world.call(S(1), "lock/a", "acquire", ""), "{\"acquired\":true,\"fence\":4,\"holds\":1}");
    assert_eq!(world.call(S(2), "lock/a", "acquire", ""), "waits 5");
    assert_eq!(world.call(S(3), "lock/a", "acquire", ""), "waits 6");
    assert_eq!(world.call(S(1), "lock/a", "release", &fence(3)), "refused stale-fence");
    assert_eq!(world.call(S(3), "lock/a", "release", &fence(4)), "refused not-owner");
    assert_eq!(world.call(S(1), "lock/a", "release", &fence(4)), "{\"holds\":0}");
    assert_eq!(world.ends(), ["5 granted {\"acquired\":true,\"fence\":9,\"holds\":1}"]);
    assert_eq!(world.query("lock/a", "check", &fence(9)), "{\"valid\":true}");
    assert_eq!(world.query("lock/a", "check", &fence(4)), "{\"valid\":false}");
    world.call(S(2), "lock/a", "release", &fence(9));
    assert_eq!(world.ended(), [6]);
}

#[test]
fn lock_without_holder_and_waiter_is_no_object() {
    let mut world = World::with_sessions(1);
    let empty = world.state.records();
    world.call(S(1), "lock/a", "acquire", "");
    assert!(world.state.describe(&support::object("lock/a")).is_some());
    world.call(S(1), "lock/a", "release", &fence(2));
    assert!(world.state.describe(&support::object("lock/a")).is_none());
    world.pass(1);
    // One reply that was not acknowledged is left.
    assert_eq!(world.state.records(), empty + 1);
}

#[test]
fn lock_is_reentrant_up_to_its_limit() {
    let mut world = World::with_sessions(2);
    world.create("lock/a", "{\"reentrant\":2}");
    world.call(S(1), "lock/a", "acquire", "{\"owner\":\"x\"}");
    let again = world.call(S(1), "lock/a", "acquire", "{\"owner\":\"x\"}");
    assert_eq!(again, "{\"acquired\":true,\"fence\":4,\"holds\":2}");
    assert_eq!(world.call(S(1), "lock/a", "acquire", "{\"owner\":\"x\"}"), "refused reentry-limit");
    assert_eq!(world.call(S(1), "lock/a", "acquire", "{\"owner\":\"y\"}"), "waits 7");
    assert_eq!(world.call(S(1), "lock/a", "release", &fence(4)), "{\"holds\":1}");
    assert_eq!(world.call(S(1), "lock/a", "release", &fence(4)), "{\"holds\":0}");
    assert_eq!(world.ended(), [7]);
}

#[test]
fn try_of_a_held_lock_is_a_result() {
    let mut world = World::with_sessions(2);
    world.call(S(1), "lock/a", "acquire", "");
    assert_eq!(world.call(S(2), "lock/a", "acquire", "{\"wait_ms\":0}"), "{\"acquired\":false}");
    assert_eq!(world.state.counts()[2], 0);
}

#[test]
fn waits_time_out_in_the_order_of_deadline_and_id() {
    let mut world = World::with_sessions(4);
    world.call(S(1), "lock/a", "acquire", "");
    world.call(S(2), "lock/a", "acquire", "{\"wait_ms\":200}");
    world.call(S(3), "lock/a", "acquire", "{\"wait_ms\":100}");
    world.call(S(4), "lock/a", "acquire", "{\"wait_ms\":200}");
    world.pass(99);
    assert!(world.ended().is_empty());
    world.pass(1);
    assert_eq!(world.ends(), ["7 timed out {\"acquired\":false}"]);
    assert_eq!(world.state.next_deadline().map(|at| at.ms()), Some(world.now + 100));
    world.pass(500);
    assert_eq!(world.ended(), [6, 8]);
    assert_eq!(world.state.counts()[2], 0);
}

#[test]
fn death_frees_everything_at_one_position() {
    let mut world = World::with_sessions(3);
    world.call(S(1), "lock/a", "acquire", "");
    world.call(S(1), "semaphore/s", "acquire", "");
    world.call(S(1), "membership/m", "join", "{\"name\":\"one\"}");
    world.call(S(2), "lock/b", "acquire", "");
    let own = world.call(S(1), "lock/b", "acquire", "");
    let waits = [
        world.call(S(2), "lock/a", "acquire", ""),
        world.call(S(3), "semaphore/s", "acquire", ""),
        world.call(S(2), "membership/m", "await_change", "{\"epoch\":1}"),
    ];
    assert_eq!([&own[..5], &waits[0][..5], &waits[2][..5]], ["waits"; 3]);
    world.expire(1);
    let position = world.position();
    let ends = world.ends();
    assert_eq!(ends[0], format!("{} ended refused session-expired", &own[6..]));
    // Memberships come before what was taken, and that in the order in which it was taken.
    let [lock, permit, change] = waits.map(|wait| String::from(&wait[6..]));
    assert_eq!(ends[1], format!("{change} granted {{\"changed\":true,\"epoch\":2,\"members\":[]}}"));
    assert_eq!(ends[2], format!("{lock} granted {{\"acquired\":true,\"fence\":{position},\"holds\":1}}"));
    assert_eq!(ends[3], format!("{permit} granted {{\"acquired\":true,\"fence\":{position},\"held\":1}}"));
    assert_eq!(world.call(S(1), "lock/c", "acquire", ""), "refused session-expired");
}

#[test]
fn expiry_of_an_older_generation_has_no_effect() {
    let mut world = World::with_sessions(1);
    world.open(1, 2);
    world.expire(1);
    assert!(world.state.session(support::session(1)).is_some());
}

#[test]
fn lock_delay_follows_an_expiry_and_no_release() {
    let mut world = World::with_sessions(4);
    world.create("lock/a", "{\"lock_delay_ms\":500}");
    world.call(S(1), "lock/a", "acquire", "");
    world.call(S(2), "lock/a", "acquire", "");
    world.expire(1);
    assert!(world.ended().is_empty());
    assert_eq!(world.call(S(3), "lock/a", "acquire", "{\"wait_ms\":0}"), "{\"acquired\":false}");
    world.pass(499);
    assert!(world.ended().is_empty());
    world.pass(1);
    assert_eq!(world.ended(), [7]);
    world.call(S(3), "lock/a", "acquire", "");
    world.close(2);
    assert_eq!(world.ended(), [12], "a clean close has no delay");
}

#[test]
fn cancelled_wait_gives_its_place_away() {
    let mut world = World::with_sessions(3);
    world.call(S(1), "semaphore/s", "acquire", "");
    world.create("semaphore/t", "{\"permits\":2}");
    world.call(S(1), "semaphore/t", "acquire", "");
    let large = world.call(S(2), "semaphore/t", "acquire", "{\"n\":2}");
    let small = world.call(S(3), "semaphore/t", "acquire", "");
    assert_eq!((&*large, &*small), ("waits 7", "waits 8"), "a large request is not passed");
    assert_eq!(world.cancel(7), "{\"cancelled\":true}");
    assert_eq!(world.ended(), [7, 8]);
    assert_eq!(world.cancel(8), "refused already-granted");
    assert_eq!(world.cancel(99), "refused no-such-ticket");
}

#[test]
fn semaphore_counts_permits_by_session_and_fence() {
    let mut world = World::with_sessions(2);
    world.create("semaphore/s", "{\"permits\":3}");
    world.call(S(1), "semaphore/s", "acquire", "{\"n\":2}");
    assert_eq!(world.call(S(2), "semaphore/s", "release", ""), "refused not-held");
    assert_eq!(world.call(S(1), "semaphore/s", "release", "{\"n\":3}"), "refused not-held");
    assert_eq!(world.call(S(1), "semaphore/s", "release", "{\"n\":1}"), "{\"available\":2}");
    assert_eq!(world.call(S(2), "semaphore/s", "drain", ""), "{\"taken\":2,\"fence\":8}");
    assert_eq!(world.call(S(2), "semaphore/s", "resize", "{\"by\":-1}"), "{\"permits\":2,\"available\":-1}");
    world.expire(2);
    world.expire(1);
    assert_eq!(world.query("semaphore/s", "available", ""), "{\"available\":2,\"permits\":2,\"waiting\":0}");
    assert_eq!(world.call(Anyone, "semaphore/s", "release", ""), "refused over-release");
}

#[test]
fn reader_never_passes_a_waiting_writer() {
    let mut world = World::with_sessions(4);
    world.call(S(1), "rwlock/r", "read", "");
    assert_eq!(world.call(S(1), "rwlock/r", "write", ""), "refused would-deadlock");
    assert_eq!(world.call(S(2), "rwlock/r", "write", ""), "waits 7");
    assert_eq!(world.call(S(3), "rwlock/r", "read", ""), "waits 8");
    assert_eq!(world.call(S(4), "rwlock/r", "read", ""), "waits 9");
    world.call(S(1), "rwlock/r", "release", &fence(5));
    assert_eq!(world.ended(), [7]);
    world.call(S(2), "rwlock/r", "downgrade", &fence(10));
    assert_eq!(world.ended(), [8, 9], "neighbouring readers enter together");
    assert_eq!(
        world.query("rwlock/r", "state", ""),
        "{\"readers\":3,\"writer\":null,\"fence\":null,\"waiting\":0}"
    );
}

#[test]
fn condition_gives_up_and_returns_holding() {
    let mut world = World::with_sessions(2);
    world.create("lock/a", "{\"reentrant\":5}");
    world.call(S(1), "lock/a", "acquire", "");
    world.call(S(1), "lock/a", "acquire", "");
    let wait = "{\"condition\":\"c\",\"fence\":4}";
    assert_eq!(world.call(S(1), "lock/a", "await", wait), "waits 6");
    assert_eq!(world.call(S(2), "lock/a", "signal", "{\"condition\":\"c\"}"), "refused not-owner");
    world.call(S(2), "lock/a", "acquire", "");
    assert_eq!(world.call(S(2), "lock/a", "signal_all", "{\"condition\":\"c\"}"), "{\"woken\":1}");
    assert!(world.ended().is_empty(), "it returns only when it holds the lock");
    world.call(S(2), "lock/a", "release", &fence(8));
    assert_eq!(world.ends(), ["6 granted {\"signalled\":true,\"fence\":10}"]);
    assert!(world.query("lock/a", "holder", "").contains("\"holds\":2"));
}

#[test]
fn condition_that_timed_out_still_returns_holding() {
    let mut world = World::with_sessions(2);
    world.call(S(1), "lock/a", "acquire", "");
    world.call(S(1), "lock/a", "await", "{\"condition\":\"c\",\"fence\":3,\"wait_ms\":50}");
    world.call(S(2), "lock/a", "acquire", "");
    world.pass(60);
    assert!(world.ended().is_empty());
    world.call(S(2), "lock/a", "release", &fence(5));
    assert_eq!(world.ends(), ["4 granted {\"signalled\":false,\"fence\":7}"]);
}

#[test]
fn unfair_lock_passes_a_waiter_sixteen_times_at_most() {
    let mut world = World::with_sessions(40);
    world.create("lock/a", "{\"fair\":false}");
    world.call(S(1), "lock/a", "acquire", "");
    let oldest = world.call(S(2), "lock/a", "acquire", "");
    let (mut holder, mut passed) = (world.position() - 1, 0);
    for number in 3..=40 {
        world.call(S(number), "lock/a", "acquire", "");
        let last = if number == 3 { 1 } else { number - 1 };
        world.call(S(last), "lock/a", "release", &fence(holder));
        holder = world.position();
        if world.ended() == [oldest[6..].parse::<u64>().unwrap()] {
            assert_eq!(passed, 16);
            return;
        }
        passed += 1;
    }
    panic!("the oldest was never granted");
}

#[test]
fn barrier_lets_all_parties_go_and_breaks_for_all() {
    let mut world = World::with_sessions(1);
    world.create("barrier/b", "{\"parties\":3}");
    world.call(Anyone, "barrier/b", "await", "");
    world.call(Anyone, "barrier/b", "await", "");
    assert_eq!(world.call(Anyone, "barrier/b", "await", ""), "{\"index\":0,\"generation\":5}");
    let expected = ["3 granted {\"index\":2,\"generation\":5}", "4 granted {\"index\":1,\"generation\":5}"];
    assert_eq!(world.ends(), expected);
    world.call(Anyone, "barrier/b", "await", "{\"wait_ms\":10}");
    world.call(Anyone, "barrier/b", "await", "");
    world.pass(10);
    assert_eq!(
        world.ends(),
        ["6 timed out {\"index\":null,\"generation\":null}", "7 granted refused broken"]
    );
    assert_eq!(world.call(Anyone, "barrier/b", "await", ""), "refused broken");
    world.call(Anyone, "barrier/b", "reset", "");
    assert_eq!(world.call(Anyone, "barrier/b", "await", ""), "waits 11");
}

#[test]
fn shrinking_barrier_goes_on_without_the_dead() {
    let mut world = World::with_sessions(3);
    world.create("barrier/b", "{\"parties\":3,\"on_loss\":\"shrink\"}");
    world.call(S(1), "barrier/b", "await", "");
    world.call(S(2), "barrier/b", "await", "");
    world.call(S(3), "barrier/b", "await", "{\"wait_ms\":0}");
    assert_eq!(world.state.counts()[2], 0, "the third completes it");
    world.call(S(1), "barrier/b", "await", "");
    world.call(S(2), "barrier/b", "await", "");
    world.expire(1);
    assert_eq!(world.ended().len(), 1, "two parties are left, and one of them waits");
    assert!(world.call(S(3), "barrier/b", "await", "").starts_with("{\"index\":0"));
    assert_eq!(world.ended(), [9]);
}

#[test]
fn double_barrier_enters_and_leaves_together() {
    let mut world = World::with_sessions(2);
    world.create("barrier/b", "{\"parties\":2,\"double\":true}");
    assert_eq!(world.call(S(1), "barrier/b", "await", ""), "refused no-such-method");
    assert_eq!(world.call(S(1), "barrier/b", "enter", ""), "waits 5");
    world.call(S(2), "barrier/b", "enter", "");
    assert_eq!(world.ended(), [5]);
    assert_eq!(world.call(S(1), "barrier/b", "leave", ""), "waits 7");
    assert_eq!(world.call(S(2), "barrier/b", "leave", ""), "{\"left\":true}");
    assert_eq!(world.ends(), ["7 granted {\"left\":true}"]);
    assert!(world.query("barrier/b", "state", "").contains("\"inside\":0"));
}

#[test]
fn latch_opens_once_and_is_reset_when_open() {
    let mut world = World::new();
    world.create("latch/l", "{\"count\":2}");
    assert_eq!(world.call(Anyone, "latch/l", "await", ""), "waits 2");
    assert_eq!(world.call(Anyone, "latch/l", "reset", ""), "refused not-open");
    world.call(Anyone, "latch/l", "count_down", "");
    world.call(Anyone, "latch/l", "count_down", "");
    assert_eq!(world.ends(), ["2 granted {\"open\":true}"]);
    assert_eq!(world.call(Anyone, "latch/l", "reset", "{\"count\":7}"), "{\"count\":7}");
}

#[test]
fn election_grants_the_next_candidate_and_tells_observers() {
    let mut world = World::with_sessions(2);
    let won = world.call(S(1), "election/e", "campaign", "{\"name\":\"a\",\"data\":1}");
    assert_eq!(won, "{\"leader\":true,\"term\":3,\"fence\":3}");
    assert_eq!(world.call(S(2), "election/e", "campaign", "{\"name\":\"b\"}"), "waits 4");
    assert_eq!(world.call(Anyone, "election/e", "observe", "{\"term\":3}"), "waits 5");
    assert_eq!(world.query("election/e", "candidates", ""), "{\"candidates\":[\"b\"]}");
    world.expire(1);
    let expected = [
        "4 granted {\"leader\":true,\"term\":6,\"fence\":6}",
        "5 granted {\"name\":\"b\",\"data\":null,\"term\":6}",
    ];
    assert_eq!(world.ends(), expected);
    assert_eq!(world.call(S(2), "election/e", "resign", &fence(3)), "refused stale-fence");
    assert_eq!(world.call(S(2), "election/e", "resign", &fence(6)), "{\"resigned\":true}");
}

#[test]
fn membership_removes_whom_a_majority_reports() {
    let mut world = World::with_sessions(3);
    for number in 1..=3 {
        world.call(S(number), "membership/m", "join", &format!("{{\"name\":\"m{number}\"}}"));
    }
    assert_eq!(world.call(S(2), "membership/m", "join", "{\"name\":\"m1\"}"), "refused name-taken");
    let report = "{\"epoch\":3,\"name\":\"m3\"}";
    let first = world.call(S(1), "membership/m", "report", report);
    assert_eq!(first, "{\"reports\":1,\"removed\":false,\"epoch\":3}");
    assert_eq!(world.call(S(1), "membership/m", "report", report), first, "a second report counts once");
    let second = world.call(S(2), "membership/m", "report", report);
    assert_eq!(second, "{\"reports\":2,\"removed\":true,\"epoch\":4}");
    assert_eq!(world.call(Anyone, "membership/m", "await_size", "{\"n\":3}"), "waits 11");
    world.call(S(3), "membership/m", "join", "{\"name\":\"m3\"}");
    assert_eq!(world.ended(), [11]);
}

#[test]
fn party_leaves_a_double_barrier_once_and_for_nobody_else() {
    let mut world = World::with_sessions(3);
    world.create("barrier/b", "{\"parties\":2,\"double\":true}");
    world.call(S(1), "barrier/b", "enter", "");
    world.call(S(2), "barrier/b", "enter", "");
    assert_eq!(world.call(S(3), "barrier/b", "leave", ""), "refused not-owner", "it is not inside");
    assert_eq!(world.call(S(1), "barrier/b", "leave", "{\"wait_ms\":0}"), "{\"left\":false}");
    assert_eq!(world.call(S(1), "barrier/b", "leave", ""), "waits 9");
    assert_eq!(world.call(S(1), "barrier/b", "leave", ""), "refused not-owner", "it waits to leave already");
    assert_eq!(world.call(S(2), "barrier/b", "leave", ""), "{\"left\":true}");
    assert_eq!(world.ends(), ["9 granted {\"left\":true}"]);
}

#[test]
fn shrinking_double_barrier_loses_a_dead_party_once() {
    let mut world = World::with_sessions(3);
    world.create("barrier/b", "{\"parties\":3,\"on_loss\":\"shrink\",\"double\":true}");
    (1..=3).for_each(|number| drop(world.call(S(number), "barrier/b", "enter", "")));
    world.call(S(1), "barrier/b", "leave", "");
    world.expire(1);
    let state = world.query("barrier/b", "state", "");
    assert!(state.starts_with("{\"parties\":2,\"waiting\":0,\"inside\":2,\"leaving\":0"), "{state}");
}

#[test]
fn those_who_wait_for_different_things_are_granted_in_the_order_in_which_they_came() {
    let mut world = World::with_sessions(1);
    for term in [9, 0, 5] {
        world.call(Anyone, "election/e", "observe", &format!("{{\"term\":{term}}}"));
    }
    (0..9).for_each(|_| world.pass(1));
    world.call(S(1), "election/e", "campaign", "{\"name\":\"a\"}");
    assert_eq!(world.ended(), [2, 3, 4]);
    for n in [3, 1, 2] {
        world.call(Anyone, "membership/m", "await_size", &format!("{{\"n\":{n}}}"));
    }
    world.call(Anyone, "membership/m", "await_change", "{\"epoch\":0}");
    world.call(S(1), "membership/m", "join", "{\"name\":\"a\"}");
    assert_eq!(world.ended(), [16, 18]);
    for method in ["{\"equals\":5}", "{\"at_most\":5}", "{\"at_least\":5}", "{\"at_least\":1}"] {
        world.call(Anyone, "counter/c", "await", method);
    }
    world.call(Anyone, "counter/c", "set", "{\"value\":5}");
    assert_eq!(world.ended(), [20, 22, 23]);
}
