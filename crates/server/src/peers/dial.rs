//! Dialling other members: a thread for each, which waits until nobody is connected and then tries until somebody is.
//! Names are resolved anew at each attempt.

use std::collections::BTreeMap;
use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use member::founding::Cluster;
use parking_lot::{Condvar, Mutex, RwLock};
use tree::Roster;

use super::Established;
use super::hello::{Hello, Lane};
use super::tls::{PeerTls, Talk};
use crate::board::{Board, spawn};
use crate::config::MemberConfig;
use crate::core_loop::CoreMail;
use crate::mailbox::Mailbox;

/// How long an attempt may take until both have said who they are.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long sent bytes may stay unacknowledged by the other system before the connection counts as broken.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(5);
/// Between attempts, at first and at last.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));
/// By how much the lower number lets the higher one go first, so that two do not dial each other at once.
const COURTESY: Duration = Duration::from_millis(150);

/// Who this member says it is.
pub(crate) struct Badge {
    number: u64,
    life: u64,
    level: u32,
    seat: RwLock<Option<(u64, Cluster)>>,
}

impl Badge {
    pub(crate) fn new(number: u64, life: u64, level: u32) -> Self {
        Self { number, life, level, seat: RwLock::new(None) }
    }

    /// From now on this member has a seat.
    pub(crate) fn sit(&self, id: u64, cluster: Cluster) {
        *self.seat.write() = Some((id, cluster));
    }

    /// It has none any more.
    pub(crate) fn stand_up(&self) {
        *self.seat.write() = None;
    }

    pub(crate) fn hello(&self) -> Hello {
        Hello {
            lane: Lane::Control,
            attempt: 0,
            number: self.number,
            seat: *self.seat.read(),
            life: self.life,
            wanted: 0,
            level: self.level,
        }
    }
}

/// Whether somebody is to be dialled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wish {
    Dial,
    Rest,
    Stop,
}

/// How the switchboard tells a dialler what it wants.
pub(crate) struct Call {
    wish: Mutex<Wish>,
    changed: Condvar,
}

impl Call {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { wish: Mutex::new(Wish::Dial), changed: Condvar::new() })
    }

    fn set(&self, wish: Wish) {
        let mut present = self.wish.lock();
        if *present != Wish::Stop {
            *present = wish;
            self.changed.notify_all();
        }
    }

    /// The member is connected, or is not.
    pub(crate) fn connected(&self, connected: bool) {
        self.set(if connected { Wish::Rest } else { Wish::Dial });
    }

    /// No more.
    pub(crate) fn stop(&self) {
        self.set(Wish::Stop);
    }

    /// Waits until somebody is to be dialled; false when never more.
    fn wait(&self) -> bool {
        let mut wish = self.wish.lock();
        while *wish == Wish::Rest {
            self.changed.wait(&mut wish);
        }
        *wish != Wish::Stop
    }

    /// Waits for so long, or until somebody is connected or all is over.
    fn pause(&self, pause: Duration) {
        let mut wish = self.wish.lock();
        if *wish == Wish::Dial {
            self.changed.wait_for(&mut wish, pause);
        }
    }
}

/// See the module.
struct Dialler {
    member: MemberConfig,
    means: Means,
    call: Arc<Call>,
}

/// What every dialler works with.
#[derive(Clone)]
pub(crate) struct Means {
    pub(crate) badge: Arc<Badge>,
    pub(crate) tls: Option<PeerTls>,
    pub(crate) core: Arc<Mailbox<CoreMail>>,
    pub(crate) board: Arc<Board>,
}

/// The dialler of each member.
pub(crate) struct Diallers {
    means: Means,
    calls: BTreeMap<u64, (MemberConfig, Arc<Call>)>,
}

impl Diallers {
    pub(crate) const fn new(means: Means) -> Self {
        Self { means, calls: BTreeMap::new() }
    }

    /// Who the members are. `connected` says who need not be dialled now.
    pub(crate) fn know(&mut self, roster: &Roster, own: u64, connected: impl Fn(u64) -> bool) {
        self.calls.retain(|number, (member, call)| {
            let stays = roster
                .member(*number)
                .is_some_and(|known| (&known.host, known.peer_port) == (&member.host, member.peer_port));
            if !stays {
                call.stop();
            }
            stays
        });
        for member in roster.members().filter(|member| member.number != own) {
            if self.calls.contains_key(&member.number) {
                continue;
            }
            let call = Call::new();
            call.connected(connected(member.number));
            self.calls.insert(member.number, (member.clone(), Arc::clone(&call)));
            let dialler = Dialler { member: member.clone(), means: self.means.clone(), call };
            let run = move || {
                dialler.run();
                Ok(())
            };
            // It ends by itself once it is told to: it may be in the middle of an attempt.
            if let Err(error) = spawn("dial", &self.means.board, run) {
                tracing::error!(%error, member = member.number, "no thread to dial a member");
            }
        }
    }

    /// The member is connected, or is not.
    pub(crate) fn connected(&self, number: u64, connected: bool) {
        if let Some((_, call)) = self.calls.get(&number) {
            call.connected(connected);
        }
    }
}

impl Drop for Diallers {
    fn drop(&mut self) {
        self.calls.values().for_each(|(_, call)| call.stop());
    }
}

static ATTEMPTS: AtomicU64 = AtomicU64::new(1);

impl Dialler {
    /// Dials whenever nobody is connected, until told to stop.
    fn run(&self) {
        let (mut pause, mut told) = (PAUSE.0, String::new());
        while self.call.wait() {
            if self.means.badge.number < self.member.number {
                self.call.pause(COURTESY);
                if *self.call.wish.lock() != Wish::Dial {
                    continue;
                }
            }
            match self.dial() {
                Ok(both) => {
                    (pause, told) = (PAUSE.0, String::new());
                    self.call.connected(true);
                    for established in both {
                        self.means.core.put(CoreMail::Peer(Box::new(established)));
                    }
                }
                Err(error) => {
                    let (number, host, port) = (self.member.number, &self.member.host, self.member.peer_port);
                    told_once(
                        &mut told,
                        format!("member {number} at {host}:{port} is out of reach: {error}"),
                    );
                    self.call.pause(pause);
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
        }
    }

    fn dial(&self) -> io::Result<[Established; 2]> {
        let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
        Ok([self.dial_lane(Lane::Control, attempt)?, self.dial_lane(Lane::Bulk, attempt)?])
    }

    fn dial_lane(&self, lane: Lane, attempt: u64) -> io::Result<Established> {
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
        stream.set_write_timeout(Some(HANDSHAKE_TIMEOUT))?;
        let mut encryption =
            self.means.tls.as_ref().map(|tls| tls.dial(&mut stream, &self.member.host)).transpose()?;
        let own = Hello { lane, attempt, wanted: self.member.number, ..self.means.badge.hello() };
        let answered = own.open(&mut Talk(&mut stream, encryption.as_mut()))?;
        let hello = answered.map_err(io::Error::other)?;
        let seated = own.seat.is_some();
        Ok(Established { stream, encryption, hello, seated, dialled: true, attempt })
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (self.member.host.as_str(), self.member.peer_port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, HANDSHAKE_TIMEOUT) {
                Ok(stream) => {
                    prepare(&stream)?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// What holds for every connection between members.
pub(crate) fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    socket2::SockRef::from(stream).set_tcp_user_timeout(Some(UNACKNOWLEDGED_MAX))
}

/// Says what is wrong, unless it was said last time.
pub(crate) fn told_once(told: &mut String, what: String) {
    if *told != what {
        tracing::warn!("{what}");
        *told = what;
    }
}
