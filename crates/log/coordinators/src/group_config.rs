//! The settings of one group: Kafka's configurations of the resource type `GROUP`.

use crate::ConsumerLimits;

/// The settings of one group. What is not set, the broker's [`ConsumerLimits`] say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupConfig {
    /// `consumer.session.timeout.ms`.
    pub session_timeout_ms: Option<u64>,
    /// `consumer.heartbeat.interval.ms`.
    pub heartbeat_interval_ms: Option<u64>,
    /// `consumer.assignment.interval.ms`.
    pub assignment_interval_ms: Option<u64>,
}

/// Why settings are refused (INVALID_CONFIG): the name of the setting, and what it must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidGroupConfig {
    /// It must be at least so many milliseconds.
    TooSmall(&'static str, u64),
    /// It may be so many milliseconds at most.
    TooLarge(&'static str, u64),
    /// The session timeout must be longer than the heartbeat interval.
    SessionWithinHeartbeat,
}

impl GroupConfig {
    /// Whether a client may set this.
    ///
    /// # Errors
    /// The first setting that is outside of the broker's limits.
    pub fn check(&self, limits: &ConsumerLimits) -> Result<(), InvalidGroupConfig> {
        for (name, value, least, most) in self.bounds(limits) {
            match value {
                Some(value) if value < least => return Err(InvalidGroupConfig::TooSmall(name, least)),
                Some(value) if value > most => return Err(InvalidGroupConfig::TooLarge(name, most)),
                _ => {}
            }
        }
        if self.session_timeout_ms(limits) <= self.heartbeat_interval_ms(limits) {
            return Err(InvalidGroupConfig::SessionWithinHeartbeat);
        }
        Ok(())
    }

    fn bounds(&self, limits: &ConsumerLimits) -> [(&'static str, Option<u64>, u64, u64); 3] {
        [
            (
                "consumer.heartbeat.interval.ms",
                self.heartbeat_interval_ms,
                limits.heartbeat_interval_min_ms,
                limits.heartbeat_interval_max_ms,
            ),
            (
                "consumer.session.timeout.ms",
                self.session_timeout_ms,
                limits.session_timeout_min_ms,
                limits.session_timeout_max_ms,
            ),
            (
                "consumer.assignment.interval.ms",
                self.assignment_interval_ms,
                limits.assignment_interval_min_ms,
                limits.assignment_interval_max_ms,
            ),
        ]
    }

    /// How long a member may be silent. A setting from before the limits were changed is brought within them, as Kafka does.
    #[must_use]
    pub fn session_timeout_ms(&self, limits: &ConsumerLimits) -> u64 {
        let set = self.session_timeout_ms;
        set.map_or(limits.session_timeout_ms, |ms| {
            ms.max(limits.session_timeout_min_ms).min(limits.session_timeout_max_ms)
        })
    }

    /// How often members are told to send a heartbeat.
    #[must_use]
    pub fn heartbeat_interval_ms(&self, limits: &ConsumerLimits) -> u64 {
        let set = self.heartbeat_interval_ms;
        set.map_or(limits.heartbeat_interval_ms, |ms| {
            ms.max(limits.heartbeat_interval_min_ms).min(limits.heartbeat_interval_max_ms)
        })
    }

    /// How long a target assignment stays before the next one is computed.
    #[must_use]
    pub fn assignment_interval_ms(&self, limits: &ConsumerLimits) -> u64 {
        let set = self.assignment_interval_ms;
        set.map_or(limits.assignment_interval_ms, |ms| {
            ms.max(limits.assignment_interval_min_ms).min(limits.assignment_interval_max_ms)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_outside_of_the_limits_are_refused() {
        let limits = ConsumerLimits::default();
        let session = |ms| GroupConfig { session_timeout_ms: Some(ms), ..GroupConfig::default() };
        let name = "consumer.session.timeout.ms";
        assert_eq!(session(45_000).check(&limits), Ok(()));
        assert_eq!(session(44_999).check(&limits), Err(InvalidGroupConfig::TooSmall(name, 45_000)));
        assert_eq!(session(60_001).check(&limits), Err(InvalidGroupConfig::TooLarge(name, 60_000)));
        let interval = GroupConfig { assignment_interval_ms: Some(15_001), ..GroupConfig::default() };
        assert!(matches!(interval.check(&limits), Err(InvalidGroupConfig::TooLarge(_, 15_000))));
        let wide = ConsumerLimits { session_timeout_min_ms: 1, heartbeat_interval_min_ms: 1, ..limits };
        let equal = GroupConfig { heartbeat_interval_ms: Some(3_000), ..session(3_000) };
        assert_eq!(equal.check(&wide), Err(InvalidGroupConfig::SessionWithinHeartbeat));
    }

    #[test]
    fn settings_of_before_are_brought_within_the_limits() {
        let limits = ConsumerLimits::default();
        let config = GroupConfig { session_timeout_ms: Some(1), ..GroupConfig::default() };
        assert_eq!(config.session_timeout_ms(&limits), 45_000);
        assert_eq!(config.heartbeat_interval_ms(&limits), 5_000);
    }
}
