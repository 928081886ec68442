//! The catalog's thread: topics in the council, for the broker.
//!
//! At a start it registers the cluster, reads all topics, and appoints this broker anew, under the next leader epoch, for the
//! partitions that it leads. Then it makes the topics that are asked for, and follows what others change.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use council_client::{Client, CreateMode, Error, ErrorCode as NodeError, Event, Events, WatchMode, Watcher};
use log_broker::{CatalogCommand, NewTopic};
use log_partition::PartitionConfig;
use log_wire::ErrorCode;
use node_threads::{Mailbox, ThreadWaker};

use crate::shard::ShardMail;
use crate::topic_node::{TopicNode, id_text};

const ROOT: &str = "/log";
const CLUSTER: &str = "/log/cluster";
const TOPICS: &str = "/log/topics";

const PRODUCER_IDS: &str = "/log/producer-ids";
/// How many ids a broker takes at once.
const PRODUCER_IDS_BLOCK: i64 = 1_000;

/// How long it waits for something to do before it looks whether the council has told of changes.
const LOOK: Duration = Duration::from_millis(20);

/// What the catalog's thread shares with others.
pub(crate) struct CatalogLinks {
    pub(crate) commands: Arc<Mailbox<CatalogCommand>>,
    pub(crate) waker: Arc<ThreadWaker>,
    pub(crate) broker: Arc<Mailbox<ShardMail>>,
    pub(crate) stopping: Arc<AtomicBool>,
}

/// See the module.
pub(crate) struct Catalog {
    client: Client,
    watcher: Watcher,
    events: Events,
    node_id: i32,
    defaults: PartitionConfig,
    links: CatalogLinks,
}

impl Catalog {
    pub(crate) fn new(client: Client, node_id: i32, defaults: PartitionConfig, links: CatalogLinks) -> Self {
        let (watcher, events) = Watcher::new();
        Self { client, watcher, events, node_id, defaults, links }
    }

