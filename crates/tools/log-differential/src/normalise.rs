//! A reply in the form in which two brokers' replies are compared: without times, ids and throttling.
//!
//! Ids that the script knows have its name for them, so that a reply about the wrong one shows; others only show that they
//! are there. Lists are sets, except records: clients look entries up. What belongs to other scripts is left out.

use serde_json::{Map, Value};

use crate::variables::Variables;

/// Told by nobody's clock but the broker's, or by its load.
const LEFT_OUT: [&str; 4] = ["ThrottleTimeMs", "FinalizedFeaturesEpoch", "TotalBytes", "UsableBytes"];
/// Texts for people. Whether there is one counts, not what it says.
const TEXTS: [&str; 3] = ["ErrorMessage", "BatchIndexErrorMessage", "Documentation"];
/// Drawn by the broker.
const IDS: [&str; 9] = [
    "ReplicaDirectoryId",
    "MemberId",
    "ProducerId",
    "TopicId",
    "SessionId",
    "ClusterId",
    "Leader",
    "ProposedNextProducerId",
    "CurrentProducerId",
];
/// How far the log of the controllers has come.
const MOVING: [&str; 3] = ["HighWatermark", "LeaderEpoch", "LogEndOffset"];
/// The id of the broker that decides for all.
pub(crate) const CONTROLLER: &str = "ControllerId";
/// Settings that say where a broker is.
const PLACES: [&str; 5] =
    ["advertised.listeners", "controller.quorum.voters", "listeners", "log.dir", "log.dirs"];
/// Replicas in no order.
const SETS: [&str; 6] = [
    "IsrNodes",
    "OfflineReplicas",
    "EligibleLeaderReplicas",
    "LastKnownElr",
    "AddingReplicas",
    "RemovingReplicas",
];
/// Of a leader, which every cluster counts on its own: a script has names for those that it knows.
const EPOCHS: [&str; 3] = ["LeaderEpoch", "CurrentLeaderEpoch", "Epoch"];
const ZERO_ID: &str = "00000000000000000000000000000000";
/// By which an entry of a list belongs to a script.
const NAMES: [&str; 7] = ["Name", "Topic", "TopicName", "GroupId", "TransactionalId", "ResourceName", "User"];
/// By which the entries of a list are told apart.
const KEYS: [&str; 9] = [
    "Name",
    "Topic",
    "TopicName",
    "GroupId",
    "TransactionalId",
    "ResourceName",
    "Key",
    "TopicId",
    "MemberId",
];
const NUMBERS: [&str; 6] = ["PartitionIndex", "Partition", "Index", "BatchIndex", "ApiKey", "NodeId"];
/// Lists whose order means something, by the names of their fields.
const ORDERED: [&str; 3] = ["Records", "records", "headers"];
/// How long a script may take, in milliseconds: a time of this distance after its begin may be the broker's.
const CLOCK_MS: std::ops::RangeInclusive<i64> = 0..=900_000;

/// The comparable form of a reply to that API.
#[must_use]
pub fn normal(api: &str, body: &Value, variables: &Variables) -> Value {
    Normaliser { api, variables }.value("", body)
}

/// Whether an entry of a list in a reply is left out, for it belongs to another script.
pub(crate) fn is_foreign(api: &str, element: &Value, variables: &Variables) -> bool {
    Normaliser { api, variables }.is_foreign(element)
}

/// Whether a number under that name is a time.
pub(crate) fn is_time(name: &str) -> bool {
    // Durations and deadlines that a script or a setting gave are compared as they are.
    let lower = name.to_ascii_lowercase();
    lower.ends_with("timestamp") || name == "LogAppendTimeMs" || name == "TransactionStartTimeMs"
}

/// Whether a text under that name is for people: only its presence is compared.
pub(crate) fn is_text(name: &str) -> bool {
    TEXTS.contains(&name)
}

/// Whether only the presence of a value under that name is compared, unless the script knows it.
pub(crate) fn is_id(name: &str) -> bool {
    IDS.contains(&name)
}

