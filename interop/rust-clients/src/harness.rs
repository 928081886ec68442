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

pub fn connect() -> String {
    std::env::var("ZK_CONNECT").unwrap_or_else(|_| "127.0.0.1:2181".to_owned())
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

pub fn four_letter_word(word: &str) -> String {
    let mut stream = TcpStream::connect(connect()).expect("the server's port");
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
        match attempt(name, *body) {
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
