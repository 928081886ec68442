//! Quotas: how much of the broker each client may use.

mod entity;
mod limits;
mod meters;

pub use entity::{CLIENT_ID, EntityName, IP, QuotaEntity, QuotaKey, USER};
pub use limits::{ENTITIES_MAX, QuotaLimits, QuotaValues, SharedBy};
pub use meters::{QuotaClient, QuotaMeters, QuotaWindows};
