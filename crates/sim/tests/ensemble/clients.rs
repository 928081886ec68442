//! Clients that write, read and sync on whichever member takes them, and remember enough to judge what they see.

use std::collections::{BTreeMap, VecDeque};

use jute::{OpCode, Reader, SessionId};
use sim::client::{Client, Reply};
use sim::ensemble::Ensemble;
use sim::random::Random;

/// What a session is granted, milliseconds.
const TIMEOUT_MS: i32 = 6_000;
/// Requests that a client has under way at most.
const OUTSTANDING_MAX: usize = 8;

/// A request that was not answered yet.
enum Asked {
    /// The client's number was written to its own node.
    Set(u64),
    /// A node of the common queue was made for this number.
    Queued(u64),
    /// Its own node was read, which must show at least this number, and at most what was sent.
    Own { least: u64 },
    /// Another's node was read behind a sync.
    Other { least: u64 },
    /// The answer means nothing.
    Whatever,
}

struct Writer {
    name: usize,
    client: Option<(u64, Client)>,
    /// Kept for a session that is to be taken up elsewhere.
    parted: Option<Client>,
    asked: BTreeMap<i32, Asked>,
    sent: u64,
    /// The highest number that the server said it had taken.
    acknowledged: u64,
    queued: BTreeMap<u64, bool>,
    created: bool,
    session: SessionId,
    last_zxid: i64,
    /// When the latest request was sent that was answered.
    heard_ms: u64,
    asked_ms: BTreeMap<i32, u64>,
    /// Its server's life, which its connection does not outlast.
    life: Option<u64>,
    /// When the pings were sent that were not answered yet.
    pings: VecDeque<u64>,
    pinged_ms: u64,
    idle_moments: u64,
}

/// All clients.
pub(crate) struct Crowd {
    random: Random,
    seed: u64,
    writers: Vec<Writer>,
}

impl Crowd {
    pub(crate) fn new(seed: u64, clients: usize) -> Self {
        let writer = |name| Writer {
            name,
            client: None,
            parted: None,
            asked: BTreeMap::new(),
            sent: 0,
            acknowledged: 0,
            queued: BTreeMap::new(),
            created: false,
            session: SessionId::NONE,
            last_zxid: 0,
            heard_ms: 0,
            asked_ms: BTreeMap::new(),
            life: None,
            pings: VecDeque::new(),
            pinged_ms: 0,
            idle_moments: 0,
        };
        Self { random: Random::new(seed ^ 0x5eed), seed, writers: (0..clients).map(writer).collect() }
    }

    pub(crate) fn acknowledged(&self) -> u64 {
        self.writers.iter().map(|writer| writer.acknowledged).sum()
    }

    /// Whether nobody waits for an answer.
    pub(crate) fn is_done(&self) -> bool {
        self.writers.iter().all(|writer| {
            writer.asked.is_empty() && writer.client.as_ref().is_some_and(|(_, client)| client.is_connected())
        })
    }

    /// Where everybody stands.
    pub(crate) fn describe(&self) -> String {
        let one = |writer: &Writer| {
            let at = writer.client.as_ref().map(|(id, client)| (*id, client.conn(), client.is_connected()));
            let (session, zxid, asked) = (writer.session, writer.last_zxid, writer.asked.keys());
            format!("\nclient {}: {at:?}, session {session:?}, zxid {zxid:x}, asked {asked:?}", writer.name)
        };
        self.writers.iter().map(one).collect()
    }

    /// Everybody hears what there is, and sometimes asks for something.
    pub(crate) fn moment(&mut self, ensemble: &mut Ensemble) {
        self.hear_all(ensemble);
        for place in 0..self.writers.len() {
            if self.random.chance(50) {
                self.ask(place, ensemble);
            }
            // Somebody else's server may do better.
            if self.random.below(400) == 0 {
                self.writers[place].part(ensemble);
            }
        }
    }

    /// Everybody waits for what is still to come.
    pub(crate) fn finish(&mut self, ensemble: &mut Ensemble) {
        self.hear_all(ensemble);
    }

    fn hear_all(&mut self, ensemble: &mut Ensemble) {
        let running = ensemble.running();
        for writer in &mut self.writers {
            writer.hear(ensemble, self.seed);
            if writer.client.is_none() && !running.is_empty() {
                let id = running[self.random.below(running.len() as u64) as usize];
                writer.connect(ensemble, id);
            }
            writer.ping(ensemble);
        }
    }

