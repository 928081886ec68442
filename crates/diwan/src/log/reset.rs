//! `diwan group reset-offsets`: with the options of Kafka's `kafka-consumer-groups`.

use std::collections::BTreeMap;
use std::io::Write;
use std::str::FromStr;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use log_client::{Cluster, End, TopicPartition};

use super::access::ClusterArguments;
use super::complete;
use super::consume::offsets;
use super::failure::{Done, Failure};
use super::time::Moment;
use crate::table;

pub(crate) const HELP: &str = "\
  diwan group reset-offsets audit --topic orders --to-latest
  diwan group reset-offsets audit --topic orders:0,1 --to-offset 500 --execute
  diwan group reset-offsets audit --all-topics --to-datetime 2026-11-24T00:00:00Z --execute
  diwan group reset-offsets audit --all-topics --shift-by -100 --execute

An offset before the first record or behind the last is moved to it.";

#[derive(Debug, Args)]
pub(crate) struct ResetArguments {
    /// The group.
    #[arg(add = ArgValueCompleter::new(complete::groups))]
    group: String,

    /// A topic, with the partitions or with all.
    #[arg(long, value_name = "TOPIC[:PARTITION,..]", required_unless_present = "all_topics")]
    topic: Vec<Selection>,

    /// All topics of which the group has committed offsets.
    #[arg(long, conflicts_with = "topic")]
    all_topics: bool,

    #[command(flatten)]
    target: Target,

    /// Change the offsets. Without this option they are only shown.
    #[arg(long)]
    execute: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Where to.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Target {
    /// To the first record.
    #[arg(long)]
    to_earliest: bool,

    /// Behind the last record.
    #[arg(long)]
    to_latest: bool,

    /// To this offset.
    #[arg(long, value_name = "N")]
    to_offset: Option<i64>,

    /// To the first record of this time or later.
    #[arg(long, value_name = "TIME")]
    to_datetime: Option<Moment>,

    /// To the first record of this time ago or later: `1h`, `PT1H`.
    #[arg(long, value_name = "TIME")]
    by_duration: Option<Moment>,

    /// So many records further, or back.
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    shift_by: Option<i64>,

    /// To where they are: useful for records that are gone.
    #[arg(long)]
    to_current: bool,
}

/// A topic, or some partitions of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Selection {
    topic: String,
    partitions: Option<Vec<i32>>,
}

impl FromStr for Selection {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((topic, numbers)) = text.split_once(':') else {
            return Ok(Self { topic: text.into(), partitions: None });
        };
        let numbers = numbers.split(',').map(str::parse).collect::<Result<_, _>>();
        let numbers = numbers.map_err(|_| "expected TOPIC or TOPIC:PARTITION,..")?;
        Ok(Self { topic: topic.into(), partitions: Some(numbers) })
    }
}

/// Runs it.
pub(super) fn run(arguments: &ResetArguments, out: &mut impl Write) -> Done {
    let mut cluster = arguments.cluster.connect()?;
    let committed = cluster.committed(&arguments.group)?;
    let partitions = selected(&mut cluster, arguments, &committed)?;
    let changes = changes(&mut cluster, &arguments.target, &partitions, &committed)?;
    if arguments.execute {
        cluster.commit(&arguments.group, &changes)?;
    }
    let mut rows = vec![["TOPIC", "PARTITION", "OLD OFFSET", "NEW OFFSET"].map(String::from).to_vec()];
    rows.extend(changes.iter().map(|(at, offset)| {
        let old = committed.get(at).map_or(String::from("-"), i64::to_string);
        vec![at.0.clone(), at.1.to_string(), old, offset.to_string()]
    }));
    table::write(out, 0, &rows)?;
    if !arguments.execute {
        out.flush()?;
        eprintln!("nothing is changed: add --execute to change it");
    }
    Ok(())
}

fn selected(
    cluster: &mut Cluster,
    arguments: &ResetArguments,
    committed: &BTreeMap<TopicPartition, i64>,
) -> Done<Vec<TopicPartition>> {
    if arguments.all_topics {
        let topics: std::collections::BTreeSet<&String> = committed.keys().map(|(topic, _)| topic).collect();
        for topic in topics {
            cluster.topic(topic, false)?;
        }
        if committed.is_empty() {
            return Err(Failure::hinted(
                format!("group `{}` has committed no offsets", arguments.group),
                "name the topic with --topic",
            ));
        }
        return Ok(committed.keys().cloned().collect());
    }
    let mut partitions = Vec::new();
    for Selection { topic, partitions: wanted } in &arguments.topic {
        let found: Vec<i32> =
            cluster.topic(topic, false)?.partitions.iter().map(|it| it.partition_index).collect();
        let wanted = wanted.clone().unwrap_or_else(|| found.clone());
        if let Some(missing) = wanted.iter().find(|partition| !found.contains(partition)) {
            return Err(Failure::new(format!("topic `{topic}` has no partition {missing}")));
        }
        partitions.extend(wanted.into_iter().map(|partition| (topic.clone(), partition)));
    }
    Ok(partitions)
}

fn changes(
    cluster: &mut Cluster,
    target: &Target,
    partitions: &[TopicPartition],
    committed: &BTreeMap<TopicPartition, i64>,
) -> Done<BTreeMap<TopicPartition, i64>> {
    let earliest = offsets(cluster, partitions, End::Earliest)?;
    let latest = offsets(cluster, partitions, End::Latest)?;
    let time = target.to_datetime.or(target.by_duration);
    let at_time = match time {
        Some(moment) => offsets(cluster, partitions, End::Time(moment.ms()))?,
        None => BTreeMap::new(),
    };
    let mut changes = BTreeMap::new();
    for at in partitions {
        let (Some(first), Some(end)) = (earliest.get(at).copied(), latest.get(at).copied()) else { continue };
        let current = committed.get(at).copied();
        let wanted = match (target.to_offset, target.shift_by) {
            (Some(offset), _) => Some(offset),
            (None, Some(by)) => current.map(|current| current.saturating_add(by)),
            _ if target.to_earliest => Some(first),
            _ if target.to_latest => Some(end),
            _ if target.to_current => Some(current.unwrap_or(end)),
            _ => at_time.get(at).map(|offset| if *offset == -1 { end } else { *offset }),
        };
        let wanted = wanted.ok_or_else(|| {
            Failure::hinted(
                format!("the group has committed no offset of partition {} of `{}`", at.1, at.0),
                "use --to-offset, --to-earliest or --to-latest first",
            )
        })?;
        changes.insert(at.clone(), wanted.clamp(first, end.max(first)));
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_a_topic_with_or_without_partitions() {
        let of = |text: &str| text.parse::<Selection>();
        assert_eq!(of("a"), Ok(Selection { topic: "a".into(), partitions: None }));
        assert_eq!(of("a:0,2"), Ok(Selection { topic: "a".into(), partitions: Some(vec![0, 2]) }));
        assert!(of("a:x").is_err());
    }
}
