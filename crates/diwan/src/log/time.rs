//! Moments as users write them.

use std::str::FromStr;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, Zoned};

/// The time, milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// A moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment(Timestamp);

impl Moment {
    /// Milliseconds since 1970.
    pub(super) fn ms(self) -> i64 {
        self.0.as_millisecond()
    }
}

impl FromStr for Moment {
    type Err = &'static str;

    /// Reads a time with an offset or a zone, a local time, or a span before now.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "expected a time such as `2026-11-24T10:00:00Z`, or a time ago such as `1h 30m`";
        if let Ok(timestamp) = text.parse::<Timestamp>() {
            return Ok(Self(timestamp));
        }
        if let Ok(local) = text.parse::<DateTime>() {
            return local
                .to_zoned(TimeZone::system())
                .map(|zoned| Self(zoned.timestamp()))
                .map_err(|_| WRONG);
        }
        let ago = text.parse::<Span>().map_err(|_| WRONG)?;
        Zoned::now().checked_sub(ago.abs()).map(|zoned| Self(zoned.timestamp())).map_err(|_| WRONG)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_or_a_span_before_now() {
        let of = |text: &str| text.parse::<Moment>().map(Moment::ms);
        assert_eq!(of("1970-01-01T00:00:01Z"), Ok(1000));
        let hour_ago = Timestamp::now().as_millisecond() - 3_600_000;
        for text in ["1h", "60m", "PT1H", "1 hour"] {
            assert!((of(text).expect("it is one") - hour_ago).abs() < 60_000, "{text}");
        }
        assert!(of("yesterday").is_err());
    }
}
