//! Names, types, defaults and limits.

use std::collections::BTreeSet;

use log_config::definitions;
use log_config::{Definition, Effect, Update, Value};

use crate::{golden, quoted};

fn find(kind: &str, name: &str) -> Option<&'static Definition> {
    match kind {
        "broker" => definitions::broker(name),
        "topic" => definitions::topic(name),
        "group" => definitions::group(name),
        _ => definitions::client_metrics(name),
    }
}

fn all(kind: &str) -> Vec<&'static Definition> {
    match kind {
        "broker" => definitions::all_of_broker().collect(),
        "topic" => definitions::all_of_topic().collect(),
        "group" => definitions::all_of_group().collect(),
        _ => definitions::all_of_client_metrics().collect(),
    }
}

#[test]
fn definitions_are_those_that_kafka_shows() {
    let shown = golden("definitions.tsv");
    for (kind, count) in [("broker", 340), ("topic", 33), ("group", 17), ("metrics", 3)] {
        let names: BTreeSet<&str> =
            shown.iter().filter(|line| line[0] == kind).map(|line| line[1].as_str()).collect();
        let ours: BTreeSet<&str> =
            all(kind).iter().filter(|own| !own.is_hidden).map(|own| own.name).collect();
        assert_eq!(names, ours, "{kind}");
        assert_eq!(names.len(), count, "{kind}");
    }
    for line in shown {
        let [kind, name, value_type, default, update, secret] = &line[..] else { panic!("{line:?}") };
        let own = find(kind, name).expect("the names are the same");
        let own_update = match own.update {
            _ if kind != "broker" => "cluster",
            Update::ReadOnly => "read-only",
            Update::PerBroker => "broker",
            Update::PerListener => "listener",
            Update::ClusterWide => "cluster",
        };
        let own_secret = if own.is_sensitive() { "secret" } else { "-" };
        assert_eq!(
            (crate::type_name(own.value_type), own.default.map(String::from), own_update, own_secret),
            (value_type.as_str(), quoted(default), update.as_str(), secret.as_str()),
            "{kind} {name}"
        );
    }
}

#[test]
fn default_is_a_value_as_it_is_shown() {
    for kind in ["broker", "topic", "group", "metrics"] {
        for own in all(kind) {
            let Some(default) = own.default else { continue };
            let value = Value::read(own, default).map(|value| value.to_string());
            assert_eq!(value.as_deref(), Ok(default), "{kind} {}", own.name);
        }
    }
}

/// Values that Kafka takes and Diwan does not.
fn is_refused_on_purpose(own: &Definition, value: &str) -> bool {
    // A ratio or a rate that is not a number means nothing; the hexadecimal notation is used by nobody.
    let is_no_number = matches!(value, "NaN" | "0x1p-1");
    is_no_number || matches!(own.effect, Effect::Refused { .. } | Effect::ActsFor { .. })
}

#[test]
fn values_are_those_that_kafka_takes() {
    let values = golden("values.tsv");
    assert!(values.len() > 2_500);
    for line in values {
        let [kind, name, value, shown] = &line[..] else { panic!("{line:?}") };
        let own = find(kind, name).unwrap_or_else(|| panic!("{kind} {name}"));
        let value = quoted(value).expect("there is a value");
        let read = Value::read(own, &value);
        match (read, quoted(shown)) {
            (Ok(ours), Some(shown)) => assert_eq!(ours.to_string(), shown, "{kind} {name} {value:?}"),
            (Err(_), None) => {}
            (Err(_), Some(_)) if is_refused_on_purpose(own, &value) => {}
            (ours, theirs) => panic!("{kind} {name} {value:?}: ours {ours:?}, theirs {theirs:?}"),
        }
    }
}
