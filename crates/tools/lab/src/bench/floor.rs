//! The floor under a server's own cost: a bare epoll server, in a process of its own.
//!
//! One thread, edge-triggered polls, the replies to one read joined into one write: the same shape of system calls
//! as a real server, and nothing else. A frame is a length and that many bytes, and the first one of a connection is
//! answered as a handshake is, so that the load takes it for a server. As an *echo* it answers every frame with one
//! as long as the reply to a getData of 1 KiB; as a *broadcaster* it also sends, at each setData, a watch event to
//! all connections. Nothing else of a request is understood.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::SocketAddr;

use council_wire::{EventType, KeeperState, OpCode, ReplyHeader, WatcherEvent, end_frame, start_frame};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};

const LISTENER: Token = Token(0);
const STOP: Token = Token(1);

struct Connection {
    stream: TcpStream,
    /// A frame that has not arrived as a whole yet.
    partial: Vec<u8>,
    unsent: Vec<u8>,
    greeted: bool,
    /// How many times it sent a setData.
    told: u32,
}

/// What a bare server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Answers.
    Echo,
    /// Answers, and sends all connections an event of each setData.
    Broadcast,
}

impl Kind {
    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Broadcast => "broadcast",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        [Self::Echo, Self::Broadcast].into_iter().find(|kind| kind.name() == name)
    }
}

/// Serves until standard input ends; gives its address to `listening` first.
///
/// # Errors
/// The address is taken, or the system refuses a poll.
pub fn run(kind: Kind, address: SocketAddr, listening: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let mut poll = Poll::new()?;
    let mut listener = TcpListener::bind(address)?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let waker = Waker::new(poll.registry(), STOP)?;
    std::thread::spawn(move || {
        // Data or end: the process that started this is gone.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        waker.wake()
    });
    listening(listener.local_addr()?);
    serve(&mut poll, &listener, kind, &Replies::new())
}

fn serve(poll: &mut Poll, listener: &TcpListener, kind: Kind, replies: &Replies) -> io::Result<()> {
    let mut events = Events::with_capacity(1024);
    let mut connections: HashMap<Token, Connection> = HashMap::new();
    let mut input = vec![0u8; 256 * 1024];
    let mut next = 2;
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            match event.token() {
                STOP => return Ok(()),
                LISTENER => {
                    while let Ok((mut stream, _)) = listener.accept() {
                        stream.set_nodelay(true)?;
                        let token = Token(next);
                        next += 1;
                        poll.registry().register(
                            &mut stream,
                            token,
                            Interest::READABLE | Interest::WRITABLE,
                        )?;
                        connections.insert(token, Connection::new(stream));
                    }
                }
                token => {
                    let Some(connection) = connections.get_mut(&token) else { continue };
                    let told = connection.told;
                    if !connection.ready(&mut input, replies) {
                        connections.remove(&token);
                    } else if kind == Kind::Broadcast && connection.told > told {
                        connections.retain(|_, connection| connection.tell(&replies.event));
                    }
                }
            }
        }
    }
}

/// Ready-made replies.
struct Replies {
    greeting: Vec<u8>,
    reply: Vec<u8>,
    event: Vec<u8>,
}

/// Bytes behind the header of a reply to getData: a length, 1 KiB of data, a Stat.
const BODY: usize = 4 + 1024 + 68;

impl Replies {
    fn new() -> Self {
        let mut greeting = Vec::new();
        let at = start_frame(&mut greeting);
        let writer = &mut council_wire::Writer::new(&mut greeting);
        council_wire::ConnectResponse {
            protocol_version: 0,
            timeout_ms: 90_000,
            session_id: 1,
            password: Some(&[7; 16]),
            read_only: Some(false),
        }
        .write(writer);
        end_frame(&mut greeting, at);

        let mut reply = Vec::new();
        let at = start_frame(&mut reply);
        ReplyHeader { xid: 0, zxid: 1, err: 0 }.write(&mut council_wire::Writer::new(&mut reply));
        reply.resize(reply.len() + BODY, b'x');
        end_frame(&mut reply, at);

        let mut event = Vec::new();
        let at = start_frame(&mut event);
        let writer = &mut council_wire::Writer::new(&mut event);
        let path = council_client::load::Nodes::path(0);
        WatcherEvent { event: EventType::NodeDataChanged, state: KeeperState::SyncConnected, path: &path }
            .write(1, writer);
        end_frame(&mut event, at);
        Self { greeting, reply, event }
    }
}

impl Connection {
    fn new(stream: TcpStream) -> Self {
        Self { stream, partial: Vec::new(), unsent: Vec::new(), greeted: false, told: 0 }
    }

    /// Reads, answers, writes; false when the connection is over.
    fn ready(&mut self, input: &mut [u8], replies: &Replies) -> bool {
        loop {
            match self.stream.read(input) {
                Ok(0) => return false,
                Ok(length) => {
                    self.answer(input.get(..length).unwrap_or_default(), replies);
                    if length < input.len() {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        self.flush()
    }

    fn answer(&mut self, input: &[u8], replies: &Replies) {
        if self.partial.is_empty() {
            let consumed = self.frames(input, replies);
            self.partial.extend_from_slice(input.get(consumed..).unwrap_or_default());
        } else {
            let mut whole = std::mem::take(&mut self.partial);
            whole.extend_from_slice(input);
            let consumed = self.frames(&whole, replies);
            whole.drain(..consumed);
            self.partial = whole;
        }
    }

    /// Answers the whole frames in `bytes` and returns how many bytes they were.
    fn frames(&mut self, bytes: &[u8], replies: &Replies) -> usize {
        let mut rest = bytes;
        while let Some((header, body)) = rest.split_first_chunk::<4>() {
            let Some((frame, behind)) = body.split_at_checked(u32::from_be_bytes(*header) as usize) else {
                break;
            };
            rest = behind;
            if self.greeted {
                let at = self.unsent.len();
                self.unsent.extend_from_slice(&replies.reply);
                // The xid comes back, so that a client's check of it passes.
                if let (Some(to), Some(xid)) = (self.unsent.get_mut(at + 4..at + 8), frame.get(..4)) {
                    to.copy_from_slice(xid);
                }
                self.told += u32::from(frame.get(4..8) == Some(&OpCode::SetData.code().to_be_bytes()));
            } else {
                self.greeted = true;
                self.unsent.extend_from_slice(&replies.greeting);
            }
        }
        bytes.len() - rest.len()
    }

    /// Sends an event.
    fn tell(&mut self, event: &[u8]) -> bool {
        self.unsent.extend_from_slice(event);
        self.flush()
    }

    fn flush(&mut self) -> bool {
        let mut sent = 0;
        while let Some(rest) = self.unsent.get(sent..).filter(|rest| !rest.is_empty()) {
            match self.stream.write(rest) {
                Ok(written) => sent += written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        self.unsent.drain(..sent);
        true
    }
}
