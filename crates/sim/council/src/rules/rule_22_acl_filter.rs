//! Rule 22. ACL filter: nobody is told of a node that it may not read at that moment; of the children of one by that
//! one's ACL.
//!
//! Source: CVE-2024-23944: persistent watches told what their owners may not see.
//!
//! Alone it catches the planted bug `61-tells-whom-it-does-not-concern`.

use crate::rules::{Evidence, Findings};

pub(super) fn check(evidence: &Evidence<'_>, findings: &mut Findings) {
    evidence.watching(22, findings);
}
