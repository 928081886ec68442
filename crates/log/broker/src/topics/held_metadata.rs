//! Metadata requests that wait until it is known whether the leaders that they ask for live.
//!
//! A client that loses its connection to a leader asks another broker at once who leads now. If it is told of the dead leader, it
//! goes by its own timers from then on, and those are a second and more with some. So an answer that names leaders elsewhere waits
//! until each of them has answered a probe, which takes as long as a message and its answer; if one is lost, until its partitions
//! have other leaders; and in no case longer than [`HELD_MS`]. Then it says what is known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base::{MonoTime, Now};
use log_wire::{ApiKey, Malformed, MetadataRequest, MetadataTopic, Reader, TopicName};
use net_event_loop::ConnId;

use super::metadata;
use super::probes::Probes;
use crate::call::{Call, Handled};
use crate::catalog::TopicImage;
use crate::client::Client;
use crate::node::Node;
use crate::response::Form;
use crate::waits::{Waiter, Waits};

/// How long an answer waits at most, milliseconds.
const HELD_MS: u64 = 200;
/// So many wait at most: above it, they are answered at once.
const HELD_MAX: usize = 1_000;
/// A longer request is answered at once, bytes, and so is one for all topics: each is looked at again whenever a leader has changed.
const HELD_BYTES_MAX: usize = 4 << 10;

#[derive(Debug)]
struct Held {
    body: Vec<u8>,
    form: Form,
    client: Arc<Client>,
    client_id: String,
    /// The probes that it waits for, by broker.
    probes: BTreeMap<i32, u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct HeldMetadata {
    waiting: Waits<Held>,
    probes: Probes,
    /// Something that they wait for may have happened.
    is_touched: bool,
}

impl HeldMetadata {
    /// Handles a request.
    ///
    /// # Errors
    /// It is malformed.
    pub(super) fn handle(&mut self, node: &mut Node, call: Call<'_>) -> Result<Handled, Malformed> {
        let body = call.body.rest();
        if !node.brokers.has_others() || self.waiting.len() >= HELD_MAX || body.len() > HELD_BYTES_MAX {
            return metadata::answer(node, call).map(Handled::Done);
        }
        let leaders = leaders(node, body, call.form)?;
        let reached = leaders.iter().filter(|leader| node.brokers.is_reached(**leader));
        let probes: BTreeMap<i32, u64> =
            reached.map(|leader| (*leader, self.probes.begin(*leader))).collect();
        if probes.is_empty() && !leaders.iter().any(|leader| node.brokers.has_lost(*leader)) {
            return metadata::answer(node, call).map(Handled::Done);
        }
        let held = Held {
            body: body.to_vec(),
            form: call.form,
            client: Arc::clone(call.client),
            client_id: call.client_id.to_owned(),
            probes,
        };
        self.waiting.insert(call.waiter, call.now.mono().plus_ms(HELD_MS), held);
        Ok(Handled::Pipelined)
    }

    /// Whether brokers are to be asked whether they live.
    pub(crate) fn has_probes(&self) -> bool {
        self.probes.has_unsent()
    }

    /// Takes the brokers that are to be asked whether they live.
    pub(crate) fn take_probes(&mut self) -> BTreeSet<i32> {
        self.probes.take_unsent()
    }

    /// A broker lives.
    pub(crate) fn lives(&mut self, node: &mut Node, broker: i32, now: Now) {
        self.probes.answered(broker);
        self.is_touched = true;
        self.go_on(node, now);
    }

    /// A partition has another leader, or is served here.
    pub(crate) const fn leaders_changed(&mut self) {
        self.is_touched = true;
    }

    /// The link to a broker is gone, or nothing comes over it.
    pub(crate) fn lost(&mut self, broker: i32) {
        self.probes.lost(broker);
    }

    /// Those are answered that have what they waited for. To be called once for all that has happened in a turn.
    pub(crate) fn go_on(&mut self, node: &mut Node, now: Now) {
        if !std::mem::take(&mut self.is_touched) || self.waiting.len() == 0 {
            return;
        }
        let probes = &self.probes;
        let lives = |(broker, number): (&i32, &u64)| probes.is_answered(*broker, *number);
        let is_lost = |leader: &i32| node.brokers.has_lost(*leader);
        let is_led = |held: &Held| {
            let leaders = leaders(node, &held.body, held.form).unwrap_or_default();
            !leaders.iter().any(is_lost) && is_served(node, &held.body, held.form)
        };
        let ready = self.waiting.extract(|held| held.probes.iter().all(lives) && is_led(held));
        ready.into_iter().for_each(|(waiter, held)| answer(node, waiter, &held, now));
    }

    /// Answers those that have waited for long enough.
    pub(crate) fn expire(&mut self, node: &mut Node, now: Now) {
        while let Some((waiter, held)) = self.waiting.pop_overdue(now.mono()) {
            answer(node, waiter, &held, now);
        }
    }

    /// A connection is gone: nobody waits any more for what it asked for.
    pub(crate) fn disconnected(&mut self, shard: u16, conn: ConnId) {
        while self.waiting.pop_of(shard, conn).is_some() {}
    }

    pub(crate) fn next_deadline(&self) -> Option<MonoTime> {
        self.waiting.next_deadline()
    }
}

/// Whether what this broker leads of the topics that are asked for is served here by now.
fn is_served(node: &Node, body: &[u8], form: Form) -> bool {
    let mut topics = Vec::new();
    let request = MetadataRequest::read(&mut Reader::new(body, form.flexible), form.version, &mut topics);
    let serves = |topic: &TopicImage| node.partitions.serves(topic);
    request.is_err() || topics.iter().filter_map(|topic| node.catalog.find(named(topic)).ok()).all(serves)
}

fn answer(node: &mut Node, waiter: Waiter, held: &Held, now: Now) {
    let Held { body, form, client, client_id, .. } = held;
    let body = Reader::new(body, form.flexible);
    let call = Call { api: ApiKey::Metadata, form: *form, body, waiter, client_id, client, now };
    // It was read before.
    if let Ok(response) = metadata::answer(node, call) {
        node.reply(waiter, response);
    }
}

/// The leaders that an answer to a request for some topics would name, but for this broker.
fn leaders(node: &Node, body: &[u8], form: Form) -> Result<BTreeSet<i32>, Malformed> {
    let mut topics = Vec::new();
    let request = MetadataRequest::read(&mut Reader::new(body, form.flexible), form.version, &mut topics)?;
    let mut leaders = BTreeSet::new();
    if !request.all_topics {
        let found = topics.iter().filter_map(|topic| node.catalog.find(named(topic)).ok());
        leaders.extend(found.flat_map(|topic| &topic.partitions).map(|partition| partition.leader));
    }
    leaders.remove(&node.config.node_id);
    Ok(leaders)
}

fn named<'r>(topic: &MetadataTopic<'r>) -> TopicName<'r> {
    topic.name.map_or(TopicName::Id(topic.id), TopicName::Name)
}
