//! What a member is told before it starts.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use base::MemberNumber;
use objects_guest::{Compiler, InProcess};
use objects_state::guest::Engine;

use crate::names::NamesConfig;

/// Settings of a member.
#[derive(Clone, Debug)]
pub struct ObjectsConfig {
    /// Where its data lies.
    pub data_dir: PathBuf,
    /// The group; nothing for a member that is alone.
    pub group: Option<GroupConfig>,
    /// Bytes of one preallocated segment of the log.
    pub segment_bytes: u64,
    /// Snapshots that are kept, with the log behind the oldest of them.
    pub snapshots_kept: usize,
    /// A snapshot is taken after this many commands, ...
    pub snapshot_after_commands: u64,
    /// ... or after this many bytes of log.
    pub snapshot_after_bytes: u64,
    /// Bytes a second that a snapshot is written with at the most.
    pub snapshot_bytes_per_second: u64,
    /// A flush that takes longer is logged, milliseconds.
    pub flush_warning_ms: u64,
    /// What is served as names, if anything is.
    pub names: Option<NamesConfig>,
    /// Where clients of other machines connect, if they can: a warning names it while access is open.
    pub exposed_at: Option<SocketAddr>,
    /// Where other members send clients while this one leads.
    pub announced: Announced,
    /// What runs the modules of users' types, if it is another one than [`objects_guest`] in the data directory.
    pub engine: ModuleEngine,
    /// What compiles modules for that engine: the program's own compiler process, or nothing but this process.
    pub compiler: Arc<dyn Compiler>,
}

/// What a member tells the others of where it serves its clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Announced {
    /// Nothing.
    #[default]
    Nothing,
    /// The address at which it listens, if others can reach that.
    Listening {
        /// Whether all members are on this machine, so that loopback is the same for all of them.
        on_one_machine: bool,
    },
    /// This, `HOST:PORT`.
    At(String),
}

impl Announced {
    /// What is told by a member that listens there.
    #[must_use]
    pub fn address(&self, listening: SocketAddr) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::At(address) => Some(address.clone()),
            Self::Listening { on_one_machine } => {
                let ip = listening.ip();
                let is_reached = !ip.is_unspecified() && (*on_one_machine || !ip.is_loopback());
                is_reached.then(|| listening.to_string())
            }
        }
    }
}

/// See [`objects_state::guest::Engine`].
#[derive(Clone, Default)]
pub struct ModuleEngine(pub Option<Arc<dyn Engine>>);

impl std::fmt::Debug for ModuleEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ModuleEngine")
    }
}

/// Who the members are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// This one.
    pub own: MemberNumber,
    /// All of them, and whether each is to vote.
    pub members: Vec<(MemberNumber, bool)>,
    /// The engine's tick, milliseconds: a leader is missed after ten to twenty.
    pub election_tick_ms: u64,
    /// For how long a member goes on serving its clients without having heard of a leader, milliseconds.
    pub lease_ms: u64,
}

impl ObjectsConfig {
    /// Settings of a member with its data there.
    #[must_use]
    pub fn new(data_dir: PathBuf, group: Option<GroupConfig>) -> Self {
        Self {
            data_dir,
            group,
            segment_bytes: 64 << 20,
            snapshots_kept: 3,
            snapshot_after_commands: 1_000_000,
            snapshot_after_bytes: 1 << 30,
            snapshot_bytes_per_second: 64 << 20,
            flush_warning_ms: 1_000,
            names: None,
            exposed_at: None,
            announced: Announced::Nothing,
            engine: ModuleEngine::default(),
            compiler: Arc::new(InProcess),
        }
    }
}

impl GroupConfig {
    /// The numbers of those that are to vote.
    pub(crate) fn voters(&self) -> Vec<MemberNumber> {
        self.members.iter().filter(|(_, votes)| *votes).map(|(number, _)| *number).collect()
    }
}

/// What clients are served with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpOptions {
    /// Whether the first command to an object of a built-in type creates it.
    pub create_on_use: bool,
    /// The SHA-256 of the token that may do everything at this member, if there is one.
    pub root_token: Option<[u8; 32]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_is_told_that_others_can_reach() {
        let told = |announced: &Announced, listening: &str| {
            announced.address(listening.parse().expect("an address"))
        };
        let (near, far) =
            (Announced::Listening { on_one_machine: true }, Announced::Listening { on_one_machine: false });
        assert_eq!(told(&near, "127.0.0.1:7180").as_deref(), Some("127.0.0.1:7180"));
        assert_eq!(told(&far, "127.0.0.1:7180"), None);
        assert_eq!(told(&far, "10.0.0.2:7180").as_deref(), Some("10.0.0.2:7180"));
        assert_eq!((told(&near, "0.0.0.0:7180"), told(&far, "[::]:7180")), (None, None));
        assert_eq!(told(&Announced::At("a:1".into()), "0.0.0.0:7180").as_deref(), Some("a:1"));
        assert_eq!(told(&Announced::Nothing, "10.0.0.2:7180"), None);
    }
}
