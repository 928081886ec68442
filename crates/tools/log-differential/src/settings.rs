//! What both kinds of broker are started with.

/// Of every broker. By default a group gets no new assignment within a second of the last one: a busy machine would decide which epochs
/// are seen. The scene "assignments wait" sets a longer time for its group.
pub(crate) const OF_ALL: &[(&str, &str)] =
    &[("group.consumer.assignment.interval.ms", "0"), ("group.share.assignment.interval.ms", "0")];
