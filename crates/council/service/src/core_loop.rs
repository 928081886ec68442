//! The core's turns: mail of shards and journal in, effects and streams out, the tree lent for writing only while
//! something is applied. `node_group::CoreTurns` says on which thread.

use base::{MonoTime, Now};
use consensus_replica::{Fault, JournalEvent, JournalRequest, MemberId};
use node_threads::{Clock, Mailbox};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use consensus_replica::lifecycle::Ending;
use council_frontend::{FromCore, ToCore};
use council_replica::{Core, PeerMessage};
use council_tree::Tree;
use net_peer_pairs::Lane;
use net_peers::{Established, Message, News, PeerConnections, Polling};
use net_reactor::Turns;
use node_group::{CoreTurns, JournalMail, JournalPort, SharedJournal, fall_asleep, poll_fault};
use parking_lot::RwLock;

use crate::chronicle::Chronicle;
use crate::counters::CoreCounters;
use crate::counters::leadership::{LeadershipCounters, Stand};
use crate::disk::DirDisk;
use crate::error::StartError;
use crate::messages::{CoreMail, ShardMail};
use crate::peer_report::PeerReport;
use crate::peers::{self, CHANNEL};
use crate::restore::Restoration;
use crate::serving_state::ServingState;
use crate::session_clients::SessionClients;

/// How often the tree is written to before mail is looked at again.
const APPLIES_IN_A_ROW: usize = 16;

/// Items that may lie in a shard's stream before nothing more is applied: a shard that stands still must not make the
/// others' writes pile up in memory.
const STREAM_ITEMS_MAX: usize = 1 << 18;
/// A stream of so few items that this thread may deliver them itself: what a write has changed, and its outcome.
const STREAM_ITEMS_FEW: usize = 2;
/// How long applying is put off then.
const STREAM_PAUSE: Duration = Duration::from_millis(2);
/// How often and how long a command that takes long is put off for shards that have not read yet what they were told.
const LET_READ_TIMES: u32 = 10;
const LET_READ_PAUSE: Duration = Duration::from_micros(100);

/// Told once whether the start succeeded: to whoever waits for it, else a failure is a fault of the running server.
pub(crate) type Started = Sender<Result<(), StartError>>;

/// The core's turns.
pub(crate) type CouncilTurns = CoreTurns<CoreLoop>;

/// The mailboxes around the core.
pub(crate) struct CoreLinks {
    pub(crate) mail: Arc<Mailbox<CoreMail>>,
    /// Connections to other members.
    pub(crate) established: Arc<Mailbox<Established>>,
    /// By shard.
    pub(crate) from_shards: Vec<Arc<Mailbox<ToCore>>>,
    /// By shard.
    pub(crate) to_shards: Vec<Arc<Mailbox<FromCore>>>,
    /// By shard: to take its turn on this thread.
    pub(crate) turns: Vec<Arc<Turns>>,
    /// By shard: whether any client of it watches anything. Read only where the tree's lock was held since.
    pub(crate) watches: Vec<Arc<AtomicBool>>,
    /// By shard: what is none of the core's stream.
    pub(crate) shard_mail: Vec<Arc<Mailbox<ShardMail>>>,
    pub(crate) from_journal: Arc<Mailbox<JournalEvent>>,
    pub(crate) to_journal: Arc<Mailbox<JournalMail>>,
    pub(crate) tree: Arc<RwLock<Tree>>,
    pub(crate) session_clients: Arc<SessionClients>,
}

impl CoreLinks {
    fn have_mail(&self) -> bool {
        !self.mail.is_empty()
            || !self.established.is_empty()
            || !self.from_journal.is_empty()
            || self.from_shards.iter().any(|mailbox| !mailbox.is_empty())
    }
}

/// How a core's loop ended, and what the next one goes on with.
pub(crate) struct End {
    pub(crate) ending: Ending,
    pub(crate) links: CoreLinks,
    pub(crate) peers: Option<PeerConnections>,
    /// A tree that is to replace this one.
    pub(crate) restoration: Option<Restoration>,
}

/// What a member is among the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Part {
    leader: Option<MemberId>,
    serving: bool,
}

