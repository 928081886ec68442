//! A broker that leads many partitions is killed: until all of them are led again, and have acknowledged a message.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use log_client::load::Everywhere;

use super::failover::Outage;
use super::producers::OVER_WITHIN;
use super::{LOOK_EVERY, Seen, Topic, Turn};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Mode, Stand};

/// Whom it happens to. It also is the controller of Diwan's brokers, which is the one with the lowest number.
const VICTIM: i32 = 1;

/// Every partition has a replica on each of three brokers, and prefers the same leader. Half of them prefer the second broker next,
/// half the third.
pub(super) fn perform((leaders, times): (i32, u32), stand: &mut Stand, turn: Turn) -> io::Result<Seen> {
    let replicas: Vec<_> = (0..leaders).map(order).collect();
    let topic = Topic::make_on(stand, (turn, "takeover"), &replicas, Mode::PageCache)?;
    let addresses = stand.addresses();
    let living = addresses.get(1..).unwrap_or_default();
    let mut producer = Everywhere::start(&addresses, &topic.name, leaders, MESSAGE_BYTES)?;
    producer.round(&addresses, None, OVER_WITHIN)?;
    let mut outages = Vec::new();
    for _ in 0..times {
        victim_leads_all(&topic)?;
        // What was not compiled yet, or is behind, has time for it.
        thread::sleep(turn.warm_up);
        let began = Instant::now();
        stand.kill_one(VICTIM).map_err(io::Error::other)?;
        let reached = producer.round(living, Some(VICTIM), OVER_WITHIN)?;
        let since = |at: Instant| at.saturating_duration_since(began);
        outages.push(Outage { known: since(reached.known), acknowledged: since(reached.acknowledged) });
        stand.restart_one(VICTIM).map_err(io::Error::other)?;
    }
    let mut seen = Seen { figures: Outage::figures(&outages), ..Seen::default() };
    topic.wait(turn)?;
    topic.check(producer.acknowledged(), turn, &mut seen.outcome)?;
    topic.delete()?;
    Ok(seen)
}

/// The replicas of a partition.
fn order(partition: i32) -> Vec<i32> {
    if partition % 2 == 0 { vec![VICTIM, 2, 3] } else { vec![VICTIM, 3, 2] }
}

/// Waits until all replicas are in sync, and one broker leads every partition.
fn victim_leads_all(topic: &Topic) -> io::Result<()> {
    /// Between two times that it is asked for.
    const ASK_EVERY: Duration = Duration::from_secs(2);
    let (mut cluster, began) = (topic.cluster()?, Instant::now());
    let mut asked: Option<Instant> = None;
    while began.elapsed() < OVER_WITHIN {
        let looked = cluster.topic(&topic.name, false).map_err(io::Error::other)?;
        let in_sync = looked.partitions.iter().filter(|of| of.isr_nodes.len() == 3);
        let is_whole = in_sync.count() == looked.partitions.len();
        let others = looked.partitions.iter().filter(|of| of.leader_id != VICTIM);
        let others: Vec<_> = others.map(|of| (topic.name.clone(), of.partition_index)).collect();
        if is_whole && others.is_empty() {
            return Ok(());
        }
        if is_whole && asked.is_none_or(|asked| asked.elapsed() > ASK_EVERY) {
            // Those that were refused are asked for again.
            cluster.elect_preferred(&others).map_err(io::Error::other)?;
            asked = Some(Instant::now());
        }
        thread::sleep(LOOK_EVERY * 5);
    }
    let what = format!("broker {VICTIM} does not lead all partitions within {OVER_WITHIN:?}");
    Err(io::Error::new(io::ErrorKind::TimedOut, what))
}
