//! `diwan.drain`: whether what a broker leads and keeps moves to other brokers. Of a broker's configurations it is the only one that
//! any broker is asked for: one that is to go for good may not answer any more.

use crate::definitions;
use crate::layers::Overrides;
use crate::resource::kind;
use crate::value::Value;

/// Its name.
pub const DRAIN: &str = "diwan.drain";

/// Whether a broker drains for which this is set.
#[must_use]
pub fn drains(set: &Overrides) -> bool {
    let read = |raw: &String| Value::read(definitions::broker(DRAIN)?, raw).ok();
    set.get(DRAIN).and_then(read) == Some(Value::Boolean(true))
}

/// The other broker that a request names, with `diwan.drain` and nothing else.
#[must_use]
pub fn of_other_broker<'k>(
    (resource_type, name): (i8, &str),
    mut keys: impl Iterator<Item = &'k str>,
    node_id: i32,
) -> Option<i32> {
    let id = name.parse().ok().filter(|id| resource_type == kind::BROKER && *id >= 0 && *id != node_id)?;
    let is_drain = keys.next() == Some(DRAIN) && keys.all(|key| key == DRAIN);
    is_drain.then_some(id)
}

#[cfg(test)]
mod tests {
    use log_wire::messages::configs::IncrementalAlterableConfig;

    use super::*;
    use crate::change::broker::alter_drain as alter;
    use crate::layers::BrokerLayers;

    fn set(pairs: &[(&str, &str)]) -> Overrides {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    fn change(name: &str, value: Option<&str>) -> IncrementalAlterableConfig {
        let config_operation = if value.is_some() { 0 } else { 1 };
        IncrementalAlterableConfig { name: name.into(), config_operation, value: value.map(String::from) }
    }

    #[test]
    fn broker_drains_only_where_that_is_set_and_true() {
        assert!(drains(&set(&[(DRAIN, " True ")])));
        for other in [&[][..], &[(DRAIN, "false")], &[(DRAIN, "1")], &[("num.partitions", "true")]] {
            assert!(!drains(&set(other)), "{other:?}");
        }
    }

    #[test]
    fn other_broker_is_named_with_nothing_else() {
        let named =
            |kind, name, keys: &[&'static str]| of_other_broker((kind, name), keys.iter().copied(), 1);
        assert_eq!(named(kind::BROKER, "2", &[DRAIN, DRAIN]), Some(2));
        for (kind, name, keys) in [
            (kind::BROKER, "1", &[DRAIN][..]),
            (kind::BROKER, "", &[DRAIN]),
            (kind::BROKER, "-2", &[DRAIN]),
            (kind::BROKER, "2", &[]),
            (kind::BROKER, "2", &[DRAIN, "num.io.threads"]),
            (kind::TOPIC, "2", &[DRAIN]),
            (kind::LOGGERS, "2", &[DRAIN]),
        ] {
            assert_eq!(named(kind, name, keys), None, "{kind} {name} {keys:?}");
        }
    }

    #[test]
    fn what_else_is_set_for_another_broker_stays() {
        let (nothing, file) = (Overrides::new(), Overrides::new());
        let layers = BrokerLayers { broker: &nothing, cluster: &nothing, file: &file };
        // It would be refused by this broker: its threads would grow to more than twice as many.
        let current = set(&[("num.io.threads", "900")]);
        let drained = alter(&current, &[change(DRAIN, Some("true"))], layers).expect("it may be set");
        assert_eq!(drained, set(&[("num.io.threads", "900"), (DRAIN, "true")]));
        assert_eq!(alter(&drained, &[change(DRAIN, None)], layers), Ok(current.clone()));
        assert!(alter(&current, &[change(DRAIN, Some("perhaps"))], layers).is_err());
    }
}
