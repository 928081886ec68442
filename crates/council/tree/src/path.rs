//! Paths: which are valid, where they split, how they hash.

use twox_hash::XxHash3_64;

/// The root's own path.
pub(crate) const ROOT_PATH: &str = "/";

/// The nodes that are always there.
pub(crate) const ZOOKEEPER: &str = "/zookeeper";
/// Below it lie the quotas.
pub(crate) const QUOTA: &str = "/zookeeper/quota";
/// It shows the ensemble's membership.
pub const CONFIG: &str = "/zookeeper/config";

/// Whether no client may delete that node.
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

/// The seeded hash of a path by which the table finds it, made of its parent's and its name's.
///
/// Clients choose the names. A client that knew the seed could choose names that all have one hash, and each search
/// would look at all of them. So the seed is this process's own, and nothing that members share depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathKey(pub(crate) u64);

impl PathKey {
    /// The root's, under that seed.
    pub(crate) const fn root(seed: u64) -> Self {
        Self(ROOT_HASH ^ seed)
    }

    /// The seed, of the root's.
    pub(crate) const fn seed(self) -> u64 {
        self.0 ^ ROOT_HASH
    }

    /// A child's.
    #[inline]
    pub(crate) fn child(self, name: &str) -> Self {
        Self(XxHash3_64::oneshot_with_seed(self.0, name.as_bytes()))
    }

    /// That of a path below the one that has this key, the root's; `None` when no node can have it.
    #[inline]
    pub(crate) fn below(self, path: &str) -> Option<Self> {
        if is_root(path) {
            return Some(self);
        }
        Some(path.strip_prefix('/')?.split('/').fold(self, Self::child))
    }
}

/// Both hashes of a path: what a write needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PathHash {
    /// The path's part in the digest, the same on every member.
    pub(crate) digest: u64,
    /// The path's place in the table of this process.
    pub(crate) key: PathKey,
}

impl PathHash {
    /// The root's, under that seed of the table.
    pub(crate) const fn root(seed: u64) -> Self {
        Self { digest: ROOT_HASH, key: PathKey::root(seed) }
    }

    /// A child's.
    #[inline]
    pub(crate) fn child(self, name: &str) -> Self {
        let digest = XxHash3_64::oneshot_with_seed(self.digest, name.as_bytes());
        Self { digest, key: self.key.child(name) }
    }

    /// That of a path below the one that has this hash, the root's; `None` when no node can have it.
    #[inline]
    pub(crate) fn below(self, path: &str) -> Option<Self> {
        if is_root(path) {
            return Some(self);
        }
        Some(path.strip_prefix('/')?.split('/').fold(self, Self::child))
    }
}

const ROOT_HASH: u64 = 0x9e37_79b9_7f4a_7c15;

/// Whether that is one of the two names of the root.
pub(crate) fn is_root(path: &str) -> bool {
    matches!(path, "" | ROOT_PATH)
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
        let root = PathHash::root(7);
        assert_eq!(root.below("/"), Some(root));
        assert_eq!(root.below(""), Some(root));
        assert_eq!(root.below("/a/b"), Some(root.child("a").child("b")));
        assert_ne!(root.below("/a/b"), root.below("/ab"));
        assert_eq!(root.below("a"), None);
        assert_eq!(root.key.below("/a/b"), root.below("/a/b").map(|hash| hash.key));
    }

    #[test]
    fn the_seed_changes_keys_and_no_digest() {
        let (one, other) = (PathHash::root(1).child("a"), PathHash::root(2).child("a"));
        assert_eq!(one.digest, other.digest);
        assert_ne!(one.key, other.key);
    }

    /// Names of 32 bytes whose first eight take away what XXH3 multiplies the next eight by: under a known seed they all
    /// hash alike.
    fn colliding_names(seed: u64, count: usize) -> Vec<String> {
        const SECRET: u64 = 0xbe4b_a423_396c_feb8;
        let is_name = |word: &[u8; 8]| word.iter().all(|byte| (0x21..0x7f).contains(byte) && *byte != b'/');
        let (parent, word) = (0..)
            .map(|number| format!("p{number}"))
            .map(|name| (PathKey::root(seed).child(&name), name))
            .map(|(key, name)| (name, SECRET.wrapping_add(key.0).to_le_bytes()))
            .find(|(_, word)| is_name(word))
            .unwrap();
        let word = String::from_utf8(word.to_vec()).unwrap();
        (0..count).map(|number| format!("/{parent}/{word}{number:08}0123456789abcdef")).collect()
    }

    #[test]
    fn names_that_collide_under_a_known_seed_do_not_under_another() {
        let names = colliding_names(0, 40_000);
        let distinct = |seed: u64| {
            let root = PathKey::root(seed);
            let mut keys: Vec<_> = names.iter().filter_map(|name| root.below(name)).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.len()
        };
        assert_eq!(distinct(0), 1, "these names show nothing");
        assert_eq!(distinct(0x1234_5678_9abc_def0), names.len());
    }
}
