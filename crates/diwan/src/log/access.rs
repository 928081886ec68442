//! Which brokers a command speaks to.

use std::path::PathBuf;

use clap::Args;
use log_client::{Cluster, Security};

use super::client_properties;
use super::failure::Done;

/// The options of every command.
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

    /// Properties of a Kafka client, for brokers with TLS or SASL: `security.protocol`, `sasl.*`, `ssl.*`.
    #[arg(long, value_name = "FILE", env = "DIWAN_COMMAND_CONFIG", global = true)]
    pub(crate) command_config: Option<PathBuf>,
}

impl ClusterArguments {
    /// Connects.
    pub(crate) fn connect(&self) -> Done<Cluster> {
        let security = match &self.command_config {
            Some(file) => client_properties::read(file)?,
            None => Security::default(),
        };
        Ok(Cluster::connect_secured(&self.bootstrap_server, "diwan", security)?)
    }
}
