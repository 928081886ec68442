//! A zone over a state that commands have made, and queries as clients send them.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(unreachable_pub, reason = "shared by test files")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use base::{MemberNumber, WallTime};
use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query};
use hickory_proto::rr::{Name, Record, RecordType};
use objects_names::{Announcement, Seat, Transport, View, Zone, answer};
use objects_state::{
    Batch, Call, Caller, Command, Effects, Identity, Invocation, NewSession, ObjectName, Origin, Ranges,
    SessionId, State, type_named,
};

pub struct World {
    pub zone: Zone,
    pub state: State,
    pub seats: Vec<Seat>,
    pub leader: Option<MemberNumber>,
    pub rotation: u32,
    pub requests: [u64; 256],
}

impl World {
    /// Three members, all announced; the second leads, the third only observes.
    pub fn new() -> Self {
        let seat = |number| Seat { number: MemberNumber(number), votes: number != 3 };
        let mut world = Self {
            zone: Zone::new("diwan.internal").unwrap(),
            state: State::new(),
            seats: (1..=3).map(seat).collect(),
            leader: Some(MemberNumber(2)),
            rotation: 0,
            requests: [0; 256],
        };
        for number in 1..=3_u8 {
            world.announce(number, &[&format!("10.0.0.{number}"), &format!("fd00::{number}")]);
        }
        world
    }

    pub fn announce(&mut self, number: u8, addresses: &[&str]) {
        let announcement = Announcement {
            addresses: addresses.iter().map(|address| address.parse().unwrap()).collect(),
            council: Some(2180 + u16::from(number)),
            objects: Some(7180 + u16::from(number)),
            version: "0.1.0".into(),
        };
        let member = MemberNumber(number);
        assert!(!announcement.is_known(&self.state, member));
        let batch = Command::Batch(Batch {
            caller: caller(Identity::Anonymous),
            object: Announcement::object(),
            incarnation: None,
            create: true,
            invocations: announcement.invocations(member),
        });
        self.apply(&batch);
        assert!(announcement.is_known(&self.state, member));
        assert_eq!(Announcement::of(&self.state, member), Some(announcement));
    }

    pub fn apply(&mut self, command: &Command) {
        let mut effects = Effects::new();
        self.state.apply(WallTime::of_ms(1_000_000), command, &mut effects);
        let failed = effects.iter().any(|effect| format!("{effect:?}").contains("Refused"));
        assert!(!failed, "{effects:?}");
    }

    fn call_as(&mut self, identity: Identity, path: &str, method: &str, args: &str) {
        let (kind, name) = path.split_once('/').unwrap();
        let command = Command::Call(Call {
            caller: caller(identity),
            object: ObjectName { kind: type_named(kind).unwrap(), name: name.into() },
            incarnation: None,
            create: true,
            wait_ms: None,
            opens: None,
            invocation: Invocation { method: method.into(), args: args.into() },
        });
        self.apply(&command);
    }

    pub fn call(&mut self, path: &str, method: &str, args: &str) {
        self.call_as(Identity::Anonymous, path, method, args);
    }

    /// A call of a session of that number, which is opened if need be.
    pub fn call_of(&mut self, number: u8, path: &str, method: &str, args: &str) {
        let session = SessionId([number; 16]);
        if self.state.session(session).is_none() {
            let new =
                NewSession { id: session, secret_hash: [0; 32], generation: 1, ttl_ms: 10_000, name: None };
            self.apply(&Command::OpenSession { caller: caller(Identity::Anonymous), session: new });
        }
        let request = &mut self.requests[usize::from(number)];
        *request += 1;
        let (acknowledged, above) = (*request - 1, Ranges::new());
        let identity = Identity::Session { session, request: *request, acknowledged, above };
        self.call_as(identity, path, method, args);
    }

    /// Sets a record of the zone.
    pub fn set(&mut self, name: &str, record: &str) {
        self.call("names/diwan.internal", "add", &format!(r#"{{"name":"{name}","record":{record}}}"#));
    }

    pub fn send(&self, bytes: &[u8], transport: Transport) -> Option<Vec<u8>> {
        let view = View { state: &self.state, members: &self.seats, leader: self.leader };
        answer(&self.zone, bytes, transport, Some(&view), self.rotation)
    }

    pub fn ask(&self, name: &str, kind: RecordType) -> Message {
        let query = query(name, kind);
        let answer = self.send(&query.to_vec().unwrap(), Transport::Tcp).unwrap();
        let answer = Message::from_vec(&answer).unwrap();
        assert_eq!((answer.metadata.id, answer.metadata.message_type), (7, MessageType::Response));
        assert_eq!(answer.queries.len(), 1);
        // To the letter: the comparison of names overlooks capitals.
        assert_eq!(answer.queries[0].name().to_ascii(), query.queries[0].name().to_ascii());
        answer
    }

    /// The answers, a line each: name, seconds, type, data. In front the code, if it is an error.
    pub fn lines(&self, name: &str, kind: RecordType) -> Vec<String> {
        let answer = self.ask(name, kind);
        let code = answer.metadata.response_code;
        let error = (code != hickory_proto::op::ResponseCode::NoError).then(|| format!("{code:?}"));
        error.into_iter().chain(answer.answers.iter().map(line)).collect()
    }
}

pub fn line(record: &Record) -> String {
    format!("{} {} {} {}", record.name, record.ttl, record.record_type(), record.data)
}

fn caller(identity: Identity) -> Caller {
    Caller { origin: Origin { member: 1, number: 1 }, principal: "ann".into(), identity }
}

/// A query for a name; relative ones are of the zone.
pub fn query(name: &str, kind: RecordType) -> Message {
    let full = match name.strip_suffix('.') {
        Some(full) => full.to_owned(),
        None if name.is_empty() => "diwan.internal".to_owned(),
        None => format!("{name}.diwan.internal"),
    };
    let name = Name::from_labels(full.split('.').map(str::as_bytes)).unwrap();
    let mut message = Message::new(7, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name, kind));
    message
}

/// A client that takes so many bytes.
pub fn with_payload(mut message: Message, payload: u16) -> Message {
    let mut edns = Edns::new();
    edns.set_max_payload(payload);
    message.set_edns(edns);
    message
}