    fn ask(&mut self, place: usize, ensemble: &mut Ensemble) {
        let other = self.random.below(self.writers.len() as u64) as usize;
        let least = self.writers[other].acknowledged;
        let drawn = self.random.below(10);
        let writer = &mut self.writers[place];
        let now_ms = ensemble.now_ms();
        let Some((id, client)) = &mut writer.client else { return };
        let Some(node) = ensemble.node(*id) else { return };
        if !client.is_connected() || writer.asked.len() >= OUTSTANDING_MAX {
            return;
        }
        let path = format!("/w{}", writer.name);
        let (xid, asked) = match drawn {
            _ if !writer.created => {
                writer.created = true;
                client.create(node, "/q", b"", 0);
                (client.create(node, &path, b"0", 0), Asked::Whatever)
            }
            0..4 => {
                writer.sent += 1;
                (client.set(node, &path, writer.sent.to_string().as_bytes()), Asked::Set(writer.sent))
            }
            4..6 => {
                writer.sent += 1;
                writer.queued.insert(writer.sent, false);
                let data = format!("{} {}", writer.name, writer.sent);
                (client.create(node, "/q/n-", data.as_bytes(), 2), Asked::Queued(writer.sent))
            }
            6..8 => {
                // A read behind a write of its own sees it, whatever became of those before.
                let sets = writer.asked.values().filter_map(|asked| match asked {
                    Asked::Set(number) => Some(*number),
                    _ => None,
                });
                let least = sets.max().unwrap_or(0).max(writer.acknowledged);
                (client.get(node, &path, false), Asked::Own { least })
            }
            _ => {
                let path = format!("/w{other}");
                let xid = client.ask(node, OpCode::Sync, |out| {
                    out.text(&path);
                });
                writer.asked.insert(xid, Asked::Whatever);
                writer.asked_ms.insert(xid, now_ms);
                (client.get(node, &path, false), Asked::Other { least })
            }
        };
        writer.asked.insert(xid, asked);
        writer.asked_ms.insert(xid, now_ms);
    }

    /// Everything is quiet: what the members hold is compared with what the clients were told.
    pub(crate) fn judge(&self, ensemble: &mut Ensemble) {
        let Some(node) = ensemble.running().first().copied().and_then(|id| ensemble.node(id)) else { return };
        let tree = node.tree();
        let mut found: BTreeMap<(usize, u64), u64> = BTreeMap::new();
        let mut last = vec![0; self.writers.len()];
        if let Some(queue) = tree.node("/q") {
            let mut names: Vec<_> = queue.children().map(str::to_owned).collect();
            names.sort_unstable();
            for name in names {
                let node = tree.node(&format!("/q/{name}")).expect("a child is there");
                let text = String::from_utf8(node.data().unwrap_or_default().to_vec()).expect("text");
                let (writer, number) = text.split_once(' ').expect("two numbers");
                let key: (usize, u64) =
                    (writer.parse().expect("a number"), number.parse().expect("a number"));
                *found.entry(key).or_default() += 1;
                assert!(last[key.0] < key.1, "seed {}: {text} stands behind {}", self.seed, last[key.0]);
                last[key.0] = key.1;
            }
        }
        for writer in &self.writers {
            for (number, acknowledged) in &writer.queued {
                let times = found.get(&(writer.name, *number)).copied().unwrap_or(0);
                assert!(times <= 1, "seed {}: {} {number} took effect {times} times", self.seed, writer.name);
                assert!(times == 1 || !acknowledged, "seed {}: {} {number} is lost", self.seed, writer.name);
            }
        }
    }
}

impl Writer {
    fn connect(&mut self, ensemble: &mut Ensemble, id: u64) {
        self.life = ensemble.life(id);
        let Some(node) = ensemble.node(id) else { return };
        let client = match self.parted.take() {
            Some(mut client) => {
                client.reconnect(node, TIMEOUT_MS);
                client
            }
            None => Client::connect(node, TIMEOUT_MS),
        };
        self.pinged_ms = ensemble.now_ms();
        self.idle_moments = 0;
        self.client = Some((id, client));
    }

