//! What becomes of one thing that is kept of access.

use std::collections::BTreeSet;
use std::sync::Arc;

use log_access::acl::{AccessRule, ResourcePattern};
use log_access::quota::{QuotaEntity, QuotaKey};
use net_auth::sasl::scram::{ScramCredential, ScramHash};

/// A change of one thing that the council keeps. It is made on what is there when it is made, whatever that is by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessChange {
    /// A user of SCRAM gets or loses credentials.
    User {
        /// The name of the user.
        user: Arc<str>,
        /// New credentials, or none.
        changes: Vec<(ScramHash, Option<ScramCredential>)>,
    },
    /// Rules of a pattern come and go.
    Rules {
        /// The pattern.
        pattern: ResourcePattern,
        /// Rules that come.
        added: BTreeSet<AccessRule>,
        /// Rules that go.
        removed: BTreeSet<AccessRule>,
    },
    /// Quotas of an entity are set or end.
    Quotas {
        /// The entity.
        entity: QuotaEntity,
        /// New values, or none.
        changes: Vec<(QuotaKey, Option<QuotaValue>)>,
    },
}

/// The value of a quota.
#[derive(Clone, Copy, Debug)]
pub struct QuotaValue(pub f64);

impl PartialEq for QuotaValue {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for QuotaValue {}
