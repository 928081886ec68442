//! Permissions: compares the entries of an ACL with the identities of a connection.
//!
//! Identities are parsed once, not once for each entry, and within one command each ACL is judged once for each
//! permission, however many of the command's operations it stands before.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell, RefCell};

use council_wire::Acl;

use crate::acl::{AclId, AclTable, everyone};
use crate::{Identities, Identity, Policy, scheme};

/// Up to so many identities are held without an allocation, and compared one by one.
const FEW: usize = 4;

/// Whether one of `identities` has one of the bits of `required` in this ACL.
///
/// ZooKeeper's rules: an empty ACL lets every client pass, the superuser passes every ACL, and an entry counts only
/// while its scheme is known to the server.
#[must_use]
pub fn permits(acl: &[Acl], required: i32, identities: Identities<'_>, policy: Policy) -> bool {
    if everyone(acl) & required != 0 || acl.is_empty() || policy.contains(Policy::SKIP_ACL) {
        return true;
    }
    Bearer::new(identities).passes(acl, required, policy)
}

/// The identities of one connection, taken apart.
struct Bearer<'a> {
    few: [Identity<'a>; FEW],
    /// All identities, in order of scheme and id, if there are more than a few.
    many: Vec<Identity<'a>>,
    is_super: bool,
    /// Whether it is the one SASL identity that every entry of its scheme means.
    is_sasl_super: bool,
}

impl<'a> Bearer<'a> {
    fn new(identities: Identities<'a>) -> Self {
        let mut bearer = Self {
            few: [Identity::NONE; FEW],
            many: Vec::new(),
            is_super: identities.is_super(),
            is_sasl_super: false,
        };
        let mut all = identities.iter();
        for (place, identity) in bearer.few.iter_mut().zip(&mut all) {
            *place = identity;
        }
        if let Some(next) = all.next() {
            bearer.many = bearer.few.into_iter().chain([next]).chain(all).collect();
            bearer.many.sort_unstable();
        }
        bearer.is_sasl_super = bearer.identities().iter().any(Identity::is_sasl_super);
        bearer
    }

    /// All of them, and places that hold none.
    fn identities(&self) -> &[Identity<'a>] {
        if self.many.is_empty() { &self.few } else { &self.many }
    }

    fn passes(&self, acl: &[Acl], required: i32, policy: Policy) -> bool {
        self.is_super
            || acl.iter().any(|entry| entry.permissions & required != 0 && self.is_meant(entry, policy))
    }

    fn is_meant(&self, entry: &Acl, policy: Policy) -> bool {
        let (entry_scheme, id) = (entry.scheme.as_str(), entry.id.as_str());
        if !scheme::is_known(entry_scheme, policy) {
            return false;
        }
        match entry_scheme {
            // A connection has one address, so these are never many.
            "ip" => self.of_scheme("ip").any(|identity| scheme::matches(identity, id, policy)),
            "sasl" if self.is_sasl_super => true,
            _ if self.many.is_empty() => self.few.contains(&Identity { scheme: entry_scheme, id }),
            _ => self.many.binary_search(&Identity { scheme: entry_scheme, id }).is_ok(),
        }
    }

    fn of_scheme(&self, wanted: &'static str) -> impl Iterator<Item = Identity<'a>> {
        let identities = self.identities();
        let begin = match self.many.is_empty() {
            true => 0,
            false => identities.partition_point(|identity| identity.scheme < wanted),
        };
        let rest = identities.get(begin..).unwrap_or_default().iter().copied();
        let is_few = self.many.is_empty();
        rest.take_while(move |identity| is_few || identity.scheme == wanted)
            .filter(move |identity| identity.scheme == wanted)
    }
}

/// The verdicts of one command, or of one read of one tree to which nothing is written meanwhile: each ACL is judged
/// once for each permission.
pub struct Verdicts<'a> {
    identities: Identities<'a>,
    policy: Policy,
    bearer: OnceCell<Bearer<'a>>,
    /// By ACL and permission; only kept where several operations may ask. No ACL that a multi asks about goes before
    /// the multi ends: what it removes is kept for its undo.
    known: Option<RefCell<BTreeMap<(AclId, i32), bool>>>,
    entries: Cell<u64>,
}

