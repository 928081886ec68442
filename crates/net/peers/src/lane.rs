//! One of the two connections to a member: bytes in, bytes out, never waiting for the other side.

use std::io;

use base::MonoTime;
use bytes::{Bytes, BytesMut};
use mio::{Interest, Registry, Token};
use net_event_loop::ReadOutcome;
use net_tls::{Security, TlsSession, Transport};

use crate::channel::{self, ChannelNumber, Channels};
use crate::established::Established;
use crate::frame;

/// Bytes that may wait to be sent before more is dropped: the engine sends again what is lost.
const OUTBOX_BYTES_MAX: usize = 64 << 20;
/// Bytes taken from one connection before others have their turn.
const READ_BYTES_MAX: usize = 1 << 20;
/// How long what was sent counts as sent lately, milliseconds, and how little of it is little.
const LATELY_MS: u64 = 10;
const QUIET_BYTES: usize = 16 << 10;
/// What an emptied outbox keeps of its room.
const OUTBOX_BYTES_KEPT: usize = 1 << 20;

/// See the module.
pub(crate) struct Lane {
    transport: Transport,
    inbox: BytesMut,
    outbox: Vec<u8>,
    sent: usize,
    /// The socket takes no more until the poll says so.
    blocked: bool,
    token: Token,
    /// Whether the poll tells when the socket takes more. It does only while that is waited for: it would tell of each
    /// acknowledgement otherwise.
    polls_writable: bool,
    /// Bytes queued since then.
    lately: (MonoTime, usize),
    /// The socket may hold something that the poll will not tell of again.
    pub(crate) readable: bool,
    /// Nothing is read from it for now: nobody takes what comes.
    pub(crate) held: bool,
}

impl Lane {
    pub(crate) fn new(established: Established, registry: &Registry, token: Token) -> io::Result<Self> {
        established.stream.set_nonblocking(true)?;
        let stream = mio::net::TcpStream::from_std(established.stream);
        let speech = match established.encryption {
            Some(connection) => Security::Tls(Box::new(TlsSession::of(connection))),
            None => Security::Plain,
        };
        let mut transport = Transport::new(stream, speech);
        registry.register(transport.stream(), token, Interest::READABLE)?;
        Ok(Self {
            transport,
            inbox: BytesMut::new(),
            outbox: Vec::new(),
            sent: 0,
            blocked: false,
            token,
            polls_writable: false,
            lately: (MonoTime::ZERO, 0),
            readable: true,
            held: false,
        })
    }

    pub(crate) const fn announce(&mut self, readable: bool, writable: bool) {
        self.readable |= readable;
        self.blocked &= !writable;
    }

    /// Reads what has arrived, up to a bound.
    pub(crate) fn read(
        &mut self,
        arena: &mut [u8],
        frames: &mut Vec<Bytes>,
        channels: &Channels,
    ) -> io::Result<()> {
        let mut taken = 0;
        while self.readable && taken < READ_BYTES_MAX {
            match self.transport.read(arena)? {
                ReadOutcome::Bytes { length, drained } => {
                    self.readable = !drained;
                    taken += length;
                    self.inbox.extend_from_slice(&arena[..length]);
                    while let Some(message) =
                        frame::next(&mut self.inbox, channels).map_err(io::Error::other)?
                    {
                        frames.push(message);
                    }
                }
                ReadOutcome::Nothing => self.readable = false,
                ReadOutcome::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            }
        }
        Ok(())
    }

    /// Queues a message; false when too much waits already.
    pub(crate) fn put(&mut self, channel: ChannelNumber, encode: impl FnOnce(&mut Vec<u8>)) -> bool {
        if self.waiting_bytes() > OUTBOX_BYTES_MAX {
            return false;
        }
        let before = self.outbox.len();
        frame::append_message(&mut self.outbox, channel, encode);
        self.lately.1 += self.outbox.len() - before;
        true
    }

    /// Whether so little was sent and waits that nothing waits long behind it.
    pub(crate) fn is_quiet(&mut self, now: MonoTime) -> bool {
        if now > self.lately.0.plus_ms(LATELY_MS) {
            self.lately = (now, 0);
        }
        !self.blocked && self.lately.1 + self.waiting_bytes() < QUIET_BYTES
    }

    /// Queues what the sender's roster is.
    pub(crate) fn tell_roster(&mut self, text: &str) {
        frame::append(&mut self.outbox, |out| {
            out.push(channel::ROSTER);
            out.extend_from_slice(text.as_bytes());
        });
    }

