//! Three members with brokers, as `diwan up` starts them: one that leads is killed or stopped, and a producer goes on at another.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod server;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use log_client::{Cluster, NewRecord, Producer};
use rustix::process::{Pid, Signal, kill_process};
use server::{Folder, diwan, said};

/// Long enough for a busy machine to start; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long another broker may take to lead, with the way of a record there.
const TAKE_OVER: Duration = Duration::from_secs(2);
/// After so long our client asks others who leads.
const SILENCE: Duration = Duration::from_secs(2);
/// How long records are produced before and after.
const LOAD: Duration = Duration::from_secs(1);

struct Brokers {
    up: Child,
    bootstrap: String,
    /// The processes of the members, in order.
    pids: Vec<Pid>,
}

impl Brokers {
    /// Three members, whose brokers know each other, and a topic with one partition.
    fn start(directory: &Path) -> Self {
        let mut command = diwan();
        command.args(["up", "--services", "council,log", "--members", "3", "--no-restart", "--dir"]);
        command.arg(directory);
        for port in ["--client-port", "--peer-port", "--http-port", "--log-port"] {
            command.args([port, "0"]);
        }
        let mut up = command.spawn().unwrap();
        let mut lines = BufReader::new(up.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut rows = Vec::new();
        while rows.iter().filter(|row: &&Vec<String>| row[1] == "leader").count() != 1
            || rows.iter().filter(|row| row[1] == "follower").count() != 2
        {
            lines.by_ref().find(|line| line.trim_start().starts_with("MEMBER")).unwrap();
            let row = |line: String| line.split_whitespace().map(String::from).collect::<Vec<_>>();
            rows = lines.by_ref().take(3).map(row).collect();
        }
        let bootstrap = lines.by_ref().find_map(|line| {
            line.trim().strip_prefix("kafka ").map(|addresses| String::from(addresses.trim()))
        });
        std::thread::spawn(move || lines.for_each(drop));
        let pid = |row: &Vec<String>| Pid::from_raw(row[2].parse().unwrap()).unwrap();
        let pids = rows.iter().map(pid).collect();
        let brokers = Self { up, bootstrap: bootstrap.unwrap(), pids };
        brokers.await_all();
        brokers.run(&["topic", "create", "orders", "--partitions", "1"]);
        brokers
    }

    fn await_all(&self) {
        let began = Instant::now();
        while Cluster::connect(&self.bootstrap, "test").is_ok_and(|cluster| cluster.brokers().len() < 3) {
            assert!(began.elapsed() < PATIENCE, "the brokers do not find each other");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn run(&self, arguments: &[&str]) -> String {
        let output = diwan().env("DIWAN_BOOTSTRAP_SERVER", &self.bootstrap).args(arguments).output().unwrap();
        let (is_fine, out, errors) = said(output);
        assert!(is_fine, "{arguments:?}: {errors}");
        out
    }

    fn producer(&self) -> Producer {
        Producer::new(Cluster::connect(&self.bootstrap, "test").unwrap(), "orders").unwrap()
    }

    /// The process of the broker that leads, with its number.
    fn leader(&self) -> (i32, Pid) {
        let mut cluster = Cluster::connect(&self.bootstrap, "test").unwrap();
        cluster.topic("orders", false).unwrap();
        let leader = cluster.leader("orders", 0).unwrap();
        (leader, self.pids[leader as usize - 1])
    }

    /// All records, in their order.
    fn read(&self) -> Vec<u64> {
        let read = self.run(&["consume", "orders"]);
        read.lines().map(|line| line.parse().unwrap()).collect()
    }
}

impl Drop for Brokers {
    fn drop(&mut self) {
        for pid in &self.pids {
            // Those that were stopped would not end otherwise.
            let _ = kill_process(*pid, Signal::CONT);
        }
        // Its members end with it.
        let _ = self.up.kill();
        let _ = self.up.wait();
    }
}

/// Produces numbers from `next` on for a while, one after the other. Gives how long the slowest took.
fn produce(producer: &mut Producer, next: &mut u64) -> Duration {
    let (began, mut slowest) = (Instant::now(), Duration::ZERO);
    while began.elapsed() < LOAD {
        let sent = Instant::now();
        let value = Some(next.to_string().into_bytes());
        producer.send(&NewRecord { value, ..NewRecord::default() }).unwrap();
        producer.flush().unwrap();
        *next += 1;
        slowest = slowest.max(sent.elapsed());
    }
    slowest
}

/// Something happens to the broker that leads, while a producer is at work. Gives the brokers, and what they have acknowledged.
fn strike(folder: &Folder, signal: Signal, bound: Duration) -> (Brokers, Vec<u64>) {
    let brokers = Brokers::start(&folder.path().join("up"));
    let (mut producer, mut next) = (brokers.producer(), 0);
    produce(&mut producer, &mut next);
    let (leader, pid) = brokers.leader();
    kill_process(pid, signal).unwrap();
    let slowest = produce(&mut producer, &mut next);
    println!("{signal:?} of broker {leader}: the slowest record took {slowest:?}");
    assert!(slowest < bound, "{slowest:?}");
    assert_ne!(brokers.leader().0, leader);
    assert_eq!(producer.acknowledged(), next);
    (brokers, (0..next).collect())
}

#[test]
fn producer_goes_on_when_the_broker_that_leads_is_killed_and_nothing_is_lost() {
    let folder = Folder::new();
    let (brokers, acknowledged) = strike(&folder, Signal::KILL, TAKE_OVER);
    assert_eq!(brokers.read(), acknowledged);
}

#[test]
fn producer_goes_on_when_the_broker_that_leads_is_stopped_and_nothing_is_lost_or_there_twice() {
    let folder = Folder::new();
    let (brokers, acknowledged) = strike(&folder, Signal::STOP, SILENCE + TAKE_OVER);
    assert_eq!(brokers.read(), acknowledged);
    // It goes on, with what it had been sent.
    brokers.pids.iter().for_each(|pid| kill_process(*pid, Signal::CONT).unwrap());
    let (mut producer, mut next) = (brokers.producer(), acknowledged.len() as u64);
    produce(&mut producer, &mut next);
    assert_eq!(brokers.read(), (0..next).collect::<Vec<_>>());
}

#[test]
fn balance_spreads_leaders_and_replicas_that_lie_on_one_broker() {
    let folder = Folder::new();
    let brokers = Brokers::start(&folder.path().join("up"));
    brokers.run(&["topic", "create", "crowded", "--partitions", "9", "--replicas", "1"]);
    let mut cluster = Cluster::connect(&brokers.bootstrap, "test").unwrap();
    let wanted = (0..9).map(|index| ((String::from("crowded"), index), vec![1])).collect();
    cluster.reassign(&wanted).unwrap();
    let on_first = |cluster: &mut Cluster| {
        // The broker that is asked may not know the topic yet.
        let topics = cluster.look(Some(&[String::from("crowded")]), false).unwrap();
        let partitions = topics.iter().flat_map(|topic| &topic.partitions);
        partitions.filter(|of| of.leader_id == 1 && of.replica_nodes == [1]).count()
    };
    let began = Instant::now();
    while on_first(&mut cluster) < 9 || !cluster.reassignments().unwrap().is_empty() {
        let status = || brokers.run(&["log", "status"]) + &brokers.run(&["topic", "describe", "crowded"]);
        assert!(began.elapsed() < PATIENCE, "they do not come together: {}", status());
        std::thread::sleep(Duration::from_millis(50));
    }
    // What is proposed changes nothing.
    let proposed = brokers.run(&["log", "balance", "--measure", "1"]);
    assert!(proposed.contains("Nothing is changed"), "{proposed}");
    assert_eq!(on_first(&mut cluster), 9);
    let done = brokers.run(&["log", "balance", "--measure", "1", "--execute", "--throttle", "50"]);
    assert!(done.contains("changes are carried out"), "{done}");
    assert!(on_first(&mut cluster) < 6, "{done}");
    let again = brokers.run(&["log", "balance", "--measure", "1"]);
    assert!(again.contains("are in balance"), "{again}");
    let settings = cluster.topic_settings("crowded").unwrap();
    let throttled = settings.iter().find(|of| of.name == "leader.replication.throttled.replicas").unwrap();
    assert_eq!(throttled.value.as_deref(), Some(""), "the throttle is gone");
}

/// How many partitions of a topic each broker leads.
fn leads(cluster: &mut Cluster, topic: &str) -> BTreeMap<i32, usize> {
    let topics = cluster.look(Some(&[String::from(topic)]), false).unwrap();
    let mut leads = BTreeMap::new();
    for of in topics.iter().flat_map(|topic| &topic.partitions) {
        *leads.entry(of.leader_id).or_default() += 1;
    }
    leads
}

#[test]
fn busy_leaders_that_lie_on_one_broker_spread_by_themselves_and_nothing_is_lost() {
    let folder = Folder::new();
    let brokers = Brokers::start(&folder.path().join("up"));
    let mut cluster = Cluster::connect(&brokers.bootstrap, "test").unwrap();
    // With links so narrow this load is much.
    let narrow = [("diwan.balance.interval.ms", "500"), ("diwan.balance.network.bytes.per.second", "200000")];
    let narrow = narrow.map(|(name, value)| (String::from(name), Some(String::from(value)))).into();
    (1..=3).for_each(|broker| cluster.alter_broker(broker, &narrow).unwrap());
    brokers.run(&["topic", "create", "hot", "--partitions", "6"]);
    let all: Vec<(String, i32)> = (0..6).map(|index| (String::from("hot"), index)).collect();
    cluster.reassign(&all.iter().map(|of| (of.clone(), vec![1, 2, 3])).collect()).unwrap();
    let began = Instant::now();
    while leads(&mut cluster, "hot") != [(1, 6)].into() {
        assert!(began.elapsed() < PATIENCE, "broker 1 does not lead them all");
        cluster.elect_preferred(&all).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut producer = Producer::new(Cluster::connect(&brokers.bootstrap, "test").unwrap(), "hot").unwrap();
    let (began, mut next) = (Instant::now(), 0);
    let is_spread =
        |leads: &BTreeMap<i32, usize>| leads.len() == 3 && leads.values().all(|count| *count <= 3);
    while !is_spread(&leads(&mut cluster, "hot")) {
        let status = || brokers.run(&["log", "status"]);
        assert!(began.elapsed() < PATIENCE, "the leaders do not spread: {}", status());
        produce(&mut producer, &mut next);
    }
    println!("the leaders were spread after {:?} and {next} records", began.elapsed());
    produce(&mut producer, &mut next);
    assert_eq!(producer.acknowledged(), next);
    let read = brokers.run(&["consume", "hot"]);
    let mut read: Vec<u64> = read.lines().map(|line| line.parse().unwrap()).collect();
    read.sort_unstable();
    assert_eq!(read, (0..next).collect::<Vec<_>>());
    let status = brokers.run(&["log", "status"]);
    assert!(status.contains("balance (leaders): ") && status.contains(" leaders changed"), "{status}");
    assert!(status.contains("network traffic of broker 1: "), "{status}");
    let proposed = brokers.run(&["log", "balance"]);
    assert!(!proposed.contains("measuring"), "the brokers have measured it: {proposed}");
}
