//! Records that are not delivered any more become dead letters, if their group has a topic for these (KIP-1191).
//!
//! It is durable first that nobody gets such a record. Then its letter is written to the dead-letter topic, in the partition whose
//! number is that of its own, modulo how many there are. When the letter is committed, the record is archived. If a broker dies
//! between the two, there is a second letter. A letter that cannot be written is tried again; its record stays in the window, so a
//! group that has many of them stops at the limit of its locks.

use base::{MonoTime, Now};
use log_config::takes_dead_letters;
use log_coordinators::Ticket;
use log_partition::{Isolation, Offset, Source};
use log_share::{DeadLetters, ShareKey};
use log_wire::{ErrorCode, TopicName};

use super::Share;
use super::appends::{Appender, PeerAppend};
use super::letter::{self, Letters, Origin};
use crate::catalog::is_valid_name;
use crate::node::Node;
use crate::notice::Notice;
use crate::peer_calls::append_codec::Append;

/// So many records become dead letters at once.
const LETTERS_MAX: u32 = 500;
/// What is read at once for their copies, bytes, if a batch is not longer.
const READ_BYTES: usize = 1 << 20;
/// A batch of letters for another broker is not longer, bytes: a call is at most 1 MiB.
const CALL_BYTES_MAX: usize = 900 << 10;
/// After how many milliseconds letters that could not be written are tried again.
const AGAIN_MS: u64 = 500;

/// How far a share partition has come with its dead letters.
#[derive(Debug, Default)]
pub(super) struct Burial {
    /// What is being written.
    under_way: Option<(Ticket, DeadLetters)>,
    /// When to try again.
    again_at: Option<MonoTime>,
    /// What the operator was told last.
    told: Option<&'static str>,
}

impl Burial {
    /// The settings have changed: it is looked at with the next tick.
    pub(super) const fn look_again(&mut self) {
        self.again_at = Some(MonoTime::ZERO);
    }

    /// Whether nothing is being written.
    pub(super) const fn is_idle(&self) -> bool {
        self.under_way.is_none()
    }

    fn is_due(&self, now: Now) -> bool {
        self.under_way.is_none() && self.again_at.is_some_and(|at| at <= now.mono())
    }

    fn at(&self, ticket: Ticket) -> Option<DeadLetters> {
        self.under_way.filter(|(own, _)| *own == ticket).map(|(_, of)| of)
    }
}

/// Where letters go.
struct Target {
    topic: [u8; 16],
    index: i32,
    broker: i32,
    bytes_max: usize,
}

/// Why letters cannot be written now; nothing if that is about to change.
type Hindrance = Option<&'static str>;

impl Share {
    /// Begins with the next dead letters of a share partition, unless some are under way.
    pub(super) fn bury(&mut self, node: &mut Node, key: &ShareKey, now: Now) {
        let Some(served) = self.served.get_mut(key) else { return };
        if served.settings.dead_letter_topic.is_none() {
            return;
        }
        if served.burial.under_way.is_some() || served.burial.again_at.is_some_and(|at| at > now.mono()) {
            return;
        }
        served.burial.again_at = None;
        let next = served.machine.as_ref().and_then(|machine| machine.next_dead_letters(LETTERS_MAX));
        let Some(of) = next else { return };
        let ticket = node.ticket();
        served.burial.under_way = Some((ticket, of));
        if !served.settings.copies_records {
            return self.write_letters(node, key, (ticket, None), now);
        }
        let hosted = node.partitions.get(served.slot).filter(|hosted| hosted.id == served.id);
        let read = hosted
            .map(|hosted| hosted.partition.read(Offset(of.first), Isolation::ReadUncommitted, READ_BYTES));
        match read {
            Some(Ok(read)) => match read.source {
                Source::Segment(_) => self.reads.push_dead(key, served.id, read.source, ticket),
                Source::Nothing => self.write_letters(node, key, (ticket, Some(&[])), now),
                Source::Memory(batches) => {
                    self.write_letters(node, key, (ticket, Some(&batches.concat())), now);
                }
            },
            // The log begins behind them: the window follows with the next look at it.
            Some(Err(_)) => self.write_letters(node, key, (ticket, None), now),
            None => served.burial.under_way = None,
        }
    }

    /// What letters are to copy was read; nothing if they copy nothing.
    pub(super) fn write_letters(
        &mut self,
        node: &mut Node,
        key: &ShareKey,
        (ticket, source): (Ticket, Option<&[u8]>),
        now: Now,
    ) {
        let Some(served) = self.served.get_mut(key) else { return };
        let Some(of) = served.burial.at(ticket) else { return };
        let Some(name) = served.settings.dead_letter_topic.clone() else {
            served.burial.under_way = None;
            return;
        };
        let target = match target(node, &name, key.partition) {
            Ok(target) => target,
            Err(why) => return self.letters_hindered(node, key, why, now),
        };
        let origin = Origin { topic: &served.topic, partition: key.partition, group: &key.group };
        let terms = (target.bytes_max, now.wall.ms());
        let mut letters = letter::write(of, origin, source, terms);
        if letters.last < of.first {
            letters = letter::write(DeadLetters { last: of.first, ..of }, origin, None, terms);
        }
        served.burial.under_way = Some((ticket, DeadLetters { last: letters.last, ..of }));
        self.send_letters(node, key, (ticket, letters, &target), now);
    }

