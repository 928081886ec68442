//! Sessions: of whom this member hears, and, while it leads, whose silence ends them.
//!
//! A session's silence is a suspicion. Every member that is alive, a majority at the least, is asked of whom it has heard,
//! after the deadline, before it is a verdict.

mod expiry;
mod heard;
mod round;

use base::{MonoTime, Now};
use consensus_raft::{MemberId, MemberNumber};
use objects_state::{SessionId, State};

use self::expiry::Expiry;
use self::heard::HeardHere;
use self::round::{Asker, Round};
use crate::CoreConfig;
use crate::edge::Answer;
use crate::group::Group;
use crate::mailboxes::Mailboxes;
use crate::message::ObjectsMessage;

/// A session that has been silent for its whole time to live, under that generation.
pub(crate) type Condemned = (SessionId, u32);

/// See the module.
#[derive(Debug)]
pub(crate) struct Sessions {
    expiry: Expiry,
    heard: HeardHere,
    round: Option<Round>,
    /// How many rounds were begun. They are numbered from 1.
    rounds: u64,
    edges: u16,
    leads: bool,
    condemned: u64,
    forgiven_ms: u64,
}

impl Sessions {
    pub(crate) fn new(config: &CoreConfig) -> Self {
        Self {
            expiry: Expiry::new(config.tick_ms),
            heard: HeardHere::new(),
            round: None,
            rounds: 0,
            edges: config.edges,
            leads: false,
            condemned: 0,
            forgiven_ms: 0,
        }
    }

    /// A client of that session was heard of here.
    pub(crate) fn hear(&mut self, session: SessionId, ttl_ms: i64, at: MonoTime) {
        self.heard.hear(session, u64::try_from(ttl_ms).unwrap_or(0), at);
        if self.leads {
            self.expiry.touch(session, at);
        }
    }

    /// An edge says whose clients it heard of. A session that this member has not seen yet begins with its full time.
    pub(crate) fn edge_heard(
        &mut self,
        edge: u16,
        round: Option<u64>,
        sessions: &[(SessionId, MonoTime)],
        state: &State,
        group: &mut Group,
    ) -> Vec<Condemned> {
        for (session, at) in sessions {
            let known = self.heard.ttl_ms(*session).map(|ttl_ms| i64::try_from(ttl_ms).unwrap_or(i64::MAX));
            if let Some(ttl_ms) = known.or_else(|| Some(state.session(*session)?.ttl_ms)) {
                self.hear(*session, ttl_ms, *at);
            }
        }
        if let (Some(round), Some(number)) = (&mut self.round, round) {
            round.edge_answered(edge, number);
        }
        self.conclude(group)
    }

    /// Another member says whose clients it heard of.
    pub(crate) fn peer_heard(
        &mut self,
        peer: MemberId,
        number: u64,
        ages: &[(SessionId, u64)],
        group: &mut Group,
    ) -> Vec<Condemned> {
        for (session, age_ms) in ages {
            // The way the message took counts for the client.
            self.expiry.touch(*session, group.now().mono().minus_ms(*age_ms));
        }
        let votes = group.view().is_voter(peer);
        if let Some(round) = &mut self.round
            && round.asker == Asker::Us
        {
            round.peer_answered(peer, number, votes);
        }
        self.conclude(group)
    }

    /// The leader asks of whom this member has heard.
    pub(crate) fn asked(&mut self, leader: MemberId, round: u64, group: &mut Group, out: &mut Mailboxes) {
        let asker = Asker::Leader { id: leader, round };
        // Asked again for what is being found out already.
        if self.round.as_ref().is_none_or(|round| round.asker != asker) {
            self.begin(asker, group, out);
            self.conclude(group);
        }
    }

    /// A leader asks everybody when a deadline has passed, and again those who do not answer.
    pub(crate) fn lead(&mut self, group: &mut Group, out: &mut Mailboxes) -> Vec<Condemned> {
        let now = group.now().mono();
        if let Some(round) = &self.round {
            if round.asker == Asker::Us {
                let ask = ObjectsMessage::HeardAsk { round: round.number };
                group.send_each(round.silent_peers().iter().copied(), ask);
            }
        } else if self.expiry.is_due(now) {
            self.begin(Asker::Us, group, out);
        }
        self.conclude(group)
    }

    /// The leader is told of whom this member has heard, when it is time.
    pub(crate) fn report(&mut self, leader: Option<MemberId>, group: &mut Group) {
        let Some(leader) = leader else { return };
        let ages = self.heard.take_due(group.now().mono());
        if leader != group.view().own() && !ages.is_empty() {
            group.send(leader, ObjectsMessage::Heard { round: 0, ages });
        }
    }

