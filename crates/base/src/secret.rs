//! Text that is not to be shown.

use core::fmt;

/// Text that must not show up in logs.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_does_not_show_itself() {
        let shown = format!("{:?}", Some(Secret(String::from("hush"))));
        assert_eq!(shown, "Some(Secret(..))");
    }
}
