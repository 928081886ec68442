//! What the audit log will say of a write once its outcome is known.

use std::net::IpAddr;
use std::sync::Arc;

use council_tree::{Outcome, SubOutcome};
use council_wire::{MultiOperation, Request, SessionId, permission};

use crate::event::{AuditRecord, FrontEvent};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct PendingAudit {
    entries: Vec<Entry>,
    multi: bool,
}

#[derive(Debug)]
struct Entry {
    operation: &'static str,
    znode: Option<String>,
    znode_type: Option<&'static str>,
    acl: Option<String>,
}

impl PendingAudit {
    pub(crate) fn of(request: &Request<'_>) -> Self {
        let mut pending = Self::default();
        match request {
            Request::Create(create) => pending.created(create.path, create.flags),
            Request::CreateTtl(create, _) => pending.created(create.path, create.flags),
            Request::Delete { path, .. } => pending.touched("delete", path),
            Request::SetData { path, .. } => pending.touched("setData", path),
            Request::SetAcl { path, acl, .. } => {
                let shown = acl.iter().map(|entry| {
                    let (scheme, id) = (entry.scheme.unwrap_or_default(), entry.id.unwrap_or_default());
                    format!("{scheme}:{id}:{}", permission_letters(entry.permissions))
                });
                let acl = Some(shown.collect::<Vec<_>>().join(","));
                let znode = Some((*path).to_owned());
                pending.entries.push(Entry { operation: "setAcl", znode, znode_type: None, acl });
            }
            Request::Multi(multi) => {
                pending.multi = true;
                multi.operations.iter().for_each(|operation| pending.of_multi(operation));
            }
            Request::Reconfig(_) => pending.entries.push(Entry {
                operation: "reconfig",
                znode: None,
                znode_type: None,
                acl: None,
            }),
            _ => {}
        }
        pending
    }

    fn of_multi(&mut self, operation: &MultiOperation<'_>) {
        match operation {
            MultiOperation::Create(_, create, _) => self.created(create.path, create.flags),
            MultiOperation::Delete { path, .. } => self.touched("delete", path),
            MultiOperation::SetData { path, .. } => self.touched("setData", path),
            MultiOperation::Check { path, .. } => self.touched("", path),
            MultiOperation::GetData { .. } | MultiOperation::GetChildren { .. } => {}
        }
    }

    fn created(&mut self, path: &str, flags: i32) {
        let znode_type = Some(match flags {
            1 => "ephemeral",
            2 => "persistent_sequential",
            3 => "ephemeral_sequential",
            4 => "container",
            5 => "persistent_with_ttl",
            6 => "persistent_sequential_with_ttl",
            _ => "persistent",
        });
        self.entries.push(Entry { operation: "create", znode: Some(path.to_owned()), znode_type, acl: None });
    }

    fn touched(&mut self, operation: &'static str, path: &str) {
        self.entries.push(Entry { operation, znode: Some(path.to_owned()), znode_type: None, acl: None });
    }

    /// Turns into events, now that it is known what happened.
    pub(crate) fn report(
        self,
        (session, user, ip): (SessionId, String, IpAddr),
        outcome: &Outcome,
        events: &mut Vec<FrontEvent>,
    ) {
        let success = !matches!(outcome, Outcome::Refused(_) | Outcome::Rejected(_) | Outcome::Dropped(_))
            && !outcome.is_failed_multi();
        let user: Arc<str> = user.into();
        let record = |operation, znode, znode_type, acl| AuditRecord {
            session,
            user: Arc::clone(&user),
            ip,
            operation,
            znode,
            znode_type,
            acl,
            success,
        };
        if self.multi && !success {
            let failed = record("multiOperation", None, None, None);
            return events.push(FrontEvent::Audit(Box::new(failed)));
        }
        for (at, entry) in
            self.entries.into_iter().enumerate().filter(|(_, entry)| !entry.operation.is_empty())
        {
            let znode = created_path(outcome, at).map(str::to_owned).or(entry.znode);
            let done = record(entry.operation, znode, entry.znode_type, entry.acl);
            events.push(FrontEvent::Audit(Box::new(done)));
        }
    }
}

/// The path that a create ended up with: a sequential one is longer than what was asked for.
fn created_path(outcome: &Outcome, at: usize) -> Option<&str> {
    match outcome {
        Outcome::Created { path, .. } => Some(path),
        Outcome::Multi(results) => match results.get(at)? {
            SubOutcome::Created { path } | SubOutcome::Created2 { path, .. } => Some(path),
            _ => None,
        },
        _ => None,
    }
}

fn permission_letters(permissions: i32) -> String {
    let letters = [
        (permission::CREATE, 'c'),
        (permission::DELETE, 'd'),
        (permission::READ, 'r'),
        (permission::WRITE, 'w'),
        (permission::ADMIN, 'a'),
    ];
    letters.iter().filter(|(bit, _)| permissions & bit != 0).map(|(_, letter)| letter).collect()
}
