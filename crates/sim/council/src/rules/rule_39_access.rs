//! Rule 39. Access: each request is judged by the ACL that stands right before it in the total order, and by who its
//! client was when it sent it: a setACL binds what comes behind it, pipelined or not.
//!
//! Source: ZooKeeper's programmer's guide, on access control; docs/stronger.md on pipelined setACL.

use council_wire::{ErrorCode, permission};

use crate::history::Ask;
use crate::oracle::model::parent;
use crate::rules::{Evidence, Findings, tell, who};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    let history = evidence.history;
    for connection in &history.connections {
        for (call, who) in who::calls(history, connection) {
            let call = &history.calls[call];
            let (Some((path, wanted)), Some(answer)) = (needs(&call.ask), &call.answer) else { continue };
            let zxid = if call.ask.is_write() { answer.zxid - 1 } else { answer.zxid };
            let Some(life) = evidence.lives().at(path, zxid) else { continue };
            let (_, acl) = life.acl(zxid);
            let may = who.may(wanted, acl);
            findings.judged(if may { "permitted requests" } else { "forbidden requests" });
            let is_wrong = match answer.err {
                0 => !may,
                err => may && err == ErrorCode::NoAuth.code(),
            };
            if is_wrong {
                findings.add(format!(
                    "{} was answered with {} for {who:?} at {zxid:x}, under {acl:?}",
                    tell(history, call),
                    answer.err
                ));
            }
        }
    }
}

/// Which permission a request needs, and where.
fn needs(ask: &Ask) -> Option<(&str, i32)> {
    match ask {
        Ask::Create { path, .. } | Ask::Container { path } | Ask::Ttl { path, .. } => {
            Some((parent(path), permission::CREATE))
        }
        Ask::Delete { path, .. } => Some((parent(path), permission::DELETE)),
        Ask::Set { path, .. } | Ask::SetNull { path, .. } => Some((path, permission::WRITE)),
        Ask::SetAcl { path, .. } => Some((path, permission::ADMIN)),
        Ask::Get { path, .. } | Ask::Exists { path, .. } | Ask::Children { path, .. } => {
            Some((path, permission::READ))
        }
        Ask::Names { path } | Ask::Count { path } => Some((path, permission::READ)),
        Ask::GetAcl { path } => Some((path, permission::READ | permission::ADMIN)),
        _ => None,
    }
}
