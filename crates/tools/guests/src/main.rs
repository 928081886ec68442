//! Runs modules of the examples, as they were built, under the engine that members run them with, and checks what they do.

mod go;
mod javascript;
mod object;
mod runner;
mod rust;
mod scenes;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Instant;

use clap::Parser;
use objects_guest::{Guests, Settings};
use objects_state::guest::{Engine, Rejected, Version, VersionHash};

use crate::scenes::Scene;

#[derive(Parser)]
#[command(name = "guests", about = "Runs modules of the examples under the engine of live objects")]
struct Cli {
    /// What is run: `hits:LABEL:MODULE`, `mutex:LABEL:MODULE`, with `:SOURCE` behind it if the module is a runner; `template`
    /// alike, `odd:LABEL:MODULE`, the example in Go, and `odd-rust`, that in Rust; a runner with sources of the tests: `python:LABEL:MODULE`, `javascript:LABEL:MODULE`
    #[arg(required = true, value_name = "CASE")]
    cases: Vec<Case>,
}

/// A module, and what it must do.
#[derive(Clone)]
struct Case {
    scenes: Scenes,
    label: String,
    module: PathBuf,
    source: Option<PathBuf>,
}

#[derive(Clone, Copy)]
enum Scenes {
    /// With a version.
    Version(&'static [Scene]),
    /// With a runner, and sources of the scenes' own.
    Runner(&'static [runner::Scene]),
}

impl FromStr for Case {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let mut part = || parts.next().filter(|part| !part.is_empty());
        let (Some(kind), Some(label), Some(module)) = (part(), part(), part()) else {
            return Err("a case is written KIND:LABEL:MODULE".into());
        };
        let source = part().map(PathBuf::from);
        let scenes = match kind {
            "hits" => Scenes::Version(scenes::HITS),
            "mutex" => Scenes::Version(scenes::MUTEX),
            "template" => Scenes::Version(scenes::TEMPLATE),
            "odd" => Scenes::Version(go::SCENES),
            "odd-rust" => Scenes::Version(rust::SCENES),
            "python" => Scenes::Runner(runner::SCENES),
            "javascript" => Scenes::Runner(javascript::SCENES),
            _ => return Err(format!("there is no case `{kind}`")),
        };
        Ok(Self { scenes, label: format!("{label} {kind}"), module: module.into(), source })
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let engine = Guests::new(Settings::default());
    let mut counts = Counts::default();
    for (number, case) in (1..).zip(&cli.cases) {
        play(&engine, number, case, &mut counts);
    }
    println!("{} passed, {} failed, 0 skipped", counts.passed, counts.failed);
    if counts.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[derive(Default)]
struct Counts {
    passed: u64,
    failed: u64,
}

impl Counts {
    /// A scene that panics has failed; its message stands before.
    fn play(&mut self, name: &str, scene: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(scene)).is_ok() {
            self.passed += 1;
            println!("ok {name}");
        } else {
            self.failed += 1;
            println!("not ok {name}");
        }
    }
}

fn play(engine: &Guests, number: u8, case: &Case, counts: &mut Counts) {
    let label = &case.label;
    let read = |path: &PathBuf| {
        std::fs::read(path).unwrap_or_else(|error| panic!("`{}` cannot be read: {error}", path.display()))
    };
    let (module, source) = (read(&case.module), case.source.as_ref().map(read));
    let scenes = match case.scenes {
        Scenes::Version(scenes) => scenes,
        Scenes::Runner(scenes) => {
            for (name, scene) in scenes {
                counts.play(&format!("{label}: {name}"), || scene(engine, &module));
            }
            return;
        }
    };
    let began = Instant::now();
    match prepared(engine, number, &module, source.as_deref()) {
        Err(rejected) => counts.play(&format!("{label}: is a version"), || panic!("{}", rejected.detail)),
        Ok(version) => {
            println!("# {label}: {} KiB, ready after {:?}", module.len() >> 10, began.elapsed());
            for (name, scene) in scenes {
                counts.play(&format!("{label}: {name}"), || scene(engine, version));
            }
            engine.forget_version(version);
        }
    }
}

/// Makes a version ready under a name that no other case has.
pub(crate) fn prepared(
    engine: &dyn Engine,
    number: u8,
    module: &[u8],
    source: Option<&[u8]>,
) -> Result<VersionHash, Rejected> {
    let hash = VersionHash([number; 32]);
    engine.prepare(&Version { hash, module, source });
    engine.ready(hash).map(|()| hash)
}
