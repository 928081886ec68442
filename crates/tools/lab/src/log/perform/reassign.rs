//! Replicas with many bytes move to another broker while producers go on.

use std::fs;
use std::io::{self, Write as _};
use std::thread;
use std::time::{Duration, Instant};

use log_client::load::{Fill, fill};
use log_client::messages::data::MetadataResponsePartition;
use tools_lab_report::figure;
use tools_testbed::meter::{Edge, Edges};

use super::producers::{OVER_WITHIN, Told, steady_all, while_producing};
use super::{LOOK_EVERY, PHASE, Seen, Topic, Turn};
use crate::log::job::MESSAGE_BYTES;
use crate::log::{Mode, Stand};

/// Messages of a batch of what moves: few requests for many bytes.
const BATCH: usize = 300;
/// Partitions that move, and those that are written to meanwhile.
const PARTITIONS: usize = 6;
/// The replicas of what moves, the leader first, before and after.
const BEFORE: [i32; 2] = [1, 2];
const AFTER: [i32; 2] = [3, 1];
/// How long the move may take, and how many bytes are written at a time to measure the disk.
const MOVED_WITHIN: Duration = Duration::from_secs(1200);
const CHUNK: usize = 1 << 20;
/// At most so much is written to measure the disk, bytes.
const PROBE_MAX: u64 = 1 << 30;

/// Producers write to a topic with three replicas, first for a time `without`, then as long as the move takes.
pub(super) fn perform(
    (bytes, per_second, without): (u64, f64, Duration),
    stand: &Stand,
    turn: Turn,
    edges: &mut Edges<'_>,
) -> io::Result<Seen> {
    let (bulk, filled) = filled(bytes, stand, turn)?;
    let disk = disk_rate(stand, bytes.min(PROBE_MAX))?;
    let topic = Topic::make(stand, (turn, "load"), PARTITIONS as i32, Mode::PageCache)?;
    let loads = steady_all(stand, &topic, per_second);
    let produced = while_producing(&loads, |told| {
        told.listen(turn.warm_up)?;
        told.caught_up()?;
        let quiet = (Instant::now(), Instant::now() + without);
        told.listen(without)?;
        edges(Edge::Begin, PHASE);
        let moved = move_replicas(&bulk, told)?;
        edges(Edge::End, PHASE);
        Ok((quiet, moved))
    })?;
    let (quiet, moved) = produced.done;
    let (quiet, busy) = (produced.within(quiet), produced.within(moved));
    let rate = bytes as f64 / (moved.1 - moved.0).as_secs_f64();
    let mut seen = Seen::default();
    let (with, without) = (busy.latency_ms(99.9), quiet.latency_ms(99.9));
    seen.figures.insert(figure::P999_WITHOUT, without);
    seen.figures.insert(figure::P999_RATIO, with / without);
    seen.figures.insert(figure::MOVED, rate / 1e6);
    seen.figures.insert(figure::DISK_SHARE, 100.0 * rate / disk);
    seen.outcome.phases.push(busy);
    topic.check(produced.acknowledged, turn, &mut seen.outcome)?;
    // Now the broker that has got everything leads.
    bulk.check(filled, turn, &mut seen.outcome)?;
    topic.delete()?;
    bulk.delete()?;
    Ok(seen)
}

/// A topic with so many bytes of messages, all led by one broker, and how many messages these are.
fn filled(bytes: u64, stand: &Stand, turn: Turn) -> io::Result<(Topic, u64)> {
    let replicas = vec![BEFORE.to_vec(); PARTITIONS];
    let topic = Topic::make_on(stand, (turn, "bulk"), &replicas, Mode::PageCache)?;
    let load = Fill {
        address: topic.address,
        topic: topic.name.clone(),
        partitions: topic.partitions,
        batches: (bytes / (BATCH * MESSAGE_BYTES) as u64).max(1),
        batch: BATCH,
        message_bytes: MESSAGE_BYTES,
    };
    let acknowledged = fill(&load, turn.patience)?;
    wait(&topic, &BEFORE, thread::sleep)?;
    Ok((topic, acknowledged))
}

/// Moves all replicas, and waits until that is done. Gives when it began and ended. The new first replica leads then.
fn move_replicas(topic: &Topic, told: &Told) -> io::Result<(Instant, Instant)> {
    let mut cluster = topic.cluster()?;
    let all: Vec<_> = (0..topic.partitions).map(|index| (topic.name.clone(), index)).collect();
    let wanted = all.iter().map(|one| (one.clone(), AFTER.to_vec())).collect();
    let began = Instant::now();
    cluster.reassign(&wanted).map_err(io::Error::other)?;
    while !cluster.reassignments().map_err(io::Error::other)?.is_empty() {
        if began.elapsed() > MOVED_WITHIN {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the move does not end"));
        }
        told.listen(LOOK_EVERY)?;
    }
    let ended = Instant::now();
    cluster.elect_preferred(&all).map_err(io::Error::other)?;
    wait(topic, &AFTER, |time| drop(told.listen(time)))?;
    Ok((began, ended))
}

/// Waits until all partitions have these replicas, which are in sync, and the first of them leads.
fn wait(topic: &Topic, replicas: &[i32; 2], rest: impl Fn(Duration)) -> io::Result<()> {
    let (mut cluster, began) = (topic.cluster()?, Instant::now());
    loop {
        let looked = cluster.topic(&topic.name, false).map_err(io::Error::other)?;
        let is_done = |of: &MetadataResponsePartition| {
            let is_led = of.leader_id == replicas[0];
            is_led && of.replica_nodes == replicas && of.isr_nodes.len() == replicas.len()
        };
        if looked.partitions.iter().all(is_done) {
            return Ok(());
        }
        if began.elapsed() > OVER_WITHIN {
            let what = format!("the replicas are not {replicas:?}, all in sync, within {OVER_WITHIN:?}");
            return Err(io::Error::new(io::ErrorKind::TimedOut, what));
        }
        rest(LOOK_EVERY);
    }
}

/// How many bytes a second the disk takes: so many are written to a file in one go, and flushed.
fn disk_rate(stand: &Stand, bytes: u64) -> io::Result<f64> {
    let path = stand.folder().join("probe");
    let chunk = vec![0x5a; CHUNK];
    let (mut file, began) = (fs::File::create(&path)?, Instant::now());
    for _ in 0..bytes.div_ceil(CHUNK as u64) {
        file.write_all(&chunk)?;
    }
    file.sync_data()?;
    let took = began.elapsed();
    fs::remove_file(&path)?;
    Ok(bytes.next_multiple_of(CHUNK as u64) as f64 / took.as_secs_f64())
}