/// See the module.
pub(crate) struct CoreLoop {
    core: Core,
    links: CoreLinks,
    journal: JournalPort<DirDisk>,
    metrics: Arc<CoreCounters>,
    leadership: Arc<LeadershipCounters>,
    clock: Clock,
    messages: Vec<ToCore>,
    answers: Vec<JournalEvent>,
    /// Shards whose stream has grown and who have not been woken yet.
    unwoken: Vec<bool>,
    side_bytes: usize,
    /// What the log may say, as far as was told.
    level: u32,
    standing: Arc<ServingState>,
    /// The other members, in an ensemble.
    peers: Option<PeerConnections>,
    /// How often the members had changed when the switchboard was last told.
    roster_seen: u64,
    chronicle: Chronicle,
    /// What the log has said of this member's part last.
    part: Part,
    /// Told once, when requests can be served.
    serves: Option<Started>,
    restoration: Option<Box<Restoration>>,
    report: PeerReport,
    stopping: bool,
}

impl CoreLoop {
    pub(crate) fn new(
        core: Core,
        (links, journal): (CoreLinks, Arc<SharedJournal<DirDisk>>),
        (metrics, leadership): (Arc<CoreCounters>, Arc<LeadershipCounters>),
        standing: Arc<ServingState>,
        clock: Clock,
        peers: Option<PeerConnections>,
        serves: Started,
    ) -> Self {
        let unwoken = vec![false; links.to_shards.len()];
        let level = links.tree.read().feature_level();
        leadership.begin(clock.now().mono());
        let journal = JournalPort::new(journal, Arc::clone(&links.to_journal));
        Self {
            core,
            links,
            journal,
            metrics,
            leadership,
            clock,
            messages: Vec::new(),
            answers: Vec::new(),
            unwoken,
            side_bytes: 0,
            level,
            standing,
            peers,
            roster_seen: 0,
            chronicle: Chronicle::default(),
            part: Part::default(),
            serves: Some(serves),
            restoration: None,
            report: PeerReport::default(),
            stopping: false,
        }
    }

    /// Why the loop ended, and what the next one goes on with.
    pub(crate) fn end(self) -> End {
        let ending = match (Ending::of(self.core.tenure()), &self.restoration) {
            _ if self.stopping => Ending::Stopped,
            (Some(ending), _) => ending,
            (None, Some(_)) => Ending::Restore,
            (None, None) => Ending::Stopped,
        };
        let Self { links, peers, restoration, .. } = self;
        End { ending, links, peers, restoration: restoration.map(|restoration| *restoration) }
    }

    /// Tells the other threads how things stand.
    fn publish(&mut self) {
        let leads_others = self.peers.is_some() && self.core.leader() == Some(self.core.id());
        self.standing.set(self.core.is_serving(), leads_others, self.core.lease_until());
        if let Some(peers) = &mut self.peers
            && self.roster_seen != self.core.roster_changes()
        {
            self.roster_seen = self.core.roster_changes();
            if let Some(roster) = self.core.roster() {
                peers.know(peers::addresses(roster), roster.text());
            }
            self.chronicle.members(&self.core);
            if self.core.is_leaving() {
                // Twice is once: a shard that parts already goes on.
                self.links.shard_mail.iter().for_each(|shard| shard.put(ShardMail::Part));
            }
        }
        self.chronicle.votes(&self.core);
    }

    /// Takes in what other members say.
    fn hear_peers(&mut self, now: Now) -> Result<(), Fault> {
        let Some(peers) = &mut self.peers else { return Ok(()) };
        let mut established = Vec::new();
        self.links.established.take_all(&mut established);
        for connection in established {
            peers.take(connection, now.mono());
        }
        peers.turn(now.mono()).map_err(|error| poll_fault(&error))?;
        while let Some(news) = peers.next_news() {
            match news {
                News::Message(Message { from, pair, bytes, .. }) => match PeerMessage::decode(bytes) {
                    Ok(message) => {
                        self.leadership.heard(from.number());
                        self.core.peer(from, message, now)?;
                    }
                    Err(error) => peers.refuse(pair, error.0),
                },
                News::Up(id, level) => {
                    self.core.understands(id, level);
                    self.leadership.link(id.number(), Some(now.wall));
                    if !id.is_blank() {
                        self.core.link(id, true, now);
                    }
                }
                News::Down(id) => {
                    self.leadership.link(id.number(), None);
                    if !id.is_blank() {
                        self.core.link(id, false, now);
                    }
                }
                News::Lost(id, _) => self.core.lost(id, now),
            }
        }
        append_streams(&mut self.core, &self.links, &mut self.unwoken);
        Ok(())
    }

