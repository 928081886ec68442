//! Brokers in processes of their own, which are killed and stopped. The process is this program, which plays a broker when
//! it is told to by its environment.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use log_links::{LinkEvent, Peer};
use replication_appointed::ReplicaId;
use replication_controller::Incarnation;
use rustix::process::{Pid, Signal, kill_process};

use crate::broker::{Broker, PATIENCE};

const PLAYS: &str = "LOG_LINKS_TEST_INCARNATION";
const OTHER: &str = "LOG_LINKS_TEST_OTHER";

/// Broker 2 in a process of its own; killed when dropped.
struct Process {
    child: Child,
    announced: Peer,
}

impl Process {
    fn start(other: &Broker, incarnation: u64) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "process::broker_of_another_process_dies_with_its_parent", "--nocapture"])
            .env(PLAYS, incarnation.to_string())
            .env(OTHER, other.port.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut ports = lines.map_while(Result::ok).filter_map(|line| {
            line.split_once("port ").and_then(|(_, port)| port.trim().parse::<u16>().ok())
        });
        let port = ports.next().expect("it tells its port");
        let host = String::from("127.0.0.1");
        let announced = Peer { id: ReplicaId(2), host, port, incarnation: Incarnation(incarnation) };
        Self { child, announced }
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("it runs");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Plays broker 2 until its parent is gone, if this process was started for that; otherwise starts one and lets it go.
#[test]
fn broker_of_another_process_dies_with_its_parent() {
    if let (Ok(incarnation), Ok(port)) = (std::env::var(PLAYS), std::env::var(OTHER)) {
        let broker = Broker::new(2, incarnation.parse().expect("a number"));
        let (host, port) = (String::from("127.0.0.1"), port.parse().expect("a port"));
        let other = Peer { id: ReplicaId(1), host, port, incarnation: Incarnation(1) };
        broker.links.set_peers(vec![other]).expect("one");
        println!("port {}", broker.port);
        let _ = std::io::stdin().read_line(&mut String::new());
        // The test harness would write to a parent that does not read.
        std::process::exit(0);
    }
    let mut process = Process::start(&Broker::new(1, 1), 1);
    drop(process.child.stdin.take());
    assert!(process.child.wait().expect("it ends").success());
}

fn linked(one: &mut Broker, incarnation: u64) -> Process {
    let process = Process::start(one, incarnation);
    one.links.set_peers(vec![process.announced.clone()]).expect("one");
    let expected = LinkEvent::Connected { from: ReplicaId(2), incarnation: process.announced.incarnation };
    while one.next() != expected {}
    process
}

#[test]
fn killed_broker_is_broken_at_once_and_comes_back_as_another_process() {
    let (mut one, mut times) = (Broker::new(1, 1), Vec::new());
    for incarnation in 1..=5 {
        let process = linked(&mut one, incarnation);
        process.signal(Signal::KILL);
        let killed = Instant::now();
        assert_eq!(one.next(), LinkEvent::Broken { from: ReplicaId(2) });
        times.push(killed.elapsed());
    }
    // Each was noticed by its socket and not by its silence. A busy machine may delay some.
    assert!(times.iter().all(|took| *took < Duration::from_millis(300)), "{times:?}");
    assert!(times.iter().min().is_some_and(|took| *took < Duration::from_millis(50)), "{times:?}");
}

#[test]
fn stopped_broker_is_silent_then_heard_again_and_given_up_at_last() {
    let mut one = Broker::new(1, 1);
    let process = linked(&mut one, 1);
    let silent = |one: &mut Broker| {
        let stopped = Instant::now();
        while !matches!(one.next_within(PATIENCE).expect("an event"), LinkEvent::Silent { .. }) {}
        stopped.elapsed()
    };
    process.signal(Signal::STOP);
    let took = silent(&mut one);
    assert!((150..1500).contains(&took.as_millis()), "silent after {took:?}");
    process.signal(Signal::CONT);
    assert_eq!(one.next_within(PATIENCE), Some(LinkEvent::Heard { from: ReplicaId(2) }));
    process.signal(Signal::STOP);
    silent(&mut one);
    assert_eq!(one.next(), LinkEvent::Broken { from: ReplicaId(2) });
}
