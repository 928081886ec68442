//! Who may do what, as ZooKeeper's programmer's guide says it: written apart from `tree`, so that its answers can be held
//! against it. Knows the schemes that clients here use, and no path.

use std::rc::Rc;

use council_wire::{Acl, AclList, ErrorCode};

use super::digest;

/// An ACL as it is stored.
pub type AclRef = Rc<[Acl]>;

/// The identities that somebody has shown: schemes and ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identities(Vec<(String, String)>);

impl Identities {
    /// Whoever comes from that address, and has shown nothing yet.
    #[must_use]
    pub fn of_address(address: &str) -> Self {
        Self(vec![("ip".into(), address.into())])
    }

    /// Those that a command carries: schemes and ids.
    #[must_use]
    pub const fn of(shown: Vec<(String, String)>) -> Self {
        Self(shown)
    }

    /// Whether these are the same, in whatever order and however often they were shown.
    #[must_use]
    pub fn are(&self, others: &Self) -> bool {
        let all_of = |these: &Self, those: &Self| these.0.iter().all(|one| those.0.contains(one));
        all_of(self, others) && all_of(others, self)
    }

    /// Their schemes, and who they are without what they know, each once and in order.
    #[must_use]
    pub fn users(&self) -> Vec<(String, String)> {
        let user = |(scheme, id): &(String, String)| match scheme.as_str() {
            "digest" => (scheme.clone(), id.split(':').next().unwrap_or_default().to_owned()),
            _ => (scheme.clone(), id.clone()),
        };
        let mut users: Vec<_> = self.0.iter().map(user).collect();
        users.sort_unstable();
        users.dedup();
        users
    }

    /// Somebody shows `user:password`; whoever is super with that is so from then on.
    pub fn show(&mut self, credentials: &str, supers: &str) {
        if credentials == supers {
            self.0.push(("super".into(), String::new()));
        }
        self.0.push(("digest".into(), digest::id_of(credentials)));
    }

    /// Whether an ACL gives one of them one of these permissions.
    #[must_use]
    pub fn may(&self, required: i32, acl: &[Acl]) -> bool {
        let is_meant = |entry: &Acl| {
            entry.scheme == "world"
                || self.0.iter().any(|(scheme, id)| *scheme == entry.scheme && *id == entry.id)
        };
        self.0.iter().any(|(scheme, _)| scheme == "super")
            || acl.iter().any(|entry| entry.permissions & required != 0 && is_meant(entry))
    }

    /// What is stored when they ask for that ACL.
    ///
    /// # Errors
    /// It is none, or means nobody.
    pub fn stored(&self, asked: &AclList<'_>) -> Result<AclRef, ErrorCode> {
        let mut unique: Vec<Acl> = Vec::new();
        for entry in asked.to_vec() {
            if !unique.contains(&entry) {
                unique.push(entry);
            }
        }
        let mut stored = Vec::new();
        for entry in unique {
            match entry.scheme.as_str() {
                "auth" => {
                    let before = stored.len();
                    let own = self.0.iter().filter(|(scheme, _)| scheme == "digest");
                    stored.extend(own.map(|(scheme, id)| Acl {
                        permissions: entry.permissions,
                        scheme: scheme.clone(),
                        id: id.clone(),
                    }));
                    if stored.len() == before {
                        return Err(ErrorCode::InvalidAcl);
                    }
                }
                "world" if entry.id == "anyone" => stored.push(entry),
                "digest" if entry.id.split(':').count() == 2 => stored.push(entry),
                _ => return Err(ErrorCode::InvalidAcl),
            }
        }
        if stored.is_empty() { Err(ErrorCode::InvalidAcl) } else { Ok(stored.into()) }
    }
}

/// What somebody is shown who may read an ACL, but not change it.
#[must_use]
pub fn masked(acl: &[Acl]) -> Vec<Acl> {
    let mask = |entry: &Acl| match entry.id.split_once(':') {
        Some((user, _)) if entry.scheme == "digest" => Acl { id: format!("{user}:x"), ..entry.clone() },
        _ => entry.clone(),
    };
    acl.iter().map(mask).collect()
}

#[cfg(test)]
mod tests {
    use council_wire::{Reader, Writer, permission};

    use super::*;

    #[test]
    fn auth_means_whoever_asks_and_others_may_not() {
        let (mut alice, bob) = (Identities::of_address("::1"), Identities::of_address("::1"));
        let mut body = Vec::new();
        let own = Acl { permissions: permission::READ, scheme: "auth".into(), id: String::new() };
        Acl::write_all(&[own.clone(), own], &mut Writer::new(&mut body));
        let asked = AclList::read(&mut Reader::new(&body)).expect("a list");
        assert_eq!(alice.stored(&asked), Err(ErrorCode::InvalidAcl));
        alice.show("alice:a", "super:s");
        let stored = alice.stored(&asked).expect("an ACL");
        assert_eq!(stored.len(), 1);
        assert!(alice.may(permission::READ, &stored) && !alice.may(permission::WRITE, &stored));
        assert!(!bob.may(permission::READ, &stored));
        assert_eq!(masked(&stored)[0].id, "alice:x");
        alice.show("super:s", "super:s");
        assert!(alice.may(permission::WRITE, &stored));
    }
}
