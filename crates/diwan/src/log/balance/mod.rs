//! `diwan log balance`: what brokers have to carry is measured, and replicas and leaders are proposed so that no broker carries much
//! more than its part. On request the proposal is carried out.

mod carry_out;
mod measure;
mod show;

use std::io::Write;
use std::time::Duration;

use clap::Args;
use log_balance::{Settings, SnapshotError, propose};

use super::access::ClusterArguments;
use super::failure::{Done, Failure};

pub(crate) const HELP: &str = "\
  diwan log balance
  diwan log balance --measure 60 --exclude 4
  diwan log balance --execute --throttle 50

It is measured for some seconds how fast partitions grow and how full disks are. Brokers that carry much more than their part are
relieved: first by other leaders, which copies nothing, then by moves. In a cluster in which little happens the numbers of leaders
and replicas are made even. Without `--execute` nothing is changed.

What consumers read is not measured: no broker tells it by partition.";

/// What is proposed has to pay off in a day.
const LASTED: Duration = Duration::from_secs(8 * 3_600);

#[derive(Debug, Args)]
pub(crate) struct BalanceArguments {
    /// How long it is measured, seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    measure: u32,

    /// What each broker can receive and send, megabytes a second. What is far below that is not evened out.
    #[arg(long, value_name = "MB", default_value_t = 1_250, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    network: u32,

    /// Brokers that are to get nothing.
    #[arg(long, value_name = "BROKER,..", value_delimiter = ',')]
    exclude: Vec<i32>,

    /// Carries the proposal out, and waits until it has come to its end.
    #[arg(long)]
    execute: bool,

    /// How fast each broker copies at most, megabytes a second. Kafka's configurations for that are set, and removed at the end, those
    /// that were set before too.
    #[arg(long, value_name = "MB", requires = "execute", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    throttle: Option<u32>,

    /// As JSON: the proposal.
    #[arg(long, conflicts_with = "execute")]
    json: bool,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Runs it.
pub(super) fn run(arguments: &BalanceArguments, out: &mut impl Write) -> Done {
    let mut cluster = arguments.cluster.connect()?;
    if !arguments.json {
        writeln!(out, "measuring for {} s", arguments.measure)?;
        out.flush()?;
    }
    let capacity = u64::from(arguments.network) * 1_000_000;
    let mut snapshot =
        measure::measure(&mut cluster, Duration::from_secs(arguments.measure.into()), capacity)?;
    snapshot.lasted = LASTED;
    if let Some(unknown) =
        arguments.exclude.iter().find(|id| snapshot.brokers.iter().all(|broker| broker.id != **id))
    {
        return Err(Failure::new(format!("there is no broker {unknown} to exclude")));
    }
    for broker in &mut snapshot.brokers {
        broker.is_excluded |= arguments.exclude.contains(&broker.id);
    }
    let proposal = propose(&snapshot, &Settings::default()).map_err(refused)?;
    if arguments.json {
        writeln!(out, "{:#}", show::to_json(&proposal))?;
        return Ok(());
    }
    show::show(&snapshot, &proposal, out)?;
    if arguments.execute && !proposal.changes.is_empty() {
        out.flush()?;
        let throttle = arguments.throttle.map(|mb| u64::from(mb) * 1_000_000);
        return carry_out::carry_out(&mut cluster, &proposal, throttle, out);
    }
    if !proposal.changes.is_empty() {
        writeln!(out, "\nNothing is changed: `--execute` carries this out.")?;
    }
    Ok(())
}

fn refused(error: SnapshotError) -> Failure {
    let hint = match error {
        SnapshotError::Away(_) => "start them, or give their partitions other replicas first",
        SnapshotError::Senseless(_) => "measure again",
    };
    Failure::hinted(error.to_string(), hint)
}