/// Whether a list under that name has no order.
pub(crate) fn is_set(name: &str) -> bool {
    SETS.contains(&name)
}

struct Normaliser<'a> {
    api: &'a str,
    variables: &'a Variables,
}

impl Normaliser<'_> {
    fn value(&self, name: &str, value: &Value) -> Value {
        match value {
            // How far a reply to a question about all topics comes depends on the topics of other scripts.
            Value::Object(_) if name == "NextCursor" && self.is_foreign(value) => Value::Null,
            Value::Object(fields) => self.object(fields),
            Value::Array(elements) => self.array(name, elements),
            Value::Null => Value::Null,
            _ if is_text(name) => Value::from("<text>"),
            _ if is_id(name) => self.id(value),
            _ if name == "LogDir" => Value::from("<path>"),
            _ if self.api == "DescribeQuorum" && MOVING.contains(&name) => Value::from("<number>"),
            Value::String(text) => Value::from(self.variables.without_prefix(text)),
            _ if name == "Port" => Value::from("<port>"),
            Value::Number(number) => match number.as_i64() {
                Some(time) if is_time(name) => self.time(time),
                Some(_) if EPOCHS.contains(&name) => {
                    self.variables.epoch(value).unwrap_or_else(|| value.clone())
                }
                _ => value.clone(),
            },
            Value::Bool(_) => value.clone(),
        }
    }

    fn object(&self, fields: &Map<String, Value>) -> Value {
        let is_place = fields.get("Name").and_then(Value::as_str).is_some_and(|name| PLACES.contains(&name));
        let kept = fields.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
        let normal = |(name, value): (&String, &Value)| {
            let hidden = match name.as_str() {
                "Value" if is_place && !value.is_null() => Some("<place>"),
                CONTROLLER if is_one_of_several(fields, value) => Some("<a broker>"),
                _ => None,
            };
            (name.clone(), hidden.map_or_else(|| self.value(name, value), Value::from))
        };
        Value::Object(kept.map(normal).collect())
    }

    fn array(&self, name: &str, elements: &[Value]) -> Value {
        let mine = elements.iter().filter(|element| !self.is_foreign(element));
        let mut normal: Vec<Value> = mine.map(|element| self.value(name, element)).collect();
        if name == "Responses" && self.api == "Fetch" {
            normal = merged(normal);
        }
        // Kafka has the partitions of a transaction in a hash map.
        let is_hashed = self.api == "DescribeTransactions" && name == "Partitions";
        let is_set = is_hashed || normal.iter().all(|element| element.is_object() || element.is_string());
        if is_set && !ORDERED.contains(&name) {
            normal.sort_by_cached_key(|element| (key(element), element.to_string()));
        }
        if SETS.contains(&name) {
            normal.sort_by_key(Value::as_i64);
        }
        Value::Array(normal)
    }

    fn is_foreign(&self, element: &Value) -> bool {
        let names = NAMES.iter().filter_map(|name| element[*name].as_str());
        // How long the internal topics are depends on all scripts.
        let is_shared = |name: &str| self.api == "DescribeLogDirs" && name.starts_with("__");
        names.chain(element.as_str()).any(|name| self.variables.is_foreign(name) || is_shared(name))
    }

    fn id(&self, value: &Value) -> Value {
        let is_none = match value {
            Value::String(text) => text.is_empty() || text == ZERO_ID,
            other => other.as_i64().is_some_and(|number| number <= 0),
        };
        if is_none {
            return value.clone();
        }
        let given = value.as_str().map(|text| self.variables.without_prefix(text));
        let given = given.filter(|text| Some(text.as_str()) != value.as_str());
        Value::from(self.variables.name_of(value).or(given).unwrap_or_else(|| String::from("<id>")))
    }

    fn time(&self, time: i64) -> Value {
        match self.variables.time(time) {
            Some(distance) if CLOCK_MS.contains(&distance) => Value::from("<time>"),
            Some(distance) => Value::from(format!("now{distance:+}")),
            None => Value::from(time),
        }
    }
}

