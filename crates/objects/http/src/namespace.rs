//! Namespaces: `/v1/ns/team/objects/lock/build` is the object `lock/team/build`.
//!
//! A namespace is a view, as a `chroot` of ZooKeeper is: in it all objects are that have names beginning with it and a slash. They
//! are called without that there, so whoever is given the address of a namespace needs to know nothing of others. Who may do what
//! is decided by whole names: `*/team/*:*`.

use objects_state::limits::NAME_BYTES_MAX;
use objects_state::{Json, ObjectName};

use crate::message::Fault;

/// Bytes of a namespace's name.
const NAMESPACE_BYTES_MAX: usize = 63;

/// See the module. Kept is what all names begin with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Namespace(Box<str>);

impl Namespace {
    pub(crate) fn named(name: &str) -> Result<Self, Fault> {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        match (1..=NAMESPACE_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_word) {
            true => Ok(Self(format!("{name}/").into())),
            false => {
                let detail = format!(
                    "a namespace has 1 to {NAMESPACE_BYTES_MAX} letters, digits, hyphens, dots and underscores"
                );
                Err(Fault::argument("", detail))
            }
        }
    }

    /// A name in it as a whole one.
    pub(crate) fn whole(&self, name: &str) -> String {
        format!("{}{name}", self.0)
    }

    /// A whole name as it is called in it.
    pub(crate) fn inner<'a>(&self, name: &'a str) -> &'a str {
        name.strip_prefix(&*self.0).unwrap_or(name)
    }

    /// Where a page of all types goes on, `TYPE/NAME`, as a whole one.
    pub(crate) fn whole_path(&self, path: &str) -> String {
        match path.split_once('/') {
            Some((kind, name)) => format!("{kind}/{}", self.whole(name)),
            None => path.into(),
        }
    }

    /// The object by its whole name.
    pub(crate) fn widen(&self, object: &mut ObjectName) -> Result<(), Fault> {
        object.name = self.whole(&object.name);
        match object.name.len() > NAME_BYTES_MAX {
            true => {
                let most = NAME_BYTES_MAX - self.0.len();
                Err(Fault::argument("", format!("in this namespace a name has 1 to {most} bytes")))
            }
            false => Ok(()),
        }
    }

    /// A description, or a list of them, with names as they are called in it.
    pub(crate) fn shown(&self, result: &str) -> String {
        let Ok(mut json) = Json::parse(result.as_bytes()) else { return result.into() };
        self.shorten(&mut json);
        if let Some(Json::List(objects)) = field(&mut json, "objects") {
            objects.iter_mut().for_each(|object| self.shorten(object));
        }
        if let Some(Json::Text(next)) = field(&mut json, "next") {
            *next = match next.split_once('/') {
                // Of all types.
                Some((kind, name)) if name.starts_with(&*self.0) => format!("{kind}/{}", self.inner(name)),
                _ => self.inner(next).into(),
            };
        }
        json.canonical()
    }

    fn shorten(&self, described: &mut Json) {
        if let Some(Json::Text(name)) = field(described, "name") {
            *name = self.inner(name).into();
        }
    }
}

fn field<'a>(json: &'a mut Json, name: &str) -> Option<&'a mut Json> {
    match json {
        Json::Object(fields) => fields.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_inside_and_whole_outside() {
        let team = Namespace::named("team").expect("a namespace");
        assert_eq!(team.whole("build"), "team/build");
        assert_eq!((team.inner("team/build"), team.inner("other/build")), ("build", "other/build"));
        assert_eq!(team.whole_path("lock/build"), "lock/team/build");
        let list = r#"{"objects":[{"type":"lock","name":"team/a"}],"next":"lock/team/a"}"#;
        assert_eq!(team.shown(list), r#"{"next":"lock/a","objects":[{"name":"a","type":"lock"}]}"#);
        let of_a_type = r#"{"objects":[{"type":"lock","name":"team/team/a"}],"next":"team/team/a"}"#;
        assert_eq!(team.shown(of_a_type), r#"{"next":"team/a","objects":[{"name":"team/a","type":"lock"}]}"#);
        assert_eq!(team.shown("no JSON"), "no JSON");
    }

    #[test]
    fn namespace_is_one_word() {
        for wrong in ["", "a/b", "a b", "é", "*", &"a".repeat(64)] {
            assert!(Namespace::named(wrong).is_err(), "{wrong}");
        }
    }
}
