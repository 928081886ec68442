//! The bytes of a key. Most have no more than lie in place: finding one allocates nothing, and the tree of records compares keys
//! where it keeps them. Those are compared by words: a command compares some hundred keys.

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::ops::Deref;

/// Bytes that lie in place.
const IN_PLACE: usize = 32;

/// See the module. Ordered as its bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key(Bytes);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Bytes {
    InPlace {
        length: u8,
        /// Zeros stand behind the key's own: so keys of different lengths are compared as those of one.
        bytes: [u8; IN_PLACE],
    },
    Heap(Box<[u8]>),
}

impl Key {
    /// Of these parts, one behind the other.
    pub(crate) fn of(parts: &[&[u8]]) -> Self {
        let (mut bytes, mut length) = ([0; IN_PLACE], 0);
        for part in parts {
            match bytes.get_mut(length..length + part.len()) {
                Some(place) => place.copy_from_slice(part),
                None => return Self(Bytes::Heap(parts.concat().into())),
            }
            length += part.len();
        }
        Self(Bytes::InPlace { length: length as u8, bytes })
    }

    /// Of a beginning that is short, and the rest.
    pub(crate) fn beginning<const N: usize>(head: [u8; N], rest: &[u8]) -> Self {
        const { assert!(N <= IN_PLACE) };
        let mut bytes = [0; IN_PLACE];
        bytes[..N].copy_from_slice(&head);
        match bytes.get_mut(N..N + rest.len()) {
            Some(place) => place.copy_from_slice(rest),
            None => return Self(Bytes::Heap([&head, rest].concat().into())),
        }
        Self(Bytes::InPlace { length: (N + rest.len()) as u8, bytes })
    }

    /// The same with a number behind it.
    pub(crate) fn numbered(&self, number: u32) -> Self {
        let number = number.to_be_bytes();
        if let Bytes::InPlace { length, bytes } = &self.0 {
            let (begin, mut bytes) = (usize::from(*length), *bytes);
            if let Some(place) = bytes.get_mut(begin..begin + number.len()) {
                place.copy_from_slice(&number);
                return Self(Bytes::InPlace { length: length + number.len() as u8, bytes });
            }
        }
        Self::of(&[self, &number])
    }

    /// The same with the last byte one higher, which must have room for it.
    pub(crate) fn raised(mut self) -> Self {
        let last = match &mut self.0 {
            Bytes::InPlace { length, bytes } => bytes[..usize::from(*length)].last_mut(),
            Bytes::Heap(bytes) => bytes.last_mut(),
        };
        last.into_iter().for_each(|last| *last += 1);
        self
    }
}

impl Deref for Key {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::InPlace { length, bytes } => &bytes[..usize::from(*length)],
            Bytes::Heap(bytes) => bytes,
        }
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl From<&[u8]> for Key {
    fn from(bytes: &[u8]) -> Self {
        Self::of(&[bytes])
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        let (Bytes::InPlace { length, bytes }, Bytes::InPlace { length: others, bytes: other_bytes }) =
            (&self.0, &other.0)
        else {
            return self[..].cmp(&other[..]);
        };
        let words = bytes.as_chunks::<8>().0.iter().zip(other_bytes.as_chunks::<8>().0);
        for (word, other_word) in words {
            // As numbers: of equal bytes the compiler would make a call for each word, or for all.
            let (word, other_word) = (u64::from_be_bytes(*word), u64::from_be_bytes(*other_word));
            if word != other_word {
                return word.cmp(&other_word);
            }
        }
        length.cmp(others)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_ordered_as_their_bytes() {
        let mut keys: Vec<Vec<u8>> = vec![Vec::new()];
        for length in [1, 7, 8, 9, 16, 31, 32, 33, 40] {
            for first in [0, 1, 255] {
                for last in [0, 1, 255] {
                    let mut key = vec![first; length];
                    *key.last_mut().unwrap() = last;
                    keys.push(key);
                }
            }
        }
        for a in &keys {
            for b in &keys {
                let (key, other) = (Key::from(&a[..]), Key::from(&b[..]));
                assert_eq!((key.cmp(&other), key == other), (a.cmp(b), a == b), "{a:?} {b:?}");
                assert_eq!((&key[..], &other[..]), (&a[..], &b[..]));
            }
        }
    }

    #[test]
    fn key_takes_no_more_than_its_bytes_and_a_word() {
        assert_eq!(size_of::<Key>(), IN_PLACE + 8);
    }

    #[test]
    fn key_of_a_beginning_is_that_of_both_parts() {
        for length in [0, 1, 29, 30, 31, 300] {
            let rest = vec![7; length];
            assert_eq!(Key::beginning([1, 2], &rest), Key::of(&[&[1, 2], &rest]));
        }
    }

    #[test]
    fn numbered_key_has_the_number_behind_it() {
        for length in [0, 10, 28, 29, 33] {
            let key = vec![7; length];
            let numbered = Key::from(&key[..]).numbered(0x0102_0304);
            assert_eq!(numbered[..], [&key[..], &[1, 2, 3, 4]].concat());
            assert_eq!(numbered, Key::from(&numbered[..]));
        }
    }

    #[test]
    fn raised_key_is_the_next_of_its_length() {
        for length in [1, 32, 33] {
            let raised = Key::from(&vec![7; length][..]).raised();
            assert_eq!(
                (raised.len(), raised.last(), raised.iter().filter(|byte| **byte == 7).count()),
                (length, Some(&8), length - 1)
            );
        }
    }
}
