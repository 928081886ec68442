//! One session as the protocol sees it: handshake, requests in order, replies, watches. It makes bytes and takes
//! frames; it knows no connection and no time.

mod requests;

use std::collections::VecDeque;

use council_wire::{
    ConnectRequest, ConnectResponse, ErrorCode, KeeperState, Malformed, OpCode, Reader, ReplyHeader,
    RequestHeader, SessionId, WatcherEvent, WatcherType, Writer, Zxid, end_frame, start_frame, xid,
};

use crate::Error;
use crate::encode;
use crate::event::{Event, EventKind};
use crate::handler::{Handler, Notice, StateChange};
use crate::operation::{Answered, Asked, WatchChange};
use crate::path::Chroot;
use crate::sasl::{self, ClientExchange, ClientStep, SaslUser};
use crate::settings::Settings;
use crate::state::{SessionState, Ticket};
use crate::watch::{Table, WatchTables};
use requests::{InFlight, Origin, Requests, Waiting};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Down,
    Handshake,
    /// The session is open, and SASL must succeed before anything else is sent.
    Authenticating,
    Up,
}

/// The state of one session.
pub(crate) struct Session<T, W> {
    chroot: Chroot,
    watches: WatchTables<W>,
    /// The watchers that get each change of the connection's state.
    listeners: Vec<W>,
    ticket: Ticket,
    /// The timeout that is asked for, in milliseconds, and the one that holds.
    wanted_timeout_ms: i32,
    timeout_ms: i32,
    read_only: bool,
    /// Whether the connected server only reads.
    read_only_server: bool,
    reset_watches: bool,
    renew: bool,
    last_zxid: Zxid,
    phase: Phase,
    identities: Vec<(String, Vec<u8>)>,
    requests: Requests<T, W>,
    auth_in_flight: VecDeque<Option<T>>,
    sasl_user: Option<SaslUser>,
    /// The exchange of this connection.
    sasl: Option<ClientExchange>,
    out: Vec<u8>,
    over: Option<Error>,
}

impl<T, W: Clone + PartialEq> Session<T, W> {
    pub(crate) fn new(settings: &Settings) -> Self {
        let timeout_ms = i32::try_from(settings.session_timeout.as_millis()).unwrap_or(i32::MAX);
        Self {
            chroot: Chroot::new(&settings.chroot),
            watches: WatchTables::default(),
            listeners: Vec::new(),
            ticket: settings.resume.clone().unwrap_or_default(),
            wanted_timeout_ms: timeout_ms,
            timeout_ms,
            read_only: settings.read_only,
            read_only_server: false,
            reset_watches: settings.reset_watches,
            renew: settings.renew,
            last_zxid: Zxid(0),
            phase: Phase::Down,
            identities: settings.identities.clone(),
            requests: Requests::new(settings.limits),
            auth_in_flight: VecDeque::new(),
            sasl_user: settings.sasl.clone(),
            sasl: None,
            out: Vec::new(),
            over: None,
        }
    }

