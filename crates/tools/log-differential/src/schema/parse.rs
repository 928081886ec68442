//! Reads the definitions: JSON with comments, one file a message.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::{Api, Field, Kind, Message, Schemas, Versions};

/// A request or a response: its name, its versions, its fields.
type Half = (String, Versions, Message);

impl Schemas {
    /// Reads all definitions in a folder.
    ///
    /// # Errors
    /// The folder or a file cannot be read, or is not what it should be.
    pub fn load(folder: &Path) -> io::Result<Self> {
        let mut texts = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                texts.push(fs::read_to_string(&path)?);
            }
        }
        Self::read(&texts).map_err(io::Error::other)
    }

    /// Reads definitions, a message each.
    ///
    /// # Errors
    /// One of them is not what it should be.
    pub fn read(texts: &[String]) -> Result<Self, String> {
        let mut halves: BTreeMap<i16, [Option<Half>; 2]> = BTreeMap::new();
        let mut data = BTreeMap::new();
        for text in texts {
            let json: Value =
                serde_json::from_str(&without_comments(text)).map_err(|error| error.to_string())?;
            let name = text_of(&json, "name").to_owned();
            let in_it = |what: String| format!("{name}: {what}");
            let valid = versions(text_of(&json, "validVersions")).map_err(in_it)?;
            let message = message(&json).map_err(in_it)?;
            let key = json["apiKey"].as_i64().and_then(|key| i16::try_from(key).ok());
            match (text_of(&json, "type"), key) {
                ("request", Some(key)) => halves.entry(key).or_default()[0] = Some((name, valid, message)),
                ("response", Some(key)) => halves.entry(key).or_default()[1] = Some((name, valid, message)),
                _ => drop(data.insert(name, message)),
            }
        }
        let apis = halves.into_iter().filter_map(|(key, halves)| match halves {
            [Some((name, versions, request)), Some((_, _, response))] => {
                let name = name.trim_end_matches("Request").to_owned();
                Some((key, Api { key, name, versions, request, response }))
            }
            _ => None,
        });
        Ok(Self { apis: apis.collect(), data })
    }
}