    /// Says when this member's part among the others has changed.
    fn tell_part(&mut self) {
        if self.peers.is_none() {
            return;
        }
        let part = Part { leader: self.core.leader(), serving: self.core.is_serving() };
        if part == self.part {
            return;
        }
        let stalled_ms = self.core.disk_stalled_ms();
        if stalled_ms > 0 && (self.part.serving && !part.serving) {
            tracing::warn!(
                stalled_ms,
                "this member's disk does not keep up with the others': its clients go elsewhere"
            );
        }
        match (part.leader, part.serving) {
            (None, true) => tracing::warn!("the leader is lost; clients are served while the lease lasts"),
            (None, false) => tracing::warn!("there is no leader: clients are not served"),
            (Some(leader), serving) if leader == self.core.id() => {
                tracing::info!(serving, term = self.core.term().0, "this member leads");
            }
            (Some(leader), serving) => {
                tracing::info!(
                    leader = leader.number().0,
                    serving,
                    term = self.core.term().0,
                    "this member follows"
                );
            }
        }
        self.part = part;
    }

    /// For whoever asks later.
    fn note(&mut self, now: Now) {
        if self.peers.is_none() {
            return;
        }
        let leader = self.core.leader();
        let leads = leader == Some(self.core.id());
        let stand = Stand {
            term: self.core.term(),
            leader: leader.map(MemberId::number),
            leads,
            serving: self.core.is_serving(),
        };
        self.leadership.note(stand, now.mono());
        self.report.tell(&mut self.core, now.mono());
        self.leadership.applied(self.core.applied_index(), leads, || self.clock.mono_us());
        if self.leadership.trail.is_due(now.mono()) {
            let zxid = self.links.tree.read().last_zxid();
            self.leadership.trail.step(now.mono(), self.core.applied_index(), zxid);
        }
    }

    fn take_mail(&self) -> Vec<CoreMail> {
        let mut mail = Vec::new();
        self.links.mail.take_all(&mut mail);
        mail
    }

    fn read_mail(&mut self, mail: Vec<CoreMail>) {
        for message in mail {
            match message {
                CoreMail::Ask(question) => question(&mut self.core),
                // Among others, dropping it tells whoever waits.
                CoreMail::Restore(restoration) if self.peers.is_none() => {
                    self.restoration = Some(restoration)
                }
                CoreMail::Restore(_) => {}
                CoreMail::Stop => self.stopping = true,
            }
        }
    }

    /// Takes in what shards and journal say. This thread alone writes the tree, so nobody waits for its read guard.
    fn listen(&mut self, now: Now) -> Result<(), Fault> {
        self.links.from_journal.take_all(&mut self.answers);
        for answer in self.answers.drain(..) {
            self.core.journal(answer, now)?;
        }
        let tree = self.links.tree.read();
        for (number, mailbox) in self.links.from_shards.iter().enumerate() {
            let since_us = mailbox.take_all_since(&mut self.messages);
            if !self.messages.is_empty() {
                let waited_us = now.mono_us.saturating_sub(since_us.unwrap_or(now.mono_us));
                self.metrics.received(self.messages.len() as u64, waited_us);
            }
            let shard = u16::try_from(number).expect("shards are counted in 16 bits");
            for message in self.messages.drain(..) {
                self.core.receive(shard, message, &tree);
            }
        }
        if now.mono() >= self.core.next_deadline() {
            self.core.tick(now, &tree);
        }
        append_streams(&mut self.core, &self.links, &mut self.unwoken);
        Ok(())
    }

