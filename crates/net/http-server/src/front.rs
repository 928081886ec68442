//! The connections of one shard, as the event loop sees them: bytes in, requests to the handler, its replies out.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use base::{MonoTime, Now};
use net_event_loop::{Ask, ConnId, Frontend, Input, Output, SocketDriver, SocketsByConn};

use crate::connection::{Budgets, Connection, Late, Machines};
use crate::handler::{Handler, Replies};
use crate::limits::HttpLimits;
use crate::message::{Refusal, RequestId};
use crate::places::Places;

/// Bytes behind the request that is being answered from which on no more is read from its connection.
const AHEAD_BYTES_MAX: usize = 64 << 10;

/// Who has connected.
pub(crate) struct Peer {
    /// The holder of the certificate that was shown.
    pub(crate) certificate: Option<Arc<str>>,
}

/// See the module.
pub(crate) struct Front<H: Handler> {
    handler: H,
    limits: HttpLimits,
    machines: Machines,
    places: Places,
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
    /// The second, and how responses write it.
    date: (i64, String),
}

impl<H: Handler> Front<H> {
    pub(crate) fn new(handler: H, limits: HttpLimits, budgets: Budgets, now: Now) -> Self {
        Self {
            handler,
            limits,
            machines: Machines::new(&limits, budgets),
            places: Places::default(),
            replies: Replies::default(),
            runnable: VecDeque::new(),
            next: Vec::new(),
            dirty: Vec::new(),
            asks: Vec::new(),
            timers: BTreeSet::new(),
            mail: Vec::new(),
            now,
            date: (i64::MIN, String::new()),
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
                connection.end();
            }
            self.next.push(conn);
        }
    }

    /// Polls what is runnable and takes what the handler says, until there is nothing left.
    fn run(&mut self, now: Now) {
        loop {
            let mut said = std::mem::take(&mut self.replies.queue);
            for (id, say) in said.drain(..) {
                let Some(connection) = self.places.get_mut(id.conn) else { continue };
                if connection.say(id.number, say, &self.limits, &self.machines) {
                    self.handler.gone(id);
                }
                self.make_runnable(id.conn);
            }
            // Nothing was said meanwhile: the next answers find its room.
            self.replies.queue = said;
            if self.runnable.is_empty() {
                break;
            }
            while let Some(conn) = self.runnable.pop_front() {
                self.poll(conn, now);
            }
        }
    }

    fn make_runnable(&mut self, conn: ConnId) {
        if let Some(connection) = self.places.get_mut(conn)
            && !connection.is_runnable
        {
            connection.is_runnable = true;
            self.runnable.push_back(conn);
        }
    }

    /// Reads requests and shows them, and writes responses.
    fn poll(&mut self, conn: ConnId, now: Now) {
        let Some(connection) = self.places.get_mut(conn) else { return };
        connection.is_runnable = false;
        if connection.poll(&self.machines, now.mono()) {
            self.next.push(conn);
        }
        while let Some((number, arrival)) = connection.next_arrival() {
            let id = RequestId { conn, number };
            match arrival {
                Ok(mut request) => {
                    request.certificate.clone_from(&connection.certificate);
                    self.handler.request(id, request, &mut self.replies, now);
                }
                Err(refusal) => self.replies.respond(id, self.handler.refusal(refusal)),
            }
        }
        self.write(conn, now);
        self.pace(conn);
        self.arm(conn);
    }

    /// Writes what is ready, and closes what is over.
    fn write(&mut self, conn: ConnId, now: Now) {
        let Some(connection) = self.places.get_mut(conn) else { return };
        let had_output = !connection.output().is_empty();
        for number in connection.write(&self.date.1, now.mono()) {
            self.handler.gone(RequestId { conn, number });
        }
        if !had_output && !connection.output().is_empty() {
            self.dirty.push(conn);
        }
        if connection.takes_more(now.mono()) {
            self.next.push(conn);
        }
        if (connection.is_over() || connection.is_broken) && !connection.is_closing {
            connection.is_closing = true;
            self.asks.push(Ask::Close { conn, after_output: !connection.is_broken });
        }
    }

    fn set_date(&mut self) {
        let second = self.now.wall.ms().div_euclid(1_000);
        if self.date.0 != second {
            let time = UNIX_EPOCH + Duration::from_secs(second.max(0).cast_unsigned());
            self.date = (second, httpdate::fmt_http_date(time));
        }
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
                let response = self.handler.refusal(Refusal::HeadTooSlow(self.limits.head_ms_max));
                connection.refuse(response, &self.machines);
            }
            Late::Body => {
                let response = self.handler.refusal(Refusal::BodyTooSlow(self.limits.body_ms_max));
                connection.refuse(response, &self.machines);
            }
            Late::Rest => connection.rest(now.mono()),
        }
        self.make_runnable(conn);
    }
}

impl<H: Handler, D: SocketDriver<Peer = Peer>> Frontend<D> for Front<H> {
    fn accept(&mut self, peer: Peer, now: Now) -> ConnId {
        let conn = self.places.insert(Connection::new(peer.certificate, now.mono()));
        self.arm(conn);
        conn
    }

    fn evaluate(&mut self, _: &mut D, input: &mut Input<'_, D::Socket>, now: Now) {
        self.now = now;
        self.set_date();
        std::mem::take(&mut self.next).into_iter().for_each(|conn| self.make_runnable(conn));
        let mut mail = std::mem::take(&mut self.mail);
        mail.drain(..).for_each(|mail| self.handler.mail(mail, &mut self.replies, now));
        self.mail = mail;
        input.receive(|conn, bytes| {
            if let Some(connection) = self.places.get_mut(conn) {
                connection.feed(bytes, now.mono());
            }
            self.make_runnable(conn);
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
        let (now, connection) = (self.now, self.places.get_mut(conn).filter(|_| count > 0));
        if connection.is_some_and(|connection| connection.sent(count, now.mono())) {
            self.write(conn, now);
            self.arm(conn);
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
        for number in connection.open() {
            self.handler.gone(RequestId { conn, number });
        }
    }

    fn is_answered(&self) -> bool {
        !self.has_work() && self.places.all().all(Connection::is_answered)
    }

    fn sweep(&mut self) {}

    fn tick(&mut self, _: Now) {}
}