    /// Makes a path, with all that is above it.
    pub(crate) fn make_path(client: &Client, path: &str) -> Result<(), Error> {
        let mut whole = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            whole.push('/');
            whole.push_str(part);
            exists_already(client.create(&whole, [], CreateMode::Persistent).wait().map(drop))?;
        }
        Ok(())
    }

    /// The id of the cluster, which is drawn by the first broker of it.
    pub(crate) fn cluster_id(client: &Client, drawn: &[u8; 16]) -> Result<String, Error> {
        for path in [ROOT, TOPICS] {
            exists_already(client.create(path, [], CreateMode::Persistent).wait().map(drop))?;
        }
        exists_already(client.create(CLUSTER, id_text(drawn), CreateMode::Persistent).wait().map(drop))?;
        let (id, _) = client.data(CLUSTER).wait()?;
        Ok(String::from_utf8_lossy(&id.unwrap_or_default()).into_owned())
    }

    /// Runs until it is told to stop.
    ///
    /// # Errors
    /// The session with the council is over, or the council refused something.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        self.client.add_watch(TOPICS, WatchMode::PersistentRecursive, &self.watcher).wait()?;
        for name in self.client.children(TOPICS).wait()? {
            self.appoint(&name)?;
        }
        self.links.broker.put(ShardMail::TopicsComplete);
        let mut commands = Vec::new();
        while !self.links.stopping.load(Ordering::SeqCst) {
            while let Some(event) = self.events.try_recv() {
                self.heed(&event)?;
            }
            self.links.commands.take_all(&mut commands);
            for command in commands.drain(..) {
                self.carry_out(command)?;
            }
            self.links.waker.park(Some(LOOK), || !self.links.commands.is_empty());
        }
        Ok(())
    }

    /// This broker leads its partitions of the topic anew.
    fn appoint(&self, name: &str) -> Result<(), Error> {
        let path = format!("{TOPICS}/{name}");
        loop {
            let Some((data, stat)) = absent(self.client.data(&path).wait())? else { return Ok(()) };
            let Some(mut node) = self.node(name, &data.unwrap_or_default()) else { return Ok(()) };
            if node.appoint(self.node_id) {
                match self.client.set_data(&path, node.bytes(), stat.version).wait() {
                    Err(Error::Refused { code: NodeError::BadVersion, .. }) => continue,
                    other => drop(other?),
                }
            }
            self.tell(name, &node);
            return Ok(());
        }
    }

    fn carry_out(&self, command: CatalogCommand) -> Result<(), Error> {
        match command {
            CatalogCommand::Create(new, ticket) => {
                let made = self.create(&new)?;
                let (error, id) = made.map_or_else(|error| (error, [0; 16]), |id| (ErrorCode::None, id));
                ticket
                    .into_iter()
                    .for_each(|ticket| self.links.broker.put(ShardMail::TopicDone(ticket, error, id)));
            }
            CatalogCommand::Delete(name, ticket) => {
                let error = self.delete(&name)?;
                self.links.broker.put(ShardMail::TopicDone(ticket, error, [0; 16]));
            }
            CatalogCommand::ProducerIds => {
                let block = self.producer_ids()?;
                self.links.broker.put(ShardMail::ProducerIds(block));
            }
        }
        Ok(())
    }

    fn create(&self, new: &NewTopic) -> Result<Result<[u8; 16], ErrorCode>, Error> {
        let mut id = [0; 16];
        if getrandom::fill(&mut id).is_err() {
            return Ok(Err(ErrorCode::UnknownServerError));
        }
        let partitions = usize::try_from(new.partitions).unwrap_or(1);
        let node = TopicNode::new(id, new.settings.clone(), partitions, self.node_id);
        let path = format!("{TOPICS}/{}", new.name);
        match self.client.create(&path, node.bytes(), CreateMode::Persistent).wait() {
            Err(Error::Refused { code: NodeError::NodeExists, .. }) => Ok(Err(ErrorCode::TopicAlreadyExists)),
            Err(error) => Err(error),
            Ok(_) => {
                tracing::info!(topic = %new.name, partitions, "a topic was created");
                self.tell(&new.name, &node);
                Ok(Ok(id))
            }
        }
    }

    fn delete(&self, name: &Arc<str>) -> Result<ErrorCode, Error> {
        match absent(self.client.delete(&format!("{TOPICS}/{name}"), -1).wait())? {
            None => Ok(ErrorCode::UnknownTopicOrPartition),
            Some(()) => {
                tracing::info!(topic = %name, "a topic was deleted");
                self.links.broker.put(ShardMail::TopicGone(Arc::clone(name)));
                Ok(ErrorCode::None)
            }
        }
    }

    /// Takes the next block of producer ids: whoever raises the number in the council has those up to it.
    fn producer_ids(&self) -> Result<Range<i64>, Error> {
        exists_already(self.client.create(PRODUCER_IDS, "0", CreateMode::Persistent).wait().map(drop))?;
        loop {
            let (data, stat) = self.client.data(PRODUCER_IDS).wait()?;
            let next: i64 =
                String::from_utf8_lossy(&data.unwrap_or_default()).trim().parse().unwrap_or_default();
            let end = next + PRODUCER_IDS_BLOCK;
            match self.client.set_data(PRODUCER_IDS, end.to_string(), stat.version).wait() {
                Err(Error::Refused { code: NodeError::BadVersion, .. }) => {}
                Err(error) => return Err(error),
                Ok(_) => return Ok(next..end),
            }
        }
    }

    fn heed(&mut self, event: &Event) -> Result<(), Error> {
        let Some(path) = event.path.as_deref() else { return Ok(()) };
        let Some(name) = path.strip_prefix(TOPICS).and_then(|rest| rest.strip_prefix('/')) else {
            return Ok(());
        };
        match absent(self.client.data(path).wait())? {
            Some((data, _)) => {
                if let Some(node) = self.node(name, &data.unwrap_or_default()) {
                    self.tell(name, &node);
                }
            }
            None => self.links.broker.put(ShardMail::TopicGone(name.into())),
        }
        Ok(())
    }

    fn node(&self, name: &str, data: &[u8]) -> Option<TopicNode> {
        let told =
            |error| tracing::warn!(topic = name, %error, "what the council holds of a topic cannot be used");
        TopicNode::read(data).map_err(told).ok()
    }

    fn tell(&self, name: &str, node: &TopicNode) {
        match node.image(name, &self.defaults) {
            Ok(image) => self.links.broker.put(ShardMail::Topic(image)),
            Err(error) => {
                tracing::warn!(topic = name, %error, "what the council holds of a topic cannot be used");
            }
        }
    }
}

fn exists_already(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(Error::Refused { code: NodeError::NodeExists, .. }) => Ok(()),
        other => other,
    }
}

fn absent<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Err(Error::Refused { code: NodeError::NoNode, .. }) => Ok(None),
        other => other.map(Some),
    }
}
