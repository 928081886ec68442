//! Servers that answer everything at once and keep nothing: none of their figures may count.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use council_client::load::Patience;

use super::{Kind, Order, Outcome, perform};
use crate::task::Task;

const TRIES_MAX: u32 = 10;

/// A server that gives each request the answer of that kind, without looking at anything.
fn void(answer: fn(&str) -> &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || serve(&connection, answer));
        }
    });
    address
}

fn serve(connection: &TcpStream, answer: fn(&str) -> &'static str) -> Option<()> {
    let mut reader = BufReader::new(connection);
    let mut writer = connection;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let mut body = vec![0; length.and_then(|length| length.parse().ok()).unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        let path = head.split(' ').nth(1)?;
        let answer = answer(path.split('?').next()?.rsplit('/').next()?);
        let length = answer.len();
        writer
            .write_all(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{answer}").as_bytes())
            .ok()?;
    }
}

/// What is found wrong with such a server, or the error. On a busy machine a short load may have asked too little: the next one is
/// twice as long.
fn wrong(kind: Kind, clients: usize, answer: fn(&str) -> &'static str) -> String {
    let tries = (0..TRIES_MAX).map(|number| wrong_within(40 << number, kind, clients, answer));
    tries.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

fn wrong_within(measured_ms: u64, kind: Kind, clients: usize, answer: fn(&str) -> &'static str) -> String {
    let task = &Task { clients, outstanding: 2, warm_up_ms: 20, measured_ms, ..Task::of(kind) };
    // What is waited for in vain is not waited for long.
    let silence = Duration::from_secs(if kind == Kind::StaleQuery { 2 } else { 60 });
    let patience = &Patience { silence, ..Patience::default() };
    let endpoints = &[void(answer)];
    let seen = perform(&Order { task, endpoints, patience }, &mut |_, _| {});
    match seen {
        Ok(Outcome { wrong, .. }) => wrong.first().cloned().unwrap_or_default(),
        Err(error) => error.to_string(),
    }
}

/// What every client is answered the same.
fn session(method: &str) -> Option<&'static str> {
    (method == "sessions").then_some(r#"{"session":"ab","secret":"cd"}"#)
}

#[test]
fn lock_of_two_holders_has_no_figure() {
    let same_fence = |method: &str| session(method).unwrap_or(r#"{"acquired":true,"fence":7,"holds":0}"#);
    assert_eq!(wrong(Kind::LockPair, 1, same_fence), "fence 7 was granted behind 7");
    let two = wrong(Kind::HandOff, 2, same_fence);
    assert!(two.contains("got the lock while client") || two.contains("was granted behind"), "{two}");
    let refuses = |method: &str| session(method).unwrap_or(r#"{"acquired":false,"fence":1}"#);
    assert!(wrong(Kind::LockPair, 1, refuses).contains("acquire was answered with"));
}

#[test]
fn barrier_that_lets_everyone_through_has_no_figure() {
    let open = |method: &str| session(method).unwrap_or(r#"{"index":0,"generation":1,"inside":0}"#);
    let found = wrong(Kind::DoubleBarrier, 3, open);
    assert!(found.contains("was entered when") || found.contains("was left when"), "{found}");
    let never_left = |method: &str| session(method).unwrap_or(r#"{"inside":1}"#);
    assert!(wrong(Kind::DoubleBarrier, 1, never_left).contains("all have left the barrier"));
}

#[test]
fn counter_that_stands_still_and_query_of_something_else_have_no_figure() {
    let stands = |method: &str| session(method).unwrap_or(r#"{"value":1}"#);
    assert_eq!(wrong(Kind::Increment, 1, stands), "a client's increment gave 1 behind 1");
    assert!(wrong(Kind::StaleQuery, 1, stands).contains("never"));
}
