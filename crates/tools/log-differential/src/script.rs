//! What is played: requests on several connections in one fixed order, as data that a person can read, keep in a file and play
//! again.
//!
//! A request's body is an object with the names of Kafka's own definitions. In its texts, `@` stands for a prefix that is new
//! each time a script is played, so that one broker serves many scripts; a text that begins with `$` is a variable: a value
//! that an earlier reply gave (`$pid`, `$pid+1`), or the time at which the script began (`$now-5000`).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A whole script: short, and independent of all others.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Script {
    /// The seed that decided it.
    pub seed: u64,
    /// Its place among the scripts of that seed.
    pub number: usize,
    /// What the generator had in mind.
    pub scene: String,
    /// What it is played on.
    #[serde(skip_serializing_if = "Fixture::is_alone")]
    pub fixture: Fixture,
    /// The steps.
    pub steps: Vec<Step>,
}

/// How many brokers a cluster has.
pub const BROKERS: usize = 3;

/// The brokers that a script needs, on each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fixture {
    /// One broker.
    #[default]
    Alone,
    /// One that asks who a client is, and checks its rights.
    Secured,
    /// Three that are a cluster.
    Cluster,
}

/// One thing done on one connection, which is opened when it is first used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The id of the broker.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub broker: usize,
    /// Which of the connections with it.
    pub connection: usize,
    /// What.
    pub action: Action,
}

/// What can be done on a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Sends a request and waits for its reply.
    Call(Call),
    /// Sends a request; its reply comes later.
    Send(Call),
    /// Waits for the reply to the oldest request that was sent and is not answered.
    Await,
    /// Sends bytes as they are, hexadecimal, and waits for what comes back.
    Bytes(String),
    /// Closes the connection.
    Close,
    /// Ends the broker's process, and waits until it is gone.
    End(End),
    /// Starts the broker again, and waits until it answers.
    Start,
}

/// How a broker's process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum End {
    /// It is asked to, and hands over what it leads.
    Stopped,
    /// It is killed.
    Killed,
}

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Call {
    /// The API's name.
    pub api: String,
    /// The version.
    pub version: i16,
    /// The body.
    pub body: Value,
    /// Who asks; nobody if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_id: Option<String>,
    /// Variables, and the places in the reply that give them their values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bind: BTreeMap<String, String>,
    /// Error codes that mean "not yet": the request is sent again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub retry: Vec<i64>,
    /// Places in the reply and what must be there: otherwise the request is sent again.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub until: BTreeMap<String, Value>,
    /// It has no reply.
    #[serde(skip_serializing_if = "is_false")]
    pub silent: bool,
    /// The version of the reply, if it is not the request's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_in: Option<i16>,
    /// What is done to its bytes before they are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spoil: Option<Spoil>,
}

/// What is done to the bytes of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Spoil {
    /// So many bytes at the end are left out.
    Cut(usize),
    /// These bytes are added, in hexadecimal.
    Append(String),
    /// It names another API, and another version.
    Header(i16, i16),
    /// The byte at this place has this value.
    Set(usize, u8),
}

impl Script {
    /// How many requests it sends, repeated ones counted once.
    #[must_use]
    pub fn requests(&self) -> usize {
        let sends =
            |step: &&Step| matches!(step.action, Action::Call(_) | Action::Send(_) | Action::Bytes(_));
        self.steps.iter().filter(sends).count()
    }

    /// The same script with only some of its steps.
    #[must_use]
    pub fn only(&self, keep: &[usize]) -> Self {
        let steps = keep.iter().filter_map(|index| self.steps.get(*index)).cloned().collect();
        Self { steps, scene: self.scene.clone(), ..*self }
    }

