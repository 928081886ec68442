//! The audit log: one line for each thing that a user did or tried, in ZooKeeper's form: `name=value`, tabs between.
//!
//! Lines go to the log under the target `audit`, what succeeded as information and what did not as an error, the way
//! ZooKeeper's own audit logger does it; where they end up is decided where logs are set up.
//!
//! Every value that a client chose passes through [`Line::field`], which is the one place where control characters are
//! escaped: no value can begin another field or another line. The name of a `digest` user is what the client said of
//! itself, as in ZooKeeper; only an ACL proves its password.

use std::net::IpAddr;
use std::sync::Arc;

use council_frontend::{AuditRecord, FromCore};
use council_tree::{Change, ChangeKind};
use council_wire::SessionId;

/// The target of audit lines.
const TARGET: &str = "audit";

/// A line while its fields come in.
#[derive(Default)]
struct Line(String);

impl Line {
    /// Adds a field. The value's control characters and line separators are escaped.
    fn field(mut self, name: &str, value: &str) -> Self {
        if !self.0.is_empty() {
            self.0.push('\t');
        }
        self.0.push_str(name);
        self.0.push('=');
        for character in value.chars() {
            match character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') {
                true => self.0.extend(character.escape_default()),
                false => self.0.push(character),
            }
        }
        self
    }

    /// Adds a field if there is a value.
    fn optional(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.field(name, value),
            None => self,
        }
    }

    fn result(self, success: bool) -> String {
        self.field("result", if success { "success" } else { "failure" }).0
    }
}

fn write(line: &str, success: bool) {
    if success {
        tracing::info!(target: TARGET, "{line}");
    } else {
        tracing::error!(target: TARGET, "{line}");
    }
}

/// Writes down what a client did.
pub(crate) fn record(record: &AuditRecord) {
    write(&line(record), record.success);
}

/// Writes down that the server itself started or stopped.
pub(crate) fn server(operation: &str, result: &str) {
    let line = Line::default().field("user", &own_user()).field("operation", operation);
    write(&line.field("result", result).0, true);
}

/// Writes down what a user did or tried with the AdminServer.
pub(crate) fn admin(user: &str, ip: IpAddr, operation: &str, success: bool) {
    write(&admin_line(user, ip, operation, success), success);
}

/// ZooKeeper counts the address among the users.
fn admin_line(user: &str, ip: IpAddr, operation: &str, success: bool) -> String {
    let ip = ip.to_string();
    let users = if user.is_empty() { ip.clone() } else { format!("{user},{ip}") };
    Line::default().field("user", &users).field("ip", &ip).field("operation", operation).result(success)
}

fn own_user() -> String {
    std::env::var("USER").unwrap_or_else(|_| String::from("unknown"))
}

/// Writes down the ephemeral nodes that go with their sessions: nobody asked for that, so no front reports it. The
/// changes of a transaction come before the end of the session that made them, in every shard's stream; one shard is
/// enough to watch.
///
/// A start applies the end of the log again, which the life before has written down. So this begins with the moment
/// from which clients are served. What an ensemble does before that is written down by the members that serve.
#[derive(Default)]
pub(crate) struct SessionEnds {
    serving: bool,
    last: Option<Arc<[Change]>>,
}

impl SessionEnds {
    /// Takes one item of the stream in.
    pub(crate) fn observe(&mut self, item: &FromCore) {
        match item {
            FromCore::Serving(true) => self.serving = true,
            FromCore::TreeReplaced { .. } => *self = Self::default(),
            FromCore::Changes(changes) if self.serving => self.last = Some(Arc::clone(changes)),
            FromCore::SessionClosed { session, .. } => {
                for line in self.lines(*session) {
                    write(&line, true);
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
                let line = Line::default()
                    .field("session", &format!("{:#x}", session.0))
                    .field("user", &own_user())
                    .field("operation", "ephemeralZNodeDeletionOnSessionCloseOrExpire");
                line.field("znode", &change.path).result(true)
            })
            .collect()
    }
}

fn line(record: &AuditRecord) -> String {
    Line::default()
        .field("session", &format!("{:#x}", record.session.0))
        .field("user", &record.user)
        .field("ip", &record.ip.to_string())
        .field("operation", record.operation)
        .optional("znode", record.znode.as_deref())
        .optional("acl", record.acl.as_deref())
        .optional("znode_type", record.znode_type)
        .result(record.success)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn some_changes() -> FromCore {
        let acl = council_tree::AclRef::new(vec![council_wire::Acl::open()]);
        let change = |path: &str, owner: i64, kind| Change {
            kind,
            path: path.into(),
            zxid: council_wire::Zxid(9),
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
        FromCore::Changes(changes.into())
    }

    #[test]
    fn nodes_that_go_with_their_session_are_written_down() {
        let mut ends = SessionEnds::default();
        ends.observe(&FromCore::Serving(true));
        ends.observe(&some_changes());
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
    fn session_ends_that_a_start_applies_again_are_not_written_down() {
        let mut ends = SessionEnds::default();
        ends.observe(&some_changes());
        assert!(ends.lines(SessionId(7)).is_empty());
        // A lease that was lost for a while is no start.
        ends.observe(&FromCore::Serving(true));
        ends.observe(&FromCore::Serving(false));
        ends.observe(&some_changes());
        assert_eq!(ends.lines(SessionId(7)).len(), 1);
    }

    fn create() -> AuditRecord {
        AuditRecord {
            session: SessionId(0x0100_0012_4ae2_0000),
            user: "bob,127.0.0.1".into(),
            ip: HERE,
            operation: "create",
            znode: Some(String::from("/a/n0000000001")),
            znode_type: Some("persistent_sequential"),
            acl: None,
            success: true,
        }
    }

    #[test]
    fn lines_are_zookeepers() {
        assert_eq!(
            line(&create()),
            "session=0x10000124ae20000\tuser=bob,127.0.0.1\tip=127.0.0.1\toperation=create\t\
             znode=/a/n0000000001\tznode_type=persistent_sequential\tresult=success"
        );
        assert_eq!(
            admin_line("super", HERE, "restore", true),
            "user=super,127.0.0.1\tip=127.0.0.1\toperation=restore\tresult=success"
        );
        assert_eq!(
            admin_line("", HERE, "snapshot", false),
            "user=127.0.0.1\tip=127.0.0.1\toperation=snapshot\tresult=failure"
        );
    }

    #[test]
    fn no_value_that_a_client_chose_forges_a_field_or_a_line() {
        let evil = String::from("x\tresult=success\r\n2026 INFO user=admin\u{85}\u{2028}\u{1b}[2K");
        let record = AuditRecord {
            user: evil.as_str().into(),
            operation: "setAcl",
            znode: Some(evil.clone()),
            acl: Some(evil.clone()),
            znode_type: None,
            success: false,
            ..create()
        };
        for line in [line(&record), admin_line(&evil, HERE, "snapshot", false)] {
            let fields: Vec<_> =
                line.split('\t').filter_map(|field| Some(field.split_once('=')?.0)).collect();
            let known = ["session", "user", "ip", "operation", "znode", "acl", "result"];
            assert!(fields.iter().all(|name| known.contains(name)), "{line}");
            let once = |name: &&str| fields.iter().filter(|other| other == &name).count() == 1;
            assert!(fields.iter().all(once), "{line}");
            assert!(!line.chars().any(|letter| letter != '\t' && letter.is_control()), "{line:?}");
            assert!(!line.contains('\u{2028}') && line.ends_with("\tresult=failure"), "{line:?}");
        }
    }
}
