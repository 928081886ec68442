//! The broker's keeper over a client of the council: how it joins its cluster at a start, and how it follows it then.
//!
//! A start reads the id of the cluster, or draws it; claims its number for its data directory, for good; and announces itself by
//! an ephemeral node. The node of its own last life, which a server keeps until that session's timeout is over, is removed: the
//! lock of the directory says that nobody else uses that one.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use council_client::recipes::Running;
use council_client::{Acl, Client, CreateMode, Error, ErrorCode as NodeError, Options};
use log_metadata::{
    BrokerNode, Change, Decision, Found, Keeper, KeeperEvent, KeeperLimits, Standing, id_text, paths,
};
use node_threads::{Mailbox, Supervisor, ThreadFault};

use crate::error::StartError;
use crate::mail::ShardMail;

/// How long a start waits for the council.
const WAIT: Duration = Duration::from_secs(60);
/// Changes of a start are waited for by what they change, not by their end.
const NO_TICKET: u64 = 0;

/// Where the keeper's events go, once there is a broker.
type Sink = Arc<OnceLock<Arc<Mailbox<ShardMail>>>>;

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
    pub(crate) fn connect(servers: &str, supervisor: &Arc<Supervisor>) -> Result<Self, StartError> {
        if let Some((hosts, path)) = servers.split_once('/') {
            let root = connect(hosts)?;
            let made = make_path(&root, path);
            root.close();
            made.map_err(|error| StartError::Council(error.to_string()))?;
        }
        let client = connect(servers)?;
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

    /// The id of the cluster: that of the council, or the one that was drawn.
    ///
    /// # Errors
    /// The council does not answer.
    pub(crate) fn cluster_id(&self, drawn: &[u8; 16]) -> Result<String, StartError> {
        let id = self.claim(paths::CLUSTER.into(), id_text(drawn))?;
        if id.is_empty() {
            return Err(StartError::Council(format!("`{}` has no id of a cluster", paths::CLUSTER)));
        }
        Ok(id)
    }

    /// This broker's number is that of this data directory, and of no other.
    ///
    /// # Errors
    /// Another directory has the number, or another process is announced under it.
    pub(crate) fn announce(&self, broker: i32, node: &BrokerNode) -> Result<(), StartError> {
        let known = self.claim(paths::directory(broker), node.directory.clone())?;
        if known != node.directory {
            return Err(StartError::OtherDirectory { broker });
        }
        self.keeper.act(|keeper| keeper.announce(broker, &node.bytes()));
        let settled = |keeper: &Keeper| match keeper.standing() {
            Standing::Unknown => None,
            standing => Some(standing),
        };
        let standing = self.keeper.wait(WAIT, settled).ok_or_else(no_answer)?;
        if standing == Standing::Taken {
            self.replace_last_life(broker, node)?;
        }
        Ok(())
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

    /// Writes a node if it is not there. Gives what it holds then.
    fn claim(&self, path: String, text: String) -> Result<String, StartError> {
        let data = text.into_bytes();
        let write = move |found: Found<'_>| match found.data {
            Some(data) if !data.is_empty() => Decision::Keep,
            _ => Decision::Write(data.clone()),
        };
        let is_there = path.clone();
        self.keeper.act(|keeper| keeper.change(Change::new(path, NO_TICKET, write)));
        let text = |data: &[u8]| String::from_utf8_lossy(data).into_owned();
        self.keeper.wait(WAIT, |keeper| keeper.data(&is_there).map(text)).ok_or_else(no_answer)
    }

    fn replace_last_life(&self, broker: i32, node: &BrokerNode) -> Result<(), StartError> {
        let path = paths::broker(broker);
        let of_directory = |data: &[u8], directory: &str| {
            BrokerNode::read(data).is_some_and(|other| other.directory == directory)
        };
        let directory = node.directory.clone();
        let remove = move |found: Found<'_>| match found.data {
            Some(data) if of_directory(data, &directory) => Decision::Delete,
            _ => Decision::Keep,
        };
        self.keeper.act(|keeper| keeper.change(Change::new(path, NO_TICKET, remove)));
        let announced = |keeper: &Keeper| (keeper.standing() == Standing::Announced).then_some(());
        self.keeper.wait(WAIT, announced).ok_or(StartError::NumberTaken { broker })
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

fn connect(servers: &str) -> Result<Client, StartError> {
    let client = Options::new().renew_session(true).connect(servers);
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
