//! From text, as it is written in a file or a request, to a value.
//!
//! Space around a value is dropped, for every type; so it is by Kafka.

use crate::definition::{Definition, Effect, ValueType};
use crate::java_double;
use crate::limits::Limits;
use crate::value::Value;

/// Why a text is no value of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadValue {
    /// What is wrong, with the value as its subject: `is no whole number`.
    pub what: String,
    /// Whether Kafka would have taken it: it asks for something that Diwan does not have.
    pub is_not_given: bool,
}

/// The space that Java drops: everything up to the blank.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|character| character <= ' ')
}

impl Value {
    /// Reads a text as a value of this configuration.
    ///
    /// # Errors
    /// It is none of its type, it is outside of its limits, or Diwan does not have what it asks for.
    pub fn read(definition: &Definition, text: &str) -> Result<Self, BadValue> {
        let value = Self::of_type(definition, trim(text))?;
        definition.limits.check(&value).map_err(BadValue::of)?;
        if let Effect::Refused { why, taken } | Effect::ActsFor { why, taken, .. } = definition.effect {
            let shown = value.to_string();
            if definition.default != Some(&shown) && !taken.contains(&shown.as_str()) {
                return Err(BadValue { what: format!("is not taken: {why}"), is_not_given: true });
            }
        }
        Ok(value)
    }

    /// Reads a text of which nothing but the type is checked.
    fn of_type(definition: &Definition, text: &str) -> Result<Self, BadValue> {
        match definition.value_type {
            ValueType::Boolean if text.eq_ignore_ascii_case("true") => Ok(Self::Boolean(true)),
            ValueType::Boolean if text.eq_ignore_ascii_case("false") => Ok(Self::Boolean(false)),
            ValueType::Boolean => Err(BadValue::of("is neither `true` nor `false`")),
            ValueType::Int => whole(text, i64::from(i32::MIN), i64::from(i32::MAX), 32),
            ValueType::Short => whole(text, i64::from(i16::MIN), i64::from(i16::MAX), 16),
            ValueType::Long => whole(text, i64::MIN, i64::MAX, 64),
            ValueType::Double => match java_double::read(text) {
                Some(number) if !number.is_nan() => Ok(Self::Double(number)),
                _ => Err(BadValue::of("is no number")),
            },
            ValueType::List => {
                Ok(Self::List(elements(text, matches!(definition.limits, Limits::List { .. }))))
            }
            ValueType::Class if text.is_empty() => Err(BadValue::of("names no class")),
            ValueType::String | ValueType::Class | ValueType::Password | ValueType::Unknown => {
                Ok(Self::Text(text.into()))
            }
        }
    }
}

impl BadValue {
    fn of(what: impl Into<String>) -> Self {
        Self { what: what.into(), is_not_given: false }
    }
}

fn whole(text: &str, least: i64, most: i64, bits: u8) -> Result<Value, BadValue> {
    match text.parse::<i64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(Value::Whole(number)),
        _ => Err(BadValue::of(format!("is no whole number of {bits} bits"))),
    }
}

/// The elements of a list, with commas and space between. Most lists have each element once.
fn elements(text: &str, once: bool) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let is_space = |character| matches!(character, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r');
    let mut elements: Vec<String> = Vec::new();
    for element in text.split(',').map(|element| element.trim_matches(is_space)) {
        if !once || !elements.iter().any(|known| known == element) {
            elements.push(element.into());
        }
    }
    elements
}
