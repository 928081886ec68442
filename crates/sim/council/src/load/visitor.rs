//! A client that writes down what it asks and what it sees: one connection at a time, watches kept as client libraries
//! keep them. Decides nothing.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

use council_wire::{Reader, SessionId, WatcherEvent, xid};
use storage_raft_log::Disk;

use crate::client::{Client, Reply};
use crate::ensemble::Ensemble;
use crate::history::{Answer, Ask, Call, Connection, Delivery, Grant, History};
use crate::load::Watches;
use crate::node::{Node, SocketId};

/// A request on its way: when it arrives.
#[derive(Debug)]
struct Sending {
    due_ms: u64,
    call: usize,
    frame: Vec<u8>,
}

/// What a member has sent, on its way: when it arrives.
#[derive(Debug)]
struct Coming {
    due_ms: u64,
    bytes: Vec<u8>,
    left: Left,
}

/// When something left a member, what that one's life had begun with then, and when it had last begun to stand still.
#[derive(Clone, Copy, Debug)]
struct Left {
    at_ms: u64,
    began_zxid: i64,
    stood_still_from_ms: u64,
}

/// A connection that its client has left, of which the last has not arrived.
#[derive(Debug)]
struct Trailing {
    at: (u64, u64),
    conn: SocketId,
    sending: VecDeque<Sending>,
    /// Whether the server is told that the client has gone.
    says_so: bool,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Visitor {
    pub(super) name: usize,
    client: Option<Client>,
    /// Its server, and which of its lives.
    at: Option<(u64, u64)>,
    /// The shard that it was connected to last, of which life.
    last_shard: Option<(u64, u16)>,
    connection: usize,
    asked: VecDeque<(i32, usize)>,
    /// What it has sent, and what its server has sent, that is still on its way.
    sending: VecDeque<Sending>,
    coming: VecDeque<Coming>,
    /// What it sent over connections that it has left, and is still on its way.
    trailing: Vec<Trailing>,
    /// Whether nothing came through when it last looked.
    is_cut_off: bool,
    watches: Watches,
    /// The timeout that it asks for, and the one it was granted last.
    timeout_ms: i32,
    granted_ms: u64,
    pinged_ms: u64,
    heard_ms: u64,
    /// The password that it shows, if that is not its own.
    forged: bool,
    /// Who it says it is, on every connection.
    credentials: Vec<String>,
    /// The number of its first request.
    first_xid: i32,
    /// Until when it reads nothing and sends nothing; 0 if it is awake.
    sleeps_until_ms: u64,
    /// When it last woke up.
    woke_ms: u64,
}

impl Visitor {
    pub(super) fn new(name: usize, timeout_ms: i32) -> Self {
        Self {
            name,
            client: None,
            at: None,
            last_shard: None,
            connection: 0,
            asked: VecDeque::new(),
            sending: VecDeque::new(),
            coming: VecDeque::new(),
            trailing: Vec::new(),
            is_cut_off: false,
            watches: Watches::default(),
            timeout_ms,
            granted_ms: 0,
            pinged_ms: 0,
            heard_ms: 0,
            forged: false,
            credentials: Vec::new(),
            first_xid: 1,
            sleeps_until_ms: 0,
            woke_ms: 0,
        }
    }

    /// Its requests are numbered from there on.
    pub(super) const fn number_from(&mut self, first_xid: i32) {
        self.first_xid = first_xid;
    }

    pub(super) const fn timeout_ms(&self) -> u64 {
        if self.granted_ms > 0 { self.granted_ms } else { self.timeout_ms as u64 }
    }

    /// It asks for another timeout from its next connection on.
    pub(super) const fn wants_timeout(&mut self, timeout_ms: i32) {
        self.timeout_ms = timeout_ms;
    }

    /// Whether it has a connection, answered or not.
    pub(super) const fn is_there(&self) -> bool {
        self.at.is_some()
    }

