//! The core's turns: mail of edges, journal and other members in, answers and messages out.
//!
//! A turn hears everything that waits, has the core propose, hands its requests to the journal and its messages to the
//! connections, applies what is committed, and gives edges their answers, each edge's in one piece. A small batch is flushed at
//! the end of the turn, on this thread. `node_group::CoreTurns` says when another thread has a turn: only then is the state
//! read elsewhere, and it is never written there.

use std::sync::Arc;
use std::time::Duration;

use base::Now;
use consensus_replica::lifecycle::Ending;
use consensus_replica::{Fault, JournalEvent, MemberId};
use net_peer_pairs::Lane;
use net_peers::{Established, Message, News, PeerConnections, Polling};
use node_group::{CoreTurns, JournalMail, JournalPort, fall_asleep, poll_fault};
use node_threads::{Mailbox, ThreadWaker};
use objects_replica::edge::Request;
use objects_replica::{Core, PeerMessage};
use objects_state::State;
use storage_dir_disk::DirDisk;

use crate::edges::Edges;
use crate::names::NamesDesk;
use crate::shared::{CHANNEL, CoreMail, Shared};
use crate::standing::Stand;

/// How often something is applied before mail is looked at again.
const APPLIES_IN_A_ROW: usize = 16;

/// The core's turns.
pub(crate) type ObjectsTurns = CoreTurns<CoreLoop>;

/// The mailboxes around the core.
pub(crate) struct Links {
    pub(crate) mail: Arc<Mailbox<CoreMail>>,
    pub(crate) established: Arc<Mailbox<Established>>,
    pub(crate) edges: Edges,
    pub(crate) names: Option<Arc<NamesDesk>>,
    pub(crate) from_journal: Arc<Mailbox<JournalEvent>>,
    pub(crate) to_journal: Arc<Mailbox<JournalMail>>,
    pub(crate) journal_waker: Arc<ThreadWaker>,
}

impl Links {
    fn have_mail(&self) -> bool {
        !self.mail.is_empty()
            || !self.established.is_empty()
            || !self.from_journal.is_empty()
            || self.edges.have_mail()
            || self.names.as_ref().is_some_and(|names| !names.asked.is_empty())
    }
}

/// Why a core's loop ended, and what the next one goes on with.
pub(crate) struct End {
    pub(crate) ending: Ending,
    pub(crate) links: Links,
    pub(crate) peers: Option<PeerConnections>,
}

/// See the module.
pub(crate) struct CoreLoop {
    core: Core,
    state: State,
    links: Links,
    journal: JournalPort<DirDisk>,
    shared: Arc<Shared>,
    peers: Option<PeerConnections>,
    stopping: bool,
    /// Who leads, as the log was told last, and whether this member serves.
    told: (Option<MemberId>, bool),
    /// Where the leader's clients connect, as edges were told last.
    told_address: Option<String>,
    /// Whether it was looked at if anybody may do everything.
    has_warned: bool,
    requests: Vec<Request>,
}

impl CoreLoop {
    pub(crate) fn new(
        (core, state): (Core, State),
        links: Links,
        journal: JournalPort<DirDisk>,
        shared: Arc<Shared>,
        peers: Option<PeerConnections>,
    ) -> Self {
        Self {
            core,
            state,
            links,
            journal,
            shared,
            peers,
            stopping: false,
            told: (None, false),
            told_address: None,
            has_warned: false,
            requests: Vec::new(),
        }
    }

    /// Why the loop ended, and what the next one goes on with.
    pub(crate) fn end(self) -> End {
        self.shared.standing.set(Stand::default());
        let ending = Ending::of(self.core.tenure()).unwrap_or(Ending::Stopped);
        End { ending, links: self.links, peers: self.peers }
    }

    fn has_work(&self) -> bool {
        self.core.has_work(self.state.snapshot_side_bytes())
    }

    fn until_deadline(&self) -> Duration {
        Duration::from_millis(self.core.next_deadline().since(self.shared.clock.mono()).max(1))
    }

    fn read_mail(&mut self) {
        let mut mail = Vec::new();
        self.links.mail.take_all(&mut mail);
        for mail in mail {
            match mail {
                CoreMail::StepAside => self.core.step_aside(),
                CoreMail::Members => {
                    self.core.want_members(Some(self.shared.wanted()));
                    self.peers.iter_mut().for_each(PeerConnections::follow_members);
                }
                CoreMail::Stop => self.stopping = true,
            }
        }
    }