    /// Leaves its server; what was not answered never will be.
    fn part(&mut self, ensemble: &mut Ensemble) {
        if let Some((id, client)) = self.client.take() {
            let lives = ensemble.life(id) == self.life;
            if let Some(node) = ensemble.node(id).filter(|_| lives) {
                node.disconnect(client.conn());
            }
            self.parted = Some(client);
        }
        self.asked.clear();
        self.asked_ms.clear();
        self.pings.clear();
    }

    fn ping(&mut self, ensemble: &mut Ensemble) {
        let now_ms = ensemble.now_ms();
        let Some((id, client)) = &mut self.client else { return };
        let Some(node) = ensemble.node(*id) else { return };
        if client.is_connected() && now_ms >= self.pinged_ms + TIMEOUT_MS as u64 / 3 {
            self.pinged_ms = now_ms;
            client.ask(node, OpCode::Ping, |_| {});
            self.pings.push_back(now_ms);
        }
    }

    fn hear(&mut self, ensemble: &mut Ensemble, seed: u64) {
        let now_ms = ensemble.now_ms();
        let Some((id, client)) = &mut self.client else { return };
        if ensemble.life(*id) != self.life {
            return self.part(ensemble);
        }
        let Some(node) = ensemble.node(*id) else { return self.part(ensemble) };
        let was_connected = client.is_connected();
        let replies = client.replies(node);
        let gone = node.is_closed(client.conn());
        if !was_connected && client.is_connected() {
            let granted = client.timeout_ms > 0;
            let again = self.session != SessionId::NONE;
            if granted {
                if again {
                    assert_eq!(client.session, self.session, "seed {seed}: another's session was granted");
                }
                self.session = client.session;
                self.heard_ms = self.heard_ms.max(self.pinged_ms);
            } else {
                let silent_ms = now_ms - self.heard_ms;
                assert!(
                    silent_ms >= TIMEOUT_MS as u64,
                    "seed {seed}: session {:?} of client {} ended {silent_ms} ms after it was heard of",
                    self.session,
                    self.name
                );
                self.session = SessionId::NONE;
                self.part(ensemble);
                (self.parted, self.last_zxid) = (None, 0);
                return;
            }
        }
        let heard = !replies.is_empty();
        for reply in replies {
            self.answered(&reply, seed);
        }
        self.idle_moments = if heard || self.asked.is_empty() { 0 } else { self.idle_moments + 1 };
        let connected = self.client.as_ref().is_some_and(|(_, client)| client.is_connected());
        if !connected {
            self.idle_moments += 1;
        }
        // A client that hears nothing for long tries another server.
        if gone || self.idle_moments > 400 {
            self.part(ensemble);
        }
    }

    fn answered(&mut self, reply: &Reply, seed: u64) {
        let asked_ms = match reply.xid {
            jute::xid::PING => self.pings.pop_front(),
            xid => self.asked_ms.remove(&xid),
        };
        self.heard_ms = self.heard_ms.max(asked_ms.unwrap_or(0));
        if reply.zxid > 0 {
            assert!(
                reply.zxid >= self.last_zxid,
                "seed {seed}: client {} was taken back in time, from {:x} by {reply:x?}",
                self.name,
                self.last_zxid
            );
            self.last_zxid = reply.zxid;
        }
        match self.asked.remove(&reply.xid) {
            Some(Asked::Set(number)) if reply.err == 0 => self.acknowledged = self.acknowledged.max(number),
            Some(Asked::Queued(number)) if reply.err == 0 => {
                self.queued.insert(number, true);
            }
            Some(Asked::Own { least }) if reply.err == 0 => {
                let shown = shown(reply);
                assert!(
                    (least..=self.sent).contains(&shown),
                    "seed {seed}: client {} saw {shown} of its own, at least {least}, acknowledged {}: {reply:x?}",
                    self.name,
                    self.acknowledged
                );
            }
            Some(Asked::Other { least }) if reply.err == 0 => {
                let shown = shown(reply);
                assert!(shown >= least, "seed {seed}: behind a sync {shown}, acknowledged before {least}");
            }
            _ => {}
        }
    }
}

fn shown(reply: &Reply) -> u64 {
    let data = Reader::new(&reply.body).buffer().expect("data").unwrap_or_default().to_vec();
    String::from_utf8(data).expect("text").parse().expect("a number")
}
