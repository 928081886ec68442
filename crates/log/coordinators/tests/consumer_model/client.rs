//! A client as far as both protocols have it alike.

use std::collections::BTreeSet;

use log_coordinators::{JoinedMember, Partitions, Text, TopicId};

/// How long a member may be silent, how long it may take in a rebalance, and how often it sends heartbeats.
pub(crate) const SESSION_MS: u64 = 8_000;
pub(crate) const REBALANCE_MS: u64 = 12_000;
pub(crate) const INTERVAL_MS: u64 = 2_000;

pub(crate) type Partition = (TopicId, i32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Consumer,
    Classic,
}

/// What the client is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Join,
    Sync,
    Member,
    /// It leaves, and comes back with this protocol.
    Leave(Protocol),
}

/// A client. It is another one, with another incarnation, after each restart.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) number: usize,
    pub(crate) incarnation: u64,
    pub(crate) protocol: Protocol,
    pub(crate) instance: Option<Text>,
    pub(crate) member: Text,
    pub(crate) epoch: i32,
    pub(crate) stage: Stage,
    /// What it reads: topics, or a regular expression if it speaks the protocol of KIP-848.
    pub(crate) topics: BTreeSet<Text>,
    pub(crate) regex: Option<Text>,
    pub(crate) range: bool,
    /// What it owns, what of it it has to give up, and when it does so.
    pub(crate) owned: BTreeSet<Partition>,
    pub(crate) giving_up: BTreeSet<Partition>,
    pub(crate) gives_up_at: u64,
    /// It says everything with its next heartbeat, or what it owns.
    pub(crate) says_all: bool,
    pub(crate) says_owned: bool,
    pub(crate) leads: Option<Vec<JoinedMember>>,
    /// The version of the topics that it has assigned.
    pub(crate) assigned: u64,
    pub(crate) waits_for: Option<u64>,
    pub(crate) asked_at: u64,
    pub(crate) next_at: u64,
    pub(crate) silent: bool,
    pub(crate) stubborn: bool,
    /// For the oracle: the counted time at which the coordinator heard of it last; since when it has to give up something;
    /// whether it has to join, or to ask for its assignment,
    /// in a classic group.
    pub(crate) heard_at: u64,
    pub(crate) asked_to_give_up: Option<u64>,
    pub(crate) asked_to_act: bool,
    /// Since when it was told again and again to give up something.
    pub(crate) slow_since: Option<u64>,
}

impl Client {
    pub(crate) fn new(number: usize, incarnation: u64, protocol: Protocol, instance: Option<Text>) -> Self {
        let member = match protocol {
            Protocol::Consumer => format!("own-{number}-{incarnation}"),
            Protocol::Classic => String::new(),
        };
        Self {
            number,
            incarnation,
            protocol,
            instance,
            member: member.as_str().into(),
            epoch: if protocol == Protocol::Consumer { 0 } else { -1 },
            stage: Stage::Join,
            topics: ["t1".into()].into(),
            regex: None,
            range: false,
            owned: BTreeSet::new(),
            giving_up: BTreeSet::new(),
            gives_up_at: 0,
            says_all: true,
            says_owned: false,
            leads: None,
            assigned: 0,
            waits_for: None,
            asked_at: 0,
            next_at: 0,
            silent: false,
            stubborn: false,
            heard_at: 0,
            asked_to_give_up: None,
            asked_to_act: false,
            slow_since: None,
        }
    }

    /// It owns nothing any more, and has to join again.
    pub(crate) fn release(&mut self) {
        self.owned.clear();
        self.giving_up.clear();
        self.asked_to_give_up = None;
        self.asked_to_act = false;
        self.slow_since = None;
        self.stage = Stage::Join;
        self.says_all = true;
        self.epoch = if self.protocol == Protocol::Consumer { 0 } else { -1 };
    }

    pub(crate) fn owned(&self) -> Partitions {
        let mut owned = Partitions::new();
        for (id, number) in &self.owned {
            owned.entry(*id).or_default().insert(*number);
        }
        owned
    }
}

pub(crate) fn flat(partitions: &Partitions) -> BTreeSet<Partition> {
    partitions.iter().flat_map(|(id, numbers)| numbers.iter().map(|number| (*id, *number))).collect()
}
