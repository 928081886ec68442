//! Whether the comparison finds anything at all: replies of ours that equal the real broker's are changed in one field, and each
//! change must be found.
//!
//! A change that is not found is a failure unless the field is one of the few that are never compared. One that the table of
//! intended differences or a known fault swallows is counted under its name: an entry that swallows many is too wide.

use std::collections::BTreeMap;

use serde_json::Value;
use tools_testbed::dice::Dice;

use crate::compare::{Judged, steps};
use crate::faults::Fault;
use crate::normalise::{CONTROLLER, is_foreign, is_id, is_text, is_time};
use crate::play::{Record, Seen};
use crate::script::Script;

/// Fields that are never compared. Of [`crate::normalise`] nothing is taken for granted here: this list is what it may do.
const NEVER_COMPARED: &[(&str, &str)] = &[
    ("ThrottleTimeMs", "depends on the broker's load"),
    ("FinalizedFeaturesEpoch", "counts records of the log of the controllers"),
    ("TotalBytes", "the disk's"),
    ("UsableBytes", "the disk's"),
    ("Port", "the host gives it"),
    ("LogDir", "a path of the host"),
    ("DescribeQuorum HighWatermark", "grows by itself"),
    ("DescribeQuorum LeaderEpoch", "grows by itself"),
    ("DescribeQuorum LogEndOffset", "grows by itself"),
];
/// Far enough from the script's own time that no clock explains it.
const HOURS_MS: i64 = 7_200_000;

/// How many changes were planted, and what became of them.
#[derive(Clone, Debug, Default)]
pub struct Planted {
    /// Differences without an excuse, as they must be.
    pub found: usize,
    /// In fields that are never compared, by name.
    pub never_compared: BTreeMap<&'static str, usize>,
    /// Excused by an entry of the table or a known fault, by name.
    pub excused: BTreeMap<&'static str, usize>,
    /// Not seen at all: a hole of the comparison.
    pub missed: Vec<String>,
}

impl Planted {
    /// Changes one field of each reply in which both brokers agree.
    #[must_use]
    pub fn into(script: &Script, kafka: &Record, ours: &Record, open: &[Fault]) -> Self {
        let mut planted = Self::default();
        let mut dice = Dice::new(script.seed ^ (script.number as u64).rotate_left(32));
        for step in steps(script, kafka, ours) {
            let (Some(call), Seen::Reply(exchange)) = (step.call, step.seen[1]) else { continue };
            if !step.is_equal() {
                continue;
            }
            let places = places(&call.api, &exchange.body, ours);
            if places.is_empty() {
                continue;
            }
            let place = dice.pick(&places);
            let mut body = exchange.body.clone();
            if !change(&place, &mut body) {
                continue;
            }
            let other = step.with_ours(&body, &ours.variables);
            let is_seen = !other.is_equal();
            planted.add(&format!("{} {place}", call.api), is_seen.then(|| other.judged(open)));
        }
        planted
    }

    /// Adds another count.
    pub fn merge(&mut self, other: Self) {
        self.found += other.found;
        for (sum, more) in
            [(&mut self.never_compared, other.never_compared), (&mut self.excused, other.excused)]
        {
            for (name, count) in more {
                *sum.entry(name).or_default() += count;
            }
        }
        self.missed.extend(other.missed);
    }

    fn add(&mut self, place: &str, judged: Option<Judged>) {
        let Some(judged) = judged else {
            match NEVER_COMPARED.iter().find(|(field, _)| is_field(field, place)) {
                Some((field, _)) => *self.never_compared.entry(field).or_default() += 1,
                None => self.missed.push(place.to_owned()),
            }
            return;
        };
        match judged.on_purpose.iter().chain(&judged.faults).next() {
            Some(name) if judged.fields.is_empty() => *self.excused.entry(name).or_default() += 1,
            _ => self.found += 1,
        }
    }
}

/// Whether a place in a reply is that field: `NAME`, or `API NAME`.
fn is_field(field: &str, place: &str) -> bool {
    let (api, name) = field.split_once(' ').unwrap_or(("", field));
    place.starts_with(api) && name_in(place) == name
}

/// The name of the field at that place.
fn name_in(place: &str) -> &str {
    place.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap_or_default()
}

/// The places of all values in a reply, without those of entries that belong to other scripts.
fn places(api: &str, body: &Value, record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), body)];
    while let Some((place, value)) = open.pop() {
        match value {
            // A cursor that stands at a topic of another script.
            Value::Object(_) if !place.is_empty() && is_foreign(api, value, &record.variables) => {}
            Value::Object(fields) => {
                open.extend(fields.iter().map(|(name, value)| (format!("{place}/{name}"), value)));
            }
            Value::Array(elements) => {
                let mine = |element: &&Value| !is_foreign(api, element, &record.variables);
                if elements.iter().all(|element| mine(&element)) {
                    found.push(place.clone());
                }
                let elements = elements.iter().enumerate().filter(|(_, element)| mine(element));
                open.extend(elements.map(|(index, element)| (format!("{place}/{index}"), element)));
            }
            _ => found.push(place),
        }
    }
    // Their order must not depend on the order of fields.
    found.sort();
    found
}

