//! One field in which two replies differ.

use serde_json::Value;

/// One field that differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The API of the request; empty if the step has none.
    pub api: String,
    /// Its version.
    pub version: i16,
    /// The way to the field: names joined by dots, with `[]` for the elements of a list.
    pub field: String,
    /// What Kafka's reply has there.
    pub kafka: Value,
    /// What ours has there.
    pub ours: Value,
}

impl Difference {
    /// The API, the field and, if they are short, both values.
    #[must_use]
    pub fn kind(&self) -> String {
        let short = |value: &Value| match value {
            Value::Number(number) if self.field.ends_with("ErrorCode") => number.to_string(),
            Value::Number(_) => String::from("a number"),
            Value::Array(elements) if elements.is_empty() => String::from("nothing"),
            Value::Array(_) => String::from("more"),
            Value::Object(_) => String::from("an answer"),
            Value::String(text) if text.len() > 24 => text.chars().take(24).collect(),
            other => other.to_string(),
        };
        format!("{} {}: {} / {}", self.api, self.field, short(&self.kafka), short(&self.ours))
    }
}
