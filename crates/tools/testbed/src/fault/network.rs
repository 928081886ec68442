//! A network of the test's own: each member in a network namespace with one device, all devices joined by a thread of
//! this program, which can lose and delay packets or cut a way in one direction. The kernel's own means for that are
//! modules that many machines lack.
//!
//! Clients are outside the namespaces, at a device of their own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};

use super::tun;
use crate::dice::Dice;
use crate::{Failure, Place};

/// Where clients are, beside members 1, 2, ...
const CLIENTS: usize = 0;
/// The last number of the clients' address.
const CLIENTS_HOST: u8 = 254;
/// Where an IPv4 packet says where it goes, by its last number.
const DESTINATION: usize = 19;
const PACKET_MAX: usize = 2048;
const STOP: Token = Token(usize::MAX);

/// What happens to packets on one way.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
    cut: bool,
    delay: Duration,
    lost_per_cent: usize,
}

/// By sender, then by receiver.
type Ways = Arc<Mutex<Vec<Vec<Way>>>>;

/// See the module. Dropping it removes the namespaces.
#[derive(Debug)]
pub struct Network {
    namespaces: Vec<(String, Ipv4Addr)>,
    ways: Ways,
    waker: Waker,
    thread: Option<JoinHandle<()>>,
}

impl Network {
    /// Namespaces for so many members, joined.
    ///
    /// # Errors
    /// `Missing` where this machine, or this user, cannot have namespaces.
    pub fn lay(members: usize) -> Result<Self, Failure> {
        if !rustix::process::geteuid().is_root() {
            return Err(Failure::Missing(String::from("network namespaces want the user root")));
        }
        let [_, _, high, low] = std::process::id().to_be_bytes();
        let prefix = format!("dw{high:02x}{low:02x}");
        // From the range that is kept for tests of networks (RFC 2544).
        let host = |last: u8| Ipv4Addr::new(198, 18 + (high & 1), low, last);
        let mut devices = vec![device(&format!("{prefix}-0"))?];
        configure(None, &format!("{prefix}-0"), host(CLIENTS_HOST))?;
        let mut namespaces = Vec::new();
        for number in 1..=members {
            let (name, namespace) = (format!("{prefix}-{number}"), format!("diwan-{prefix}-{number}"));
            let address = host(u8::try_from(number).expect("members are few"));
            devices.push(device(&name)?);
            // One of an earlier run that was killed.
            let _ = ip(&["netns", "delete", &namespace]);
            ip(&["netns", "add", &namespace]).map_err(missing)?;
            namespaces.push((namespace.clone(), address));
            ip(&["link", "set", &name, "netns", &namespace]).map_err(missing)?;
            ip(&["-netns", &namespace, "link", "set", "lo", "up"]).map_err(missing)?;
            configure(Some(&namespace), &name, address)?;
        }
        let ways: Ways = Arc::new(Mutex::new(vec![vec![Way::default(); members + 1]; members + 1]));
        let poll = Poll::new().map_err(Failure::io("a poll"))?;
        let waker = Waker::new(poll.registry(), STOP).map_err(Failure::io("a poll"))?;
        let switch = Switch::new(devices, poll, Arc::clone(&ways)).map_err(Failure::io("a device"))?;
        let thread = std::thread::Builder::new().name(String::from("network")).spawn(move || switch.run());
        let thread = Some(thread.map_err(Failure::io("a thread"))?);
        Ok(Self { namespaces, ways, waker, thread })
    }

    /// The members' addresses in it.
    #[must_use]
    pub fn place(&self) -> Place {
        Place::Namespaces(self.namespaces.clone())
    }

    /// No packet gets from one to the other; the way back is as it was.
    pub fn cut(&self, from: usize, to: usize) {
        lock(&self.ways)[from][to].cut = true;
    }

    /// No packet gets between one member and the others; its clients reach it.
    pub fn cut_off(&self, member: usize) {
        for other in (1..=self.namespaces.len()).filter(|other| *other != member) {
            self.cut(member, other);
            self.cut(other, member);
        }
    }

    /// No way from or to this member is cut any more.
    pub fn mend(&self, member: usize) {
        let mut ways = lock(&self.ways);
        for other in 0..ways.len() {
            ways[member][other].cut = false;
            ways[other][member].cut = false;
        }
    }