    fn send_letters(
        &mut self,
        node: &mut Node,
        key: &ShareKey,
        (ticket, letters, target): (Ticket, Letters, &Target),
        now: Now,
    ) {
        self.burials.insert(ticket, key.clone());
        let Some(batch) = letters.batch else { return self.append_answered(ticket, ErrorCode::None) };
        let append = Append { topic: target.topic, index: target.index, batch };
        if target.broker == node.config.node_id {
            self.appends.append(node, Appender::Here(ticket), &append, now);
        } else {
            self.appends.send(PeerAppend { broker: target.broker, ticket, append });
        }
    }

    /// Letters are committed, or were not written.
    pub(super) fn letters_written(&mut self, node: &mut Node, ticket: Ticket, error: ErrorCode, now: Now) {
        let Some(key) = self.burials.remove(&ticket) else { return };
        let Some(served) = self.served.get_mut(&key) else { return };
        let Some(of) = served.burial.at(ticket) else { return };
        if error != ErrorCode::None {
            return self.letters_hindered(node, &key, refusal(error), now);
        }
        (served.burial.under_way, served.burial.told) = (None, None);
        if let Some(machine) = &mut served.machine {
            machine.archived(of.first, of.last);
        }
        self.write_changes(node, &key);
        self.wake(&key);
        self.bury(node, &key, now);
    }

    fn letters_hindered(&mut self, node: &mut Node, key: &ShareKey, why: Hindrance, now: Now) {
        let Some(served) = self.served.get_mut(key) else { return };
        served.burial.under_way = None;
        served.burial.again_at = Some(now.mono().plus_ms(AGAIN_MS));
        if let Some(why) = why.filter(|why| served.burial.told != Some(*why)) {
            served.burial.told = Some(why);
            node.notices.push(Notice::DeadLetters(key.group.clone(), why));
        }
    }

    /// Letters that could not be written are tried again.
    pub(super) fn bury_again(&mut self, node: &mut Node, now: Now) {
        let due = self.served.iter().filter(|(_, served)| served.burial.is_due(now));
        let due: Vec<ShareKey> = due.map(|(key, _)| key.clone()).collect();
        for key in due {
            self.write_changes(node, &key);
            self.wake(&key);
            self.bury(node, &key, now);
        }
    }
}

/// Where the letters of a partition go. A topic that is not there is made if that is permitted.
fn target(node: &mut Node, name: &str, partition: i32) -> Result<Target, Hindrance> {
    if name.starts_with("__") || !is_valid_name(name) || !name.starts_with(&node.config.dead_letters.prefix) {
        return Err(Some(
            "the dead-letter topic has a name that is not permitted: see \
             `errors.deadletterqueue.topic.name.prefix`",
        ));
    }
    let Ok(topic) = node.catalog.find(TopicName::Name(name)) else {
        if !node.config.dead_letters.creates_topics {
            return Err(Some("the dead-letter topic is not there"));
        }
        let takes = ("errors.deadletterqueue.group.enable".into(), "true".into());
        node.make_topic_with(name, [takes].into());
        return Err(None);
    };
    if !takes_dead_letters(&topic.settings) {
        return Err(Some("the dead-letter topic does not set `errors.deadletterqueue.group.enable`"));
    }
    let index = usize::try_from(partition).unwrap_or(0).checked_rem(topic.partitions.len()).ok_or(None)?;
    let broker = topic.partitions.get(index).map_or(-1, |partition| partition.leader);
    if broker < 0 {
        return Err(Some("the partition of the dead-letter topic has no leader"));
    }
    let call_max = if broker == node.config.node_id { usize::MAX } else { CALL_BYTES_MAX };
    let bytes_max = topic.config.batch_bytes_max.min(call_max);
    Ok(Target { topic: topic.id, index: i32::try_from(index).unwrap_or(0), broker, bytes_max })
}

/// What the operator is told of a refusal.
const fn refusal(error: ErrorCode) -> Hindrance {
    match error {
        ErrorCode::KafkaStorageError => Some("the disk has no room for dead letters"),
        ErrorCode::NotEnoughReplicas => Some("too few replicas of the dead-letter topic are in sync"),
        ErrorCode::MessageTooLarge | ErrorCode::RecordListTooLarge => {
            Some("a dead letter is longer than `max.message.bytes` of the dead-letter topic")
        }
        ErrorCode::InvalidRecord => Some("the dead-letter topic refuses dead letters: it may be compacted"),
        // Leaders change.
        _ => None,
    }
}
