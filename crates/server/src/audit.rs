//! The audit log: one line for each thing that somebody did or tried, in ZooKeeper's form.
//!
//! Lines go to the log under the target `audit`, what succeeded as information and what did not as an error, the way
//! ZooKeeper's own audit logger does it; where they end up is decided where logs are set up.

use std::fmt::Write as _;

use std::sync::Arc;

use front::{AuditRecord, FromCore};
use jute::SessionId;
use tree::{Change, ChangeKind};

/// The target of audit lines.
const TARGET: &str = "audit";

/// Writes down what a client did.
pub(crate) fn record(record: &AuditRecord) {
    let line = line(record);
    if record.success {
        tracing::info!(target: TARGET, "{line}");
    } else {
        tracing::error!(target: TARGET, "{line}");
    }
}

/// Writes down that the server itself started or stopped.
pub(crate) fn server(operation: &str, result: &str) {
    tracing::info!(target: TARGET, "user={}\toperation={operation}\tresult={result}", own_user());
}

fn own_user() -> String {
    std::env::var("USER").unwrap_or_else(|_| String::from("unknown"))
}

/// Writes down the ephemeral nodes that go with their sessions: nobody asked for that, so no front reports it. The
/// changes of a transaction come before the end of the session that made them, in every shard's stream; one shard is
/// enough to watch.
#[derive(Default)]
pub(crate) struct SessionEnds {
    last: Option<Arc<[Change]>>,
}

impl SessionEnds {
    /// Takes one item of the stream in.
    pub(crate) fn observe(&mut self, item: &FromCore) {
        match item {
            FromCore::Changes(changes) => self.last = Some(Arc::clone(changes)),
            FromCore::SessionClosed { session, .. } => {
                for line in self.lines(*session) {
                    tracing::info!(target: TARGET, "{line}");
                }
            }
            _ => {}
        }
    }

    fn lines(&mut self, session: SessionId) -> Vec<String> {
        let changes = self.last.take();
        let changes = changes.iter().flat_map(|changes| changes.iter());
        changes
            .filter(|change| change.kind == ChangeKind::Deleted && change.ephemeral_owner == session)
            .map(|change| {
                format!(
                    "session={:#x}\tuser={}\toperation=ephemeralZNodeDeletionOnSessionCloseOrExpire\tznode={}\t\
                     result=success",
                    session.0,
                    own_user(),
                    one_line(&change.path)
                )
            })
            .collect()
    }
}

fn line(record: &AuditRecord) -> String {
    let mut out = format!(
        "session={:#x}\tuser={}\tip={}\toperation={}",
        record.session.0, record.user, record.ip, record.operation
    );
    let znode_type = record.znode_type.map(String::from);
    let fields = [("znode", &record.znode), ("acl", &record.acl), ("znode_type", &znode_type)];
    for (name, value) in fields {
        if let Some(value) = value {
            let _ = write!(out, "\t{name}={}", one_line(value));
        }
    }
    let _ = write!(out, "\tresult={}", if record.success { "success" } else { "failure" });
    out
}

/// What clients name must not forge lines or fields.
fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() { out.extend(character.escape_default()) } else { out.push(character) }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use jute::SessionId;

    use super::*;

    #[test]
    fn nodes_that_go_with_their_session_are_written_down() {
        let acl = tree::AclRef::new(vec![jute::Acl::open()]);
        let change = |path: &str, owner: i64, kind| Change {
            kind,
            path: path.into(),
            zxid: jute::Zxid(9),
            acl: acl.clone(),
            parent_acl: acl.clone(),
            ephemeral_owner: SessionId(owner),
            data_bytes: 0,
        };
        let changes = [
            change("/mine", 7, ChangeKind::Deleted),
            change("/other", 8, ChangeKind::Deleted),
            change("/kept", 7, ChangeKind::Created),
        ];
        let mut ends = SessionEnds::default();
        ends.observe(&FromCore::Changes(changes.into()));
        let lines = ends.lines(SessionId(7));
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("session=0x7\tuser="), "{lines:?}");
        assert!(
            lines[0].ends_with(
                "\toperation=ephemeralZNodeDeletionOnSessionCloseOrExpire\tznode=/mine\tresult=success"
            ),
            "{lines:?}"
        );
        assert!(ends.lines(SessionId(7)).is_empty(), "once");
    }

    #[test]
    fn lines_are_zookeepers() {
        let create = AuditRecord {
            session: SessionId(0x0100_0012_4ae2_0000),
            user: String::from("bob,127.0.0.1"),
            ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
            operation: "create",
            znode: Some(String::from("/a/n0000000001")),
            znode_type: Some("persistent_sequential"),
            acl: None,
            success: true,
        };
        assert_eq!(
            line(&create),
            "session=0x10000124ae20000\tuser=bob,127.0.0.1\tip=127.0.0.1\toperation=create\t\
             znode=/a/n0000000001\tznode_type=persistent_sequential\tresult=success"
        );
        let forged = AuditRecord {
            operation: "setAcl",
            znode: Some(String::from("/x\tresult=success\n")),
            znode_type: None,
            acl: Some(String::from("world:anyone:cdrwa")),
            success: false,
            ..create
        };
        assert!(line(&forged).ends_with(
            "\toperation=setAcl\tznode=/x\\tresult=success\\n\tacl=world:anyone:cdrwa\tresult=failure"
        ));
    }
}
