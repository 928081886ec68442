//! The thread that answers members who dial. Each is heard on a thread of its own, for a stranger may be slow.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token, Waker};
use parking_lot::RwLock;

use super::Established;
use super::dial::{Badge, HANDSHAKE_TIMEOUT, told_once};
use super::tls::{PeerTls, Talk};
use crate::core_loop::CoreMail;
use crate::mailbox::Mailbox;

/// Strangers heard at the same time.
const HEARD_MAX: usize = 64;
const DOOR: Token = Token(0);
const STOP: Token = Token(1);

/// See the module.
pub(crate) struct Door {
    listener: mio::net::TcpListener,
    poll: Poll,
    badge: Arc<Badge>,
    tls: Option<PeerTls>,
    core: Arc<Mailbox<CoreMail>>,
    heard: Arc<AtomicUsize>,
    told: Arc<RwLock<String>>,
}

impl Door {
    /// A door at a listener, and what stops it.
    pub(crate) fn new(
        listener: TcpListener,
        badge: Arc<Badge>,
        tls: Option<PeerTls>,
        core: Arc<Mailbox<CoreMail>>,
    ) -> io::Result<(Self, Waker)> {
        listener.set_nonblocking(true)?;
        let mut listener = mio::net::TcpListener::from_std(listener);
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, DOOR, Interest::READABLE)?;
        let waker = Waker::new(poll.registry(), STOP)?;
        let told = Arc::default();
        Ok((Self { listener, poll, badge, tls, core, heard: Arc::default(), told }, waker))
    }

    /// Answers until the waker rings.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(8);
        loop {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            }
            if events.iter().any(|event| event.token() == STOP) {
                return Ok(());
            }
            loop {
                match self.listener.accept() {
                    Ok((stream, peer)) => self.hear(stream, peer),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            }
        }
    }

    fn hear(&self, stream: mio::net::TcpStream, peer: SocketAddr) {
        if self.heard.fetch_add(1, Ordering::SeqCst) >= HEARD_MAX {
            self.heard.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let (badge, tls, core) = (Arc::clone(&self.badge), self.tls.clone(), Arc::clone(&self.core));
        let (heard, told) = (Arc::clone(&self.heard), Arc::clone(&self.told));
        let listen = move || {
            match answer(stream.into(), &badge, tls.as_ref()) {
                Ok(established) => core.put(CoreMail::Peer(Box::new(established))),
                Err(error) => {
                    let what = format!("whoever dialled from {} was not let in: {error}", peer.ip());
                    told_once(&mut told.write(), what);
                }
            }
            heard.fetch_sub(1, Ordering::SeqCst);
        };
        if thread::Builder::new().name(String::from("diwan-door")).spawn(listen).is_err() {
            self.heard.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

fn answer(mut stream: TcpStream, badge: &Badge, tls: Option<&PeerTls>) -> io::Result<Established> {
    stream.set_nonblocking(false)?;
    super::dial::prepare(&stream)?;
    stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    stream.set_write_timeout(Some(HANDSHAKE_TIMEOUT))?;
    let mut encryption = tls.map(|tls| tls.answer(&mut stream)).transpose()?;
    let own = badge.hello();
    let judged = own.answer(&mut Talk(&mut stream, encryption.as_mut()))?;
    let hello = judged.map_err(io::Error::other)?;
    let seated = own.seat.is_some();
    Ok(Established { stream, encryption, attempt: hello.attempt, hello, seated, dialled: false })
}