    /// The request that each step's reply answers.
    #[must_use]
    pub fn asked(&self) -> Vec<Option<&Call>> {
        let mut waiting: BTreeMap<(usize, usize), Vec<&Call>> = BTreeMap::new();
        let asked = self.steps.iter().map(|step| match &step.action {
            Action::Call(call) => Some(call),
            Action::Send(call) => {
                waiting.entry((step.broker, step.connection)).or_default().push(call);
                None
            }
            Action::Await => {
                let oldest =
                    waiting.get_mut(&(step.broker, step.connection)).filter(|calls| !calls.is_empty());
                oldest.map(|calls| calls.remove(0))
            }
            Action::Bytes(_) | Action::Close | Action::End(_) | Action::Start => None,
        });
        asked.collect()
    }
}

impl Step {
    /// The request that it sends.
    #[must_use]
    pub fn call(&self) -> Option<&Call> {
        match &self.action {
            Action::Call(call) | Action::Send(call) => Some(call),
            _ => None,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !is_first(&self.broker) {
            write!(f, "broker {}, ", self.broker)?;
        }
        write!(f, "connection {}: ", self.connection)?;
        match &self.action {
            Action::Call(call) => write!(f, "{call}"),
            Action::Send(call) => write!(f, "send {call}"),
            Action::Await => f.write_str("await the oldest reply"),
            Action::Bytes(hex) => write!(f, "bytes {hex}"),
            Action::Close => f.write_str("close"),
            Action::End(End::Stopped) => write!(f, "broker {} is stopped", self.broker),
            Action::End(End::Killed) => write!(f, "broker {} is killed", self.broker),
            Action::Start => write!(f, "broker {} is started", self.broker),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{} {}", self.api, self.version, self.body)?;
        if let Some(client_id) = &self.client_id {
            write!(f, " client={client_id:?}")?;
        }
        if let Some(spoil) = &self.spoil {
            write!(f, " spoilt: {spoil:?}")?;
        }
        for (name, place) in &self.bind {
            write!(f, " ${name}={place}")?;
        }
        if !self.retry.is_empty() {
            write!(f, " again on {:?}", self.retry)?;
        }
        for (place, value) in &self.until {
            write!(f, " until {place}={value}")?;
        }
        Ok(())
    }
}

impl Fixture {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's interface")]
    fn is_alone(&self) -> bool {
        *self == Self::Alone
    }
}

const fn first() -> usize {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's interface")]
fn is_first(broker: &usize) -> bool {
    *broker == first()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's interface")]
fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn call(api: &str) -> Call {
        Call { api: api.into(), body: json!({"Name": "@a"}), ..Call::default() }
    }

    #[test]
    fn script_is_the_same_when_it_comes_back_from_a_file() {
        let mut spoilt = call("Fetch");
        spoilt.spoil = Some(Spoil::Header(1, 99));
        let steps = vec![
            Step { broker: 1, connection: 0, action: Action::Call(call("Produce")) },
            Step { broker: 2, connection: 1, action: Action::Send(spoilt) },
            Step { broker: 2, connection: 1, action: Action::Await },
            Step { broker: 1, connection: 2, action: Action::Bytes("00ff".into()) },
            Step { broker: 3, connection: 0, action: Action::End(End::Killed) },
        ];
        let script = Script { seed: 7, number: 3, scene: "a scene".into(), fixture: Fixture::Cluster, steps };
        let text = serde_json::to_string(&script).expect("it is plain data");
        assert_eq!(serde_json::from_str::<Script>(&text).expect("it is what was written"), script);
        assert_eq!(script.requests(), 3);
    }

    #[test]
    fn reply_belongs_to_the_oldest_request_of_its_connection() {
        let step = |connection, action| Step { broker: 1, connection, action };
        let steps = vec![
            step(0, Action::Send(call("A"))),
            step(1, Action::Send(call("B"))),
            step(0, Action::Send(call("C"))),
            step(0, Action::Await),
            step(1, Action::Await),
            step(0, Action::Await),
            step(0, Action::Await),
        ];
        let script = Script { seed: 0, number: 0, scene: String::new(), fixture: Fixture::Alone, steps };
        let asked: Vec<Option<&str>> =
            script.asked().into_iter().map(|call| call.map(|call| call.api.as_str())).collect();
        assert_eq!(asked, [None, None, None, Some("A"), Some("B"), Some("C"), None]);
    }
}
