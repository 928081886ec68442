//! What differs from broker to broker and from run to run, under the names that a script has for it.

use std::collections::BTreeMap;

use serde_json::Value;

/// Stands for the prefix in texts.
const PREFIX: char = '@';
const VARIABLE: char = '$';
const NOW: &str = "now";
/// How the names of the epochs of leaders begin.
const EPOCH: &str = "epoch-";
const FORMER_EPOCH: &str = "former-epoch-";

/// The values of one script's names on one broker.
#[derive(Clone, Debug)]
pub struct Variables {
    prefix: String,
    now: i64,
    values: BTreeMap<String, Value>,
    /// Those that leaders had, as they were bound.
    epochs: Vec<Value>,
}

impl Variables {
    /// For a run that is told apart from others by its number.
    #[must_use]
    pub fn new(run: u64, now: i64) -> Self {
        Self { prefix: format!("x{run:06}-"), now, values: BTreeMap::new(), epochs: Vec::new() }
    }

    /// Remembers a value.
    pub fn bind(&mut self, name: &str, value: Value) {
        if name.starts_with(EPOCH) {
            self.epochs.push(value.clone());
        }
        self.values.insert(name.to_owned(), value);
    }

    /// The value with all names replaced.
    ///
    /// # Errors
    /// The name of a variable that no reply has given a value.
    pub fn resolve(&self, value: &Value) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => match text.strip_prefix(VARIABLE) {
                Some(name) => self.variable(name)?,
                None => Value::from(text.replace(PREFIX, &self.prefix)),
            },
            Value::Array(elements) => {
                elements.iter().map(|element| self.resolve(element)).collect::<Result<_, _>>()?
            }
            Value::Object(fields) => {
                let resolve = |(name, value): (&String, &Value)| Ok((name.clone(), self.resolve(value)?));
                Value::Object(fields.iter().map(resolve).collect::<Result<_, String>>()?)
            }
            other => other.clone(),
        })
    }

    /// `NAME`, or a number under that name with another added: `NAME+1`, `NAME-5000`.
    fn variable(&self, text: &str) -> Result<Value, String> {
        let value = |name: &str| match name {
            NOW => Some(Value::from(self.now)),
            _ => self.values.get(name).filter(|value| !value.is_null()).cloned(),
        };
        if let Some(value) = value(text) {
            return Ok(value);
        }
        let sum = text.rfind(['+', '-']).and_then(|at| {
            let (name, more) = text.split_at(at);
            Some(Value::from(value(name)?.as_i64()?.wrapping_add(more.parse().ok()?)))
        });
        sum.ok_or_else(|| text.to_owned())
    }

    /// The name of that value, if it was bound.
    #[must_use]
    pub fn name_of(&self, value: &Value) -> Option<String> {
        let mut names = self.values.iter();
        names.find(|(_, bound)| *bound == value).map(|(name, _)| format!("{VARIABLE}{name}"))
    }

    /// What a script calls that epoch of a leader, if it knows it, or has known it.
    #[must_use]
    pub fn epoch(&self, value: &Value) -> Option<Value> {
        let mut former = self.values.iter().filter(|(name, _)| name.starts_with(FORMER_EPOCH));
        match former.any(|(_, bound)| bound == value) {
            true => Some(Value::from("<former epoch>")),
            false => self.epochs.contains(value).then(|| Value::from("<epoch>")),
        }
    }

    /// A time as its distance from the script's own, if it lies within a day of it.
    #[must_use]
    pub fn time(&self, value: i64) -> Option<i64> {
        let distance = value.wrapping_sub(self.now);
        (distance.abs() < 86_400_000).then_some(distance)
    }

    /// The text with `@` for the prefix.
    #[must_use]
    pub fn without_prefix(&self, text: &str) -> String {
        text.replace(&self.prefix, &PREFIX.to_string())
    }

    /// Whether a name belongs to another script, or another run of this one.
    #[must_use]
    pub fn is_foreign(&self, name: &str) -> bool {
        let digits = name.strip_prefix('x').and_then(|rest| rest.split_once('-')).map(|(digits, _)| digits);
        let is_ours = digits.is_some_and(|digits| digits.len() >= 6 && digits.parse::<u64>().is_ok());
        is_ours && !name.starts_with(&self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_become_values_and_values_names() {
        let mut variables = Variables::new(12, 1000);
        variables.bind("pid", json!(40));
        variables.bind("member", json!("m-1"));
        let given = json!({"a": ["$pid", "$pid+2", "$member"], "t": "$now-5", "n": "@t"});
        let value = variables.resolve(&given).expect("all are bound");
        assert_eq!(value, json!({"a": [40, 42, "m-1"], "t": 995, "n": "x000012-t"}));
        assert_eq!(variables.resolve(&json!("$other")), Err(String::from("other")));
        assert_eq!(variables.name_of(&json!("m-1")), Some(String::from("$member")));
        assert_eq!(variables.without_prefix("x000012-t"), "@t");
        for (name, epoch) in [("epoch-a-0", 3), ("former-epoch-a-0", 3), ("epoch-a-0", 5), ("epoch-a-0", 7)] {
            variables.bind(name, json!(epoch));
        }
        let shown = [3, 5, 7, 9].map(|epoch| variables.epoch(&json!(epoch)));
        let expected = [Some("<former epoch>"), Some("<epoch>"), Some("<epoch>"), None];
        assert_eq!(shown, expected.map(|name| name.map(Value::from)));
        assert!(variables.is_foreign("x000011-t") && !variables.is_foreign("x000012-t"));
        assert!(!variables.is_foreign("__consumer_offsets"));
    }
}
