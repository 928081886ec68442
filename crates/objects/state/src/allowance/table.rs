//! Quotas as commands look them up: made from the records, and made anew from them behind a snapshot. No part of the state.

use std::collections::BTreeMap;

use super::records::{Quota, QuotaOf};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) principals: BTreeMap<String, Quota>,
    pub(crate) namespaces: BTreeMap<String, Quota>,
    /// Namespaces whose objects are being counted.
    pub(crate) walks: usize,
    /// Whether one of them bounds calls.
    has_rates: bool,
}

impl Table {
    /// Whether there is none, and nothing is left of one.
    pub(crate) fn is_empty(&self) -> bool {
        self.principals.is_empty() && self.namespaces.is_empty() && self.walks == 0
    }

    pub(crate) fn count(&self) -> usize {
        self.principals.len() + self.namespaces.len()
    }

    pub(crate) fn has_principal(&self, name: &str) -> bool {
        self.principals.contains_key(name)
    }

    pub(crate) fn of(&self, of: &QuotaOf) -> Option<&Quota> {
        match of {
            QuotaOf::Principal(name) => self.principals.get(name),
            QuotaOf::Namespace(name) => self.namespaces.get(name),
        }
    }

    pub(crate) fn set(&mut self, of: &QuotaOf, quota: Option<Quota>) {
        let quotas = match of {
            QuotaOf::Principal(_) => &mut self.principals,
            QuotaOf::Namespace(_) => &mut self.namespaces,
        };
        match quota {
            Some(quota) => drop(quotas.insert(of.name().into(), quota)),
            None => drop(quotas.remove(of.name())),
        }
        let mut all = self.principals.values().chain(self.namespaces.values());
        self.has_rates = all.any(|quota| quota.limits.calls_per_second.is_some());
    }

    /// Whether one of them bounds calls.
    pub(crate) const fn has_rates(&self) -> bool {
        self.has_rates
    }

    /// How many calls it lets in within a second, if it bounds them.
    pub(crate) fn rate_of(&self, of: &QuotaOf) -> Option<u64> {
        self.of(of)?.limits.calls_per_second
    }

    /// The same of all that a call has to do with.
    pub(crate) fn rates(
        &self,
        principal: &str,
        object: Option<&str>,
    ) -> impl Iterator<Item = (QuotaOf, u64)> {
        let of_principal =
            self.principals.get(principal).map(|quota| (QuotaOf::Principal(principal.into()), quota));
        let of_namespace = object.and_then(|name| self.namespace_of(name));
        let of_namespace = of_namespace.map(|(name, quota)| (QuotaOf::Namespace(name.into()), quota));
        let all = [of_principal, of_namespace].into_iter().flatten();
        all.filter_map(|(of, quota)| Some((of, quota.limits.calls_per_second?)))
    }

    /// The namespace of an object, if it has a quota.
    pub(crate) fn namespace_of<'a>(&self, name: &'a str) -> Option<(&'a str, &Quota)> {
        let (namespace, _) = name.split_once('/').filter(|_| !self.namespaces.is_empty())?;
        self.namespaces.get(namespace).map(|quota| (namespace, quota))
    }
}
