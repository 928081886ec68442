//! Four-letter words: which are answered, and with what text.
//!
//! The texts are ZooKeeper 3.9's to the byte, for tools parse them. What they say is gathered elsewhere (`view`).

pub(crate) mod dispatch;
pub(crate) mod render;

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
