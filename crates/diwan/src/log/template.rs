//! How a record is printed: by a template with the marks of kcat's `-f`, or as JSON.

use std::io::{self, Write};

use base64::Engine as _;
use log_client::ConsumedRecord;
use serde_json::{Map, Value, json};

/// A template that is read.
#[derive(Clone, Debug)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Mark(char),
}

impl std::str::FromStr for Template {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match (character, characters.clone().next()) {
                ('%', Some('%')) | ('\\', Some('\\')) => {
                    plain.push(character);
                    characters.next();
                }
                ('\\', Some(mark @ ('n' | 't' | 'r' | '0'))) => {
                    plain.push(match mark {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        _ => '\0',
                    });
                    characters.next();
                }
                ('%', Some(mark @ ('t' | 'p' | 'o' | 'k' | 'K' | 's' | 'S' | 'T' | 'h'))) => {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    pieces.push(Piece::Mark(mark));
                    characters.next();
                }
                ('%', other) => {
                    let mark = other.map_or_else(|| String::from("%"), |other| format!("%{other}"));
                    return Err(format!("`{mark}` is no mark; `%%` stands for a percent sign"));
                }
                _ => plain.push(character),
            }
        }
        pieces.push(Piece::Text(plain));
        Ok(Self(pieces))
    }
}

impl Template {
    /// Prints a record.
    pub(super) fn print(&self, record: &ConsumedRecord, out: &mut impl Write) -> io::Result<()> {
        let bytes = |bytes: &Option<Vec<u8>>| bytes.clone().unwrap_or_default();
        let length = |bytes: &Option<Vec<u8>>| bytes.as_ref().map_or(-1, |it| it.len() as i64);
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => out.write_all(text.as_bytes()),
                Piece::Mark('t') => write!(out, "{}", record.topic),
                Piece::Mark('p') => write!(out, "{}", record.partition),
                Piece::Mark('o') => write!(out, "{}", record.offset),
                Piece::Mark('T') => write!(out, "{}", record.timestamp_ms),
                Piece::Mark('k') => out.write_all(&bytes(&record.key)),
                Piece::Mark('K') => write!(out, "{}", length(&record.key)),
                Piece::Mark('S') => write!(out, "{}", length(&record.value)),
                Piece::Mark('h') => print_headers(record, out),
                Piece::Mark(_) => out.write_all(&bytes(&record.value)),
            }?;
        }
        Ok(())
    }
}

fn print_headers(record: &ConsumedRecord, out: &mut impl Write) -> io::Result<()> {
    for (place, (name, value)) in record.headers.iter().enumerate() {
        write!(out, "{}{name}=", if place == 0 { "" } else { "," })?;
        out.write_all(value.as_deref().unwrap_or(b"NULL"))?;
    }
    Ok(())
}

/// Prints a record as one line of JSON. Bytes that are no text stand under `key_base64` or `value_base64`.
pub(super) fn print_json(record: &ConsumedRecord, out: &mut impl Write) -> io::Result<()> {
    let mut object = Map::new();
    object.insert("topic".into(), json!(record.topic));
    object.insert("partition".into(), json!(record.partition));
    object.insert("offset".into(), json!(record.offset));
    object.insert("timestamp_ms".into(), json!(record.timestamp_ms));
    add(&mut object, "key", record.key.as_deref());
    add(&mut object, "value", record.value.as_deref());
    if !record.headers.is_empty() {
        let headers = record.headers.iter().map(|(name, value)| {
            let mut header = Map::new();
            header.insert("name".into(), json!(name));
            add(&mut header, "value", value.as_deref());
            Value::Object(header)
        });
        object.insert("headers".into(), headers.collect());
    }
    writeln!(out, "{}", Value::Object(object))
}

fn add(object: &mut Map<String, Value>, name: &str, bytes: Option<&[u8]>) {
    match bytes.map(|bytes| (bytes, std::str::from_utf8(bytes))) {
        None => object.insert(name.into(), Value::Null),
        Some((_, Ok(text))) => object.insert(name.into(), json!(text)),
        Some((bytes, Err(_))) => {
            let coded = base64::engine::general_purpose::STANDARD.encode(bytes);
            object.insert(format!("{name}_base64"), json!(coded))
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> ConsumedRecord {
        ConsumedRecord {
            topic: "t".into(),
            partition: 3,
            offset: 42,
            timestamp_ms: 7,
            key: None,
            value: Some(vec![0xff, 1]),
            headers: vec![("h".into(), Some(b"v".to_vec())), ("n".into(), None)],
        }
    }

    #[test]
    fn marks_are_those_of_kcat() {
        let printed = |template: &str| {
            let mut out = Vec::new();
            template.parse::<Template>().expect("it is one").print(&record(), &mut out).expect("memory");
            out
        };
        assert_eq!(printed(r"%t/%p@%o %T %K %S [%h] 100%%\n"), b"t/3@42 7 -1 2 [h=v,n=NULL] 100%\n");
        assert_eq!(printed("%k|%s"), b"|\xff\x01");
        assert!("%x".parse::<Template>().is_err() && "%".parse::<Template>().is_err());
    }

    #[test]
    fn json_keeps_bytes_that_are_no_text() {
        let mut out = Vec::new();
        print_json(&record(), &mut out).expect("memory");
        let line = String::from_utf8(out).expect("it is text");
        assert!(
            line.contains(r#""key":null,"value_base64":"/wE=""#) && line.contains(r#""offset":42"#),
            "{line}"
        );
        assert!(line.contains(r#"{"name":"h","value":"v"},{"name":"n","value":null}"#), "{line}");
    }
}
