//! Requests as bytes: what a script gives, in the form that a version of the API has. A field that a version lacks is left
//! out; one that is not given has its default.

use serde_json::{Map, Value};

use super::{Api, Field, Kind, Message, Path, Schemas, Unfit};
use crate::hex::from_hex;
use crate::records;

pub(crate) const ZERO_UUID: &str = "00000000000000000000000000000000";
/// A key of any struct of a request: further tagged fields, by tag, as hexadecimal text.
const FURTHER_TAGS: &str = "_tags";

/// Header and body of a request.
///
/// # Errors
/// A value does not fit its field, or there is no such field in any version.
pub fn encode_request(
    schemas: &Schemas,
    api: &Api,
    version: i16,
    (correlation_id, client_id): (i32, Option<&str>),
    body: &Value,
) -> Result<Vec<u8>, Unfit> {
    let mut out = api.key.to_be_bytes().to_vec();
    out.extend(version.to_be_bytes());
    out.extend(correlation_id.to_be_bytes());
    let flexible = api.request.flexible.has(version);
    // The one string that is not compact in a flexible version.
    Encoder { schemas, out: &mut out, version, flexible: false }.text(client_id, &Path::default())?;
    if flexible {
        out.push(0);
    }
    out.extend(encode_body(schemas, &api.request, version, body)?);
    Ok(out)
}

/// A message without a header.
///
/// # Errors
/// As [`encode_request`].
pub fn encode_body(
    schemas: &Schemas,
    message: &Message,
    version: i16,
    body: &Value,
) -> Result<Vec<u8>, Unfit> {
    let mut out = Vec::new();
    let flexible = message.flexible.has(version);
    let empty = Value::Object(Map::new());
    let body = if body.is_null() { &empty } else { body };
    Encoder { schemas, out: &mut out, version, flexible }.fields(&message.fields, body, &Path::default())?;
    Ok(out)
}

struct Encoder<'a> {
    schemas: &'a Schemas,
    out: &'a mut Vec<u8>,
    version: i16,
    flexible: bool,
}

