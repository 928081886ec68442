//! Rights and tokens as calls look them up: made from the records, and made anew from them behind a snapshot. No part of the
//! state.

use std::collections::BTreeMap;

use super::grant::{Grant, Rights};
use crate::principal::TokenNumber;

/// A token, as it is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownToken {
    pub(crate) principal: String,
    pub(crate) ends_ms: Option<i64>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Whether rights are looked at.
    pub(crate) closed: bool,
    tokens: BTreeMap<TokenNumber, KnownToken>,
    hashes: BTreeMap<[u8; 32], TokenNumber>,
    rights: BTreeMap<String, Compiled>,
    roles: BTreeMap<String, Compiled>,
    roles_of: BTreeMap<String, Vec<String>>,
    /// How often something changed.
    pub(crate) changes: u64,
}

impl Table {
    pub(crate) fn token(&self, number: TokenNumber) -> Option<&KnownToken> {
        self.tokens.get(&number)
    }

    pub(crate) fn tokens(&self) -> impl Iterator<Item = (TokenNumber, &KnownToken)> {
        self.tokens.iter().map(|(number, token)| (*number, token))
    }

    pub(crate) fn count(&self) -> usize {
        self.tokens.len()
    }

    /// The token of a secret. Its hash is looked up, so the time that takes says nothing about the secret.
    pub(crate) fn token_of(&self, hash: &[u8; 32]) -> Option<TokenNumber> {
        self.hashes.get(hash).copied()
    }

    pub(crate) fn rights_of(&self, principal: &str) -> Option<&Compiled> {
        self.rights.get(principal)
    }

    /// The rights of a principal, and those of its roles.
    pub(crate) fn all_rights_of(&self, principal: &str) -> impl Iterator<Item = &Compiled> + use<'_> {
        let roles = self.roles_of(principal).iter().filter_map(|role| self.roles.get(role));
        self.rights_of(principal).into_iter().chain(roles)
    }

    /// A role.
    pub(crate) fn role(&self, name: &str) -> Option<&Compiled> {
        self.roles.get(name)
    }

    /// The roles of a principal.
    pub(crate) fn roles_of(&self, principal: &str) -> &[String] {
        self.roles_of.get(principal).map_or(&[], |roles| roles)
    }

    /// How many roles there are, and how many principals have any.
    pub(crate) fn count_roles(&self) -> (usize, usize) {
        (self.roles.len(), self.roles_of.len())
    }

    /// The principals that have a role.
    pub(crate) fn having(&self, role: &str) -> impl Iterator<Item = &str> {
        let has = move |(_, roles): &(&String, &Vec<String>)| roles.iter().any(|own| own == role);
        self.roles_of.iter().filter(has).map(|(principal, _)| &**principal)
    }

    pub(crate) fn set_role(&mut self, name: &str, grants: &[Grant]) {
        if grants.is_empty() {
            self.roles.remove(name);
        } else {
            self.roles.insert(name.into(), Compiled::of(grants));
        }
    }

    pub(crate) fn set_roles_of(&mut self, principal: &str, roles: &[String]) {
        if roles.is_empty() {
            self.roles_of.remove(principal);
        } else {
            self.roles_of.insert(principal.into(), roles.to_vec());
        }
    }

    pub(crate) fn principals(&self) -> usize {
        self.rights.len()
    }

    pub(crate) fn set_token(&mut self, number: TokenNumber, hash: [u8; 32], token: KnownToken) {
        self.hashes.insert(hash, number);
        self.tokens.insert(number, token);
    }

    pub(crate) fn drop_token(&mut self, number: TokenNumber, hash: &[u8; 32]) {
        self.tokens.remove(&number);
        self.hashes.remove(hash);
    }

    pub(crate) fn set_rights(&mut self, principal: &str, grants: &[Grant]) {
        if grants.is_empty() {
            self.rights.remove(principal);
        } else {
            self.rights.insert(principal.into(), Compiled::of(grants));
        }
    }
}

/// The rights of one principal: by type, then by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compiled {
    of_all_types: OfType,
    of_types: BTreeMap<String, OfType>,
}

/// Rights on the objects of a type, or of all types.
#[derive(Clone, Debug, Default)]
struct OfType {
    exact: BTreeMap<String, Allowed>,
    /// By what names begin with.
    prefixes: Vec<(String, Allowed)>,
}

impl OfType {
    /// Whether one of them gives that right on all objects whose names begin so.
    fn has_all(&self, beginning: &str, right: Rights) -> bool {
        let mut prefixes = self.prefixes.iter();
        prefixes.any(|(prefix, allowed)| beginning.starts_with(prefix.as_str()) && allowed.rights.has(right))
    }
}

/// What one grant allows.
#[derive(Clone, Debug, Default)]
struct Allowed {
    rights: Rights,
    /// In order.
    methods: Vec<String>,
}

