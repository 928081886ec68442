//! `diwan group`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use log_client::{Cluster, End, GroupDescription, TopicPartition};
use serde_json::{Value, json};

use super::access::ClusterArguments;
use super::complete;
use super::consume::offsets;
use super::failure::Done;
use super::reset::{self, ResetArguments};
use crate::table;

pub(crate) const HELP: &str = "\
  diwan group list
  diwan group describe audit
  diwan group reset-offsets audit --topic orders --to-earliest --execute
  diwan group delete audit";

#[derive(Debug, Subcommand)]
pub(crate) enum GroupCommand {
    /// Show all groups.
    List(ListArguments),
    /// Show members of groups, what they read, and how far they are behind.
    Describe(DescribeArguments),
    /// Set where a group without members goes on. Without `--execute` it only shows what would change.
    #[command(after_help = reset::HELP)]
    ResetOffsets(ResetArguments),
    /// Delete groups without members, with their offsets.
    Delete(DeleteArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DescribeArguments {
    /// Their names.
    #[arg(required = true, add = ArgValueCompleter::new(complete::groups))]
    groups: Vec<String>,

    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArguments {
    /// Their names.
    #[arg(required = true, add = ArgValueCompleter::new(complete::groups))]
    groups: Vec<String>,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Runs one.
pub(super) fn run(command: &GroupCommand, out: &mut impl Write) -> Done {
    match command {
        GroupCommand::List(arguments) => list(arguments, out),
        GroupCommand::Describe(arguments) => describe(arguments, out),
        GroupCommand::ResetOffsets(arguments) => reset::run(arguments, out),
        GroupCommand::Delete(arguments) => delete(arguments, out),
    }
}

fn list(arguments: &ListArguments, out: &mut impl Write) -> Done {
    let groups = arguments.cluster.connect()?.groups()?;
    if arguments.json {
        let each = groups.iter().map(
            |group| json!({"group": group.group_id, "state": group.group_state, "type": group.protocol_type}),
        );
        return Ok(writeln!(out, "{:#}", Value::from_iter(each))?);
    }
    let mut rows = vec![["GROUP", "STATE", "TYPE"].map(String::from).to_vec()];
    rows.extend(groups.into_iter().map(|group| vec![group.group_id, group.group_state, group.protocol_type]));
    Ok(table::write(out, 0, &rows)?)
}

/// What `describe` shows of a group.
struct Description {
    name: String,
    group: GroupDescription,
    parts: Vec<Part>,
}

/// A partition that a group reads or has read.
struct Part {
    partition: TopicPartition,
    committed: Option<i64>,
    end: Option<i64>,
    member: Option<String>,
}

impl Part {
    fn lag(&self) -> Option<i64> {
        Some((self.end? - self.committed?).max(0))
    }
}

fn describe(arguments: &DescribeArguments, out: &mut impl Write) -> Done {
    let mut cluster = arguments.cluster.connect()?;
    let mut described = Vec::new();
    for name in &arguments.groups {
        described.push(look_at(&mut cluster, name)?);
    }
    if arguments.json {
        return Ok(writeln!(out, "{:#}", described.iter().map(to_json).collect::<Value>())?);
    }
    for (place, description) in described.iter().enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        show(description, out)?;
    }
    Ok(())
}

fn look_at(cluster: &mut Cluster, name: &str) -> Done<Description> {
    let group = cluster.describe_group(name)?;
    let committed = cluster.committed(name)?;
    let read_by: BTreeMap<&TopicPartition, &str> = group
        .members
        .iter()
        .flat_map(|member| member.partitions.iter().map(|partition| (partition, member.id.as_str())))
        .collect();
    let partitions: BTreeSet<&TopicPartition> = committed.keys().chain(read_by.keys().copied()).collect();
    let ends = ends(cluster, &partitions)?;
    let parts = partitions.into_iter().map(|partition| Part {
        partition: partition.clone(),
        committed: committed.get(partition).copied(),
        end: ends.get(partition).copied(),
        member: read_by.get(partition).map(|member| String::from(*member)),
    });
    Ok(Description { name: name.into(), parts: parts.collect(), group })
}

/// Of topics that are not there any more nothing is known.
fn ends(
    cluster: &mut Cluster,
    partitions: &BTreeSet<&TopicPartition>,
) -> Done<BTreeMap<TopicPartition, i64>> {
    let topics: BTreeSet<String> = partitions.iter().map(|(topic, _)| topic.clone()).collect();
    let topics =
        if topics.is_empty() { Vec::new() } else { cluster.look(Some(&Vec::from_iter(topics)), false)? };
    let there: BTreeSet<TopicPartition> = topics
        .into_iter()
        .filter(|topic| topic.error_code == 0)
        .flat_map(|topic| {
            let led = topic.partitions.into_iter().filter(|partition| partition.leader_id >= 0);
            led.map(move |partition| (topic.name.clone().unwrap_or_default(), partition.partition_index))
        })
        .collect();
    let wanted: Vec<TopicPartition> =
        partitions.iter().filter(|partition| there.contains(**partition)).map(|it| (*it).clone()).collect();
    offsets(cluster, &wanted, End::Latest)
}

fn show(description: &Description, out: &mut impl Write) -> Done {
    let Description { name, group, parts } = description;
    writeln!(out, "{name}")?;
    writeln!(out, "  state        {}", group.state)?;
    writeln!(out, "  protocol     {}", group.protocol)?;
    if !group.assignor.is_empty() {
        writeln!(out, "  assignor     {}", group.assignor)?;
    }
    writeln!(out, "  coordinator  {}", group.coordinator)?;
    if !parts.is_empty() {
        writeln!(out)?;
        let head = ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER"];
        let mut rows = vec![head.map(String::from).to_vec()];
        rows.extend(parts.iter().map(|part| {
            let number = |number: Option<i64>| number.map_or(String::from("-"), |it| it.to_string());
            let (topic, partition) = &part.partition;
            let member = part.member.clone().unwrap_or_else(|| String::from("-"));
            let numbers = [number(part.committed), number(part.end), number(part.lag())];
            [topic.clone(), partition.to_string()].into_iter().chain(numbers).chain([member]).collect()
        }));
        table::write(out, 2, &rows)?;
    }
    if !group.members.is_empty() {
        writeln!(out)?;
        let mut rows =
            vec![["MEMBER", "INSTANCE", "CLIENT", "HOST", "PARTITIONS"].map(String::from).to_vec()];
        rows.extend(group.members.iter().map(|member| {
            let instance = member.instance.clone().unwrap_or_else(|| String::from("-"));
            let count = member.partitions.len().to_string();
            vec![member.id.clone(), instance, member.client_id.clone(), member.host.clone(), count]
        }));
        table::write(out, 2, &rows)?;
    }
    Ok(())
}

fn to_json(description: &Description) -> Value {
    let Description { name, group, parts } = description;
    let members = group.members.iter().map(|member| {
        json!({"member": member.id, "instance": member.instance, "client": member.client_id, "host": member.host})
    });
    let parts = parts.iter().map(|part| {
        json!({"topic": part.partition.0, "partition": part.partition.1, "committed": part.committed,
            "end": part.end, "lag": part.lag(), "member": part.member})
    });
    json!({"group": name, "state": group.state, "protocol": group.protocol, "assignor": group.assignor,
        "coordinator": group.coordinator, "members": Value::from_iter(members),
        "partitions": Value::from_iter(parts)})
}

fn delete(arguments: &DeleteArguments, out: &mut impl Write) -> Done {
    let mut cluster = arguments.cluster.connect()?;
    for group in &arguments.groups {
        cluster.delete_group(group)?;
        writeln!(out, "group `{group}` is deleted")?;
    }
    Ok(())
}