/// The text without what follows `//` on a line outside of strings.
fn without_comments(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    for line in text.lines() {
        let (mut quoted, mut end) = (false, line.len());
        for (at, character) in line.char_indices() {
            match character {
                '"' => quoted = !quoted,
                '/' if !quoted && line[at..].starts_with("//") => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        clean.push_str(&line[..end]);
        clean.push('\n');
    }
    clean
}

fn message(json: &Value) -> Result<Message, String> {
    let shared = elements(&json["commonStructs"]);
    let flexible = versions(text_of(json, "flexibleVersions"))?;
    Ok(Message { flexible, fields: fields(&json["fields"], shared)? })
}

fn fields(json: &Value, shared: &[Value]) -> Result<Arc<[Field]>, String> {
    elements(json).iter().map(|field| self::field(field, shared)).collect()
}

fn field(json: &Value, shared: &[Value]) -> Result<Field, String> {
    let name = text_of(json, "name").to_owned();
    let versions_of = |key: &str| versions(text_of(json, key));
    let kind = kind(text_of(json, "type"), json, shared)?;
    let tagged = match json["tag"].as_u64().and_then(|tag| u32::try_from(tag).ok()) {
        Some(tag) => Some((tag, versions_of("taggedVersions")?)),
        None => None,
    };
    let default = default(&kind, &json["default"]).ok_or_else(|| format!("the default of {name}"))?;
    Ok(Field {
        name,
        kind,
        versions: versions_of("versions")?,
        nullable: versions_of("nullableVersions")?,
        tagged,
        default,
    })
}

fn kind(name: &str, json: &Value, shared: &[Value]) -> Result<Kind, String> {
    Ok(match name {
        "bool" => Kind::Bool,
        "int8" => Kind::Int8,
        "int16" => Kind::Int16,
        "uint16" => Kind::Uint16,
        "int32" => Kind::Int32,
        "uint32" => Kind::Uint32,
        "int64" => Kind::Int64,
        "float64" => Kind::Float64,
        "uuid" => Kind::Uuid,
        "string" => Kind::String,
        "bytes" => Kind::Bytes,
        "records" => Kind::Records,
        _ => match name.strip_prefix("[]") {
            Some(element) => Kind::Array(Box::new(kind(element, json, shared)?)),
            None => {
                let own = (!elements(&json["fields"]).is_empty()).then_some(json);
                let common = || shared.iter().find(|one| text_of(one, "name") == name);
                let Some(of) = own.or_else(common) else { return Err(format!("no type `{name}`")) };
                Kind::Struct(fields(&of["fields"], shared)?)
            }
        },
    })
}

/// What a field is by default; definitions write numbers as text, some in hexadecimal.
fn default(kind: &Kind, json: &Value) -> Option<Value> {
    let text = match json {
        Value::String(text) => text.as_str(),
        Value::Null => "",
        other => return Some(other.clone()),
    };
    Some(match (kind, text.trim()) {
        (_, "null") => Value::Null,
        (Kind::Bool, text) => Value::Bool(text == "true"),
        (Kind::String, text) => Value::from(text),
        (Kind::Bytes | Kind::Records, _) => Value::from(""),
        (Kind::Uuid, _) => Value::from(super::encode::ZERO_UUID),
        (Kind::Array(_), _) => Value::Array(Vec::new()),
        (Kind::Struct(_), _) => Value::Object(serde_json::Map::new()),
        (Kind::Float64, _) => Value::from(0.0),
        (_, "") => Value::from(0),
        (_, number) => match number.strip_prefix("0x") {
            Some(digits) => Value::from(i64::from_str_radix(digits, 16).ok()?),
            None => Value::from(number.parse::<i64>().ok()?),
        },
    })
}

/// `3+`, `1-4`, `7`, `none` or nothing.
fn versions(text: &str) -> Result<Versions, String> {
    let number = |text: &str| text.trim().parse::<i16>().map_err(|_| format!("versions `{text}`"));
    Ok(match text.trim() {
        "" | "none" => Versions::NONE,
        text => match (text.strip_suffix('+'), text.split_once('-')) {
            (Some(first), _) => Versions { lowest: number(first)?, highest: i16::MAX },
            (None, Some((first, last))) => Versions { lowest: number(first)?, highest: number(last)? },
            (None, None) => Versions { lowest: number(text)?, highest: number(text)? },
        },
    })
}

fn text_of<'j>(json: &'j Value, key: &str) -> &'j str {
    json[key].as_str().unwrap_or_default()
}

fn elements(json: &Value) -> &[Value] {
    json.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_end_lines_but_not_strings() {
        assert_eq!(without_comments("{ // a\n\"b\": \"c//d\" // e\n"), "{ \n\"b\": \"c//d\" \n");
    }

    #[test]
    fn versions_are_open_closed_single_or_none() {
        assert_eq!(versions("3+"), Ok(Versions { lowest: 3, highest: i16::MAX }));
        assert_eq!(versions("0-4"), Ok(Versions { lowest: 0, highest: 4 }));
        assert_eq!(versions("7"), Ok(Versions { lowest: 7, highest: 7 }));
        assert_eq!(versions("none"), Ok(Versions::NONE));
        assert!(versions("x").is_err());
    }

    #[test]
    fn default_of_a_number_may_be_hexadecimal_or_negative() {
        assert_eq!(default(&Kind::Int32, &Value::from("0x7f")), Some(Value::from(127)));
        assert_eq!(default(&Kind::Int64, &Value::from("-1")), Some(Value::from(-1)));
        assert_eq!(default(&Kind::String, &Value::from("null")), Some(Value::Null));
        assert_eq!(default(&Kind::Int8, &Value::Null), Some(Value::from(0)));
    }
}
