//! Paths: which are valid, and how a chroot is put before them and taken off.

use crate::Error;

/// Checks a path by ZooKeeper's rules.
///
/// # Errors
/// What is wrong with it.
pub fn validate(path: &str) -> Result<(), &'static str> {
    if path == "/" {
        return Ok(());
    }
    let Some(rest) = path.strip_prefix('/') else { return Err("it does not begin with `/`") };
    if path.ends_with('/') {
        return Err("it ends with `/`");
    }
    for part in rest.split('/') {
        match part {
            "" => return Err("it has an empty part"),
            "." | ".." => return Err("it has a part `.` or `..`"),
            _ if part.chars().any(is_refused) => return Err("it has a character that is not allowed"),
            _ => {}
        }
    }
    Ok(())
}

/// Control characters, the private use area, and what lies at the end of the basic plane or beyond it.
const fn is_refused(character: char) -> bool {
    matches!(character, '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..)
}

/// A client's root.
#[derive(Clone, Debug, Default)]
pub struct Chroot(String);

impl Chroot {
    /// The root at `path`; empty for the tree's own.
    #[must_use]
    pub fn new(path: &str) -> Self {
        Self(String::from(path))
    }

    /// The path as the server knows it.
    ///
    /// # Errors
    /// When it is not a path.
    pub fn to_server(&self, path: &str) -> Result<String, Error> {
        validate(path).map_err(|why| Error::InvalidPath { path: String::from(path), why })?;
        Ok(self.join(path))
    }

    /// As [`Self::to_server`] for a sequential node's path, of which only the number is to come.
    ///
    /// # Errors
    /// When no path can come of it.
    pub fn to_server_prefix(&self, path: &str) -> Result<String, Error> {
        validate(&format!("{path}1")).map_err(|why| Error::InvalidPath { path: String::from(path), why })?;
        Ok(self.join(path))
    }

    fn join(&self, path: &str) -> String {
        if path == "/" && !self.0.is_empty() { self.0.clone() } else { format!("{}{path}", self.0) }
    }

    /// The path as the user knows it. What is not under the root stays as it is.
    #[must_use]
    pub fn to_user<'p>(&self, path: &'p str) -> &'p str {
        match path.strip_prefix(self.0.as_str()) {
            Some("") => "/",
            Some(rest) if rest.starts_with('/') => rest,
            _ => path,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_are_zookeepers() {
        for fine in ["/", "/a", "/a/b", "/a.b", "/...", "/ä", "/a b", "/\u{ffef}"] {
            assert_eq!(validate(fine), Ok(()), "{fine:?}");
        }
        for wrong in [
            "",
            "a",
            "/a/",
            "//",
            "/a//b",
            "/.",
            "/a/..",
            "/\0",
            "/\u{1}",
            "/\u{7f}",
            "/\u{e000}",
            "/\u{fff0}",
            "/😀",
        ] {
            assert!(validate(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_chroot_goes_both_ways() {
        let chroot = Chroot::new("/c");
        assert_eq!(chroot.to_server("/").unwrap(), "/c");
        assert_eq!(chroot.to_server("/a").unwrap(), "/c/a");
        assert_eq!(chroot.to_server_prefix("/a/").unwrap(), "/c/a/");
        assert_eq!((chroot.to_user("/c"), chroot.to_user("/c/a"), chroot.to_user("/cd")), ("/", "/a", "/cd"));
        let none = Chroot::default();
        assert_eq!(none.to_server("/").unwrap(), "/");
        assert_eq!((none.to_user("/"), none.to_user("/a")), ("/", "/a"));
    }
}
