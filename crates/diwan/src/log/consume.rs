//! `diwan consume`.

use std::collections::BTreeMap;
use std::io::Write;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use log_client::{Cluster, ConsumedRecord, Consumer, End, Member, TopicPartition};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::access::ClusterArguments;
use super::complete;
use super::failure::{Done, Failure};
use super::template::{Template, print_json};
use super::time::Moment;

pub(crate) const HELP: &str = "\
Prints what is there and ends; with -f it goes on with what comes. What transactions have not committed is not shown.

  diwan consume orders
  diwan consume -f orders --offset latest
  diwan consume orders --offset -10                the last ten records of each partition
  diwan consume orders --since 1h --json
  diwan consume -f orders --group audit            shares the partitions, and goes on where the group stopped
  diwan consume orders --format '%T %k %s\\n'

Marks of --format: %t topic, %p partition, %o offset, %T timestamp (ms), %k key, %s value, %K and %S their bytes \
(-1 for none), %h headers, %% a percent sign.";

const WAIT: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub(crate) struct ConsumeArguments {
    /// The topics.
    #[arg(required = true, add = ArgValueCompleter::new(complete::topics))]
    topics: Vec<String>,

    /// Go on with records that come later, until ctrl-c.
    #[arg(short, long)]
    follow: bool,

    /// Read as a member of this group, and commit what is printed.
    #[arg(short, long, value_name = "GROUP", conflicts_with_all = ["partition", "offset", "since"], add = ArgValueCompleter::new(complete::groups))]
    group: Option<String>,

    /// Only this partition.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    partition: Option<i32>,

    /// Where to begin: `earliest`, `latest`, an offset, or -N for the last N of each partition [default: earliest].
    #[arg(short, long, value_name = "OFFSET", allow_hyphen_values = true, conflicts_with = "since")]
    offset: Option<Begin>,

    /// Begin with this time: `2026-11-24T10:00:00Z`, a local time without the Z, or a time ago such as `1h 30m`.
    #[arg(long, value_name = "TIME")]
    since: Option<Moment>,

    /// Read replicas in this rack where there are some, if the brokers' `replica.selector.class` has it so.
    #[arg(long, value_name = "RACK", default_value = "", hide_default_value = true)]
    rack: String,

    /// End after so many records.
    #[arg(short = 'n', long, visible_alias = "max-messages", value_name = "N")]
    max: Option<u64>,

    /// How a record is printed [default: `%s\n`].
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "json")]
    format: Option<Template>,

    /// A line of JSON for each record.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Where reading begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// At an end, or at a time.
    At(End),
    Offset(i64),
    /// So many before the end.
    Last(i64),
}

impl FromStr for Begin {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "earliest" | "beginning" => Ok(Self::At(End::Earliest)),
            "latest" | "end" => Ok(Self::At(End::Latest)),
            number => match number.parse::<i64>() {
                Ok(offset) if number.starts_with('-') => Ok(Self::Last(offset.saturating_neg())),
                Ok(offset) => Ok(Self::Offset(offset)),
                Err(_) => Err("expected `earliest`, `latest`, an offset, or -N"),
            },
        }
    }
}

/// Prints records until the end, a signal, or `--max`.
pub(super) fn run(arguments: &ConsumeArguments, out: &mut impl Write) -> Done {
    let mut cluster = arguments.cluster.connect()?;
    let mut partitions = Vec::new();
    for topic in &arguments.topics {
        for partition in cluster.topic(topic, false)?.partitions {
            partitions.push((topic.clone(), partition.partition_index));
        }
    }
    if let Some(wanted) = arguments.partition {
        partitions.retain(|(_, partition)| *partition == wanted);
    }
    if partitions.is_empty() {
        return Err(Failure::hinted(
            "there is no such partition",
            "`diwan topic describe` shows the partitions of a topic",
        ));
    }
    let until = if arguments.follow { None } else { Some(offsets(&mut cluster, &partitions, End::Latest)?) };
    let printer = Printer { arguments, until, printed: 0 };
    match &arguments.group {
        Some(group) => Membership::of(group, arguments).read(cluster, printer, out),
        None => {
            let begin = begin(&mut cluster, arguments, &partitions)?;
            read_alone(Consumer::new(cluster, begin).in_rack(&arguments.rack), printer, out)
        }
    }
}

/// Prints records, as many as are wanted.
struct Printer<'a> {
    arguments: &'a ConsumeArguments,
    /// Where each partition ended at the beginning, unless it is followed.
    until: Option<BTreeMap<TopicPartition, i64>>,
    printed: u64,
}

impl Printer<'_> {
    /// Gives how many of the records are dealt with: fewer than all if that is enough.
    fn print(&mut self, records: &[ConsumedRecord], out: &mut impl Write) -> Done<usize> {
        for (place, record) in records.iter().enumerate() {
            if self.is_enough() {
                return Ok(place);
            }
            let partition = (record.topic.clone(), record.partition);
            if self
                .until
                .as_ref()
                .and_then(|until| until.get(&partition))
                .is_some_and(|end| record.offset >= *end)
            {
                continue;
            }
            match (&self.arguments.format, self.arguments.json) {
                (Some(template), _) => template.print(record, out)?,
                (None, true) => print_json(record, out)?,
                (None, false) => {
                    out.write_all(record.value.as_deref().unwrap_or_default())?;
                    out.write_all(b"\n")?;
                }
            }
            self.printed += 1;
        }
        out.flush()?;
        Ok(records.len())
    }

    fn is_enough(&self) -> bool {
        self.arguments.max.is_some_and(|max| self.printed >= max)
    }

    fn is_done(&self, consumer: &Consumer) -> bool {
        self.is_enough() || self.until.as_ref().is_some_and(|until| consumer.has_reached(until))
    }
}

