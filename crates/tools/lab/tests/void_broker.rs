//! A broker that acknowledges everything and keeps nothing must not pass for a fast one; one that keeps almost everything
//! neither.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod void;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use council_client::load::Patience;
use log_client::load::{Steady, recount, steady};
use tools_lab::conduct::{self, Options};
use tools_lab::experiment::{self, Scale};
use tools_lab::measure::Sources;
use tools_lab_report::figure;
use tools_lab_report::record::Run;

/// Runs an experiment on a broker of that kind, very briefly.
fn run(id: &str, keeps: void::Keeps) -> Run {
    let broker = void::Void::start(keeps);
    let folder = std::env::temp_dir().join(format!("lab-void-{id}-{keeps:?}-{}", std::process::id()));
    // Of an earlier test of that number.
    let _ = std::fs::remove_dir_all(&folder);
    let sources = Sources {
        diwan: "none".into(),
        other: None,
        cache: folder.clone(),
        addresses: Vec::new(),
        brokers: vec![(String::from("void"), broker.address())],
    };
    let options = Options {
        experiments: vec![experiment::named(id).unwrap()],
        systems: vec![String::from("void")],
        sources,
        scale: Scale::small().lasting(Duration::from_millis(60)),
        seed: 1,
        repetitions: 1,
        folder: folder.clone(),
        resume: false,
        data: folder.clone(),
        patience: Duration::from_secs(20),
        command: String::from("test"),
        begun: String::from("now"),
    };
    let run = conduct::run(&options, &Patience::default(), &mut |_| {}).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    run
}

#[test]
fn void_broker_has_no_figure() {
    for id in ["K1", "K3"] {
        let run = run(id, void::Keeps::Nothing);
        assert!(run.points.is_empty(), "{id}: {:?}", run.points);
        assert!(!run.failed.is_empty(), "{id}");
        for failed in run.failed {
            assert!(
                failed.reason.contains("messages were acknowledged, and 0 are there"),
                "{}",
                failed.reason
            );
        }
    }
}

#[test]
fn broker_that_forgets_one_batch_in_a_hundred_is_found_out() {
    let run = run("K3", void::Keeps::AllButOneInHundred);
    assert!(run.points.is_empty() && run.failed.len() == 1, "{:?}", run.points);
}

#[test]
fn broker_that_keeps_everything_has_its_figures() {
    for id in ["K1", "K3", "log-delivery"] {
        let run = run(id, void::Keeps::All);
        assert!(run.failed.is_empty(), "{id}: {:?}", run.failed);
        assert!(run.points.iter().all(|point| point.figures[figure::RATE] > 0.0), "{id}");
        assert!(
            run.points.iter().all(|point| !point.figures.contains_key(figure::CPU)),
            "{id}: it is elsewhere"
        );
    }
}

#[test]
fn steady_producer_sends_again_what_was_refused_or_lost_and_nothing_is_there_twice() {
    let broker = void::Void::start(void::Keeps::OnceWithFaults);
    let load = Steady {
        brokers: vec![broker.address()],
        topic: String::from("t"),
        partition: 0,
        per_second: 500.0,
        group: 5,
        message_bytes: 20,
    };
    let (is_over, (sender, receiver)) = (AtomicBool::new(false), mpsc::channel());
    let acknowledged = thread::scope(|scope| {
        let (load, over) = (&load, &is_over);
        let running = scope.spawn(move || steady(load, over, &sender));
        let next = |_| receiver.recv_timeout(Duration::from_secs(20)).unwrap();
        let told: Vec<_> = (0..50).map(next).collect();
        is_over.store(true, Ordering::Relaxed);
        assert!(told.is_sorted_by_key(|told| (told.due, told.at)));
        assert!(told.iter().all(|told| told.by == 1 && told.due <= told.at));
        running.join().unwrap().unwrap()
    });
    assert!(acknowledged >= 250);
    let there = recount(&broker.address().to_string(), "t", 1, Duration::from_secs(20)).unwrap();
    assert_eq!(there.messages, acknowledged);
}
