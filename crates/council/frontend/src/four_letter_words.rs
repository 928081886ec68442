//! Four-letter words: what may stand in place of a handshake.
//!
//! Knows only which words exist. The driver decides whether a word is allowed, and answers it.

/// The words that ZooKeeper 3.9 knows.
const WORDS: &[&[u8; 4]] = &[
    b"conf", b"cons", b"crst", b"dirs", b"dump", b"envi", b"gtmk", b"hash", b"isro", b"mntr", b"ruok",
    b"srst", b"srvr", b"stat", b"stmk", b"wchc", b"wchp", b"wchs",
];

/// The word that a number of eight bytes follows.
const WITH_NUMBER: &[u8; 4] = b"stmk";

/// A word as a client has sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) letters: [u8; 4],
    /// The number behind it, if it has one and the number has come.
    pub(crate) argument: Option<i64>,
    /// How many bytes it takes, whether they have come or not.
    pub(crate) bytes: usize,
}

/// The word at the start of a connection's very first bytes.
pub(crate) fn word_at_start(bytes: &[u8]) -> Option<Word> {
    let (letters, rest) = bytes.split_first_chunk::<4>()?;
    if !WORDS.contains(&letters) {
        return None;
    }
    let has_number = letters == WITH_NUMBER;
    let argument = rest.first_chunk().filter(|_| has_number).map(|number| i64::from_be_bytes(*number));
    Some(Word { letters: *letters, argument, bytes: if has_number { 12 } else { 4 } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_known_words_are_words() {
        let ruok = Word { letters: *b"ruok", argument: None, bytes: 4 };
        assert_eq!(word_at_start(b"ruok\n"), Some(ruok));
        assert_eq!(word_at_start(b"ruo"), None);
        assert_eq!(word_at_start(b"RUOK"), None);
        assert_eq!(word_at_start(&45_u32.to_be_bytes()), None);
    }

    #[test]
    fn stmk_has_a_number_behind_it() {
        let stmk = Word { letters: *b"stmk", argument: None, bytes: 12 };
        assert_eq!(word_at_start(b"stmk\0\0\0"), Some(stmk));
        let whole = word_at_start(b"stmk\0\0\0\0\0\0\0\x05\n");
        assert_eq!(whole, Some(Word { argument: Some(5), ..stmk }));
    }
}
