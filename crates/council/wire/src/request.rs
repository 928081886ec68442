//! Requests, decoded by their operation code and borrowed from their frame.

use crate::{AclList, Malformed, MultiRequest, OpCode, Reader, Writer};

/// The body of create, create2, createContainer, and most of createTTL's.
#[derive(Clone, Copy, Debug)]
pub struct Create<'a> {
    /// The node, or its prefix when it is sequential.
    pub path: &'a str,
    /// Its data, null kept apart from empty.
    pub data: Option<&'a [u8]>,
    /// Its ACL.
    pub acl: AclList<'a>,
    /// The create mode; not every number is one.
    pub flags: i32,
}

impl<'a> Create<'a> {
    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(Self {
            path: reader.text()?,
            data: reader.buffer()?,
            acl: AclList::read(reader)?,
            flags: reader.i32()?,
        })
    }
}

/// A vector of paths, checked for shape once and then read without a copy. The vector and each path may be null.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathList<'a> {
    raw: &'a [u8],
    count: usize,
    null: bool,
}

impl<'a> PathList<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let length = reader.i32()?;
        let count = usize::try_from(length).unwrap_or(0);
        let start = reader.rest();
        for _ in 0..count {
            reader.string()?;
        }
        let used = start.len() - reader.rest().len();
        Ok(Self { raw: start.get(..used).unwrap_or_default(), count, null: length == -1 })
    }

    /// How many paths there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether the vector is null (-1), which a reader must not take for an empty one.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        self.null
    }

    /// The paths, in order.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'a str>> + use<'a> {
        let mut reader = Reader::new(self.raw);
        (0..self.count).map_while(move |_| reader.string().ok())
    }
}

/// The body of setWatches and setWatches2; the last two lists are the latter's.
#[derive(Clone, Copy, Debug, Default)]
pub struct SetWatches<'a> {
    /// The last transaction that the client has seen.
    pub relative_zxid: i64,
    /// Watches on data of nodes that existed.
    pub data: PathList<'a>,
    /// Watches on nodes that were not there.
    pub exist: PathList<'a>,
    /// Watches on children.
    pub child: PathList<'a>,
    /// Persistent watches.
    pub persistent: PathList<'a>,
    /// Persistent recursive watches.
    pub persistent_recursive: PathList<'a>,
}

/// The body of reconfig.
#[derive(Clone, Copy, Debug)]
pub struct Reconfig<'a> {
    /// Servers that join, if not null.
    pub joining: Option<&'a str>,
    /// Servers that leave, if not null.
    pub leaving: Option<&'a str>,
    /// The whole new membership, if not null.
    pub members: Option<&'a str>,
    /// The configuration that this one is to follow, or -1.
    pub config_id: i64,
}

impl Reconfig<'_> {
    /// The request's body.
    pub fn write(&self, writer: &mut Writer<'_>) {
        writer.string(self.joining).string(self.leaving).string(self.members).i64(self.config_id);
    }
}

