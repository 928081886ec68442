//! Who a client is: a kind and a name, written `KIND:NAME`.

use std::sync::Arc;

/// A client that has not said who it is.
const ANONYMOUS: &str = "User:ANONYMOUS";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Everybody, in rules.
    pub const EVERYBODY: &'static str = "User:*";

    /// The user of that name.
    #[must_use]
    pub fn user(name: &str) -> Self {
        Self(format!("User:{name}").into())
    }

    /// A client that has not said who it is.
    #[must_use]
    pub fn anonymous() -> Self {
        Self(ANONYMOUS.into())
    }

    /// Reads `KIND:NAME`; nothing if there is no colon.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        text.contains(':').then(|| Self(text.into()))
    }

    /// As it is written in rules.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Its name alone, which quotas know it by.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.split_once(':').map_or(&self.0, |(_, name)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_what_is_behind_the_first_colon() {
        assert_eq!(Principal::user("a:b").name(), "a:b");
        assert_eq!(
            Principal::parse("Group:x").map(|principal| principal.name().to_owned()),
            Some("x".into())
        );
        assert_eq!(Principal::parse("alice"), None);
        assert_eq!(Principal::anonymous(), Principal::user("ANONYMOUS"));
    }
}