    /// Applies what is committed. The streams are appended before the tree is unlocked: whoever reads the tree finds
    /// everything that led to it in its stream.
    fn apply(&mut self, mut now: Now) -> Result<(), Fault> {
        for _ in 0..APPLIES_IN_A_ROW {
            if !self.core.has_work(self.side_bytes) || self.is_held_up() {
                break;
            }
            // Applying may take long: the journal's thread flushes meanwhile.
            if !self.core.has_little_to_apply() {
                self.journal.leave_to_journal();
            }
            let began = self.clock.mono_us();
            let level;
            let replaced = {
                let mut tree = self.links.tree.write();
                let replaced = self.core.apply(&mut tree, now)?;
                self.side_bytes = tree.snapshot_side_bytes();
                append_streams(&mut self.core, &self.links, &mut self.unwoken);
                level = tree.feature_level();
                replaced
            };
            self.tell_level(level);
            // Freed without the guard: it may be large.
            drop(replaced);
            // It may have taken long.
            now = self.clock.now();
            self.metrics.apply_us.record(now.mono_us - began);
            self.propose(now);
            if self.core.puts_off() {
                self.let_read();
            }
        }
        Ok(())
    }

    /// What shards were told is read before the tree is locked for long, if they come to it soon.
    fn let_read(&self) {
        self.links.to_shards.iter().filter(|shard| !shard.is_empty()).for_each(|shard| shard.wake());
        for _ in 0..LET_READ_TIMES {
            if self.links.to_shards.iter().all(|shard| shard.is_empty()) {
                return;
            }
            std::thread::sleep(LET_READ_PAUSE);
        }
    }

    /// Whoever upgrades an ensemble wants to know from when on there is no way back.
    fn tell_level(&mut self, level: u32) {
        if level != self.level {
            let first = std::mem::replace(&mut self.level, level) == 0;
            if first {
                tracing::debug!(level, "the log begins with this feature level");
            } else {
                tracing::info!(
                    level,
                    "the feature level of the log rose: members of older builds that do not know it are refused"
                );
            }
        }
    }

    /// Proposes what waits and hands on what comes of it.
    fn propose(&mut self, now: Now) {
        let began_us = self.clock.mono_us();
        self.core.advance(now);
        let proposed_us = self.clock.mono_us();
        let commands = self.pass_on(proposed_us);
        if commands > 0 {
            self.metrics.handed_over(commands, proposed_us - began_us, self.clock.mono_us() - proposed_us);
        }
    }

    /// Flushes what the journal was handed on this thread, if it was not woken for that.
    fn flush_here(&mut self) -> Result<bool, Fault> {
        let links = &self.links;
        if !self.journal.flush_here(|| links.have_mail())? {
            return Ok(false);
        }
        if let Some(peers) = &mut self.peers {
            peers.skip_poll();
        }
        Ok(true)
    }

    /// Wakes shards and hands the journal its work; gives the number of commands in it.
    fn pass_on(&mut self, now_us: u64) -> u64 {
        let mut handed_over = 0;
        let lone = self.lone_stream();
        for (number, (unwoken, shard)) in self.unwoken.iter_mut().zip(&self.links.to_shards).enumerate() {
            if std::mem::take(unwoken) && lone != Some(number) {
                shard.wake();
            }
        }
        for effect in self.core.take_requests() {
            if let JournalRequest::Persist { batch, commands, .. } = &effect {
                self.metrics.proposed(batch);
                if self.peers.is_some() {
                    let leads = self.core.leader() == Some(self.core.id());
                    self.leadership.persisting(batch, leads, now_us);
                }
                handed_over += commands;
            }
            self.journal.add(effect);
        }
        self.journal.hand_over(now_us);
        let outgoing = self.core.take_outgoing();
        if let Some(peers) = &mut self.peers {
            self.leadership.told(outgoing.iter().map(|(to, _)| to.number()));
            for (to, message) in &outgoing {
                let lane = match message.is_answer_to_bulk() {
                    true => peers.lane_of_answer(*to),
                    false => Lane::of(message.is_bulky()),
                };
                peers.send(*to, lane, CHANNEL, |out| message.encode(out));
            }
            peers.flush();
        }
        if let Some(number) = lone {
            self.deliver_here(number);
        }
        handed_over
    }