impl Encoder<'_> {
    fn fields(&mut self, fields: &[Field], given: &Value, path: &Path) -> Result<(), Unfit> {
        let Some(given) = given.as_object() else { return Err(path.unfit("an object is wanted")) };
        let known = |name: &str| name == FURTHER_TAGS || fields.iter().any(|field| field.name == name);
        if let Some(name) = given.keys().find(|name| !known(name)) {
            return Err(path.then(name).unfit("there is no such field"));
        }
        let version = self.version;
        let mut tagged: Vec<(u32, Vec<u8>)> = Vec::new();
        for field in fields.iter().filter(|field| field.versions.has(version)) {
            let path = path.then(&field.name);
            let value = given.get(&field.name);
            match field.tagged {
                Some((tag, versions)) if versions.has(version) => {
                    if let Some(value) = value {
                        tagged.push((tag, self.aside(|inner| inner.field(field, value, &path))?));
                    }
                }
                _ => self.field(field, value.unwrap_or(&field.default), &path)?,
            }
        }
        if self.flexible {
            for (tag, bytes) in given.get(FURTHER_TAGS).and_then(Value::as_object).into_iter().flatten() {
                let tag = tag.parse().map_err(|_| path.unfit("a tag is a number"))?;
                tagged.push((tag, from_hex(bytes.as_str().unwrap_or_default()).unwrap_or_default()));
            }
            tagged.sort_by_key(|(tag, _)| *tag);
            self.unsigned(tagged.len() as u64);
            for (tag, bytes) in tagged {
                self.unsigned(u64::from(tag));
                self.unsigned(bytes.len() as u64);
                self.out.extend(bytes);
            }
        }
        Ok(())
    }

    /// What is written, not yet in its place.
    fn aside(&mut self, write: impl FnOnce(&mut Encoder<'_>) -> Result<(), Unfit>) -> Result<Vec<u8>, Unfit> {
        let mut out = Vec::new();
        let Encoder { schemas, version, flexible, .. } = *self;
        write(&mut Encoder { schemas, out: &mut out, version, flexible })?;
        Ok(out)
    }

    fn field(&mut self, field: &Field, value: &Value, path: &Path) -> Result<(), Unfit> {
        if let Kind::Struct(_) = field.kind
            && field.nullable.has(self.version)
        {
            self.out.push(if value.is_null() { 0xff } else { 1 });
            if value.is_null() {
                return Ok(());
            }
        }
        self.value(&field.kind, value, path)
    }

    fn value(&mut self, kind: &Kind, value: &Value, path: &Path) -> Result<(), Unfit> {
        match kind {
            Kind::Bool => self.out.push(u8::from(value.as_bool() == Some(true))),
            Kind::Int8 => self.out.extend(number::<i8>(value, path)?.to_be_bytes()),
            Kind::Int16 => self.out.extend(number::<i16>(value, path)?.to_be_bytes()),
            Kind::Uint16 => self.out.extend(number::<u16>(value, path)?.to_be_bytes()),
            Kind::Int32 => self.out.extend(number::<i32>(value, path)?.to_be_bytes()),
            Kind::Uint32 => self.out.extend(number::<u32>(value, path)?.to_be_bytes()),
            Kind::Int64 => self.out.extend(number::<i64>(value, path)?.to_be_bytes()),
            Kind::Float64 => {
                let number = value.as_f64().ok_or_else(|| path.unfit("a number is wanted"))?;
                self.out.extend(number.to_be_bytes());
            }
            Kind::Uuid => {
                let bytes = value.as_str().and_then(from_hex).filter(|bytes| bytes.len() == 16);
                self.out.extend(bytes.ok_or_else(|| path.unfit(format!("no id: {value}")))?);
            }
            Kind::String => match value {
                Value::Null => self.text(None, path)?,
                Value::String(text) => self.text(Some(text), path)?,
                _ => return Err(path.unfit("text is wanted")),
            },
            Kind::Bytes => {
                let bytes = bytes(self.schemas, value).map_err(|what| path.unfit(what))?;
                self.bytes(bytes.as_deref());
            }
            Kind::Records => {
                let bytes = records::build(value).map_err(|what| path.unfit(what))?;
                self.bytes(bytes.as_deref());
            }
            Kind::Array(element) => self.array(element, value, path)?,
            Kind::Struct(fields) => self.fields(fields, value, path)?,
        }
        Ok(())
    }

    fn array(&mut self, element: &Kind, value: &Value, path: &Path) -> Result<(), Unfit> {
        let elements = value.as_array();
        match (elements, self.flexible) {
            (None, _) if !value.is_null() => return Err(path.unfit("a list is wanted")),
            (None, true) => self.out.push(0),
            (None, false) => self.out.extend((-1i32).to_be_bytes()),
            (Some(elements), true) => self.unsigned(elements.len() as u64 + 1),
            (Some(elements), false) => self.out.extend((elements.len() as i32).to_be_bytes()),
        }
        elements.into_iter().flatten().try_for_each(|value| self.value(element, value, path))
    }

    fn text(&mut self, text: Option<&str>, path: &Path) -> Result<(), Unfit> {
        match (text, self.flexible) {
            (None, true) => self.out.push(0),
            (None, false) => self.out.extend((-1i16).to_be_bytes()),
            (Some(text), true) => self.unsigned(text.len() as u64 + 1),
            (Some(text), false) => {
                let length = i16::try_from(text.len()).map_err(|_| path.unfit("too long for a string"))?;
                self.out.extend(length.to_be_bytes());
            }
        }
        self.out.extend(text.unwrap_or_default().as_bytes());
        Ok(())
    }

    fn bytes(&mut self, bytes: Option<&[u8]>) {
        match (bytes, self.flexible) {
            (None, true) => self.out.push(0),
            (None, false) => self.out.extend((-1i32).to_be_bytes()),
            (Some(bytes), true) => self.unsigned(bytes.len() as u64 + 1),
            (Some(bytes), false) => self.out.extend((bytes.len() as i32).to_be_bytes()),
        }
        self.out.extend(bytes.unwrap_or_default());
    }

    fn unsigned(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.out.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.out.push(value as u8);
    }
}

fn number<T: TryFrom<i64>>(value: &Value, path: &Path) -> Result<T, Unfit> {
    let number = value.as_i64().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| path.unfit(format!("no number of this size: {value}")))
}

/// Text as it is, `{"hex": ".."}`, or a message by its name with its version before it.
fn bytes(schemas: &Schemas, value: &Value) -> Result<Option<Vec<u8>>, String> {
    let object = match value {
        Value::Null => return Ok(None),
        Value::String(text) => return Ok(Some(text.clone().into_bytes())),
        Value::Object(object) => object,
        _ => return Err(String::from("bytes are wanted")),
    };
    let Some((name, content)) = object.iter().next() else { return Err(String::from("bytes are wanted")) };
    if name == "hex" {
        return content.as_str().and_then(from_hex).map(Some).ok_or_else(|| String::from("no hexadecimal"));
    }
    let message = schemas.data(name).ok_or_else(|| format!("no message `{name}`"))?;
    let mut content = content.clone();
    let version = content.as_object_mut().and_then(|fields| fields.remove("version"));
    let version = version.and_then(|version| version.as_i64()).unwrap_or(0) as i16;
    let body = encode_body(schemas, message, version, &content).map_err(|unfit| unfit.to_string())?;
    Ok(Some([version.to_be_bytes().to_vec(), body].concat()))
}
