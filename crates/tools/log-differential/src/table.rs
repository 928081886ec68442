//! The differences on purpose: where ours answers differently from Apache Kafka 4.3.1, and why.
//!
//! The one place where a difference may be excused for good. Without a reason here, or a place among the [`crate::faults`] that
//! are still open, every field that differs is a failure.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::difference::Difference;
use crate::play::codes;
use crate::scene;
use crate::script::Call;

/// An intended difference.
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Why it is wanted.
    pub reason: &'static str,
    /// Whether it explains that field of a reply.
    shows: Shows,
}

/// Where an intended difference shows.
enum Shows {
    /// In this field.
    In(fn(&Context<'_>) -> bool),
    /// Nowhere: scripts leave it out, because the real broker does not answer, or gives no fixed answer.
    LeftOut,
}

/// A field that differs, with what is around it.
pub struct Context<'a> {
    /// The scene of the script.
    pub scene: &'a str,
    /// The request.
    pub call: Option<&'a Call>,
    /// The field.
    pub difference: &'a Difference,
    /// All that Kafka replied.
    pub kafka: &'a Value,
    /// All that ours replied.
    pub ours: &'a Value,
}

impl Context<'_> {
    fn is(&self, api: &str, field: &str) -> bool {
        self.difference.api == api && self.difference.field == field
    }

    /// Whether both replies have this in that place.
    fn both(&self, place: &str, value: i64) -> bool {
        [self.kafka, self.ours]
            .iter()
            .all(|reply| reply.pointer(place).and_then(Value::as_i64) == Some(value))
    }

    /// Whether it is played on a cluster, where ours says that it does not lead, and Kafka something else.
    fn is_of_a_follower(&self, api: &str, is_other: impl Fn(i64) -> bool) -> bool {
        let (kafka, ours) = (codes(self.kafka), codes(self.ours));
        let differ = |(kafka, ours): (&i64, &i64)| kafka != ours;
        let mut pairs = kafka.iter().zip(&ours).filter(|pair| differ(*pair)).peekable();
        scene::is_of_a_cluster(self.scene)
            && self.difference.api == api
            && kafka.len() == ours.len()
            && pairs.peek().is_some()
            && pairs.all(|(kafka, ours)| is_other(*kafka) && *ours == NOT_LEADER)
    }

    /// Whether the difference is that one log holds more than the other.
    fn is_about_more_or_less(&self) -> bool {
        let fields = ["HighWatermark", "LastStableOffset", "Records"];
        let field = self.difference.field.strip_prefix("Responses[].Partitions[].");
        field.is_some_and(|field| fields.contains(&field))
    }
}

/// Codes of epochs that a leader does not have.
const WRONG_EPOCH: [i64; 2] = [74, 75];
const NOT_LEADER: i64 = 6;

/// Settings of the broker that follow from how it is started.
const STARTED_WITH: [&str; 12] = [
    "advertised.listeners",
    "controller.listener.names",
    "controller.quorum.voters",
    "listener.security.protocol.map",
    "num.network.threads",
    "offsets.topic.replication.factor",
    "process.roles",
    "share.coordinator.state.topic.min.isr",
    "share.coordinator.state.topic.replication.factor",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
    "zookeeper.connect",
];

