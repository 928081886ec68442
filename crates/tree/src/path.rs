//! Paths: which are valid, where they split, how they hash.

use twox_hash::XxHash3_64;

/// The root's own path.
pub(crate) const ROOT_PATH: &str = "/";

/// The nodes that are always there.
pub(crate) const ZOOKEEPER: &str = "/zookeeper";
/// Below it lie the quotas.
pub(crate) const QUOTA: &str = "/zookeeper/quota";
/// It shows the ensemble's membership.
pub(crate) const CONFIG: &str = "/zookeeper/config";

/// Whether nobody may delete that node.
pub(crate) fn is_system(path: &str) -> bool {
    matches!(path, ROOT_PATH | ZOOKEEPER | QUOTA | CONFIG)
}

/// Whether ZooKeeper would let a node have this path (`PathUtils.validatePath`).
pub(crate) fn is_valid(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    rest.is_empty() || rest.split('/').all(is_name)
}

/// Whether that may be one component of a path.
pub(crate) fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && name.chars().all(is_allowed)
}

/// Control characters, private use, the specials, and all beyond the basic plane (surrogates, to Java) are refused.
const fn is_allowed(c: char) -> bool {
    !matches!(
        c,
        '/' | '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}' | '\u{10000}'..
    )
}

/// The parent's path ("" for the root) and the last name. `None` without a slash, or with a NUL anywhere: the two
/// things that ZooKeeper looks at before it looks at the tree.
pub(crate) fn split(path: &str) -> Option<(&str, &str)> {
    if path.contains('\0') {
        return None;
    }
    path.rsplit_once('/')
}

/// How long Java takes the path to be: UTF-16 units.
pub(crate) fn java_length(path: &str) -> i64 {
    let units: usize = if path.is_ascii() { path.len() } else { path.chars().map(char::len_utf16).sum() };
    i64::try_from(units).unwrap_or(i64::MAX)
}

/// The hash of a path, made of its parent's and its name's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathHash(pub(crate) u64);

impl PathHash {
    /// The root's.
    pub(crate) const ROOT: Self = Self(0x9e37_79b9_7f4a_7c15);

    /// A child's.
    #[inline]
    pub(crate) fn child(self, name: &str) -> Self {
        Self(XxHash3_64::oneshot_with_seed(self.0, name.as_bytes()))
    }

    /// That of a whole path; `None` when no node can have it.
    #[inline]
    pub(crate) fn of(path: &str) -> Option<Self> {
        if path.is_empty() || path == ROOT_PATH {
            return Some(Self::ROOT);
        }
        Some(path.strip_prefix('/')?.split('/').fold(Self::ROOT, Self::child))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_judged_as_by_zookeeper() {
        for path in ["/", "/a", "/a/b", "/...", "/.a", "/a.", "/a..b/c", "/ä", "/a b", "/\u{feff}"] {
            assert!(is_valid(path), "{path:?}");
        }
        for path in [
            "",
            "a",
            "a/b",
            "/a/",
            "//",
            "//a",
            "/a//b",
            "/.",
            "/..",
            "/a/.",
            "/a/../b",
            "/a\0",
            "/\u{1}",
            "/\u{7f}",
            "/\u{9f}",
            "/\u{e000}",
            "/\u{f8ff}",
            "/\u{fff0}",
            "/\u{ffff}",
            "/\u{1f600}",
        ] {
            assert!(!is_valid(path), "{path:?}");
        }
    }

    #[test]
    fn a_path_hashes_as_the_chain_of_its_names() {
        assert_eq!(PathHash::of("/"), PathHash::of(""));
        assert_eq!(PathHash::of("/a/b"), Some(PathHash::ROOT.child("a").child("b")));
        assert_ne!(PathHash::of("/a/b"), PathHash::of("/ab"));
        assert_eq!(PathHash::of("a"), None);
    }
}
