//! Carries a proposal out: stage after stage, a few moves at a time, then the leaders.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use log_balance::{Change, Proposal};
use log_client::Cluster;

use crate::log::copies::{Copies, Kept, progress};
use crate::log::failure::{Done, Failure};

/// How often it is looked how far moves are.
const LOOK: Duration = Duration::from_millis(500);
/// How often that is told.
const TELL: Duration = Duration::from_secs(5);
/// How often an election is asked for whose replica is not ready to lead, once in a [`LOOK`].
const ELECTIONS_MAX: u32 = 60;

/// Configurations of a throttle: of a broker, and of a topic.
const RATES: [&str; 2] = ["leader.replication.throttled.rate", "follower.replication.throttled.rate"];
const REPLICAS: [&str; 2] =
    ["leader.replication.throttled.replicas", "follower.replication.throttled.replicas"];

pub(super) fn carry_out(
    cluster: &mut Cluster,
    proposal: &Proposal,
    throttle: Option<u64>,
    out: &mut impl Write,
) -> Done {
    if let Some(rate) = throttle {
        if let Err(failure) = set_throttle(cluster, proposal, Some(rate)) {
            // What was set until then must not stay. That it failed at first is what the user has to know.
            let _ = set_throttle(cluster, proposal, None);
            return Err(failure);
        }
        let (rates, replicas) = (RATES.join("`, `"), REPLICAS.join("`, `"));
        writeln!(
            out,
            "until the end `{rates}` are set on all brokers, and `{replicas}` on the topics: if this is stopped, remove them"
        )?;
    }
    let carried = carry_out_stages(cluster, proposal, out);
    if throttle.is_some() {
        set_throttle(cluster, proposal, None)?;
    }
    carried?;
    writeln!(out, "all {} changes are carried out", proposal.changes.len())?;
    Ok(())
}

fn carry_out_stages(cluster: &mut Cluster, proposal: &Proposal, out: &mut impl Write) -> Done {
    let stages: BTreeSet<u32> = proposal.changes.iter().map(|change| change.stage).collect();
    // A broker sends and receives one copy at a time, about.
    let at_once = cluster.brokers().len().max(1);
    for stage in stages {
        let of_stage: Vec<&Change> = proposal.changes.iter().filter(|change| change.stage == stage).collect();
        let (moves, transfers): (Vec<_>, Vec<_>) =
            of_stage.into_iter().partition(|change| change.copy_bytes > 0 || is_other_set(change));
        for changes in moves.chunks(at_once).chain([transfers.as_slice()]) {
            carry_out_some(cluster, changes, out)?;
        }
    }
    Ok(())
}

fn is_other_set(change: &Change) -> bool {
    change.before.iter().collect::<BTreeSet<_>>() != change.after.iter().collect::<BTreeSet<_>>()
}

fn carry_out_some(cluster: &mut Cluster, changes: &[&Change], out: &mut impl Write) -> Done {
    if changes.is_empty() {
        return Ok(());
    }
    let key = |change: &&Change| (change.topic.clone(), change.index);
    let wanted = changes.iter().map(|change| (key(change), change.after.clone())).collect();
    cluster.reassign(&wanted)?;
    let all: u64 = changes.iter().map(|change| change.copy_bytes).sum();
    let (began, mut told) = (Instant::now(), Instant::now());
    loop {
        let open: BTreeSet<_> =
            cluster.reassignments()?.into_iter().map(|(topic, of)| (topic, of.partition_index)).collect();
        let left: Vec<_> = changes.iter().filter(|change| open.contains(&key(change))).collect();
        if left.is_empty() {
            break;
        }
        if told.elapsed() > TELL {
            told = Instant::now();
            let copied = copied_bytes(cluster, changes);
            let rate = copied / began.elapsed().as_secs().max(1);
            writeln!(out, "{} partitions move: {}", left.len(), progress(copied, all, rate))?;
            out.flush()?;
        }
        thread::sleep(LOOK);
    }
    let led_by_others = changes.iter().filter(|change| change.moves_leader);
    elect(cluster, led_by_others.filter_map(|of| Some((key(of), *of.after.first()?))).collect())
}

/// How much of their copies new replicas have.
fn copied_bytes(cluster: &mut Cluster, changes: &[&Change]) -> u64 {
    let copies: Vec<Copies> = changes.iter().map(|change| copies_of(change)).collect();
    let kept = Kept::by(cluster, copies.iter().flat_map(|of| of.to.iter().copied()));
    copies.iter().map(|of| kept.copied(of)).sum()
}

fn copies_of(change: &Change) -> Copies {
    let added = change.after.iter().copied().filter(|broker| !change.before.contains(broker));
    Copies { topic: change.topic.clone(), index: change.index, to: added.collect() }
}

/// New leaders are elected. A replica that is not in sync yet is waited for. What counts is who leads then: the broker that is asked
/// may not know yet which replica is the first.
fn elect(cluster: &mut Cluster, mut wanted: BTreeMap<(String, i32), i32>) -> Done {
    for _ in 0..ELECTIONS_MAX {
        if wanted.is_empty() {
            return Ok(());
        }
        cluster.elect_preferred(&wanted.keys().cloned().collect::<Vec<_>>())?;
        let topics: BTreeSet<String> = wanted.keys().map(|(topic, _)| topic.clone()).collect();
        cluster.look(Some(&topics.into_iter().collect::<Vec<_>>()), false)?;
        wanted.retain(|(topic, index), leader| cluster.leader(topic, *index) != Some(*leader));
        if !wanted.is_empty() {
            thread::sleep(LOOK);
        }
    }
    let named: Vec<String> = wanted.keys().map(|(topic, index)| format!("{topic}-{index}")).collect();
    let what = format!("the new leaders of {} do not take over", named.join(", "));
    Err(Failure::hinted(what, "`diwan log status` tells what is amiss; ask for the balance again afterwards"))
}

fn set_throttle(cluster: &mut Cluster, proposal: &Proposal, rate: Option<u64>) -> Done {
    let settings = |names: [&str; 2], value: Option<String>| -> BTreeMap<String, Option<String>> {
        names.map(|name| (String::from(name), value.clone())).into()
    };
    let topics: BTreeSet<&String> = proposal.changes.iter().map(|change| &change.topic).collect();
    for topic in topics {
        cluster.alter_topic(topic, &settings(REPLICAS, rate.map(|_| String::from("*"))))?;
    }
    let brokers: Vec<i32> = cluster.brokers().keys().copied().collect();
    for broker in brokers {
        cluster.alter_broker(broker, &settings(RATES, rate.map(|rate| rate.to_string())))?;
    }
    Ok(())
}
