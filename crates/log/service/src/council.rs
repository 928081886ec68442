//! The broker's keeper over a client of the council: how it joins its cluster at a start, and how it follows it then.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use council_client::recipes::Running;
use council_client::{Acl, Client, CreateMode, Error, ErrorCode as NodeError, Options};
use log_metadata::access::ClusterSecret;
use log_metadata::{
    BrokerNode, Change, Join, JoinRefusal, JoinStep, Keeper, KeeperEvent, KeeperLimits, Standing, paths,
};
use node_threads::{Mailbox, Supervisor, ThreadFault};

use crate::error::StartError;
use crate::mail::ShardMail;

/// How long a start waits for the council.
const WAIT: Duration = Duration::from_secs(60);

/// After how long a server of the council that is silent is given up for another one. The controller writes leaders through it: the
/// machine that stands still may be that of a leader, and of this server of the council.
const SERVER_SILENCE: Duration = Duration::from_millis(800);

/// Where the keeper's events go, once there is a broker.
type Sink = Arc<OnceLock<Arc<Mailbox<ShardMail>>>>;

/// What a broker knows once it has joined.
pub(crate) struct Joined {
    /// The id of the cluster.
    pub(crate) cluster: String,
    /// Of this process: greater than that of any earlier one of the broker.
    pub(crate) incarnation: u64,
}

/// The broker's place in its cluster. See the module.
pub(crate) struct Council {
    keeper: Running<Keeper>,
    sink: Sink,
    client: Client,
}

impl Council {
    /// Connects, below the path that `servers` names, which is made if it is not there.
    ///
    /// # Errors
    /// The council cannot be reached.
    pub(crate) fn connect(
        servers: &str,
        session: Duration,
        supervisor: &Arc<Supervisor>,
    ) -> Result<Self, StartError> {
        if let Some((hosts, path)) = servers.split_once('/') {
            let root = connect(hosts, session)?;
            let made = make_path(&root, path);
            root.close();
            made.map_err(|error| StartError::Council(error.to_string()))?;
        }
        let client = connect(servers, session)?;
        let (sink, supervisor) = (Sink::default(), Arc::clone(supervisor));
        let keeper = Keeper::new(vec![Acl::open()], KeeperLimits::default());
        let after = {
            let sink = Arc::clone(&sink);
            move |keeper: &mut Keeper| pass_on(keeper, &sink, &supervisor)
        };
        let keeper = Running::start(&client, keeper, after)
            .map_err(|source| StartError::System { action: "start a thread", source })?;
        Ok(Self { keeper, sink, client })
    }

    /// Joins the cluster, with the directory that `open` opens for it.
    ///
    /// # Errors
    /// The council does not answer, the broker must not join, or `open` fails.
    pub(crate) fn join<T>(
        &self,
        broker: i32,
        (drawn, wall_ms): ([u8; 16], u64),
        open: impl FnOnce(&str) -> Result<(T, BrokerNode), StartError>,
    ) -> Result<(T, Joined), StartError> {
        let mut join = Join::new(broker, drawn, wall_ms);
        self.keeper.act(|keeper| join.begin(keeper));
        let JoinStep::Open(cluster) = self.next_step(&mut join, broker)? else { return Err(no_answer()) };
        let (opened, node) = open(&cluster)?;
        self.keeper.act(|keeper| join.opened(node, keeper));
        let JoinStep::Joined(incarnation) = self.next_step(&mut join, broker)? else {
            return Err(no_answer());
        };
        Ok((opened, Joined { cluster, incarnation }))
    }

    /// What all brokers of the cluster know and nobody else: this, if they have nothing yet.
    ///
    /// # Errors
    /// The council does not answer.
    pub(crate) fn links_secret(&self, drawn: [u8; 32]) -> Result<[u8; 32], StartError> {
        self.keeper.act(|keeper| keeper.change(ClusterSecret(drawn).claim_for_links(Change::NOBODY)));
        let secret = |keeper: &mut Keeper| keeper.data(paths::LINKS_SECRET).and_then(ClusterSecret::read);
        self.keeper.wait_and_act(WAIT, secret).map(|secret| secret.0).ok_or_else(no_answer)
    }

    fn next_step(&self, join: &mut Join, broker: i32) -> Result<JoinStep, StartError> {
        let step = |keeper: &mut Keeper| Some(join.step(keeper)).filter(|step| *step != JoinStep::Wait);
        match self.keeper.wait_and_act(WAIT, step).ok_or_else(no_answer)? {
            JoinStep::Refused(JoinRefusal::OtherDirectory) => Err(StartError::OtherDirectory { broker }),
            JoinStep::Refused(JoinRefusal::NumberTaken) => Err(StartError::NumberTaken { broker }),
            other => Ok(other),
        }
    }

    /// From now on all that happens goes to a broker.
    pub(crate) fn begin(&self, to: Arc<Mailbox<ShardMail>>) {
        let _ = self.sink.set(to);
        self.keeper.act(|_| ());
    }

    /// Asks for changes.
    pub(crate) fn ask(&self, changes: Vec<Change>) {
        self.keeper.act(|keeper| changes.into_iter().for_each(|change| keeper.change(change)));
    }

    /// Ends the session, so that others see at once that this broker is gone.
    pub(crate) fn close(&self) {
        self.keeper.release();
        self.client.close();
    }
}

/// Hands on what the keeper tells. It keeps that while there is no broker.
fn pass_on(keeper: &mut Keeper, sink: &Sink, supervisor: &Supervisor) {
    let Some(to) = sink.get() else { return };
    let mut mail = Vec::new();
    while let Some(event) = keeper.event() {
        match &event {
            KeeperEvent::Over(error) => {
                supervisor.report(ThreadFault::new("council's client", error.clone()))
            }
            KeeperEvent::Standing(Standing::Taken) if keeper.standing() == Standing::Taken => {
                tracing::error!(
                    "another process is announced under the number of this broker: stop one of them"
                )
            }
            _ => {}
        }
        mail.push(ShardMail::Council(event));
    }
    to.put_all(&mut mail);
}

fn connect(servers: &str, session: Duration) -> Result<Client, StartError> {
    let options = Options::new().renew_session(true).session_timeout(session);
    let client = options.server_silence(SERVER_SILENCE).connect(servers);
    let client = client.map_err(|error| StartError::Council(error.to_string()))?;
    if client.wait_connected(WAIT) {
        return Ok(client);
    }
    let seconds = WAIT.as_secs();
    Err(StartError::Council(format!("none of `{servers}` answered within {seconds} s")))
}

fn no_answer() -> StartError {
    StartError::Council(format!("it did not answer within {} s", WAIT.as_secs()))
}

/// Makes a path, with all that is above it.
fn make_path(client: &Client, path: &str) -> Result<(), Error> {
    let mut whole = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        whole.push('/');
        whole.push_str(part);
        match client.create(&whole, [], CreateMode::Persistent).wait() {
            Err(Error::Refused { code: NodeError::NodeExists, .. }) => {}
            other => drop(other?),
        }
    }
    Ok(())
}
