//! Plays a script on one broker and records what its connections see.
//!
//! Steps are played one after the other; a request that a broker answers with "not yet" is sent again until it is answered
//! otherwise, or patience ends. That is the only waiting: what is compared are final answers.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tools_testbed::wire::{Received, Wire, framed};
use tools_testbed::{BrokerCluster, PeerError};

use crate::hex::{from_hex, to_hex};
use crate::normalise;
use crate::schema::{Schemas, decode_reply, encode_request};
use crate::script::{Action, Call, End, Script, Spoil, Step};
use crate::variables::Variables;

/// Between two attempts of a request that is answered with "not yet".
const AGAIN_AFTER: Duration = Duration::from_millis(20);
/// How long "not yet" is taken for an answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// All that was seen while a script was played on one broker.
#[derive(Clone, Debug)]
pub struct Record {
    /// What each step showed.
    pub steps: Vec<Seen>,
    /// The values of the script's names.
    pub variables: Variables,
}

/// What one step showed.
#[derive(Clone, Debug)]
pub enum Seen {
    /// A reply that fits its definition.
    Reply(Exchange),
    /// A frame that does not: the bytes, and why.
    Unfit(String, String),
    /// The connection was closed.
    Closed,
    /// The connection ended within a frame.
    Broken,
    /// Nothing came before the deadline.
    Silence,
    /// The request could not be made: no reply has given a variable its value.
    Unbound(String),
    /// Nothing was to come.
    Nothing,
}

/// A request and its reply.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The request as it was sent, without its length.
    pub request: Vec<u8>,
    /// The reply as it came, without its length.
    pub response: Vec<u8>,
    /// What the reply says.
    pub body: Value,
    /// How long it took.
    pub took: Duration,
}

/// How a script is played.
#[derive(Clone, Copy, Debug)]
pub struct Stage<'a> {
    /// The messages.
    pub schemas: &'a Schemas,
    /// Where the brokers listen, in the order of their ids.
    pub addresses: &'a [SocketAddr],
    /// They, if scripts may end and start them.
    pub cluster: Option<&'a Mutex<BrokerCluster>>,
    /// How long it may take to answer.
    pub deadline: Duration,
    /// Tells this run from all others on that broker.
    pub run: u64,
    /// The time at which the script begins, in milliseconds since 1970.
    pub now: i64,
}

/// Plays it.
///
/// # Errors
/// A request of the script is none by the definitions: a mistake of the generator.
pub fn play(script: &Script, stage: &Stage<'_>) -> Result<Record, String> {
    let mut player = Player {
        stage,
        connections: BTreeMap::new(),
        variables: Variables::new(stage.run, stage.now),
        correlation_id: 0,
    };
    let mut steps = Vec::new();
    for step in &script.steps {
        let seen = player.step(step).map_err(|what| format!("{step}: {what}"))?;
        // Everything behind a request that is never answered would wait as long.
        let hung = matches!(seen, Seen::Silence);
        steps.push(seen);
        if hung {
            break;
        }
    }
    Ok(Record { steps, variables: player.variables })
}

/// The error codes in a reply, at any depth.
#[must_use]
pub fn codes(body: &Value) -> Vec<i64> {
    let mut found = Vec::new();
    collect(body, &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<i64>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| match value.as_i64() {
            Some(code) if name.ends_with("ErrorCode") => found.push(code),
            _ => collect(value, found),
        }),
        _ => {}
    }
}

#[derive(Default)]
struct Connection {
    wire: Option<Wire>,
    waiting: VecDeque<Sent>,
}

struct Sent {
    at: Instant,
    call: Call,
    correlation_id: i32,
    request: Vec<u8>,
}

/// A broker's id, and one of the connections with it.
type Place = (usize, usize);

struct Player<'a> {
    stage: &'a Stage<'a>,
    connections: BTreeMap<Place, Connection>,
    variables: Variables,
    correlation_id: i32,
}

