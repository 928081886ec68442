//! Tests by name, and the servers that they are given.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use diwan_objects::{Cluster, Options, Problem, Result};

/// What a test is given.
pub(crate) type Test = (&'static str, fn(&Cluster));

const PATIENCE: Duration = Duration::from_secs(20);

/// How often the tests of deaths kill the leader.
pub(crate) fn kills() -> u32 {
    std::env::var("KILLS").map_or(4, |kills| kills.parse().expect("a number"))
}

pub(crate) fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// Drives the servers.
pub(crate) fn control(words: &[&str]) -> String {
    let output = Command::new(variable("OBJECTS_CONTROL")).args(words).output().expect("the control runs");
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().into()
}

/// A name that no other test uses.
pub(crate) fn fresh() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    format!("rust-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn connect(ttl: Duration) -> Cluster {
    let options = Options { ttl, name: Some("suite".into()), ..Options::default() };
    Cluster::with(&variable("OBJECTS_SERVERS"), options).expect("addresses of members")
}

/// The problem by which a call is refused.
pub(crate) fn refused<T>(slug: &str, outcome: Result<T>) -> Problem {
    let error = outcome.err().unwrap_or_else(|| panic!("a result in place of {slug}"));
    assert!(error.is(slug), "{error} in place of {slug}");
    error.problem().expect("a problem").clone()
}

pub(crate) fn eventually(condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "it did not become true in time");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Calls a function so often at once.
pub(crate) fn together<T: Send>(times: usize, call: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let call = &call;
        let threads: Vec<_> = (0..times).map(|place| scope.spawn(move || call(place))).collect();
        threads.into_iter().map(|thread| thread.join().expect("a thread failed")).collect()
    })
}

fn play((name, test): &Test) -> bool {
    control(&["start"]);
    let cluster = connect(Duration::from_secs(5));
    let outcome = catch_unwind(AssertUnwindSafe(|| test(&cluster)));
    cluster.close();
    match outcome {
        Ok(()) => println!("ok {name}"),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
            println!("not ok {name} - {}", text.replace('\n', " "));
            return false;
        }
    }
    true
}

/// Plays the tests whose names hold one of the words, all without any.
pub(crate) fn main(tests: &[&[Test]]) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let chosen = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let failed = tests.iter().copied().flatten().filter(|(name, _)| chosen(name)).filter(|test| !play(test));
    if failed.count() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
