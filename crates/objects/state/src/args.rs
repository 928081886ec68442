//! The arguments of a call: a JSON object whose fields are looked up by name and kind.
//!
//! A method names the arguments that it knows; any other one is refused, so that a misspelt one is no silent default.

use crate::json::Json;
use crate::limits::{ARGUMENT_BYTES_MAX, ENTRY_KEY_BYTES_MAX, ITEMS_PER_CALL_MAX, VALUE_BYTES_MAX};
use crate::problem::{Problem, Slug};

/// Arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    fields: Vec<(String, Json)>,
}

impl Args {
    /// Reads the body of a call. Nothing at all stands for no arguments.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Problem> {
        if body.len() > ARGUMENT_BYTES_MAX {
            let detail = format!("{} bytes of arguments; {ARGUMENT_BYTES_MAX} are allowed", body.len());
            return Err(Problem::new(Slug::TooLarge, detail));
        }
        if body.is_empty() {
            return Ok(Self::default());
        }
        match Json::parse(body) {
            Ok(Json::Object(fields)) => Ok(Self { fields }),
            Ok(_) => Err(Problem::argument("", "the arguments are no JSON object")),
            Err(wrong) => {
                Err(Problem::argument("", format!("not JSON: {} after {} bytes", wrong.why, wrong.at)))
            }
        }
    }

    /// Refuses arguments that the method does not know.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        let knows = |name: &str| known.contains(&name) || name == "wait_ms";
        let is_known = |name: &str| knows(name) || name.strip_suffix("_text").is_some_and(knows);
        match self.fields.iter().find(|(name, _)| !is_known(name)) {
            Some((name, _)) => Err(Problem::argument(name, "the method has no such argument")),
            None => Ok(()),
        }
    }

    fn field(&self, name: &str) -> Option<&Json> {
        let at = self.fields.binary_search_by(|(key, _)| key.as_str().cmp(name)).ok()?;
        Some(&self.fields[at].1)
    }

    /// The field of that name with `_text` behind it.
    fn field_as_text(&self, name: &str) -> Option<&Json> {
        let wanted = || name.bytes().chain(*b"_text");
        let at = self.fields.binary_search_by(|(key, _)| key.bytes().cmp(wanted())).ok()?;
        Some(&self.fields[at].1)
    }

    /// How many values there are in the arguments' lists and objects; one at the least.
    pub(crate) fn weight(&self) -> usize {
        let of = |value: &Json| match value {
            Json::List(items) => items.len(),
            Json::Object(fields) => fields.len(),
            _ => 0,
        };
        self.fields.iter().map(|(_, value)| of(value)).sum::<usize>().max(1)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.field(name).is_some()
    }

    /// An integer, as a number or as text under the name with `_text` behind it.
    pub(crate) fn int(&self, name: &str) -> Result<Option<i64>, Problem> {
        let wrong = || Problem::argument(name, "not an integer of 64 bits");
        match (self.field(name), self.field_as_text(name)) {
            (_, Some(Json::Text(text))) => text.parse().map(Some).map_err(|_| wrong()),
            (_, Some(_)) => Err(wrong()),
            (None | Some(Json::Null), None) => Ok(None),
            (Some(value), None) => value.integer().map(Some).ok_or_else(wrong),
        }
    }

    /// An integer within bounds.
    pub(crate) fn int_in(&self, name: &str, least: i64, most: i64) -> Result<Option<i64>, Problem> {
        match self.int(name)? {
            Some(value) if !(least..=most).contains(&value) => {
                Err(Problem::argument(name, format!("{value} is not between {least} and {most}")))
            }
            value => Ok(value),
        }
    }

    /// How many: at least 1, at most what one call may do.
    pub(crate) fn count(&self, name: &str, default: i64) -> Result<usize, Problem> {
        Ok(self.int_in(name, 1, ITEMS_PER_CALL_MAX)?.unwrap_or(default) as usize)
    }

    /// A position, a fence, a version, an index.
    pub(crate) fn position(&self, name: &str) -> Result<Option<u64>, Problem> {
        Ok(self.int_in(name, 0, i64::MAX)?.map(i64::unsigned_abs))
    }

    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Problem> {
        match self.field(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(Problem::argument(name, "neither true nor false")),
        }
    }

    /// A text that names something.
    pub(crate) fn text(&self, name: &str) -> Result<Option<&str>, Problem> {
        match self.field(name) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::Text(text)) if text.len() <= ENTRY_KEY_BYTES_MAX => Ok(Some(text)),
            Some(Json::Text(_)) => Err(Problem::new(
                Slug::TooLarge,
                format!("`{name}` is longer than {ENTRY_KEY_BYTES_MAX} bytes"),
            )),
            Some(_) => Err(Problem::argument(name, "not a text")),
        }
    }

    /// Any value, as its canonical text.
    pub(crate) fn value(&self, name: &str) -> Result<Option<String>, Problem> {
        self.field(name).map(|value| canonical(name, value)).transpose()
    }

    /// A list of values, as their canonical texts.
    pub(crate) fn values(&self, name: &str) -> Result<Vec<String>, Problem> {
        self.items(name)?.iter().map(|value| canonical(name, value)).collect()
    }

    /// A list of texts that name something.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, Problem> {
        let text = |value: &Json| match value {
            Json::Text(text) if text.len() <= ENTRY_KEY_BYTES_MAX => Ok(text.clone()),
            _ => Err(Problem::argument(name, "not a list of short texts")),
        };
        self.items(name)?.iter().map(text).collect()
    }

    /// A list of ids.
    pub(crate) fn ids(&self, name: &str) -> Result<Vec<u64>, Problem> {
        let id = |value: &Json| {
            let id = value.integer().and_then(|id| u64::try_from(id).ok());
            id.ok_or_else(|| Problem::argument(name, "not a list of ids"))
        };
        self.items(name)?.iter().map(id).collect()
    }

    /// The fields of an object, as names and canonical texts, in the order of the names.
    pub(crate) fn pairs(&self, name: &str) -> Result<Vec<(String, String)>, Problem> {
        let Some(Json::Object(fields)) = self.field(name) else {
            return Err(Problem::argument(name, "not an object"));
        };
        limited(name, fields.len())?;
        let pair = |(key, value): &(String, Json)| {
            if key.len() > ENTRY_KEY_BYTES_MAX {
                return Err(Problem::argument(name, "a key is too long"));
            }
            Ok((key.clone(), canonical(name, value)?))
        };
        fields.iter().map(pair).collect()
    }

    fn items(&self, name: &str) -> Result<&[Json], Problem> {
        match self.field(name) {
            Some(Json::List(items)) => limited(name, items.len()).map(|()| items.as_slice()),
            _ => Err(Problem::argument(name, "not a list")),
        }
    }
}

fn limited(name: &str, count: usize) -> Result<(), Problem> {
    if count as u64 <= ITEMS_PER_CALL_MAX as u64 {
        return Ok(());
    }
    Err(Problem::argument(name, format!("{count} items; {ITEMS_PER_CALL_MAX} are allowed")))
}

fn canonical(name: &str, value: &Json) -> Result<String, Problem> {
    let text = value.canonical();
    if text.len() > VALUE_BYTES_MAX {
        return Err(Problem::new(Slug::TooLarge, format!("`{name}` is longer than {VALUE_BYTES_MAX} bytes")));
    }
    Ok(text)
}

/// What an argument is, or the refusal that says it is missing.
pub(crate) fn required<T>(name: &str, value: Option<T>) -> Result<T, Problem> {
    value.ok_or_else(|| Problem::argument(name, "it is missing"))
}