impl Player<'_> {
    fn step(&mut self, step: &Step) -> Result<Seen, String> {
        let connection = (step.broker, step.connection);
        Ok(match &step.action {
            Action::Call(call) => self.call(connection, call)?,
            Action::Send(call) => self.send(connection, call)?.err().unwrap_or(Seen::Nothing),
            Action::Await => self.receive(connection),
            Action::Bytes(hex) => {
                let bytes = self.exchange_bytes(connection, &from_hex(hex).unwrap_or_default());
                bytes.unwrap_or(Seen::Closed)
            }
            Action::Close => {
                self.connections.remove(&connection);
                Seen::Nothing
            }
            Action::End(how) => self.with_broker(step.broker, |cluster, id| match how {
                End::Stopped => cluster.stop(id),
                End::Killed => cluster.kill(id),
            })?,
            Action::Start => self.with_broker(step.broker, BrokerCluster::restart)?,
        })
    }

    /// Does that to a broker, with which no connection stands afterwards.
    fn with_broker(
        &mut self,
        broker: usize,
        act: impl FnOnce(&mut BrokerCluster, i32) -> Result<(), PeerError>,
    ) -> Result<Seen, String> {
        let cluster = self.stage.cluster.ok_or("there is no cluster")?;
        let id = i32::try_from(broker).map_err(|error| error.to_string())?;
        self.connections.retain(|(other, _), _| *other != broker);
        act(&mut cluster.lock().unwrap_or_else(PoisonError::into_inner), id)
            .map_err(|error| error.to_string())?;
        Ok(Seen::Nothing)
    }

    fn call(&mut self, connection: Place, call: &Call) -> Result<Seen, String> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Err(seen) = self.send(connection, call)? {
                return Ok(seen);
            }
            if call.silent {
                return Ok(Seen::Nothing);
            }
            let seen = self.receive(connection);
            match &seen {
                Seen::Reply(exchange)
                    if is_early(call, &exchange.body, &self.variables) && Instant::now() < until =>
                {
                    thread::sleep(AGAIN_AFTER);
                }
                _ => return Ok(seen),
            }
        }
    }

    /// `Err` says what the step showed instead of a request that is on its way.
    fn send(&mut self, connection: Place, call: &Call) -> Result<Result<(), Seen>, String> {
        let body = match self.variables.resolve(&call.body) {
            Ok(body) => body,
            Err(name) => return Ok(Err(Seen::Unbound(name))),
        };
        let api = self.stage.schemas.named(&call.api).ok_or_else(|| String::from("there is no such API"))?;
        self.correlation_id += 1;
        let ids = (self.correlation_id, call.client_id.as_deref());
        let request = encode_request(self.stage.schemas, api, call.version, ids, &body);
        let mut request = request.map_err(|unfit| unfit.to_string())?;
        if let Some(spoil) = &call.spoil {
            apply(spoil, &mut request);
        }
        let correlation_id = self.correlation_id;
        let Ok(open) = self.open(connection) else { return Ok(Err(Seen::Closed)) };
        let Some(wire) = &mut open.wire else { return Ok(Err(Seen::Closed)) };
        let sent = wire.send(&framed(&request)).is_ok();
        if !call.silent {
            open.waiting.push_back(Sent { at: Instant::now(), call: call.clone(), correlation_id, request });
        }
        Ok(if sent { Ok(()) } else { Err(Seen::Closed) })
    }

    fn receive(&mut self, connection: Place) -> Seen {
        let deadline = self.stage.deadline;
        let Ok(open) = self.open(connection) else { return Seen::Closed };
        let (Some(sent), Some(wire)) = (open.waiting.pop_front(), &mut open.wire) else {
            return Seen::Nothing;
        };
        let received = wire.receive(deadline);
        if !matches!(received, Received::Frame(_)) {
            // The next request of the script opens another one.
            self.connections.remove(&connection);
        }
        match received {
            Received::Frame(frame) => self.reply(sent, frame),
            Received::Closed => Seen::Closed,
            Received::Broken => Seen::Broken,
            Received::Silence => Seen::Silence,
        }
    }

    fn reply(&mut self, sent: Sent, frame: Vec<u8>) -> Seen {
        let Sent { at, call, correlation_id, request } = sent;
        let Some(api) = self.stage.schemas.named(&call.api) else { return Seen::Nothing };
        let version = call.answered_in.unwrap_or(call.version);
        match decode_reply(api, version, &frame) {
            Err(unfit) => Seen::Unfit(to_hex(&frame), unfit.to_string()),
            Ok(reply) if reply.correlation_id != correlation_id => {
                let what = format!("correlation id {} instead of {correlation_id}", reply.correlation_id);
                Seen::Unfit(to_hex(&frame), what)
            }
            Ok(reply) => {
                for (name, place) in &call.bind {
                    let value = reply.body.pointer(place).cloned().unwrap_or(Value::Null);
                    self.variables.bind(name, value);
                }
                let took = at.elapsed();
                Seen::Reply(Exchange { request, response: frame, body: reply.body, took })
            }
        }
    }

    fn exchange_bytes(&mut self, connection: Place, bytes: &[u8]) -> std::io::Result<Seen> {
        let deadline = self.stage.deadline;
        let open = self.open(connection)?;
        let Some(wire) = &mut open.wire else { return Ok(Seen::Closed) };
        wire.send(bytes)?;
        wire.half_close();
        let seen = match wire.receive(deadline) {
            Received::Frame(frame) => Seen::Unfit(to_hex(&frame), String::from("an answer to bytes")),
            Received::Closed => Seen::Closed,
            Received::Broken => Seen::Broken,
            Received::Silence => Seen::Silence,
        };
        self.connections.remove(&connection);
        Ok(seen)
    }

    fn open(&mut self, connection: Place) -> std::io::Result<&mut Connection> {
        let open = self.connections.entry(connection).or_default();
        if open.wire.is_none() {
            let address = self.stage.addresses.get(connection.0.wrapping_sub(1));
            let address = address.ok_or(std::io::ErrorKind::NotFound)?;
            open.wire = Some(Wire::connect(*address, self.stage.deadline)?);
        }
        Ok(open)
    }
}

