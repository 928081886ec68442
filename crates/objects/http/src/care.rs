//! What may be done to an object by those who look after it.

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// To another version, by a body that names it.
    Migrate,
    Rollback,
    Quarantine,
    Release,
    /// As JSON.
    Export,
    /// A new object of what another one was exported as.
    Import,
}

impl Care {
    /// By the word behind the object's name.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Some(match word {
            "migrate" => Self::Migrate,
            "rollback" => Self::Rollback,
            "quarantine" => Self::Quarantine,
            "release" => Self::Release,
            "export" => Self::Export,
            "import" => Self::Import,
            _ => return None,
        })
    }
}
