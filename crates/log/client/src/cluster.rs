//! The brokers of a cluster: where each is, who leads which partition, who coordinates which group.
//!
//! # A broker that does not answer
//! A process that is stopped, or a machine that is cut off, keeps its connections. So what any broker can answer is asked of
//! another one after [`SILENCE`], and of those that were silent last. While a leader is silent, the others are asked who leads:
//! if that is another broker by now, the request fails and can be sent again, there. It is never sent twice to the same leader.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use log_wire::ErrorCode;
use log_wire::messages::data::{MetadataBody, MetadataBodyTopic, MetadataResponse, MetadataResponseTopic};
use log_wire::messages::groups::FindCoordinatorRequest;

use crate::call::Call;
use crate::connection::{ANSWER, Connection};
use crate::error::{Error, Result};
use crate::security::Security;

/// How long something that may go well soon is tried again.
const PATIENCE: Duration = Duration::from_secs(30);
/// A broker that has not answered for so long is not waited for alone.
const SILENCE: Duration = Duration::from_secs(2);
/// From then on it is looked that often whether another one leads.
const LOOK_EVERY: Duration = Duration::from_millis(500);
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
    /// Brokers that have not answered in time when they were asked last.
    silent: BTreeSet<i32>,
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
            silent: BTreeSet::new(),
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
        self.look_without(None, topics, creates)
    }

    /// The same, without asking one of the brokers.
    fn look_without(
        &mut self,
        except: Option<i32>,
        topics: Option<&[String]>,
        creates: bool,
    ) -> Result<Vec<MetadataResponseTopic>> {
        let name =
            |name: &String| MetadataBodyTopic { name: Some(name.clone()), ..MetadataBodyTopic::default() };
        let request = MetadataBody {
            topics: topics.map(|topics| topics.iter().map(name).collect()),
            allow_auto_topic_creation: creates,
            ..MetadataBody::default()
        };
        let MetadataResponse { brokers, cluster_id, controller_id, topics, .. } =
            self.call_any_without(except, &request)?;
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
            let mut connection = self.security.connect(address, &self.client_id)?;
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

    /// Asks a broker that leads a partition. If it is silent and another broker leads by now, that is an error that can be retried.
    ///
    /// # Errors
    /// It cannot be reached, does not answer, or does not lead any more.
    pub(crate) fn call_leader<C: Call>(
        &mut self,
        leader: i32,
        (topic, partition): (&str, i32),
        request: &C,
    ) -> Result<C::Response> {
        let sent = self.broker(leader).and_then(|connection| connection.send(request));
        let answered = sent.and_then(|()| self.wait_for_leader::<C>(leader, (topic, partition)));
        if answered.is_err() {
            self.connections.remove(&leader);
        }
        answered
    }

    fn wait_for_leader<C: Call>(
        &mut self,
        leader: i32,
        (topic, partition): (&str, i32),
    ) -> Result<C::Response> {
        let (began, patience) = (Instant::now(), self.patience.unwrap_or(ANSWER));
        let mut wait = SILENCE;
        loop {
            let left = patience.saturating_sub(began.elapsed());
            let connection = self.broker(leader)?;
            if let Some(answer) = connection.receive_within::<C>(wait.min(left))? {
                self.silent.remove(&leader);
                return Ok(answer);
            }
            self.silent.insert(leader);
            wait = LOOK_EVERY;
            // Nobody else may answer, either.
            let _ = self.look_without(Some(leader), Some(&[topic.into()]), false);
            if self.leader(topic, partition) != Some(leader) {
                let what = format!("partition {partition} of `{topic}`, whose leader does not answer");
                return Err(Error::refused(what, ErrorCode::NotLeaderOrFollower.code()));
            }
            if began.elapsed() >= patience {
                return Err(self.broker(leader)?.failed(io::ErrorKind::TimedOut.into()));
            }
        }
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
        self.call(self.controller(), request)
    }

    /// The broker that takes administrative requests.
    pub(crate) fn controller(&self) -> i32 {
        match self.brokers.contains_key(&self.controller) {
            true => self.controller,
            false => self.brokers.keys().next().copied().unwrap_or(-1),
        }
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
    ///
    /// # Errors
    /// None answers.
    pub(crate) fn call_any<C: Call>(&mut self, request: &C) -> Result<C::Response> {
        self.call_any_without(None, request)
    }

    /// Asks any broker but one: in short order, those that were silent last. Only if none answers, each is waited for.
    fn call_any_without<C: Call>(&mut self, except: Option<i32>, request: &C) -> Result<C::Response> {
        let mut known: Vec<i32> = self.brokers.keys().copied().filter(|id| Some(*id) != except).collect();
        known.sort_by_key(|id| self.silent.contains(id));
        let mut last = None;
        for broker in &known {
            match self.call_briefly(*broker, request) {
                Ok(answer) => return Ok(answer),
                Err(error) => last = Some(error),
            }
        }
        match self.call_bootstrap(except, request) {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => {}
            Err(error) => last = Some(error),
        }
        for broker in known.into_iter().filter(|_| except.is_none()) {
            if !self.silent.contains(&broker) {
                continue;
            }
            match self.call(broker, request) {
                Ok(answer) => return Ok(answer),
                Err(error) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| Error::Unreachable(String::from("no address was named"))))
    }

    fn call_briefly<C: Call>(&mut self, broker: i32, request: &C) -> Result<C::Response> {
        let answered = self.broker(broker).and_then(|connection| ask(connection, request, false));
        self.silent.remove(&broker);
        if let Err(error) = &answered {
            self.connections.remove(&broker);
            if error.is_silence() {
                self.silent.insert(broker);
            }
        }
        answered
    }

    /// Asks the first broker of those that were named at the beginning. Nothing if none is left to be asked.
    fn call_bootstrap<C: Call>(&self, except: Option<i32>, request: &C) -> Result<Option<C::Response>> {
        let excepted = except.and_then(|id| self.brokers.get(&id));
        let mut last = None;
        let addresses: Vec<&String> =
            self.bootstrap.iter().filter(|address| Some(*address) != excepted).collect();
        for (at, address) in addresses.iter().enumerate() {
            // If nobody else is known, the last one is waited for.
            let is_last = self.brokers.is_empty() && at + 1 == addresses.len();
            let opened = self.security.connect(address, &self.client_id);
            let opened = opened.map_err(|error| match error {
                Error::Connection { .. } => Error::Unreachable(error.to_string()),
                other => other,
            });
            match opened.and_then(|mut connection| ask(&mut connection, request, is_last)) {
                Ok(answer) => return Ok(Some(answer)),
                Err(error) => last = Some(error),
            }
        }
        last.map_or(Ok(None), Err)
    }
}

fn ask<C: Call>(connection: &mut Connection, request: &C, is_patient: bool) -> Result<C::Response> {
    connection.send(request)?;
    let answered = connection.receive_within::<C>(if is_patient { ANSWER } else { SILENCE })?;
    answered.ok_or_else(|| connection.failed(io::ErrorKind::TimedOut.into()))
}