    /// Whether it has a session on its connection.
    pub(super) fn is_served(&self) -> bool {
        self.at.is_some() && self.client.as_ref().is_some_and(|client| client.is_connected())
    }

    /// How many answers it waits for.
    pub(super) fn outstanding(&self) -> usize {
        self.asked.len()
    }

    /// Where it stands.
    pub(super) fn describe(&self) -> String {
        let (name, at, asked) = (self.name, self.at, &self.asked);
        let (served, session) = (self.is_served(), self.session());
        format!("\nclient {name}: at {at:?}, served {served}, session {session:?}, waits for {asked:?}")
    }

    /// Since when it has heard nothing while it waited.
    pub(super) const fn heard_ms(&self) -> u64 {
        self.heard_ms
    }

    /// The session it has, or will ask for; 0 for none.
    pub(super) fn session(&self) -> SessionId {
        self.client.as_ref().map_or(SessionId::NONE, |client| client.session)
    }

    /// Connects, and asks for the session it had.
    pub(super) fn open(&mut self, ensemble: &mut Ensemble, history: &mut History, member: u64) {
        let now_ms = ensemble.now_ms();
        let Some(life) = ensemble.life(member).filter(|_| ensemble.is_reached(member)) else { return };
        let shard = ensemble.shard_for_client(member);
        let Some(node) = ensemble.node(member) else { return };
        let (asked, seen_zxid) =
            self.client.as_ref().map_or((0, 0), |client| (client.session.0, client.last_zxid));
        match &mut self.client {
            Some(client) => client.reconnect_to(shard, node, self.timeout_ms),
            None => {
                let mut client = Client::connect_to(shard, address_of(self.name), node, self.timeout_ms);
                client.number_from(self.first_xid);
                self.client = Some(client);
            }
        }
        let Some((conn, address)) = self.client.as_ref().map(|client| (client.conn(), client.address()))
        else {
            return;
        };
        self.at = Some((member, life));
        let last_shard = self.last_shard.replace((life, shard));
        let moved = asked != 0 && last_shard.is_some_and(|(at, last)| at == life && last != shard);
        ensemble.count("session moved to another shard", u64::from(moved));
        self.connection = history.connections.len();
        (self.pinged_ms, self.heard_ms) = (now_ms, now_ms);
        ensemble.sim.trace.step("connect", &[self.name as u64, member, u64::from(shard), now_ms]);
        history.connections.push(Connection {
            life,
            conn,
            asked,
            asked_timeout_ms: self.timeout_ms,
            rightful: !self.forged,
            seen_zxid,
            ..Connection::opened(self.name, address, member, now_ms)
        });
    }

    /// It reads nothing and sends nothing for so long.
    pub(super) fn sleep(&mut self, ensemble: &mut Ensemble, long_ms: u64) {
        self.sleeps_until_ms = ensemble.now_ms() + long_ms;
        self.reads(ensemble, false);
    }

    pub(super) const fn sleeps(&self, now_ms: u64) -> bool {
        now_ms < self.sleeps_until_ms
    }

    /// It reads again the next time it looks.
    pub(super) fn wake_up(&mut self) {
        self.sleeps_until_ms = self.sleeps_until_ms.min(1);
    }

    fn reads(&self, ensemble: &mut Ensemble, reads: bool) {
        if let (Some(client), Some((member, life))) = (&self.client, self.at)
            && ensemble.life(member) == Some(life)
            && let Some(node) = ensemble.node(member)
        {
            node.sleep(client.conn(), !reads);
        }
    }

    /// It says who it is, now and on every later connection.
    pub(super) fn show(&mut self, ensemble: &mut Ensemble, history: &mut History, credentials: String) {
        if !self.credentials.contains(&credentials) {
            self.credentials.push(credentials.clone());
        }
        self.ask(ensemble, history, Ask::Auth { credentials });
    }

    /// It no longer knows what it has seen.
    pub(super) fn forget_seen(&mut self) {
        if let Some(client) = &mut self.client {
            client.last_zxid = 0;
        }
    }

