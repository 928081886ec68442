//! Balance of leaders and replicas without a person.

use core::fmt;

use super::unsigned;
use crate::entry::Source;
use crate::layers::Values;

/// What is changed without being asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BalanceMode {
    /// Nothing, and nothing is measured.
    Off,
    /// Nothing: it is only said what would be.
    Propose,
    /// Leaders, which copies nothing.
    #[default]
    Leaders,
    /// Leaders and replicas.
    All,
}

/// See the module. All of it may change while the broker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceSettings {
    /// `diwan.balance`. Where that is not set and `auto.leader.rebalance.enable` is false, it is only proposed.
    pub mode: BalanceMode,
    /// `diwan.balance.interval.ms`.
    pub interval_ms: u64,
    /// `diwan.balance.network.bytes.per.second`.
    pub network_bytes_per_s: u64,
    /// `diwan.balance.move.bytes.per.second`.
    pub move_bytes_per_s: u64,
}

impl Default for BalanceSettings {
    fn default() -> Self {
        Self {
            mode: BalanceMode::default(),
            interval_ms: 10_000,
            network_bytes_per_s: 1_250_000_000,
            move_bytes_per_s: 10_000_000,
        }
    }
}

impl BalanceSettings {
    /// What is in force.
    #[must_use]
    pub fn of(values: &impl Values) -> Self {
        let is_set = values.value("diwan.balance").is_some_and(|(_, source)| source != Source::Default);
        let mode = match values.text("diwan.balance").as_deref() {
            Some("off") => BalanceMode::Off,
            Some("all") => BalanceMode::All,
            Some("propose") => BalanceMode::Propose,
            // Who does not want leaders to change by themselves has not asked for this.
            _ if !is_set && !values.is_true("auto.leader.rebalance.enable") => BalanceMode::Propose,
            _ => BalanceMode::Leaders,
        };
        Self {
            mode,
            interval_ms: unsigned(values, "diwan.balance.interval.ms"),
            network_bytes_per_s: unsigned(values, "diwan.balance.network.bytes.per.second"),
            move_bytes_per_s: unsigned(values, "diwan.balance.move.bytes.per.second"),
        }
    }
}

impl fmt::Display for BalanceMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Propose => "propose",
            Self::Leaders => "leaders",
            Self::All => "all",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::{BrokerLayers, Overrides};

    fn of(pairs: &[(&str, &str)]) -> BalanceSettings {
        let file: Overrides = pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let nothing = Overrides::new();
        BalanceSettings::of(&BrokerLayers { broker: &nothing, cluster: &nothing, file: &file })
    }

    #[test]
    fn leaders_change_unless_they_are_to_stay_where_they_are() {
        assert_eq!(of(&[]), BalanceSettings::default());
        let stay = ("auto.leader.rebalance.enable", "false");
        assert_eq!(of(&[stay]).mode, BalanceMode::Propose);
        assert_eq!(of(&[stay, ("diwan.balance", "leaders")]).mode, BalanceMode::Leaders);
        assert_eq!(of(&[stay, ("diwan.balance", "all")]).mode, BalanceMode::All);
        for mode in [BalanceMode::Off, BalanceMode::Propose, BalanceMode::Leaders, BalanceMode::All] {
            assert_eq!(of(&[("diwan.balance", &mode.to_string())]).mode, mode);
        }
    }
}
