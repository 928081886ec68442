//! The arguments of a call: a JSON object.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::refused::Refused;

/// Arguments that the cluster reads, whatever the method.
const OF_EVERY_CALL: [&str; 2] = ["ttl_ms", "wait_ms"];

/// Arguments by their names.
#[derive(Debug)]
pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// Nothing stands for no arguments.
    ///
    /// # Errors
    /// It is no JSON object.
    pub fn parse(json: &[u8]) -> Result<Self, Refused> {
        // Most calls have none.
        if json.is_empty() || json == b"{}" {
            return Ok(Self(Map::new()));
        }
        let parsed = serde_json::from_slice(json);
        parsed.map(Self).map_err(|error| Refused::new("bad-argument", format!("no JSON object: {error}")))
    }

    /// All of them.
    #[must_use]
    pub fn into_members(self) -> Map<String, Value> {
        self.0
    }

    /// Takes one out. An `Option` may be left out.
    ///
    /// # Errors
    /// It is missing, or of another type.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<T, Refused> {
        let given = self.0.remove(name);
        let is_missing = given.is_none();
        serde_json::from_value(given.unwrap_or(Value::Null)).map_err(|error| {
            if is_missing { Refused::argument(name, &"is missing") } else { Refused::argument(name, &error) }
        })
    }

    /// A misspelt argument must not be taken for one that was left out.
    ///
    /// # Errors
    /// One is left that nobody took.
    pub fn finish(self) -> Result<(), Refused> {
        match self.0.keys().find(|name| !OF_EVERY_CALL.contains(&name.as_str())) {
            Some(unknown) => Err(Refused::argument(unknown, &"the method has no such argument")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Arguments;

    fn detail<T: std::fmt::Debug>(result: Result<T, crate::Refused>) -> String {
        let refused = result.unwrap_err();
        assert_eq!(refused.code, "bad-argument");
        refused.detail
    }

    #[test]
    fn arguments_are_taken_by_name_and_type() {
        let mut arguments = Arguments::parse(br#"{"by":9007199254740993,"name":"a","wait_ms":5}"#).unwrap();
        assert_eq!(arguments.take("by"), Ok(9_007_199_254_740_993_i64));
        assert_eq!(arguments.take("name"), Ok(String::from("a")));
        assert_eq!(arguments.take("limit"), Ok(None::<u32>));
        assert_eq!(arguments.finish(), Ok(()));
        assert_eq!(Arguments::parse(b"").unwrap().finish(), Ok(()));
    }

    #[test]
    fn wrong_arguments_are_refused_by_name() {
        let mut arguments = Arguments::parse(br#"{"by":"x","bye":1}"#).unwrap();
        assert!(detail(arguments.take::<i64>("by")).starts_with("`by`: invalid type"));
        assert_eq!(detail(arguments.take::<i64>("to")), "`to`: is missing");
        assert_eq!(detail(arguments.finish()), "`bye`: the method has no such argument");
        assert!(detail(Arguments::parse(b"[]")).starts_with("no JSON object"));
    }
}
