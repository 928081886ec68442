//! Whom a quota is for, and what it limits.

use std::sync::Arc;

/// A part of an entity: one of that name, or all that have no quota of their own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntityName {
    /// The default.
    Default,
    /// That name.
    Named(Arc<str>),
}

impl EntityName {
    /// As the protocol writes it: nothing for the default.
    #[must_use]
    pub fn of(name: Option<&str>) -> Self {
        name.map_or(Self::Default, |name| Self::Named(name.into()))
    }

    /// Its name; nothing for the default.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Default => None,
            Self::Named(name) => Some(name),
        }
    }
}

/// Whom a quota is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuotaEntity {
    /// A user, with all its clients.
    User(EntityName),
    /// A client of a user.
    UserClient(EntityName, EntityName),
    /// A client, whatever its user.
    Client(EntityName),
    /// An address.
    Ip(EntityName),
}

/// The types of which entities consist, as the protocol writes them.
pub const USER: &str = "user";
/// See [`USER`].
pub const CLIENT_ID: &str = "client-id";
/// See [`USER`].
pub const IP: &str = "ip";

impl QuotaEntity {
    /// Its parts, with their types.
    #[must_use]
    pub fn parts(&self) -> Vec<(&'static str, &EntityName)> {
        match self {
            Self::User(user) => vec![(USER, user)],
            Self::UserClient(user, client) => vec![(CLIENT_ID, client), (USER, user)],
            Self::Client(client) => vec![(CLIENT_ID, client)],
            Self::Ip(ip) => vec![(IP, ip)],
        }
    }

    /// What can be limited for it.
    #[must_use]
    pub const fn keys(&self) -> &'static [QuotaKey] {
        match self {
            Self::Ip(_) => &[QuotaKey::ConnectionCreationRate],
            _ => &[
                QuotaKey::ProducerByteRate,
                QuotaKey::ConsumerByteRate,
                QuotaKey::RequestPercentage,
                QuotaKey::ControllerMutationRate,
            ],
        }
    }
}

/// What a quota limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuotaKey {
    /// Bytes a second that are produced.
    ProducerByteRate,
    /// Bytes a second that are fetched.
    ConsumerByteRate,
    /// Time of the broker's threads for requests, in percent of one thread.
    RequestPercentage,
    /// Partitions a second that are created or deleted.
    ControllerMutationRate,
    /// Connections a second.
    ConnectionCreationRate,
}

impl QuotaKey {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::ProducerByteRate,
        Self::ConsumerByteRate,
        Self::RequestPercentage,
        Self::ControllerMutationRate,
        Self::ConnectionCreationRate,
    ];

    /// As the protocol writes it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProducerByteRate => "producer_byte_rate",
            Self::ConsumerByteRate => "consumer_byte_rate",
            Self::RequestPercentage => "request_percentage",
            Self::ControllerMutationRate => "controller_mutation_rate",
            Self::ConnectionCreationRate => "connection_creation_rate",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// The greatest value of one that has no fractions; nothing if it may have fractions.
    const fn whole_max(self) -> Option<f64> {
        match self {
            Self::ProducerByteRate | Self::ConsumerByteRate => Some(i64::MAX as f64),
            Self::ConnectionCreationRate => Some(i32::MAX as f64),
            Self::RequestPercentage | Self::ControllerMutationRate => None,
        }
    }

    /// Whether a quota may have that value.
    ///
    /// # Errors
    /// Why not.
    pub fn check(self, value: f64) -> Result<(), String> {
        let name = self.name();
        if value.is_nan() || value <= 0.0 {
            return Err(format!("`{name}` must be above 0"));
        }
        match self.whole_max() {
            Some(most) if value > most => Err(format!("`{name}` is too large")),
            Some(_) if value.fract() != 0.0 => Err(format!("`{name}` must be a whole number")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_that_a_kafka_4_3_1_takes_but_for_what_is_no_rate() {
        let bytes = QuotaKey::ProducerByteRate;
        for (value, good) in
            [(1.0, true), (1e18, true), (0.0, false), (-1.0, false), (0.5, false), (1e19, false)]
        {
            assert_eq!(bytes.check(value).is_ok(), good, "{value}");
        }
        assert!(
            QuotaKey::RequestPercentage.check(0.5).is_ok() && QuotaKey::RequestPercentage.check(1e19).is_ok()
        );
        assert!(QuotaKey::ConnectionCreationRate.check(3e9).is_err());
        assert!(QuotaKey::ALL.iter().all(|key| key.check(f64::NAN).is_err()));
        assert!(QuotaKey::ALL.iter().all(|key| QuotaKey::of_name(key.name()) == Some(*key)));
    }
}
