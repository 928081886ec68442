//! What a client asks for, and the bytes of it.

use council_wire::{Acl, MultiHeader, OpCode, WatchMode, WatcherType, Writer};

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields carry the names of ZooKeeper's records")]
pub enum Ask {
    /// create, with its flags; create2 where the Stat is wanted.
    Create { path: String, data: Vec<u8>, flags: i32, stat: bool, acl: Vec<Acl> },
    /// createContainer.
    Container { path: String },
    /// createTTL, with its flags.
    Ttl { path: String, data: Vec<u8>, flags: i32, ttl_ms: i64 },
    /// delete.
    Delete { path: String, version: i32 },
    /// setData.
    Set { path: String, data: Vec<u8>, version: i32 },
    /// setData without any data, which is not the same as with empty data.
    SetNull { path: String, version: i32 },
    /// setACL.
    SetAcl { path: String, acl: Vec<Acl>, version: i32 },
    /// multi.
    Multi(Vec<Ask>),
    /// check, within a multi.
    Check { path: String, version: i32 },
    /// getData.
    Get { path: String, watch: bool },
    /// exists.
    Exists { path: String, watch: bool },
    /// getChildren2; getChildren within a multiRead.
    Children { path: String, watch: bool },
    /// getACL.
    GetAcl { path: String },
    /// getChildren, which tells no Stat.
    Names { path: String },
    /// getAllChildrenNumber.
    Count { path: String },
    /// getEphemerals.
    Owned { prefix: String },
    /// whoAmI.
    WhoAmI,
    /// multiRead, of [`Ask::Get`] and [`Ask::Children`].
    MultiRead(Vec<Ask>),
    /// sync.
    Sync { path: String },
    /// addWatch.
    AddWatch { path: String, mode: WatchMode },
    /// checkWatches.
    CheckWatches { path: String, watcher: WatcherType },
    /// removeWatches.
    RemoveWatches { path: String, watcher: WatcherType },
    /// setWatches; setWatches2 where there are persistent ones.
    SetWatches {
        relative_zxid: i64,
        data: Vec<String>,
        exist: Vec<String>,
        child: Vec<String>,
        persistent: Vec<String>,
        recursive: Vec<String>,
    },
    /// reconfig.
    Reconfig { joining: String, leaving: String, members: String, version: i64 },
    /// auth with the scheme `digest`.
    Auth { credentials: String },
    /// ping.
    Ping,
    /// closeSession.
    Close,
}

impl Ask {
    /// A create of a persistent node without data, for everybody.
    #[must_use]
    pub fn plain(path: &str) -> Self {
        Self::create(path, Vec::new(), 0, false)
    }

    /// A create of a node for everybody.
    #[must_use]
    pub fn create(path: &str, data: Vec<u8>, flags: i32, stat: bool) -> Self {
        Self::Create { path: path.into(), data, flags, stat, acl: vec![Acl::open()] }
    }

    /// Its operation.
    #[must_use]
    pub const fn opcode(&self) -> OpCode {
        match self {
            Self::Create { stat: false, .. } => OpCode::Create,
            Self::Create { .. } => OpCode::Create2,
            Self::Container { .. } => OpCode::CreateContainer,
            Self::Ttl { .. } => OpCode::CreateTtl,
            Self::Delete { .. } => OpCode::Delete,
            Self::Set { .. } | Self::SetNull { .. } => OpCode::SetData,
            Self::Names { .. } => OpCode::GetChildren,
            Self::Count { .. } => OpCode::GetAllChildrenNumber,
            Self::Owned { .. } => OpCode::GetEphemerals,
            Self::WhoAmI => OpCode::WhoAmI,
            Self::SetAcl { .. } => OpCode::SetAcl,
            Self::Multi(_) => OpCode::Multi,
            Self::Check { .. } => OpCode::Check,
            Self::Get { .. } => OpCode::GetData,
            Self::Exists { .. } => OpCode::Exists,
            Self::Children { .. } => OpCode::GetChildren2,
            Self::GetAcl { .. } => OpCode::GetAcl,
            Self::MultiRead(_) => OpCode::MultiRead,
            Self::Sync { .. } => OpCode::Sync,
            Self::AddWatch { .. } => OpCode::AddWatch,
            Self::CheckWatches { .. } => OpCode::CheckWatches,
            Self::RemoveWatches { .. } => OpCode::RemoveWatches,
            Self::SetWatches { persistent, recursive, .. } => {
                if persistent.is_empty() && recursive.is_empty() {
                    OpCode::SetWatches
                } else {
                    OpCode::SetWatches2
                }
            }
            Self::Reconfig { .. } => OpCode::Reconfig,
            Self::Auth { .. } => OpCode::Auth,
            Self::Ping => OpCode::Ping,
            Self::Close => OpCode::CloseSession,
        }
    }

