//! What a scene writes its script with.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde_json::{Value, json};
use tools_testbed::dice::Dice;

use crate::schema::Schemas;
use crate::script::{Action, Call, Script, Step};
use crate::served::Served;

/// Answers of a coordinator that is not there yet.
const COORDINATOR_EARLY: [i64; 3] = [14, 15, 16];
/// Answers of a partition whose leader is not there yet.
pub const LEADER_EARLY: [i64; 3] = [3, 5, 6];

/// Why a script cannot be played.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    /// The APIs, and some with the versions, that are not served by both.
    pub lacks: BTreeSet<String>,
    /// All APIs that it would use.
    pub uses: BTreeSet<String>,
}

/// A script in the making.
pub struct Story<'a> {
    /// What its seed decides.
    pub dice: Dice,
    served: &'a Served,
    schemas: &'a Schemas,
    broker: usize,
    connection: usize,
    client_id: Option<String>,
    steps: Vec<Step>,
    lacking: BTreeSet<String>,
    settled: usize,
}

impl<'a> Story<'a> {
    /// An empty one.
    #[must_use]
    pub fn new(dice: Dice, served: &'a Served, schemas: &'a Schemas) -> Self {
        let client_id = Some(String::from("diff"));
        let (steps, lacking) = (Vec::new(), BTreeSet::new());
        Self { dice, served, schemas, broker: 1, connection: 0, client_id, steps, lacking, settled: 0 }
    }

    /// The script.
    ///
    /// # Errors
    /// It needs APIs that are not served by both.
    pub fn end(self, seed: u64, number: usize, scene: &str) -> Result<Script, LeftOut> {
        if !self.lacking.is_empty() {
            let uses = self.steps.iter().filter_map(Step::call).map(|call| call.api.clone()).collect();
            return Err(LeftOut { lacks: self.lacking, uses });
        }
        Ok(Script { seed, number, scene: scene.to_owned(), steps: self.steps, ..Script::default() })
    }

    /// The script is left out unless both serve an API.
    pub fn needs(&mut self, api: &str) -> &mut Self {
        self.versions(api);
        self
    }

    /// Whether both brokers serve an API.
    #[must_use]
    pub fn serves(&self, api: &str) -> bool {
        self.served.versions(api).is_some()
    }

