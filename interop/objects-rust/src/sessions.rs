//! Sessions end, and what they held is told.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use diwan_objects::{Cluster, Counter, Lock, Wait};

use crate::harness::{Test, connect, control, fresh, refused};

pub(crate) const TESTS: &[Test] = &[
    ("sessions.lock_outlives_its_time_to_live", outlives),
    ("sessions.dead_holder_is_followed_in_time", dead_holder),
    ("sessions.stopped_holder_knows_that_it_lost", stopped_holder),
    ("sessions.stolen_lock_is_lost", stolen),
    ("sessions.closed_cluster_frees_at_once", closed),
    ("sessions.dropped_cluster_frees_at_once", dropped),
    ("sessions.holder_counts_lock_as_lost_before_servers_do", silent),
    ("sessions.busy_threads_hold_up_no_heartbeat", busy),
];

/// The part of a process that holds a lock until it is lost.
pub(crate) fn hold(name: &str) -> ExitCode {
    let cluster = connect(Duration::from_secs(2));
    let held = Lock::new(&cluster, name).hold(Wait::forever()).unwrap();
    println!("{}", held.fence());
    while !held.wait_lost(Duration::from_secs(60)) {}
    println!("lost {}", held.is_lost());
    ExitCode::SUCCESS
}

struct Holder {
    child: Child,
    lines: BufReader<ChildStdout>,
    fence: i64,
}

impl Holder {
    fn start(name: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.args(["hold", name]).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let fence = line(&mut lines).parse().unwrap();
        Self { child, lines, fence }
    }

    fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn line(lines: &mut BufReader<ChildStdout>) -> String {
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    line.trim_end().into()
}

fn outlives(cluster: &Cluster) {
    let (short, name) = (connect(Duration::from_secs(1)), fresh());
    let held = Lock::new(&short, &name).hold(Wait::forever()).unwrap();
    assert!(!Lock::new(cluster, &name).acquire(Duration::from_secs(3).into()).unwrap().acquired);
    assert!(!held.is_lost());
    held.release().unwrap();
}

fn dead_holder(cluster: &Cluster) {
    let name = fresh();
    let holder = Holder::start(&name);
    holder.signal("-KILL");
    let began = Instant::now();
    let got = Lock::new(cluster, &name).acquire(Duration::from_secs(20).into()).unwrap();
    assert!(got.acquired && got.fence.unwrap() > holder.fence);
    let took = began.elapsed();
    assert!(took > Duration::from_secs(1) && took < Duration::from_secs(10), "{took:?}");
}

fn stopped_holder(cluster: &Cluster) {
    let name = fresh();
    let mut holder = Holder::start(&name);
    holder.signal("-STOP");
    let got = Lock::new(cluster, &name).acquire(Duration::from_secs(30).into()).unwrap();
    holder.signal("-CONT");
    assert!(got.acquired && got.fence.unwrap() > holder.fence);
    assert_eq!(line(&mut holder.lines), "lost true");
}

fn stolen(cluster: &Cluster) {
    let (other, name) = (connect(Duration::from_secs(3)), fresh());
    let held = Lock::new(&other, &name).hold(Wait::forever()).unwrap();
    let (tell, told) = mpsc::channel();
    held.on_lost(move || tell.send(()).unwrap());
    Lock::new(cluster, &name).steal().unwrap();
    told.recv_timeout(Duration::from_secs(10)).expect("it is told");
    assert!(held.is_lost());
    held.release().unwrap();
}

fn closed(cluster: &Cluster) {
    let (other, name) = (connect(Duration::from_secs(60)), fresh());
    assert!(Lock::new(&other, &name).acquire(Wait::forever()).unwrap().acquired);
    other.close();
    assert!(Lock::new(cluster, &name).acquire(Duration::from_secs(5).into()).unwrap().acquired);
    refused("closed", Counter::new(&other, &name).increment());
}

fn dropped(cluster: &Cluster) {
    let name = fresh();
    {
        let other = connect(Duration::from_secs(60));
        assert!(Lock::new(&other, &name).acquire(Wait::forever()).unwrap().acquired);
    }
    assert!(Lock::new(cluster, &name).acquire(Duration::from_secs(5).into()).unwrap().acquired);
}

/// Resumes members, also when a test fails.
struct Paused;

impl Drop for Paused {
    fn drop(&mut self) {
        for member in ["1", "2", "3"] {
            control(&["resume", member]);
        }
    }
}

/// All members stand still: nobody answers, and none can let the session expire meanwhile.
fn silent(_: &Cluster) {
    let cluster = connect(Duration::from_secs(2));
    let held = Lock::new(&cluster, &fresh()).hold(Wait::forever()).unwrap();
    for member in ["1", "2", "3"] {
        control(&["pause", member]);
    }
    let paused = Paused;
    let began = Instant::now();
    assert!(held.wait_lost(Duration::from_secs(10)));
    let took = began.elapsed();
    assert!(held.is_lost() && took < Duration::from_millis(1800), "{took:?}");
    drop(paused);
}

/// As many threads as there are cores, and more, that never rest.
fn busy(_: &Cluster) {
    let cluster = connect(Duration::from_secs(1));
    let held = Lock::new(&cluster, &fresh()).hold(Wait::forever()).unwrap();
    let end = Instant::now() + Duration::from_secs(4);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| while Instant::now() < end {});
        }
    });
    assert!(!held.is_lost());
    held.release().unwrap();
}
