//! The orders in which Java's hash sets hand things out, where ZooKeeper lets clients see them: that of a closed
//! session's deletions and that of a connection's identities.

use alloc::string::String;

/// `String.hashCode`.
fn hash_code(text: &str) -> u32 {
    text.encode_utf16().fold(0, |hash, unit| hash.wrapping_mul(31).wrapping_add(u32::from(unit)))
}

/// A hash as `HashMap` and `ConcurrentHashMap` spread it over their tables.
const fn spread(hash: u32) -> u32 {
    hash ^ (hash >> 16)
}

/// In which of a small `ConcurrentHashMap`'s 16 buckets an identity (`org.apache.zookeeper.data.Id`) lies: they come
/// by bucket, and within one as they were added. A dozen identities and more would lie in a larger table.
pub(crate) fn identity_bucket(scheme: &str, id: &str) -> u32 {
    let both =
        [scheme, id].iter().fold(17_u32, |hash, part| hash.wrapping_mul(37).wrapping_add(hash_code(part)));
    spread(both) & 15
}

/// Brings paths, given in the order in which they were added, into the order of the clone of a `HashSet`.
///
/// The clone's table is the smallest that holds them; within one of its buckets the original's order counts, whose
/// table has grown from 16 places. (One that was larger once and shrank cannot be told from here: then paths of one
/// bucket may come in another order.)
pub(crate) fn order_as_hash_set<T>(paths: &mut [(String, T)]) {
    let count = paths.len() as u32;
    if count < 2 {
        return;
    }
    let cloned = ((f64::from(count) / 0.75 + 1.0) as u32).next_power_of_two();
    let original = (count * 4).div_ceil(3).next_power_of_two().max(16);
    paths.sort_by_cached_key(|(path, _)| {
        let hash = spread(hash_code(path));
        (hash & (cloned - 1), hash & (original - 1))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_hash_as_in_java() {
        assert_eq!(hash_code(""), 0);
        assert_eq!(hash_code("a"), 97);
        assert_eq!(hash_code("hello"), 99_162_322);
    }

    /// What a clone of a `HashSet` of `prefix0000000000`, `prefix0000000007`, .. gives out, taken from Java 17.
    #[test]
    fn the_order_is_that_of_javas_sets() {
        for (prefix, expected) in [
            ("/a/lock-", &[14, 7, 0][..]),
            ("/svc/x", &[7, 28, 70, 63, 21, 42, 56, 0, 14, 35, 49]),
            ("/svc/x", &[70, 63, 21, 42, 56, 0, 77, 14, 35, 49, 7, 28]),
            ("/k/e", &[35, 14, 49, 42, 21, 0, 77, 56, 28, 7, 84, 63, 70]),
        ] {
            let mut paths: Vec<_> =
                (0..expected.len()).map(|i| (format!("{prefix}{:010}", i * 7), i * 7)).collect();
            order_as_hash_set(&mut paths);
            assert_eq!(paths.iter().map(|(_, number)| *number).collect::<Vec<_>>(), expected);
        }
    }
}