    /// The shard to be woken, if it is the only one, for so little that this thread may deliver it. What is watched may
    /// concern many clients.
    fn lone_stream(&self) -> Option<usize> {
        let number = self.unwoken.iter().position(|unwoken| *unwoken)?;
        let is_lone = self.unwoken.iter().filter(|unwoken| **unwoken).count() == 1
            && self.links.to_shards[number].len() <= STREAM_ITEMS_FEW
            && !self.links.watches[number].load(Ordering::Relaxed);
        is_lone.then_some(number)
    }

    /// A shard that sleeps has its turn on this thread, if nothing else waits for this one.
    fn deliver_here(&self, number: usize) {
        if self.journal.is_unflushed() || self.links.have_mail() || self.core.has_work(self.side_bytes) {
            self.links.to_shards[number].wake();
        } else {
            self.links.turns[number].take_or_wake();
        }
    }

    fn is_held_up(&self) -> bool {
        self.links.to_shards.iter().any(|shard| shard.len() >= STREAM_ITEMS_MAX)
    }

    fn until_deadline(&self) -> Duration {
        Duration::from_millis(self.core.next_deadline().since(self.clock.mono()).max(1))
    }
}

impl node_group::CoreLoop for CoreLoop {
    fn turn(&mut self) -> Result<Option<Duration>, Fault> {
        if self.stopping || self.restoration.is_some() || Ending::of(self.core.tenure()).is_some() {
            self.standing.set(false, false, MonoTime::ZERO);
            return Ok(None);
        }
        let now = self.clock.now();
        // Whoever asks after an answer of the journal was put must find it told: taken first, answered last.
        let mail = self.take_mail();
        self.listen(now)?;
        self.hear_peers(now)?;
        self.read_mail(mail);
        self.propose(now);
        self.apply(now)?;
        self.publish();
        self.tell_part();
        self.chronicle.sessions(&mut self.core, &self.links.session_clients);
        self.note(now);
        if self.core.is_serving()
            && let Some(serves) = self.serves.take()
        {
            // Whoever started us may not wait for it.
            let _ = serves.send(Ok(()));
        }
        if self.flush_here()? {
            // The journal has answered: there is no reason to sleep, nor to poll before the answer is on its way.
            return Ok(Some(Duration::ZERO));
        }
        Ok(Some(if self.is_held_up() {
            self.until_deadline().min(STREAM_PAUSE)
        } else if self.core.has_work(self.side_bytes) {
            Duration::ZERO
        } else {
            self.until_deadline()
        }))
    }

    fn relay(&mut self) -> Result<Duration, Fault> {
        let now = self.clock.now();
        self.listen(now)?;
        self.propose(now);
        // What the journal was handed after all is flushed in the next turn of the core's thread.
        let has_work = self.journal.is_unflushed() || self.core.has_work(self.side_bytes);
        Ok(if has_work { Duration::ZERO } else { self.until_deadline() })
    }

    fn relays(&self) -> bool {
        self.peers.is_some() && self.core.leader().is_some_and(|leader| leader != self.core.id())
    }

    fn fall_asleep(&mut self, timeout: Duration) -> (Duration, Option<Arc<Polling>>) {
        let links = &self.links;
        fall_asleep(&mut self.peers, timeout, || links.have_mail())
    }

    fn has_mail(&self) -> bool {
        self.links.have_mail() || self.peers.as_ref().is_some_and(PeerConnections::has_news)
    }
}

fn append_streams(core: &mut Core, links: &CoreLinks, unwoken: &mut [bool]) {
    for (number, (shard, unwoken)) in links.to_shards.iter().zip(unwoken).enumerate() {
        let stream = core.stream(u16::try_from(number).expect("shards are counted in 16 bits"));
        if !stream.is_empty() {
            let watches = links.watches[number].load(Ordering::Relaxed);
            *unwoken |= FromCore::wake_for(stream, watches, shard.len());
            shard.put_all_quietly(stream);
        }
    }
}
