//! Why a broker does not start with its `server.properties`, in the words that its operator sees.

use core::fmt;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The key that is wrong; empty if the file cannot be read.
    pub key: String,
    /// Its line, counted from 1; 0 if it comes from no file.
    pub line: usize,
    /// What is wrong, with the key and the line in it.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Problem {
    /// What is wrong with a key, with the key as the subject.
    pub(crate) fn of(key: &str, line: usize, what: impl fmt::Display) -> Self {
        let place = if line == 0 { String::new() } else { format!(" (line {line})") };
        Self { key: key.into(), line, what: format!("`{key}`{place} {what}"), hint: None }
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl fmt::Display for Problem {
    /// With the hint on a line of its own.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.what)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(out, "\nhint: {hint}"))
    }
}
