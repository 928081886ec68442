//! What the threads of edges are sent.

use net_http_server::RequestId;
use objects_edge::BackupMail;
use objects_replica::edge::Answer;

/// From the core's thread to an edge.
#[derive(Debug)]
pub(crate) enum ToEdge {
    /// The core says so.
    Answer(Answer),
    /// See [`crate::EdgeAnswers::leader`].
    Leader(Option<String>),
    /// See [`crate::EdgeAnswers::core_ended`].
    CoreEnded,
    /// A backup goes on.
    Backup(RequestId, BackupMail),
}
