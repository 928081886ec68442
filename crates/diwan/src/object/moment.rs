//! Times of the group's clock, for people.

use jiff::Timestamp;

/// `2026-11-30 03:41:07 UTC`.
pub(super) fn to_a_second(ms: i64) -> String {
    shown(ms, "%Y-%m-%d %H:%M:%S UTC")
}

/// `2026-11-30 03:41:07.250 UTC`.
pub(super) fn to_a_millisecond(ms: i64) -> String {
    shown(ms, "%Y-%m-%d %H:%M:%S%.3f UTC")
}

fn shown(ms: i64, format: &str) -> String {
    Timestamp::from_millisecond(ms)
        .map_or_else(|_| String::from("-"), |time| time.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_utc() {
        let ms = 1_764_474_067_250;
        assert_eq!(to_a_second(ms), "2025-11-30 03:41:07 UTC");
        assert_eq!(to_a_millisecond(ms), "2025-11-30 03:41:07.250 UTC");
        assert_eq!(to_a_second(i64::MAX), "-");
    }
}
