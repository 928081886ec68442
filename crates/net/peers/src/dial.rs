//! Dialling other members: a thread for each, which waits until nobody is connected and then tries until somebody is.
//! Names are resolved anew at each attempt.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use net_peer_pairs::{Lane, PeerNumber};
use node_threads::{Mailbox, Supervisor, spawn};
use parking_lot::{Condvar, Mutex};
use socket2::{Domain, Protocol, Socket, Type};

use crate::credentials::Credentials;
use crate::established::Established;
use crate::hello::Hello;
use crate::refusal::Refusal;
use crate::roster::{MemberAddress, Roster};
use crate::tls::{self, Talk};
use crate::{handshake, trouble};

/// How long a connection may take, all in all, until both sides have said and proved who they are.
pub(crate) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long sent bytes may stay unacknowledged by the other system before the connection counts as broken.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(5);
/// Between attempts, at first and at last.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(500));
/// By how much the lower number lets the higher one go first, so that two do not dial each other at once.
const COURTESY: Duration = Duration::from_millis(150);

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

    /// If it is to be dialled, it is dialled without further delay.
    fn hurry(&self) {
        self.changed.notify_all();
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
    member: MemberAddress,
    means: Means,
    call: Arc<Call>,
}

/// What every dialler works with.
#[derive(Clone)]
pub struct Means {
    /// By what members know each other.
    pub credentials: Arc<Credentials>,
    /// Where this member's own line says that it is, unless it listens at every address: others tell by it who dials.
    pub source: Option<IpAddr>,
    /// Where connections go on which both sides have said who they are.
    pub established: Arc<Mailbox<Established>>,
    /// Watches the threads.
    pub supervisor: Arc<Supervisor>,
}

/// The dialler of each member.
pub struct Diallers {
    means: Means,
    calls: BTreeMap<PeerNumber, (MemberAddress, Arc<Call>)>,
}

impl Diallers {
    /// One that dials nobody yet.
    #[must_use]
    pub const fn new(means: Means) -> Self {
        Self { means, calls: BTreeMap::new() }
    }

    /// Who the members are. `connected` says who need not be dialled now.
    pub(crate) fn know(&mut self, roster: &Roster, own: PeerNumber, connected: impl Fn(PeerNumber) -> bool) {
        self.calls.retain(|number, (member, call)| {
            let stays = roster
                .member(*number)
                .is_some_and(|known| (&known.host, known.port) == (&member.host, member.port));
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
                Ok::<_, Infallible>(())
            };
            // It ends by itself once it is told to: it may be in the middle of an attempt.
            if let Err(error) = spawn("dial", &self.means.supervisor, run) {
                tracing::error!(%error, member = member.number.0, "no thread to dial a member");
            }
        }
    }

    /// A member that is dialled has started anew: it is dialled without further delay.
    pub(crate) fn hurry(&self, number: PeerNumber) {
        if let Some((_, call)) = self.calls.get(&number) {
            call.hurry();
        }
    }

