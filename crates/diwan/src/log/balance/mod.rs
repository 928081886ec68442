//! `diwan log balance`: what brokers have to carry is measured, and replicas and leaders are proposed so that no broker carries much
//! more than its part. On request the proposal is carried out.

mod carry_out;
mod measure;
mod show;

use std::io::Write;
use std::time::Duration;

use clap::Args;
use log_balance::{Settings, Snapshot, SnapshotError, propose};
use log_client::Cluster;

use super::access::ClusterArguments;
use super::failure::{Done, Failure};

pub(crate) const HELP: &str = "\
  diwan log balance
  diwan log balance --measure 60 --exclude 4
  diwan log balance --execute --throttle 50

What brokers have measured of their partitions in the last minute is asked of the controller: what producers write, what consumers
read, and how full disks are. With `--measure`, or where the brokers measure nothing (`diwan.balance=off`), it is measured for some
seconds how fast partitions grow, and what consumers read is not known. Brokers that carry much more than their part are
relieved: first by other leaders, which copies nothing, then by moves. In a cluster in which little happens the numbers of leaders
and replicas are made even. Without `--execute` nothing is changed here; what brokers change by themselves, `diwan log status` says.";

/// What is proposed has to pay off in a day.
const LASTED: Duration = Duration::from_secs(8 * 3_600);

/// How long it is measured where brokers do not, seconds.
const MEASURE_S: u32 = 10;
/// What a broker can receive and send of which nothing is known.
const NETWORK_BYTES_PER_S: u64 = 1_250_000_000;

#[derive(Debug, Args)]
pub(crate) struct BalanceArguments {
    /// How long it is measured, seconds. Not given: the brokers' own measurements, or 10.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3_600))]
    measure: Option<u32>,

    /// What each broker can receive and send, megabytes a second. What is far below that is not evened out. Not given: what is set on
    /// the brokers (`diwan.balance.network.bytes.per.second`), or 1250.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    network: Option<u32>,

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
    let mut snapshot = look(arguments, &mut cluster, out)?;
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

/// What the brokers carry: as they have measured it, or as it is measured here.
fn look(arguments: &BalanceArguments, cluster: &mut Cluster, out: &mut impl Write) -> Done<Snapshot> {
    let capacity = arguments.network.map(|mb| u64::from(mb) * 1_000_000);
    if arguments.measure.is_none()
        && let Some(mut known) = measure::known(cluster)?
    {
        for broker in &mut known.brokers {
            broker.network_bytes_per_s = capacity.or(broker.network_bytes_per_s);
        }
        return Ok(known);
    }
    let seconds = arguments.measure.unwrap_or(MEASURE_S);
    if !arguments.json {
        writeln!(out, "measuring for {seconds} s")?;
        out.flush()?;
    }
    measure::measure(cluster, Duration::from_secs(seconds.into()), capacity.unwrap_or(NETWORK_BYTES_PER_S))
}

fn refused(error: SnapshotError) -> Failure {
    let hint = match error {
        SnapshotError::Away(_) => "start them, or give their partitions other replicas first",
        SnapshotError::Senseless(_) => "measure again",
    };
    Failure::hinted(error.to_string(), hint)
}