/// Whether it is a broker of a cluster that the same reply lists: a broker of Kafka, which hears from no client what only a
/// controller does, names any as the controller.
fn is_one_of_several(fields: &Map<String, Value>, id: &Value) -> bool {
    let brokers = fields.get("Brokers").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    brokers.len() > 1 && brokers.iter().any(|broker| [&broker["NodeId"], &broker["BrokerId"]].contains(&id))
}

/// The same topics, each once: a reply may name one again when partitions of another came in between.
fn merged(topics: Vec<Value>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for topic in topics {
        let is_same =
            |other: &Value| other["Topic"] == topic["Topic"] && other["TopicId"] == topic["TopicId"];
        let Some(first) = all.iter_mut().find(|other| is_same(other)) else {
            all.push(topic);
            continue;
        };
        if let (Some(partitions), Some(more)) =
            (first["Partitions"].as_array_mut(), topic["Partitions"].as_array())
        {
            partitions.extend(more.iter().cloned());
            partitions.sort_by_cached_key(|partition| (key(partition), partition.to_string()));
        }
    }
    all
}

/// What tells the entries of a list apart.
fn key(element: &Value) -> (String, i64) {
    let name = KEYS.iter().find_map(|name| element[*name].as_str()).unwrap_or_default();
    let number = NUMBERS.iter().find_map(|name| element[*name].as_i64()).unwrap_or_default();
    (name.to_owned(), number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn variables() -> Variables {
        let mut variables = Variables::new(1, 1_700_000_000_000);
        variables.bind("pid", json!(7));
        variables
    }

    #[test]
    fn ids_times_and_texts_lose_their_values_and_keep_their_presence() {
        let body = json!({
            "ThrottleTimeMs": 3, "ErrorMessage": "what", "ProducerId": 7, "MemberId": "m", "Port": 9,
            "Timestamp": 1_700_000_000_005i64, "MaxTimestamp": 1_699_999_999_000i64, "LogAppendTimeMs": -1,
        });
        let expected = json!({
            "ErrorMessage": "<text>", "ProducerId": "$pid", "MemberId": "<id>", "Port": "<port>",
            "Timestamp": "<time>", "MaxTimestamp": "now-1000", "LogAppendTimeMs": -1,
        });
        assert_eq!(normal("Any", &body, &variables()), expected);
        let none = json!({"ErrorMessage": null, "ProducerId": -1, "MemberId": "", "TopicId": ZERO_ID});
        assert_eq!(normal("Any", &none, &variables()), none);
    }

    #[test]
    fn lists_are_sets_without_what_belongs_to_others_and_fetched_topics_are_merged() {
        let body = json!({"Topics": [{"Name": "x000001-b"}, {"Name": "x000009-a"}, {"Name": "x000001-a"}]});
        let expected = json!({"Topics": [{"Name": "@a"}, {"Name": "@b"}]});
        assert_eq!(normal("Metadata", &body, &variables()), expected);
        let cursor = |name: &str| json!({"NextCursor": {"TopicName": name, "PartitionIndex": 1}});
        let described = |name: &str| normal("DescribeTopicPartitions", &cursor(name), &variables());
        assert_eq!(described("x000001-a"), cursor("@a"));
        assert_eq!(described("x000009-a"), json!({"NextCursor": null}));
        let part = |index: i64| json!({"PartitionIndex": index});
        let topic = |name: &str, parts: Value| json!({"Topic": name, "Partitions": parts});
        let fetched = json!({"Responses": [
            topic("b", json!([part(1)])), topic("a", json!([part(3)])), topic("b", json!([part(0)])),
        ]});
        let expected =
            json!({"Responses": [topic("a", json!([part(3)])), topic("b", json!([part(0), part(1)]))]});
        assert_eq!(normal("Fetch", &fetched, &variables()), expected);
    }
}
