//! Runs tests and reports them, drives the server, waits with a deadline.

use std::any::Any;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

pub const WAIT: Duration = Duration::from_secs(15);
const TEST_MAX: Duration = Duration::from_secs(40);
const ATTEMPTS_MAX: usize = 5;

/// A test's name, and its body, which gets a path of its own.
pub type Test = (String, fn(&str));

/// Panicked with by a test that does not apply here.
struct Skip(String);

/// Names tests after the functions that hold them, under the client's name.
#[macro_export]
macro_rules! tests {
    ($client:literal, $module:literal, $wrap:path, $($name:ident),* $(,)?) => {
        vec![$((
            format!("{}.{}.{}", $client, $module, stringify!($name)),
            |path: &str| $wrap($name, path),
        )),*]
    };
}

/// One server.
pub fn first() -> String {
    std::env::var("ZK_CONNECT").unwrap_or_else(|_| "127.0.0.1:2181".to_owned())
}

/// What clients are given: where members of an ensemble die one after the other, all of them. What one client wrote
/// another reads at once only at the same server, so all try them in the same order, those that answer first.
pub fn connect() -> String {
    if !members_die() {
        return first();
    }
    let servers = std::env::var("ZK_SERVERS").expect("all servers");
    let (mut all, silent): (Vec<_>, Vec<_>) =
        servers.split(',').partition(|server| TcpStream::connect(server).is_ok());
    all.extend(silent);
    all.join(",")
}

/// Whether members die meanwhile.
pub fn members_die() -> bool {
    std::env::var_os("ZK_DEATHS").is_some()
}

/// Grows with every death.
fn deaths() -> u64 {
    let toll = std::env::var_os("ZK_DEATHS");
    toll.and_then(|toll| std::fs::metadata(toll).ok()).map_or(0, |toll| toll.len())
}

pub fn skip_without(extra: &str, reason: &str) {
    let extras = std::env::var("ZK_EXTRAS").unwrap_or_default();
    if !extras.split(' ').any(|word| word == extra) {
        panic_any(Skip(reason.to_owned()));
    }
}

/// Drives the server: kill, stop, start, pause, resume.
pub fn control(verb: &str) {
    let Ok(executable) = std::env::var("ZK_CONTROL") else {
        panic_any(Skip("ZK_CONTROL is not set".to_owned()));
    };
    let status = Command::new(executable).arg(verb).status().expect("the server's control");
    assert!(status.success(), "{verb}: {status}");
}

/// What each server that clients know answers.
pub fn four_letter_words(word: &str) -> String {
    connect().split(',').map(|server| ask(server, word)).collect()
}

pub fn four_letter_word(word: &str) -> String {
    ask(&first(), word)
}

fn ask(server: &str, word: &str) -> String {
    let mut stream = TcpStream::connect(server).expect("the server's port");
    stream.write_all(word.as_bytes()).expect("a four letter word");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// Waits until the condition holds.
pub fn wait_for(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + WAIT;
    while !condition() {
        assert!(Instant::now() < deadline, "waited {WAIT:?} for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs the tests whose names contain one of the words; returns the exit status.
pub fn run(tests: &[Test], only: &[String]) -> i32 {
    std::panic::set_hook(Box::new(|panic| {
        if !panic.payload().is::<Skip>() {
            eprintln!("{panic}");
        }
    }));
    let mut status = 0;
    for (name, body) in tests {
        if !only.is_empty() && !only.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        let started = Instant::now();
        match attempts(name, *body) {
            Ok(()) => println!("ok {name}"),
            Err(panic) => match panic.downcast_ref::<Skip>() {
                Some(Skip(reason)) => println!("skip {name} - {reason}"),
                None => {
                    status = 1;
                    println!("not ok {name} - {}", reason(panic.as_ref()));
                    raise_server();
                }
            },
        }
        if started.elapsed() > Duration::from_secs(4) {
            println!("# {name} took {:?}", started.elapsed());
        }
    }
    status
}

/// A test that fails while a member dies is played again, at a path of its own: it is about something else. What must
/// hold through deaths is told in the modules `deaths`, which are played once.
fn attempts(name: &str, body: fn(&str)) -> Result<(), Box<dyn Any + Send>> {
    for number in 1.. {
        let before = deaths();
        let path = if number == 1 { name.to_owned() } else { format!("{name}.again{number}") };
        let Err(panic) = attempt(&path, body) else { return Ok(()) };
        let is_last = number == ATTEMPTS_MAX || !members_die() || name.contains(".deaths.");
        if is_last || panic.is::<Skip>() {
            return Err(panic);
        }
        // Returns when a death that is under way is over, and counted.
        raise_server();
        if deaths() == before {
            return Err(panic);
        }
        println!("# {name} met a death: {}", reason(panic.as_ref()));
    }
    Ok(())
}

fn attempt(name: &str, body: fn(&str)) -> Result<(), Box<dyn Any + Send>> {
    let (sender, receiver) = mpsc::channel();
    let path = format!("/rust/{}", name.replace('.', "/"));
    std::thread::spawn(move || sender.send(catch_unwind(AssertUnwindSafe(|| body(&path)))));
    receiver.recv_timeout(TEST_MAX).unwrap_or_else(|_| Err(Box::new(format!("not done after {TEST_MAX:?}"))))
}

fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "panicked".to_owned());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A test that failed may have left the server down, which is not the next one's fault.
fn raise_server() {
    for verb in ["resume", "start"] {
        let _ = catch_unwind(|| control(verb));
    }
}
