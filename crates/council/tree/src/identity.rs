//! A client's identities: those that its connection had when it sent a request.

use alloc::vec::Vec;
use core::fmt;

use council_wire::Malformed;

use crate::codec::{Cursor, put_bytes};
use crate::java;

/// One identity: the address of a connection (`ip`), a digest, a certificate's subject, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity<'a> {
    /// How it was established.
    pub scheme: &'a str,
    /// The id, in the scheme's own form.
    pub id: &'a str,
}

impl Identity<'_> {
    /// Holds the place of one; no identity is like it.
    pub(crate) const NONE: Self = Self { scheme: "", id: "" };

    /// Whether every entry of the scheme `sasl` means it.
    pub(crate) fn is_sasl_super(&self) -> bool {
        self.scheme == "sasl" && self.id == "super"
    }
}

/// The scheme whose bearer passes every check.
const SUPER: &str = "super";

/// The identities of one connection, borrowed in their encoded form: no copy is made to carry or to check them.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Identities<'a> {
    raw: &'a [u8],
}

impl<'a> Identities<'a> {
    /// No identity at all.
    pub const NONE: Self = Self { raw: &[] };

    pub(crate) const fn raw(self) -> &'a [u8] {
        self.raw
    }

    pub(crate) fn check(raw: &'a [u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(raw);
        while !cursor.rest().is_empty() {
            cursor.text()?;
            cursor.text()?;
        }
        Ok(Self { raw })
    }

    /// The identities, in the order of their list.
    pub fn iter(self) -> impl Iterator<Item = Identity<'a>> {
        let mut cursor = Cursor::new(self.raw);
        core::iter::from_fn(move || {
            let scheme = cursor.text().ok()?;
            let id = cursor.text().ok()?;
            Some(Identity { scheme, id })
        })
    }

    /// Whether one of them is the superuser, who passes every check.
    #[must_use]
    pub fn is_super(self) -> bool {
        self.iter().any(|identity| identity.scheme == SUPER)
    }
}

impl fmt::Debug for Identities<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// The identities that a connection keeps, in the order of ZooKeeper's own set of them: `auth` expands and `whoAmI`
/// answers in that order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentityList {
    raw: Vec<u8>,
}

impl IdentityList {
    /// A list without any.
    #[must_use]
    pub const fn new() -> Self {
        Self { raw: Vec::new() }
    }

    /// Adds an identity, at the place where ZooKeeper would list it; one that is there already is not added again.
    /// Says whether it was new.
    pub fn add(&mut self, scheme: &str, id: &str) -> bool {
        if self.iter().any(|known| known.scheme == scheme && known.id == id) {
            return false;
        }
        let bucket = java::identity_bucket(scheme, id);
        let mut raw = Vec::with_capacity(self.raw.len() + scheme.len() + id.len() + 4);
        let mut put = |identity: Identity<'_>| {
            put_bytes(&mut raw, identity.scheme.as_bytes());
            put_bytes(&mut raw, identity.id.as_bytes());
        };
        let before = |known: &Identity<'_>| java::identity_bucket(known.scheme, known.id) <= bucket;
        self.iter().filter(before).for_each(&mut put);
        put(Identity { scheme, id });
        self.iter().filter(|known| !before(known)).for_each(&mut put);
        self.raw = raw;
        true
    }

    /// The list, borrowed.
    #[must_use]
    pub fn identities(&self) -> Identities<'_> {
        Identities { raw: &self.raw }
    }

    /// The identities, in the order in which ZooKeeper would list them.
    pub fn iter(&self) -> impl Iterator<Item = Identity<'_>> {
        self.identities().iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_add_up_and_none_is_there_twice() {
        let mut list = IdentityList::new();
        assert!(list.add("ip", "127.0.0.1"));
        assert!(list.add("digest", "a:b"));
        assert!(!list.add("ip", "127.0.0.1"));
        assert_eq!(list.iter().count(), 2);
        assert!(!list.identities().is_super());
        list.add("super", "");
        assert!(list.identities().is_super());
        assert_eq!(Identities::check(&list.raw).map(|all| all.iter().count()), Ok(3));
    }

    /// Taken from a `ConcurrentHashMap` of Java 17.
    #[test]
    fn identities_come_as_in_zookeepers_set() {
        let mut list = IdentityList::new();
        for (scheme, id) in [("ip", "127.0.0.1"), ("digest", "bob:x"), ("digest", "joe:y"), ("super", "")] {
            list.add(scheme, id);
        }
        assert_eq!(list.iter().map(|one| one.id).collect::<Vec<_>>(), ["joe:y", "", "127.0.0.1", "bob:x"]);
        let mut list = IdentityList::new();
        let bob = "bob:E/oRTRHjRQMHrOjMbQvVKyB9mCE=";
        list.add("ip", "127.0.0.1");
        for id in [bob, "joe:8QZdFTBEfVqqtWo8pQ0vxwM1Bmo=", "a:1", "b:2", "c:3"] {
            list.add("digest", id);
        }
        let expected = ["a:1", "b:2", "127.0.0.1", bob, "joe:8QZdFTBEfVqqtWo8pQ0vxwM1Bmo=", "c:3"];
        assert_eq!(list.iter().map(|one| one.id).collect::<Vec<_>>(), expected);
    }
}