fn read_alone(mut consumer: Consumer, mut printer: Printer<'_>, out: &mut impl Write) -> Done {
    while !printer.is_done(&consumer) {
        let records = consumer.poll(WAIT)?;
        printer.print(&records, out)?;
    }
    Ok(out.flush()?)
}

/// Reading as one of a group.
struct Membership {
    group: String,
    member: Member,
    /// What is printed but not committed.
    dirty: BTreeMap<TopicPartition, i64>,
}

impl Membership {
    fn of(group: &str, arguments: &ConsumeArguments) -> Self {
        let member = Member::new(group, &arguments.topics);
        Self { group: group.into(), member, dirty: BTreeMap::new() }
    }

    fn read(mut self, cluster: Cluster, printer: Printer<'_>, out: &mut impl Write) -> Done {
        let stop = stop_flag().map_err(|error| Failure::new(format!("signals cannot be caught: {error}")))?;
        let mut consumer = Consumer::new(cluster, BTreeMap::new()).in_rack(&printer.arguments.rack);
        let read = self.read_until(&stop, &mut consumer, printer, out);
        // Others get its partitions at once; one that does not hear of it finds out by itself.
        let committed = self.commit(&mut consumer);
        let _ = self.member.leave(consumer.cluster());
        read.and(committed)
    }

    fn read_until(
        &mut self,
        stop: &AtomicBool,
        consumer: &mut Consumer,
        mut printer: Printer<'_>,
        out: &mut impl Write,
    ) -> Done {
        self.join(consumer)?;
        while !stop.load(Ordering::Relaxed) && !printer.is_done(consumer) {
            if self.member.heartbeat(consumer.cluster())? {
                // If this is refused, others read the records again.
                let _ = self.commit(consumer);
                self.join(consumer)?;
            }
            let records = consumer.poll(WAIT)?;
            let printed = printer.print(&records, out)?;
            if printed == records.len() {
                self.dirty = consumer.positions().clone();
            } else {
                for record in records.iter().take(printed) {
                    self.dirty.insert((record.topic.clone(), record.partition), record.offset + 1);
                }
            }
            if !records.is_empty() {
                self.commit(consumer)?;
            }
        }
        Ok(())
    }

    fn join(&mut self, consumer: &mut Consumer) -> Done {
        let partitions = self.member.join(consumer.cluster())?;
        let committed = consumer.cluster().committed(&self.group)?;
        let begins = offsets(consumer.cluster(), &partitions, End::Earliest)?;
        let begin = |partition: &TopicPartition| committed.get(partition).or_else(|| begins.get(partition));
        let positions = partitions.iter().filter_map(|at| Some((at.clone(), *begin(at)?))).collect();
        self.dirty.clear();
        consumer.assign(positions);
        Ok(())
    }

    fn commit(&mut self, consumer: &mut Consumer) -> Done {
        let dirty = std::mem::take(&mut self.dirty);
        Ok(self.member.commit(consumer.cluster(), &dirty)?)
    }
}

/// Set by the first ctrl-c; a second one ends the process.
fn stop_flag() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_default(signal, stop.clone())?;
        signal_hook::flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}

fn begin(
    cluster: &mut Cluster,
    arguments: &ConsumeArguments,
    partitions: &[TopicPartition],
) -> Done<BTreeMap<TopicPartition, i64>> {
    let earliest = offsets(cluster, partitions, End::Earliest)?;
    let latest = offsets(cluster, partitions, End::Latest)?;
    let named = arguments.since.map(|moment| Begin::At(End::Time(moment.ms())));
    let found = match named.or(arguments.offset).unwrap_or(Begin::At(End::Earliest)) {
        Begin::At(End::Earliest) => earliest.clone(),
        Begin::At(End::Latest) => latest.clone(),
        Begin::At(time) => offsets(cluster, partitions, time)?,
        Begin::Offset(offset) => partitions.iter().map(|at| (at.clone(), offset)).collect(),
        Begin::Last(count) => {
            latest.iter().map(|(at, end)| (at.clone(), end.saturating_sub(count))).collect()
        }
    };
    let bounded = found.into_iter().filter_map(|(at, offset)| {
        let (first, end) = (*earliest.get(&at)?, *latest.get(&at)?);
        // Nothing is as late as the time.
        let offset = if offset == -1 { end } else { offset };
        Some((at, offset.clamp(first, end.max(first))))
    });
    Ok(bounded.collect())
}

/// An end of each of these partitions.
pub(super) fn offsets(
    cluster: &mut Cluster,
    partitions: &[TopicPartition],
    end: End,
) -> Done<BTreeMap<TopicPartition, i64>> {
    let mut by_topic = BTreeMap::<&str, Vec<i32>>::new();
    for (topic, partition) in partitions {
        by_topic.entry(topic).or_default().push(*partition);
    }
    let mut found = BTreeMap::new();
    for (topic, partitions) in by_topic {
        let offsets = cluster.offsets(topic, &partitions, end)?;
        found.extend(offsets.into_iter().map(|(partition, offset)| ((topic.to_owned(), partition), offset)));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_is_an_end_an_offset_or_so_many_from_the_end() {
        let of = |text: &str| text.parse::<Begin>();
        assert_eq!(of("beginning"), Ok(Begin::At(End::Earliest)));
        assert_eq!(of("7"), Ok(Begin::Offset(7)));
        assert_eq!(of("-10"), Ok(Begin::Last(10)));
        assert!(of("never").is_err());
    }
}
