//! Why a module is refused.

use objects_state::guest::Rejected;

pub(crate) fn rejected(detail: impl Into<String>) -> Rejected {
    Rejected { detail: detail.into() }
}