    /// The member is connected, or is not.
    pub(crate) fn connected(&self, number: PeerNumber, connected: bool) {
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
        let (credentials, mut pause) = (&self.means.credentials, PAUSE.0);
        let MemberAddress { number, host, port } = &self.member;
        let subject = format!("member {number} at {host}:{port} is out of reach");
        while self.call.wait() {
            if credentials.identity.number < *number {
                self.call.pause(COURTESY);
                if *self.call.wish.lock() != Wish::Dial {
                    continue;
                }
            }
            match self.dial() {
                Ok(both) => {
                    pause = PAUSE.0;
                    credentials.complaints.forget(&subject);
                    self.call.connected(true);
                    for established in both {
                        self.means.established.put(established);
                    }
                }
                Err(why) => {
                    if !matches!(why, Refusal::Broken { .. }) {
                        credentials.refusals.count(&why);
                    }
                    credentials.complaints.warn(&subject, &why.to_string());
                    self.call.pause(pause);
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
        }
    }

    fn dial(&self) -> Result<[Established; 2], Refusal> {
        let attempt = ATTEMPTS.fetch_add(1, Ordering::Relaxed);
        Ok([self.dial_lane(Lane::Control, attempt)?, self.dial_lane(Lane::Bulk, attempt)?])
    }

    /// A connection on which both have proved who they are.
    ///
    /// # Errors
    /// Why there is none, for an operator.
    fn dial_lane(&self, lane: Lane, attempt: u64) -> Result<Established, Refusal> {
        let credentials = &self.means.credentials;
        let MemberAddress { number, host, .. } = &self.member;
        if !credentials.asks_for_proof() && !credentials.names.hosts(*number).any(|known| known == *host) {
            return Err(Refusal::UnconfirmedAddress(*number));
        }
        let until = Instant::now() + HANDSHAKE_TIMEOUT;
        let stream = self.connect(until).map_err(|error| Refusal::system(&error))?;
        let mut timed = Timed { stream: &stream, until };
        let tls = credentials.tls();
        let own_certificate = tls.as_ref().map(|tls| &tls.own);
        let explained = |error: io::Error| trouble::broken(&error, own_certificate);
        let wanted = credentials.identity.numbering.claim(*number);
        let own = Hello { lane, attempt, wanted, ..credentials.identity.hello() };
        let (mut encryption, mut binding) = (None, [0; 32]);
        if let Some(tls) = &tls {
            let connection = tls.dial(&mut timed, &self.member.host).map_err(explained)?;
            let at = stream.peer_addr().map_err(explained)?.ip();
            tls.check(&connection, self.member.number, &credentials.names, Some((&self.member.host, at)))?;
            binding = tls::binding(&connection).map_err(Refusal::no_binding)?;
            encryption = Some(connection);
        }
        let terms = credentials.terms(own, binding).map_err(|error| Refusal::system(&error))?;
        let hello =
            handshake::open(&mut Talk(&mut timed, encryption.as_mut()), &terms).map_err(explained)??;
        credentials.connected.judge_required(*number, hello.life)?;
        let (seated, proved) = (own.seat.is_some(), credentials.asks_for_proof());
        Ok(Established { stream, encryption, hello, seated, proved, dialled: true, attempt })
    }

    fn connect(&self, until: Instant) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (self.member.host.as_str(), self.member.port).to_socket_addrs()? {
            match connect(address, self.means.source, until) {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Connects from the address that other members know this one by, where that can reach the other.
fn connect(address: SocketAddr, source: Option<IpAddr>, until: Instant) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    let to = address.ip();
    let fits = |from: &IpAddr| from.is_ipv4() == to.is_ipv4() && from.is_loopback() == to.is_loopback();
    if let Some(source) = source.filter(fits) {
        socket.bind(&SocketAddr::new(source, 0).into())?;
    }
    let left = remaining(until)?;
    socket.connect_timeout(&address.into(), left)?;
    prepare(&socket)?;
    Ok(socket.into())
}

/// A connection that must be done with what it does by a certain time, however many bytes come one by one.
struct Timed<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl Read for Timed<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(remaining(self.until)?))?;
        let mut stream = self.stream;
        stream.read(buffer).map_err(late)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(remaining(self.until)?))?;
        let mut stream = self.stream;
        stream.write(bytes).map_err(late)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn remaining(until: Instant) -> io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// A socket that waits says that it would block when its time is over.
fn late(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

/// What holds for every connection between members.
pub(crate) fn prepare(stream: &impl AsFd) -> io::Result<()> {
    let socket = socket2::SockRef::from(stream);
    socket.set_tcp_nodelay(true)?;
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED_MAX))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener};
    use std::thread;

    use super::*;

    #[test]
    fn dialler_comes_from_its_own_address_where_that_can_reach_the_other() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let (at, until) = (listener.local_addr().expect("bound"), Instant::now() + Duration::from_secs(60));
        for (source, expected) in [
            (Some([127, 0, 7, 9].into()), IpAddr::from([127, 0, 7, 9])),
            (Some([192, 0, 2, 1].into()), at.ip()),
            (Some("::1".parse().expect("an address")), at.ip()),
            (None, at.ip()),
        ] {
            let _dialled = connect(at, source, until).expect("connected");
            assert_eq!(listener.accept().expect("accepted").1.ip(), expected);
        }
    }

    #[test]
    fn one_that_answers_byte_by_byte_runs_out_of_time() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let at = listener.local_addr().expect("bound");
        let slow = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accepted");
            // As many as it likes: the other ends it.
            while stream.write_all(&[0]).is_ok() {
                thread::yield_now();
            }
        });
        let stream = TcpStream::connect(at).expect("connected");
        let mut timed = Timed { stream: &stream, until: Instant::now() + Duration::from_millis(50) };
        let error = loop {
            if let Err(error) = timed.read_exact(&mut [0; 1 << 16]) {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(stream);
        slow.join().expect("it ended");
    }
}