impl Compiled {
    fn of(grants: &[Grant]) -> Self {
        let mut compiled = Self::default();
        for grant in grants {
            let allowed = Allowed { rights: grant.rights, methods: grant.methods.clone() };
            let of_type = match grant.type_name.as_str() {
                "" => &mut compiled.of_all_types,
                name => compiled.of_types.entry(name.into()).or_default(),
            };
            if grant.is_prefix {
                of_type.prefixes.push((grant.name.clone(), allowed));
            } else {
                of_type.exact.insert(grant.name.clone(), allowed);
            }
        }
        compiled
    }

    fn of_object<'a>(&'a self, type_name: &str, name: &'a str) -> impl Iterator<Item = &'a Allowed> {
        let of_types = [Some(&self.of_all_types), self.of_types.get(type_name)].into_iter().flatten();
        of_types.flat_map(move |of_type| {
            let prefixes = of_type.prefixes.iter().filter(|(prefix, _)| name.starts_with(prefix.as_str()));
            of_type.exact.get(name).into_iter().chain(prefixes.map(|(_, allowed)| allowed))
        })
    }

    /// Whether one of them has that right on an object.
    pub(crate) fn has(&self, type_name: &str, name: &str, right: Rights) -> bool {
        self.of_object(type_name, name).any(|allowed| allowed.rights.has(right))
    }

    /// Whether a method is among those that may be called by name.
    pub(crate) fn names(&self, type_name: &str, name: &str, method: &str) -> bool {
        let names =
            |allowed: &Allowed| allowed.methods.binary_search_by(|own| own.as_str().cmp(method)).is_ok();
        self.of_object(type_name, name).any(names)
    }

    /// Whether they have that right on all objects whose names begin so.
    pub(crate) fn has_all(&self, type_name: &str, beginning: &str, right: Rights) -> bool {
        let of_type = self.of_types.get(type_name);
        self.has_all_types(beginning, right)
            || of_type.is_some_and(|of_type| of_type.has_all(beginning, right))
    }

    /// Whether they have it to all objects of all types whose names begin so.
    pub(crate) fn has_all_types(&self, beginning: &str, right: Rights) -> bool {
        self.of_all_types.has_all(beginning, right)
    }

    /// Whether they administer everything.
    pub(crate) fn is_admin(&self) -> bool {
        self.has_all_types("", Rights::ADMIN)
    }

    /// Whether they administer all objects of any type.
    pub(crate) fn is_admin_of_a_type(&self) -> bool {
        self.is_admin() || self.of_types.values().any(|of_type| of_type.has_all("", Rights::ADMIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compiled(grants: &[&str]) -> Compiled {
        Compiled::of(&grants.iter().map(|text| text.parse().unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn patterns_cover_what_they_say_and_nothing_else() {
        let rights = compiled(&["lock/build:query", "lock/b*:acquire", "*/team-*:call", "queue/*:create"]);
        assert!(rights.has("lock", "build", Rights::QUERY) && !rights.has("lock", "build2", Rights::QUERY));
        assert!(!rights.has("rwlock", "build", Rights::QUERY) && !rights.has("lock", "buil", Rights::QUERY));
        assert!(rights.names("lock", "b", "acquire") && rights.names("lock", "build", "acquire"));
        assert!(!rights.names("lock", "build", "release") && !rights.names("lock", "a", "acquire"));
        assert!(rights.has("map", "team-1", Rights::CALL) && !rights.has("map", "team-1", Rights::QUERY));
        assert!(rights.has("queue", "x", Rights::CREATE) && !rights.has("map", "x", Rights::CREATE));
        assert!(!rights.is_admin() && !rights.is_admin_of_a_type());
    }

    #[test]
    fn a_list_needs_the_right_on_all_that_it_may_show() {
        let rights = compiled(&["lock/b*:query", "map/m:query", "set/*:call"]);
        assert!(rights.has_all("lock", "b", Rights::QUERY) && rights.has_all("lock", "build", Rights::QUERY));
        assert!(!rights.has_all("lock", "", Rights::QUERY) && !rights.has_all("map", "m", Rights::QUERY));
        assert!(!rights.has_all("set", "", Rights::QUERY) && rights.has_all("set", "", Rights::CALL));
    }

    #[test]
    fn who_administers_may_do_everything() {
        let rights = compiled(&["*:admin"]);
        assert!(rights.is_admin() && rights.is_admin_of_a_type());
        assert!(rights.has("lock", "x", Rights::USUAL) && rights.has_all("lock", "", Rights::QUERY));
        let rights = compiled(&["hits/*:admin", "lock/a:admin"]);
        assert!(!rights.is_admin() && rights.is_admin_of_a_type());
        assert!(rights.has("hits", "x", Rights::ADMIN) && !rights.has("lock", "b", Rights::QUERY));
        assert!(!compiled(&["hits/a*:admin"]).is_admin_of_a_type());
    }
}