/// All of them.
pub const TABLE: &[Entry] = &[
    Entry {
        name: "produce without records",
        reason: "Kafka 4.3.1 never answers a partition whose records are null; ours answers 87",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "settings of one resource replaced twice",
        reason: "Kafka 4.3.1 never answers an AlterConfigs that names a resource twice",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "quotas of an entity that is named twice",
        reason: "Kafka 4.3.1 answers 42 and sets the first of them all the same; ours sets none",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "partitions of no transaction",
        reason: "Kafka 4.3.1 never answers an AddPartitionsToTxn of version 4 or later that names no transaction",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "markers for what is not there, beside others",
        reason: "Kafka 4.3.1 never answers a WriteTxnMarkers of several producers if a partition is not there",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "a fetch that waits in vain for a topic that is not there",
        reason: "Kafka 4.3.1 does not always answer a fetch with a wait, a least size, and an id that no topic has",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "a group whose last offset was deleted",
        reason: "Kafka shows it as empty until it looks for offsets that have expired; ours forgets it at once",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "an internal topic is deleted",
        reason: "Kafka 4.3.1 deletes it with all groups or transactions; ours answers 17",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "the end of a transaction told again",
        reason: "a commit that is retried after its coordinator aborted gets a code from which clients recover; \
                 Kafka 4.3.1 answers 48 (KAFKA-20785)",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "what is not served is not advertised",
        reason: "ours leaves out the APIs that it does not serve yet, and the features that belong to them",
        shows: Shows::In(|context| {
            let lists = ["ApiKeys", "SupportedFeatures", "FinalizedFeatures"];
            let list = lists.iter().any(|list| context.is("ApiVersions", list));
            list && context.both("/ErrorCode", 0) && is_empty(&context.difference.ours)
        }),
    },
    Entry {
        name: "a fetch ends early",
        reason: "ours answers what lies in memory or what lies in one segment, and not both at once: the client asks on",
        shows: Shows::In(|context| {
            let lists = (context.difference.kafka.as_array(), context.difference.ours.as_array());
            let (Some(all), Some(first)) = lists else { return false };
            let is_start = !first.is_empty() && all.starts_with(first);
            context.is("Fetch", "Responses[].Partitions[].Records") && is_start
        }),
    },
    Entry {
        name: "aborted transactions of what is sent",
        reason: "where a fetch of ours ends earlier, it lists only the aborted transactions of the batches that it has",
        shows: Shows::In(|context| {
            let lists = (context.difference.kafka.as_array(), context.difference.ours.as_array());
            let (Some(more), Some(less)) = lists else { return false };
            let is_less = !more.is_empty() && less.is_empty();
            context.is("Fetch", "Responses[].Partitions[].AbortedTransactions")
                && is_less
                && ends_early(context)
        }),
    },
    Entry {
        name: "acknowledged by nobody",
        reason: "what a produce with acks=0 sent is read when it is flushed, not by the next request of its connection",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "a produce that may not wait",
        reason: "ours flushes before it answers, and says so if the timeout of the request is over until then; Kafka waits only for \
                 replicas",
        shows: Shows::In(|context| {
            let waits = context.call.and_then(|call| call.body["TimeoutMs"].as_i64()).unwrap_or(1);
            context.is("Produce", "Responses[].PartitionResponses[].ErrorCode")
                && waits <= 0
                && context.difference.kafka == 0
                && context.difference.ours == 7
        }),
    },
    Entry {
        name: "compressed records are not opened",
        reason: "Kafka decompresses each batch and fails with -1 if it cannot; ours believes the checksum, for that costs more than \
                 all else that is done with a batch",
        shows: Shows::In(|context| match context.difference.api.as_str() {
            "Produce" => {
                let is_taken = codes(context.kafka).contains(&-1) && !codes(context.ours).contains(&-1);
                let is_false = |batch: &Value| is_compressed(batch) && batch["records"].is_array();
                is_taken && context.call.is_some_and(|call| has(&call.body, &is_false))
            }
            "Fetch" => {
                let is_unreadable = |batch: &Value| is_compressed(batch) && batch["records"].is_string();
                context.is_about_more_or_less() && has(context.ours, &is_unreadable)
            }
            _ => false,
        }),
    },
    Entry {
        name: "offsets that do not follow each other",
        reason: "Kafka takes them in batches that are not compressed, and serves records with offsets beyond the end of the batch; \
                 ours answers 87",
        shows: Shows::In(|context| {
            let is_here = context.scene == "refused batches";
            match context.difference.api.as_str() {
                "Produce" => {
                    let is_refused = codes(context.kafka) == [0] && codes(context.ours) == [87];
                    is_here && is_refused && context.call.is_some_and(|call| has(&call.body, &has_gaps))
                }
                "Fetch" => is_here && context.is_about_more_or_less() && has(context.kafka, &has_gaps),
                _ => false,
            }
        }),
    },
    Entry {
        name: "flags that only a broker sets",
        reason: "Kafka keeps the flag of a delete horizon that a client sets, and takes the base timestamp for one; ours clears it",
        shows: Shows::In(|context| {
            const DELETE_HORIZON: i64 = 64;
            let flags = (context.difference.kafka.as_i64(), context.difference.ours.as_i64());
            let (Some(kafka), Some(ours)) = flags else { return false };
            context.is("Fetch", "Responses[].Partitions[].Records[].attributes")
                && kafka == ours | DELETE_HORIZON
        }),
    },
    Entry {
        name: "the newest record was deleted",
        reason: "Kafka gives the offset of a record below the log's start; ours says that there is none, or gives the newest of \
                 those that are left",
        shows: Shows::In(|context| {
            const NEWEST: i64 = -3;
            let fields = ["Timestamp", "Offset", "LeaderEpoch"];
            let is_field = context.difference.field.strip_prefix("Topics[].Partitions[].");
            let scenes = ["records are deleted", "drawn requests about records"];
            let Difference { kafka, ours, .. } = context.difference;
            let is_later = ours.as_i64() > kafka.as_i64() && context.difference.field.ends_with("Offset");
            scenes.contains(&context.scene)
                && context.difference.api == "ListOffsets"
                && is_field.is_some_and(|field| fields.contains(&field))
                && (*ours == -1 || is_later)
                && context.call.is_some_and(|call| has(&call.body, &|part| part["Timestamp"] == NEWEST))
        }),
    },
    Entry {
        name: "when a producer was heard of",
        reason: "DescribeProducers finds transactions that hang: ours tells the time of the broker, Kafka that which the client has \
                 written into its last batch",
        shows: Shows::In(|context| {
            let field = "Topics[].Partitions[].ActiveProducers[].LastTimestamp";
            context.is("DescribeProducers", field) && context.difference.ours == "<time>"
        }),
    },
    Entry {
        name: "what a broker is started with",
        reason: "listeners, threads, roles and replicas of internal topics: ours has a council and no controllers",
        shows: Shows::In(|context| {
            let started_with = |list: &Value| {
                let name = |entry: &Value| entry["Name"].as_str().map(String::from).unwrap_or_default();
                list.as_array()
                    .is_some_and(|all| all.iter().all(|one| STARTED_WITH.contains(&name(one).as_str())))
            };
            let Difference { kafka, ours, .. } = context.difference;
            (context.is("DescribeConfigs", "Results[].Configs") && started_with(kafka) && started_with(ours))
                || (context.is("DescribeQuorum", "Nodes[].Listeners") && *ours == Value::Array(Vec::new()))
        }),
    },
    Entry {
        name: "whole batches",
        reason: "Kafka fills a limit with a part of a batch, which clients throw away, and counts it against the limit of the \
                 reply; ours sends whole batches",
        shows: Shows::In(|context| {
            let Difference { kafka, ours, .. } = context.difference;
            let is_limited = context.call.is_some_and(|call| has_limits(&call.body));
            // No list if a batch is left out, an empty one if nothing is left of the limit.
            let is_about_nothing = |list: &Value| list.is_null() || is_empty(list);
            if context.is("Fetch", "Responses[].Partitions[].AbortedTransactions") {
                return is_limited && is_about_nothing(kafka) && is_about_nothing(ours);
            }
            let (Some(kafka), Some(ours)) = (kafka.as_array(), ours.as_array()) else { return false };
            let is_start = kafka.starts_with(ours) || ours.starts_with(kafka);
            context.is("Fetch", "Responses[].Partitions[].Records") && is_start && is_limited
        }),
    },
    Entry {
        name: "patterns at once",
        reason: "Kafka resolves the pattern of a consumer group's member behind the reply to its first heartbeat; ours \
                 replies with the partitions of the topics that match",
        shows: Shows::In(|context| {
            let apis = ["ConsumerGroupHeartbeat", "ConsumerGroupDescribe"];
            context.scene == "patterns of a consumer group" && apis.contains(&context.difference.api.as_str())
        }),
    },
    Entry {
        name: "an error that Kafka did not foresee",
        reason: "where Kafka fails with UNKNOWN_SERVER_ERROR, ours has a code that says what is wrong, or does what was asked",
        shows: Shows::In(|context| {
            let (kafka, ours) = (codes(context.kafka), codes(context.ours));
            // Records that break Kafka break consumers.
            let is_taken = context.difference.api == "Produce" && ours.contains(&0);
            kafka.contains(&-1) && !ours.contains(&-1) && !is_taken
        }),
    },
    Entry {
        name: "named twice in one request",
        reason: "Kafka turns lists into maps and forgets one of two entries; ours answers each",
        shows: Shows::In(|context| {
            let harmless = ["Produce", "Fetch", "ListOffsets", "OffsetFetch", "DeleteGroups"];
            let is_twice = context.call.is_some_and(|call| names_twice(&call.body));
            let set = |reply: &Value| codes(reply).into_iter().collect::<BTreeSet<i64>>();
            let is_same = set(context.kafka) == set(context.ours);
            is_twice && (is_same || harmless.contains(&context.difference.api.as_str()))
        }),
    },
    Entry {
        name: "bytes that are no text, lengths below -1",
        reason: "Kafka replaces what is no UTF-8 and takes any negative length for null; ours closes the connection",
        shows: Shows::In(|context| {
            let is_spoilt = context.call.is_some_and(|call| call.spoil.is_some());
            is_spoilt && *context.ours == "<closed>" && context.kafka.is_object()
        }),
    },
    Entry {
        name: "a replica is read by who stands in its rack",
        reason: "Kafka's followers serve every consumer; ours serve those that name a rack, and send all others to the leader",
        shows: Shows::In(|context| {
            let is_from = |code| [0, 1, 74, 75].contains(&code);
            context.is_of_a_follower("Fetch", is_from)
        }),
    },
    Entry {
        name: "who does not lead says so first",
        reason: "Kafka looks at the epoch, or at acks, before it says that it does not lead; a client asks for the leader either way",
        shows: Shows::In(|context| {
            let is_epoch = |code| WRONG_EPOCH.contains(&code);
            context.is_of_a_follower("ListOffsets", is_epoch)
                || context.is_of_a_follower("OffsetForLeaderEpoch", is_epoch)
                || context.is_of_a_follower("Produce", |code| code == 21)
        }),
    },
    Entry {
        name: "producers are described where they write",
        reason: "Kafka's followers tell which producers they know; ours leave that to the leader, which tools ask",
        shows: Shows::In(|context| context.is_of_a_follower("DescribeProducers", |code| code == 0)),
    },
    Entry {
        name: "replicas on a broker that is gone",
        reason: "ours knows no brokers but those that live, and refuses replicas on others; Kafka takes them, and they come late",
        shows: Shows::LeftOut,
    },
    Entry {
        name: "brokers that are gone",
        reason: "ours knows no brokers but those that live; Kafka's controller shows those that were there as fenced",
        shows: Shows::In(|context| {
            let Difference { kafka, ours, .. } = context.difference;
            let is_fenced = |broker: &Value| broker["IsFenced"] == true;
            let all_fenced = kafka.as_array().is_some_and(|brokers| brokers.iter().all(is_fenced));
            context.is("DescribeCluster", "Brokers") && all_fenced && is_empty(ours)
        }),
    },
    Entry {
        name: "a partition without a leader",
        reason: "ours says nothing of who leads; Kafka says that it is -1, as which clients read nothing, too",
        shows: Shows::In(|context| {
            let Difference { kafka, ours, field, .. } = context.difference;
            field.ends_with("CurrentLeader") && kafka["LeaderId"] == -1 && *ours == "<absent>"
        }),
    },
    Entry {
        name: "epochs of a partition that moves",
        reason: "each change of the replicas that count is an epoch, and none begins with the loss of a leader; Kafka has one for each \
                 leader, and one while there is none",
        shows: Shows::In(|context| {
            let is_shown = ["Metadata", "DescribeTopicPartitions"].contains(&context.difference.api.as_str());
            is_shown && scene::has_deaths(context.scene) && context.difference.field.ends_with("LeaderEpoch")
        }),
    },
    Entry {
        name: "who holds the state of a share partition",
        reason: "ours keeps the states of a group together, so that it is listed and deleted in one place; Kafka spreads them by \
                 partition. Only brokers ask",
        shows: Shows::In(|context| {
            let is_of_shares = context.call.is_some_and(|call| call.body["KeyType"] == 2);
            context.is("FindCoordinator", "Coordinators[].NodeId") && is_of_shares
        }),
    },
    Entry {
        name: "a share group that is not there",
        reason: "ours tells a member of it to join anew, and tools that there is none; Kafka tells the member that there is none, and \
                 tools that it has read nothing",
        shows: Shows::In(|context| {
            let Difference { kafka, ours, .. } = context.difference;
            let described = context.difference.api == "DescribeShareGroupOffsets";
            (context.is("ShareGroupHeartbeat", "ErrorCode") && *kafka == 69 && *ours == 25)
                || (described
                    && codes(context.ours).contains(&69)
                    && codes(context.kafka).iter().all(|code| *code == 0))
        }),
    },
    Entry {
        name: "a text beside an error",
        reason: "ours says what is wrong where Kafka only has a code",
        shows: Shows::In(|context| {
            let Difference { kafka, ours, field, .. } = context.difference;
            scene::is_of_a_cluster(context.scene)
                && field.ends_with("ErrorMessage")
                && kafka.is_null()
                && *ours == "<text>"
        }),
    },
    Entry {
        name: "a member at a broker that does not coordinate",
        reason: "ours repeats the id of the member that is sent on; Kafka leaves it out",
        shows: Shows::In(|context| context.is("JoinGroup", "MemberId") && context.both("/ErrorCode", 16)),
    },
    Entry {
        name: "the latest time of a batch",
        reason: "ours trusts the header of a batch that is compressed, and never opens it for that; Kafka reads all records and \
                 corrects it",
        shows: Shows::LeftOut,
    },
];

