//! One session as the protocol sees it: handshake, requests in order, replies, watches. It makes bytes and takes
//! frames; it knows no socket and no clock.

use std::collections::VecDeque;

use council_wire::{
    ConnectRequest, ConnectResponse, ErrorCode, KeeperState, Malformed, OpCode, Reader, ReplyHeader,
    RequestHeader, WatcherEvent, Writer, end_frame, start_frame, xid,
};

use crate::Error;
use crate::encode;
use crate::event::{Event, EventKind, Watcher};
use crate::options::Options;
use crate::path::Chroot;
use crate::pending::Completer;
use crate::sasl::{SaslClient, SaslUser, Step};
use crate::status::{SessionState, Status, Ticket};
use crate::watch::WatchTables;

/// What a reply's body may be looked at with, and where its watchers go.
pub(crate) struct Context {
    pub(crate) chroot: Chroot,
    pub(crate) watches: WatchTables,
    /// The server has closed the session, as it was asked to.
    pub(crate) closed: bool,
}

/// An answer: the error code of its header and its body, or what kept it away.
pub(crate) type Answer<'a> = Result<(i32, &'a [u8]), Error>;

/// Takes one answer.
pub(crate) type Sink = Box<dyn FnOnce(Answer<'_>, &mut Context) + Send>;

/// A request to be sent.
pub(crate) struct Submission {
    pub(crate) opcode: OpCode,
    pub(crate) body: Vec<u8>,
    pub(crate) sink: Sink,
}

struct InFlight {
    xid: i32,
    sink: Sink,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Down,
    Handshake,
    /// The session is open, and SASL must succeed before anything else is sent.
    Authenticating,
    Up,
}

/// The state of one session.
pub(crate) struct Session {
    context: Context,
    watcher: Option<Watcher>,
    ticket: Ticket,
    timeout_ms: i32,
    read_only: bool,
    /// Whether the connected server only reads.
    read_only_server: bool,
    reset_watches: bool,
    last_zxid: i64,
    phase: Phase,
    next_xid: i32,
    identities: Vec<(String, Vec<u8>)>,
    in_flight: VecDeque<InFlight>,
    auth_in_flight: VecDeque<Option<Completer<()>>>,
    sasl_user: Option<SaslUser>,
    /// The exchange of this connection.
    sasl: Option<SaslClient>,
    /// Submitted while there was no connection.
    waiting: VecDeque<Submission>,
    out: Vec<u8>,
    status: Status,
    over: Option<Error>,
}

impl Session {
    pub(crate) fn new(options: &Options, chroot: &str, status: Status) -> Self {
        Self {
            context: Context { chroot: Chroot::new(chroot), watches: WatchTables::default(), closed: false },
            watcher: options.watcher.clone(),
            ticket: options.ticket.clone().unwrap_or_default(),
            timeout_ms: i32::try_from(options.session_timeout.as_millis()).unwrap_or(i32::MAX),
            read_only: options.read_only,
            read_only_server: false,
            reset_watches: options.reset_watches,
            last_zxid: 0,
            phase: Phase::Down,
            next_xid: 1,
            identities: options.access.identities.clone(),
            in_flight: VecDeque::new(),
            auth_in_flight: VecDeque::new(),
            sasl_user: options.access.sasl.clone(),
            sasl: None,
            waiting: VecDeque::new(),
            out: Vec::new(),
            status,
            over: None,
        }
    }

    /// Bytes to be sent; the driver takes off what it has sent.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Why nothing more will happen, once that is so.
    pub(crate) fn over(&self) -> Option<&Error> {
        self.over.as_ref()
    }

    pub(crate) fn context(&mut self) -> &mut Context {
        &mut self.context
    }

    pub(crate) fn is_up(&self) -> bool {
        self.phase == Phase::Up
    }

    /// The session timeout that holds, or that is asked for.
    pub(crate) fn timeout_ms(&self) -> i32 {
        self.timeout_ms
    }

    /// A connection is there: open or resume the session on it. `entropy` must not be guessable, and new each time.
    pub(crate) fn begin(&mut self, entropy: [u8; 16]) {
        self.phase = Phase::Handshake;
        self.sasl = self.sasl_user.clone().map(|user| SaslClient::new(user, entropy));
        self.read_only_server = false;
        self.out.clear();
        let at = start_frame(&mut self.out);
        ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: self.last_zxid,
            timeout_ms: self.timeout_ms,
            session_id: self.ticket.session,
            password: Some(&self.ticket.password),
            read_only: Some(self.read_only),
        }
        .write(&mut Writer::new(&mut self.out));
        end_frame(&mut self.out, at);
    }

    /// One frame from the server.
    ///
    /// # Errors
    /// When it is nonsense: the connection is of no more use.
    pub(crate) fn receive(&mut self, frame: &[u8]) -> Result<(), Malformed> {
        match self.phase {
            Phase::Down => Ok(()),
            Phase::Handshake => self.connected(&ConnectResponse::read(&mut Reader::new(frame))?),
            Phase::Authenticating => self.sasl_reply(frame),
            Phase::Up => self.reply(frame),
        }
    }

    fn connected(&mut self, response: &ConnectResponse<'_>) -> Result<(), Malformed> {
        if response.timeout_ms <= 0 {
            self.end(Error::SessionExpired);
            return Ok(());
        }
        let password = response.password.and_then(|password| password.try_into().ok());
        let password = password.ok_or(Malformed("connect response: a password that is not 16 bytes"))?;
        self.ticket = Ticket { session: response.session_id, password };
        self.timeout_ms = response.timeout_ms;
        self.read_only_server = response.read_only == Some(true);
        if self.sasl.is_some() {
            self.phase = Phase::Authenticating;
            self.send_sasl(&[]);
        } else {
            self.up();
        }
        Ok(())
    }

    fn send_sasl(&mut self, token: &[u8]) {
        let xid = self.take_xid();
        self.send(xid, OpCode::Sasl, &encode::sasl(token));
    }

    fn sasl_reply(&mut self, frame: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(frame);
        let header = ReplyHeader::read(&mut reader)?;
        let token = if header.err == 0 { reader.buffer()?.unwrap_or_default() } else { &[] };
        let step = match &mut self.sasl {
            Some(exchange) if header.err == 0 => exchange.step(token),
            _ => Step::Failed,
        };
        match step {
            Step::Send(token) => self.send_sasl(&token),
            Step::Done => self.up(),
            Step::Failed => self.end(Error::AuthFailed),
        }
        Ok(())
    }

    /// The session is open, and the server knows who the client is.
    fn up(&mut self) {
        self.phase = Phase::Up;
        let read_only = self.read_only_server;
        let state = if read_only { SessionState::ConnectedReadOnly } else { SessionState::Connected };
        self.status.connected(state, &self.ticket, self.timeout_ms);
        for (scheme, credentials) in self.identities.clone() {
            self.send(xid::AUTH, OpCode::Auth, &encode::auth(&scheme, &credentials));
            self.auth_in_flight.push_back(None);
        }
        if self.reset_watches {
            for body in self.context.watches.set_watches(self.last_zxid) {
                self.send(xid::SET_WATCHES, OpCode::SetWatches2, &body);
            }
        }
        self.tell(if read_only { KeeperState::ConnectedReadOnly } else { KeeperState::SyncConnected });
        for submission in std::mem::take(&mut self.waiting) {
            self.submit(submission);
        }
    }

    fn reply(&mut self, frame: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader::new(frame);
        let header = ReplyHeader::read(&mut reader)?;
        match header.xid {
            xid::NOTIFICATION => self.event(&WatcherEvent::read(&mut reader)?, header.zxid),
            xid::PING | xid::SET_WATCHES => {}
            xid::AUTH => self.authenticated(header.err),
            _ => {
                // Not from events: two of one transaction may lie on both sides of a broken connection.
                if header.zxid > 0 {
                    self.last_zxid = header.zxid;
                }
                let request = self.in_flight.pop_front().ok_or(Malformed("reply: nothing was asked"))?;
                if request.xid != header.xid {
                    (request.sink)(Err(Error::ConnectionLost), &mut self.context);
                    return Err(Malformed("reply: out of order"));
                }
                (request.sink)(Ok((header.err, reader.rest())), &mut self.context);
                if self.context.closed {
                    self.end(Error::Closed);
                }
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &WatcherEvent<'_>, zxid: i64) {
        let watchers = self.context.watches.fire(event.event, event.path);
        let path = Some(String::from(self.context.chroot.to_user(event.path)));
        let event = Event { kind: event.event.into(), state: event.state, path, zxid };
        for watcher in watchers {
            watcher.tell(&event);
        }
    }

    fn authenticated(&mut self, err: i32) {
        let completer = self.auth_in_flight.pop_front().flatten();
        if err == 0 {
            if let Some(completer) = completer {
                completer.complete(Ok(()));
            }
            return;
        }
        self.end(Error::AuthFailed);
        if let Some(completer) = completer {
            completer.complete(Err(Error::AuthFailed));
        }
    }

    /// Sends a request, or keeps it until there is a connection.
    pub(crate) fn submit(&mut self, submission: Submission) {
        if let Some(error) = self.over.clone() {
            return (submission.sink)(Err(error), &mut self.context);
        }
        if self.phase != Phase::Up {
            return self.waiting.push_back(submission);
        }
        let xid = self.take_xid();
        self.send(xid, submission.opcode, &submission.body);
        self.in_flight.push_back(InFlight { xid, sink: submission.sink });
    }

    /// Adds an identity to this connection and every later one.
    pub(crate) fn add_auth(&mut self, scheme: String, credentials: Vec<u8>, completer: Completer<()>) {
        if let Some(error) = self.over.clone() {
            return completer.complete(Err(error));
        }
        if self.phase == Phase::Up {
            self.send(xid::AUTH, OpCode::Auth, &encode::auth(&scheme, &credentials));
            self.auth_in_flight.push_back(Some(completer));
        } else {
            // It is sent before anything else, so nothing can be refused for want of it.
            completer.complete(Ok(()));
        }
        self.identities.push((scheme, credentials));
    }

    pub(crate) fn ping(&mut self) {
        if self.phase == Phase::Up {
            self.send(xid::PING, OpCode::Ping, &[]);
        }
    }

    /// The connection is gone: whatever was under way has an unknown end.
    pub(crate) fn lost(&mut self) {
        let was_up = self.phase == Phase::Up;
        self.phase = Phase::Down;
        self.out.clear();
        for request in std::mem::take(&mut self.in_flight) {
            (request.sink)(Err(Error::ConnectionLost), &mut self.context);
        }
        // Completers that are dropped report the loss.
        self.auth_in_flight.clear();
        if was_up && self.over.is_none() {
            self.status.set(SessionState::Connecting);
            self.tell(KeeperState::Disconnected);
        }
    }

    /// No server could be reached: who waits for one is told.
    pub(crate) fn unreachable(&mut self) {
        for submission in std::mem::take(&mut self.waiting) {
            (submission.sink)(Err(Error::ConnectionLost), &mut self.context);
        }
    }

    /// Nothing more will happen.
    pub(crate) fn end(&mut self, error: Error) {
        if self.over.is_some() {
            return;
        }
        let (state, keeper_state) = match error {
            Error::SessionExpired => (SessionState::Expired, KeeperState::Expired),
            Error::AuthFailed => (SessionState::AuthFailed, KeeperState::AuthFailed),
            _ => (SessionState::Closed, KeeperState::Closed),
        };
        self.over = Some(error.clone());
        self.phase = Phase::Down;
        self.status.set(state);
        self.tell(keeper_state);
        let last = state_event(keeper_state);
        for watcher in self.context.watches.drain() {
            if self.watcher.as_ref() != Some(&watcher) {
                watcher.tell(&last);
            }
        }
        for request in std::mem::take(&mut self.in_flight) {
            (request.sink)(Err(error.clone()), &mut self.context);
        }
        for submission in std::mem::take(&mut self.waiting) {
            (submission.sink)(Err(error.clone()), &mut self.context);
        }
        for completer in std::mem::take(&mut self.auth_in_flight).into_iter().flatten() {
            completer.complete(Err(error.clone()));
        }
    }

    fn take_xid(&mut self) -> i32 {
        let xid = self.next_xid;
        self.next_xid = xid.checked_add(1).unwrap_or(1);
        xid
    }

    fn tell(&self, state: KeeperState) {
        if let Some(watcher) = &self.watcher {
            watcher.tell(&state_event(state));
        }
    }

    fn send(&mut self, xid: i32, opcode: OpCode, body: &[u8]) {
        let at = start_frame(&mut self.out);
        let mut writer = Writer::new(&mut self.out);
        RequestHeader { xid, operation: opcode.code() }.write(&mut writer);
        writer.raw(body);
        end_frame(&mut self.out, at);
    }
}

fn state_event(state: KeeperState) -> Event {
    Event { kind: EventKind::None, state, path: None, zxid: -1 }
}

/// The error of a reply that is not 0.
pub(crate) fn refusal(err: i32, path: &str) -> Error {
    match ErrorCode::from_code(err) {
        Some(ErrorCode::SessionExpired) => Error::SessionExpired,
        Some(code) => Error::Refused { code, path: String::from(path) },
        None => Error::UnknownCode(err),
    }
}

#[cfg(test)]
mod tests;
