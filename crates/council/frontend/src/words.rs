//! Four-letter words: what may stand in place of a handshake.
//!
//! Only which words exist; what they answer and whether they may is the driver's.

/// The words that ZooKeeper 3.9 knows.
const WORDS: &[&[u8; 4]] = &[
    b"conf", b"cons", b"crst", b"dirs", b"dump", b"envi", b"gtmk", b"hash", b"isro", b"mntr", b"ruok",
    b"srst", b"srvr", b"stat", b"stmk", b"wchc", b"wchp", b"wchs",
];

/// The word at the start of a connection's very first bytes.
pub(crate) fn word_at_start(bytes: &[u8]) -> Option<[u8; 4]> {
    let word = bytes.first_chunk::<4>()?;
    WORDS.contains(&word).then_some(*word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_known_words_are_words() {
        assert_eq!(word_at_start(b"ruok\n"), Some(*b"ruok"));
        assert_eq!(word_at_start(b"ruo"), None);
        assert_eq!(word_at_start(b"RUOK"), None);
        assert_eq!(word_at_start(&45_u32.to_be_bytes()), None);
    }
}