    fn begin(&mut self, asker: Asker, group: &mut Group, out: &mut Mailboxes) {
        self.rounds += 1;
        let (number, began) = (self.rounds, group.now().mono());
        let peers = if asker == Asker::Us { group.view().others() } else { Vec::new() };
        group.send_each(peers.iter().copied(), ObjectsMessage::HeardAsk { round: number });
        self.round = Some(Round::new(number, began, asker, self.edges, peers));
        out.tell_all(&Answer::WhoWasHeard { round: number });
    }

    fn conclude(&mut self, group: &mut Group) -> Vec<Condemned> {
        let view = group.view();
        let Some(round) = &self.round else { return Vec::new() };
        let majority = if round.asker == Asker::Us { view.members().majority() } else { 0 };
        let is_alive = |peer| view.heard_at(peer) > MonoTime::ZERO && view.lives(peer);
        if !round.is_complete(majority, is_alive) {
            return Vec::new();
        }
        let (asker, began, now) = (round.asker, round.began, view.now.mono());
        self.round = None;
        match asker {
            // An edge stood still meanwhile, and the others answered long ago: their clients may have come back since. The
            // next tick asks anew.
            Asker::Us if now > began.plus_ms(view.config.lease_ms) => Vec::new(),
            Asker::Us => self.condemn(began, group),
            Asker::Leader { id, round } => {
                let ages = self.heard.all(now);
                group.send(id, ObjectsMessage::Heard { round, ages });
                Vec::new()
            }
        }
    }

    /// Everybody who can has answered a round that began then. A member that did not answer may have heard of any client
    /// until its lease was over, one that died or was removed until that happened.
    fn condemn(&mut self, began: MonoTime, group: &Group) -> Vec<Condemned> {
        let view = group.view();
        let peers = view.others();
        let silent = peers.iter().filter(|peer| view.heard_at(**peer) < began);
        let silent = silent.map(|peer| group.serves_until(*peer)).fold(MonoTime::ZERO, MonoTime::max);
        let departed = (0..=u8::MAX).map(|number| group.departed_until(MemberNumber(number)));
        let heard = departed.fold(silent, MonoTime::max);
        // A number that passed to another disk: the one before it may have heard of clients under an earlier leader.
        let own = view.own();
        let is_replaced = peers.iter().chain([&own]).any(|id| !id.is_founder());
        let heard = if is_replaced { heard.max(group.serves_until(MemberId::NOBODY)) } else { heard };
        let condemned = self.expiry.condemn(began, heard);
        self.condemned += condemned.len() as u64;
        condemned
    }

    /// This member begins to lead: each session gets its full time to live from now.
    pub(crate) fn term_began(&mut self, state: &State, now: Now) {
        self.leads = true;
        self.expiry.clear();
        for (id, session) in state.sessions() {
            let ttl_ms = u64::try_from(session.ttl_ms).unwrap_or(0);
            self.expiry.track(id, session.generation, ttl_ms, now.mono());
        }
    }

    /// This member does not lead any more: what it asks is of no use.
    pub(crate) fn lead_ended(&mut self) {
        self.leads = false;
        self.round = None;
        self.expiry.clear();
    }

    /// A session was opened or continued: it has its full time to live ahead of it.
    pub(crate) fn opened(&mut self, session: SessionId, generation: u32, state: &State, now: Now) {
        if let (true, Some(open)) = (self.leads, state.session(session)) {
            let ttl_ms = u64::try_from(open.ttl_ms).unwrap_or(0);
            self.expiry.track(session, generation, ttl_ms, now.mono());
        }
    }

    pub(crate) fn ended(&mut self, session: SessionId) {
        self.expiry.forget(session);
        self.heard.forget(session);
    }

    /// The members changed: one that votes now may have answered before it did, and the round would wait for a majority
    /// that never comes.
    pub(crate) fn members_changed(&mut self) {
        self.round.take_if(|round| round.asker == Asker::Us);
    }

    /// This process stood still: that time counts against no client.
    pub(crate) fn forgive(&mut self, stall_ms: u64, now: Now) {
        self.expiry.forgive(stall_ms, now.mono());
        self.forgiven_ms += stall_ms;
        self.round = None;
    }

    /// When something is due here.
    pub(crate) fn deadlines(&self) -> [Option<MonoTime>; 2] {
        let expiry = if self.leads { self.expiry.next_deadline() } else { None };
        [expiry, self.heard.due()]
    }

    /// How many rounds were begun here, how many sessions were found silent, and for how long this process stood still.
    pub(crate) const fn counts(&self) -> [u64; 3] {
        [self.rounds, self.condemned, self.forgiven_ms]
    }

    /// Sessions whose deadlines this leader keeps.
    pub(crate) fn tracked(&self) -> usize {
        self.expiry.len()
    }
}
