//! Changes of topics, brokers and groups in 400 random histories, beside a model that does each operation by itself, and rules
//! that hold after each change whatever it was.

use std::collections::{BTreeMap, BTreeSet};

use base::Random;
use log_config::change::{self, broker::Target};
use log_config::{
    BrokerLayers, Definition, Entry, GroupConfig, GroupLayers, Overrides, Refusal, Source, TopicConfig,
    TopicLayers, Update, Value, ValueType, Values, definitions, describe,
};
use log_wire::messages::configs::{AlterableConfig, IncrementalAlterableConfig};

const HISTORIES: u64 = 400;
const CHANGES: u64 = 60;

/// Texts that are values of some configurations, and mistakes.
const TEXTS: &[&str] = &[
    "0",
    "1",
    " 2 ",
    "-1",
    "-2",
    "5000",
    "50000",
    "1048576",
    "2097152",
    "9223372036854775807",
    "x",
    "",
    " ",
    "true",
    "FALSE",
    "yes",
    "0.25",
    "1.5",
    "1e-1",
    "compact",
    "delete",
    "compact,delete",
    " delete , compact",
    "delete,",
    ",",
    "producer",
    "zstd",
    "ZSTD",
    "CreateTime",
    "LogAppendTime",
    "flushed",
    "replicated",
    "*",
    "0:1",
    "0:1,1:2",
    "earliest",
    "by_duration:PT1H",
    "read_committed",
    "none",
    "127.0.0.1:5",
    "a:b",
];

struct Draw {
    random: Random,
}

impl Draw {
    fn of<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize]
    }

    /// Changes of different names.
    fn changes(&mut self, names: &[&str]) -> Vec<IncrementalAlterableConfig> {
        let names: BTreeSet<&str> = (0..1 + self.random.below(3)).map(|_| self.of(names)).collect();
        let change = |name: &&str| {
            let config_operation = self.of(&[0, 0, 0, 0, 1, 1, 2, 3]);
            let value = Some(self.of(TEXTS).to_owned()).filter(|_| config_operation != 1);
            IncrementalAlterableConfig { name: (*name).into(), config_operation, value }
        };
        names.iter().map(change).collect()
    }
}

/// What the changes make of `current`, with `before` for what is in force where it is not set itself.
fn model(
    current: &Overrides,
    changes: &[IncrementalAlterableConfig],
    before: impl Fn(&str) -> String,
) -> Overrides {
    let mut set: BTreeMap<String, String> = current.clone();
    for change in changes {
        let name = change.name.clone();
        let old = set.remove(&name);
        let value = change.value.clone().unwrap_or_default();
        let pieces = |text: String| -> Vec<String> {
            if text.is_empty() { Vec::new() } else { text.split(',').map(String::from).collect() }
        };
        match change.config_operation {
            0 => drop(set.insert(name, value)),
            2 | 3 => {
                let mut elements = pieces(old.unwrap_or_else(|| before(&name)));
                for piece in value.split(',') {
                    match (change.config_operation, elements.iter().position(|own| own == piece)) {
                        (2, None) => elements.push(piece.into()),
                        (3, Some(_)) => elements.retain(|own| own != piece),
                        _ => {}
                    }
                }
                set.insert(name, elements.join(","));
            }
            _ => {}
        }
    }
    set
}

/// The same changes in another order give the same.
fn reversed(changes: &[IncrementalAlterableConfig]) -> Vec<IncrementalAlterableConfig> {
    changes.iter().rev().cloned().collect()
}

fn configs(set: &Overrides) -> Vec<AlterableConfig> {
    let config = |(name, value): (&String, &String)| AlterableConfig {
        name: name.clone(),
        value: Some(value.clone()),
    };
    set.iter().map(config).collect()
}

/// What is shown agrees with itself: in the order of names, and with the value of the first synonym.
fn check_shown(entries: &[Entry], find: impl Fn(&str) -> Option<&'static Definition>) {
    assert!(entries.is_sorted_by(|one, other| one.name < other.name));
    for entry in entries {
        let Some(first) = entry.synonyms.first() else {
            assert_eq!(entry.source, Source::Default, "{entry:?}");
            continue;
        };
        assert_eq!(entry.source, first.source, "{entry:?}");
        let after_own = entry.synonyms.iter().skip_while(|own| own.source == Source::Group);
        assert!(after_own.is_sorted_by_key(|synonym| synonym.source as i8), "{entry:?}");
        assert!(!entry.is_sensitive || entry.synonyms.iter().all(|synonym| synonym.value.is_none()));
        let definition = find(&entry.name).expect("it is known");
        let read = first.value.as_deref().map(|raw| Value::read(definition, raw));
        let shown = read.and_then(Result::ok).map(|value| value.to_string());
        let is_derived = entry.name.ends_with(".ms");
        assert!(is_derived || entry.is_sensitive || entry.value == shown, "{entry:?}");
    }
}

#[derive(Default)]
struct World {
    topic: Overrides,
    group: Overrides,
    broker: Overrides,
    cluster: Overrides,
    accepted: u64,
    refused: u64,
}

impl World {
    fn layers<'a>(&'a self, file: &'a Overrides) -> BrokerLayers<'a> {
        BrokerLayers { broker: &self.broker, cluster: &self.cluster, file }
    }

    fn count(&mut self, result: &Result<Overrides, Refusal>) {
        match result {
            Ok(_) => self.accepted += 1,
            Err(refusal) => {
                assert!(matches!(refusal.code.code(), 40 | 42) && !refusal.message.is_empty());
                self.refused += 1;
            }
        }
    }

