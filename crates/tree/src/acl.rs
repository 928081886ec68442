//! Who may do what: checking a stored ACL, and the table that stores each distinct ACL once.
//!
//! Which ACLs may be stored is decided in `scheme.rs`.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

use jute::{Acl, permission};
use twox_hash::XxHash3_64;

use crate::codec::{put_bytes, put_signed};
use crate::{Identities, Policy, scheme};

/// A stored ACL, shared: cloning it copies nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AclRef(Arc<[Acl]>);

impl AclRef {
    /// An ACL of these entries.
    #[must_use]
    pub fn new(entries: Vec<Acl>) -> Self {
        Self(Arc::from(entries))
    }
}

impl Deref for AclRef {
    type Target = [Acl];

    fn deref(&self) -> &[Acl] {
        &self.0
    }
}

impl fmt::Debug for AclRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Whether one of `identities` has one of the bits of `required` in this ACL.
///
/// ZooKeeper's rules: an empty ACL lets everybody pass, the superuser passes everywhere, and an entry counts only
/// while its scheme is known to the server.
#[must_use]
pub fn permits(acl: &[Acl], required: i32, identities: Identities<'_>, policy: Policy) -> bool {
    if everyone(acl) & required != 0 || acl.is_empty() || policy.contains(Policy::SKIP_ACL) {
        return true;
    }
    identities.is_super()
        || acl.iter().any(|entry| {
            entry.permissions & required != 0
                && identities.iter().any(|identity| {
                    identity.scheme == entry.scheme && scheme::matches(identity, &entry.id, policy)
                })
        })
}

/// What a client that may read an ACL but not administer it is shown: ids of digests without the digest.
#[must_use]
pub fn mask_digests(acl: &[Acl]) -> Vec<Acl> {
    acl.iter()
        .map(|entry| {
            let mut shown = entry.clone();
            if shown.scheme == "digest"
                && let Some(colon) = shown.id.find(':')
            {
                shown.id.truncate(colon);
                shown.id.push_str(":x");
            }
            shown
        })
        .collect()
}

/// The permissions that the ACL gives to everybody.
fn everyone(acl: &[Acl]) -> i32 {
    acl.iter()
        .filter(|entry| entry.scheme == "world" && entry.id == "anyone")
        .fold(0, |all, entry| all | entry.permissions)
}

/// An ACL's number in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AclId(pub(crate) u32);

impl AclId {
    /// Everybody may do everything: always in the table, at this place.
    pub(crate) const OPEN: Self = Self(0);
}

struct Entry {
    list: AclRef,
    references: u64,
    everyone: i32,
    digest: u64,
}

/// Every distinct ACL in use, once.
pub(crate) struct AclTable {
    entries: Vec<Option<Entry>>,
    vacant: Vec<u32>,
    numbers: BTreeMap<AclRef, AclId>,
}

impl AclTable {
    pub(crate) fn new() -> Self {
        let mut table = Self { entries: Vec::new(), vacant: Vec::new(), numbers: BTreeMap::new() };
        let open = table.intern(Vec::from([Acl::open()]));
        assert_eq!(open, AclId::OPEN, "the first ACL of a table is the open one");
        table
    }

    /// Finds or stores an ACL and counts one more reference to it.
    pub(crate) fn intern(&mut self, entries: Vec<Acl>) -> AclId {
        let list = AclRef::new(entries);
        if let Some(&known) = self.numbers.get(&list) {
            self.retain(known);
            return known;
        }
        let entry = Entry {
            everyone: if list.is_empty() { permission::ALL } else { everyone(&list) },
            digest: digest(&list),
            list: list.clone(),
            references: 1,
        };
        let number = self.place(entry);
        self.numbers.insert(list, number);
        number
    }

    fn place(&mut self, entry: Entry) -> AclId {
        if let Some(number) = self.vacant.pop() {
            self.entries[number as usize] = Some(entry);
            return AclId(number);
        }
        let number = u32::try_from(self.entries.len()).expect("fewer ACLs than nodes");
        self.entries.push(Some(entry));
        AclId(number)
    }

    fn entry(&self, id: AclId) -> &Entry {
        self.entries[id.0 as usize].as_ref().expect("an ACL that a node refers to is in the table")
    }

    /// Counts one more reference.
    pub(crate) fn retain(&mut self, id: AclId) {
        if id != AclId::OPEN
            && let Some(entry) = &mut self.entries[id.0 as usize]
        {
            entry.references += 1;
        }
    }

    /// Counts one reference less, and forgets the ACL with the last one.
    pub(crate) fn release(&mut self, id: AclId) {
        if id == AclId::OPEN {
            return;
        }
        let place = &mut self.entries[id.0 as usize];
        let entry = place.as_mut().expect("an ACL is not released more often than retained");
        entry.references -= 1;
        if entry.references == 0 {
            self.numbers.remove(&entry.list);
            *place = None;
            self.vacant.push(id.0);
        }
    }

    pub(crate) fn list(&self, id: AclId) -> &AclRef {
        &self.entry(id).list
    }

    pub(crate) fn digest(&self, id: AclId) -> u64 {
        self.entry(id).digest
    }

    /// As [`permits`], without a look at the entries where everybody may.
    pub(crate) fn permits(
        &self,
        id: AclId,
        required: i32,
        identities: Identities<'_>,
        policy: Policy,
    ) -> bool {
        let entry = self.entry(id);
        entry.everyone & required != 0 || permits(&entry.list, required, identities, policy)
    }

    /// How many distinct ACLs there are.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }
}

fn digest(list: &[Acl]) -> u64 {
    let mut bytes = Vec::new();
    for entry in list {
        put_signed(&mut bytes, i64::from(entry.permissions));
        put_bytes(&mut bytes, entry.scheme.as_bytes());
        put_bytes(&mut bytes, entry.id.as_bytes());
    }
    XxHash3_64::oneshot(&bytes)
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;

    fn shown(entry: &Acl) -> String {
        alloc::format!("{}:{}:{}", entry.scheme, entry.id, entry.permissions)
    }

    fn acl(scheme: &str, id: &str, permissions: i32) -> Acl {
        Acl { permissions, scheme: String::from(scheme), id: String::from(id) }
    }

    #[test]
    fn an_acl_is_stored_once_and_forgotten_with_its_last_reference() {
        let mut table = AclTable::new();
        let one = table.intern(alloc::vec![acl("digest", "a:b", 1)]);
        assert_eq!(table.intern(alloc::vec![acl("digest", "a:b", 1)]), one);
        assert_eq!(table.len(), 2);
        table.release(one);
        assert_eq!(table.len(), 2);
        table.release(one);
        assert_eq!(table.len(), 1);
        assert_eq!(table.intern(alloc::vec![acl("digest", "c:d", 1)]), one, "the place is used again");
    }

    #[test]
    fn a_masked_digest_keeps_its_user() {
        let masked = mask_digests(&[acl("digest", "bob:secret", 31), acl("ip", "::1", 1)]);
        assert_eq!(masked.iter().map(shown).collect::<Vec<_>>(), ["digest:bob:x:31", "ip:::1:1"]);
    }
}
