//! A consumer group with many members, of which one dies.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use log_client::load::{Group, group};
use tools_lab_report::figure;

use super::failover::median_ms;
use super::{Seen, Topic, Turn};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Mode, Stand};

/// Each member reads so many partitions.
const PARTITIONS_EACH: i32 = 2;
/// Messages a second of each partition.
const PER_SECOND: f64 = 10.0;
/// What the group has instead of 45 s and 5 s: after how long without a heartbeat a member is removed, and how often it sends one.
const SESSION_MS: u64 = 3000;
const HEARTBEAT_MS: u64 = 50;
/// How long nothing happens before a death: longer than `group.consumer.assignment.interval.ms`.
const SETTLE: Duration = Duration::from_millis(1500);

pub(super) fn perform((members, deaths): (i32, u32), stand: &Stand, turn: Turn) -> io::Result<Seen> {
    let topic = Topic::make(stand, (turn, "group"), members * PARTITIONS_EACH, Mode::PageCache)?;
    let name = format!("lab-{}", turn.number);
    let settings = [
        ("consumer.session.timeout.ms", SESSION_MS.to_string()),
        ("consumer.heartbeat.interval.ms", HEARTBEAT_MS.to_string()),
    ];
    let settings = settings.map(|(key, value)| (key.to_owned(), Some(value)));
    topic.cluster()?.alter_group(&name, &BTreeMap::from(settings)).map_err(io::Error::other)?;
    let load = Group {
        bootstrap: topic.bootstrap.clone(),
        topic: topic.name.clone(),
        partitions: topic.partitions,
        group: name,
        members: usize::try_from(members).unwrap_or(0),
        per_second: PER_SECOND * f64::from(topic.partitions),
        message_bytes: MESSAGE_BYTES,
        session: Duration::from_millis(SESSION_MS),
    };
    let grouped = group(&load, SETTLE.max(turn.warm_up), usize::try_from(deaths).unwrap_or(0))?;
    let longest = grouped.again.iter().max().copied().unwrap_or_default();
    let mut seen = Seen::default();
    seen.figures.insert(figure::CONSUMED_AGAIN, median_ms(grouped.again));
    seen.figures.insert(figure::LONGEST_CONSUMED_AGAIN, longest.as_secs_f64() * 1000.0);
    seen.outcome.checked.reads += grouped.acknowledged;
    topic.check(grouped.acknowledged, turn, &mut seen.outcome)?;
    topic.delete()?;
    Ok(seen)
}
