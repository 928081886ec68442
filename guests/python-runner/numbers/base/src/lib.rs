//! Stands in for the crate of this name, whose licence (LGPL-3.0) does not fit: the little of it that the interpreter uses.

/// Ways to round.
pub mod rounding_modes {
    /// How a number that cannot be told exactly is rounded.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum RoundingMode {
        /// To the nearest; to the even one of two that are equally near.
        Nearest,
    }
}

/// Numbers.
pub mod num {
    /// Kinds of numbers.
    pub mod basic {
        /// Numbers with a point.
        pub mod floats {
            /// What the interpreter asks of a number with a point.
            pub trait PrimitiveFloat {
                /// Whether it is zero with a minus.
                fn is_negative_zero(&self) -> bool;
            }

            impl PrimitiveFloat for f64 {
                fn is_negative_zero(&self) -> bool {
                    *self == 0.0 && self.is_sign_negative()
                }
            }
        }
    }

    /// From one kind to another.
    pub mod conversion {
        /// Traits of this.
        pub mod traits {
            use crate::rounding_modes::RoundingMode;

            /// Rounds to another kind of number.
            pub trait RoundingInto<T> {
                /// The rounded number, and how it compares with the exact one.
                fn rounding_into(self, mode: RoundingMode) -> (T, core::cmp::Ordering);
            }
        }
    }
}
