//! The connections of one shard, as the event loop sees them: bytes in, requests to the handler, its replies out.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use base::{MonoTime, Now};
use net_event_loop::{Ask, ConnId, Frontend, Input, Output, SocketDriver, SocketsByConn};

use crate::connection::{Connection, Found, Late, Poller, Stage};
use crate::handler::{Handler, Replies};
use crate::limits::{Budget, HttpLimits};
use crate::message::{Refusal, RequestId};
use crate::pipe::Arrival;
use crate::places::Places;

/// Bytes behind the request that is being answered from which on no more is read from its connection.
const AHEAD_BYTES_MAX: usize = 64 << 10;

/// See the module.
pub(crate) struct Front<H: Handler> {
    handler: H,
    limits: HttpLimits,
    budget: Arc<Budget>,
    places: Places,
    poller: Poller,
    replies: Replies,
    /// Connections that are to be polled.
    runnable: VecDeque<ConnId>,
    /// Those that are to be polled in the next turn.
    next: Vec<ConnId>,
    dirty: Vec<ConnId>,
    asks: Vec<Ask>,
    /// When to look at the deadlines of which connections.
    timers: BTreeSet<(MonoTime, ConnId)>,
    mail: Vec<H::Mail>,
    now: Now,
}

impl<H: Handler> Front<H> {
    pub(crate) fn new(handler: H, limits: HttpLimits, budget: Arc<Budget>, now: Now) -> Self {
        Self {
            handler,
            limits,
            budget,
            places: Places::default(),
            poller: Poller::default(),
            replies: Replies::default(),
            runnable: VecDeque::new(),
            next: Vec::new(),
            dirty: Vec::new(),
            asks: Vec::new(),
            timers: BTreeSet::new(),
            mail: Vec::new(),
            now,
        }
    }

    /// Where mail of other threads is put before a turn.
    pub(crate) const fn mail(&mut self) -> &mut Vec<H::Mail> {
        &mut self.mail
    }

    /// Whether a turn has something to do at once.
    pub(crate) const fn has_work(&self) -> bool {
        !self.next.is_empty() || !self.replies.queue.is_empty()
    }

    /// When the handler's deadline passes, or a connection's may.
    pub(crate) fn deadline(&self) -> Option<MonoTime> {
        let timer = self.timers.first().map(|(at, _)| *at);
        self.handler.deadline().into_iter().chain(timer).min()
    }

    /// The server stops: what can be answered is, and no further request is read.
    pub(crate) fn stop(&mut self, now: Now) {
        self.handler.stop(&mut self.replies, now);
        for conn in self.places.ids() {
            if let Some(connection) = self.places.get_mut(conn) {
                connection.disable_keep_alive();
            }
            self.next.push(conn);
        }
    }

    /// Polls what is runnable and takes what the handler says, until there is nothing left.
    fn run(&mut self, now: Now) {
        loop {
            for (id, say) in std::mem::take(&mut self.replies.queue) {
                let Some(connection) = self.places.get_mut(id.conn) else { continue };
                if connection.request != id.number {
                    continue;
                }
                if connection.say(say, &self.limits, now.mono()) {
                    self.handler.gone(id);
                }
                self.runnable.push_back(id.conn);
            }
            if self.runnable.is_empty() {
                break;
            }
            while let Some(conn) = self.runnable.pop_front() {
                self.poll(conn, now);
            }
        }
    }

    fn poll(&mut self, conn: ConnId, now: Now) {
        let Some(connection) = self.places.get_mut(conn) else { return };
        let had_output = !connection.output().is_empty();
        let (was, found) = (connection.stage, connection.poll(&self.poller, now.mono()));
        if !had_output && !connection.output().is_empty() {
            self.dirty.push(conn);
        }
        let id = RequestId { conn, number: connection.request };
        match found {
            Found::Nothing => {}
            Found::Again => self.next.push(conn),
            Found::Arrival(Arrival::Whole(request)) => {
                self.handler.request(id, request, &mut self.replies, now);
            }
            Found::Arrival(Arrival::Refused(refusal)) => {
                connection.cut_short(self.handler.refusal(refusal), now.mono());
                self.runnable.push_back(conn);
            }
            Found::StreamGone => {
                self.handler.gone(id);
                self.runnable.push_back(conn);
            }
            Found::Over => {
                connection.stage = Stage::Over;
                self.asks.push(Ask::Close { conn, after_output: true });
                if matches!(was, Stage::Waiting | Stage::Streaming) {
                    self.handler.gone(id);
                }
            }
        }
        self.pace(conn);
        self.arm(conn);
    }

    /// Stops and resumes reading, by what has been read ahead.
    fn pace(&mut self, conn: ConnId) {
        let Some(connection) = self.places.get_mut(conn) else { return };
        let unread = connection.unread();
        if !connection.is_paused && unread > AHEAD_BYTES_MAX {
            connection.is_paused = true;
            self.asks.push(Ask::PauseReading(conn));
        } else if connection.is_paused && unread <= AHEAD_BYTES_MAX / 2 {
            connection.is_paused = false;
            self.asks.push(Ask::ResumeReading(conn));
        }
    }

