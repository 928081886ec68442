//! What a broker promises to those that administer it: configurations, topics, records, the cluster.

mod cluster;
mod configs;
mod council;
mod groups;
mod records;
mod topics;
