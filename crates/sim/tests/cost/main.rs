//! The cost mode: what it predicts of hardware so simple that the answer is known by hand, and that it always predicts the
//! same.

use sim::cost::{Pace, Part, Place, Prediction, Profile, Role, Setup, Work, predict};

/// Hardware of round numbers: everything costs nothing but what a test says.
fn simple(change: impl FnOnce(&mut Profile)) -> Profile {
    let mut profile = Profile::named("this-machine").expect("a profile of that name");
    profile.cores = 2;
    profile.wake_latency_ns = 0;
    profile.disk.flush_us = vec![1000.0];
    profile.disk.mib_per_second = 1e9;
    profile.disk.contention = 0.0;
    profile.network.latency_us = 0.0;
    profile.network.gigabit_per_second = 1e6;
    change(&mut profile);
    profile
}

fn short(mut setup: Setup) -> Setup {
    (setup.warm_up_ms, setup.measured_ms) = (50, 200);
    (setup.nodes, setup.value_bytes) = (100, 100);
    setup
}

fn served(prediction: &Prediction) {
    assert!(prediction.operations > 0);
    assert_eq!((prediction.errors, prediction.cut_off), (0, 0));
    for spent in &prediction.spent {
        let time_ns = spent.threads as u64 * prediction.elapsed_ns;
        // A turn that had begun when the measurement did counts as a whole.
        assert!(spent.cpu_ns <= time_ns + 10_000_000, "{spent:?} in {time_ns} ns");
    }
    assert!(prediction.busy() <= 1.0 + 0.05, "{}", prediction.busy());
}

#[test]
fn a_lone_write_takes_what_its_parts_take() {
    // Prices of nothing: what is left is the flush, and the way there and back.
    let free = |profile: &mut Profile| {
        for role in Role::ALL {
            *profile = profile.clone().with_prices(role, [0.0; sim::cost::KINDS]);
        }
    };
    let setup = short(Setup::new(1, 1, 1, 1000));
    let alone = predict(&simple(free), &setup);
    served(&alone);
    assert!((alone.latency_ms(50.0) - 1.0).abs() < 0.01, "{} ms", alone.latency_ms(50.0));
    let slow = predict(
        &simple(|profile| {
            free(profile);
            profile.disk.flush_us = vec![2000.0];
        }),
        &setup,
    );
    assert!((alone.per_second() / slow.per_second() - 2.0).abs() < 0.05, "twice the flush, half the writes");
    let afar = predict(
        &simple(|profile| {
            free(profile);
            profile.network.latency_us = 250.0;
        }),
        &setup,
    );
    assert!((afar.latency_ms(50.0) - 1.5).abs() < 0.01, "there and back: {} ms", afar.latency_ms(50.0));
}

#[test]
fn a_follower_of_three_is_two_ways_further_and_flushes_side_by_side() {
    let profile = simple(|profile| {
        for role in Role::ALL {
            *profile = profile.clone().with_prices(role, [0.0; sim::cost::KINDS]);
        }
        profile.network.latency_us = 100.0;
    });
    let mut setup = short(Setup::new(3, 1, 1, 1000));
    // Client, leader; the leader's own flush, while a follower is told, flushes and tells; client.
    setup.at = sim::cost::At::Leader;
    let leader = predict(&profile, &setup);
    assert!((leader.latency_ms(50.0) - 1.4).abs() < 0.02, "{} ms", leader.latency_ms(50.0));
}

#[test]
fn reads_grow_with_members_and_writes_shrink() {
    let profile = simple(|profile| profile.disk.flush_us = vec![100.0]);
    let rate = |members, writes, fronts_cost| {
        let setup = Setup { fronts_cost, ..short(Setup::new(members, 60, 20, writes)) };
        let prediction = predict(&profile, &setup);
        served(&prediction);
        prediction.per_second()
    };
    let reads = [1, 3, 5].map(|members| rate(members, 0, true));
    assert!(reads[1] > reads[0] * 2.5 && reads[2] > reads[1] * 1.4, "{reads:?}");
    // Of the broadcast alone: more members bring more shards, too.
    let writes = [3, 7, 15].map(|members| rate(members, 1000, false));
    assert!(writes[0] > writes[1] && writes[1] > writes[2], "{writes:?}");
}