    /// Sees to it that the connection's deadline is looked at in time. A later deadline is set when the earlier one is
    /// looked at, so that a request costs nothing here.
    fn arm(&mut self, conn: ConnId) {
        let Some(connection) = self.places.get_mut(conn) else { return };
        let Some((at, _)) = connection.deadline(&self.limits) else { return };
        if connection.looked_at.is_some_and(|looked_at| looked_at <= at) {
            return;
        }
        if let Some(before) = connection.looked_at.replace(at) {
            self.timers.remove(&(before, conn));
        }
        self.timers.insert((at, conn));
    }

    fn close_late(&mut self, now: Now) {
        while let Some((at, conn)) = self.timers.first().copied().filter(|(at, _)| *at <= now.mono()) {
            self.timers.remove(&(at, conn));
            let Some(connection) = self.places.get_mut(conn) else { continue };
            connection.looked_at = None;
            match connection.deadline(&self.limits) {
                Some((due, late)) if due <= now.mono() => self.too_late(conn, late, now),
                _ => self.arm(conn),
            }
        }
    }

    fn too_late(&mut self, conn: ConnId, late: Late, now: Now) {
        let Some(connection) = self.places.get_mut(conn) else { return };
        match late {
            Late::Idle => self.asks.push(Ask::Close { conn, after_output: true }),
            Late::Stalled => self.asks.push(Ask::Close { conn, after_output: false }),
            Late::Head => {
                connection.refuse_head(&self.handler.refusal(Refusal::HeadTooSlow(self.limits.head_ms_max)));
                self.dirty.push(conn);
                self.asks.push(Ask::Close { conn, after_output: true });
            }
            Late::Body => {
                let response = self.handler.refusal(Refusal::BodyTooSlow(self.limits.body_ms_max));
                connection.cut_short(response, now.mono());
                self.runnable.push_back(conn);
            }
        }
    }
}

impl<H: Handler, D: SocketDriver> Frontend<D> for Front<H> {
    fn accept(&mut self, _: D::Peer, now: Now) -> ConnId {
        let conn = self.places.insert(Connection::new(&self.limits, &self.budget, now.mono()));
        self.arm(conn);
        conn
    }

    fn evaluate(&mut self, _: &mut D, input: &mut Input<'_, D::Socket>, now: Now) {
        self.now = now;
        self.runnable.extend(self.next.drain(..));
        let mut mail = std::mem::take(&mut self.mail);
        mail.drain(..).for_each(|mail| self.handler.mail(mail, &mut self.replies, now));
        self.mail = mail;
        input.receive(|conn, bytes| {
            if let Some(connection) = self.places.get_mut(conn) {
                connection.feed(bytes, now.mono());
                self.runnable.push_back(conn);
            }
            bytes.len()
        });
        if self.handler.deadline().is_some_and(|at| at <= now.mono()) {
            self.handler.tick(&mut self.replies, now);
        }
        self.close_late(now);
        self.run(now);
    }

    fn send(&mut self, _: &mut D, _: Now) {
        self.handler.flush();
    }

    fn output(&self, conn: ConnId) -> Output<'_, D::File> {
        Output::bytes(self.places.get(conn).map_or(&[], Connection::output))
    }

    fn unsent(&self, conn: ConnId) -> usize {
        self.places.get(conn).map_or(0, |connection| connection.output().len())
    }

    fn sent(&mut self, conn: ConnId, count: usize) {
        if let Some(connection) = self.places.get_mut(conn).filter(|_| count > 0)
            && connection.sent(count, self.now.mono())
        {
            self.next.push(conn);
        }
    }

    fn take_dirty(&mut self, into: &mut Vec<ConnId>) {
        into.append(&mut self.dirty);
    }

    fn asks(&mut self, _: &mut D, _: &mut SocketsByConn<'_, D::Socket>, into: &mut Vec<Ask>) {
        into.append(&mut self.asks);
    }

    fn disconnected(&mut self, conn: ConnId) {
        let Some(connection) = self.places.remove(conn) else { return };
        if let Some(at) = connection.looked_at {
            self.timers.remove(&(at, conn));
        }
        if matches!(connection.stage, Stage::Waiting | Stage::Streaming) {
            self.handler.gone(RequestId { conn, number: connection.request });
        }
    }

    fn is_answered(&self) -> bool {
        let is_open = |connection: &Connection| {
            matches!(connection.stage, Stage::Waiting | Stage::Streaming) || !connection.output().is_empty()
        };
        !self.has_work() && !self.places.all().any(is_open)
    }

    fn sweep(&mut self) {}

    fn tick(&mut self, _: Now) {}
}
