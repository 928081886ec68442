//! A share group takes what a topic holds, and acknowledges every message by itself.

use std::collections::BTreeMap;
use std::io;

use log_client::load::{Fill, Share, fill, share};
use tools_testbed::meter::Edges;

use super::{Seen, Topic, Turn, both, compare, phase};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Mode, Stand};

/// Messages of a batch.
const BATCH: usize = 50;

pub(super) fn perform(messages: u64, stand: &Stand, turn: Turn, edges: &mut Edges<'_>) -> io::Result<Seen> {
    let topic = Topic::make(stand, (turn, "share"), 1, Mode::PageCache)?;
    let written = Fill {
        address: topic.address,
        topic: topic.name.clone(),
        partitions: 1,
        batches: (messages / BATCH as u64).max(1),
        batch: BATCH,
        message_bytes: MESSAGE_BYTES,
    };
    let acknowledged = fill(&written, turn.patience)?;
    let group = format!("lab-{}", turn.number);
    let earliest = (String::from("share.auto.offset.reset"), Some(String::from("earliest")));
    topic.cluster()?.alter_group(&group, &BTreeMap::from([earliest])).map_err(io::Error::other)?;
    let load = Share { address: topic.address, topic: topic.name.clone(), group, expected: acknowledged };
    let measured = share(&load, turn.warm_up, turn.measured, both(edges))?;
    let mut seen = Seen::default();
    seen.outcome.phases.push(phase(&measured));
    compare(acknowledged, measured.total, &mut seen.outcome);
    topic.delete()?;
    Ok(seen)
}
