//! Finding many keys in a map, in their order: most lie close behind each other, so the next one is looked for there before it is
//! sought from the top.

use std::collections::BTreeMap;
use std::iter::Peekable;

use crate::key::Key;

/// Keys that are passed over before one is sought from the top, which takes as long as passing over some ten.
const STEPS: usize = 3;

/// Passes over what comes before a key; whether its place was reached.
fn reaches<I: Iterator>(entries: &mut Peekable<I>, key: &Key, key_of: impl Fn(&I::Item) -> &Key) -> bool {
    for _ in 0..STEPS {
        if entries.next_if(|entry| key_of(entry) < key).is_none() {
            return true;
        }
    }
    false
}

/// Looks at what stands under keys; each comes with what stands beside it.
pub(crate) fn walk<'a, V, T>(
    map: &'a BTreeMap<Key, V>,
    keys: impl Iterator<Item = (Key, T)>,
    mut look: impl FnMut(T, Option<&'a V>),
) {
    let mut keys = keys.peekable();
    let Some((first, _)) = keys.peek() else { return };
    let mut entries = map.range::<Key, _>(first..).peekable();
    for (key, beside) in keys {
        if !reaches(&mut entries, &key, |(at, _)| *at) {
            entries = map.range::<Key, _>(&key..).peekable();
        }
        look(beside, entries.next_if(|(at, _)| **at == key).map(|(_, value)| value));
    }
}

/// Changes what stands under keys.
pub(crate) fn walk_mut<'a, V, T>(
    map: &mut BTreeMap<Key, V>,
    keys: impl Iterator<Item = (&'a Key, T)>,
    mut change: impl FnMut(&Key, T, Option<&mut V>),
) {
    let mut keys = keys.peekable();
    let Some((first, _)) = keys.peek() else { return };
    let mut entries = map.range_mut::<Key, _>(*first..).peekable();
    for (key, item) in keys {
        if !reaches(&mut entries, key, |(at, _)| *at) {
            entries = map.range_mut::<Key, _>(key..).peekable();
        }
        change(key, item, entries.next_if(|(at, _)| *at == key).map(|(_, value)| value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_under_each_key_is_found_near_and_far_and_what_is_not_there_is_not() {
        let key = |number: u8| Key::from(&[number][..]);
        let there = [1, 2, 3, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 40, 41, 255];
        let mut map: BTreeMap<Key, u8> = there.map(|number| (key(number), number)).into();
        let asked = [0, 1, 2, 4, 5, 10, 11, 20, 21, 41, 42, 254, 255];
        let keys = asked.map(key);
        let found: Vec<_> = asked.map(|number| there.contains(&number).then_some(number)).into();
        let (mut seen, mut changed) = (Vec::new(), Vec::new());
        walk(&map, keys.iter().cloned().zip(asked), |number, value| {
            assert_eq!(number, asked[seen.len()]);
            seen.push(value.copied());
        });
        walk_mut(&mut map, keys.iter().zip(asked), |at, number, value| {
            assert_eq!(*at, key(number));
            changed.push(value.map(|value| std::mem::replace(value, 0)));
        });
        assert_eq!((&seen, &changed), (&found, &found));
        assert_eq!(map.values().filter(|value| **value == 0).count(), found.iter().flatten().count());
        walk(&map, std::iter::empty::<(Key, ())>(), |(), _| panic!("nothing was asked"));
    }
}