    /// It says that it has seen that, if it ever was anywhere.
    pub(super) fn has_seen(&mut self, zxid: i64) {
        if let Some(client) = &mut self.client {
            client.last_zxid = zxid;
        }
    }

    /// The last transaction that it knows to have seen.
    pub(super) fn seen_zxid(&self) -> i64 {
        self.client.as_ref().map_or(0, |client| client.last_zxid)
    }

    /// It has another's session, password and all.
    pub(super) fn resemble(&mut self, other: &Self) {
        (self.client, self.timeout_ms) = (other.client.clone(), other.timeout_ms);
    }

    /// Somebody who knows a session, but not its password.
    pub(super) fn forge(&mut self, session: SessionId) {
        if let Some(client) = &mut self.client {
            (client.session, client.password, client.last_zxid) = (session, [7; 16], 0);
        }
        self.forged = true;
    }

    pub(super) fn ask(&mut self, ensemble: &mut Ensemble, history: &mut History, ask: Ask) -> Option<usize> {
        let now_ms = ensemble.now_ms();
        // Another life of that member knows other connections by the same names.
        let (member, _) = self.at.filter(|(member, life)| ensemble.life(*member) == Some(*life))?;
        let (reached, delay_ms) = (ensemble.is_reached(member), ensemble.client_delay_ms(member));
        let shard = self.shard();
        let arriving =
            Arriving { now_ms, is_slow: delay_ms > 0, is_still: ensemble.stands_still(member, shard) };
        let (client, node) = (self.client.as_mut()?, ensemble.node(member)?);
        let (xid, frame) = client.request(ask.opcode(), |writer| ask.write(writer));
        self.is_cut_off |= !reached;
        let number = history.calls.len();
        let due_ms = self.sending.back().map_or(0, |last| last.due_ms).max(now_ms + delay_ms);
        self.sending.push_back(Sending { due_ms, call: number, frame });
        history.calls.push(Call::sent(self.connection, ask, now_ms, xid));
        if !self.is_cut_off {
            arrive(&mut self.sending, node, client.conn(), history, arriving);
        }
        ensemble.sim.trace.step("ask", &[self.name as u64, xid as u64, now_ms]);
        if self.asked.is_empty() {
            self.heard_ms = now_ms;
        }
        history.connections[self.connection].calls.push(number);
        self.asked.push_back((xid, number));
        Some(number)
    }

    /// The shard that it is connected to.
    fn shard(&self) -> u16 {
        self.client.as_ref().map_or(0, |client| client.conn().shard)
    }

    pub(super) fn ping(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        let now_ms = ensemble.now_ms();
        if self.is_served() && now_ms >= self.pinged_ms + self.timeout_ms() / 3 {
            self.pinged_ms = now_ms;
            self.ask(ensemble, history, Ask::Ping);
        }
    }

    /// Leaves its server; what was not answered never will be. If it leaves without a word, the server takes the
    /// connection to stand.
    pub(super) fn part(&mut self, ensemble: &mut Ensemble, history: &mut History, says_so: bool) {
        let Some((member, life)) = self.at.take() else { return };
        let lives = ensemble.life(member) == Some(life) && ensemble.is_reached(member);
        let mut sending = std::mem::take(&mut self.sending);
        if self.is_cut_off {
            sending.clear();
        }
        self.coming.clear();
        self.is_cut_off = false;
        if let Some(client) = self.client.as_ref().filter(|_| lives) {
            let trailing = Trailing { at: (member, life), conn: client.conn(), sending, says_so };
            self.trailing.push(trailing);
            self.trail(ensemble, history);
        }
        history.connections[self.connection].ended_ms = Some(ensemble.now_ms());
        self.asked.clear();
    }

    /// Leaves a server of which it has heard nothing for too long.
    pub(super) fn give_up(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        history.connections[self.connection].silent_since_ms = Some(self.heard_ms);
        self.part(ensemble, history, true);
    }

