//! Every experiment on recipes runs small, against the systems that are available: all figures, and nothing wrong.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::time::Duration;

use council_client::load::Patience;
use tools_lab::conduct::{self, Options};
use tools_lab::experiment::{self, Scale};
use tools_lab::measure::Sources;
use tools_lab_report::figure;
use tools_testbed::peer::zookeeper::Distribution;
use tools_testbed::peer::{Recipes, default_cache, diwan};

/// The systems that need no fetching, and those that were fetched for a run of the lab.
fn systems() -> Vec<&'static str> {
    let cache = default_cache();
    let mut systems = vec!["objects"];
    if Recipes::are_fetched(&cache) {
        systems.push("curator-diwan");
        if Distribution::fetched(&cache).is_some() {
            systems.push("curator");
        }
    }
    systems
}

#[test]
fn every_experiment_on_recipes_has_its_figures() {
    // Built by the tests of the whole workspace; absent when only this crate is tested.
    let Ok(diwan) = diwan::find() else { return };
    let folder = std::env::temp_dir().join(format!("lab-recipes-{}", std::process::id()));
    // Of an earlier test of that number.
    let _ = std::fs::remove_dir_all(&folder);
    let sources =
        Sources { diwan, other: None, cache: default_cache(), addresses: Vec::new(), brokers: Vec::new() };
    let options = Options {
        experiments: experiment::all_named("recipes"),
        systems: systems().into_iter().map(String::from).collect(),
        sources,
        scale: Scale::small().lasting(Duration::from_millis(100)),
        seed: 1,
        repetitions: 1,
        folder: folder.clone(),
        resume: false,
        data: folder.clone(),
        patience: Duration::from_secs(60),
        command: String::from("test"),
        begun: String::from("now"),
    };
    let run = conduct::run(&options, &Patience::default(), &mut |_| {}).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(run.failed.is_empty(), "{:?}", run.failed);
    for experiment in experiment::all_named("recipes") {
        let id = experiment.about.id;
        let points: Vec<_> = run.points.iter().filter(|point| point.key.experiment == id).collect();
        assert!(points.iter().any(|point| point.key.system == "objects"), "{id}");
        for point in points {
            assert!(point.figures[figure::RATE] > 0.0, "{id}: {point:?}");
            assert!(point.figures[figure::CPU] > 0.0, "{id}: {point:?}");
        }
    }
}
