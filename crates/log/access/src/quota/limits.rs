//! The quotas that there are, and which of them is that of a client: the most specific one.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::entity::{EntityName, QuotaEntity, QuotaKey};

/// How many entities have quotas at the most.
pub const ENTITIES_MAX: usize = 100_000;

/// The values of an entity.
pub type QuotaValues = BTreeMap<QuotaKey, f64>;

/// Values by name, and those for all others.
#[derive(Clone, Debug)]
struct ByName<T> {
    named: BTreeMap<Arc<str>, T>,
    default: T,
}

impl<T: Default> Default for ByName<T> {
    fn default() -> Self {
        Self { named: BTreeMap::new(), default: T::default() }
    }
}

impl<T: Default> ByName<T> {
    fn entry(&mut self, name: &EntityName) -> &mut T {
        match name {
            EntityName::Default => &mut self.default,
            EntityName::Named(name) => self.named.entry(Arc::clone(name)).or_default(),
        }
    }
}

/// The quotas that there are.
#[derive(Clone, Debug, Default)]
pub struct QuotaLimits {
    entities: BTreeMap<QuotaEntity, QuotaValues>,
    users: ByName<QuotaValues>,
    clients: ByName<QuotaValues>,
    user_clients: ByName<ByName<QuotaValues>>,
    ips: ByName<QuotaValues>,
    /// How many entities limit each.
    counts: BTreeMap<QuotaKey, usize>,
}

/// Whose use is counted together against a quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedBy {
    /// All clients of the user.
    User,
    /// The client of the user.
    UserClient,
    /// All users of the client.
    Client,
}

impl QuotaLimits {
    /// The entity has these quotas from now on, and no other.
    pub fn set(&mut self, entity: QuotaEntity, values: QuotaValues) {
        let before = self.entities.remove(&entity).unwrap_or_default();
        for key in before.keys() {
            *self.counts.entry(*key).or_default() -= 1;
        }
        for key in values.keys() {
            *self.counts.entry(*key).or_default() += 1;
        }
        *self.place(&entity) = values.clone();
        self.forget_empty(&entity);
        if !values.is_empty() {
            self.entities.insert(entity, values);
        }
    }

    fn place(&mut self, entity: &QuotaEntity) -> &mut QuotaValues {
        match entity {
            QuotaEntity::User(user) => self.users.entry(user),
            QuotaEntity::Client(client) => self.clients.entry(client),
            QuotaEntity::UserClient(user, client) => self.user_clients.entry(user).entry(client),
            QuotaEntity::Ip(ip) => self.ips.entry(ip),
        }
    }

    fn forget_empty(&mut self, entity: &QuotaEntity) {
        let is_used = |_: &Arc<str>, values: &mut QuotaValues| !values.is_empty();
        let forget = |of: &mut ByName<QuotaValues>, name: &EntityName| {
            if let EntityName::Named(name) = name
                && of.named.get(name).is_some_and(BTreeMap::is_empty)
            {
                of.named.remove(name);
            }
        };
        match entity {
            QuotaEntity::User(user) => forget(&mut self.users, user),
            QuotaEntity::Client(client) => forget(&mut self.clients, client),
            QuotaEntity::Ip(ip) => forget(&mut self.ips, ip),
            QuotaEntity::UserClient(user, _) => {
                let of_user = self.user_clients.entry(user);
                of_user.named.retain(is_used);
                if let EntityName::Named(name) = user
                    && of_user.named.is_empty()
                    && of_user.default.is_empty()
                {
                    self.user_clients.named.remove(name);
                }
            }
        }
    }

    /// All entities with their quotas.
    pub fn entities(&self) -> impl Iterator<Item = (&QuotaEntity, &QuotaValues)> {
        self.entities.iter()
    }

    /// The quotas of an entity.
    #[must_use]
    pub fn of_entity(&self, entity: &QuotaEntity) -> Option<&QuotaValues> {
        self.entities.get(entity)
    }

    /// How many entities have quotas.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// Whether there is no quota.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Whether anything is limited by that.
    #[must_use]
    pub fn has(&self, key: QuotaKey) -> bool {
        self.counts.get(&key).is_some_and(|count| *count > 0)
    }