/// The entry that excuses a field, if there is one.
#[must_use]
pub fn excuse(context: &Context<'_>) -> Option<&'static str> {
    let excuses = |entry: &&Entry| match entry.shows {
        Shows::In(test) => test(context),
        Shows::LeftOut => false,
    };
    TABLE.iter().find(excuses).map(|entry| entry.name)
}

fn is_empty(list: &Value) -> bool {
    list.as_array().is_some_and(Vec::is_empty)
}

/// Whether an object at any depth is such a one.
fn has(value: &Value, is_it: &dyn Fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(elements) => elements.iter().any(|element| has(element, is_it)),
        Value::Object(fields) => is_it(value) || fields.values().any(|field| has(field, is_it)),
        _ => false,
    }
}

/// Whether a batch says that its records are compressed, in a way that there is.
fn is_compressed(batch: &Value) -> bool {
    const CODECS: std::ops::RangeInclusive<i64> = 1..=4;
    batch["attributes"].as_i64().is_some_and(|attributes| CODECS.contains(&(attributes & 7)))
}

/// Whether the records of a batch have other offsets than those that follow each other.
fn has_gaps(batch: &Value) -> bool {
    let records = batch["records"].as_array().into_iter().flatten();
    (0i64..)
        .zip(records)
        .any(|(place, record)| record["offsetDelta"].as_i64().is_some_and(|delta| delta != place))
}

