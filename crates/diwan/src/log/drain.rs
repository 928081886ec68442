//! `diwan log drain`.

use std::io::Write;

use clap::Args;

use super::access::ClusterArguments;
use super::failure::{Done, Failure};

pub(crate) const HELP: &str = "\
  diwan log drain 3
  diwan log status
  diwan log drain 3 --cancel

What the broker leads and keeps moves to other brokers, and it is given nothing new, until that is cancelled. `diwan log status`
shows what is left; once that is nothing, the broker may be stopped for good. It is refused if a topic has more replicas than
brokers are left.";

#[derive(Debug, Args)]
pub(crate) struct DrainArguments {
    /// The number of the broker (`node.id`).
    broker: i32,

    /// The broker may lead and keep partitions again. What has moved stays where it is.
    #[arg(long)]
    cancel: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Runs it.
pub(super) fn run(arguments: &DrainArguments, out: &mut impl Write) -> Done {
    let (broker, mut cluster) = (arguments.broker, arguments.cluster.connect()?);
    if !cluster.drains(&[broker])?.contains_key(&broker) {
        // Others would take the setting, and do nothing.
        let what = "the brokers know nothing of drains: they are not Diwan's";
        return Err(Failure::hinted(what, "move partitions with `kafka-reassign-partitions`"));
    }
    cluster.drain(broker, !arguments.cancel)?;
    match arguments.cancel {
        false => writeln!(out, "broker {broker} drains: `diwan log status` shows what is left")?,
        true => writeln!(out, "broker {broker} does not drain any more")?,
    }
    Ok(())
}