    /// The quota of a client, and who shares it: the most specific one that there is.
    #[must_use]
    pub fn of_client(&self, key: QuotaKey, user: &str, client: &str) -> Option<(f64, SharedBy)> {
        if !self.has(key) {
            return None;
        }
        let value = |values: &QuotaValues| values.get(&key).copied();
        let named = |of: &ByName<QuotaValues>, name: &str| of.named.get(name).and_then(value);
        let (of_user, of_others) = (self.user_clients.named.get(user), &self.user_clients.default);
        let shared = |by: SharedBy| move |value: f64| (value, by);
        of_user
            .and_then(|clients| named(clients, client).or_else(|| value(&clients.default)))
            .map(shared(SharedBy::UserClient))
            .or_else(|| named(&self.users, user).map(shared(SharedBy::User)))
            .or_else(|| named(of_others, client).map(shared(SharedBy::UserClient)))
            .or_else(|| value(&of_others.default).map(shared(SharedBy::UserClient)))
            .or_else(|| value(&self.users.default).map(shared(SharedBy::User)))
            .or_else(|| named(&self.clients, client).map(shared(SharedBy::Client)))
            .or_else(|| value(&self.clients.default).map(shared(SharedBy::Client)))
    }

    /// How many connections a second an address may make.
    #[must_use]
    pub fn of_ip(&self, ip: &str) -> Option<f64> {
        let key = QuotaKey::ConnectionCreationRate;
        let own = self.ips.named.get(ip).and_then(|values| values.get(&key));
        own.or_else(|| self.ips.default.get(&key)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_specific_quota_of_a_client_counts() {
        let name =
            |name: &str| if name == "*" { EntityName::Default } else { EntityName::Named(name.into()) };
        let order = [
            (QuotaEntity::UserClient(name("u"), name("c")), SharedBy::UserClient),
            (QuotaEntity::UserClient(name("u"), name("*")), SharedBy::UserClient),
            (QuotaEntity::User(name("u")), SharedBy::User),
            (QuotaEntity::UserClient(name("*"), name("c")), SharedBy::UserClient),
            (QuotaEntity::UserClient(name("*"), name("*")), SharedBy::UserClient),
            (QuotaEntity::User(name("*")), SharedBy::User),
            (QuotaEntity::Client(name("c")), SharedBy::Client),
            (QuotaEntity::Client(name("*")), SharedBy::Client),
        ];
        let key = QuotaKey::ProducerByteRate;
        let mut limits = QuotaLimits::default();
        for (at, (entity, _)) in order.iter().enumerate() {
            limits.set(entity.clone(), [(key, at as f64 + 1.0)].into());
        }
        for (at, (entity, by)) in order.iter().enumerate() {
            assert_eq!(limits.of_client(key, "u", "c"), Some((at as f64 + 1.0, *by)));
            assert_eq!(limits.of_client(QuotaKey::ConsumerByteRate, "u", "c"), None);
            limits.set(entity.clone(), QuotaValues::new());
        }
        assert!(limits.of_client(key, "u", "c").is_none() && limits.is_empty() && !limits.has(key));
        assert!(limits.users.named.is_empty() && limits.user_clients.named.is_empty());
    }

    #[test]
    fn quota_of_one_kind_does_not_hide_that_of_another() {
        let mut limits = QuotaLimits::default();
        limits.set(QuotaEntity::User(EntityName::of(Some("u"))), [(QuotaKey::ConsumerByteRate, 5.0)].into());
        limits.set(QuotaEntity::Client(EntityName::Default), [(QuotaKey::ProducerByteRate, 7.0)].into());
        let of = |key| limits.of_client(key, "u", "c");
        assert_eq!(of(QuotaKey::ProducerByteRate), Some((7.0, SharedBy::Client)));
        assert_eq!(of(QuotaKey::ConsumerByteRate), Some((5.0, SharedBy::User)));
    }

    #[test]
    fn address_has_its_own_quota_or_that_of_all() {
        let (mut limits, key) = (QuotaLimits::default(), QuotaKey::ConnectionCreationRate);
        limits.set(QuotaEntity::Ip(EntityName::of(Some("10.0.0.1"))), [(key, 5.0)].into());
        assert_eq!((limits.of_ip("10.0.0.1"), limits.of_ip("10.0.0.2")), (Some(5.0), None));
        limits.set(QuotaEntity::Ip(EntityName::Default), [(key, 7.0)].into());
        assert_eq!((limits.of_ip("10.0.0.1"), limits.of_ip("10.0.0.2")), (Some(5.0), Some(7.0)));
    }
}
