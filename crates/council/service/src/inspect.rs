//! What the words, the AdminServer and the metrics may ask of a running server.

use node_threads::Wait;
use std::io::Read;
use std::net::IpAddr;
use std::time::Duration;

use council_wire::Zxid;

use crate::admin_auth::{Access, Denial};
use crate::counters::leadership::Stand;
use crate::ensemble::EnsembleView;
use crate::list_turn::ListTurn;
use crate::restore::Refusal;
use crate::snapshot_requests::{SnapshotFile, TakeError};
use crate::view::{ConfigurationView, ConnectionView, DumpView, ServerView, WatchSummary, WatchView};
use node_metrics::Sample;

/// Asked from threads that serve no clients: an answer may take until the slowest shard has spoken, or a deadline
/// has passed, after which what is missing is left out.
pub(crate) trait Inspect: Send + Sync {
    /// Whether clients are served.
    fn is_serving(&self) -> bool;
    /// The figures of `srvr`.
    fn server(&self) -> ServerView;
    /// The members of the ensemble, if this server is one of several.
    fn ensemble(&self) -> Option<EnsembleView>;
    /// Who leads and whether this server serves, without asking anybody.
    fn standing(&self) -> Stand;
    /// Where clients connect: the plain port, or the secure one if there is no other.
    fn client_port(&self) -> Option<u16>;
    /// Sessions of the whole ensemble.
    fn session_count(&self) -> u64;
    /// All connections.
    fn connections(&self) -> Vec<ConnectionView>;
    /// Sessions, their ephemeral nodes, their ends.
    fn dump(&self) -> DumpView;
    /// All watches.
    fn watches(&self) -> WatchView;
    /// How many entries a command lists, roughly.
    fn list_entries(&self, command: &str) -> u64;
    /// Who lists next.
    fn lists(&self) -> &ListTurn;
    /// How many watches there are.
    fn watch_summary(&self) -> WatchSummary;
    /// The configuration that words show.
    fn configuration(&self) -> ConfigurationView;
    /// The configuration as it was given.
    fn initial_configuration(&self) -> String;
    /// Names and values of the process's surroundings.
    fn environment(&self) -> Vec<(&'static str, String)>;
    /// All metrics.
    fn samples(&self) -> Vec<Sample>;
    /// Forgets the server's latencies and packet counts.
    fn reset_server_statistics(&self);
    /// Forgets those of every connection.
    fn reset_connection_statistics(&self);
    /// The last snapshot's zxid and time in seconds, if there is one.
    fn last_snapshot(&self) -> Option<(Zxid, i64)>;
    /// Zxids, and the tree's digest right behind each.
    fn digests(&self) -> Vec<(Zxid, u64)>;
    /// Names and values of the settings and of what is around the process, secrets left out.
    fn properties(&self) -> Vec<(String, String)>;
    /// Whether a caller that sends this `Authorization` from there may read or replace all data.
    fn authorize(&self, authorization: Option<&str>, peer: IpAddr) -> Access;
    /// Writes down what came of a command, in the log and in the audit log.
    fn record(&self, act: &AdminAct<'_>, outcome: Result<(), &str>);
    /// The same of a command that anybody may run: so often only, and then counted.
    fn record_act(&self, act: &AdminAct<'_>, outcome: Result<(), &str>);
    /// Writes down that a command was refused. Refusals that cost a caller nothing are written down so often only, and
    /// then counted.
    fn record_denial(&self, peer: IpAddr, command: &'static str, denial: &Denial);
    /// How far apart two snapshots by command, or two restorings, must be.
    fn rate_limit(&self) -> Duration;
    /// Takes a snapshot, waits until it is durable and opens it; `None` when the command is switched off.
    fn snapshot(&self) -> Option<Limited<SnapshotFile, TakeError>>;
    /// Puts the snapshot that is sent, of so many bytes, in the place of all that is there; gives the zxid that is gone
    /// on from. `None` when the command is switched off.
    fn restore(&self, sent: &mut dyn Read, bytes: u64) -> Option<Limited<Zxid, Refusal>>;
    /// Milliseconds since the start.
    fn uptime_ms(&self) -> u64;
    /// The mask that nobody but `gtmk` reads.
    fn trace_mask(&self) -> i64;
    /// Sets it.
    fn set_trace_mask(&self, mask: i64);
}

/// What came of a command that must not be run too often: the outer error says that it was not begun.
pub(crate) type Limited<T, E> = Result<Result<T, E>, Wait>;

/// A command that changes something or shows all data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AdminAct<'a> {
    /// Whoever the caller says to be; empty if it does not say.
    pub(crate) user: &'a str,
    pub(crate) ip: IpAddr,
    pub(crate) command: &'static str,
}