    /// A connection is there: open or resume the session on it. `entropy` must not be guessable, and new each time.
    pub(crate) fn begin(&mut self, entropy: [u8; 16]) {
        self.phase = Phase::Handshake;
        self.sasl = self.sasl_user.clone().map(|user| sasl::exchange(user, entropy));
        self.read_only_server = false;
        self.out.clear();
        let at = start_frame(&mut self.out);
        ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: self.last_zxid.0,
            timeout_ms: self.timeout_ms,
            session_id: self.ticket.session.0,
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
    pub(crate) fn receive(&mut self, frame: &[u8], to: &mut impl Handler<T, W>) -> Result<(), Malformed> {
        match self.phase {
            Phase::Down => Ok(()),
            Phase::Handshake => self.connected(&ConnectResponse::read(&mut Reader::new(frame))?, to),
            Phase::Authenticating => self.sasl_reply(frame, to),
            Phase::Up => self.reply(frame, to),
        }
    }

    fn connected(
        &mut self,
        response: &ConnectResponse<'_>,
        to: &mut impl Handler<T, W>,
    ) -> Result<(), Malformed> {
        if response.timeout_ms <= 0 {
            if self.renew {
                self.expire(to);
            } else {
                self.end(Error::SessionExpired, to);
            }
            return Ok(());
        }
        let password = response.password.and_then(|password| password.try_into().ok());
        let password = password.ok_or(Malformed("connect response: a password that is not 16 bytes"))?;
        self.ticket = Ticket { session: SessionId(response.session_id), password };
        self.timeout_ms = response.timeout_ms;
        self.read_only_server = response.read_only == Some(true);
        if self.sasl.is_some() {
            self.phase = Phase::Authenticating;
            self.send_sasl(&[]);
        } else {
            self.up(to);
        }
        Ok(())
    }

    fn send_sasl(&mut self, token: &[u8]) {
        let xid = self.requests.take_xid();
        self.send(xid, OpCode::Sasl, &encode::sasl(token));
    }

    fn sasl_reply(&mut self, frame: &[u8], to: &mut impl Handler<T, W>) -> Result<(), Malformed> {
        let mut reader = Reader::new(frame);
        let header = ReplyHeader::read(&mut reader)?;
        let token = if header.err == 0 { reader.buffer()?.unwrap_or_default() } else { &[] };
        let step = self.sasl.as_mut().filter(|_| header.err == 0).map(|exchange| exchange.step(token));
        match step {
            Some(ClientStep::Send(token)) => self.send_sasl(&token),
            Some(ClientStep::Done) => self.up(to),
            Some(ClientStep::Failed(_)) | None => self.end(Error::AuthFailed, to),
        }
        Ok(())
    }

    /// The session is open, and the client has authenticated.
    fn up(&mut self, to: &mut impl Handler<T, W>) {
        self.phase = Phase::Up;
        let state =
            if self.read_only_server { SessionState::ConnectedReadOnly } else { SessionState::Connected };
        to.notice(Notice::Connected { state, ticket: &self.ticket, timeout_ms: self.timeout_ms });
        for (scheme, credentials) in self.identities.clone() {
            self.send(xid::AUTH, OpCode::Auth, &encode::auth(&scheme, &credentials));
            self.auth_in_flight.push_back(None);
        }
        if self.reset_watches {
            for body in self.watches.set_watches(self.last_zxid) {
                self.send(xid::SET_WATCHES, OpCode::SetWatches2, &body);
            }
        }
        self.tell(self.connected_state(), to);
        for Waiting { asked, tag } in self.requests.take_waiting() {
            self.send_request(asked, Origin::User(tag));
        }
    }

    fn reply(&mut self, frame: &[u8], to: &mut impl Handler<T, W>) -> Result<(), Malformed> {
        let mut reader = Reader::new(frame);
        let header = ReplyHeader::read(&mut reader)?;
        match header.xid {
            xid::NOTIFICATION => self.event(&WatcherEvent::read(&mut reader)?, Zxid(header.zxid), to),
            xid::PING | xid::SET_WATCHES => {}
            xid::AUTH => self.authenticated(header.err, to),
            _ => {
                // Not from events: two of one transaction may lie on both sides of a broken connection.
                if header.zxid > 0 {
                    self.last_zxid = Zxid(header.zxid);
                }
                let request = self.requests.answered().ok_or(Malformed("reply: nothing was asked"))?;
                if request.xid != header.xid {
                    self.fail(request.origin, Error::ConnectionLost, to);
                    return Err(Malformed("reply: out of order"));
                }
                self.answer(request, header, reader.rest(), to);
            }
        }
        Ok(())
    }

    fn answer(
        &mut self,
        request: InFlight<T, W>,
        header: ReplyHeader,
        body: &[u8],
        to: &mut impl Handler<T, W>,
    ) {
        let (err, zxid) = (header.err, Zxid(header.zxid));
        match request.change {
            WatchChange::Set(table, path, watcher) if err == 0 => self.watches.add(table, &path, &watcher),
            WatchChange::SetExists(path, watcher) if err == 0 => {
                self.watches.add(Table::Data, &path, &watcher);
            }
            WatchChange::SetExists(path, watcher) if err == ErrorCode::NoNode.code() => {
                self.watches.add(Table::Exist, &path, &watcher);
            }
            WatchChange::Remove(kind, path) if err == 0 => {
                self.forget(kind, &path, to);
            }
            _ => {}
        }
        match request.origin {
            Origin::User(tag) => to.reply(tag, Ok(Answered { err, zxid, body }), &self.chroot),
            Origin::Close => self.end(Error::Closed, to),
        }
    }

    fn event(&mut self, event: &WatcherEvent<'_>, zxid: Zxid, to: &mut impl Handler<T, W>) {
        let watchers = self.watches.fire(event.event, event.path);
        let path = Some(String::from(self.chroot.to_user(event.path)));
        let event = Event { kind: event.event.into(), state: event.state, path, zxid };
        for watcher in watchers {
            to.event(&watcher, &event);
        }
    }

    fn authenticated(&mut self, err: i32, to: &mut impl Handler<T, W>) {
        let tag = self.auth_in_flight.pop_front().flatten();
        if err != 0 {
            self.end(Error::AuthFailed, to);
        }
        let result =
            if err == 0 { Ok(Answered { err, zxid: Zxid(-1), body: &[] }) } else { Err(Error::AuthFailed) };
        if let Some(tag) = tag {
            to.reply(tag, result, &self.chroot);
        }
    }

    /// Sends a request, or keeps it until there is a connection.
    pub(crate) fn submit(&mut self, asked: Asked<W>, tag: T, to: &mut impl Handler<T, W>) {
        if let Some(error) = self.over.clone() {
            return to.reply(tag, Err(error), &self.chroot);
        }
        if !self.requests.has_room(asked.body.len(), self.out.len()) {
            return to.reply(tag, Err(Error::TooManyRequests), &self.chroot);
        }
        match self.phase {
            Phase::Up => self.send_request(asked, Origin::User(tag)),
            _ => self.requests.wait(asked, tag),
        }
    }

    fn send_request(&mut self, asked: Asked<W>, origin: Origin<T>) {
        let xid = self.requests.take_xid();
        self.send(xid, asked.opcode, &asked.body);
        self.requests.sent(xid, asked.change, origin);
    }

    /// Asks the server to end the session; it must be open.
    pub(crate) fn close(&mut self) {
        let asked = Asked { opcode: OpCode::CloseSession, body: Vec::new(), change: WatchChange::None };
        self.send_request(asked, Origin::Close);
    }

    /// Adds an identity to this connection and every later one.
    pub(crate) fn add_auth(
        &mut self,
        scheme: String,
        credentials: Vec<u8>,
        tag: T,
        to: &mut impl Handler<T, W>,
    ) {
        if let Some(error) = self.over.clone() {
            return to.reply(tag, Err(error), &self.chroot);
        }
        if self.phase == Phase::Up {
            self.send(xid::AUTH, OpCode::Auth, &encode::auth(&scheme, &credentials));
            self.auth_in_flight.push_back(Some(tag));
        } else {
            // It is sent before anything else, so no request can be refused because it is missing.
            to.reply(tag, Ok(Answered { err: 0, zxid: Zxid(-1), body: &[] }), &self.chroot);
        }
        self.identities.push((scheme, credentials));
    }

    /// Takes watchers off a node, without asking the server, and tells them; whether there was one.
    pub(crate) fn forget(&mut self, kind: WatcherType, full: &str, to: &mut impl Handler<T, W>) -> bool {
        let there = self.watches.has(kind, full);
        for (kind, watcher) in self.watches.remove(kind, full) {
            let path = Some(String::from(self.chroot.to_user(full)));
            to.event(&watcher, &Event { kind, state: KeeperState::SyncConnected, path, zxid: Zxid(-1) });
        }
        there
    }

    /// Reports each change of the connection's state to a watcher from now on, and the state now if a server is
    /// connected or the session is over.
    pub(crate) fn listen(&mut self, listener: W, to: &mut impl Handler<T, W>) {
        let now = match &self.over {
            Some(error) => Some(last_state(error)),
            None => (self.phase == Phase::Up).then(|| self.connected_state()),
        };
        if let Some(state) = now {
            to.state(&listener, StateChange { state, session: self.ticket.session });
        }
        if !self.listeners.contains(&listener) {
            self.listeners.push(listener);
        }
    }

    /// Undoes [`Self::listen`], and takes the watcher off all nodes.
    pub(crate) fn unlisten(&mut self, listener: &W) {
        self.listeners.retain(|other| other != listener);
        self.watches.remove_watcher(listener);
    }

    pub(crate) fn ping(&mut self) {
        if self.phase == Phase::Up {
            self.send(xid::PING, OpCode::Ping, &[]);
        }
    }

    /// The connection is gone: the end of every request under way is unknown.
    pub(crate) fn lost(&mut self, to: &mut impl Handler<T, W>) {
        let was_up = self.phase == Phase::Up;
        self.phase = Phase::Down;
        self.out.clear();
        self.fail_in_flight(&Error::ConnectionLost, to);
        if was_up && self.over.is_none() {
            to.notice(Notice::State(SessionState::Connecting));
            self.tell(KeeperState::Disconnected, to);
        }
    }

    /// No server could be reached: requests that wait for one fail.
    pub(crate) fn unreachable(&mut self, to: &mut impl Handler<T, W>) {
        self.fail_waiting(&Error::ConnectionLost, to);
    }

    /// The session has expired, and a new one is to follow.
    fn expire(&mut self, to: &mut impl Handler<T, W>) {
        self.phase = Phase::Down;
        to.notice(Notice::State(SessionState::Connecting));
        self.part(KeeperState::Expired, &Error::SessionExpired, to);
        self.ticket = Ticket::default();
        self.timeout_ms = self.wanted_timeout_ms;
    }

    /// Nothing more will happen.
    pub(crate) fn end(&mut self, error: Error, to: &mut impl Handler<T, W>) {
        if self.over.is_some() {
            return;
        }
        let state = match error {
            Error::SessionExpired => SessionState::Expired,
            Error::AuthFailed => SessionState::AuthFailed,
            _ => SessionState::Closed,
        };
        self.over = Some(error.clone());
        self.phase = Phase::Down;
        to.notice(Notice::State(state));
        self.part(last_state(&error), &error, to);
    }

    /// Tells every watcher that the session is gone, and empties the tables.
    fn part(&mut self, state: KeeperState, error: &Error, to: &mut impl Handler<T, W>) {
        self.tell(state, to);
        let last = Event { kind: EventKind::None, state, path: None, zxid: Zxid(-1) };
        for watcher in self.watches.drain() {
            if !self.listeners.contains(&watcher) {
                to.event(&watcher, &last);
            }
        }
        self.fail_in_flight(error, to);
        self.fail_waiting(error, to);
    }

    fn fail_in_flight(&mut self, error: &Error, to: &mut impl Handler<T, W>) {
        for request in self.requests.take_in_flight() {
            self.fail(request.origin, error.clone(), to);
        }
        for tag in std::mem::take(&mut self.auth_in_flight).into_iter().flatten() {
            to.reply(tag, Err(error.clone()), &self.chroot);
        }
    }

    fn fail_waiting(&mut self, error: &Error, to: &mut impl Handler<T, W>) {
        for waiting in self.requests.take_waiting() {
            self.fail(Origin::User(waiting.tag), error.clone(), to);
        }
    }

    fn fail(&self, origin: Origin<T>, error: Error, to: &mut impl Handler<T, W>) {
        if let Origin::User(tag) = origin {
            to.reply(tag, Err(error), &self.chroot);
        }
    }

    fn tell(&self, state: KeeperState, to: &mut impl Handler<T, W>) {
        for listener in &self.listeners {
            to.state(listener, StateChange { state, session: self.ticket.session });
        }
    }

    fn send(&mut self, xid: i32, opcode: OpCode, body: &[u8]) {
        let at = start_frame(&mut self.out);
        let mut writer = Writer::new(&mut self.out);
        RequestHeader { xid, operation: opcode.code() }.write(&mut writer);
        writer.raw(body);
        end_frame(&mut self.out, at);
    }

    /// Bytes to be sent; the driver removes those that it has sent.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Why nothing more will happen, once that is so.
    pub(crate) fn over(&self) -> Option<&Error> {
        self.over.as_ref()
    }

    pub(crate) fn is_up(&self) -> bool {
        self.phase == Phase::Up
    }

    /// Whether the session waits for no connection: it is over, or the server has ended it.
    pub(crate) fn is_down(&self) -> bool {
        self.phase == Phase::Down
    }

    /// The session timeout that holds, or that is asked for.
    pub(crate) fn timeout_ms(&self) -> i32 {
        self.timeout_ms
    }

    pub(crate) fn chroot(&self) -> &Chroot {
        &self.chroot
    }

    pub(crate) fn ticket(&self) -> &Ticket {
        &self.ticket
    }

    fn connected_state(&self) -> KeeperState {
        if self.read_only_server { KeeperState::ConnectedReadOnly } else { KeeperState::SyncConnected }
    }
}

/// What listeners get at the end of a session.
const fn last_state(error: &Error) -> KeeperState {
    match error {
        Error::SessionExpired => KeeperState::Expired,
        Error::AuthFailed => KeeperState::AuthFailed,
        _ => KeeperState::Closed,
    }
}

#[cfg(test)]
mod tests;
