//! The brokers of a cluster: where each is, who leads which partition, who coordinates which group.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use log_wire::ErrorCode;
use log_wire::messages::data::{MetadataBody, MetadataBodyTopic, MetadataResponse, MetadataResponseTopic};
use log_wire::messages::groups::FindCoordinatorRequest;

use crate::call::Call;
use crate::connection::Connection;
use crate::error::{Error, Result};
use crate::security::Security;

/// How long something that may go well soon is tried again.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two tries.
const REST: Duration = Duration::from_millis(50);

/// See the module.
#[derive(Debug)]
pub struct Cluster {
    bootstrap: Vec<String>,
    client_id: String,
    security: Security,
    brokers: BTreeMap<i32, String>,
    controller: i32,
    id: Option<String>,
    topics: BTreeMap<String, MetadataResponseTopic>,
    connections: BTreeMap<i32, Connection>,
    /// How long an answer is waited for, if not as long as usual.
    patience: Option<Duration>,
}

impl Cluster {
    /// Connects with the first broker of `HOST:PORT,HOST:PORT` that answers.
    ///
    /// # Errors
    /// None does.
    pub fn connect(bootstrap: &str, client_id: &str) -> Result<Self> {
        Self::connect_secured(bootstrap, client_id, Security::default())
    }

    /// The same, with brokers that want encryption or want to know who the client is.
    ///
    /// # Errors
    /// None answers, or none lets the client in.
    pub fn connect_secured(bootstrap: &str, client_id: &str, security: Security) -> Result<Self> {
        let bootstrap = bootstrap.split(',').map(str::trim).filter(|address| !address.is_empty());
        let mut cluster = Self {
            bootstrap: bootstrap.map(String::from).collect(),
            client_id: client_id.into(),
            security,
            brokers: BTreeMap::new(),
            controller: -1,
            id: None,
            topics: BTreeMap::new(),
            connections: BTreeMap::new(),
            patience: None,
        };
        cluster.look(Some(&[]), false)?;
        Ok(cluster)
    }

    /// The brokers that run: their numbers and addresses.
    #[must_use]
    pub const fn brokers(&self) -> &BTreeMap<i32, String> {
        &self.brokers
    }

    /// The id of the cluster.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Looks at these topics, or at all. A topic that is not there is made if `creates` and the brokers allow it.
    ///
    /// # Errors
    /// No broker answers.
    pub fn look(&mut self, topics: Option<&[String]>, creates: bool) -> Result<Vec<MetadataResponseTopic>> {
        let name =
            |name: &String| MetadataBodyTopic { name: Some(name.clone()), ..MetadataBodyTopic::default() };
        let request = MetadataBody {
            topics: topics.map(|topics| topics.iter().map(name).collect()),
            allow_auto_topic_creation: creates,
            ..MetadataBody::default()
        };
        let MetadataResponse { brokers, cluster_id, controller_id, topics, .. } = self.call_any(&request)?;
        self.brokers = brokers
            .into_iter()
            .map(|broker| (broker.node_id, format!("{}:{}", broker.host, broker.port)))
            .collect();
        (self.controller, self.id) = (controller_id, cluster_id);
        for topic in &topics {
            if let Some(name) = &topic.name {
                self.topics.insert(name.clone(), topic.clone());
            }
        }
        Ok(topics)
    }

    /// A topic, looked at until each of its partitions has a leader.
    ///
    /// # Errors
    /// There is no such topic, or it takes too long.
    pub fn topic(&mut self, name: &str, creates: bool) -> Result<MetadataResponseTopic> {
        let began = Instant::now();
        loop {
            let topic = self.look(Some(&[name.into()]), creates)?.pop().unwrap_or_default();
            let unled = topic.partitions.iter().map(|partition| partition.error_code).find(|code| *code != 0);
            let code = if topic.error_code == 0 { unled.unwrap_or(0) } else { topic.error_code };
            let refusal = Error::refused(format!("topic `{name}`"), code);
            let waits = creates || !refusal.is(ErrorCode::UnknownTopicOrPartition);
            match code {
                0 => return Ok(topic),
                _ if refusal.is_retriable() && waits && began.elapsed() < PATIENCE => thread::sleep(REST),
                _ => return Err(refusal),
            }
        }
    }

