//! The members of a scenario, their network, clients and time. Each call tells what came of it, one line a fact.

use std::collections::{BTreeMap, BTreeSet};

use base::Now;
use consensus_replica::founding::FoundingMessage;
use consensus_replica::{MemberId, MemberNumber};
use council_replica::PeerMessage;
use sim_council::disk::SimDisk;
use sim_council::node::{Node, NodeError, Step};
use storage_disk::sim::Loss;

use crate::client::Visitor;
use crate::member::{Member, Settings};
use crate::message::{is_routine, kind, text};
use crate::network::{Ends, Fate, Network, Rule, Sent};

/// The step in which time passes, and about as long as a message is under way.
const STEP_MS: u64 = 2;
/// How often an empty disk asks to be let in.
const ASK_MS: u64 = 50;
/// A member that does not come to rest in so many rounds never does.
const ROUNDS_MAX: usize = 5_000;
/// Rounds in which nothing arrives, after which everybody is at rest: what a disk did is told in the next one.
const QUIET_ROUNDS: usize = 4;
const START: Now = Now::of_ms(0, 1_700_000_000_000);

/// See the module.
pub(crate) struct World {
    settings: Settings,
    members: BTreeMap<u64, Member>,
    /// Names of ids that are no numbers.
    names: BTreeMap<u64, String>,
    network: Network,
    clients: BTreeMap<String, Visitor>,
    /// Empty disks by their numbers: what they call themselves.
    blank: BTreeMap<u64, [u8; 16]>,
    blanks: u8,
    /// Who asked for votes last.
    asked_votes: Option<u64>,
    passed_ms: u64,
    is_passing: bool,
    told: Vec<String>,
}

impl World {
    pub(crate) fn new(settings: Settings) -> Result<Self, NodeError> {
        let mut world = Self {
            members: settings
                .founders
                .iter()
                .map(|id| (*id, Member::new(SimDisk::new(*id), START)))
                .collect(),
            settings,
            names: BTreeMap::new(),
            network: Network::default(),
            clients: BTreeMap::new(),
            blank: BTreeMap::new(),
            blanks: 0,
            asked_votes: None,
            passed_ms: 0,
            is_passing: false,
            told: Vec::new(),
        };
        for id in world.settings.founders.clone() {
            world.start(id)?;
        }
        Ok(world)
    }

    /// Takes what was told, one line a fact.
    pub(crate) fn take_told(&mut self) -> String {
        for (id, member) in &mut self.members {
            if let Some(progress) = member.progress() {
                self.told.push(format!("{} {progress}", name_of(&self.names, *id)));
            }
        }
        let told = std::mem::take(&mut self.told);
        told.into_iter().map(|line| line + "\n").collect()
    }

    pub(crate) fn tell(&mut self, line: String) {
        self.told.push(line);
    }

    pub(crate) fn name(&self, id: u64) -> String {
        name_of(&self.names, id)
    }

    /// The id of the member with this name.
    pub(crate) fn id(&self, name: &str) -> Option<u64> {
        let named = self.names.iter().find_map(|(id, known)| (known == name).then_some(*id));
        named.or_else(|| name.parse().ok())
    }

    pub(crate) fn ids(&self) -> Vec<u64> {
        self.members.keys().copied().collect()
    }

    pub(crate) fn member(&mut self, id: u64) -> Option<&mut Member> {
        self.members.get_mut(&id)
    }

    /// Each of these as a line, by what `picture` says of it.
    pub(crate) fn list(
        &mut self,
        ids: &[u64],
        picture: impl Fn(&mut Member, &dyn Fn(u64) -> String) -> String,
    ) {
        let name = |id| name_of(&self.names, id);
        for (id, member) in self.members.iter_mut().filter(|(id, _)| ids.contains(id)) {
            self.told.push(format!("{}: {}", name(*id), picture(member, &name)));
        }
        for number in self.blank.keys() {
            self.told.push(format!("{}: not let in", name(blank(*number))));
        }
    }

    // Time.

