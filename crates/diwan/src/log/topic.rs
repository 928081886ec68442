//! `diwan topic`.

use std::collections::BTreeMap;
use std::io::Write;

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use log_client::messages::configs::DescribeConfigsResourceResult;
use log_client::messages::data::MetadataResponseTopic;
use log_client::{Cluster, End, ErrorCode, NewTopic};
use serde_json::{Map, Value, json};

use super::access::ClusterArguments;
use super::complete;
use super::failure::{Done, Failure};
use super::settings::{Setting, pairs};
use crate::table;

pub(crate) const HELP: &str = "\
  diwan topic list
  diwan topic create orders --partitions 6 --config retention.ms=604800000
  diwan topic describe orders
  diwan topic alter orders --partitions 12 --set cleanup.policy=compact --unset retention.ms
  diwan topic delete orders

Settings have Kafka's names.";

/// Where the value of a setting comes from: the topic itself has it.
const SOURCE_TOPIC: i8 = 1;

#[derive(Debug, Subcommand)]
pub(crate) enum TopicCommand {
    /// Show all topics.
    List(ListArguments),
    /// Make topics.
    Create(CreateArguments),
    /// Show partitions, leaders, offsets and settings of topics.
    Describe(DescribeArguments),
    /// Change settings of a topic, or give it more partitions.
    Alter(AlterArguments),
    /// Delete topics and all their records.
    Delete(DeleteArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Show the topics of the brokers themselves too.
    #[arg(long)]
    internal: bool,

    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CreateArguments {
    /// Their names.
    #[arg(required = true)]
    topics: Vec<String>,

    /// How many partitions [default: the brokers' `num.partitions`].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,

    /// How many brokers keep each partition [default: the brokers' `default.replication.factor`].
    #[arg(short, long, visible_alias = "replication-factor", value_name = "N", value_parser = clap::value_parser!(i16).range(1..))]
    replicas: Option<i16>,

    /// A setting by Kafka's name.
    #[arg(short, long, value_name = "KEY=VALUE")]
    config: Vec<Setting>,

    /// Leave topics that are there as they are.
    #[arg(long)]
    if_not_exists: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DescribeArguments {
    /// Their names; all topics if there are none.
    #[arg(add = ArgValueCompleter::new(complete::topics))]
    topics: Vec<String>,

    /// Show settings that have their default too.
    #[arg(long)]
    all_settings: bool,

    /// As JSON.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

#[derive(Debug, Args)]
pub(crate) struct AlterArguments {
    /// Its name.
    #[arg(add = ArgValueCompleter::new(complete::topics))]
    topic: String,

    /// How many partitions it has from now on: more than it has.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..))]
    partitions: Option<i32>,

    /// Give a setting a value.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Setting>,

    /// Give a setting its default again.
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,

    #[command(flatten)]
    cluster: ClusterArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArguments {
    /// Their names.
    #[arg(required = true, add = ArgValueCompleter::new(complete::topics))]
    topics: Vec<String>,

    /// Say nothing of topics that are not there.
    #[arg(long)]
    if_exists: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Runs one.
pub(super) fn run(command: &TopicCommand, out: &mut impl Write) -> Done {
    match command {
        TopicCommand::List(arguments) => list(arguments, out),
        TopicCommand::Create(arguments) => create(arguments, out),
        TopicCommand::Describe(arguments) => describe(arguments, out),
        TopicCommand::Alter(arguments) => alter(arguments, out),
        TopicCommand::Delete(arguments) => delete(arguments, out),
    }
}

fn list(arguments: &ListArguments, out: &mut impl Write) -> Done {
    let mut topics = arguments.cluster.connect()?.look(None, false)?;
    topics.retain(|topic| arguments.internal || !topic.is_internal);
    topics.sort_by(|one, other| one.name.cmp(&other.name));
    if arguments.json {
        let each = topics.iter().map(|topic| {
            json!({"topic": name(topic), "id": id(topic), "partitions": topic.partitions.len(),
                "replicas": replicas(topic), "internal": topic.is_internal})
        });
        return Ok(writeln!(out, "{:#}", Value::from_iter(each))?);
    }
    let mut rows = vec![["TOPIC", "PARTITIONS", "REPLICAS"].map(String::from).to_vec()];
    rows.extend(topics.iter().map(|topic| {
        vec![name(topic).to_owned(), topic.partitions.len().to_string(), replicas(topic).to_string()]
    }));
    Ok(table::write(out, 0, &rows)?)
}

fn create(arguments: &CreateArguments, out: &mut impl Write) -> Done {
    let mut cluster = arguments.cluster.connect()?;
    for topic in &arguments.topics {
        let new = NewTopic {
            name: topic.clone(),
            partitions: arguments.partitions.unwrap_or(-1),
            replicas: arguments.replicas.unwrap_or(-1),
            settings: pairs(&arguments.config),
        };
        match cluster.create_topic(&new) {
            Ok(()) => writeln!(out, "topic `{topic}` is created")?,
            Err(error) if error.is(ErrorCode::TopicAlreadyExists) && arguments.if_not_exists => {
                writeln!(out, "topic `{topic}` is there already")?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// What `describe` shows of a topic.
struct Description {
    topic: MetadataResponseTopic,
    settings: Vec<DescribeConfigsResourceResult>,
    begins: BTreeMap<i32, i64>,
    ends: BTreeMap<i32, i64>,
}

fn describe(arguments: &DescribeArguments, out: &mut impl Write) -> Done {
    let mut cluster = arguments.cluster.connect()?;
    let wanted = (!arguments.topics.is_empty()).then_some(arguments.topics.as_slice());
    let mut topics = cluster.look(wanted, false)?;
    topics.retain(|topic| wanted.is_some() || !topic.is_internal);
    topics.sort_by(|one, other| one.name.cmp(&other.name));
    let mut described = Vec::new();
    for topic in topics {
        if topic.error_code != 0 {
            cluster.topic(name(&topic), false)?;
        }
        described.push(look_at(&mut cluster, topic, arguments.all_settings)?);
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

fn look_at(cluster: &mut Cluster, topic: MetadataResponseTopic, with_defaults: bool) -> Done<Description> {
    let led = topic.partitions.iter().filter(|partition| partition.leader_id >= 0);
    let partitions: Vec<i32> = led.map(|partition| partition.partition_index).collect();
    let mut settings = cluster.topic_settings(name(&topic))?;
    settings.retain(|setting| with_defaults || setting.config_source == SOURCE_TOPIC);
    let begins = cluster.offsets(name(&topic), &partitions, End::Earliest)?;
    let ends = cluster.offsets(name(&topic), &partitions, End::Latest)?;
    Ok(Description { topic, settings, begins, ends })
}

fn show(description: &Description, out: &mut impl Write) -> Done {
    let Description { topic, settings, begins, ends } = description;
    writeln!(out, "{}", name(topic))?;
    writeln!(out, "  id        {}", id(topic))?;
    for (place, setting) in settings.iter().enumerate() {
        let label = if place == 0 { "settings" } else { "" };
        writeln!(out, "  {label:8}  {}={}", setting.name, setting.value.as_deref().unwrap_or("?"))?;
    }
    let head = ["PARTITION", "LEADER", "REPLICAS", "IN SYNC", "FIRST OFFSET", "NEXT OFFSET"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for partition in &topic.partitions {
        let index = partition.partition_index;
        let offset = |of: &BTreeMap<i32, i64>| of.get(&index).map_or(String::from("?"), i64::to_string);
        let leader = match partition.leader_id {
            -1 => String::from("none"),
            leader => leader.to_string(),
        };
        let row =
            [numbers(&partition.replica_nodes), numbers(&partition.isr_nodes), offset(begins), offset(ends)];
        rows.push([index.to_string(), leader].into_iter().chain(row).collect());
    }
    Ok(table::write(out, 2, &rows)?)
}

fn to_json(description: &Description) -> Value {
    let Description { topic, settings, begins, ends } = description;
    let settings: Map<String, Value> =
        settings.iter().map(|setting| (setting.name.clone(), json!(setting.value))).collect();
    let partitions = topic.partitions.iter().map(|partition| {
        let index = partition.partition_index;
        json!({"partition": index, "leader": partition.leader_id, "leader_epoch": partition.leader_epoch,
            "replicas": partition.replica_nodes, "in_sync": partition.isr_nodes,
            "first_offset": begins.get(&index), "next_offset": ends.get(&index)})
    });
    json!({"topic": name(topic), "id": id(topic), "internal": topic.is_internal, "settings": settings,
        "partitions": Value::from_iter(partitions)})
}

fn alter(arguments: &AlterArguments, out: &mut impl Write) -> Done {
    let settings: BTreeMap<String, Option<String>> = pairs(&arguments.set)
        .into_iter()
        .map(|(key, value)| (key, Some(value)))
        .chain(arguments.unset.iter().map(|key| (key.clone(), None)))
        .collect();
    if settings.is_empty() && arguments.partitions.is_none() {
        return Err(Failure::hinted("nothing is to be changed", "name `--partitions`, `--set` or `--unset`"));
    }
    let mut cluster = arguments.cluster.connect()?;
    if let Some(count) = arguments.partitions {
        cluster.add_partitions(&arguments.topic, count)?;
        writeln!(out, "topic `{}` has {count} partitions", arguments.topic)?;
    }
    if !settings.is_empty() {
        cluster.alter_topic(&arguments.topic, &settings)?;
        writeln!(out, "the settings of topic `{}` are changed", arguments.topic)?;
    }
    Ok(())
}

fn delete(arguments: &DeleteArguments, out: &mut impl Write) -> Done {
    let mut cluster = arguments.cluster.connect()?;
    for topic in &arguments.topics {
        match cluster.delete_topic(topic) {
            Ok(()) => writeln!(out, "topic `{topic}` is deleted")?,
            Err(error) if error.is(ErrorCode::UnknownTopicOrPartition) && arguments.if_exists => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn name(topic: &MetadataResponseTopic) -> &str {
    topic.name.as_deref().unwrap_or_default()
}

/// As Kafka's tools write it: base64 for URLs, without padding.
fn id(topic: &MetadataResponseTopic) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(topic.topic_id)
}

fn replicas(topic: &MetadataResponseTopic) -> usize {
    topic.partitions.iter().map(|partition| partition.replica_nodes.len()).max().unwrap_or(0)
}

fn numbers(brokers: &[i32]) -> String {
    brokers.iter().map(i32::to_string).collect::<Vec<_>>().join(",")
}
