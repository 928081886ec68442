//! What messages between two brokers cost, each broker in a process of its own: processor time and rate of small messages and
//! of large ones, and the time of a round trip.
//!
//! `cargo run --release -p log-links --example link-speed [small|large|trips] [MESSAGES]`; system calls are counted by
//! `strace -f -c` in front of it.

use std::error::Error;
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use log_links::{
    EnsembleSecret, Lane, LinkEvent, LinkLimits, LinkSettings, LinkTiming, Links, NotSent, Peer,
};
use node_threads::Supervisor;
use replication_appointed::ReplicaId;
use replication_controller::Incarnation;

type Outcome<T> = Result<T, Box<dyn Error>>;

const SENDER: ReplicaId = ReplicaId(1);
const RECEIVER: ReplicaId = ReplicaId(2);

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Load {
    name: &'static str,
    bytes: usize,
    messages: u64,
    /// Each message waits for the answer to the one before.
    trips: bool,
}

const LOADS: [Load; 3] = [
    Load { name: "small", bytes: 100, messages: 5_000_000, trips: false },
    Load { name: "large", bytes: 1 << 20, messages: 4_000, trips: false },
    Load { name: "trips", bytes: 100, messages: 50_000, trips: true },
];

struct Broker {
    links: Links,
    woken: Receiver<()>,
    events: Vec<LinkEvent>,
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["receive", name, messages, port] => receive(load(name, Some(messages))?, port.parse()?),
        [name] => send(load(name, None)?),
        [name, messages] => send(load(name, Some(messages))?),
        _ => LOADS.into_iter().try_for_each(send),
    }
}

fn load(name: &str, messages: Option<&str>) -> Outcome<Load> {
    let load = LOADS.into_iter().find(|load| load.name == name).ok_or("small, large or trips")?;
    let messages = messages.map(str::parse).transpose()?.unwrap_or(load.messages);
    Ok(Load { messages, ..load })
}

/// The sender's side: it starts the receiver, and reports both.
fn send(load: Load) -> Outcome<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let mut sender = Broker::start(SENDER, listener)?;
    let mut child = start_receiver(load, port)?;
    let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let there = lines.next().ok_or("the receiver ended")??.parse()?;
    sender.links.set_peers(vec![peer(RECEIVER, there)])?;
    while !matches!(sender.next(), LinkEvent::Connected { .. }) {}
    let (start, before) = (Instant::now(), processor_time()?);
    let message = bytes::Bytes::from(message(load.bytes));
    for _ in 0..load.messages {
        sender.send(RECEIVER, message.clone())?;
        if load.trips {
            while !matches!(sender.next(), LinkEvent::Message { .. }) {}
        }
    }
    // The receiver has got all of them.
    while !load.trips && !matches!(sender.next(), LinkEvent::Message { .. }) {}
    let (took, own) = (start.elapsed(), processor_time()? - before);
    sender.send(RECEIVER, message)?;
    let theirs: f64 = lines.next().ok_or("the receiver ended")??.parse()?;
    child.wait()?;
    report(load, took, own.as_secs_f64(), theirs);
    Ok(())
}

fn report(load: Load, took: Duration, own: f64, theirs: f64) {
    let messages = load.messages as f64;
    let each = |seconds: f64| seconds * 1e6 / messages;
    println!(
        "{:>5}: {} messages of {} bytes in {:.2} s: {:.0} a second, {:.0} MB a second, {:.2} us each; processor: sender \
         {:.3} us, receiver {:.3} us each",
        load.name,
        load.messages,
        load.bytes,
        took.as_secs_f64(),
        messages / took.as_secs_f64(),
        messages * load.bytes as f64 / took.as_secs_f64() / 1e6,
        each(took.as_secs_f64()),
        each(own),
        each(theirs),
    );
}

fn start_receiver(load: Load, port: u16) -> Outcome<Child> {
    let child = Command::new(std::env::current_exe()?)
        .args(["receive", load.name, &load.messages.to_string(), &port.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    Ok(child)
}

/// The receiver's side: it answers each message, or the last one, and tells its processor time.
fn receive(load: Load, sender: u16) -> Outcome<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = listener.local_addr()?.port();
    let mut receiver = Broker::start(RECEIVER, listener)?;
    receiver.links.set_peers(vec![peer(SENDER, sender)])?;
    println!("{port}");
    let (mut received, mut before) = (0, Duration::ZERO);
    while received < load.messages {
        match receiver.next() {
            LinkEvent::Connected { .. } => before = processor_time()?,
            LinkEvent::Message { .. } => received += 1,
            _ => continue,
        }
        if received > 0 && (load.trips || received == load.messages) {
            receiver.send(SENDER, bytes::Bytes::from(message(load.bytes.min(100))))?;
        }
    }
    println!("{}", (processor_time()? - before).as_secs_f64());
    while !matches!(receiver.next(), LinkEvent::Message { .. }) {}
    Ok(())
}

impl Broker {
    fn start(id: ReplicaId, listener: TcpListener) -> Outcome<Self> {
        let settings = LinkSettings {
            id,
            incarnation: Incarnation(1),
            cluster: [1; 16],
            secret: EnsembleSecret::new(&[7; 32]).ok_or("too short")?,
            tls: None,
            source: None,
            limits: LinkLimits::default(),
            timing: LinkTiming::default(),
        };
        let (wake, woken) = channel();
        let wake = move || wake.send(()).unwrap_or_default();
        let links = Links::start(settings, listener, wake, &Arc::new(Supervisor::default()))?;
        Ok(Self { links, woken, events: Vec::new() })
    }

    /// Waits where too much waits.
    fn send(&mut self, to: ReplicaId, message: bytes::Bytes) -> Outcome<()> {
        loop {
            match self.links.send(to, Lane::Bulk, message.clone()) {
                Err(NotSent::Full) => while !matches!(self.next(), LinkEvent::Room { .. }) {},
                other => return Ok(other?),
            }
        }
    }

    fn next(&mut self) -> LinkEvent {
        loop {
            if let Some(event) = self.events.pop() {
                return event;
            }
            self.links.take(&mut self.events);
            self.events.reverse();
            if self.events.is_empty() {
                let _ = self.woken.recv_timeout(Duration::from_secs(1));
            }
        }
    }
}

fn peer(id: ReplicaId, port: u16) -> Peer {
    Peer { id, host: String::from("127.0.0.1"), port, incarnation: Incarnation(1) }
}

/// A message of the replicas' kind of that length.
fn message(bytes: usize) -> Vec<u8> {
    let mut message = vec![7; bytes];
    for (byte, head) in message.iter_mut().zip([replication_wire::VERSION, 1]) {
        *byte = head;
    }
    message
}

/// The processor time of this process, in the user's mode and the system's.
fn processor_time() -> Outcome<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Ok(Duration::new(time.tv_sec.try_into()?, time.tv_nsec.try_into()?))
}
