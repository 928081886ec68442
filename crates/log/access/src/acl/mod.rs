//! Access control lists: all rules that there are, and what they come to for a client and a resource.
//!
//! Rules are kept twice: by pattern, as they are shown and changed, and by principal, as they are asked for. So a question
//! costs about the same with ten rules and with a hundred thousand.

mod binding;
mod kinds;
mod patterns;

use core::ops::Bound;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use binding::{AccessRule, AclBinding, AclFilter, PatternFilter, ResourcePattern};
pub use kinds::{
    ANY_HOST, ANY_NAME, CLUSTER_NAME, Operation, Operations, PatternType, Permission, ResourceType,
};
use patterns::Patterns;

use crate::Principal;

/// How many rules there are at the most.
pub const RULES_MAX: usize = 200_000;
/// How many rules one pattern has at the most.
pub const RULES_OF_PATTERN_MAX: usize = 2_000;

/// What the rules say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// A rule allows it, and none denies it.
    Allowed,
    /// A rule denies it, or there are rules about the resource and none allows it.
    Denied,
    /// There is no rule about the resource.
    NoRule,
}

/// What somebody may do from one address.
#[derive(Clone, Copy, Debug, Default)]
struct Granted {
    allowed: Operations,
    denied: Operations,
}

type ByHost = BTreeMap<Arc<str>, Granted>;

/// All rules. See the module.
#[derive(Clone, Debug, Default)]
pub struct Acls {
    by_pattern: BTreeMap<ResourcePattern, BTreeSet<AccessRule>>,
    by_principal: BTreeMap<ResourceType, BTreeMap<Arc<str>, Patterns<ByHost>>>,
    /// The patterns of each kind that have a rule.
    named: BTreeMap<ResourceType, Patterns<()>>,
    count: usize,
}

impl Acls {
    /// The pattern has these rules from now on, and no other.
    pub fn set(&mut self, pattern: ResourcePattern, rules: BTreeSet<AccessRule>) {
        let before = self.by_pattern.remove(&pattern).unwrap_or_default();
        self.count = self.count - before.len() + rules.len();
        let touched: BTreeSet<Arc<str>> =
            before.iter().chain(&rules).map(|rule| Arc::clone(&rule.principal)).collect();
        for principal in touched {
            self.set_of_principal(&pattern, principal, &rules);
        }
        let named = self.named.entry(pattern.resource_type).or_default().of_type_mut(pattern.pattern_type);
        if rules.is_empty() {
            named.remove(&pattern.name);
            return;
        }
        named.insert(Arc::clone(&pattern.name), ());
        self.by_pattern.insert(pattern, rules);
    }

    fn set_of_principal(&mut self, pattern: &ResourcePattern, of: Arc<str>, rules: &BTreeSet<AccessRule>) {
        let mut by_host = ByHost::new();
        for rule in rules.iter().filter(|rule| rule.principal == of) {
            let granted = by_host.entry(Arc::clone(&rule.host)).or_default();
            let operations = match rule.permission {
                Permission::Allow => &mut granted.allowed,
                Permission::Deny => &mut granted.denied,
            };
            *operations = operations.union(Operations::of(&[rule.operation]));
        }
        let by_principal = self.by_principal.entry(pattern.resource_type).or_default();
        let patterns = by_principal.entry(Arc::clone(&of)).or_default();
        let of_type = patterns.of_type_mut(pattern.pattern_type);
        if by_host.is_empty() {
            of_type.remove(&pattern.name);
        } else {
            of_type.insert(Arc::clone(&pattern.name), by_host);
        }
        if patterns.is_empty() {
            by_principal.remove(&of);
        }
    }

    /// How many rules there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there is no rule.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The rules of a pattern.
    #[must_use]
    pub fn of_pattern(&self, pattern: &ResourcePattern) -> Option<&BTreeSet<AccessRule>> {
        self.by_pattern.get(pattern)
    }

