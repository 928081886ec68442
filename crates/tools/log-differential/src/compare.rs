//! Lays two records of one script side by side and finds what differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::time::Duration;

use serde_json::Value;

use crate::coverage::Coverage;
use crate::difference::Difference;
use crate::faults::{self, Fault};
use crate::normalise::normal;
use crate::play::{Record, Seen};
use crate::script::{Call, Script};
use crate::table::{self, Context};
use crate::variables::Variables;

/// The field with batches.
const RECORDS: &str = "Records";

/// Some requests wait for what does not come, or for longer than this. All others are answered at once, even by a host that
/// has other things to do.
const LATE: Duration = Duration::from_secs(10);

/// What no answer within the deadline shows. It fails on both sides: scripts leave out what a broker never answers.
const SILENCE: &str = "<silence>";

/// The differences of one step.
#[derive(Clone, Debug)]
pub struct StepDifference {
    /// The step's place.
    pub step: usize,
    /// What differs.
    pub fields: Vec<Difference>,
    /// What Kafka showed.
    pub kafka: Value,
    /// What ours showed.
    pub ours: Value,
}

/// What comparing a script found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Steps that differ without an excuse, in order.
    pub differences: Vec<StepDifference>,
    /// How often each entry of the table of intended differences excused a field.
    pub on_purpose: BTreeMap<&'static str, usize>,
    /// How many fields each known fault explained.
    pub faults: BTreeMap<&'static str, usize>,
    /// What Kafka answered.
    pub coverage: Coverage,
}

impl Verdict {
    /// What its differences are about: those with one reason have the same text.
    #[must_use]
    pub fn kinds(&self) -> BTreeSet<String> {
        self.differences.iter().flat_map(|step| step.fields.iter().map(Difference::kind)).collect()
    }

    /// Only the steps that have a difference of that kind.
    #[must_use]
    pub fn of_kind(&self, kind: &str) -> Option<&StepDifference> {
        self.differences.iter().find(|step| step.fields.iter().any(|field| field.kind() == kind))
    }
}

/// Compares what the real broker showed with what ours did. `open` are the faults that are known: they are counted apart.
#[must_use]
pub fn compare(script: &Script, kafka: &Record, ours: &Record, open: &[Fault]) -> Verdict {
    let mut verdict = Verdict::default();
    for (index, step) in steps(script, kafka, ours).into_iter().enumerate() {
        if let Some(call) = step.call {
            verdict.coverage.add(call, step.seen[0]);
        }
        let Judged { fields, on_purpose, faults } = step.judged(open);
        for name in on_purpose {
            *verdict.on_purpose.entry(name).or_default() += 1;
        }
        for what in faults {
            *verdict.faults.entry(what).or_default() += 1;
        }
        if !fields.is_empty() {
            let Compared { kafka, ours, .. } = step;
            verdict.differences.push(StepDifference { step: index, fields, kafka, ours });
        }
    }
    verdict
}

/// What one step showed on both brokers, in the form in which it is compared.
pub(crate) struct Compared<'a> {
    scene: &'a str,
    /// The request that the step answers.
    pub(crate) call: Option<&'a Call>,
    /// What the real broker and ours showed.
    pub(crate) seen: [&'a Seen; 2],
    kafka: Value,
    ours: Value,
}

/// The fields in which a step differs.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// Without an excuse.
    pub(crate) fields: Vec<Difference>,
    /// The entries of the table that excused others.
    pub(crate) on_purpose: Vec<&'static str>,
    /// The known faults that explain others.
    pub(crate) faults: Vec<&'static str>,
}

/// The steps of a script that both brokers played, or one of them.
pub(crate) fn steps<'a>(script: &'a Script, kafka: &'a Record, ours: &'a Record) -> Vec<Compared<'a>> {
    let length = kafka.steps.len().max(ours.steps.len());
    let compared = |(step, call): (usize, Option<&'a Call>)| {
        let seen = [kafka, ours].map(|record| record.steps.get(step).unwrap_or(&Seen::Silence));
        let [left, right] =
            [(seen[0], kafka), (seen[1], ours)].map(|(seen, record)| shown(seen, call, &record.variables));
        Compared { scene: &script.scene, call, seen, kafka: left, ours: right }
    };
    script.asked().into_iter().enumerate().take(length).map(compared).collect()
}

impl<'a> Compared<'a> {
    /// Whether both showed the same.
    pub(crate) fn is_equal(&self) -> bool {
        self.kafka == self.ours
    }

    /// The same step with another reply of ours.
    pub(crate) fn with_ours(&self, body: &Value, variables: &Variables) -> Self {
        let Self { scene, call, seen, .. } = *self;
        Self { scene, call, seen, kafka: self.kafka.clone(), ours: normal(api(call), body, variables) }
    }

    /// What differs, and what of it is excused.
    pub(crate) fn judged(&self, open: &[Fault]) -> Judged {
        let Self { scene, call, kafka, ours, .. } = self;
        let mut found = Vec::new();
        differ(&mut found, (*call, String::new()), kafka, ours);
        if found.is_empty() && *kafka == SILENCE {
            // What is behind it was not played.
            found.push(difference(*call, String::new(), kafka, ours));
        }
        let mut judged = Judged::default();
        for difference in found {
            let context = Context { scene, call: *call, difference: &difference, kafka, ours };
            if let Some(name) = table::excuse(&context) {
                judged.on_purpose.push(name);
            } else if let Some(what) = faults::of(open, &difference) {
                judged.faults.push(what);
            } else {
                judged.fields.push(difference);
            }
        }
        judged
    }
}