    /// Between members, each packet takes so long, and so many of a hundred are lost.
    pub fn impair(&self, delay: Duration, lost_per_cent: usize) {
        for (from, ways) in lock(&self.ways).iter_mut().enumerate().skip(1) {
            for (to, way) in ways.iter_mut().enumerate().skip(1) {
                if from != to {
                    *way = Way { delay, lost_per_cent, ..*way };
                }
            }
        }
    }

    /// All is well again.
    pub fn heal(&self) {
        lock(&self.ways).iter_mut().flatten().for_each(|way| *way = Way::default());
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if self.waker.wake().is_ok()
            && let Some(thread) = self.thread.take()
        {
            // It has no more to say.
            let _ = thread.join();
        }
        for (namespace, _) in &self.namespaces {
            // No receiver is left.
            let _ = ip(&["netns", "delete", namespace]);
        }
    }
}

/// A lock is poisoned only when the other thread has panicked, after which nothing is delivered any more.
fn lock(ways: &Ways) -> MutexGuard<'_, Vec<Vec<Way>>> {
    ways.lock().unwrap_or_else(PoisonError::into_inner)
}

fn device(name: &str) -> Result<File, Failure> {
    tun::open(name)
        .map_err(|error| Failure::Missing(format!("no device of its own (`/dev/net/tun`): {error}")))
}

fn configure(namespace: Option<&str>, device: &str, address: Ipv4Addr) -> Result<(), Failure> {
    let address = format!("{address}/24");
    let inside = namespace.map_or(vec![], |namespace| vec!["-netns", namespace]);
    ip(&[&inside[..], &["address", "add", &address, "dev", device]].concat()).map_err(missing)?;
    ip(&[&inside[..], &["link", "set", device, "up"]].concat()).map_err(missing)
}

fn missing(error: io::Error) -> Failure {
    Failure::Missing(format!("network namespaces cannot be had: {error}"))
}

fn ip(arguments: &[&str]) -> io::Result<()> {
    let output = Command::new("ip").args(arguments).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("`ip {}`: {}", arguments.join(" "), said.trim_end())))
}

/// A packet that is under way: when it is due, and a number by which those of one moment keep their order.
type UnderWay = Reverse<(Instant, u64, usize, Vec<u8>)>;

/// The thread's side.
struct Switch {
    devices: Vec<File>,
    poll: Poll,
    ways: Ways,
    under_way: BinaryHeap<UnderWay>,
    sent: u64,
    dice: Dice,
}

impl Switch {
    fn new(devices: Vec<File>, poll: Poll, ways: Ways) -> io::Result<Self> {
        for (number, device) in devices.iter().enumerate() {
            let mut source = SourceFd(&device.as_raw_fd());
            poll.registry().register(&mut source, Token(number), Interest::READABLE)?;
        }
        Ok(Self { devices, poll, ways, under_way: BinaryHeap::new(), sent: 0, dice: Dice::new(1) })
    }

    fn run(mut self) {
        let mut events = Events::with_capacity(64);
        loop {
            let next = self.under_way.peek().map(|Reverse((due, ..))| *due);
            let timeout = next.map(|due| due.saturating_duration_since(Instant::now()));
            match self.poll.poll(&mut events, timeout) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return,
                _ => {}
            }
            if events.iter().any(|event| event.token() == STOP) {
                return;
            }
            for from in events.iter().map(|event| event.token().0) {
                self.take_in(from);
            }
            self.deliver();
        }
    }

    /// Reads all that one sent.
    fn take_in(&mut self, from: usize) {
        let mut packet = [0; PACKET_MAX];
        while let Ok(length) = self.devices[from].read(&mut packet) {
            let packet = &packet[..length];
            // Only IPv4 is spoken here; systems send other things by themselves.
            let Some(last) = packet.get(DESTINATION).filter(|_| packet[0] >> 4 == 4) else { continue };
            let to = if *last == CLIENTS_HOST { CLIENTS } else { usize::from(*last) };
            let Some(way) = lock(&self.ways)[from].get(to).copied() else { continue };
            if way.cut || self.dice.below(100) < way.lost_per_cent {
                continue;
            }
            self.sent += 1;
            self.under_way.push(Reverse((Instant::now() + way.delay, self.sent, to, packet.to_vec())));
        }
    }

    fn deliver(&mut self) {
        let now = Instant::now();
        while self.under_way.peek().is_some_and(|Reverse((due, ..))| *due <= now)
            && let Some(Reverse((_, _, to, packet))) = self.under_way.pop()
        {
            // A device that takes no more loses packets, as networks do.
            let _ = self.devices[to].write(&packet);
        }
    }
}
