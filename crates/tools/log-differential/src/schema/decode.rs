//! Replies as trees of named values. Every byte must belong to a field: what is left over is an error.

use serde_json::{Map, Value};

use super::{Api, Field, Kind, Message, Path, Unfit};
use crate::hex::to_hex;
use crate::records;

/// A key of a struct in a reply: tagged fields that the definitions do not know.
const UNKNOWN_TAGS: &str = "_tags";

/// A reply.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The request that it answers.
    pub correlation_id: i32,
    /// What it says.
    pub body: Value,
}

/// A reply with its header.
///
/// # Errors
/// It ends too early or too late, or a length is nonsense.
pub fn decode_reply(api: &Api, version: i16, frame: &[u8]) -> Result<Reply, Unfit> {
    let flexible = api.response.flexible.has(version);
    // ApiVersions, of which a client may ask for a version that the broker does not know.
    let header_has_tags = flexible && api.key != 18;
    let path = Path::default();
    let mut decoder = Decoder { rest: frame, version, flexible };
    let correlation_id = i32::from_be_bytes(decoder.take(&path)?);
    if header_has_tags {
        let mut header = Map::new();
        decoder.tags(&[], &mut header, &path)?;
        if !header.is_empty() {
            return Err(path.unfit("tagged fields in the header"));
        }
    }
    let body = decode_body(&api.response, version, decoder.rest)?;
    Ok(Reply { correlation_id, body })
}

/// A message without a header.
///
/// # Errors
/// As [`decode_reply`].
pub fn decode_body(message: &Message, version: i16, bytes: &[u8]) -> Result<Value, Unfit> {
    let path = Path::default();
    let mut decoder = Decoder { rest: bytes, version, flexible: message.flexible.has(version) };
    let body = decoder.fields(&message.fields, &path)?;
    match decoder.rest.len() {
        0 => Ok(body),
        more => Err(path.unfit(format!("{more} bytes behind its end"))),
    }
}

struct Decoder<'a> {
    rest: &'a [u8],
    version: i16,
    flexible: bool,
}