/// All that both showed, for a person.
#[must_use]
pub fn trace(script: &Script, kafka: &Record, ours: &Record) -> String {
    let mut text = String::new();
    let asked = script.asked();
    for (index, step) in script.steps.iter().enumerate() {
        let _ = writeln!(text, "[{index}] {step}");
        for (name, record) in [("kafka", kafka), ("ours", ours)] {
            let Some(seen) = record.steps.get(index) else { continue };
            let took = match seen {
                Seen::Reply(exchange) => exchange.took,
                _ => Duration::ZERO,
            };
            let shown = shown(seen, asked.get(index).copied().flatten(), &record.variables);
            let _ = writeln!(text, "    {name} {} ms: {}", took.as_millis(), cut(&shown));
        }
    }
    text
}

/// The comparable form of what a step showed.
fn shown(seen: &Seen, call: Option<&Call>, variables: &Variables) -> Value {
    match seen {
        Seen::Reply(exchange) => {
            let mut normal = normal(api(call), &exchange.body, variables);
            if exchange.took > LATE {
                normal["<late>"] = Value::Bool(true);
            }
            normal
        }
        Seen::Unfit(bytes, why) => Value::from(format!("<unfit: {why}: {bytes}>")),
        Seen::Closed => Value::from("<closed>"),
        Seen::Broken => Value::from("<closed within a frame>"),
        Seen::Silence => Value::from(SILENCE),
        Seen::Unbound(name) => Value::from(format!("<no ${name}>")),
        Seen::Nothing => Value::Null,
    }
}

fn api(call: Option<&Call>) -> &str {
    call.map_or("", |call| call.api.as_str())
}

fn differ(found: &mut Vec<Difference>, (call, path): (Option<&Call>, String), kafka: &Value, ours: &Value) {
    if kafka == ours {
        return;
    }
    match (kafka, ours) {
        (Value::Object(left), Value::Object(right)) => {
            let names = left.keys().chain(right.keys().filter(|name| !left.contains_key(*name)));
            for name in names {
                let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                let of = |fields: &serde_json::Map<String, Value>| {
                    fields.get(name).cloned().unwrap_or_else(|| Value::from("<absent>"))
                };
                differ(found, (call, inner), &of(left), &of(right));
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (left, right) in left.iter().zip(right) {
                differ(found, (call, format!("{path}[]")), left, right);
            }
        }
        // Where batches are missing, the others say which.
        (Value::Array(left), Value::Array(right)) if !path.ends_with(RECORDS) => {
            let only = |these: &[Value], those: &[Value]| {
                these.iter().filter(|element| !those.contains(element)).cloned().collect::<Value>()
            };
            match (only(left, right), only(right, left)) {
                // The same elements, a different number of times.
                (left, right) if left == right => found.push(difference(call, path, kafka, ours)),
                (left, right) => found.push(difference(call, path, &left, &right)),
            }
        }
        _ => found.push(difference(call, path, kafka, ours)),
    }
}

fn difference(call: Option<&Call>, field: String, kafka: &Value, ours: &Value) -> Difference {
    Difference {
        api: call.map_or_else(String::new, |call| call.api.clone()),
        version: call.map_or(0, |call| call.version),
        field,
        kafka: kafka.clone(),
        ours: ours.clone(),
    }
}

impl fmt::Display for StepDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Difference { api, version, field, kafka, ours } in &self.fields {
            writeln!(f, "  {api} v{version} {field}: kafka {}, ours {}", cut(kafka), cut(ours))?;
        }
        writeln!(f, "  kafka: {}", cut(&self.kafka))?;
        write!(f, "  ours:  {}", cut(&self.ours))
    }
}

/// As much of a long reply as a person reads.
fn cut(value: &Value) -> String {
    const LENGTH_MAX: usize = 1_500;
    let text = value.to_string();
    match text.char_indices().nth(LENGTH_MAX) {
        Some((at, _)) => format!("{}..", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fields(kafka: &Value, ours: &Value) -> Vec<String> {
        let mut found = Vec::new();
        differ(&mut found, (None, String::new()), kafka, ours);
        found.into_iter().map(|difference| difference.field).collect()
    }

    #[test]
    fn fields_that_differ_are_named_with_their_way() {
        let kafka = json!({"Topics": [{"Name": "a", "ErrorCode": 3}], "Epoch": 1});
        let ours = json!({"Topics": [{"Name": "a", "ErrorCode": 0}], "Epoch": 1, "More": null});
        assert_eq!(fields(&kafka, &ours), ["Topics[].ErrorCode", "More"]);
        let mut found = Vec::new();
        differ(&mut found, (None, String::new()), &json!({"A": [1]}), &json!({"A": [1, 2]}));
        assert_eq!(
            (found[0].field.as_str(), &found[0].kafka, &found[0].ours),
            ("A", &json!([]), &json!([2]))
        );
        assert!(fields(&kafka, &kafka).is_empty());
    }
}
