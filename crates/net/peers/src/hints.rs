//! What hints in logs and refusals call things that the program around names.

/// How the operator says what members go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// The setting that names the file of the ensemble's secret.
    pub secret: &'static str,
    /// The setting that has members speak TLS.
    pub tls: &'static str,
    /// What may be at the other end by mistake, as a question.
    pub foreign: &'static str,
}

impl Hints {
    /// Where nobody says how things are called.
    pub const PLAIN: Self = Self {
        secret: "the setting of the ensemble's secret",
        tls: "TLS between members",
        foreign: "is it another server, or a client?",
    };
}