/// Whether a partition of a fetch of ours has only the first of the batches that Kafka has.
fn ends_early(context: &Context<'_>) -> bool {
    let of = |reply: &Value| -> Vec<Vec<Value>> {
        let topics = reply["Responses"].as_array().into_iter().flatten();
        let partitions = topics.flat_map(|topic| topic["Partitions"].as_array().into_iter().flatten());
        partitions.map(|partition| partition["Records"].as_array().cloned().unwrap_or_default()).collect()
    };
    let is_start =
        |(all, first): (&Vec<Value>, &Vec<Value>)| first.len() < all.len() && all.starts_with(first);
    of(context.kafka).iter().zip(&of(context.ours)).any(is_start)
}

/// Whether a fetch asks for less than all that a script has written.
fn has_limits(body: &Value) -> bool {
    const ENOUGH: i64 = 1 << 20;
    match body {
        Value::Array(elements) => elements.iter().any(has_limits),
        Value::Object(fields) => fields.iter().any(|(name, value)| match value.as_i64() {
            Some(bytes) => name.ends_with("MaxBytes") && bytes < ENOUGH,
            None => has_limits(value),
        }),
        _ => false,
    }
}

/// Whether some list of a request has two entries of the same name or number.
fn names_twice(body: &Value) -> bool {
    const KEYS: [&str; 11] = [
        "Name",
        "Entity",
        "Topic",
        "TopicId",
        "GroupId",
        "Index",
        "Partition",
        "PartitionIndex",
        "TransactionalId",
        "MemberId",
        "ProducerId",
    ];
    match body {
        Value::Array(elements) => {
            let mut seen = BTreeSet::new();
            let names = elements.iter().map(|element| match element {
                Value::Object(_) => {
                    KEYS.iter().find(|key| !element[**key].is_null()).map(|key| element[*key].to_string())
                }
                other => Some(other.to_string()),
            });
            let repeated = names.flatten().any(|name| !seen.insert(name));
            repeated || elements.iter().any(names_twice)
        }
        Value::Object(fields) => fields.iter().any(|(name, value)| name != "Records" && names_twice(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_named_twice_is_seen_at_any_depth() {
        let partitions =
            |all: &[i32]| -> Value { all.iter().map(|index| json!({"Partition": index})).collect() };
        let topic = |name: &str, all: &[i32]| json!({"Topic": name, "Partitions": partitions(all)});
        assert!(names_twice(&json!({"Topics": [topic("a", &[0, 1, 0])]})));
        assert!(names_twice(&json!({"Topics": [topic("a", &[0]), topic("a", &[1])]})));
        assert!(names_twice(&json!({"GroupsNames": ["g", "g"]})));
        assert!(!names_twice(&json!({"Topics": [topic("a", &[0, 1]), topic("b", &[0])]})));
        assert!(!names_twice(&json!({"Records": [{"Name": 1}, {"Name": 1}]})));
    }

    #[test]
    fn fetch_that_ends_early_is_excused_and_one_that_leaves_a_hole_is_not() {
        let excused = |kafka: Value, ours: Value| {
            let field = String::from("Responses[].Partitions[].Records");
            let difference = Difference { api: "Fetch".into(), version: 4, field, kafka, ours };
            let none = json!({});
            excuse(&Context { scene: "", call: None, difference: &difference, kafka: &none, ours: &none })
        };
        assert_eq!(excused(json!([1, 2, 3]), json!([1])), Some("a fetch ends early"));
        assert_eq!(excused(json!([1, 2, 3]), json!([1, 3])), None);
        assert_eq!(excused(json!([1]), json!([])), None);
        assert_eq!(excused(json!([1]), json!([1, 2])), None);
    }

    #[test]
    fn unforeseen_error_is_excused_but_not_records_that_are_taken() {
        let excused = |api: &str, kafka: i64, ours: i64| {
            let [left, right] = [kafka, ours].map(|code| json!({"ErrorCode": code}));
            let difference = Difference {
                api: api.into(),
                version: 4,
                field: "ErrorCode".into(),
                kafka: kafka.into(),
                ours: ours.into(),
            };
            excuse(&Context { scene: "", call: None, difference: &difference, kafka: &left, ours: &right })
                .is_some()
        };
        assert!(excused("ListOffsets", -1, 0) && excused("Produce", -1, 87));
        assert!(!excused("Produce", -1, 0) && !excused("ListOffsets", 42, 0));
    }
}