    /// Whether it goes into the log.
    #[must_use]
    pub const fn is_write(&self) -> bool {
        matches!(
            self,
            Self::Create { .. }
                | Self::Container { .. }
                | Self::Ttl { .. }
                | Self::Delete { .. }
                | Self::Set { .. }
                | Self::SetNull { .. }
                | Self::SetAcl { .. }
                | Self::Multi(_)
                | Self::Reconfig { .. }
                | Self::Close
        )
    }

    /// Whether its answer is the tree's.
    #[must_use]
    pub const fn is_read(&self) -> bool {
        matches!(
            self,
            Self::Get { .. }
                | Self::Exists { .. }
                | Self::Children { .. }
                | Self::GetAcl { .. }
                | Self::Names { .. }
                | Self::Count { .. }
                | Self::Owned { .. }
                | Self::MultiRead(_)
        )
    }

    /// The one path that it reads, and whether a watch is left there.
    #[must_use]
    pub fn reads(&self) -> Option<(&str, bool)> {
        match self {
            Self::Get { path, watch } | Self::Exists { path, watch } | Self::Children { path, watch } => {
                Some((path, *watch))
            }
            Self::GetAcl { path } => Some((path, false)),
            _ => None,
        }
    }

    /// The bytes behind the request's header.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each request")]
    pub fn write(&self, writer: &mut Writer<'_>) {
        match self {
            Self::Create { path, data, flags, acl, .. } => {
                writer.text(path).buffer(Some(data));
                Acl::write_all(acl, writer);
                writer.i32(*flags);
            }
            Self::Container { path } => {
                writer.text(path).buffer(Some(&[]));
                Acl::write_all(&[Acl::open()], writer);
                writer.i32(4);
            }
            Self::Ttl { path, data, flags, ttl_ms } => {
                writer.text(path).buffer(Some(data));
                Acl::write_all(&[Acl::open()], writer);
                writer.i32(*flags).i64(*ttl_ms);
            }
            Self::Delete { path, version } | Self::Check { path, version } => {
                writer.text(path).i32(*version);
            }
            Self::Set { path, data, version } => {
                writer.text(path).buffer(Some(data)).i32(*version);
            }
            Self::SetNull { path, version } => {
                writer.text(path).buffer(None).i32(*version);
            }
            Self::SetAcl { path, acl, version } => {
                writer.text(path);
                Acl::write_all(acl, writer);
                writer.i32(*version);
            }
            Self::Multi(all) => write_all(all, Self::opcode, writer),
            Self::MultiRead(all) => write_all(all, Self::opcode_within_multi_read, writer),
            Self::Get { path, watch } | Self::Exists { path, watch } | Self::Children { path, watch } => {
                writer.text(path).bool(*watch);
            }
            Self::Sync { path }
            | Self::GetAcl { path }
            | Self::Count { path }
            | Self::Owned { prefix: path } => {
                writer.text(path);
            }
            Self::Names { path } => {
                writer.text(path).bool(false);
            }
            Self::AddWatch { path, mode } => {
                writer.text(path).i32(mode.code());
            }
            Self::CheckWatches { path, watcher } | Self::RemoveWatches { path, watcher } => {
                writer.text(path).i32(watcher.code());
            }
            Self::SetWatches { relative_zxid, data, exist, child, persistent, recursive } => {
                writer.i64(*relative_zxid);
                let lists = [data, exist, child, persistent, recursive];
                let count = if self.opcode() == OpCode::SetWatches { 3 } else { 5 };
                for list in lists.into_iter().take(count) {
                    writer.texts(list.iter().map(String::as_str));
                }
            }
            Self::Reconfig { joining, leaving, members, version } => {
                let given = |text: &str| if text.is_empty() { None } else { Some(text.to_owned()) };
                writer.string(given(joining).as_deref()).string(given(leaving).as_deref());
                writer.string(given(members).as_deref()).i64(*version);
            }
            Self::Auth { credentials } => {
                writer.i32(0).text("digest").buffer(Some(credentials.as_bytes()));
            }
            Self::Ping | Self::Close | Self::WhoAmI => {}
        }
    }

    /// A multiRead knows the older way of listing children alone.
    const fn opcode_within_multi_read(&self) -> OpCode {
        match self {
            Self::Children { .. } => OpCode::GetChildren,
            other => other.opcode(),
        }
    }
}

fn write_all(all: &[Ask], opcode: impl Fn(&Ask) -> OpCode, writer: &mut Writer<'_>) {
    for one in all {
        MultiHeader { operation: opcode(one).code(), done: false, err: -1 }.write(writer);
        one.write(writer);
    }
    MultiHeader::END.write(writer);
}