    pub(crate) fn pass(&mut self, ms: u64) -> Result<(), NodeError> {
        self.is_passing = true;
        for _ in 0..ms / STEP_MS {
            self.passed_ms += STEP_MS;
            if self.passed_ms.is_multiple_of(ASK_MS) {
                self.ask_to_be_let_in();
            }
            for id in self.ids() {
                self.pass_for(id)?;
            }
            self.arrive(false)?;
        }
        self.is_passing = false;
        Ok(())
    }

    /// Time passes until something is told that contains this. Says whether it was.
    pub(crate) fn until(&mut self, text: &str) -> Result<bool, NodeError> {
        let from = self.told.len();
        for _ in 0..ROUNDS_MAX {
            if self.told[from..].iter().any(|line| line.contains(text)) {
                return Ok(true);
            }
            self.pass(STEP_MS)?;
        }
        Ok(false)
    }

    /// A step of time for one member.
    fn pass_for(&mut self, id: u64) -> Result<(), NodeError> {
        let Some(member) = self.members.get_mut(&id) else { return Ok(()) };
        match member.active() {
            Some(node) => node.pass(STEP_MS),
            None => {
                member.clock.advance_ms(STEP_MS);
                member.clock.wall = member.clock.wall.plus_ms(STEP_MS as i64);
            }
        }
        self.steps(id, 1)
    }

