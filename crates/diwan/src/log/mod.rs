//! What people do with topics, records and groups from the command line. Every command works with any broker of Kafka's
//! protocol.

mod access;
mod automatic;
mod balance;
mod client_properties;
pub(crate) mod complete;
mod consume;
mod copies;
mod drain;
pub(crate) mod failure;
mod group;
mod produce;
mod reset;
mod settings;
mod status;
mod template;
mod time;
mod topic;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Subcommand;

use failure::Done;

/// Commands of the log.
#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// Topics: list, create, describe, alter, delete.
    #[command(subcommand, after_help = topic::HELP)]
    Topic(topic::TopicCommand),
    /// Write lines from the standard input to a topic.
    #[command(after_help = produce::HELP)]
    Produce(produce::ProduceArguments),
    /// Print the records of topics.
    #[command(after_help = consume::HELP)]
    Consume(consume::ConsumeArguments),
    /// Consumer groups: list, describe, reset their offsets, delete.
    #[command(subcommand, after_help = group::HELP)]
    Group(group::GroupCommand),
}

/// Commands about all brokers of a cluster.
#[derive(Debug, Subcommand)]
pub(crate) enum ClusterCommand {
    /// Show all brokers: what they lead and keep; partitions that are short of replicas; moves, and how far they are.
    #[command(after_help = status::HELP)]
    Status(status::StatusArguments),
    /// Measure what brokers carry, and propose or carry out other replicas and leaders.
    #[command(after_help = balance::HELP)]
    Balance(balance::BalanceArguments),
    /// Move everything away from a broker, so that it can go for good.
    #[command(after_help = drain::HELP)]
    Drain(drain::DrainArguments),
}

/// Runs one of these.
pub(crate) fn run_on_cluster(command: &ClusterCommand, out: &mut impl Write) -> io::Result<ExitCode> {
    let done = match command {
        ClusterCommand::Status(arguments) => status::run(arguments, out),
        ClusterCommand::Balance(arguments) => balance::run(arguments, out),
        ClusterCommand::Drain(arguments) => drain::run(arguments, out),
    };
    match done {
        Ok(()) => out.flush().map(|()| ExitCode::SUCCESS),
        Err(failure) => failure.tell(),
    }
}

/// Runs one.
pub(crate) fn run(command: &LogCommand, out: &mut impl Write) -> io::Result<ExitCode> {
    let done: Done = match command {
        LogCommand::Topic(command) => topic::run(command, out),
        LogCommand::Produce(arguments) => produce::run(arguments, &mut io::stdin().lock(), out),
        LogCommand::Consume(arguments) => consume::run(arguments, out),
        LogCommand::Group(command) => group::run(command, out),
    };
    match done {
        Ok(()) => out.flush().map(|()| ExitCode::SUCCESS),
        Err(failure) => failure.tell(),
    }
}
