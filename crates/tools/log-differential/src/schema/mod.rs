//! Kafka's messages as the release under test defines them: fields, types and versions, read from the definitions that lie in
//! its own jar. Nothing here shares a line with our broker's codec, and a new version of an API needs no change.

mod decode;
mod encode;
mod parse;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

pub use decode::{Reply, decode_body, decode_reply};
pub use encode::{encode_body, encode_request};

/// The first and the last version of something; none if the last lies before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The lowest.
    pub lowest: i16,
    /// The highest.
    pub highest: i16,
}

impl Versions {
    /// Not in any version.
    pub const NONE: Self = Self { lowest: 0, highest: -1 };

    /// Whether that one is among them.
    #[must_use]
    pub const fn has(self, version: i16) -> bool {
        self.lowest <= version && version <= self.highest
    }
}

/// A type.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the definitions' own names")]
pub enum Kind {
    Bool,
    Int8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Int64,
    Float64,
    Uuid,
    String,
    Bytes,
    Records,
    Array(Box<Kind>),
    Struct(Arc<[Field]>),
}

/// A part of a message.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// The versions that have it.
    pub versions: Versions,
    /// The versions in which it may be null.
    pub nullable: Versions,
    /// Its tag, and the versions in which it is a tagged field.
    pub tagged: Option<(u32, Versions)>,
    /// What it is if nothing is given.
    pub default: Value,
}

/// A request, a response, or bytes inside one.
#[derive(Clone, Debug)]
pub struct Message {
    /// The flexible versions (KIP-482).
    pub flexible: Versions,
    /// The fields.
    pub fields: Arc<[Field]>,
}

/// An API.
#[derive(Clone, Debug)]
pub struct Api {
    /// Its number.
    pub key: i16,
    /// Its name.
    pub name: String,
    /// The versions that the definitions have.
    pub versions: Versions,
    /// What a client sends.
    pub request: Message,
    /// What it gets.
    pub response: Message,
}

/// All messages of a release.
#[derive(Clone, Debug, Default)]
pub struct Schemas {
    apis: BTreeMap<i16, Api>,
    data: BTreeMap<String, Message>,
}

impl Schemas {
    /// The API of that number.
    #[must_use]
    pub fn api(&self, key: i16) -> Option<&Api> {
        self.apis.get(&key)
    }

    /// The API of that name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Api> {
        self.apis.values().find(|api| api.name == name)
    }

    /// A message that is the content of bytes inside another: the metadata of a group's member, for example.
    #[must_use]
    pub fn data(&self, name: &str) -> Option<&Message> {
        self.data.get(name)
    }
}

/// What does not fit the definitions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}")]
pub struct Unfit {
    /// The field.
    pub path: String,
    /// What is wrong with it.
    pub what: String,
}

/// A path of field names, for errors.
#[derive(Clone, Debug, Default)]
struct Path(Option<Rc<(Path, String)>>);

impl Path {
    fn then(&self, name: &str) -> Self {
        Self(Some(Rc::new((self.clone(), name.to_owned()))))
    }

    fn unfit(&self, what: impl Into<String>) -> Unfit {
        let mut names = Vec::new();
        let mut at = self;
        while let Some(step) = &at.0 {
            names.push(step.1.as_str());
            at = &step.0;
        }
        names.reverse();
        Unfit { path: names.join("."), what: what.into() }
    }
}
