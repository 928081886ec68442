//! How a method says no.

use std::fmt;

/// A call is refused: the caller gets the code, and the object is as before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// A word for programs, such as `not-owner`.
    pub code: String,
    /// What people are told.
    pub detail: String,
}

impl Refused {
    /// With a code and a sentence.
    pub fn new(code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { code: code.into(), detail: detail.into() }
    }

    pub(crate) fn argument(name: &str, wrong: &dyn fmt::Display) -> Self {
        Self::new("bad-argument", format!("`{name}`: {wrong}"))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}

impl std::error::Error for Refused {}