    /// The broker that leads a partition, as far as that is known.
    #[must_use]
    pub fn leader(&self, topic: &str, partition: i32) -> Option<i32> {
        let partitions = &self.topics.get(topic)?.partitions;
        let found = partitions.iter().find(|of| of.partition_index == partition)?;
        (found.leader_id >= 0).then_some(found.leader_id)
    }

    /// Over new connections an answer is waited for no longer than that: `request.timeout.ms`.
    pub fn set_patience(&mut self, patience: Duration) {
        self.connections.clear();
        self.patience = Some(patience);
    }

    /// The connection with a broker.
    ///
    /// # Errors
    /// It cannot be reached.
    pub fn broker(&mut self, id: i32) -> Result<&mut Connection> {
        if !self.connections.contains_key(&id) {
            let address = self
                .brokers
                .get(&id)
                .ok_or_else(|| Error::Unreachable(format!("broker {id} is not known to the others")))?;
            let connection = self.security.connect(address, &self.client_id)?;
            if let Some(patience) = self.patience {
                connection.set_patience(patience)?;
            }
            self.connections.insert(id, connection);
        }
        self.connections.get_mut(&id).ok_or_else(|| Error::Unreachable(format!("broker {id}")))
    }

    /// Asks a broker. A connection that fails is not used again.
    ///
    /// # Errors
    /// It cannot be reached, or does not answer.
    pub fn call<C: Call>(&mut self, broker: i32, request: &C) -> Result<C::Response> {
        let answered = self.broker(broker).and_then(|connection| connection.call(request));
        if answered.is_err() {
            self.connections.remove(&broker);
        }
        answered
    }

    /// Forgets the connection with a broker.
    pub fn drop_connection(&mut self, broker: i32) {
        self.connections.remove(&broker);
    }

    /// Asks the broker that takes administrative requests.
    ///
    /// # Errors
    /// It cannot be reached, or does not answer.
    pub fn call_controller<C: Call>(&mut self, request: &C) -> Result<C::Response> {
        let controller = if self.brokers.contains_key(&self.controller) {
            self.controller
        } else {
            self.brokers.keys().next().copied().unwrap_or(-1)
        };
        self.call(controller, request)
    }

    /// The broker that coordinates a group.
    ///
    /// # Errors
    /// None does, for too long.
    pub fn coordinator(&mut self, group: &str) -> Result<i32> {
        let request = FindCoordinatorRequest {
            coordinator_keys: vec![group.into()],
            ..FindCoordinatorRequest::default()
        };
        let began = Instant::now();
        loop {
            let found = self.call_any(&request)?.coordinators.pop().unwrap_or_default();
            if found.error_code == 0 {
                self.brokers.insert(found.node_id, format!("{}:{}", found.host, found.port));
                return Ok(found.node_id);
            }
            let refusal = Error::refused(format!("the coordinator of group `{group}`"), found.error_code);
            if !refusal.is_retriable() || began.elapsed() > PATIENCE {
                return Err(refusal);
            }
            thread::sleep(REST);
        }
    }

    /// Asks any broker.
    fn call_any<C: Call>(&mut self, request: &C) -> Result<C::Response> {
        let known: Vec<i32> = self.brokers.keys().copied().collect();
        let mut last = None;
        for broker in known {
            match self.call(broker, request) {
                Ok(answer) => return Ok(answer),
                Err(error) => last = Some(error),
            }
        }
        for address in &self.bootstrap {
            let opened = self.security.connect(address, &self.client_id);
            let opened = opened.map_err(|error| match error {
                Error::Connection { .. } => Error::Unreachable(error.to_string()),
                other => other,
            });
            match opened.and_then(|mut connection| connection.call(request)) {
                Ok(answer) => return Ok(answer),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::Unreachable(String::from("no address was named"))))
    }
}