/// A request's body, decoded.
#[derive(Clone, Debug)]
#[expect(
    missing_docs,
    reason = "the fields carry the names of ZooKeeper's records; opcode.rs says what each operation does"
)]
pub enum Request<'a> {
    /// create, create2, createContainer: the operation code says which.
    Create(Create<'a>),
    CreateTtl(Create<'a>, /* milliseconds */ i64),
    Delete {
        path: &'a str,
        version: i32,
    },
    Exists {
        path: &'a str,
        watch: bool,
    },
    GetData {
        path: &'a str,
        watch: bool,
    },
    SetData {
        path: &'a str,
        data: Option<&'a [u8]>,
        version: i32,
    },
    GetAcl {
        path: &'a str,
    },
    SetAcl {
        path: &'a str,
        acl: AclList<'a>,
        version: i32,
    },
    GetChildren {
        path: &'a str,
        watch: bool,
    },
    GetChildren2 {
        path: &'a str,
        watch: bool,
    },
    Sync {
        path: &'a str,
    },
    Ping,
    Check {
        path: &'a str,
        version: i32,
    },
    Multi(MultiRequest<'a>),
    MultiRead(MultiRequest<'a>),
    Reconfig(Reconfig<'a>),
    CheckWatches {
        path: &'a str,
        watcher: i32,
    },
    RemoveWatches {
        path: &'a str,
        watcher: i32,
    },
    DeleteContainer {
        path: &'a str,
    },
    Auth {
        scheme: Option<&'a str>,
        auth: Option<&'a [u8]>,
    },
    SetWatches(SetWatches<'a>),
    SetWatches2(SetWatches<'a>),
    Sasl {
        token: Option<&'a [u8]>,
    },
    GetEphemerals {
        prefix: &'a str,
    },
    GetAllChildrenNumber {
        path: &'a str,
    },
    AddWatch {
        path: &'a str,
        mode: i32,
    },
    WhoAmI,
    CloseSession,
}

impl<'a> Request<'a> {
    /// Decodes the body that follows a request header. Bytes behind the record are ignored, as ZooKeeper does.
    ///
    /// # Errors
    /// When the body is not that operation's record, or no client sends that operation.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each operation")]
    pub fn decode(opcode: OpCode, body: &'a [u8]) -> Result<Self, Malformed> {
        let reader = &mut Reader::new(body);
        Ok(match opcode {
            OpCode::GetData => Self::GetData { path: reader.text()?, watch: reader.bool()? },
            OpCode::SetData => {
                Self::SetData { path: reader.text()?, data: reader.buffer()?, version: reader.i32()? }
            }
            OpCode::Exists => Self::Exists { path: reader.text()?, watch: reader.bool()? },
            OpCode::Create | OpCode::Create2 | OpCode::CreateContainer => Self::Create(Create::read(reader)?),
            OpCode::CreateTtl => {
                let create = Create::read(reader)?;
                Self::CreateTtl(create, reader.i64()?)
            }
            OpCode::Delete => Self::Delete { path: reader.text()?, version: reader.i32()? },
            OpCode::Check => Self::Check { path: reader.text()?, version: reader.i32()? },
            OpCode::Multi => Self::Multi(MultiRequest::read(reader)?),
            OpCode::MultiRead => Self::MultiRead(MultiRequest::read(reader)?),
            OpCode::GetChildren => Self::GetChildren { path: reader.text()?, watch: reader.bool()? },
            OpCode::GetChildren2 => Self::GetChildren2 { path: reader.text()?, watch: reader.bool()? },
            OpCode::Ping => Self::Ping,
            OpCode::Sync => Self::Sync { path: reader.text()? },
            OpCode::GetAcl => Self::GetAcl { path: reader.text()? },
            OpCode::SetAcl => {
                Self::SetAcl { path: reader.text()?, acl: AclList::read(reader)?, version: reader.i32()? }
            }
            OpCode::CheckWatches => Self::CheckWatches { path: reader.text()?, watcher: reader.i32()? },
            OpCode::RemoveWatches => Self::RemoveWatches { path: reader.text()?, watcher: reader.i32()? },
            OpCode::AddWatch => Self::AddWatch { path: reader.text()?, mode: reader.i32()? },
            OpCode::SetWatches => Self::SetWatches(SetWatches {
                relative_zxid: reader.i64()?,
                data: PathList::read(reader)?,
                exist: PathList::read(reader)?,
                child: PathList::read(reader)?,
                ..SetWatches::default()
            }),
            OpCode::SetWatches2 => Self::SetWatches2(SetWatches {
                relative_zxid: reader.i64()?,
                data: PathList::read(reader)?,
                exist: PathList::read(reader)?,
                child: PathList::read(reader)?,
                persistent: PathList::read(reader)?,
                persistent_recursive: PathList::read(reader)?,
            }),
            OpCode::Auth => {
                let _kind = reader.i32()?;
                Self::Auth { scheme: reader.string()?, auth: reader.buffer()? }
            }
            OpCode::Sasl => Self::Sasl { token: reader.buffer()? },
            OpCode::Reconfig => Self::Reconfig(Reconfig {
                joining: reader.string()?,
                leaving: reader.string()?,
                members: reader.string()?,
                config_id: reader.i64()?,
            }),
            OpCode::DeleteContainer => Self::DeleteContainer { path: reader.text()? },
            OpCode::GetEphemerals => Self::GetEphemerals { prefix: reader.text()? },
            OpCode::GetAllChildrenNumber => Self::GetAllChildrenNumber { path: reader.text()? },
            OpCode::WhoAmI => Self::WhoAmI,
            OpCode::CloseSession => Self::CloseSession,
            OpCode::CreateSession => return Err(Malformed("request: no client sends createSession")),
        })
    }
}
