//! A server that answers everything and keeps nothing must not pass for a fast one, in any experiment; one that keeps
//! almost everything neither.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod null;

use std::net::SocketAddr;
use std::time::Duration;

use council_client::load::Patience;
use tools_lab::conduct::{self, Options};
use tools_lab::experiment::{self, Experiment, Scale};
use tools_lab::measure::Sources;
use tools_lab_report::record::Run;

/// On a loaded machine an honest server may be slow; a server that will never answer must fail soon.
const PATIENCE: Duration = Duration::from_secs(60);
const LITTLE_PATIENCE: Duration = Duration::from_secs(2);

/// Runs experiments on servers at this address, very briefly.
fn run(name: &str, address: SocketAddr, experiments: Vec<&'static Experiment>, patience: Duration) -> Run {
    let folder = std::env::temp_dir().join(format!("lab-null-{name}-{}", std::process::id()));
    // Of an earlier test of that number.
    let _ = std::fs::remove_dir_all(&folder);
    let sources = Sources {
        diwan: "none".into(),
        other: None,
        cache: folder.clone(),
        addresses: vec![(String::from("null"), address.into())],
        brokers: Vec::new(),
    };
    let options = Options {
        experiments,
        systems: vec![String::from("null")],
        sources,
        scale: Scale::small().lasting(Duration::from_millis(60)),
        seed: 1,
        repetitions: 1,
        folder: folder.clone(),
        resume: false,
        data: std::env::temp_dir(),
        patience,
        command: String::from("test"),
        begun: String::from("now"),
    };
    let run = conduct::run(&options, &Patience::default(), &mut |_| {}).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    run
}

#[test]
fn a_null_server_has_no_figure_in_any_experiment() {
    let server = null::Null::start(null::Keeps::Nothing);
    let council = experiment::all_named("council");
    let run = run("all", server.address(), council.clone(), LITTLE_PATIENCE);
    let points: Vec<_> = run.points.iter().map(|point| &point.key).collect();
    assert!(points.is_empty(), "{points:?}");
    for experiment in council {
        let failed = run.failed.iter().find(|failed| failed.experiment == experiment.about.id);
        let failed = failed.unwrap_or_else(|| panic!("{} found nothing wrong", experiment.about.id));
        let words = ["wrong", "not", "of something", "events came"];
        assert!(
            words.iter().any(|word| failed.reason.contains(word)),
            "{}: {}",
            experiment.about.id,
            failed.reason
        );
    }
}

#[test]
fn a_server_that_forgets_one_write_in_a_hundred_is_found_out() {
    let server = null::Null::start(null::Keeps::AllButOneInHundred);
    for id in ["Z1", "Z4", "R1", "R3"] {
        let run = run(id, server.address(), vec![experiment::named(id).unwrap()], PATIENCE);
        assert!(!run.failed.is_empty(), "{id} found nothing wrong");
    }
}

#[test]
fn a_server_that_keeps_everything_has_its_figures() {
    let server = null::Null::start(null::Keeps::All);
    for id in ["Z1", "Z2", "Z4", "R1", "R3"] {
        let run = run(id, server.address(), vec![experiment::named(id).unwrap()], PATIENCE);
        assert!(run.failed.is_empty(), "{id}: {:?}", run.failed);
        assert!(!run.points.is_empty(), "{id}");
        let rates = run.points.iter().map(|point| point.figures[tools_lab_report::figure::RATE]);
        assert!(rates.into_iter().all(|rate| rate > 0.0), "{id}");
    }
}