fn is_early(call: &Call, body: &Value, variables: &Variables) -> bool {
    let missing = |(place, value): (&String, &Value)| {
        let wanted = variables.resolve(value).ok();
        // A place that is not there holds nothing.
        let found = body.pointer(place).unwrap_or(&Value::Null);
        !wanted.is_some_and(|wanted| is_same(place, found, &wanted))
    };
    codes(body).iter().any(|code| call.retry.contains(code)) || call.until.iter().any(missing)
}

/// Whether it is what is waited for in that place: in the order in which it is compared, which means nothing for replicas in sync.
fn is_same(place: &str, found: &Value, wanted: &Value) -> bool {
    let is_set = place.rsplit('/').next().is_some_and(normalise::is_set);
    match (found, wanted) {
        (Value::Array(found), Value::Array(wanted)) if is_set => {
            found.len() == wanted.len() && wanted.iter().all(|element| found.contains(element))
        }
        _ => found == wanted,
    }
}

fn apply(spoil: &Spoil, request: &mut Vec<u8>) {
    match spoil {
        Spoil::Cut(bytes) => request.truncate(request.len().saturating_sub(*bytes)),
        Spoil::Append(hex) => request.extend(from_hex(hex).unwrap_or_default()),
        Spoil::Header(key, version) => {
            if let Some(head) = request.first_chunk_mut::<4>() {
                head[..2].copy_from_slice(&key.to_be_bytes());
                head[2..].copy_from_slice(&version.to_be_bytes());
            }
        }
        Spoil::Set(at, byte) => {
            if let Some(place) = request.get_mut(*at) {
                *place = *byte;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn order_of_replicas_is_waited_for_and_order_of_those_in_sync_is_not() {
        let place = |field: &str| format!("/Topics/0/Partitions/0/{field}");
        let mut call = Call::default();
        call.until(&place("LeaderId"), json!(1))
            .until(&place("IsrNodes"), json!([1, 2, 3]))
            .until(&place("ReplicaNodes"), json!([1, 2, 3]));
        let shows = |replicas: [i32; 3], in_sync: [i32; 3]| {
            json!({"Topics": [{"Partitions": [
                {"LeaderId": 1, "IsrNodes": in_sync, "ReplicaNodes": replicas},
            ]}]})
        };
        let variables = Variables::new(1, 0);
        let early = |replicas, in_sync| is_early(&call, &shows(replicas, in_sync), &variables);
        assert!(!early([1, 2, 3], [3, 1, 2]), "who is in sync is a set");
        assert!(early([1, 3, 2], [1, 2, 3]), "a broker that has not heard of the order yet");
    }
}