    /// Forgets its session and who it was: the next connection asks for a new one.
    pub(super) fn forget(&mut self) {
        if let Some(client) = &mut self.client {
            client.forget();
        }
        self.watches = Watches::default();
        self.credentials.clear();
        self.forged = false;
    }

    /// What it sent over connections that it has left arrives there.
    fn trail(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        let now_ms = ensemble.now_ms();
        self.trailing.retain_mut(|trailing| {
            let (member, life) = trailing.at;
            if ensemble.life(member) != Some(life) || !ensemble.is_reached(member) {
                return false;
            }
            let (is_slow, is_still) =
                (ensemble.client_delay_ms(member) > 0, ensemble.stands_still(member, trailing.conn.shard));
            let Some(node) = ensemble.node(member) else { return false };
            arrive(
                &mut trailing.sending,
                node,
                trailing.conn,
                history,
                Arriving { now_ms, is_slow, is_still },
            );
            let is_over = trailing.sending.is_empty();
            if is_over && trailing.says_so {
                node.disconnect(trailing.conn);
            }
            !is_over
        });
    }

    /// Takes what came. Gives the calls that were answered.
    #[expect(clippy::too_many_lines, reason = "one loop over what came, whose state all its arms share")]
    pub(super) fn hear(&mut self, ensemble: &mut Ensemble, history: &mut History) -> Vec<usize> {
        let now_ms = ensemble.now_ms();
        self.trail(ensemble, history);
        if self.sleeps(now_ms) {
            return Vec::new();
        }
        if self.sleeps_until_ms > 0 {
            self.sleeps_until_ms = 0;
            (self.heard_ms, self.woke_ms) = (now_ms, now_ms);
            self.reads(ensemble, true);
        }
        let Some((member, life)) = self.at else { return Vec::new() };
        if ensemble.life(member) != Some(life) {
            self.part(ensemble, history, false);
            return Vec::new();
        }
        let shard = self.shard();
        let stood_still_from_ms = ensemble.stood_still_from_ms(member, shard);
        let delay_ms = ensemble.client_delay_ms(member);
        let arriving =
            Arriving { now_ms, is_slow: delay_ms > 0, is_still: ensemble.stands_still(member, shard) };
        self.is_cut_off |= !ensemble.is_reached(member);
        if !ensemble.is_reached(member) {
            return Vec::new();
        }
        let (Some(client), Some(node)) = (&mut self.client, ensemble.node(member)) else { return Vec::new() };
        if std::mem::take(&mut self.is_cut_off) {
            // It is as if it had slept: what it sent comes only now, and what it reads may be old.
            self.woke_ms = now_ms;
        }
        arrive(&mut self.sending, node, client.conn(), history, arriving);
        let was_connected = client.is_connected();
        let bytes = node.take(client.conn());
        if !bytes.is_empty() {
            let due_ms = self.coming.back().map_or(0, |last| last.due_ms).max(now_ms + delay_ms);
            let left = Left { at_ms: now_ms, began_zxid: node.began_zxid(), stood_still_from_ms };
            self.coming.push_back(Coming { due_ms, bytes, left });
        }
        let mut replies = Vec::new();
        let is_here = |coming: &mut Coming| delay_ms == 0 || coming.due_ms <= now_ms;
        while let Some(coming) = self.coming.pop_front_if(is_here) {
            let heard = client.hear(&coming.bytes).into_iter();
            replies.extend(heard.map(|reply| (reply, coming.left)));
        }
        let (closed, generation) = (node.is_closed(client.conn()), node.generation(client.conn()));
        let mut answered = Vec::new();
        if !was_connected && client.is_connected() {
            self.heard_ms = now_ms;
            let connection = &mut history.connections[self.connection];
            if client.timeout_ms > 0 {
                self.granted_ms = client.timeout_ms as u64;
                connection.grant = Some(Grant {
                    at_ms: now_ms,
                    session: client.session.0,
                    timeout_ms: client.timeout_ms as u64,
                    generation: generation.unwrap_or(0),
                });
                ensemble.sim.trace.step("granted", &[self.name as u64, client.session.0 as u64, now_ms]);
                for credentials in self.credentials.clone() {
                    self.ask(ensemble, history, Ask::Auth { credentials });
                }
                self.watch_anew(ensemble, history);
            } else {
                connection.refused_ms = Some(now_ms);
                self.part(ensemble, history, true);
                self.forget();
                return answered;
            }
        }
        for (reply, left) in replies {
            self.heard_ms = now_ms;
            ensemble.sim.trace.step("reply", &[self.name as u64, reply.xid as u64, reply.zxid as u64]);
            ensemble.sim.trace.bytes(&reply.body);
            answered.extend(self.note(reply, history, now_ms, left));
        }
        if closed && self.coming.is_empty() {
            self.part(ensemble, history, true);
        }
        answered
    }