impl Decoder<'_> {
    fn fields(&mut self, fields: &[Field], path: &Path) -> Result<Value, Unfit> {
        let version = self.version;
        let mut all = Map::new();
        for field in fields.iter().filter(|field| field.versions.has(version)) {
            if field.tagged.is_some_and(|(_, versions)| versions.has(version)) {
                continue;
            }
            all.insert(field.name.clone(), self.field(field, &path.then(&field.name))?);
        }
        if self.flexible {
            self.tags(fields, &mut all, path)?;
        }
        Ok(Value::Object(all))
    }

    fn tags(&mut self, fields: &[Field], all: &mut Map<String, Value>, path: &Path) -> Result<(), Unfit> {
        let version = self.version;
        for _ in 0..self.unsigned(path)? {
            let (tag, length) = (self.unsigned(path)?, self.unsigned(path)?);
            let bytes = self.slice(length as usize, path)?;
            let is_it = |field: &&Field| {
                let its = field.tagged.filter(|(_, versions)| versions.has(version));
                field.versions.has(version) && its.is_some_and(|(its, _)| u64::from(its) == tag)
            };
            let Some(field) = fields.iter().find(is_it) else {
                let unknown = all.entry(UNKNOWN_TAGS).or_insert_with(|| Value::Object(Map::new()));
                unknown[tag.to_string()] = Value::from(to_hex(bytes));
                continue;
            };
            let path = path.then(&field.name);
            let mut inner = Decoder { rest: bytes, version: self.version, flexible: true };
            let value = inner.field(field, &path)?;
            if !inner.rest.is_empty() {
                return Err(path.unfit("longer than its content"));
            }
            all.insert(field.name.clone(), value);
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, path: &Path) -> Result<Value, Unfit> {
        if let Kind::Struct(_) = field.kind
            && field.nullable.has(self.version)
            && self.take::<1>(path)? == [0xff]
        {
            return Ok(Value::Null);
        }
        let value = self.value(&field.kind, path)?;
        if value.is_null() && !field.nullable.has(self.version) {
            return Err(path.unfit("null, which it may not be"));
        }
        Ok(value)
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each type")]
    fn value(&mut self, kind: &Kind, path: &Path) -> Result<Value, Unfit> {
        Ok(match kind {
            Kind::Bool => match self.take::<1>(path)? {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                [other] => return Err(path.unfit(format!("a bool of value {other}"))),
            },
            Kind::Int8 => i8::from_be_bytes(self.take(path)?).into(),
            Kind::Int16 => i16::from_be_bytes(self.take(path)?).into(),
            Kind::Uint16 => u16::from_be_bytes(self.take(path)?).into(),
            Kind::Int32 => i32::from_be_bytes(self.take(path)?).into(),
            Kind::Uint32 => u32::from_be_bytes(self.take(path)?).into(),
            Kind::Int64 => i64::from_be_bytes(self.take(path)?).into(),
            Kind::Float64 => f64::from_be_bytes(self.take(path)?).into(),
            Kind::Uuid => to_hex(&self.take::<16>(path)?).into(),
            Kind::String => match self.text_length(path)? {
                None => Value::Null,
                Some(length) => {
                    let text = std::str::from_utf8(self.slice(length, path)?);
                    text.map_err(|_| path.unfit("no UTF-8"))?.into()
                }
            },
            Kind::Bytes => match self.length(path)? {
                None => Value::Null,
                Some(length) => to_hex(self.slice(length, path)?).into(),
            },
            Kind::Records => match self.length(path)? {
                None => Value::Null,
                Some(length) => records::read(self.slice(length, path)?),
            },
            Kind::Struct(fields) => self.fields(fields, path)?,
            Kind::Array(element) => match self.length(path)? {
                None => Value::Null,
                Some(count) => {
                    let mut elements = Vec::new();
                    for index in 0..count {
                        elements.push(self.value(element, &path.then(&index.to_string()))?);
                    }
                    Value::Array(elements)
                }
            },
        })
    }

    fn text_length(&mut self, path: &Path) -> Result<Option<usize>, Unfit> {
        if self.flexible {
            return self.length(path);
        }
        let length = i16::from_be_bytes(self.take(path)?);
        self.not_negative(i32::from(length), path)
    }

    fn length(&mut self, path: &Path) -> Result<Option<usize>, Unfit> {
        if self.flexible {
            return Ok((self.unsigned(path)? as usize).checked_sub(1));
        }
        let length = i32::from_be_bytes(self.take(path)?);
        self.not_negative(length, path)
    }

    fn not_negative(&self, length: i32, path: &Path) -> Result<Option<usize>, Unfit> {
        match usize::try_from(length) {
            Ok(length) => Ok(Some(length)),
            Err(_) if length == -1 => Ok(None),
            Err(_) => Err(path.unfit(format!("a length of {length}"))),
        }
    }

    fn unsigned(&mut self, path: &Path) -> Result<u64, Unfit> {
        let mut value = 0;
        for shift in (0..35).step_by(7) {
            let [byte] = self.take(path)?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(path.unfit("a varint without an end"))
    }

    fn take<const N: usize>(&mut self, path: &Path) -> Result<[u8; N], Unfit> {
        let (head, rest) = self.rest.split_first_chunk().ok_or_else(|| path.unfit("the reply ends here"))?;
        self.rest = rest;
        Ok(*head)
    }
}

impl<'a> Decoder<'a> {
    fn slice(&mut self, length: usize, path: &Path) -> Result<&'a [u8], Unfit> {
        let (head, rest) =
            self.rest.split_at_checked(length).ok_or_else(|| path.unfit("the reply ends here"))?;
        self.rest = rest;
        Ok(head)
    }
}