impl<'a> Verdicts<'a> {
    /// Those of a command or a read; `several` when it has more than one operation.
    #[must_use]
    pub fn new(identities: Identities<'a>, policy: Policy, several: bool) -> Self {
        let known = several.then(RefCell::default);
        Self { identities, policy, bearer: OnceCell::new(), known, entries: Cell::new(0) }
    }

    /// How many entries were compared with identities so far.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.entries.get()
    }

    pub(crate) fn permits(&self, acls: &AclTable, id: AclId, required: i32) -> bool {
        if acls.everyone(id) & required != 0 || self.policy.contains(Policy::SKIP_ACL) {
            return true;
        }
        let Some(known) = &self.known else { return self.judge(acls.list(id), required) };
        if let Some(verdict) = known.borrow().get(&(id, required)) {
            return *verdict;
        }
        let verdict = self.judge(acls.list(id), required);
        known.borrow_mut().insert((id, required), verdict);
        verdict
    }

    fn judge(&self, acl: &[Acl], required: i32) -> bool {
        let bearer = self.bearer.get_or_init(|| Bearer::new(self.identities));
        self.entries.set(self.entries.get() + acl.len() as u64);
        bearer.passes(acl, required, self.policy)
    }
}

impl core::fmt::Debug for Verdicts<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Verdicts").field("entries", &self.entries).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::String;

    use council_wire::permission;

    use super::*;
    use crate::IdentityList;

    fn entry(scheme: &str, id: &str, permissions: i32) -> Acl {
        Acl { permissions, scheme: String::from(scheme), id: String::from(id) }
    }

    /// As ZooKeeper does it, entry by entry and identity by identity.
    fn plainly(acl: &[Acl], required: i32, identities: Identities<'_>, policy: Policy) -> bool {
        acl.is_empty()
            || identities.is_super()
            || acl.iter().any(|entry| {
                entry.permissions & required != 0
                    && (entry.scheme == "world"
                        || identities.iter().any(|identity| {
                            identity.scheme == entry.scheme && scheme::matches(identity, &entry.id, policy)
                        }))
            })
    }

    #[test]
    fn verdicts_are_those_of_a_plain_look_however_many_identities_there_are() {
        let policy = Policy::standard() | Policy::SASL_KNOWN;
        for count in [0, 1, FEW - 1, FEW, FEW + 1, 40] {
            for special in ["none", "sasl", "super"] {
                let mut list = IdentityList::new();
                for number in 0..count {
                    match number {
                        1 => list.add("ip", "10.0.0.7"),
                        _ => list.add("digest", &format!("user{number}:x")),
                    };
                }
                match special {
                    "sasl" => list.add("sasl", "super"),
                    "super" => list.add("super", ""),
                    _ => false,
                };
                for acl in [
                    entry("digest", "user0:x", 31),
                    entry("digest", &format!("user{}:x", count.max(1) - 1), 1),
                    entry("digest", "nobody:x", 31),
                    entry("ip", "10.0.0.0/8", 31),
                    entry("ip", "10.0.0.7", 2),
                    entry("sasl", "bob", 31),
                    entry("x509", "user0:x", 31),
                    entry("world", "anyone", 1),
                    entry("world", "nobody", 16),
                    entry("", "", 31),
                ] {
                    for required in [permission::READ, permission::WRITE] {
                        let (acl, all) = ([acl.clone()], list.identities());
                        let expected = plainly(&acl, required, all, policy)
                            && (acl[0].scheme != "world" || acl[0].id == "anyone" || all.is_super());
                        assert_eq!(permits(&acl, required, all, policy), expected, "{acl:?} {all:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn one_acl_before_many_operations_is_judged_once() {
        let mut acls = AclTable::new();
        let ours = (0..4000).map(|number| entry("digest", &format!("a{number}:b"), 1));
        let id = acls.intern(ours.chain([entry("digest", "299:x", 31)]).collect());
        let mut list = IdentityList::new();
        for number in 0..300 {
            list.add("digest", &format!("{number}:x"));
        }
        let verdicts = Verdicts::new(list.identities(), Policy::standard(), true);
        for _ in 0..700 {
            assert!(verdicts.permits(&acls, id, permission::READ));
            assert!(verdicts.permits(&acls, id, permission::WRITE));
        }
        assert_eq!(verdicts.entries(), 2 * 4001);
    }
}
