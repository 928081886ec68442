//! Keys of the log. Besides these, every key of Kafka's brokers is one, with `log.` before it.

use log_config::{Definition, Effect, definitions};

use super::Row;
use super::server::put;
use crate::broker::read_properties;

pub(super) const ROWS: &[Row] = &[
    Row::own("log.listen", "where Kafka's clients connect, or `off`", |draft, setting| {
        draft.broker.said = true;
        put(&mut draft.broker.listen, setting.address_or_off().map(Some))
    }),
    Row::own("log.data-dir", "where the records lie", |draft, setting| {
        draft.broker.said = true;
        draft.broker.data_dir = Some(setting.value.into());
        Ok(())
    }),
    Row::own(
        "log.council",
        "the servers of the council that the broker uses, `HOST:PORT,..[/PATH]`; otherwise that of this process",
        |draft, setting| {
            draft.broker.said = true;
            draft.broker.council = Some(setting.value.into());
            Ok(())
        },
    ),
    Row::own("log.properties", "a `server.properties` of Kafka, taken as it is", |draft, setting| {
        draft.broker.said = true;
        put(&mut draft.broker.file, read_properties(setting.value.as_ref()))
    }),
];

/// What a key of a file or an option is to the broker.
pub(crate) enum BrokerKey {
    /// It is this configuration of Kafka's.
    Known(&'static str, &'static Definition),
    /// It is a key of Kafka's for one listener, or one of an earlier version: the broker judges it.
    Other(String),
}

impl BrokerKey {
    /// What a key means that begins with `log.`: Kafka's key behind that, or, for names that begin so themselves, the whole.
    pub(crate) fn of(key: &str) -> Option<Self> {
        let bare = key.strip_prefix("log.")?;
        let known = |name: &str| definitions::broker(name).map(|own| Self::Known(own.name, own));
        known(bare).or_else(|| known(key)).or_else(|| {
            let is_other = definitions::BrokerName::of(bare).definition().is_some()
                || OTHER_BEGINNINGS.iter().any(|beginning| bare.starts_with(beginning));
            is_other.then(|| Self::Other(bare.into()))
        })
    }

    /// The key as Kafka knows it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Known(name, _) => name,
            Self::Other(name) => name,
        }
    }

    /// What is known of it.
    pub(crate) const fn definition(&self) -> Option<&'static Definition> {
        match self {
            Self::Known(_, definition) => Some(definition),
            Self::Other(_) => None,
        }
    }
}

/// Keys of a `server.properties` that are no configurations of a broker, and that are read all the same.
const OTHER_BEGINNINGS: &[&str] = &[
    "zookeeper.",
    "super.users",
    "allow.everyone.if.no.acl.found",
    "listener.name.",
    "leader.imbalance.per.broker.percentage",
];

/// The known key that is most like an unknown one below `log.`.
pub(crate) fn nearest(key: &str) -> Option<String> {
    let bare = key.strip_prefix("log.")?;
    let own = ROWS.iter().map(|row| (row.own, row.own.trim_start_matches("log.")));
    let kafkas = definitions::all_of_broker().map(|definition| (definition.name, definition.name));
    let named = own.map(|(name, bare)| (name.to_owned(), bare));
    let named = named.chain(kafkas.map(|(name, bare)| (format!("log.{name}"), bare)));
    let alike = named.map(|(name, other)| (strsim::jaro_winkler(bare, other), name));
    let best = alike.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (best.0 > LIKENESS_MIN).then_some(best.1)
}

const LIKENESS_MIN: f64 = 0.9;

/// Kafka's keys on which a broker acts.
pub(crate) fn acting() -> impl Iterator<Item = &'static Definition> {
    let acts =
        |definition: &&Definition| matches!(definition.effect, Effect::Acts(_) | Effect::ActsFor { .. });
    definitions::all_of_broker().filter(acts)
}

/// Kafka's keys that are taken without effect.
pub(crate) fn without_effect() -> impl Iterator<Item = &'static Definition> {
    let shown = |definition: &&Definition| definition.effect == Effect::Shown && !definition.is_hidden;
    definitions::all_of_broker().filter(shown)
}

/// Kafka's keys of which only the default, or a few values, are taken.
pub(crate) fn restricted() -> impl Iterator<Item = (&'static Definition, &'static str)> {
    definitions::all_of_broker().filter_map(|definition| match definition.effect {
        Effect::Refused { why, .. } => Some((definition, why)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kafkas_key_is_found_with_and_without_the_name_of_the_service() {
        for (key, name) in [
            ("log.num.partitions", "num.partitions"),
            ("log.log.retention.hours", "log.retention.hours"),
            ("log.retention.hours", "log.retention.hours"),
            ("log.listener.name.internal.ssl.client.auth", "listener.name.internal.ssl.client.auth"),
            ("log.zookeeper.connect", "zookeeper.connect"),
        ] {
            assert_eq!(BrokerKey::of(key).map(|key| key.name().to_owned()).as_deref(), Some(name), "{key}");
        }
        assert!(BrokerKey::of("log.nun.partitions").is_none() && BrokerKey::of("council.x").is_none());
        assert_eq!(nearest("log.nun.partitions").as_deref(), Some("log.num.partitions"));
        assert_eq!(nearest("log.lisen").as_deref(), Some("log.listen"));
    }

    #[test]
    fn no_key_means_two_things() {
        for definition in definitions::all_of_broker() {
            let both = definitions::broker(&format!("log.{}", definition.name));
            assert!(both.is_none(), "`log.{0}` is `{0}` and `log.{0}`", definition.name);
            assert!(!ROWS.iter().any(|row| row.own == format!("log.{}", definition.name)));
            assert!(!ROWS.iter().any(|row| row.own == definition.name), "{}", definition.name);
        }
    }
}
