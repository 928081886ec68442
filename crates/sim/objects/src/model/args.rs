//! The arguments of a call, as the specification names them: integers of 64 bits (beyond 2^53 also as text beside),
//! texts, flags, values, lists.

use objects_state::limits::{ARGUMENT_BYTES_MAX, ENTRY_KEY_BYTES_MAX, ITEMS_PER_CALL_MAX, VALUE_BYTES_MAX};
use serde_json::{Map, Value};

use super::answer::{Refusal, bad_argument, refuse};
use super::text_of;

/// How deep a value may be nested.
const DEPTH_MAX: usize = 64;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args(Map<String, Value>);

type Read<T> = Result<T, Refusal>;

impl Args {
    pub(crate) fn parse(body: &[u8]) -> Read<Self> {
        if body.len() > ARGUMENT_BYTES_MAX {
            return refuse("too-large");
        }
        if body.is_empty() {
            return Ok(Self::default());
        }
        match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) if fields.values().all(|value| depth(value) < DEPTH_MAX) => {
                Ok(Self(fields))
            }
            _ => bad_argument(),
        }
    }

    /// Refuses arguments that are not among these, `wait_ms`, and their texts beside.
    pub(crate) fn only(&self, known: &[&str]) -> Read<()> {
        let is_known = |name: &str| known.contains(&name) || name == "wait_ms";
        let all_known =
            self.0.keys().all(|name| is_known(name) || name.strip_suffix("_text").is_some_and(is_known));
        if all_known { Ok(()) } else { bad_argument() }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn int(&self, name: &str) -> Read<Option<i64>> {
        if let Some(text) = self.0.get(&format!("{name}_text")) {
            let number = text.as_str().and_then(|text| text.parse().ok());
            return number.map_or_else(bad_argument, |number| Ok(Some(number)));
        }
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_i64().map_or_else(bad_argument, |number| Ok(Some(number))),
        }
    }

    pub(crate) fn int_in(&self, name: &str, least: i64, most: i64) -> Read<Option<i64>> {
        match self.int(name)? {
            Some(number) if number < least || number > most => bad_argument(),
            number => Ok(number),
        }
    }

    /// A number of items of one call.
    pub(crate) fn count(&self, name: &str, default: usize) -> Read<usize> {
        Ok(self.int_in(name, 1, ITEMS_PER_CALL_MAX)?.map_or(default, |count| count as usize))
    }

    /// A fence, a version, an index, an id.
    pub(crate) fn position(&self, name: &str) -> Read<Option<u64>> {
        Ok(self.int_in(name, 0, i64::MAX)?.map(|number| number as u64))
    }

    pub(crate) fn the_position(&self, name: &str) -> Read<u64> {
        the(self.position(name)?)
    }

    pub(crate) fn flag(&self, name: &str) -> Read<Option<bool>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => bad_argument(),
        }
    }

    pub(crate) fn text(&self, name: &str) -> Read<Option<String>> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.len() <= ENTRY_KEY_BYTES_MAX => Ok(Some(text.clone())),
            Some(Value::String(_)) => refuse("too-large"),
            Some(_) => bad_argument(),
        }
    }

    pub(crate) fn the_text(&self, name: &str) -> Read<String> {
        the(self.text(name)?)
    }

    /// One of these words.
    pub(crate) fn word(&self, name: &str, words: &[&str]) -> Read<Option<String>> {
        match self.text(name)? {
            Some(word) if !words.contains(&&*word) => bad_argument(),
            word => Ok(word),
        }
    }

    pub(crate) fn value(&self, name: &str) -> Read<Option<Value>> {
        self.0.get(name).map(sized).transpose()
    }

    pub(crate) fn the_value(&self, name: &str) -> Read<Value> {
        the(self.value(name)?)
    }

    pub(crate) fn values(&self, name: &str) -> Read<Vec<Value>> {
        self.list(name)?.iter().map(sized).collect()
    }

    pub(crate) fn texts(&self, name: &str) -> Read<Vec<String>> {
        let text = |value: &Value| match value.as_str() {
            Some(text) if text.len() <= ENTRY_KEY_BYTES_MAX => Ok(text.to_owned()),
            _ => bad_argument(),
        };
        self.list(name)?.iter().map(text).collect()
    }

    pub(crate) fn ids(&self, name: &str) -> Read<Vec<u64>> {
        let id = |value: &Value| {
            let id = value.as_i64().and_then(|id| u64::try_from(id).ok());
            id.map_or_else(bad_argument, Ok)
        };
        self.list(name)?.iter().map(id).collect()
    }

    pub(crate) fn pairs(&self, name: &str) -> Read<Vec<(String, Value)>> {
        let Some(Value::Object(fields)) = self.0.get(name) else { return bad_argument() };
        if fields.len() > ITEMS_PER_CALL_MAX as usize {
            return bad_argument();
        }
        let pair = |(key, value): (&String, &Value)| {
            if key.len() > ENTRY_KEY_BYTES_MAX {
                return bad_argument();
            }
            Ok((key.clone(), sized(value)?))
        };
        let mut pairs = fields.iter().map(pair).collect::<Read<Vec<_>>>()?;
        pairs.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(pairs)
    }

    fn list(&self, name: &str) -> Read<&[Value]> {
        match self.0.get(name) {
            Some(Value::Array(items)) if items.len() <= ITEMS_PER_CALL_MAX as usize => Ok(items),
            _ => bad_argument(),
        }
    }
}

/// What must be there.
pub(crate) fn the<T>(given: Option<T>) -> Read<T> {
    given.map_or_else(bad_argument, Ok)
}

fn sized(value: &Value) -> Read<Value> {
    if text_of(value).len() > VALUE_BYTES_MAX { refuse("too-large") } else { Ok(value.clone()) }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}
