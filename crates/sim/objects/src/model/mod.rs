//! The sequential models: what each command of a group must do, in the plainest way, written from the specification and not
//! from the code that is judged. Vectors and linear scans; a call works on a copy, and the copy counts if it is not refused.
//!
//! Where the specification leaves room, the list in the documentation of `objects-state` decides.

mod access;
mod answer;
mod args;
mod group;
mod kind;
mod life;
mod methods;
mod quota;
mod request;
mod types;

use serde_json::{Value, json};

pub(crate) use access::ACCESS_LEVEL;
pub(crate) use answer::{Answer, Refusal, Told};
pub(crate) use group::{ENDED_LEVEL, ENDED_MS, Group, IMPORTED};
pub(crate) use methods::{TYPES, Type, Way, method_of, type_of};
pub(crate) use request::{Asked, KeptAt};

/// The canonical text of a value: keys in order, no spaces.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(text_of).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let mut all: Vec<_> = fields.iter().collect();
            all.sort_by_key(|(key, _)| *key);
            let field = |(key, value): &(&String, &Value)| format!("{}:{}", json!(key), text_of(value));
            format!("{{{}}}", all.iter().map(field).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

/// A result whose integers of these names travel as text beside if they are beyond 2^53.
pub(crate) fn with_texts(mut result: Value, names: &[&str]) -> Value {
    for name in names {
        if let Some(number) = result[name].as_i64().filter(|number| number.unsigned_abs() > 1 << 53) {
            result[format!("{name}_text")] = json!(number.to_string());
        }
    }
    result
}
