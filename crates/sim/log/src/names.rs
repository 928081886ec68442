//! The topics that clients make.

/// Names of topics.
pub(crate) const NAMES: [&str; 2] = ["alpha", "beta"];

/// The topic of the groups' members: it stays, and nobody writes into it.
pub(crate) const GROUP_TOPIC: &str = "gamma";

/// The topic of the share group: it stays, and is written to.
pub(crate) const SHARE_TOPIC: &str = "delta";

/// Those that there always are.
pub(crate) fn all_names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain([GROUP_TOPIC])
}
