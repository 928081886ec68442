//! Where a share group starts to read a partition that it meets for the first time: `share.auto.offset.reset`.

use core::time::Duration;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetReset {
    /// At the first record.
    Earliest,
    /// Behind the last record.
    Latest,
    /// At the first record that is not older than this.
    ByDuration(Duration),
}

impl OffsetReset {
    /// Reads `earliest`, `latest` or `by_duration:` with a duration behind it, as ISO 8601 writes one of days and smaller units.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "earliest" => Some(Self::Earliest),
            "latest" => Some(Self::Latest),
            _ => duration(text.strip_prefix("by_duration:")?).map(Self::ByDuration),
        }
    }
}

/// What one unit means, in nanoseconds, in the order in which they are written. `T` stands before the second.
const DAY: (char, i128) = ('D', 86_400_000_000_000);
const TIMES: [(char, i128); 3] = [('H', 3_600_000_000_000), ('M', 60_000_000_000), ('S', 1_000_000_000)];

/// Of a second.
const NANOSECONDS: u128 = 1_000_000_000;

/// A duration that is not negative, as `P1DT2H3M4.5S`. Parts of it may be negative; all of it may have a sign before it.
fn duration(text: &str) -> Option<Duration> {
    let text = text.to_ascii_uppercase();
    let (sign, rest) = signed(&text);
    let rest = rest.strip_prefix('P')?;
    let (days, times) = match rest.split_once('T') {
        Some((_, "")) => return None,
        Some((days, times)) => (days, times),
        None => (rest, ""),
    };
    let mut nanoseconds = match days {
        "" if times.is_empty() => return None,
        "" => 0,
        days => part(days.strip_suffix(DAY.0)?, false)?.checked_mul(DAY.1)?,
    };
    let mut rest = times;
    for (unit, worth) in TIMES {
        if let Some((number, behind)) = rest.split_once(unit) {
            nanoseconds += seconds_or_whole(number, unit, worth)?;
            rest = behind;
        }
    }
    let total = u128::try_from(sign * nanoseconds).ok()?;
    let seconds = u64::try_from(total / NANOSECONDS).ok()?;
    let nanoseconds = u32::try_from(total % NANOSECONDS).ok()?;
    rest.is_empty().then(|| Duration::new(seconds, nanoseconds))
}

fn signed(text: &str) -> (i128, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// A whole number with a sign before it.
fn part(text: &str, may_be_empty: bool) -> Option<i128> {
    let (sign, digits) = signed(text);
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    if !are_digits || digits.len() > 18 || (digits.is_empty() && !may_be_empty) {
        return None;
    }
    Some(sign * digits.parse::<i128>().unwrap_or(0))
}

/// Only seconds have a fraction, of up to nine digits.
fn seconds_or_whole(text: &str, unit: char, worth: i128) -> Option<i128> {
    let Some((whole, fraction)) = text.split_once(['.', ',']) else {
        return part(text, false)?.checked_mul(worth);
    };
    let is_fraction = fraction.len() <= 9 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    if unit != 'S' || !is_fraction {
        return None;
    }
    let (sign, _) = signed(whole);
    let nanoseconds: i128 = format!("{fraction:0<9}").parse().ok()?;
    Some(part(whole, false)?.checked_mul(worth)? + sign * nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_iso_8601() {
        let seconds = |text: &str| match OffsetReset::read(text) {
            Some(OffsetReset::ByDuration(duration)) => Some(duration.as_secs_f64()),
            _ => None,
        };
        for (text, expected) in [
            ("by_duration:PT1H", Some(3600.0)),
            ("by_duration:P1DT2H3M4.5S", Some(93_784.5)),
            ("by_duration:pt5m", Some(300.0)),
            ("by_duration:P-1DT25H", Some(3600.0)),
            ("by_duration:-PT-1S", Some(1.0)),
            ("by_duration:PT1.S", Some(1.0)),
            ("by_duration:PT-0.5S", None),
            ("by_duration:-PT1H", None),
            ("by_duration:P1Y", None),
            ("by_duration:P", None),
            ("by_duration:PT", None),
            ("by_duration:P1DT", None),
            ("by_duration:PT1H1", None),
            ("by_duration:PT1S1M", None),
            ("by_duration:PT1.5H", None),
            ("by_duration:PT0.0000000001S", None),
            ("by_duration:P9999999999999999999D", None),
            ("EARLIEST", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
        assert_eq!(OffsetReset::read("earliest"), Some(OffsetReset::Earliest));
    }
}
