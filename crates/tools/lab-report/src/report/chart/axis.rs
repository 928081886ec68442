//! From values to places in the picture, and numbers as a reader wants them. Knows nothing of what is drawn.

/// From values to places in the picture.
#[derive(Debug)]
pub(super) struct Axis {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) log: bool,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Axis {
    pub(super) fn place(&self, value: f64) -> f64 {
        let part = match self.log {
            true => (value.max(self.low).log10() - self.low.log10()) / (self.high.log10() - self.low.log10()),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + part.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Round values to write on it.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.log {
            let powers = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
            let within = |value: &f64| *value >= self.low * 0.999 && *value <= self.high * 1.001;
            let tens: Vec<f64> = powers.clone().map(|power| 10f64.powi(power)).filter(within).collect();
            if tens.len() >= 3 {
                return tens;
            }
            let of = |power| [1.0, 2.0, 5.0].map(|first| first * 10f64.powi(power));
            return powers.flat_map(of).filter(within).collect();
        }
        let step = nice((self.high - self.low) / 5.0);
        let first = (self.low / step).ceil() as i64;
        (first..).map(|number| number as f64 * step).take_while(|value| *value <= self.high * 1.001).collect()
    }
}

/// The next of 1, 2, 5, 10, ..
fn nice(value: f64) -> f64 {
    let power = 10f64.powf(value.max(1e-12).log10().floor());
    let first = value / power;
    let rounded = [1.0, 2.0, 5.0, 10.0].into_iter().find(|step| first <= step * 1.0001).unwrap_or(10.0);
    rounded * power
}

/// A number as a reader wants it.
pub(in super::super) fn number(value: f64) -> String {
    let size = value.abs();
    let text = match size {
        _ if value == 0.0 => return String::from("0"),
        _ if size >= 1_000_000.0 => format!("{:.1}M", value / 1e6),
        _ if size >= 10_000.0 => format!("{:.0}k", value / 1e3),
        _ if size >= 1000.0 => format!("{:.1}k", value / 1e3),
        _ if size >= 100.0 => format!("{value:.0}"),
        _ if size >= 10.0 => format!("{value:.1}"),
        _ if size >= 1.0 => format!("{value:.2}"),
        _ if size >= 0.01 => format!("{value:.3}"),
        _ if size >= 0.0001 => format!("{value:.4}"),
        _ => format!("{value:.0e}"),
    };
    match text.split_once('.') {
        // `1.0k` is `1k`.
        Some((whole, rest)) if !rest.contains('e') => {
            let unit = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
            let digits = rest[..rest.len() - unit.len()].trim_end_matches('0');
            if digits.is_empty() { format!("{whole}{unit}") } else { format!("{whole}.{digits}{unit}") }
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let numbers = [(0.0, "0"), (1000.0, "1k"), (1500.0, "1.5k"), (412_345.0, "412k"), (2.5e6, "2.5M")];
        for (value, text) in
            numbers.into_iter().chain([(0.7, "0.7"), (12.0, "12"), (100.0, "100"), (3.25, "3.25")])
        {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn ticks_are_round_and_within() {
        let axis = |low, high, log| Axis { low, high, log, from: 0.0, to: 100.0 };
        assert_eq!(axis(0.0, 44.0, false).ticks(), [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert_eq!(axis(1.0, 1000.0, true).ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(axis(20.0, 80.0, true).ticks(), [20.0, 50.0]);
        assert_eq!(axis(1.0, 100.0, true).place(10.0), 50.0);
    }
}
