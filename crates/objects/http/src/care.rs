//! What may be done to an object of a user's type by those who look after it.

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// To another version, by a body that names it.
    Migrate,
    Rollback,
    Quarantine,
    Release,
}

impl Care {
    /// By the word behind the object's name.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Some(match word {
            "migrate" => Self::Migrate,
            "rollback" => Self::Rollback,
            "quarantine" => Self::Quarantine,
            "release" => Self::Release,
            _ => return None,
        })
    }
}
