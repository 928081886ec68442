//! The description that a module carries in its custom section `diwan.type`: a JSON object. The engine reads from it what
//! bounds a run and what form results have; the state reads the rest.

use objects_state::guest::Rejected;
use serde_json::{Map, Value};

use crate::limits::{DESCRIPTION_BYTES_MAX, FUEL, FUEL_MAX, MEMORY_BYTES, MEMORY_BYTES_MAX};
use crate::rejected::rejected;

/// Name of the section.
pub const SECTION: &str = "diwan.type";

/// What a method is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodKind {
    /// It changes the object.
    Command,
    /// It reads it.
    Query,
    /// It changes it and may wait.
    Blocking,
}

/// Form of arguments and results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// JSON text. The default.
    #[default]
    Json,
    /// Bytes.
    Raw,
}

/// What a module says of itself, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The type's name, if it has one.
    pub name: Option<String>,
    /// Methods, by name.
    pub methods: Vec<(String, MethodKind)>,
    /// Form of arguments and results.
    pub codec: Codec,
    /// Bytes of memory that an object may have, a multiple of 64 KiB.
    pub memory_bytes: u64,
    /// Units of fuel that a run may take.
    pub fuel: u64,
    /// Name of the form in which the memory keeps the state: where two versions name the same, the memory goes on as it is.
    pub layout: Option<String>,
    /// The section as it stands in the module.
    pub text: String,
}

impl Default for Description {
    fn default() -> Self {
        Self {
            name: None,
            methods: Vec::new(),
            codec: Codec::Json,
            memory_bytes: MEMORY_BYTES,
            fuel: FUEL,
            layout: None,
            text: String::new(),
        }
    }
}

impl Description {
    /// Reads a description.
    ///
    /// # Errors
    /// It is none: `detail` names the member that is wrong.
    pub fn parse(bytes: &[u8]) -> Result<Self, Rejected> {
        if bytes.len() > DESCRIPTION_BYTES_MAX {
            return Err(wrong(format!("is longer than {DESCRIPTION_BYTES_MAX} bytes")));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("is no text"))?;
        let value = serde_json::from_str(text).map_err(|error| wrong(format!("is no JSON: {error}")))?;
        let Value::Object(members) = value else { return Err(wrong("is no JSON object")) };
        let limits = object(&members, "limits")?;
        Ok(Self {
            name: word(&members, "name")?,
            methods: methods(&members)?,
            codec: codec(&members)?,
            memory_bytes: number(limits, "memory_bytes", MEMORY_BYTES, MEMORY_BYTES_MAX)? & !0xffff,
            fuel: number(limits, "fuel", FUEL, FUEL_MAX)?,
            layout: word(&members, "layout")?,
            text: text.to_owned(),
        })
    }
}

fn wrong(what: impl std::fmt::Display) -> Rejected {
    rejected(format!("section `{SECTION}` {what}"))
}

fn object<'a>(
    members: &'a Map<String, Value>,
    name: &str,
) -> Result<Option<&'a Map<String, Value>>, Rejected> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::Object(inner)) => Ok(Some(inner)),
        Some(_) => Err(wrong(format!("has a `{name}` that is no object"))),
    }
}

fn word(members: &Map<String, Value>, name: &str) -> Result<Option<String>, Rejected> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(format!("has a `{name}` that is no text"))),
    }
}

fn number(limits: Option<&Map<String, Value>>, name: &str, default: u64, most: u64) -> Result<u64, Rejected> {
    let Some(value) = limits.and_then(|limits| limits.get(name)) else { return Ok(default) };
    let number = value.as_u64().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| wrong(format!("has a limit `{name}` that is not from 1 to {most}")))
}

fn codec(members: &Map<String, Value>) -> Result<Codec, Rejected> {
    match word(members, "codec")?.as_deref() {
        None | Some("json") => Ok(Codec::Json),
        Some("raw") => Ok(Codec::Raw),
        Some(_) => Err(wrong("has a `codec` that is neither `json` nor `raw`")),
    }
}

fn methods(members: &Map<String, Value>) -> Result<Vec<(String, MethodKind)>, Rejected> {
    let Some(methods) = object(members, "methods")? else { return Ok(Vec::new()) };
    methods.iter().map(|(name, method)| Ok((name.clone(), kind(name, method)?))).collect()
}

fn kind(name: &str, method: &Value) -> Result<MethodKind, Rejected> {
    match method.get("kind").and_then(Value::as_str) {
        Some("command") => Ok(MethodKind::Command),
        Some("query") => Ok(MethodKind::Query),
        Some("blocking") => Ok(MethodKind::Blocking),
        _ => {
            Err(wrong(format!("has a method `{name}` whose `kind` is not `command`, `query` or `blocking`")))
        }
    }
}