    fn change_topic(&mut self, draw: &mut Draw, file: &Overrides) {
        let names: Vec<&str> = definitions::all_of_topic().map(|own| own.name).chain(["nope"]).collect();
        let changes = draw.changes(&names);
        let broker = self.layers(file);
        let result = change::topic::alter(&self.topic, &changes, broker);
        assert_eq!(result.is_ok(), change::topic::alter(&self.topic, &reversed(&changes), broker).is_ok());
        let layers = TopicLayers { topic: &self.topic, broker };
        let before = |name: &str| layers.value(name).map_or(String::new(), |(value, _)| value.to_string());
        let expected = model(&self.topic, &changes, before);
        if let Ok(set) = &result {
            assert_eq!(*set, expected);
            assert_eq!(change::topic::replace(&configs(set), broker).as_ref(), Ok(set));
            let layers = TopicLayers { topic: set, broker };
            check_shown(&describe::topic(&layers, None), definitions::topic);
            let config = TopicConfig::of(&layers);
            assert!(config.segment_bytes >= 1 << 20 && config.min_insync_replicas >= 1);
            assert!(config.compaction.lag_min_ms <= config.compaction.lag_max_ms);
            assert!((0.0..=1.0).contains(&config.compaction.dirty_ratio_min));
        } else {
            let every = expected
                .iter()
                .all(|(name, raw)| definitions::topic(name).is_some_and(|own| Value::read(own, raw).is_ok()));
            let is_list = |change: &&IncrementalAlterableConfig| {
                definitions::topic(&change.name).is_none_or(|own| own.value_type != ValueType::List)
            };
            let adds =
                changes.iter().filter(|change| change.config_operation >= 2).any(|change| is_list(&change));
            let layers = TopicLayers { topic: &expected, broker };
            let lag = |name| layers.whole(name);
            let contradicts = lag("min.compaction.lag.ms") > lag("max.compaction.lag.ms");
            assert!(!every || adds || contradicts, "{changes:?} was refused: {result:?}");
        }
        self.count(&result);
        self.topic = result.unwrap_or_else(|_| self.topic.clone());
    }

    fn change_broker(&mut self, draw: &mut Draw, file: &Overrides) {
        let names: Vec<&str> = definitions::all_of_broker().map(|own| own.name).chain(["nope"]).collect();
        let changes = draw.changes(&names);
        let target = draw.of(&[Target::Broker, Target::Cluster]);
        let result = change::broker::alter(target, self.layers(file), &changes);
        self.count(&result);
        let Ok(set) = result else { return };
        let known = set.keys().filter_map(|name| definitions::broker(name));
        for definition in known {
            let is_right = match target {
                Target::Broker => !matches!(definition.update, Update::ReadOnly | Update::PerListener),
                Target::Cluster => definition.update == Update::ClusterWide,
            };
            assert!(is_right, "{} was set", definition.name);
            let started_with = self.layers(file).value(definition.name).map(|(value, _)| value);
            let raw = set.get(definition.name).map_or("", String::as_str);
            let is_same = Value::read(definition, raw).ok() == started_with;
            assert!(is_same || !definition.is_read_at_start, "{} was changed", definition.name);
        }
        match target {
            Target::Broker => self.broker = set,
            Target::Cluster => self.cluster = set,
        }
        assert!(!self.broker.contains_key("min.insync.replicas"));
        let layers = self.layers(file);
        let shown: Vec<Entry> =
            describe::broker(&layers, None).into_iter().filter(|entry| entry.name != "nope").collect();
        check_shown(&shown, definitions::broker);
        assert!(describe::cluster(&layers, None).iter().all(|entry| entry.source == Source::Cluster));
    }

    fn change_group(&mut self, draw: &mut Draw, file: &Overrides) {
        let names: Vec<&str> = definitions::all_of_group().map(|own| own.name).chain(["nope"]).collect();
        let changes = draw.changes(&names);
        let broker = self.layers(file);
        let result = change::group::alter(&self.group, &changes, broker);
        if let Ok(set) = &result {
            assert_eq!(*set, model(&self.group, &changes, |_| String::new()));
            let layers = GroupLayers { group: set, broker };
            check_shown(&describe::group(&layers, None), definitions::group);
            let consumer = GroupConfig::of(&layers).consumer;
            assert!(consumer.heartbeat_interval_ms < consumer.session_timeout_ms);
            assert!((45_000..=60_000).contains(&consumer.session_timeout_ms));
        }
        self.count(&result);
        self.group = result.unwrap_or_else(|_| self.group.clone());
    }
}

#[test]
fn changes_are_those_of_the_model_and_leave_what_is_right() {
    let file: Overrides = [("node.id", "1"), ("broker.id", "1"), ("log.retention.hours", "24")]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
    let (mut accepted, mut refused) = (0, 0);
    for seed in 0..HISTORIES {
        let mut draw = Draw { random: Random::new(seed) };
        let mut world = World::default();
        for _ in 0..CHANGES {
            match draw.random.below(5) {
                0 => world.change_broker(&mut draw, &file),
                1 => world.change_group(&mut draw, &file),
                _ => world.change_topic(&mut draw, &file),
            }
        }
        accepted += world.accepted;
        refused += world.refused;
    }
    assert!(accepted > 2_000 && refused > 2_000, "{accepted} accepted, {refused} refused");
}