    /// The messages.
    #[must_use]
    pub fn schemas(&self) -> &'a Schemas {
        self.schemas
    }

    /// One of the versions of an API that both serve.
    pub fn version(&mut self, api: &str) -> i16 {
        let versions = self.versions(api);
        self.one_of(&versions)
    }

    /// The broker of what follows, on its first connection.
    pub fn at(&mut self, broker: usize) -> &mut Self {
        (self.broker, self.connection) = (broker, 0);
        self
    }

    /// The connection of what follows.
    pub fn on(&mut self, connection: usize) -> &mut Self {
        self.connection = connection;
        self
    }

    /// Who asks what follows.
    pub fn as_client(&mut self, client_id: Option<&str>) -> &mut Self {
        self.client_id = client_id.map(String::from);
        self
    }

    /// Asks, in any version, and waits for the reply.
    pub fn call(&mut self, api: &str, body: Value) -> &mut Call {
        self.call_in(0..=i16::MAX, api, body)
    }

    /// Asks in one of these versions.
    pub fn call_in(&mut self, versions: RangeInclusive<i16>, api: &str, body: Value) -> &mut Call {
        let call = self.request(versions, api, body);
        self.push(Action::Call(call))
    }

    /// Asks, in any version, without waiting for the reply.
    pub fn send(&mut self, api: &str, body: Value) -> &mut Call {
        self.send_in(0..=i16::MAX, api, body)
    }

    /// Asks in one of these versions, without waiting for the reply.
    pub fn send_in(&mut self, versions: RangeInclusive<i16>, api: &str, body: Value) -> &mut Call {
        let call = self.request(versions, api, body);
        self.push(Action::Send(call))
    }

    /// Waits for the oldest reply of the connection.
    pub fn wait(&mut self) -> &mut Self {
        self.act(Action::Await)
    }

    /// Does something else on the connection.
    pub fn act(&mut self, action: Action) -> &mut Self {
        self.steps.push(Step { broker: self.broker, connection: self.connection, action });
        self
    }

    /// Asks the same in every version that both serve.
    pub fn each(&mut self, api: &str, mut body: impl FnMut(i16) -> Value) -> &mut Self {
        for version in self.versions(api) {
            self.call_in(version..=version, api, body(version));
        }
        self
    }

    /// The versions of an API that both serve.
    pub fn versions(&mut self, api: &str) -> RangeInclusive<i16> {
        let Some(versions) = self.served.versions(api) else {
            self.lacking.insert(api.to_owned());
            return 0..=0;
        };
        versions.lowest..=versions.highest
    }

    /// Makes a topic with these settings and waits until it can be used; `$id-NAME` is its id.
    pub fn topic_with(&mut self, name: &str, partitions: i32, settings: &[(&str, &str)]) -> &mut Self {
        let configs: Vec<Value> =
            settings.iter().map(|(name, value)| json!({"Name": name, "Value": value})).collect();
        let topic = json!({
            "Name": format!("@{name}"), "NumPartitions": partitions, "ReplicationFactor": 1, "Configs": configs,
        });
        self.call("CreateTopics", json!({"Topics": [topic], "timeoutMs": 30_000}));
        self.known(name, partitions)
    }

    /// Makes a topic and waits until it can be used.
    pub fn topic(&mut self, name: &str, partitions: i32) -> &mut Self {
        self.topic_with(name, partitions, &[])
    }

    /// Waits until a topic can be used.
    pub fn known(&mut self, name: &str, partitions: i32) -> &mut Self {
        let topic = format!("@{name}");
        let asked = json!({"Topics": [{"Name": topic}], "AllowAutoTopicCreation": false});
        let call = self.call_in(10..=i16::MAX, "Metadata", asked);
        call.retry(&LEADER_EARLY).bind(&format!("id-{name}"), "/Topics/0/TopicId");
        let latest = |index| json!({"PartitionIndex": index, "Timestamp": -1});
        let all: Vec<Value> = (0..partitions).map(latest).collect();
        let asked = json!({"ReplicaId": -1, "Topics": [{"Name": topic, "Partitions": all}]});
        self.call("ListOffsets", asked).retry(&LEADER_EARLY);
        self
    }

    /// Authenticates a connection by SASL PLAIN.
    pub fn log_in(&mut self, connection: usize, user: &str) -> &mut Self {
        self.on(connection).call_in(1..=i16::MAX, "SaslHandshake", json!({"Mechanism": "PLAIN"}));
        let token = format!("\0{user}\0{}", crate::users::password(user));
        self.call_in(0..=i16::MAX, "SaslAuthenticate", json!({"AuthBytes": token}));
        self
    }

    /// Waits until what was changed before shows in every answer: a broker learns of changes in their order, so it has learnt of
    /// all that came before a topic when it knows the topic.
    pub fn settle(&mut self) -> &mut Self {
        self.settled += 1;
        let name = format!("@settled-{}", self.settled);
        let topic = json!({"Name": name, "NumPartitions": 1, "ReplicationFactor": 1});
        self.call("CreateTopics", json!({"Topics": [topic], "timeoutMs": 30_000}));
        let asked = json!({"Topics": [{"Name": name}], "AllowAutoTopicCreation": false});
        self.call_in(4..=i16::MAX, "Metadata", asked).retry(&LEADER_EARLY);
        // Kafka tells of a topic before its broker has made the directory.
        let latest = json!([{"Name": name, "Partitions": [{"PartitionIndex": 0, "Timestamp": -1}]}]);
        let asked = json!({"ReplicaId": -1, "Topics": latest});
        self.call("ListOffsets", asked).retry(&LEADER_EARLY);
        self
    }

    fn request(&mut self, wanted: RangeInclusive<i16>, api: &str, body: Value) -> Call {
        let versions = self.versions(api);
        let lowest = *versions.start().max(wanted.start());
        let highest = *versions.end().min(wanted.end());
        if lowest > highest {
            self.lacking.insert(format!("{api} {}-{}", wanted.start(), wanted.end()));
        }
        let version = self.one_of(&(lowest..=highest));
        let retry = if is_of_a_coordinator(api) { COORDINATOR_EARLY.to_vec() } else { Vec::new() };
        let client_id = self.client_id.clone();
        Call { api: api.to_owned(), version, body, client_id, retry, ..Call::default() }
    }

    fn one_of(&mut self, versions: &RangeInclusive<i16>) -> i16 {
        let (lowest, highest) = (*versions.start(), *versions.end());
        let spread = usize::try_from(highest - lowest + 1).unwrap_or(1);
        // The newest version is what today's clients use.
        match self.dice.once_in(4) {
            true => highest,
            false => lowest + i16::try_from(self.dice.below(spread)).unwrap_or(0),
        }
    }

    fn push(&mut self, action: Action) -> &mut Call {
        self.act(action);
        match self.steps.last_mut().map(|step| &mut step.action) {
            Some(Action::Call(call) | Action::Send(call)) => call,
            _ => unreachable!("a request was pushed"),
        }
    }
}

impl Call {
    /// Gives a variable its value by a place in the reply.
    pub fn bind(&mut self, name: &str, place: &str) -> &mut Self {
        self.bind.insert(name.to_owned(), place.to_owned());
        self
    }

    /// Asks again while the reply has one of these codes.
    pub fn retry(&mut self, codes: &[i64]) -> &mut Self {
        self.retry.extend(codes);
        self
    }

    /// Takes every answer as final.
    pub fn at_once(&mut self) -> &mut Self {
        self.retry.clear();
        self
    }

    /// Asks again until the reply has this in that place; nothing, until there is no such place.
    pub fn until(&mut self, place: &str, value: Value) -> &mut Self {
        self.until.insert(place.to_owned(), value);
        self
    }
}

fn is_of_a_coordinator(api: &str) -> bool {
    const APIS: [&str; 21] = [
        "FindCoordinator",
        "JoinGroup",
        "SyncGroup",
        "Heartbeat",
        "LeaveGroup",
        "OffsetCommit",
        "OffsetFetch",
        "OffsetDelete",
        "DescribeGroups",
        "DeleteGroups",
        "ListGroups",
        "InitProducerId",
        "AddPartitionsToTxn",
        "AddOffsetsToTxn",
        "EndTxn",
        "TxnOffsetCommit",
        "ConsumerGroupHeartbeat",
        "ConsumerGroupDescribe",
        "DescribeTransactions",
        "ListTransactions",
        "WriteTxnMarkers",
    ];
    APIS.contains(&api)
}
