//! Dates as ZooKeeper writes them, in UTC. Knows no clock: a time comes in as a number.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

struct Date {
    year: i64,
    month: usize,
    day: i64,
    weekday: usize,
    hour: i64,
    minute: i64,
    second: i64,
}

impl Date {
    /// The civil date of a moment: years are counted from March, so that the leap day is a year's last.
    fn of_seconds(seconds: i64) -> Self {
        let days = seconds.div_euclid(86_400);
        let of_day = seconds.rem_euclid(86_400);
        let from_march_of_0 = days + 719_468;
        let era = from_march_of_0.div_euclid(146_097);
        let day_of_era = from_march_of_0.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = (month_from_march + 2) % 12;
        Self {
            year: year_of_era + era * 400 + i64::from(month < 2),
            month: month as usize,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            weekday: days.rem_euclid(7) as usize,
            hour: of_day / 3_600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
        }
    }
}

/// `Sat Nov 21 03:35:43 UTC 2026`.
pub(crate) fn long_date(millis: i64) -> String {
    let date = Date::of_seconds(millis.div_euclid(1000));
    let (weekday, month) = (DAYS.get(date.weekday).unwrap_or(&""), MONTHS.get(date.month).unwrap_or(&""));
    format!(
        "{weekday} {month} {:02} {:02}:{:02}:{:02} UTC {}",
        date.day, date.hour, date.minute, date.second, date.year
    )
}

/// `2026-02-11 20:18 UTC`.
pub(crate) fn short_date(seconds: i64) -> String {
    let date = Date::of_seconds(seconds);
    format!("{}-{:02}-{:02} {:02}:{:02} UTC", date.year, date.month + 1, date.day, date.hour, date.minute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_agree_with_the_calendar() {
        assert_eq!(long_date(0), "Thu Jan 01 00:00:00 UTC 1970");
        assert_eq!(long_date(1_795_232_143_999), "Sat Nov 21 03:35:43 UTC 2026");
        assert_eq!(long_date(951_782_400_000), "Tue Feb 29 00:00:00 UTC 2000");
        assert_eq!(long_date(-1), "Wed Dec 31 23:59:59 UTC 1969");
        assert_eq!(short_date(1_770_841_080), "2026-02-11 20:18 UTC");
    }
}
