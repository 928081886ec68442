//! The schemes of ACLs: which entries may be stored, and which identity an entry means.
//!
//! Each scheme is judged as ZooKeeper's provider of that name judges it. How an identity is established is not
//! known here.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use council_wire::{Acl, AclEntry, AclList, ErrorCode, permission};
use twox_hash::XxHash3_64;

use crate::{Identities, Identity, Policy, address};

/// An ACL that may be stored.
pub(crate) enum Checked {
    /// Every client may do everything: by far the most frequent ACL.
    Open,
    /// Anything else.
    List(Vec<Acl>),
}

/// Checks the ACL of a request and expands its relative entries.
///
/// Duplicates go before the expansion, as in ZooKeeper: two entries that expand to one identity both stay.
pub(crate) fn check(
    acl: &AclList<'_>,
    identities: Identities<'_>,
    policy: Policy,
) -> Result<Checked, ErrorCode> {
    if is_open(acl) {
        return Ok(Checked::Open);
    }
    let mut seen = Seen::default();
    let mut checked = Vec::with_capacity(acl.len().min(FEW));
    for entry in acl.iter().filter(|entry| seen.is_new(entry)) {
        expand(entry, identities, policy, &mut checked)?;
    }
    if checked.is_empty() { Err(ErrorCode::InvalidAcl) } else { Ok(Checked::List(checked)) }
}

/// Whether it is the one entry with which every client may do everything.
pub(crate) fn is_open(acl: &AclList<'_>) -> bool {
    let open = AclEntry { permissions: permission::ALL, scheme: Some("world"), id: Some("anyone") };
    acl.len() == 1 && acl.iter().next() == Some(open)
}

/// Up to so many entries are compared one by one.
const FEW: usize = 8;

/// The entries of an ACL that have come so far.
#[derive(Default)]
struct Seen<'a> {
    few: Vec<AclEntry<'a>>,
    /// All of them, once there are more than a few.
    many: BTreeSet<EntryKey<'a>>,
}

/// What makes an entry, in an order: a hash of the id comes first, so that ids that begin alike are seldom compared. For ids
/// that were chosen to have one hash the order is the same.
type EntryKey<'a> = (u64, i32, Option<&'a str>, Option<&'a str>);

impl<'a> Seen<'a> {
    /// Notes an entry; says whether it has not come before.
    fn is_new(&mut self, entry: &AclEntry<'a>) -> bool {
        let key = |entry: &AclEntry<'a>| {
            let hash = XxHash3_64::oneshot(entry.id.unwrap_or_default().as_bytes());
            (hash, entry.permissions, entry.scheme, entry.id)
        };
        if !self.many.is_empty() {
            return self.many.insert(key(entry));
        }
        if self.few.contains(entry) {
            return false;
        }
        self.few.push(*entry);
        if self.few.len() > FEW {
            self.many = self.few.iter().map(key).collect();
        }
        true
    }
}

fn expand(
    entry: AclEntry<'_>,
    identities: Identities<'_>,
    policy: Policy,
    checked: &mut Vec<Acl>,
) -> Result<(), ErrorCode> {
    let scheme = entry.scheme.ok_or(ErrorCode::InvalidAcl)?;
    let mut push = |scheme: &str, id: &str| {
        checked.push(Acl {
            permissions: entry.permissions,
            scheme: String::from(scheme),
            id: String::from(id),
        });
    };
    if scheme == "auth" {
        let mut found = false;
        for identity in identities.iter().filter(|one| is_authenticated(one.scheme, policy)) {
            push(identity.scheme, identity.id);
            found = true;
        }
        return if found { Ok(()) } else { Err(ErrorCode::InvalidAcl) };
    }
    let known = scheme == "world" || is_known(scheme, policy);
    // A null id makes ZooKeeper fail with an error of its own; only unknown schemes are reported before.
    let id = match entry.id {
        None if known => return Err(ErrorCode::MarshallingError),
        id => id.unwrap_or_default(),
    };
    if !known || !is_valid(scheme, id) {
        return Err(ErrorCode::InvalidAcl);
    }
    push(scheme, id);
    Ok(())
}

