//! Rule 35. Shape: no node is deleted that has children, none has a parent that is ephemeral, none has no parent.
//!
//! Source: ZooKeeper's programmer's guide, on ephemeral nodes; PrepRequestProcessor.

use crate::oracle::model::parent;
use crate::rules::lives::StepKind;
use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    for step in &evidence.lives().steps {
        findings.judged("steps");
        let (path, zxid) = (&step.path, step.zxid);
        match step.kind {
            StepKind::Created { parents_owner, .. } if parents_owner != 0 => findings
                .add(format!("`{path}` was made at {zxid:x} under a node that {parents_owner:x} owns")),
            StepKind::Deleted { children } if children != 0 => {
                findings.add(format!("`{path}` was deleted at {zxid:x} and had {children} children"));
            }
            _ => {}
        }
    }
    for standing in evidence.standings {
        for path in standing.nodes.keys().filter(|path| *path != "/") {
            let above = standing.nodes.get(parent(path));
            if above.is_none_or(|above| above.stat.ephemeral_owner != 0) {
                findings
                    .add(format!("member {} holds `{path}` under no node that may be one", standing.member));
            }
        }
    }
}
