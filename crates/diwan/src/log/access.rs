//! Which brokers a command speaks to.

use clap::Args;
use log_client::Cluster;

use super::failure::Done;

/// The option of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct ClusterArguments {
    /// Brokers of the cluster; one that answers is enough.
    #[arg(
        short,
        long,
        visible_alias = "broker",
        value_name = "HOST:PORT[,..]",
        env = "DIWAN_BOOTSTRAP_SERVER",
        default_value = "127.0.0.1:9092",
        global = true
    )]
    pub(crate) bootstrap_server: String,
}

impl ClusterArguments {
    /// Connects.
    pub(crate) fn connect(&self) -> Done<Cluster> {
        Ok(Cluster::connect(&self.bootstrap_server, "diwan")?)
    }
}
