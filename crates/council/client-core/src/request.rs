//! Requests and replies as data, for users that compute requests instead of calling methods: recipes, services that are
//! clients of an ensemble, and the simulator. They hold the operations that these users need; see [`crate::operation`]
//! for all.

use council_wire::{Acl, Stat, WatchMode, WatcherType, Zxid};

use crate::encode::CreateMode;
use crate::multi::{Multi, MultiRead, MultiReadResult, MultiResult};
use crate::operation::{self, Answer, Operation, Reading};
use crate::path::Chroot;
use crate::{Error, decode, multi};

/// What is asked of a server. A request with `watch` leaves a watch for the watcher that is submitted with it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Request {
    /// Create a node; [`Reply::Created`].
    Create {
        /// Its path, or the beginning of it if it is sequential.
        path: String,
        /// Its data.
        data: Option<Vec<u8>>,
        /// Its ACL.
        acl: Vec<Acl>,
        /// Its kind.
        mode: CreateMode,
    },
    /// Delete a node; [`Reply::Done`].
    Delete {
        /// Its path.
        path: String,
        /// The version that it must have, or -1.
        version: i32,
    },
    /// Look for a node; [`Reply::Exists`].
    Exists {
        /// Its path.
        path: String,
        /// Whether to leave a watch, also if the node is not there.
        watch: bool,
    },
    /// Read a node; [`Reply::Data`].
    Data {
        /// Its path.
        path: String,
        /// Whether to leave a watch.
        watch: bool,
    },
    /// Replace the data of a node; [`Reply::Set`].
    SetData {
        /// Its path.
        path: String,
        /// Its new data.
        data: Option<Vec<u8>>,
        /// The version that it must have, or -1.
        version: i32,
    },
    /// List the children of a node; [`Reply::Children`].
    Children {
        /// Its path.
        path: String,
        /// Whether to leave a watch.
        watch: bool,
    },
    /// Wait until the server has seen what the leader had committed; [`Reply::Done`].
    Sync {
        /// Any path.
        path: String,
    },
    /// Leave a watch that stays; [`Reply::Done`].
    AddWatch {
        /// Where; there need be no node.
        path: String,
        /// Its kind.
        mode: WatchMode,
    },
    /// Take all watchers of the session off a node; [`Reply::Done`].
    RemoveWatches {
        /// Where.
        path: String,
        /// Of which kinds.
        kind: WatcherType,
    },
    /// Several writes, all or none; [`Reply::Committed`].
    Commit(Multi),
    /// Several reads of one state; [`Reply::Read`].
    ReadAll(MultiRead),
}

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reply {
    /// It is done.
    Done,
    /// The node was created: its path and its Stat.
    Created(String, Stat),
    /// The Stat of the node, if there is one.
    Exists(Option<Stat>),
    /// The data and the Stat of the node.
    Data(Option<Vec<u8>>, Stat),
    /// The data was set: the Stat of the node.
    Set(Stat),
    /// The names of the children, in no order, and the Stat of the node.
    Children(Vec<String>, Stat),
    /// The results of the writes.
    Committed(Vec<MultiResult>),
    /// The results of the reads.
    Read(Vec<MultiReadResult>),
}

/// How a request ended: the reply, and the last transaction that it reflects (-1 if none is known).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replied {
    /// The zxid of the reply's header.
    pub zxid: Zxid,
    /// The reply, or why there is none.
    pub result: Result<Reply, Error>,
}

impl Request {
    /// The operation behind it.
    ///
    /// # Errors
    /// When a path is not one.
    pub fn operation(&self, chroot: &Chroot) -> Result<Operation<Reply>, Error> {
        Ok(match self {
            Self::Create { path, data, acl, mode } => {
                operation::create(chroot, path, data.as_deref(), acl, *mode)?.read_as(
                    |reader, chroot| {
                        decode::path_and_stat(reader, chroot).map(|(path, stat)| Reply::Created(path, stat))
                    },
                    None,
                )
            }
            Self::Delete { path, version } => done(operation::delete(chroot, path, *version)?),
            Self::Exists { path, watch } => operation::exists(chroot, path, *watch)?.read_as(
                |reader, chroot| decode::stat(reader, chroot).map(|stat| Reply::Exists(Some(stat))),
                Some(|| Reply::Exists(None)),
            ),
            Self::Data { path, watch } => operation::data(chroot, path, *watch)?.read_as(
                |reader, chroot| decode::data(reader, chroot).map(|(data, stat)| Reply::Data(data, stat)),
                None,
            ),
            Self::SetData { path, data, version } => {
                operation::set_data(chroot, path, data.as_deref(), *version)?
                    .read_as(|reader, chroot| decode::stat(reader, chroot).map(Reply::Set), None)
            }
            Self::Children { path, watch } => operation::children_and_stat(chroot, path, *watch)?.read_as(
                |reader, chroot| {
                    decode::names_and_stat(reader, chroot).map(|(names, stat)| Reply::Children(names, stat))
                },
                None,
            ),
            Self::Sync { path } => done(operation::sync(chroot, path)?),
            Self::AddWatch { path, mode } => done(operation::add_watch(chroot, path, *mode)?),
            Self::RemoveWatches { path, kind } => done(operation::remove_watches(chroot, path, *kind)?),
            Self::Commit(multi) => operation::commit(chroot, multi)?
                .read_as(|reader, chroot| multi::transaction(reader, chroot).map(Reply::Committed), None),
            Self::ReadAll(reads) => operation::read_all(chroot, reads)?
                .read_as(|reader, chroot| multi::read_results(reader, chroot).map(Reply::Read), None),
        })
    }
}

fn done(operation: Operation<()>) -> Operation<Reply> {
    operation.read_as(|_, _| Ok(Reply::Done), None)
}

impl Replied {
    /// What an answer means.
    #[must_use]
    pub fn of(reading: Reading<Reply>, answer: Answer<'_>, chroot: &Chroot) -> Self {
        let zxid = answer.as_ref().map_or(Zxid(-1), |answered| answered.zxid);
        Self { zxid, result: reading.result(answer, chroot) }
    }
}
