//! A number in decimal digits. Results and responses are full of them, and a format string takes several times as long.

/// Digits of the largest number.
const DIGITS: usize = 20;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    digits: [u8; DIGITS],
    /// Where they begin.
    from: usize,
}

impl Decimal {
    /// The digits of a number.
    #[must_use]
    pub const fn of(mut number: u64) -> Self {
        let (mut digits, mut from) = ([b'0'; DIGITS], DIGITS - 1);
        loop {
            digits[from] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return Self { digits, from };
            }
            from -= 1;
        }
    }

    /// Them as text.
    ///
    /// # Panics
    /// Never: digits are text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.digits[self.from..]).expect("digits are text")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_a_format_string() {
        for number in [0, 1, 9, 10, 99, 100, 12_345, 1 << 53, u64::MAX - 1, u64::MAX] {
            assert_eq!(Decimal::of(number).as_str(), number.to_string());
        }
    }
}