    /// The rules that a filter means, by pattern.
    pub fn find<'a>(
        &'a self,
        filter: &'a AclFilter,
    ) -> impl Iterator<Item = (&'a ResourcePattern, Vec<&'a AccessRule>)> {
        let range = match filter.exact() {
            Some(pattern) => (Bound::Included(pattern.clone()), Bound::Included(pattern)),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let patterns = self.by_pattern.range(range).filter(|(pattern, _)| filter.matches_pattern(pattern));
        let found = patterns.map(|(pattern, rules)| {
            (pattern, rules.iter().filter(|rule| filter.matches_rule(rule)).collect::<Vec<_>>())
        });
        found.filter(|(_, rules)| !rules.is_empty())
    }

    /// What the rules say of a client's operation on a resource.
    #[must_use]
    pub fn judge(
        &self,
        principal: &Principal,
        host: &str,
        operation: Operation,
        (kind, name): (ResourceType, &str),
    ) -> Judgement {
        let granted = self.granted(principal, host, (kind, name));
        if granted.denied.intersects(Operations::that_deny(operation)) {
            Judgement::Denied
        } else if granted.allowed.intersects(Operations::that_allow(operation)) {
            Judgement::Allowed
        } else if self.has_rule_about(kind, name) {
            Judgement::Denied
        } else {
            Judgement::NoRule
        }
    }

    fn granted(&self, principal: &Principal, host: &str, (kind, name): (ResourceType, &str)) -> Granted {
        let mut all = Granted::default();
        for patterns in self.of_principal(principal, kind) {
            patterns.each_covering(name, |by_host| {
                let granted = on_host(by_host, host);
                all = Granted {
                    allowed: all.allowed.union(granted.allowed),
                    denied: all.denied.union(granted.denied),
                };
            });
        }
        all
    }

    /// Whether the client may do that with any resource of the kind, whatever its name: whether there is a name that is
    /// allowed, and not denied together with all others that the same rule allows.
    #[must_use]
    pub fn allows_any(
        &self,
        principal: &Principal,
        host: &str,
        operation: Operation,
        kind: ResourceType,
    ) -> bool {
        // Nothing is implied here, as nothing is in Kafka.
        let wanted = Operations::of(&[Operation::All, operation]);
        let (mut allowed, mut denied) = (Patterns::<()>::default(), Patterns::<()>::default());
        for patterns in self.of_principal(principal, kind) {
            for pattern_type in PatternType::ALL {
                for (name, by_host) in patterns.of_type(*pattern_type) {
                    let granted = on_host(by_host, host);
                    if granted.denied.intersects(wanted) {
                        denied.of_type_mut(*pattern_type).insert(Arc::clone(name), ());
                    }
                    if granted.allowed.intersects(wanted) {
                        allowed.of_type_mut(*pattern_type).insert(Arc::clone(name), ());
                    }
                }
            }
        }
        let (literal, prefixed) = (PatternType::Literal, PatternType::Prefixed);
        let denies_all = denied.of_type(literal).contains_key(ANY_NAME);
        let allows_all = allowed.of_type(literal).contains_key(ANY_NAME);
        let is_left = |name: &Arc<str>| !denied.has_prefix_of(name);
        let is_named = |name: &Arc<str>| denied.of_type(literal).contains_key(name);
        !denies_all
            && (allows_all
                || allowed.of_type(literal).keys().any(|name| !is_named(name) && is_left(name))
                || allowed.of_type(prefixed).keys().any(is_left))
    }

    /// The rules of the client itself, and those for everybody.
    fn of_principal<'p>(
        &'p self,
        principal: &'p Principal,
        kind: ResourceType,
    ) -> impl Iterator<Item = &'p Patterns<ByHost>> {
        let of_kind = self.by_principal.get(&kind);
        let names = [principal.text(), Principal::EVERYBODY];
        names.into_iter().filter_map(move |name| of_kind?.get(name))
    }

    fn has_rule_about(&self, kind: ResourceType, name: &str) -> bool {
        self.named.get(&kind).is_some_and(|named| {
            let literal = named.of_type(PatternType::Literal);
            literal.contains_key(name) || literal.contains_key(ANY_NAME) || named.has_prefix_of(name)
        })
    }
}

fn on_host(by_host: &ByHost, host: &str) -> Granted {
    let at = |host: &str| by_host.get(host).copied().unwrap_or_default();
    let (own, any) = (at(host), at(ANY_HOST));
    Granted { allowed: own.allowed.union(any.allowed), denied: own.denied.union(any.denied) }
}

#[cfg(test)]
mod tests;
