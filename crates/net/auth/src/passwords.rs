//! Users and their passwords, from any source. Knows no mechanism: what a mechanism keeps instead of a password it
//! makes from these.

use std::collections::BTreeMap;
use std::fmt;

use base::Secret;
use sha2::{Digest, Sha256};

use crate::constant_time_eq;

/// The passwords of users, by name.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Passwords(BTreeMap<String, Secret>);

impl Passwords {
    /// Adds a user, or changes the password of one.
    pub fn set(&mut self, user: impl Into<String>, password: Secret) {
        self.0.insert(user.into(), password);
    }

    /// Adds a user, unless there is one of this name: then its password stays.
    pub fn add(&mut self, user: impl Into<String>, password: Secret) {
        self.0.entry(user.into()).or_insert(password);
    }

    /// Whether there is such a user with this password. An unknown user takes the time of a known one with another
    /// password. The time grows with the length of what is shown: a caller that takes it from a peer must bound it
    /// first.
    #[must_use]
    pub fn verify(&self, user: &str, shown: &[u8]) -> bool {
        let kept = self.0.get(user);
        // Hashes have the same length for passwords of any length.
        let expected = Sha256::digest(kept.map_or("", |password| password.0.as_str()));
        constant_time_eq(&expected, &Sha256::digest(shown)) & kept.is_some()
    }

    /// All users with their passwords, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.0.iter().map(|(user, password)| (user.as_str(), password))
    }

    /// How many users there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no user.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<U: Into<String>> FromIterator<(U, Secret)> for Passwords {
    /// Of several passwords of one user the first counts.
    fn from_iter<I: IntoIterator<Item = (U, Secret)>>(users: I) -> Self {
        let mut passwords = Self::default();
        users.into_iter().for_each(|(user, password)| passwords.add(user, password));
        passwords
    }
}

impl fmt::Debug for Passwords {
    /// The names only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passwords(users: &[(&str, &str)]) -> Passwords {
        users.iter().map(|(user, password)| (*user, Secret(String::from(*password)))).collect()
    }

    #[test]
    fn password_is_verified_whole() {
        let passwords = passwords(&[("bob", "secret"), ("eve", "")]);
        assert!(passwords.verify("bob", b"secret") && passwords.verify("eve", b""));
        for (user, shown) in [
            ("bob", &b""[..]),
            ("bob", b"secre"),
            ("bob", b"secret "),
            ("bob", b"secret\0"),
            ("Bob", b"secret"),
            ("eve", b"secret"),
            ("nobody", b""),
            ("", b""),
        ] {
            assert!(!passwords.verify(user, shown), "{user} {shown:?}");
        }
    }

    #[test]
    fn first_password_of_a_user_counts_until_it_is_changed() {
        let mut passwords = passwords(&[("bob", "first"), ("bob", "second")]);
        assert!(passwords.len() == 1 && passwords.verify("bob", b"first"));
        passwords.set("bob", Secret(String::from("third")));
        assert!(passwords.len() == 1 && passwords.verify("bob", b"third"));
    }

    #[test]
    fn passwords_are_not_shown() {
        let shown = format!("{:?}", passwords(&[("bob", "hush")]));
        assert!(shown.contains("bob") && !shown.contains("hush"), "{shown}");
    }
}