    /// Time passes for one member alone, until it asks for votes.
    pub(crate) fn campaign(&mut self, id: u64) -> Result<bool, NodeError> {
        self.asked_votes = None;
        for _ in 0..ROUNDS_MAX {
            self.pass_for(id)?;
            if self.asked_votes == Some(id) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    // The network.

    /// Messages arrive until nobody has anything to do.
    pub(crate) fn stabilize(&mut self) -> Result<(), NodeError> {
        let mut quiet = 0;
        for _ in 0..ROUNDS_MAX {
            if quiet == QUIET_ROUNDS {
                return Ok(());
            }
            for id in self.ids() {
                self.steps(id, 1)?;
            }
            quiet = if self.arrive(false)? { 0 } else { quiet + 1 };
        }
        panic!("the members do not come to rest");
    }

    /// What is ready arrives. Says whether anything did.
    fn arrive(&mut self, takes_turns: bool) -> Result<bool, NodeError> {
        let ready = self.network.take_ready();
        let mut arrived = false;
        for sent in ready {
            if self.members.get(&sent.to).is_some_and(|member| member.is_paused) {
                self.network.put_back(sent);
                continue;
            }
            arrived = true;
            self.receive(sent, takes_turns)?;
        }
        Ok(arrived)
    }

    fn receive(&mut self, sent: Sent, takes_turn: bool) -> Result<(), NodeError> {
        let Sent { from, to, message } = sent;
        if MemberId(to).is_blank() {
            return self.answer_blank(to, &message);
        }
        if let Some(node) = self.members.get_mut(&to).and_then(Member::active) {
            let taken = node.peer(MemberId(from), message);
            self.survives(to, taken)?;
        }
        if takes_turn { self.turn(to) } else { Ok(()) }
    }

    /// Held messages arrive, and the receiver takes its turn after each.
    pub(crate) fn deliver(&mut self, sent: Vec<Sent>) -> Result<(), NodeError> {
        sent.into_iter().try_for_each(|sent| self.receive(sent, true))
    }

    pub(crate) fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    pub(crate) fn tell_held(&mut self) {
        let held: Vec<_> = self
            .network
            .held()
            .iter()
            .filter(|sent| !is_routine(&sent.message))
            .map(|sent| self.line(sent))
            .collect();
        self.told.extend(held);
    }

    fn line(&self, sent: &Sent) -> String {
        format!("{}->{} {}", self.name(sent.from), self.name(sent.to), text(&sent.message))
    }

    /// Something is cut or held from now on.
    pub(crate) fn add_rule(&mut self, rule: Rule) {
        let noticed = rule.noticed;
        self.network.add(rule);
        if noticed {
            for (one, other) in self.cut_pairs() {
                self.network.forget_pair(one, other);
                self.members.get_mut(&one).expect("a member").disconnect(other);
            }
        }
    }

    /// Everything cut comes through again.
    pub(crate) fn heal(&mut self) {
        let cut = self.cut_pairs();
        if self.network.heal().iter().any(|rule| rule.noticed) {
            for (one, other) in cut {
                self.members.get_mut(&one).expect("a member").connect(other);
            }
        }
    }

    fn cut_pairs(&self) -> Vec<(u64, u64)> {
        self.pairs().into_iter().filter(|(one, other)| self.network.is_cut(*one, *other)).collect()
    }

    fn pairs(&self) -> Vec<(u64, u64)> {
        let runs = |id: &u64| self.members[id].node.is_some();
        let ids: Vec<_> = self.members.keys().copied().filter(runs).collect();
        ids.iter()
            .flat_map(|one| ids.iter().map(|other| (*one, *other)))
            .filter(|(one, other)| one != other)
            .collect()
    }

    // Members.

    /// A member does what it has to do, and no time passes.
    pub(crate) fn turn(&mut self, id: u64) -> Result<(), NodeError> {
        self.steps(id, QUIET_ROUNDS)
    }

    fn steps(&mut self, id: u64, rounds: usize) -> Result<(), NodeError> {
        for _ in 0..rounds {
            let Some(member) = self.members.get_mut(&id) else { return Ok(()) };
            let taken = member.take_steps();
            self.survives(id, taken)?;
            self.observe(id);
        }
        Ok(())
    }

    /// Tells what came of a member's steps, and sends what it has to say.
    fn observe(&mut self, id: u64) {
        let name = |id| name_of(&self.names, id);
        let Some(member) = self.members.get_mut(&id) else { return };
        let facts = member.facts(&name);
        for line in facts.into_iter().map(|fact| format!("{} {fact}", name(id))) {
            // While time passes, the same refusal is told once.
            if !(self.is_passing && line.contains(" refuses ") && self.told.contains(&line)) {
                self.told.push(line);
            }
        }
        let Some(node) = member.active() else { return };
        let outgoing = node.take_outgoing();
        for (client, visitor) in self.clients.iter_mut().filter(|(_, visitor)| visitor.at() == Some(id)) {
            self.told.extend(visitor.hear(node).into_iter().map(|heard| format!("{client} <- {heard}")));
        }
        for (to, message) in outgoing {
            self.send(Sent { from: id, to: to.0, message });
        }
    }

    fn send(&mut self, sent: Sent) {
        let line = self.line(&sent);
        let is_routine = is_routine(&sent.message);
        if ["vote", "pre-vote"].contains(&kind(&sent.message)) {
            self.asked_votes = Some(sent.from);
        }
        match self.network.send(sent) {
            Fate::Held(by_kind) if by_kind || !is_routine => self.tell_sent(line),
            Fate::Lost(true) => self.tell_sent(format!("lost: {line}")),
            _ => {}
        }
    }

    /// While time passes, what is said again and again is told once.
    fn tell_sent(&mut self, line: String) {
        if !self.is_passing || !self.told.contains(&line) {
            self.told.push(line);
        }
    }

    /// A member that found itself broken stops.
    fn survives(&mut self, id: u64, taken: Result<(), NodeError>) -> Result<(), NodeError> {
        match taken {
            Err(NodeError::Fault(why)) => {
                self.told.push(format!("{} stops: {why}", self.name(id)));
                self.end(id);
                Ok(())
            }
            other => other,
        }
    }

    /// The process of that member is gone, its connections end.
    fn end(&mut self, id: u64) {
        self.members.get_mut(&id).expect("a member").stop();
        self.network.forget(id);
        for (other, member) in self.members.iter_mut().filter(|(other, _)| **other != id) {
            if !self.network.is_cut(*other, id) {
                member.disconnect(id);
            }
        }
        for (client, visitor) in self.clients.iter_mut().filter(|(_, visitor)| visitor.at() == Some(id)) {
            self.told.push(format!("{client} <- {}", visitor.disconnected()));
        }
    }

    pub(crate) fn crash(&mut self, id: u64) {
        self.end(id);
        self.members[&id].disk.crash(Loss::All);
    }

    /// A member starts on the disk that it has, and is connected to those that it reaches.
    pub(crate) fn start(&mut self, id: u64) -> Result<(), NodeError> {
        self.members.get_mut(&id).expect("a member").start(id, &self.settings)?;
        for (one, other) in self.pairs().into_iter().filter(|(one, other)| *one == id || *other == id) {
            if !self.network.is_cut(one, other) {
                self.members.get_mut(&one).expect("a member").connect(other);
            }
        }
        Ok(())
    }

    /// A process that stood still goes on: its shards look at the clock before anything else happens.
    pub(crate) fn resume(&mut self, id: u64) -> Result<(), NodeError> {
        let Some(member) = self.members.get_mut(&id) else { return Ok(()) };
        member.is_paused = false;
        let now = member.clock.mono();
        let Some(node) = &mut member.node else { return Ok(()) };
        node.look_at_clock(now);
        let taken = node.step(Step::Shards);
        self.survives(id, taken)?;
        self.observe(id);
        Ok(())
    }

    pub(crate) fn pause(&mut self, id: u64) {
        if let Some(member) = self.members.get_mut(&id) {
            member.is_paused = true;
            member.clock = member.node.as_ref().map_or(member.clock, Node::now);
        }
    }

    // Empty disks.

    /// An empty disk of that number is there.
    pub(crate) fn blank(&mut self, number: u64) {
        self.blanks += 1;
        let incarnation = [self.blanks; 16];
        self.blank.insert(number, incarnation);
        let disks =
            self.members.keys().filter(|id| u64::from(MemberId(**id).number()) == number).count() as u8;
        let name =
            if disks > 0 { format!("{number}{}", char::from(b'a' + disks)) } else { number.to_string() };
        self.names.insert(MemberId::admitted(MemberNumber::of(number), incarnation).0, name);
    }

    fn ask_to_be_let_in(&mut self) {
        for (number, incarnation) in self.blank.clone() {
            for to in self.ids() {
                let empty = FoundingMessage::Blank { incarnation, founds: false };
                let sent = Sent { from: blank(number), to, message: PeerMessage::Founding(empty) };
                self.send(sent);
            }
        }
    }

    /// A member answers an empty disk, which starts if it is let in.
    fn answer_blank(&mut self, to: u64, message: &PeerMessage) -> Result<(), NodeError> {
        let number = u64::from(MemberId(to).number());
        let PeerMessage::Founding(FoundingMessage::Admitted { id, incarnation, .. }) = message else {
            return Ok(());
        };
        let id = id.0;
        if self.blank.get(&number) != Some(incarnation) {
            return Ok(());
        }
        self.blank.remove(&number);
        self.told.push(format!("{number} is let in as {}", self.name(id)));
        self.members.insert(id, Member::new(SimDisk::new(id), START));
        self.start(id)
    }

    // Clients.

    /// A client opens a session, or takes the one that it has up at another member.
    pub(crate) fn connect(&mut self, client: &str, id: u64, timeout_ms: i32) -> Option<()> {
        let node = self.members.get_mut(&id)?.node.as_mut()?;
        match self.clients.get_mut(client) {
            Some(visitor) => visitor.reconnect(id, node),
            None => drop(self.clients.insert(client.to_owned(), Visitor::connect(id, node, timeout_ms))),
        }
        Some(())
    }

    /// What a client does at the member that it is connected to.
    pub(crate) fn ask(
        &mut self,
        client: &str,
        ask: impl FnOnce(&mut Visitor, &mut Node<SimDisk>),
    ) -> Option<()> {
        let visitor = self.clients.get_mut(client)?;
        let node = self.members.get_mut(&visitor.at()?)?.node.as_mut()?;
        ask(visitor, node);
        Some(())
    }

    /// Between whom a rule is.
    pub(crate) fn group(ids: impl IntoIterator<Item = u64>) -> Ends {
        let group: BTreeSet<_> = ids.into_iter().collect();
        if group.is_empty() { Ends::All } else { Ends::Group(group) }
    }
}

/// What the member of that number is known by as long as its disk is blank.
fn blank(number: u64) -> u64 {
    MemberId::blank(MemberNumber::of(number)).0
}

fn name_of(names: &BTreeMap<u64, String>, id: u64) -> String {
    match names.get(&id) {
        Some(name) => name.clone(),
        None if MemberId(id).is_blank() => format!("blank {}", MemberId(id).number()),
        None => id.to_string(),
    }
}