    /// The watches that it had on another connection.
    fn watch_anew(&mut self, ensemble: &mut Ensemble, history: &mut History) {
        let relative_zxid = self.client.as_ref().map_or(0, |client| client.last_zxid);
        if let Some(ask) = self.watches.anew(relative_zxid) {
            self.ask(ensemble, history, ask);
        }
    }

    fn note(&mut self, reply: Reply, history: &mut History, now_ms: u64, left: Left) -> Option<usize> {
        let Reply { xid, zxid, err, body } = reply;
        let connection = &mut history.connections[self.connection];
        if xid == xid::NOTIFICATION {
            let event = WatcherEvent::read(&mut Reader::new(&body)).expect("an event");
            let path = event.path.to_owned();
            self.watches.fired(event.event, &path);
            connection.deliveries.push((now_ms, Delivery::Event { zxid, kind: event.event, path }));
            return None;
        }
        let Some(at) = self.asked.iter().position(|(asked, _)| *asked == xid) else {
            connection.deliveries.push((now_ms, Delivery::Stray { xid }));
            return None;
        };
        let (_, number) = self.asked.remove(at)?;
        connection.deliveries.push((now_ms, Delivery::Reply(number)));
        let call = &mut history.calls[number];
        (call.began_zxid, call.overslept) = (left.began_zxid, call.sent_ms < self.woke_ms);
        // Within one millisecond a member may hear of a request, answer it, and stand still before it sends that.
        let came_before = match call.heard_ms().cmp(&left.stood_still_from_ms) {
            Ordering::Less => true,
            Ordering::Equal => !call.reached_still,
            Ordering::Greater => false,
        };
        let was_kept_back = call.overslept || came_before;
        call.fresh_ms = if was_kept_back { call.heard_ms() } else { left.at_ms };
        call.answer = Some(Answer { at_ms: now_ms, zxid, err, body });
        self.watches.note(&call.ask, err);
        Some(number)
    }
}

/// Each client has an address of its own, so that one is not taken for another.
fn address_of(name: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(Ipv4Addr::new(10, 0, 0, 1).to_bits() + name as u32))
}

/// How things stand when something arrives.
#[derive(Clone, Copy)]
struct Arriving {
    now_ms: u64,
    /// Whether what is sent to the member takes time.
    is_slow: bool,
    /// Whether the member stands still.
    is_still: bool,
}

/// What has arrived is handed to the member. Where nothing is slow any more, that is everything.
fn arrive<D: Disk>(
    sending: &mut VecDeque<Sending>,
    node: &mut Node<D>,
    conn: SocketId,
    history: &mut History,
    Arriving { now_ms, is_slow, is_still }: Arriving,
) {
    while let Some(sent) = sending.pop_front_if(|sent| !is_slow || sent.due_ms <= now_ms) {
        node.send(conn, &sent.frame);
        let call = &mut history.calls[sent.call];
        (call.reached_ms, call.reached_still) = (now_ms, is_still);
    }
}
