//! Four-letter words: which are answered, and with what text.
//!
//! The texts are ZooKeeper 3.9's to the byte, for tools parse them. What they say is gathered elsewhere, into a
//! [`view`].

pub(crate) mod dispatch;
pub(crate) mod render;
pub(crate) mod view;

use crate::config::WordConfig;

/// The words there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    Conf,
    Cons,
    Crst,
    Dirs,
    Dump,
    Envi,
    Gtmk,
    Hash,
    Isro,
    Mntr,
    Ruok,
    Srst,
    Srvr,
    Stat,
    Stmk,
    Wchc,
    Wchp,
    Wchs,
}

impl Word {
    /// The word that these bytes spell, if it is one.
    pub(crate) fn from_bytes(bytes: [u8; 4]) -> Option<Self> {
        Some(match &bytes {
            b"conf" => Self::Conf,
            b"cons" => Self::Cons,
            b"crst" => Self::Crst,
            b"dirs" => Self::Dirs,
            b"dump" => Self::Dump,
            b"envi" => Self::Envi,
            b"gtmk" => Self::Gtmk,
            b"hash" => Self::Hash,
            b"isro" => Self::Isro,
            b"mntr" => Self::Mntr,
            b"ruok" => Self::Ruok,
            b"srst" => Self::Srst,
            b"srvr" => Self::Srvr,
            b"stat" => Self::Stat,
            b"stmk" => Self::Stmk,
            b"wchc" => Self::Wchc,
            b"wchp" => Self::Wchp,
            b"wchs" => Self::Wchs,
            _ => return None,
        })
    }
}

/// What a word that is not on the list is answered with, or `None` when it may be answered.
pub(crate) fn refusal(config: &WordConfig, bytes: [u8; 4]) -> Option<String> {
    let word = String::from_utf8_lossy(&bytes).into_owned();
    (!config.allows(&word)).then(|| format!("{word} is not executed because it is not in the whitelist.\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_off_the_list_is_refused_by_name() {
        let config = WordConfig::default();
        assert_eq!(refusal(&config, *b"srvr"), None);
        assert_eq!(
            refusal(&config, *b"stat").as_deref(),
            Some("stat is not executed because it is not in the whitelist.\n")
        );
        assert_eq!(refusal(&WordConfig::All, *b"stat"), None);
        assert_eq!(Word::from_bytes(*b"abcd"), None);
    }
}
