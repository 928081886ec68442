//! Stands in for the crate of this name, whose licence (LGPL-3.0) does not fit: fractions, as far as the interpreter uses them,
//! which is to divide two whole numbers and to tell a float as a fraction.

use std::cmp::Ordering;

use malachite_base::num::conversion::traits::RoundingInto;
use malachite_base::rounding_modes::RoundingMode;
use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};

/// Bits of a float's fraction.
const FRACTION_BITS: i64 = 52;
/// The smallest float above zero is two to the power of minus this.
const SMALLEST: i64 = 1074;

/// A fraction in its lowest terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rational {
    is_negative: bool,
    numerator: BigUint,
    denominator: BigUint,
}

impl Rational {
    /// One whole number divided by another, which is not zero.
    #[must_use]
    pub fn from_integers_ref(numerator: &BigInt, denominator: &BigInt) -> Self {
        let is_negative = (numerator.sign() == Sign::Minus) != (denominator.sign() == Sign::Minus);
        Self::lowest(is_negative, numerator.magnitude().clone(), denominator.magnitude().clone())
    }

    fn lowest(is_negative: bool, numerator: BigUint, denominator: BigUint) -> Self {
        let common = numerator.gcd(&denominator);
        Self { is_negative, numerator: numerator / &common, denominator: denominator / common }
    }

    /// Both, without the sign.
    #[must_use]
    pub fn into_numerator_and_denominator(self) -> (BigUint, BigUint) {
        (self.numerator, self.denominator)
    }

    /// The nearest float to it without the sign; infinity if there is none.
    fn nearest(&self) -> f64 {
        let (numerator, denominator) = (&self.numerator, &self.denominator);
        if numerator.is_zero() {
            return 0.0;
        }
        // The quotient is to have a float's 53 bits, or one more, and no bit that a float cannot have.
        let more = signed(denominator.bits()) - signed(numerator.bits()) + FRACTION_BITS + 1;
        let shift = more.min(SMALLEST);
        let (quotient, rest, divisor) = divided(numerator, denominator, shift);
        let mut units = quotient.to_u64().expect("54 bits");
        // With 54 bits the last one is half of what a float can have.
        if units >> (FRACTION_BITS + 1) == 1 {
            let is_half = units & 1 == 1;
            let is_up = is_half && (!rest.is_zero() || units & 2 == 2);
            return scaled((units >> 1) + u64::from(is_up), 1 - shift);
        }
        let is_up = match (rest * 2u32).cmp(&divisor) {
            Ordering::Less => false,
            Ordering::Equal => units & 1 == 1,
            Ordering::Greater => true,
        };
        units += u64::from(is_up);
        scaled(units, -shift)
    }
}

fn signed(bits: u64) -> i64 {
    i64::try_from(bits).expect("fewer bits than memory has")
}

/// Quotient, rest and divisor of a division, the dividend shifted to the left.
fn divided(numerator: &BigUint, denominator: &BigUint, shift: i64) -> (BigUint, BigUint, BigUint) {
    let (mut dividend, mut divisor) = (numerator.clone(), denominator.clone());
    if shift >= 0 {
        dividend <<= shift;
    } else {
        divisor <<= -shift;
    }
    let (quotient, rest) = dividend.div_rem(&divisor);
    (quotient, rest, divisor)
}

/// At most 2^53, times a power of two that leaves it a float, or makes it infinite.
#[expect(clippy::cast_precision_loss, reason = "2^53 at the most")]
fn scaled(units: u64, mut exponent: i64) -> f64 {
    let mut float = units as f64;
    while exponent != 0 && float.is_finite() {
        let step = exponent.clamp(-1000, 1000);
        float *= 2f64.powi(i32::try_from(step).expect("at most 1000"));
        exponent -= step;
    }
    float
}

impl RoundingInto<f64> for Rational {
    fn rounding_into(self, RoundingMode::Nearest: RoundingMode) -> (f64, Ordering) {
        let nearest = self.nearest();
        let order = match Rational::try_from(nearest) {
            Ok(float) => (float.numerator * &self.denominator).cmp(&(&self.numerator * float.denominator)),
            Err(NotANumber) => Ordering::Greater,
        };
        if self.is_negative { (-nearest, order.reverse()) } else { (nearest, order) }
    }
}

/// A float that is no fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotANumber;

impl TryFrom<f64> for Rational {
    type Error = NotANumber;

    fn try_from(float: f64) -> Result<Self, NotANumber> {
        if !float.is_finite() {
            return Err(NotANumber);
        }
        let bits = float.to_bits();
        let fraction = bits & ((1 << FRACTION_BITS) - 1);
        let (units, exponent) = match (bits >> FRACTION_BITS) & 0x7ff {
            0 => (fraction, -SMALLEST),
            exponent => (fraction | 1 << FRACTION_BITS, signed(exponent) - 1 - SMALLEST),
        };
        let (mut numerator, mut denominator) = (BigUint::from(units), BigUint::one());
        if exponent >= 0 {
            numerator <<= exponent;
        } else {
            denominator <<= -exponent;
        }
        Ok(Self::lowest(float.is_sign_negative(), numerator, denominator))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divide(numerator: &BigInt, denominator: &BigInt) -> f64 {
        Rational::from_integers_ref(numerator, denominator).rounding_into(RoundingMode::Nearest).0
    }

    #[test]
    fn division_of_small_numbers_equals_the_division_of_floats() {
        for numerator in -40i32..40 {
            for denominator in (-40i32..40).filter(|denominator| *denominator != 0) {
                let expected = f64::from(numerator) / f64::from(denominator);
                assert_eq!(
                    divide(&numerator.into(), &denominator.into()),
                    expected,
                    "{numerator}/{denominator}"
                );
            }
        }
    }

    #[test]
    fn halves_are_rounded_to_the_even_one() {
        let one = BigInt::one();
        let wide = BigInt::from(1u64 << 53);
        assert_eq!(divide(&(&wide + 1), &one), 9_007_199_254_740_992.0);
        assert_eq!(divide(&(&wide + 3), &one), 9_007_199_254_740_996.0);
        assert_eq!(divide(&((&wide + 1) * 4 + 1), &4.into()), 9_007_199_254_740_994.0);
        // Below the smallest float: half of it is rounded to zero, more is not.
        let tiny = BigInt::one() << 1075;
        assert_eq!(divide(&one, &tiny), 0.0);
        assert_eq!(divide(&3.into(), &tiny), f64::from_bits(2));
        assert_eq!(divide(&5.into(), &(tiny * 2)), f64::from_bits(1));
    }

    #[test]
    fn what_no_float_can_tell_is_infinite() {
        assert_eq!(divide(&(BigInt::one() << 1024), &BigInt::one()), f64::INFINITY);
        assert_eq!(divide(&(-BigInt::one() << 2000), &BigInt::one()), f64::NEG_INFINITY);
        assert_eq!(divide(&(BigInt::one() << 2000), &(BigInt::one() << 1990)), 1024.0);
    }

    #[test]
    fn floats_are_fractions() {
        for float in [0.1, 0.5, 1.0, -3.25, f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1)] {
            let fraction = Rational::try_from(float).unwrap();
            assert_eq!(fraction.rounding_into(RoundingMode::Nearest), (float, Ordering::Equal));
        }
        assert_eq!(
            Rational::try_from(0.75).unwrap().into_numerator_and_denominator(),
            (3u32.into(), 4u32.into())
        );
        assert_eq!(Rational::try_from(f64::NAN), Err(NotANumber));
    }
}
