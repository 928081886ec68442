//! The whole server as seen from outside its threads: asks shards and core by message, with a deadline, and reads
//! the tree under its guard for the few figures that it keeps at hand.

mod answers;
mod ask;

use node_threads::{Clock, Mailbox};
use std::io::Read;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use council_replica::CoreStatus;
use council_tree::{Roster, Tree};
use council_wire::Zxid;
use parking_lot::{Mutex, RwLock};

use crate::certificate_ends::CertificateEnds;
use crate::config::{EnsembleConfig, ServerConfig};
use crate::counters::leadership::LeadershipCounters;
use crate::counters::{CoreCounters, JournalCounters, StartFigures};
use crate::ensemble::{Around, EnsembleView};
use crate::line_limit::LineLimit;
use crate::list_turn::ListTurn;
use crate::messages::CoreMail;
use crate::messages::ShardMail;
use crate::restore::{self, Refusal, Restoration, RestoreError, RestoreRequests};
use crate::serving_state::ServingState;
use crate::session_clients::SessionClients;
use crate::snapshot_requests::SnapshotRequests;
use net_peers::OtherEnsembles;
use net_reactor::ConnectionLimiter;
use net_reactor::NetworkMetrics;

/// How long what was restored may take to be served.
const RESTART_MAX: Duration = Duration::from_secs(10 * 60);
/// ZooKeeper's trace mask at its start.
const TRACE_MASK: i64 = 306;

/// See the module.
pub(crate) struct Introspection {
    pub(crate) config: ServerConfig,
    pub(crate) shards: Vec<Arc<Mailbox<ShardMail>>>,
    pub(crate) core: Arc<Mailbox<CoreMail>>,
    pub(crate) tree: Arc<RwLock<Tree>>,
    pub(crate) gate: Arc<ConnectionLimiter>,
    pub(crate) journal_metrics: Arc<JournalCounters>,
    pub(crate) core_metrics: Arc<CoreCounters>,
    pub(crate) leadership: Arc<LeadershipCounters>,
    pub(crate) other_ensembles: Arc<OtherEnsembles>,
    pub(crate) network_metrics: Arc<NetworkMetrics>,
    pub(crate) snapshots: Arc<SnapshotRequests>,
    pub(crate) restore: RestoreRequests,
    pub(crate) session_clients: Arc<SessionClients>,
    /// Of passwords for the AdminServer's commands.
    pub(crate) attempts: Mutex<net_auth::AttemptLimiter>,
    /// Of refusals that cost a caller nothing.
    pub(crate) refusal_lines: LineLimit,
    /// Of commands that anybody may run.
    pub(crate) act_lines: LineLimit,
    pub(crate) lists: ListTurn,
    pub(crate) clock: Clock,
    pub(crate) start: OnceLock<StartFigures>,
    /// The snapshot that the server started from: its zxid and time in seconds.
    pub(crate) first_snapshot: Mutex<Option<(Zxid, i64)>>,
    /// The plain and the secure port, once known.
    pub(crate) ports: OnceLock<(Option<u16>, Option<u16>)>,
    pub(crate) standing: Arc<ServingState>,
    pub(crate) trace_mask: AtomicI64,
    pub(crate) certificates: CertificateEnds,
    /// Requests that a shard or the core did not answer in time.
    pub(crate) unanswered: AtomicU64,
}

impl Introspection {
    pub(crate) fn initial_trace_mask() -> AtomicI64 {
        AtomicI64::new(TRACE_MASK)
    }

    /// Restores a server that is alone, and waits until it serves again.
    pub(super) fn restore_from(&self, sent: &mut dyn Read, bytes: u64) -> Result<Zxid, Refusal> {
        if self.config.ensemble.is_some() {
            return Err(Refusal::NotAlone);
        }
        let Some(_turn) = self.restore.turn.try_lock() else {
            return Err(Refusal::Failed(String::from("another snapshot is being restored")));
        };
        let tree = restore::receive(&self.config.storage.data_dir, sent, bytes)?;
        let (done, outcome) = channel();
        self.core.put(CoreMail::Restore(Box::new(Restoration { tree, done })));
        let outcome = outcome.recv().unwrap_or(Err(RestoreError::Stopping));
        let zxid = outcome.map_err(|error| Refusal::Failed(error.to_string()))?;
        let deadline = Instant::now() + RESTART_MAX;
        while !self.standing.is_serving() {
            if Instant::now() >= deadline {
                return Err(Refusal::Failed(String::from("the snapshot is restored, but not served yet")));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(zxid)
    }

    /// ZooKeeper's name for what this server is.
    pub(super) fn mode(&self) -> &'static str {
        match &self.config.ensemble {
            None => "standalone",
            Some(_) if self.leadership.stand().leads => "leader",
            Some(ensemble) => match self.roster(ensemble).member(ensemble.number) {
                Some(own) if !own.votes => "observer",
                _ => "follower",
            },
        }
    }

    /// The members that there are to be: the tree knows once there is one, and until then the configuration does.
    pub(crate) fn roster(&self, ensemble: &EnsembleConfig) -> Roster {
        let known = self.tree.read().roster();
        known.unwrap_or_else(|| ensemble.roster())
    }

    pub(super) fn ensemble_view(&self, core: &CoreStatus) -> Option<EnsembleView> {
        let ensemble = self.config.ensemble.as_ref()?;
        let around = Around {
            number: ensemble.number,
            roster: &self.roster(ensemble),
            settings: &self.config.settings,
            leadership: &self.leadership,
            other_ensembles: &self.other_ensembles,
            first_snapshot: *self.first_snapshot.lock(),
            now: self.clock.now(),
        };
        Some(EnsembleView::new(&around, core))
    }

    pub(super) fn leads(&self) -> bool {
        self.config.ensemble.is_some() && self.leadership.stand().leads
    }
}