    /// Queues a sign of life.
    pub(crate) fn ping(&mut self) {
        if self.outbox.is_empty() {
            frame::append(&mut self.outbox, |_| ());
        }
    }

    /// Whether anything waits that the socket would take.
    pub(crate) fn wants_flush(&self) -> bool {
        !self.blocked && (!self.outbox.is_empty() || self.transport.wants_write())
    }

    /// Sends what the socket takes.
    pub(crate) fn flush(&mut self, registry: &Registry) -> io::Result<()> {
        while self.wants_flush() {
            let rest = self.outbox.get(self.sent..).unwrap_or_default();
            let (offered, taken) = (rest.len(), self.transport.write(rest)?);
            self.sent += taken;
            self.blocked = is_blocked(offered, taken, self.transport.wants_write());
            self.forget_sent();
        }
        if self.blocked != self.polls_writable {
            self.polls_writable = self.blocked;
            let writable = self.blocked.then_some(Interest::WRITABLE);
            let interest = writable.map_or(Interest::READABLE, |writable| writable | Interest::READABLE);
            registry.reregister(self.transport.stream(), self.token, interest)?;
        }
        Ok(())
    }

    /// How many bytes wait to be sent, not counting what the TLS library holds.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.outbox.len() - self.sent
    }

    /// An outbox that never empties would keep all that was ever sent: what was sent goes once it is as much as the rest.
    fn forget_sent(&mut self) {
        if self.sent == self.outbox.len() {
            self.outbox.clear();
            self.outbox.shrink_to(OUTBOX_BYTES_KEPT);
            self.sent = 0;
        } else if self.sent > OUTBOX_BYTES_KEPT.max(self.outbox.len() / 2) {
            drop(self.outbox.drain(..self.sent));
            self.sent = 0;
        }
    }

    /// Ends it.
    pub(crate) fn close(mut self, registry: &Registry) {
        // It is gone either way.
        let _ = registry.deregister(self.transport.stream());
        self.transport.say_goodbye();
    }
}

/// Whether the socket has refused bytes, so that the poll will say when it takes more. If only ciphertext of what was taken
/// earlier was left, nothing is offered and nothing taken: where that is gone the socket is not full, the poll would never
/// say so, and everything queued later would wait for ever.
const fn is_blocked(offered: usize, taken: usize, ciphertext_waits: bool) -> bool {
    ciphertext_waits || (offered > 0 && taken == 0)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    use super::*;
    use crate::group_number::GroupNumber;
    use crate::hello::Hello;
    use crate::numbering::ClaimedNumber;
    use crate::numbering::Numbering;

    #[test]
    fn outbox_that_never_empties_keeps_what_waits_and_not_what_was_sent() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let mut far = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
        let (stream, _) = listener.accept().expect("accepted");
        let (numbering, number, wanted) = (Numbering::OneByte, ClaimedNumber(2), ClaimedNumber(1));
        let (lane, attempt) = (net_peer_pairs::Lane::Bulk, 1);
        let hello = Hello {
            numbering,
            group: GroupNumber::FIRST,
            lane,
            attempt,
            number,
            seat: None,
            life: 1,
            wanted,
            level: 1,
        };
        let established = Established {
            stream,
            encryption: None,
            hello,
            seated: false,
            proved: true,
            dialled: false,
            attempt,
        };
        let poll = mio::Poll::new().expect("a poll");
        let mut lane = Lane::new(established, poll.registry(), Token(1)).expect("a lane");
        let mut piece = vec![0; 1 << 20];
        for _ in 0..64 {
            while lane.waiting_bytes() < 8 << 20 {
                assert!(lane.put(ChannelNumber::ZERO, |out| out.resize(out.len() + (1 << 20), 0)));
            }
            lane.announce(false, true);
            lane.flush(poll.registry()).expect("it stands");
            let kept = lane.outbox.len();
            assert!(kept <= 3 * (9 << 20), "{kept} bytes are kept, and {} wait", lane.waiting_bytes());
            far.read_exact(&mut piece).expect("it comes");
        }
    }

    #[test]
    fn lane_is_blocked_only_by_a_socket_that_refused_bytes() {
        assert!(!is_blocked(0, 0, false), "the rest of the ciphertext is gone");
        assert!(is_blocked(0, 0, true) && is_blocked(9, 9, true) && is_blocked(9, 4, true));
        assert!(is_blocked(9, 0, false));
        assert!(!is_blocked(9, 4, false), "the rest is to be tried");
        assert!(!is_blocked(9, 9, false));
    }
}
