//! Who asks, while members die: tokens by name, by a file and by the environment; wrong ones, revoked ones, and replaced ones.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use diwan_objects::{Cluster, Counter, Effect, Lock, Options, Wait};

use crate::harness::{Test, control, eventually, fresh, refused, variable};

pub(crate) const TESTS: &[Test] = &[
    ("tokens.token_says_who_asks_while_leaders_die", token_says_who_asks_while_leaders_die),
    ("tokens.environment_says_who_asks", environment_says_who_asks),
    ("tokens.wrong_and_revoked_tokens_are_refused_at_once", wrong_and_revoked_tokens_are_refused_at_once),
    ("tokens.file_is_read_again_when_its_token_was_replaced", file_is_read_again_when_its_token_was_replaced),
];

struct OpenWhenDropped;

impl Drop for OpenWhenDropped {
    fn drop(&mut self) {
        control(&["open"]);
    }
}

/// Access is closed meanwhile, and a principal has these rights: its name, and a file with its token.
fn while_closed(rights: &[&str], work: impl FnOnce(&str, &Path)) {
    let (name, folder) = (fresh(), PathBuf::from(variable("OBJECTS_CONTROL")));
    let file = folder.with_file_name(format!("{name}.token"));
    control(&["close"]);
    let _open = OpenWhenDropped;
    replace(&name, &file, rights);
    work(&name, &file);
}

fn replace(name: &str, file: &Path, rights: &[&str]) {
    let words = [&["token", name, file.to_str().unwrap()], rights].concat();
    control(&words);
}

fn token_in(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap().trim().into()
}

fn connect(options: Options) -> Cluster {
    Cluster::with(&variable("OBJECTS_SERVERS"), options).unwrap()
}

fn by_token(file: &Path) -> Options {
    Options { token: Some(token_in(file)), ..Options::default() }
}

fn by_file(file: &Path) -> Options {
    Options { token_file: Some(file.into()), ..Options::default() }
}

fn counted(options: Options, stop: &AtomicBool) -> i64 {
    let cluster = connect(options);
    let (counter, mut n) = (Counter::new(&cluster, &fresh()), 0);
    while !stop.load(Ordering::Acquire) {
        n += 1;
        assert_eq!(counter.increment().unwrap(), n);
        assert_eq!(counter.get().unwrap(), n);
    }
    n
}

fn token_says_who_asks_while_leaders_die(_: &Cluster) {
    while_closed(&["counter/*:*"], |_, file| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let counting = [by_token(file), by_file(file)];
            let counting = counting.map(|options| scope.spawn(|| counted(options, &stop)));
            for _ in 0..2 {
                thread::sleep(Duration::from_millis(500));
                control(&["kill", "leader"]);
                control(&["start"]);
            }
            stop.store(true, Ordering::Release);
            counting.into_iter().for_each(|thread| assert!(thread.join().unwrap() > 2));
        });
        let cluster = connect(by_token(file));
        let problem = refused("forbidden", Lock::new(&cluster, &fresh()).hold(Wait::not()));
        assert_eq!((problem.effect, &*problem.retry), (Effect::None, "no"), "{problem}");
        assert!(problem.detail.contains("administrator"), "{problem}");
        let nobody = connect(Options::default());
        let problem = refused("unauthenticated", Counter::new(&nobody, &fresh()).increment());
        assert!(problem.effect == Effect::None && problem.detail.contains("Authorization"), "{problem}");
    });
}

/// The part of a process that is told by its environment who asks.
pub(crate) fn count(name: &str) -> ExitCode {
    println!("{}", Counter::new(&connect(Options::default()), name).increment().unwrap());
    ExitCode::SUCCESS
}

fn environment_says_who_asks(_: &Cluster) {
    while_closed(&["counter/*:*"], |_, file| {
        for (name, value) in
            [("DIWAN_TOKEN", token_in(file)), ("DIWAN_TOKEN_FILE", file.to_str().unwrap().into())]
        {
            let mut command = Command::new(std::env::current_exe().unwrap());
            let output = command.args(["count", &fresh()]).env(name, value).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "1", "{name}");
        }
    });
}

fn wrong_and_revoked_tokens_are_refused_at_once(_: &Cluster) {
    let began = Instant::now();
    let wrong = connect(Options { token: Some(format!("diwan_{}", "1".repeat(64))), ..Options::default() });
    for problem in [
        refused("unauthenticated", Counter::new(&wrong, "c").increment()),
        refused("unauthenticated", Counter::new(&wrong, "c").get()),
        refused("unauthenticated", Lock::new(&wrong, "l").hold(Wait::forever())),
    ] {
        assert_eq!((problem.status, problem.effect, &*problem.retry), (401, Effect::None, "no"), "{problem}");
    }
    assert!(began.elapsed() < Duration::from_secs(10), "what cannot change was tried again and again");
    while_closed(&["counter/*:*", "lock/*:*"], |name, file| {
        let cluster = connect(Options { ttl: Duration::from_secs(2), ..by_token(file) });
        let held = Lock::new(&cluster, &fresh()).hold(Wait::forever()).unwrap();
        control(&["revoke", name]);
        let problem = refused("unauthenticated", Counter::new(&cluster, &fresh()).increment());
        assert_eq!(problem.effect, Effect::None, "{problem}");
        eventually(|| held.is_lost());
    });
}

fn file_is_read_again_when_its_token_was_replaced(_: &Cluster) {
    while_closed(&["counter/*:*", "lock/*:*"], |name, file| {
        let cluster = connect(Options { ttl: Duration::from_secs(4), ..by_file(file) });
        let held = Lock::new(&cluster, &fresh()).hold(Wait::forever()).unwrap();
        let (counter, mut n) = (Counter::new(&cluster, &fresh()), 0);
        for _ in 0..3 {
            let first = token_in(file);
            replace(name, file, &[]);
            assert_ne!(token_in(file), first);
            let end = Instant::now() + Duration::from_secs(2);
            while Instant::now() < end {
                n += 1;
                assert_eq!(counter.increment().unwrap(), n);
                thread::sleep(Duration::from_millis(50));
            }
        }
        // Its heartbeats came by the new ones.
        assert!(!held.is_lost());
        held.release().unwrap();
    });
}
