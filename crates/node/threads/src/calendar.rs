//! Dates as logs and answers write them, in UTC. Knows no clock: a time comes in from outside.

use base::WallTime;
use jiff::Timestamp;
use jiff::tz::{Offset, TimeZone};

/// `Sat Nov 21 03:35:43 UTC 2026`, as Java writes a date.
#[must_use]
pub fn long_date(time: WallTime) -> String {
    of(Timestamp::from_millisecond(time.ms()), "%a %b %d %H:%M:%S UTC %Y")
}

/// `2026-02-11 20:18 UTC`.
#[must_use]
pub fn short_date(seconds: i64) -> String {
    of(Timestamp::from_second(seconds), "%Y-%m-%d %H:%M UTC")
}

/// A number beyond the years -9999 to 9999 is no date: such come from damaged files and foreign certificates.
fn of(timestamp: Result<Timestamp, jiff::Error>, format: &str) -> String {
    let utc = TimeZone::fixed(Offset::UTC);
    timestamp.map_or_else(|_| "(no date)".to_owned(), |time| time.to_zoned(utc).strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_agree_with_the_calendar() {
        assert_eq!(long_date(WallTime::of_ms(0)), "Thu Jan 01 00:00:00 UTC 1970");
        assert_eq!(long_date(WallTime::of_ms(1_795_232_143_999)), "Sat Nov 21 03:35:43 UTC 2026");
        assert_eq!(long_date(WallTime::of_ms(951_782_400_000)), "Tue Feb 29 00:00:00 UTC 2000");
        assert_eq!(long_date(WallTime::of_ms(-1)), "Wed Dec 31 23:59:59 UTC 1969");
        assert_eq!(short_date(1_770_841_080), "2026-02-11 20:18 UTC");
    }

    #[test]
    fn numbers_that_are_no_dates_are_said_to_be_none() {
        assert_eq!(long_date(WallTime::of_ms(i64::MAX)), "(no date)");
        assert_eq!(short_date(i64::MIN), "(no date)");
    }
}