#[test]
fn a_host_that_is_shared_is_as_fast_as_its_cores() {
    let setup = short(Setup::new(3, 20, 10, 500).shared());
    let (two, four) = (simple(|_| ()), simple(|profile| profile.cores = 4));
    let crowded = predict(&simple(|profile| profile.disk.flush_us = vec![10.0]), &setup);
    served(&crowded);
    assert!(crowded.busy() > 0.8, "a closed load keeps two cores busy: {}", crowded.busy());
    let [two, four] = [two, four].map(|profile| predict(&profile, &setup));
    assert!(four.per_second() >= two.per_second() * 0.95);
    assert!(two.spent.iter().any(|spent| (spent.part, spent.role) == (Part::Client, Role::Load)));
}

#[test]
fn an_open_pace_is_kept_and_counts_from_when_a_request_was_due() {
    let mut setup = short(Setup::new(3, 30, 1, 200));
    setup.pace = Pace::Open { per_second: 5000.0 };
    for place in [Place::Own, Place::Shared] {
        setup.place = place;
        let prediction = predict(&simple(|profile| profile.disk.flush_us = vec![100.0]), &setup);
        served(&prediction);
        assert!((prediction.per_second() / 5000.0 - 1.0).abs() < 0.05, "{}", prediction.per_second());
        assert!(prediction.load_of(Part::Client, Role::Load) < 0.5, "between requests the load sleeps");
    }
    // Far more than one member can do: what is due waits, and counts.
    setup.pace = Pace::Open { per_second: 3_000_000.0 };
    (setup.members, setup.place) = (1, Place::Own);
    let flooded = predict(&simple(|_| ()), &setup);
    assert!(flooded.latency_ms(99.0) > 20.0, "{}", flooded.latency_ms(99.0));
}

#[test]
fn observers_are_told_and_do_not_vote() {
    let profile = simple(|profile| profile.disk.flush_us = vec![100.0]);
    let setup = short(Setup::new(3, 20, 1, 1000));
    let with = predict(&profile, &Setup { observers: 2, ..setup.clone() });
    served(&with);
    let applied = |part| {
        let spent = with.spent.iter().find(|spent| (spent.part, spent.role) == (part, Role::Core));
        let spent = spent.expect("such members");
        spent.count.0[Role::Core.kind("apply").expect("a kind")] / spent.threads as f64
    };
    let (observer, leader) = (applied(Part::Observer), applied(Part::Leader));
    assert!((observer / leader - 1.0).abs() < 0.1, "{observer} {leader}");
}

#[test]
fn everybody_who_watches_is_told() {
    let mut setup = short(Setup::new(5, 40, 1, 0));
    setup.work = Work::Watches;
    let prediction = predict(&simple(|_| ()), &setup);
    assert_eq!(prediction.events, 40 * 40);
    assert_eq!(prediction.errors, 0);
}

#[test]
fn each_event_that_is_told_has_its_price() {
    let mut setup = short(Setup::new(1, 40, 1, 0));
    setup.work = Work::Watches;
    let shards_ns = |price_ns: f64| {
        let kind = Role::Shard.kind("event").expect("a kind");
        let prices = std::array::from_fn(|at| if at == kind { price_ns } else { 0.0 });
        let profile = simple(|profile| *profile = profile.clone().with_prices(Role::Shard, prices));
        predict(&profile, &setup).sum_of(Role::Shard).1
    };
    assert_eq!(shards_ns(0.0), 0);
    assert_eq!(shards_ns(1000.0), 40 * 40 * 1000);
}

#[test]
fn the_same_seed_predicts_the_same_and_another_one_nearly() {
    let profile = Profile::named("this-machine").expect("a profile of that name");
    let setup = short(Setup::new(3, 20, 10, 300).shared());
    let figures = |setup: &Setup| {
        let prediction = predict(&profile, setup);
        (
            prediction.operations,
            prediction.busy_ns,
            prediction.flushes,
            prediction.latency.value_at_quantile(0.99),
        )
    };
    let first = figures(&setup);
    assert_eq!(first, figures(&setup));
    let other = figures(&Setup { seed: 2, ..setup });
    assert_ne!(first, other);
    let ratio = first.0 as f64 / other.0 as f64;
    assert!((0.8..1.25).contains(&ratio), "{first:?} {other:?}");
}