    fn hear_journal(&mut self, now: Now) -> Result<(), Fault> {
        let mut events = Vec::new();
        self.links.from_journal.take_all(&mut events);
        events.into_iter().try_for_each(|event| self.core.journal(event, now))
    }

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
                    Ok(message) => self.core.peer(from, message, now)?,
                    Err(error) => peers.refuse(pair, error.0),
                },
                News::Up(id, level) => {
                    self.core.understands(id, level);
                    if !id.is_blank() {
                        self.core.link(id, true, now);
                    }
                }
                News::Down(id) if !id.is_blank() => self.core.link(id, false, now),
                News::Down(_) => {}
                News::Lost(id, _) => self.core.lost(id, now),
            }
        }
        Ok(())
    }

    fn tick(&mut self, now: Now) {
        if now.mono() >= self.core.next_deadline() {
            self.core.tick(now, &self.state);
        }
    }

    fn hear_edges(&mut self, now: Now) {
        for requests in &self.links.edges.requests {
            requests.take_all(&mut self.requests);
            self.shared.figures.received(self.requests.len());
            for request in self.requests.drain(..) {
                self.core.receive(request, &self.state, now);
            }
        }
    }

    /// Proposes what waits, and hands on what comes of it.
    fn propose(&mut self, now: Now) {
        self.core.advance(now);
        for request in self.core.take_requests() {
            self.journal.add(request);
        }
        self.journal.hand_over(now.mono_us);
        let outgoing = self.core.take_outgoing();
        let Some(peers) = &mut self.peers else { return };
        for (to, message) in &outgoing {
            let lane = match message.is_answer_to_bulk() {
                true => peers.lane_of_answer(*to),
                false => Lane::of(message.is_bulky()),
            };
            peers.send(*to, lane, CHANNEL, |out| message.encode(out));
        }
        peers.flush();
    }

    /// Applies what is committed.
    fn apply(&mut self, mut now: Now) -> Result<(), Fault> {
        for _ in 0..APPLIES_IN_A_ROW {
            if !self.has_work() {
                break;
            }
            // Applying may take long: the journal's thread flushes meanwhile.
            if !self.core.has_little_to_apply() {
                self.journal.leave_to_journal();
            }
            let began_us = self.shared.clock.mono_us();
            drop(self.core.apply(&mut self.state, now)?);
            now = self.shared.clock.now();
            self.shared.figures.apply_us.record(now.mono_us.saturating_sub(began_us));
            self.propose(now);
        }
        Ok(())
    }

    /// Gives edges their answers.
    fn answer(&mut self) {
        for (edge, mailbox) in (0..).zip(&self.links.edges.answers) {
            let answers = self.core.answers(edge);
            if answers.is_empty() {
                continue;
            }
            self.shared.figures.answered(answers.len());
            mailbox.put(answers);
        }
    }

    /// Tells the other threads, and the log, how things stand.
    fn publish(&mut self, now: Now) {
        let (leader, serving) = (self.core.leader(), self.core.is_serving());
        let leading = leader == Some(self.core.id());
        self.shared.standing.set(Stand {
            serving,
            leading,
            leads_others: leading && self.peers.is_some(),
            member: self.core.id().0,
            leader: leader.map_or(0, |leader| u64::from(leader.number().0)),
            term: self.core.term().0,
            position: self.state.position(),
        });
        if self.peers.is_some() && std::mem::replace(&mut self.told, (leader, serving)) != self.told {
            let (leader, term) = (leader.map(|leader| leader.number().0), self.core.term().0);
            match leader {
                Some(_) if leading => tracing::info!(serving, term, "objects: this member leads"),
                Some(leader) => tracing::info!(leader, serving, term, "objects: this member follows"),
                None => tracing::warn!(serving, term, "objects: there is no leader"),
            }
        }
        if self.core.leader_address() != self.told_address.as_deref() {
            self.told_address = self.core.leader_address().map(String::from);
            self.links.edges.leader(self.told_address.as_deref());
        }
        if serving && !std::mem::replace(&mut self.has_warned, serving) {
            self.warn_of_open_access();
        }
        if self.shared.is_time_to_count(now.mono()) {
            self.shared.figures.count(&self.core, &self.state);
            if let Some(names) = &self.links.names {
                names.announce(&mut self.core, &self.state, now);
            }
            // The group that owns the port may have learned that a member is at another address.
            self.peers.iter_mut().for_each(PeerConnections::follow_members);
        }
    }
}

impl node_group::CoreLoop for CoreLoop {
    fn turn(&mut self) -> Result<Option<Duration>, Fault> {
        if self.stopping || Ending::of(self.core.tenure()).is_some() {
            return Ok(None);
        }
        let now = self.shared.clock.now();
        self.read_mail();
        self.hear_journal(now)?;
        self.hear_peers(now)?;
        self.hear_edges(now);
        self.tick(now);
        self.propose(now);
        self.apply(now)?;
        self.answer();
        if let Some(names) = &self.links.names {
            names.answer(&self.core, &self.state, self.shared.clock.now());
        }
        self.publish(now);
        let links = &self.links;
        if self.journal.flush_here(|| links.have_mail())? {
            if let Some(peers) = &mut self.peers {
                peers.skip_poll();
            }
            return Ok(Some(Duration::ZERO));
        }
        Ok(Some(if self.has_work() { Duration::ZERO } else { self.until_deadline() }))
    }

    fn relay(&mut self) -> Result<Duration, Fault> {
        let now = self.shared.clock.now();
        self.hear_journal(now)?;
        self.hear_edges(now);
        self.tick(now);
        self.propose(now);
        self.answer();
        // What the journal was handed after all is flushed in the next turn of the core's thread.
        let has_work = self.journal.is_unflushed() || self.has_work();
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

impl CoreLoop {
    fn warn_of_open_access(&self) {
        if let Some(address) = self.shared.exposed_at.filter(|_| !self.state.is_closed()) {
            tracing::warn!(
                "objects: other machines reach {address}, and access is open: they may do everything. Create a token \
                 that administers (`diwan object token create --name admin --allow '*:admin'`) and close access with it \
                 (`diwan object access close`), or listen on loopback (`objects.listen`)"
            );
        }
    }
}