/// Whether the server has a provider of that scheme; `world` and `auth` are no providers.
pub(crate) fn is_known(scheme: &str, policy: Policy) -> bool {
    match scheme {
        "ip" => true,
        "digest" => policy.contains(Policy::DIGEST_KNOWN),
        "x509" => policy.contains(Policy::X509_KNOWN),
        "sasl" => policy.contains(Policy::SASL_KNOWN),
        _ => false,
    }
}

/// Whether identities of that scheme name a user: an address does not.
pub(crate) fn is_authenticated(scheme: &str, policy: Policy) -> bool {
    scheme != "ip" && is_known(scheme, policy)
}

fn is_valid(scheme: &str, id: &str) -> bool {
    match scheme {
        "world" => id == "anyone",
        "ip" => address::is_pattern(id),
        "digest" => has_two_parts(id),
        "x509" => is_distinguished_name(id),
        "sasl" => is_kerberos_name(id),
        _ => false,
    }
}

/// Whether an entry's id means that identity, both of one scheme.
pub(crate) fn matches(identity: Identity<'_>, id: &str, policy: Policy) -> bool {
    if !is_known(identity.scheme, policy) {
        return false;
    }
    match identity.scheme {
        "ip" => address::matches(identity.id, id),
        "sasl" => identity.is_sasl_super() || identity.id == id,
        _ => identity.id == id,
    }
}

/// User and digest around a colon; Java's `split` does not see empty parts at the end.
fn has_two_parts(id: &str) -> bool {
    id.trim_end_matches(':').split(':').count() == 2
}

/// `service/host@REALM` with the last two optional; a name without `@` is always one.
fn is_kerberos_name(id: &str) -> bool {
    match id.split_once('@') {
        None => true,
        Some((name, realm)) => !realm.contains(['@', '/']) && name.matches('/').count() <= 1,
    }
}

/// `CN=a,O=b`: attributes around commas, each with a key. Finer points of RFC 2253 are not checked.
fn is_distinguished_name(id: &str) -> bool {
    if id.trim().is_empty() {
        return true;
    }
    let (mut quoted, mut escaped, mut has_key) = (false, false, false);
    let mut key_length = 0;
    for c in id.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '=' if !has_key => {
                has_key = key_length > 0;
                if !has_key {
                    return false;
                }
            }
            ',' | ';' | '+' => {
                if !has_key {
                    return false;
                }
                (has_key, key_length) = (false, 0);
            }
            c => key_length += usize::from(!c.is_whitespace()),
        }
    }
    has_key && !quoted && !escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_has_a_user_and_one_more_part() {
        for id in ["a:b", ":b", "a:b:", "a:b::"] {
            assert!(is_valid("digest", id), "{id}");
        }
        for id in ["", "a", "a:", ":", "a:b:c", "a::b"] {
            assert!(!is_valid("digest", id), "{id}");
        }
    }

    #[test]
    fn a_kerberos_name_has_at_most_one_realm_and_one_host() {
        for id in ["", "bob", "bob@REALM", "zk/host@REALM", "a/b/c"] {
            assert!(is_valid("sasl", id), "{id}");
        }
        for id in ["a@b@c", "a/b/c@R", "a@b/c"] {
            assert!(!is_valid("sasl", id), "{id}");
        }
    }

    #[test]
    fn a_distinguished_name_is_made_of_keys_and_values() {
        for id in ["CN=a", "CN=a, O=b\\,c", "CN=\"x,y\"", "CN=a+OU=b", "CN="] {
            assert!(is_valid("x509", id), "{id}");
        }
        for id in ["a", "CN=a,", "=a", "CN=a,b", "CN=\"a"] {
            assert!(!is_valid("x509", id), "{id}");
        }
    }
}
