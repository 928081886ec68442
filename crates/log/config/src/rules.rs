//! Rules between the configurations of a broker, for its file and for changes while it runs.
//!
//! Source: what a Kafka 4.3.1 does not start with.

use crate::definitions;
use crate::layers::Values;

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// The configuration to look at.
    pub(crate) name: String,
    /// What is wrong with it, with the configuration as the subject.
    pub(crate) what: String,
}

impl Violation {
    fn new(name: impl Into<String>, what: impl Into<String>) -> Self {
        Self { name: name.into(), what: what.into() }
    }
}

/// The least memory of the cleaner for each of its threads.
const DEDUPE_BYTES_MIN: i64 = 1 << 20;
/// Codecs as internal topics name them: none, gzip, snappy, lz4, zstd.
const CODECS: core::ops::RangeInclusive<i64> = 0..=4;

/// All broken rules.
pub(crate) fn violations(values: &impl Values) -> Vec<Violation> {
    let whole = |name: &str| values.whole(name);
    let mut found = Vec::new();
    found.extend(retention(values));
    found.extend(cleaner(values));
    found.extend(connections(values));
    found.extend(values_of_topics(values));
    if whole("replica.fetch.wait.max.ms") > whole("replica.socket.timeout.ms") {
        found.push(Violation::new("replica.socket.timeout.ms", "is below `replica.fetch.wait.max.ms`"));
    }
    if whole("replica.fetch.wait.max.ms") > whole("replica.lag.time.max.ms") {
        found.push(Violation::new("replica.lag.time.max.ms", "is below `replica.fetch.wait.max.ms`"));
    }
    let queued = whole("queued.max.request.bytes").filter(|bytes| *bytes > 0);
    if queued.is_some() && queued < whole("socket.request.max.bytes") {
        found.push(Violation::new("queued.max.request.bytes", "is below `socket.request.max.bytes`"));
    }
    for name in ["offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec"] {
        if whole(name).is_some_and(|codec| !CODECS.contains(&codec)) {
            found.push(Violation::new(name, "is no number of a codec"));
        }
    }
    found.extend(assignors(values));
    found.extend(groups(values));
    found
}

fn retention(values: &impl Values) -> Vec<Violation> {
    let mut found = Vec::new();
    let names = ["log.retention.ms", "log.retention.minutes", "log.retention.hours"];
    let finest = names.into_iter().find_map(|name| Some((name, values.whole(name)?)));
    if let Some((name, 0)) = finest {
        found.push(Violation::new(name, "is 0: it is at least 1, or -1 for ever"));
    }
    if values.whole("log.roll.ms").is_some_and(|ms| ms < 1) {
        found.push(Violation::new("log.roll.ms", "is below 1, the least"));
    }
    if values.whole("log.roll.jitter.ms").is_some_and(|ms| ms < 0) {
        found.push(Violation::new("log.roll.jitter.ms", "is below 0, the least"));
    }
    found
}

/// The broker's own rules say more of these, in other words.
const JUDGED_BY_RETENTION: [&str; 3] = ["retention.ms", "segment.ms", "segment.jitter.ms"];

/// What the broker says for topics has to be right for a topic. Kafka does not start otherwise either.
fn values_of_topics(values: &impl Values) -> Vec<Violation> {
    let mut found = Vec::new();
    for topic in definitions::all_of_topic().filter(|topic| !JUDGED_BY_RETENTION.contains(&topic.name)) {
        let value = topic.from.iter().find_map(|name| Some((name, values.value(name)?.0)));
        if let Some((name, value)) = value
            && let Err(what) = topic.limits.check(&value)
        {
            found.push(Violation::new(*name, what));
        }
    }
    found
}

fn cleaner(values: &impl Values) -> Option<Violation> {
    let bytes = values.whole("log.cleaner.dedupe.buffer.size")?;
    match values.whole("log.cleaner.threads")? {
        0 => Some(Violation::new("log.cleaner.threads", "is 0: it is at least 1")),
        threads if bytes / threads <= DEDUPE_BYTES_MIN => {
            let what = format!("is not above {DEDUPE_BYTES_MIN} for each of `log.cleaner.threads`");
            Some(Violation::new("log.cleaner.dedupe.buffer.size", what))
        }
        _ => None,
    }
}

