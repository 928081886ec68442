//! What a request names: a topic, a broker, all brokers, and so on. Names are checked here as far as that needs no knowledge of
//! what exists.

use log_wire::ErrorCode;

use crate::refusal::Refusal;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// The topic of this name.
    Topic(String),
    /// This broker.
    Broker,
    /// The broker of this number, which is another one: of it only `diwan.drain` is set here.
    OtherBroker(i32),
    /// All brokers.
    Cluster,
    /// The loggers of this broker.
    Loggers,
    /// The subscription to client metrics of this name.
    ClientMetrics(String),
    /// The group of this name.
    Group(String),
}

/// The kinds of resources, as requests number them.
pub mod kind {
    /// A topic.
    pub const TOPIC: i8 = 2;
    /// A broker, or all of them.
    pub const BROKER: i8 = 4;
    /// The loggers of a broker.
    pub const LOGGERS: i8 = 8;
    /// A subscription to client metrics.
    pub const CLIENT_METRICS: i8 = 16;
    /// A group.
    pub const GROUP: i8 = 32;
}

/// What ListConfigResources lists.
pub const LISTED: [i8; 5] = [kind::TOPIC, kind::BROKER, kind::LOGGERS, kind::CLIENT_METRICS, kind::GROUP];

impl Resource {
    /// What a request to describe configurations names. `node_id` is that of the broker that was asked.
    ///
    /// # Errors
    /// There is no such kind, the name is none that such a resource has, or it is another broker's.
    pub fn to_describe(resource_type: i8, name: &str, node_id: i32) -> Result<Self, Refusal> {
        match resource_type {
            kind::TOPIC => topic(name),
            kind::BROKER if name.is_empty() => Ok(Self::Cluster),
            kind::BROKER => this_broker(name, node_id).map(|()| Self::Broker),
            kind::LOGGERS if name.is_empty() => Err(Refusal::request("the id of the broker is missing")),
            kind::LOGGERS => this_broker(name, node_id).map(|()| Self::Loggers),
            kind::CLIENT_METRICS => not_empty(name, "subscription").map(Self::ClientMetrics),
            kind::GROUP => not_empty(name, "group").map(Self::Group),
            other => Err(Refusal::request(format!("there is no resource of type {other}"))),
        }
    }

    /// What a request to change configurations names.
    ///
    /// # Errors
    /// As [`to_describe`](Self::to_describe).
    pub fn to_alter(resource_type: i8, name: &str, node_id: i32) -> Result<Self, Refusal> {
        match resource_type {
            kind::TOPIC if name.is_empty() => Err(Refusal::request("the name of the topic is missing")),
            _ => Self::to_describe(resource_type, name, node_id),
        }
    }

    /// What an AlterConfigs request names. It knows no loggers.
    ///
    /// # Errors
    /// As [`to_describe`](Self::to_describe).
    pub fn to_replace(resource_type: i8, name: &str, node_id: i32) -> Result<Self, Refusal> {
        match resource_type {
            kind::LOGGERS => Err(Refusal::request("AlterConfigs does not change loggers")),
            _ => Self::to_alter(resource_type, name, node_id),
        }
    }
}

/// Which kinds a ListConfigResources request asks for.
///
/// # Errors
/// `UNSUPPORTED_VERSION`, as Kafka says of a kind that is not listed.
pub fn to_list(version: i16, asked: &[i8]) -> Result<Vec<i8>, Refusal> {
    if version == 0 {
        return Ok(vec![kind::CLIENT_METRICS]);
    }
    if asked.is_empty() {
        return Ok(LISTED.into());
    }
    match asked.iter().find(|asked| !LISTED.contains(asked)) {
        Some(other) => Err(Refusal {
            code: ErrorCode::UnsupportedVersion,
            message: format!("resources of type {other} are not listed"),
        }),
        None => Ok(LISTED.into_iter().filter(|listed| asked.contains(listed)).collect()),
    }
}

/// The longest name of a topic.
const TOPIC_NAME_BYTES_MAX: usize = 249;

fn topic(name: &str) -> Result<Resource, Refusal> {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let has_length = (1..=TOPIC_NAME_BYTES_MAX).contains(&name.len());
    if has_length && name.bytes().all(is_good) && !matches!(name, "." | "..") {
        return Ok(Resource::Topic(name.into()));
    }
    let message = format!("`{name}` is no name of a topic");
    Err(Refusal { code: ErrorCode::InvalidTopic, message })
}

fn this_broker(name: &str, node_id: i32) -> Result<(), Refusal> {
    match name.parse::<i32>() {
        Ok(id) if id == node_id => Ok(()),
        Ok(id) => {
            Err(Refusal::request(format!("this is broker {node_id}, and {id} was named: ask that one")))
        }
        Err(_) => Err(Refusal::request(format!("`{name}` is no id of a broker"))),
    }
}

fn not_empty(name: &str, what: &str) -> Result<String, Refusal> {
    if name.is_empty() {
        return Err(Refusal::request(format!("the name of the {what} is missing")));
    }
    Ok(name.into())
}
