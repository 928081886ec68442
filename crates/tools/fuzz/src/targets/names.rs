//! Queries for names of objects, from anybody who can send a datagram.

use std::sync::LazyLock;

use base::{MemberNumber, WallTime};
use objects_names::{Announcement, Seat, Transport, UDP_BYTES_MAX, View, Zone, answer};
use objects_state::{
    Batch, Call, Caller, Command, Effects, Identity, Invocation, ObjectName, Origin, State, type_named,
};

struct World {
    zone: Zone,
    state: State,
    seats: [Seat; 2],
}

static WORLD: LazyLock<World> = LazyLock::new(World::new);

/// The first byte says how the query comes, and how far records are rotated.
pub(crate) fn run(bytes: &[u8]) {
    let Some((how, query)) = bytes.split_first() else { return };
    let (world, rotation) = (&*WORLD, u32::from(how >> 1));
    let view = View { state: &world.state, members: &world.seats, leader: Some(MemberNumber(2)) };
    let transport = if how & 1 == 0 { Transport::Udp } else { Transport::Tcp };
    let ask = |query: &[u8], view: Option<&View<'_>>| answer(&world.zone, query, transport, view, rotation);
    for view in [Some(&view), None] {
        let Some(found) = ask(query, view) else { continue };
        assert!(transport == Transport::Tcp || found.len() <= usize::from(UDP_BYTES_MAX), "too long");
        assert!(found.len() >= 12 && found[..2] == query[..2], "no answer to this query");
        assert!(found[2] & 0x80 != 0, "it is no answer");
        assert_eq!(ask(&found, view), None, "an answer is answered");
        assert_eq!(ask(query, view), Some(found), "the same query has another answer");
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let names = [
        "",
        "m1",
        "M2",
        "leader",
        "_council._tcp",
        "_objects._tcp",
        "_concoord._tcp",
        "it.names.o",
        "nothing.g",
        "nothing.e",
        "0a000001.addr",
        "www",
        "alias",
        "a.b",
        "b",
        "nothing",
    ];
    // A, SOA, TXT, AAAA, SRV, AXFR, ANY.
    let kinds = [1_u16, 6, 16, 28, 33, 252, 255];
    let each = names.iter().flat_map(|name| kinds.map(|kind| query(name, kind)));
    each.enumerate().map(|(how, query)| [&[how as u8], &query[..]].concat()).collect()
}

/// With a question, and what the client takes.
fn query(name: &str, kind: u16) -> Vec<u8> {
    let mut bytes = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    for label in name.split('.').chain(["diwan", "internal"]).filter(|label| !label.is_empty()) {
        bytes.push(label.len() as u8);
        bytes.extend_from_slice(label.as_bytes());
    }
    bytes.push(0);
    bytes.extend_from_slice(&kind.to_be_bytes());
    bytes.extend_from_slice(&[0, 1, 0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
    bytes
}

impl World {
    fn new() -> Self {
        let seats = [1, 2].map(|number| Seat { number: MemberNumber(number), votes: true });
        let zone = Zone::new("diwan.internal").expect("a zone");
        let mut world = Self { zone, state: State::new(), seats };
        for seat in seats {
            let announcement = Announcement {
                addresses: vec!["10.0.0.1".parse().expect("an address"), "::1".parse().expect("an address")],
                council: Some(2181),
                objects: Some(7180),
                version: String::from("1"),
            };
            let invocations = announcement.invocations(seat.number);
            let object = Announcement::object();
            world.apply(&Command::Batch(Batch {
                caller: caller(),
                object,
                incarnation: None,
                create: true,
                invocations,
            }));
        }
        world.set("www", r#"{"type":"A","address":"10.0.0.9"}"#);
        world.set("www", &format!(r#"{{"type":"TXT","text":"{}"}}"#, "x".repeat(255)));
        world.set("alias", r#"{"type":"CNAME","target":"www"}"#);
        world.set("a.b", r#"{"type":"SRV","target":"www","priority":1,"weight":1,"port":1}"#);
        world
    }

    fn set(&mut self, name: &str, record: &str) {
        let args = format!(r#"{{"name":"{name}","record":{record}}}"#).into_bytes();
        let kind = type_named("names").expect("a type");
        self.apply(&Command::Call(Call {
            caller: caller(),
            object: ObjectName { kind, name: self.zone.text().into() },
            incarnation: None,
            create: true,
            wait_ms: None,
            opens: None,
            invocation: Invocation { method: String::from("add"), args },
        }));
    }

    fn apply(&mut self, command: &Command) {
        self.state.apply(WallTime::of_ms(1), command, &mut Effects::new());
    }
}

fn caller() -> Caller {
    let origin = Origin { member: 1, number: 1 };
    Caller { origin, principal: "ann".into(), identity: Identity::Anonymous }
}
