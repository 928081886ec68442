//! Values of the fields of drawn requests: by the field's name where it means something, otherwise by its type.

use serde_json::{Map, Value, json};
use tools_testbed::dice::Dice;

use super::key_of;
use crate::scene::body::{STRANGE_ID, ZERO_ID};
use crate::schema::{Field, Kind, Message};

/// What draws the body of one request.
pub(in crate::scene) struct Draw<'a> {
    /// What decides.
    pub dice: &'a mut Dice,
    /// The API.
    pub api: &'a str,
    /// The version.
    pub version: i16,
}

/// Answers that mean "not yet".
pub(super) fn early(api: &str) -> &'static [i64] {
    match api {
        "EndTxn" | "AddPartitionsToTxn" | "AddOffsetsToTxn" | "InitProducerId" | "TxnOffsetCommit" => &[51],
        _ => &[],
    }
}

impl Draw<'_> {
    /// A body.
    pub(in crate::scene) fn message(&mut self, message: &Message) -> Value {
        self.object(&message.fields)
    }

    fn object(&mut self, fields: &[Field]) -> Value {
        let mut object = Map::new();
        let version = self.version;
        for field in fields.iter().filter(|field| field.versions.has(version)) {
            let is_tagged = field.tagged.as_ref().is_some_and(|(_, versions)| versions.has(version));
            if is_tagged && self.dice.once_in(2) {
                continue;
            }
            let value = self.field(field);
            object.insert(field.name.clone(), value);
        }
        if SETTERS.contains(&self.api) && object.contains_key("Value") {
            let (key, value) = self.dice.pick(&SETTINGS);
            object.insert("Name".into(), json!(key));
            object.insert("Value".into(), if self.dice.once_in(9) { Value::Null } else { json!(value) });
        }
        Value::Object(object)
    }

    fn field(&mut self, field: &Field) -> Value {
        if let Some(value) = self.named(&field.name, matches!(field.kind, Kind::Array(_))) {
            return value;
        }
        // A null list often means everything: what belongs to others is left out of the comparison.
        if field.nullable.has(self.version) && self.dice.once_in(6) {
            return Value::Null;
        }
        match &field.kind {
            Kind::Array(element) => self.list(&field.name, element),
            Kind::Struct(fields) => self.object(fields),
            kind => self.plain(&field.name, kind),
        }
    }

    fn list(&mut self, name: &str, element: &Kind) -> Value {
        // What is set of an entity that is named twice differs on purpose.
        let count = match (self.api, name) {
            ("AlterClientQuotas", "Entries") => 1,
            // One that Kafka did not foresee has it refuse all.
            // Several markers, of which some are for what is not there, are never answered.
            ("CreateAcls", "Creations") | ("WriteTxnMarkers", "Markers") => 1,
            // Kafka never answers if there is none; of quotas, those of all others would be shown.
            ("AddPartitionsToTxn", "Transactions") | ("DescribeClientQuotas", "Components") => {
                1 + self.dice.weighted(&[8, 4, 2])
            }
            _ => self.dice.weighted(&[1, 8, 4, 2]),
        };
        let mut list: Vec<Value> = Vec::new();
        for _ in 0..count {
            let value = match element {
                Kind::Struct(fields) => self.object(fields),
                kind => self.named(name, false).unwrap_or_else(|| self.plain(name, kind)),
            };
            // What names something twice is drawn by other scenes.
            let key = key_of(&value);
            if key.is_none() || list.iter().all(|other| key_of(other) != key) {
                list.push(value);
            }
        }
        Value::Array(list)
    }

    /// By the type alone.
    fn plain(&mut self, name: &str, kind: &Kind) -> Value {
        match kind {
            Kind::Bool => Value::Bool(self.dice.once_in(2)),
            Kind::Int8 => self.pick(&[json!(0), json!(1), json!(2), json!(3), json!(-1), json!(127)]),
            Kind::Int16 | Kind::Uint16 => self.pick(&[json!(0), json!(1), json!(2), json!(32_767)]),
            Kind::Int32 | Kind::Uint32 => self.pick(&[json!(0), json!(1), json!(7), json!(i32::MAX)]),
            Kind::Int64 => self.pick(&[json!(0), json!(1), json!(-1), json!(i64::MAX)]),
            Kind::Float64 => self.pick(&[json!(1.0), json!(1_000_000.0), json!(0.5), json!(-1.0)]),
            Kind::Uuid => self.topic_id(),
            Kind::String => self.text(name),
            Kind::Bytes => self.pick(&[json!("bytes"), json!({"hex": "00ff"}), json!("")]),
            Kind::Records => self.records(),
            Kind::Array(_) | Kind::Struct(_) => Value::Null,
        }
    }

    fn text(&mut self, name: &str) -> Value {
        match name {
            _ if name.ends_with("GroupId")
                || name == "Groups"
                || name == "GroupIds"
                || name == "GroupsNames" =>
            {
                self.group()
            }
            _ => self.pick(&[json!("@a"), json!("x"), json!(""), json!("@live")]),
        }
    }

    /// By the name of a field, in all APIs or in this one. A list has `whole`: only a few names have a value for all of it.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each kind of field")]
    fn named(&mut self, name: &str, whole: bool) -> Option<Value> {
        if whole {
            return self.named_list(name);
        }
        let numbers = |draw: &mut Self, all: &[i64]| draw.number(all);
        Some(match (self.api, name) {
            ("AlterUserScramCredentials" | "DescribeUserScramCredentials", "Name") => self.user(),
            ("SaslHandshake", "Mechanism") => json!("PLAIN"),
            ("Produce", "TransactionalId") => {
                self.pick(&[Value::Null, Value::Null, Value::Null, json!("@t")])
            }
            (_, "Records") => self.records(),
            (_, "Name" | "Topic" | "TopicName") => self.topic(),
            (_, "TopicId") => self.topic_id(),
            (_, "ConfigurationKeys") => self.pick(&SETTINGS.map(|(key, _)| json!(key))),
            (_, "PartitionIndex" | "Partition" | "Index" | "PartitionIndexes" | "Partitions") => {
                self.number(&[0, 0, 0, 0, 1, 1, 2, 9, -1])
            }
            // A group without members lasts a while when its last offset is gone.
            ("OffsetDelete", "GroupId") => self.pick(&["@live", "@missing"].map(Value::from)),
            ("OffsetCommit", "GroupId") => self.pick(&["@live", "@live", "@g", "@h"].map(Value::from)),
            (_, "GroupId") => self.group(),
            ("DescribeGroups", "Groups") | ("DeleteGroups", "GroupsNames") | (_, "GroupIds") => self.group(),
            ("FindCoordinator", "Key" | "CoordinatorKeys") => self.group(),
            (_, "KeyType") => self.number(&[0, 0, 1, 1, 9]),
            (_, "TransactionalId" | "V3AndBelowTransactionalId") => self.transactional_id(),
            ("ListTransactions", "StateFilters") => self.pick(
                &["Ongoing", "Empty", "CompleteCommit", "CompleteAbort", "Dead", "Nonsense"].map(Value::from),
            ),
            ("ListTransactions", "TransactionalIdPattern") => {
                self.pick(&[json!(".*-t"), json!(".*"), json!("")])
            }
            ("ListTransactions", "DurationFilter") => self.number(&[-1, -1, 3_600_000]),
            (_, "ProducerIdFilters") => self.pick(&[json!("$p-t"), json!(123_456)]),
            ("InitProducerId", "ProducerId" | "ProducerEpoch") => json!(-1),
            (_, "ProducerId" | "V3AndBelowProducerId") => {
                if self.dice.once_in(9) {
                    json!("$p-t+1000")
                } else {
                    json!("$p-t")
                }
            }
            (_, "ProducerEpoch" | "V3AndBelowProducerEpoch") => {
                self.pick(&["$e-t", "$e-t", "$e-t", "$e-t", "$e-t", "$e-t+1", "$e-t-1"].map(Value::from))
            }
            (_, "TransactionTimeoutMs") => numbers(self, &[60_000, 60_000, 60_000, 1_000_000, 0]),
            ("ConsumerGroupHeartbeat", "MemberEpoch") => self.number(&[5, 1, -3, 7]),
            ("ConsumerGroupHeartbeat", "RebalanceTimeoutMs") => self.number(&[-1, 30_000]),
            ("ConsumerGroupHeartbeat", "ServerAssignor") => {
                self.pick(&[Value::Null, json!("range"), json!("nonsense")])
            }
            // The group keeps its member.
            ("LeaveGroup", "MemberId") => self.pick(&[json!("nobody"), json!("")]),
            (_, "MemberId") => {
                self.pick(&[json!("$m-live"), json!("$m-live"), json!("$m-live"), json!("nobody"), json!("")])
            }
            (_, "GenerationId" | "GenerationIdOrMemberEpoch") => self.number(&[1, 1, 1, -1, -1, 0, 2]),
            (_, "GroupInstanceId" | "InstanceId") => {
                self.pick(&[Value::Null, Value::Null, Value::Null, json!("i")])
            }
            ("SyncGroup", "ProtocolType") => {
                self.pick(&[json!("consumer"), json!("consumer"), Value::Null, json!("connect")])
            }
            ("SyncGroup", "ProtocolName") => {
                self.pick(&[json!("range"), json!("range"), Value::Null, json!("sticky")])
            }
            ("ListGroups", "StatesFilter") => {
                self.pick(&["Stable", "Empty", "stable", "Dead", "Nonsense"].map(Value::from))
            }
            ("ListGroups", "TypesFilter") => {
                self.pick(&["classic", "Consumer", "share", "nonsense"].map(Value::from))
            }
            (_, "CommittedOffset") => self.number(&[0, 5, 77, -1, i64::MAX]),
            (_, "CommittedMetadata") => self.pick(&[json!("m"), json!(""), Value::Null]),
            (_, "CommittedLeaderEpoch") => self.number(&[-1, 0, 3]),
            _ => return self.named_number(name),
        })
    }

    /// Fields whose value is a number with a meaning.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each kind of field")]
    fn named_number(&mut self, name: &str) -> Option<Value> {
        let all: &[i64] = match (self.api, name) {
            // One that waits, and comes to nothing, is not always answered by Kafka.
            ("Fetch", "MaxWaitMs") => &[0],
            ("Fetch", "MinBytes") => &[0, 1, 1],
            ("Fetch", "MaxBytes") => &[1 << 20, 1 << 20, 10 << 20, 400, 1],
            ("Fetch", "PartitionMaxBytes") => &[1 << 20, 1 << 20, 300, 1],
            ("Fetch", "SessionId") => &[0, 0, 0, 77],
            ("Fetch", "SessionEpoch") => &[-1, -1, -1, 0, 1],
            ("Fetch", "FetchOffset") => &[0, 0, 1, 2, 3, 4, 6, 9, 99, -1],
            ("Fetch", "ReplicaId") | ("ListOffsets" | "OffsetForLeaderEpoch", "ReplicaId") => &[-1, -1, -2],
            ("Fetch", "LogStartOffset") => &[-1, 0],
            (_, "IsolationLevel") => &[0, 1],
            ("WriteTxnMarkers", "TransactionVersion") => &[0, 0, 1, 2],
            (_, "CurrentLeaderEpoch") => &[-1, -1, 0, 0, 1],
            ("Fetch", "LastFetchedEpoch") => &[-1, -1, 0],
            (_, "LeaderEpoch") => &[0, 0, 1, -1],
            ("ListOffsets", "Timestamp") => return Some(self.time()),
            ("DeleteRecords", "Offset") => &[0, 1, 2, 3, 99, -1, -2],
            (_, "Acks") => &[-1, -1, 1],
            (_, "TimeoutMs" | "timeoutMs") => &[10_000, 30_000],
            ("CreateTopics", "NumPartitions") => &[1, 2, 3, -1, 0],
            ("CreateTopics", "ReplicationFactor") => &[1, 1, 1, -1, 2, 0],
            ("CreateTopics" | "CreatePartitions", "BrokerIds") => &[1, 1, 1, 7],
            (_, "Replicas") => &[1, 1, 7, -1],
            ("CreatePartitions", "Count") => &[1, 2, 3, 4, 5, 0],
            (_, "ResponsePartitionLimit") => &[2000, 2, 1],
            (_, "ElectionType") => &[0, 0, 1],
            (_, "EndpointType") => &[1, 1, 2, 3],
            ("DescribeConfigs" | "AlterConfigs" | "IncrementalAlterConfigs", "ResourceType") => {
                &[2, 2, 2, 2, 32, 16]
            }
            (_, "ConfigOperation") => &[0, 0, 0, 1, 2, 3],
            (_, "ConfigResourceTypes" | "ResourceTypes") => &[2, 4, 8, 16, 32, 0],
            (_, "Mechanism") => &[1, 1, 2, 2, 0, 9],
            (_, "Iterations") => &[4_096, 4_096, 8_192, 4_095, 16_385],
            (_, "MatchType") => &[0, 0, 0, 9],
            (_, "MaxLifetimeMs" | "RenewPeriodMs" | "ExpiryTimePeriodMs" | "RetentionTimeMs") => {
                &[-1, 86_400_000]
            }
            (_, "ResourceType" | "ResourceTypeFilter") => &[1, 2, 2, 3, 4, 5, 6],
            (_, "ResourcePatternType" | "PatternTypeFilter") => &[3, 3, 4, 1, 2],
            (_, "Operation") => &[1, 2, 3, 3, 4, 8, 12],
            (_, "PermissionType") => &[1, 2, 3, 3],
            _ => return self.of_clients(name),
        };
        Some(self.number(all))
    }

    /// Fields about users, quotas and rights.
    fn of_clients(&mut self, name: &str) -> Option<Value> {
        Some(match (self.api, name) {
            (_, "EntityType") => self.pick(&["user", "user", "client-id", "nonsense"].map(Value::from)),
            (_, "EntityName" | "Match") => self.pick(&[json!("@u"), json!("@u"), json!("@v")]),
            ("AlterClientQuotas", "Key") => self.pick(&QUOTAS.map(Value::from)),
            ("AlterClientQuotas", "Value") => {
                self.pick(&[json!(5e6), json!(1e9), json!(2.5), json!(0.0), json!(-1.0)])
            }
            (_, "Principal" | "PrincipalFilter") => {
                self.pick(&["User:alice", "User:bob", "User:*", "alice"].map(Value::from))
            }
            (_, "Host" | "HostFilter") => self.pick(&["*", "*", "127.0.0.1", "10.1.2.3"].map(Value::from)),
            (_, "ResourceNameFilter") => self.pick(&[json!("@a"), json!("@live"), json!("@")]),
            (
                "DescribeConfigs" | "AlterConfigs" | "IncrementalAlterConfigs" | "CreateAcls" | "DeleteAcls",
                "ResourceName",
            ) => self.pick(&["@a", "@b", "@c", "@missing"].map(Value::from)),
            ("ApiVersions", "ClientSoftwareName") => {
                self.pick(&["client", "a.b-c", "-", ""].map(Value::from))
            }
            ("ApiVersions", "ClientSoftwareVersion") => self.pick(&["1.0", "x y", ""].map(Value::from)),
            (_, "Path") => json!("/no/such/folder"),
            ("DescribeCluster" | "DescribeConfigs", "IncludeFencedBrokers") => json!(false),
            ("Metadata", "AllowAutoTopicCreation") => json!(false),
            // What is made for good would change what other scripts see.
            ("UpdateFeatures", "ValidateOnly") => json!(true),
            _ => return None,
        })
    }

    fn named_list(&mut self, name: &str) -> Option<Value> {
        match (self.api, name) {
            ("ConsumerGroupHeartbeat", "SubscribedTopicNames") => {
                Some(self.pick(&[Value::Null, json!(["@a"]), json!([])]))
            }
            // A list without topics has another meaning in the first version.
            ("Metadata", "Topics") if self.version == 0 => Some(json!([{"Name": "@a"}])),
            ("DescribeUserScramCredentials", "Users") => Some(json!([{"Name": self.user()}])),
            _ => None,
        }
    }

    fn topic(&mut self) -> Value {
        let all = ["@a", "@a", "@a", "@b", "@c", "@n1", "@n2", "@missing", "bad name", ""];
        // Some APIs make topics of these names.
        let usable = if self.api == "CreateTopics" { &all[3..] } else { &all[..] };
        Value::from(self.dice.pick(usable))
    }

    fn topic_id(&mut self) -> Value {
        self.pick(&["$id-a", "$id-a", "$id-b", "$id-c", STRANGE_ID, ZERO_ID].map(Value::from))
    }

    fn group(&mut self) -> Value {
        self.pick(&["@live", "@live", "@g", "@g", "@h", "@missing"].map(Value::from))
    }

    fn user(&mut self) -> Value {
        self.pick(&["@u", "@u", "@v", "@missing"].map(Value::from))
    }

    fn transactional_id(&mut self) -> Value {
        // A producer without one gets an id, and batches of it are not compared.
        let all = ["@t", "@t", "@t", "@t", "@t", "@other", ""];
        let known = if self.api == "InitProducerId" { &all[..6] } else { &all[..] };
        Value::from(self.dice.pick(known))
    }

    fn time(&mut self) -> Value {
        let all = [
            json!(-1),
            json!(-2),
            json!(-3),
            json!("$now-2500"),
            json!("$now+90000"),
            json!(0),
            json!(-4),
            json!(-5),
            json!(-9),
        ];
        self.pick(&all)
    }

    fn records(&mut self) -> Value {
        let count = 1 + self.dice.below(3);
        let record = |draw: &mut Self, at: usize| {
            let key = draw.pick(&[json!("k"), json!("l"), Value::Null]);
            let value = draw.pick(&[json!("v"), json!("w"), json!(""), Value::Null]);
            json!({"key": key, "value": value, "timestamp": format!("$now-{}", 1_000 * (count - at))})
        };
        let records: Vec<Value> = (0..count).map(|at| record(self, at)).collect();
        let mut batch = json!({"records": records});
        if self.dice.once_in(3) {
            batch["compression"] = self.pick(&["gzip", "snappy", "lz4", "zstd"].map(Value::from));
        }
        if self.dice.once_in(3) {
            batch["producer"] = json!("$p-t");
            batch["epoch"] = json!("$e-t");
            batch["sequence"] = self.number(&[0, 0, 1, 2, 3]);
        }
        json!([batch])
    }

    fn number(&mut self, all: &[i64]) -> Value {
        Value::from(self.dice.pick(all))
    }

    fn pick(&mut self, all: &[Value]) -> Value {
        self.dice.pick(all)
    }
}

const QUOTAS: [&str; 5] = [
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
    "nonsense",
];

/// APIs in which a name comes with the value of a setting.
const SETTERS: [&str; 3] = ["AlterConfigs", "CreateTopics", "IncrementalAlterConfigs"];

/// Settings of topics with values, of which some are refused.
const SETTINGS: [(&str, &str); 14] = [
    ("retention.ms", "86400000"),
    ("retention.ms", "-1"),
    ("retention.bytes", "1000000"),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "compact,delete"),
    ("cleanup.policy", "nonsense"),
    ("segment.bytes", "2000000"),
    ("segment.bytes", "1"),
    ("max.message.bytes", "100000"),
    ("min.insync.replicas", "1"),
    ("compression.type", "producer"),
    ("message.timestamp.type", "CreateTime"),
    ("flush.ms", "1000"),
    ("no.such.setting", "1"),
];