/// Whether it could be changed.
fn change(place: &str, body: &mut Value) -> bool {
    let name = name_in(place);
    let Some(value) = body.pointer_mut(place) else { return false };
    *value = match &*value {
        Value::Bool(flag) => Value::Bool(!flag),
        Value::Null => Value::from("planted"),
        Value::Number(number) => match number.as_i64() {
            Some(id) if is_id(name) => Value::from(if id > 0 { -1 } else { 1 }),
            // Of a cluster any broker may be named, and every epoch that a script knows.
            Some(_) if name == CONTROLLER => Value::from(-2),
            Some(epoch) if name.ends_with("Epoch") => Value::from(epoch.wrapping_add(1_000)),
            Some(time) if is_time(name) => Value::from(time.wrapping_add(HOURS_MS)),
            Some(number) => Value::from(number.wrapping_add(1)),
            None => return false,
        },
        Value::String(text) if text.is_empty() && !is_text(name) => Value::from("planted"),
        Value::String(_) => Value::Null,
        Value::Array(elements) => match elements.split_last() {
            Some((_, rest)) => Value::from(rest),
            None => Value::Null,
        },
        Value::Object(_) => return false,
    };
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use serde_json::json;

    use crate::play::Exchange;
    use crate::script::{Action, Call, Step};
    use crate::variables::Variables;

    fn record(body: Value) -> Record {
        let (request, response, took) = (Vec::new(), Vec::new(), Duration::ZERO);
        let seen = Seen::Reply(Exchange { request, response, body, took });
        Record { steps: vec![seen], variables: Variables::new(1, 1_700_000_000_000) }
    }

    fn script(seed: u64, api: &str) -> Script {
        let call = Call { api: api.into(), ..Call::default() };
        let steps = vec![Step { broker: 1, connection: 0, action: Action::Call(call) }];
        Script { seed, scene: "any".into(), steps, ..Script::default() }
    }

    /// One change for each of many seeds.
    fn planted(api: &str, body: &Value) -> Planted {
        let mut sum = Planted::default();
        for seed in 0..500 {
            let (kafka, ours) = (record(body.clone()), record(body.clone()));
            sum.merge(Planted::into(&script(seed, api), &kafka, &ours, &[]));
        }
        sum
    }

    #[test]
    fn every_planted_change_is_found_but_in_fields_that_are_never_compared() {
        let body = json!({
            "ThrottleTimeMs": 0, "ErrorCode": 0, "ErrorMessage": "", "Flag": true, "Leader": "m", "Port": 9092,
            "Topics": [
                {"Name": "x000001-a", "TopicId": "0123456789abcdef0123456789abcdef", "Offsets": [1, 2], "Nothing": null},
            ],
            "Records": [{"baseOffset": 3, "baseTimestamp": 1_700_000_000_000i64, "records": [{"key": "", "value": "v"}]}],
        });
        let planted = planted("Any", &body);
        assert_eq!(planted.missed, Vec::<String>::new());
        assert!(planted.found > 400, "{planted:?}");
        let fields: Vec<&str> = planted.never_compared.keys().copied().collect();
        assert_eq!(fields, ["Port", "ThrottleTimeMs"]);
    }

    #[test]
    fn entries_of_other_scripts_are_not_changed() {
        let body = json!({
            "Groups": [{"GroupId": "x000001-mine", "State": "Empty"}, {"GroupId": "x000009-other"}],
            "NextCursor": {"TopicName": "x000009-other", "PartitionIndex": 1},
        });
        let planted = planted("ListGroups", &body);
        assert_eq!(planted.missed, Vec::<String>::new());
        assert_eq!(planted.found, 500);
    }

    #[test]
    fn change_that_an_entry_swallows_is_counted_under_its_name() {
        let body =
            json!({"Responses": [{"Partitions": [{"Records": [{"baseOffset": 1}, {"baseOffset": 2}]}]}]});
        let planted = planted("Fetch", &body);
        assert!(planted.excused.contains_key("a fetch ends early"), "{planted:?}");
    }

    #[test]
    fn comparison_that_sees_nothing_is_a_failure() {
        let mut planted = Planted::default();
        planted.add("Any /Topics/0/ErrorCode", None);
        planted.add("DescribeQuorum /Topics/0/Partitions/0/LeaderEpoch", None);
        planted.add("Fetch /Responses/0/Partitions/0/HighWatermark", None);
        let missed = ["Any /Topics/0/ErrorCode", "Fetch /Responses/0/Partitions/0/HighWatermark"];
        assert_eq!(planted.missed, missed);
    }
}
