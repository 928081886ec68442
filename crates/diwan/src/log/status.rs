//! `diwan log status`.

use std::collections::BTreeMap;
use std::io::Write;
use std::thread;
use std::time::Duration;

use clap::Args;
use log_balance::Report;
use log_client::Cluster;
use log_client::messages::cluster::OngoingPartitionReassignment;
use log_client::messages::data::{MetadataResponsePartition, MetadataResponseTopic};
use serde_json::{Value, json};

use super::access::ClusterArguments;
use super::automatic;
use super::copies::{Copies, Kept, progress};
use super::failure::Done;
use crate::table;

pub(crate) const HELP: &str = "\
  diwan log status
  diwan log status --bootstrap-server broker1:9092,broker2:9092 --json

Partitions are named only where something is amiss: without a leader, with fewer replicas in sync than they have, or led by
another broker than the first of their replicas. Brokers that drain are named with what is left on them. At the end stands what
the brokers have balanced by themselves, or not, and why. It ends with 1 if a partition has no leader.";

/// How many partitions are named in a table.
const NAMED_MAX: usize = 20;
/// How long it is looked how fast moves are.
const BETWEEN: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct StatusArguments {
    /// As JSON, with every partition at which something is amiss.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// What a broker has.
#[derive(Debug, Default)]
struct BrokerStanding {
    address: Option<String>,
    leads: usize,
    replicas: usize,
    /// Replicas that are not in sync.
    behind: usize,
    /// How many bytes its replicas take; nothing if it does not answer.
    bytes: Option<i64>,
    /// How many records its replicas lack in all.
    lag: Option<i64>,
    /// Everything moves away from it (`diwan log drain`).
    drains: bool,
}

/// A partition at which something is amiss.
#[derive(Debug)]
struct Amiss {
    topic: String,
    partition: i32,
    leader: i32,
    replicas: Vec<i32>,
    in_sync: Vec<i32>,
    what: &'static str,
}

/// A partition that gets other replicas.
#[derive(Debug)]
struct Move {
    topic: String,
    of: OngoingPartitionReassignment,
    /// Bytes that its new replicas have, of so many, and how fast they grow.
    copied: u64,
    all: u64,
    per_second: u64,
}

/// Runs it.
pub(super) fn run(arguments: &StatusArguments, out: &mut impl Write) -> Done {
    let mut cluster = arguments.cluster.connect()?;
    let topics = cluster.look(None, false)?;
    let (mut brokers, mut amiss) = (BTreeMap::<i32, BrokerStanding>::new(), Vec::new());
    for (id, address) in cluster.brokers() {
        brokers.entry(*id).or_default().address = Some(address.clone());
    }
    for topic in &topics {
        topic.partitions.iter().for_each(|partition| count(topic, partition, &mut brokers, &mut amiss));
    }
    ask_for_disks(&mut cluster, &mut brokers);
    let ids: Vec<i32> = brokers.keys().copied().collect();
    for (id, drains) in cluster.drains(&ids)? {
        brokers.entry(id).or_default().drains = drains;
    }
    let moves = look_at_moves(&mut cluster)?;
    let balance = automatic::look(&mut cluster)?;
    let unled = amiss.iter().filter(|of| of.leader < 0).count();
    if arguments.json {
        writeln!(out, "{:#}", to_json(&cluster, &brokers, (&amiss, &moves), balance.as_ref()))?;
    } else {
        show(&brokers, &amiss, &moves, out)?;
        balance.iter().try_for_each(|report| automatic::show(report, out))?;
    }
    if unled > 0 {
        out.flush()?;
        let what = format!("{unled} partitions have no leader");
        return Err(super::failure::Failure::hinted(
            what,
            "start the brokers that keep them: more than half of the replicas are needed",
        ));
    }
    Ok(())
}

/// The moves, and how far they are: that is looked at twice, some time apart.
fn look_at_moves(cluster: &mut Cluster) -> Done<Vec<Move>> {
    let moves = cluster.reassignments()?;
    if moves.is_empty() {
        return Ok(Vec::new());
    }
    let copies = |(topic, of): &(String, OngoingPartitionReassignment)| Copies {
        topic: topic.clone(),
        index: of.partition_index,
        to: of.adding_replicas.clone(),
    };
    let copies: Vec<Copies> = moves.iter().map(copies).collect();
    let leaders = copies.iter().map(|of| cluster.leader(&of.topic, of.index));
    let leaders: Vec<Option<i32>> = leaders.collect();
    let targets = copies.iter().flat_map(|of| of.to.iter().copied());
    let brokers: Vec<i32> = targets.chain(leaders.iter().copied().flatten()).collect();
    let before = Kept::by(cluster, brokers.iter().copied());
    thread::sleep(BETWEEN);
    let after = Kept::by(cluster, brokers.iter().copied());
    let of_one = |((topic, of), (copies, leader)): (_, (&Copies, &Option<i32>))| {
        let copied = after.copied(copies);
        let one = leader.and_then(|leader| after.of(leader, &copies.topic, copies.index)).unwrap_or_default();
        let per_second = copied.saturating_sub(before.copied(copies));
        Move { topic, of, copied, all: one.saturating_mul(copies.to.len() as u64), per_second }
    };
    Ok(moves.into_iter().zip(copies.iter().zip(&leaders)).map(of_one).collect())
}

fn count(
    topic: &MetadataResponseTopic,
    partition: &MetadataResponsePartition,
    brokers: &mut BTreeMap<i32, BrokerStanding>,
    amiss: &mut Vec<Amiss>,
) {
    let (replicas, in_sync) = (&partition.replica_nodes, &partition.isr_nodes);
    for replica in replicas {
        let of = brokers.entry(*replica).or_default();
        of.replicas += 1;
        of.behind += usize::from(!in_sync.contains(replica));
    }
    if let Some(of) = brokers.get_mut(&partition.leader_id) {
        of.leads += 1;
    }
    let what = match partition.leader_id {
        -1 => "no leader",
        _ if replicas.iter().any(|replica| !in_sync.contains(replica)) => "behind",
        leader if replicas.first() != Some(&leader) => "not the preferred leader",
        _ => return,
    };
    amiss.push(Amiss {
        topic: topic.name.clone().unwrap_or_default(),
        partition: partition.partition_index,
        leader: partition.leader_id,
        replicas: replicas.clone(),
        in_sync: in_sync.clone(),
        what,
    });
}

/// What the replicas of each broker take, and lack. One that does not answer says nothing.
fn ask_for_disks(cluster: &mut Cluster, brokers: &mut BTreeMap<i32, BrokerStanding>) {
    for (id, standing) in brokers.iter_mut().filter(|(_, standing)| standing.address.is_some()) {
        let Ok(topics) = cluster.replicas_of(*id) else { continue };
        let partitions = topics.iter().flat_map(|topic| &topic.partitions);
        let (bytes, lag) = partitions.fold((0, 0), |(bytes, lag), partition| {
            (bytes + partition.partition_size.max(0), lag + partition.offset_lag.max(0))
        });
        (standing.bytes, standing.lag) = (Some(bytes), Some(lag));
    }
}

fn show(
    brokers: &BTreeMap<i32, BrokerStanding>,
    amiss: &[Amiss],
    moves: &[Move],
    out: &mut impl Write,
) -> Done {
    let head = ["BROKER", "ADDRESS", "LEADS", "REPLICAS", "BEHIND", "LAG", "BYTES"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let number = |of: Option<i64>| of.map_or_else(|| String::from("?"), |of| of.to_string());
    rows.extend(brokers.iter().map(|(id, of)| {
        let address = of.address.clone().unwrap_or_else(|| String::from("not announced"));
        let counts = [of.leads, of.replicas, of.behind].map(|count| count.to_string());
        [id.to_string(), address]
            .into_iter()
            .chain(counts)
            .chain([number(of.lag), number(of.bytes)])
            .collect()
    }));
    table::write(out, 0, &rows)?;
    show_drains(brokers, out)?;
    if !amiss.is_empty() {
        writeln!(out)?;
        let head = ["TOPIC", "PARTITION", "LEADER", "REPLICAS", "IN SYNC", "WHAT"];
        let mut rows = vec![head.map(String::from).to_vec()];
        rows.extend(amiss.iter().take(NAMED_MAX).map(|of| {
            let leader = if of.leader < 0 { String::from("none") } else { of.leader.to_string() };
            let (topic, partition) = (of.topic.clone(), of.partition.to_string());
            vec![topic, partition, leader, numbers(&of.replicas), numbers(&of.in_sync), of.what.to_owned()]
        }));
        table::write(out, 0, &rows)?;
        if amiss.len() > NAMED_MAX {
            writeln!(out, "and {} more: `--json` names all", amiss.len() - NAMED_MAX)?;
        }
    }
    if !moves.is_empty() {
        writeln!(out)?;
        let head = ["MOVING", "PARTITION", "REPLICAS", "ADDING", "REMOVING", "COPIED"];
        let mut rows = vec![head.map(String::from).to_vec()];
        rows.extend(moves.iter().take(NAMED_MAX).map(|Move { topic, of, copied, all, per_second }| {
            let lists = [&of.replicas, &of.adding_replicas, &of.removing_replicas].map(|of| numbers(of));
            let copied = progress(*copied, *all, *per_second);
            [topic.clone(), of.partition_index.to_string()].into_iter().chain(lists).chain([copied]).collect()
        }));
        table::write(out, 0, &rows)?;
    }
    Ok(())
}

/// What is left on brokers from which everything moves away.
fn show_drains(brokers: &BTreeMap<i32, BrokerStanding>, out: &mut impl Write) -> Done {
    for (id, of) in brokers.iter().filter(|(_, of)| of.drains) {
        match of.replicas {
            0 => writeln!(out, "broker {id} drains: nothing is left, it may be stopped for good")?,
            left => writeln!(out, "broker {id} drains: {left} replicas are left, and it leads {}", of.leads)?,
        }
    }
    Ok(())
}

fn to_json(
    cluster: &Cluster,
    brokers: &BTreeMap<i32, BrokerStanding>,
    (amiss, moves): (&[Amiss], &[Move]),
    balance: Option<&Report>,
) -> Value {
    let brokers = brokers.iter().map(|(id, of)| {
        json!({"broker": id, "address": of.address, "leads": of.leads, "replicas": of.replicas,
            "behind": of.behind, "lag": of.lag, "bytes": of.bytes, "drains": of.drains})
    });
    let amiss = amiss.iter().map(|of| {
        let leader = (of.leader >= 0).then_some(of.leader);
        json!({"topic": of.topic, "partition": of.partition, "leader": leader, "replicas": of.replicas,
            "in_sync": of.in_sync, "what": of.what})
    });
    let moves = moves.iter().map(|Move { topic, of, copied, all, per_second }| {
        json!({"topic": topic, "partition": of.partition_index, "replicas": of.replicas,
            "adding": of.adding_replicas, "removing": of.removing_replicas, "copied_bytes": copied,
            "bytes": all, "bytes_per_second": per_second})
    });
    json!({"cluster": cluster.id(), "brokers": Value::from_iter(brokers),
        "partitions_amiss": Value::from_iter(amiss), "moves": Value::from_iter(moves),
        "balance": balance.map(automatic::to_json)})
}

fn numbers(of: &[i32]) -> String {
    if of.is_empty() {
        return String::from("-");
    }
    of.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}
