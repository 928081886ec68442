//! How much namespaces and principals may have, as data: quotas, what is used of them, and the table that commands look them up in. What they mean is
//! in `quota`.

mod records;
mod table;

pub(crate) use records::{Metered, Quota, Usage, Walk};
pub use records::{QuotaLimits, QuotaOf};
pub(crate) use table::Table;
