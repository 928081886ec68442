//! The table that stores each distinct ACL once.
//!
//! `scheme.rs` decides which ACLs may be stored, and `permit.rs` which clients pass them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::ops::Deref;

use council_wire::{Acl, permission};
use twox_hash::XxHash3_64;

use crate::codec::{put_bytes, put_signed};

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

/// The permissions that the ACL gives to every client.
pub(crate) fn everyone(acl: &[Acl]) -> i32 {
    acl.iter()
        .filter(|entry| entry.scheme == "world" && entry.id == "anyone")
        .fold(0, |all, entry| all | entry.permissions)
}

/// What each entry of an ephemeral node's ACL counts in bytes of its session: the entry may have to be freed when the
/// session ends.
pub(crate) const EPHEMERAL_ENTRY_BYTES: usize = 64;

/// An ACL's number in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AclId(pub(crate) u32);

impl AclId {
    /// Every client may do everything: always in the table, at this place.
    pub(crate) const OPEN: Self = Self(0);
}

struct Entry {
    list: AclRef,
    references: u64,
    everyone: i32,
    digest: u64,
}

/// How an ACL is found: by its digest first, so that lists that begin alike are not read to where they differ.
struct Key {
    digest: u64,
    list: AclRef,
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        // Clients may know lists of one digest, so the list decides in the end. Often it is the very same one.
        self.digest.cmp(&other.digest).then_with(|| match Arc::ptr_eq(&self.list.0, &other.list.0) {
            true => Ordering::Equal,
            false => self.list.cmp(&other.list),
        })
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

/// Every distinct ACL in use, once.
pub(crate) struct AclTable {
    entries: Vec<Option<Entry>>,
    vacant: Vec<u32>,
    numbers: BTreeMap<Key, AclId>,
    /// Entries of all ACLs together.
    entry_count: usize,
    /// What digests are made from, kept so that none allocates.
    digested: Vec<u8>,
}

impl AclTable {
    pub(crate) fn new() -> Self {
        let mut table = Self {
            entries: Vec::new(),
            vacant: Vec::new(),
            numbers: BTreeMap::new(),
            entry_count: 0,
            digested: Vec::new(),
        };
        let open = table.intern(Vec::from([Acl::open()]));
        assert_eq!(open, AclId::OPEN, "the first ACL of a table is the open one");
        table
    }

    /// Finds or stores an ACL and counts one more reference to it.
    pub(crate) fn intern(&mut self, entries: Vec<Acl>) -> AclId {
        let list = AclRef::new(entries);
        let digest = digest(&list, &mut self.digested);
        let key = Key { digest, list: list.clone() };
        if let Some(&known) = self.numbers.get(&key) {
            self.retain(known);
            return known;
        }
        let entry = Entry {
            everyone: if list.is_empty() { permission::ALL } else { everyone(&list) },
            digest,
            list,
            references: 1,
        };
        self.entry_count += key.list.len();
        let number = self.place(entry);
        self.numbers.insert(key, number);
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

    /// Counts one reference less, and forgets the ACL with the last one. Says how many entries that frees.
    pub(crate) fn release(&mut self, id: AclId) -> usize {
        if id == AclId::OPEN {
            return 0;
        }
        let place = &mut self.entries[id.0 as usize];
        let entry = place.as_mut().expect("an ACL is not released more often than retained");
        entry.references -= 1;
        if entry.references > 0 {
            return 0;
        }
        let key = Key { digest: entry.digest, list: entry.list.clone() };
        *place = None;
        self.numbers.remove(&key);
        self.vacant.push(id.0);
        self.entry_count -= key.list.len();
        key.list.len()
    }

    pub(crate) fn list(&self, id: AclId) -> &AclRef {
        &self.entry(id).list
    }

    pub(crate) fn digest(&self, id: AclId) -> u64 {
        self.entry(id).digest
    }

    /// The permissions that every client has there.
    pub(crate) fn everyone(&self, id: AclId) -> i32 {
        self.entry(id).everyone
    }

    /// What the ACL adds to the bytes of an ephemeral node that its owner leaves when it ends.
    pub(crate) fn ephemeral_bytes(&self, id: AclId) -> usize {
        if id == AclId::OPEN { 0 } else { self.list(id).len() * EPHEMERAL_ENTRY_BYTES }
    }

    /// How many entries all distinct ACLs have together.
    pub(crate) const fn entries(&self) -> usize {
        self.entry_count
    }

    /// How many distinct ACLs there are.
    pub(crate) fn len(&self) -> usize {
        self.numbers.len()
    }
}

/// More room than this is given back once a digest is made.
const DIGESTED_BYTES_KEPT: usize = 4096;

fn digest(list: &[Acl], bytes: &mut Vec<u8>) -> u64 {
    bytes.clear();
    for entry in list {
        put_signed(bytes, i64::from(entry.permissions));
        put_bytes(bytes, entry.scheme.as_bytes());
        put_bytes(bytes, entry.id.as_bytes());
    }
    let digest = XxHash3_64::oneshot(bytes);
    bytes.clear();
    bytes.shrink_to(DIGESTED_BYTES_KEPT);
    digest
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
    fn acls_of_one_digest_stay_apart() {
        let key = |digest, id: &str| Key { digest, list: AclRef::new(alloc::vec![acl("digest", id, 1)]) };
        assert!(key(7, "a:b") == key(7, "a:b") && key(7, "a:b") != key(7, "c:d"));
        assert!(key(6, "z:z") < key(7, "a:a"), "the digest comes first");
    }

    #[test]
    fn release_says_how_many_entries_it_frees() {
        let mut table = AclTable::new();
        let list = alloc::vec![acl("digest", "a:b", 1), acl("digest", "c:d", 1)];
        let one = table.intern(list.clone());
        table.intern(list);
        let freed: Vec<_> = [one, one, AclId::OPEN].into_iter().map(|id| table.release(id)).collect();
        assert_eq!((freed, table.entries()), (alloc::vec![0, 2, 0], 1));
    }

    #[test]
    fn a_masked_digest_keeps_its_user() {
        let masked = mask_digests(&[acl("digest", "bob:secret", 31), acl("ip", "::1", 1)]);
        assert_eq!(masked.iter().map(shown).collect::<Vec<_>>(), ["digest:bob:x:31", "ip:::1:1"]);
    }
}