fn connections(values: &impl Values) -> Vec<Violation> {
    let overrides = values.text("max.connections.per.ip.overrides").unwrap_or_default();
    let mut found = Vec::new();
    if connection_overrides(&overrides).is_none() {
        found.push(Violation::new("max.connections.per.ip.overrides", "is no list of ADDRESS:COUNT"));
    }
    if overrides.is_empty() && values.whole("max.connections.per.ip") == Some(0) {
        let what = "is 0, and `max.connections.per.ip.overrides` lets nobody in";
        found.push(Violation::new("max.connections.per.ip", what));
    }
    found
}

/// Reads ADDRESS:COUNT with commas between. An empty element at the end is passed over.
pub(crate) fn connection_overrides(text: &str) -> Option<Vec<(String, i32)>> {
    let elements = text.split(',').map(str::trim).filter(|element| !element.is_empty());
    let element = |element: &str| {
        let (address, count) = element.rsplit_once(':')?;
        Some((address.trim().to_owned(), count.trim().parse().ok()?))
    };
    elements.map(element).collect()
}

/// The assignors that there are, by their short names and by those of their classes in Kafka.
const ASSIGNORS: [(&str, &[&str]); 2] = [
    (
        "group.consumer.assignors",
        &[
            "uniform",
            "range",
            "org.apache.kafka.coordinator.group.assignor.UniformAssignor",
            "org.apache.kafka.coordinator.group.assignor.RangeAssignor",
        ],
    ),
    ("group.share.assignors", &["simple", "org.apache.kafka.coordinator.group.assignor.SimpleAssignor"]),
];

fn assignors(values: &impl Values) -> Vec<Violation> {
    let unknown = ASSIGNORS.iter().filter_map(|(name, known)| {
        let assignor = values.list(name).into_iter().find(|named| !known.contains(&named.as_str()))?;
        Some(Violation::new(*name, format!("names `{assignor}`, and there is no such assignor")))
    });
    unknown.collect()
}

fn groups(values: &impl Values) -> Vec<Violation> {
    let mut found = Vec::new();
    for kind in ["consumer", "share", "streams"] {
        for what in ["session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"] {
            found.extend(bounds(values, kind, what));
        }
        let (session, heartbeat) =
            (format!("group.{kind}.session.timeout.ms"), format!("group.{kind}.heartbeat.interval.ms"));
        if values.whole(&heartbeat) >= values.whole(&session) {
            found.push(Violation::new(heartbeat, format!("is not below `{session}`")));
        }
    }
    for what in ["record.lock.duration.ms", "delivery.count.limit", "partition.max.record.locks"] {
        found.extend(bounds(values, "share", what));
    }
    let at_most = [
        ("group.share.max.size", "group.share.max.share.sessions"),
        ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
    ];
    for (least, most) in at_most {
        if values.whole(least) > values.whole(most) {
            found.push(Violation::new(least, format!("is above `{most}`")));
        }
    }
    if !values.list("group.coordinator.rebalance.protocols").iter().any(|kind| kind == "classic") {
        found.push(Violation::new("group.coordinator.rebalance.protocols", "leaves out `classic`"));
    }
    found
}

/// `group.KIND.WHAT` lies between `group.KIND.min.WHAT` and `group.KIND.max.WHAT`.
fn bounds(values: &impl Values, kind: &str, what: &str) -> Option<Violation> {
    let name = format!("group.{kind}.{what}");
    let (least, most) = (format!("group.{kind}.min.{what}"), format!("group.{kind}.max.{what}"));
    if values.whole(&most) < values.whole(&least) {
        return Some(Violation::new(most, format!("is below `{least}`")));
    }
    if values.whole(&name) < values.whole(&least) {
        return Some(Violation::new(name, format!("is below `{least}`")));
    }
    let is_above = values.whole(&name) > values.whole(&most);
    is_above.then(|| Violation::new(name, format!("is above `{most}`")))
}
