//! What each name of the zone answers, type by type.

mod support;

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{RData, RecordType};
use support::{World, line};

use RecordType::{A, AAAA, ANY, CNAME, MX, NS, SOA, SRV, TXT};

const NONE: [&str; 0] = [];

#[test]
fn zone_has_its_beginning_and_its_servers() {
    let world = World::new();
    let position = world.state.position();
    let soa = format!(
        "diwan.internal. 60 SOA m1.diwan.internal. hostmaster.diwan.internal. {position} 60 10 600 1"
    );
    assert_eq!(world.lines("", SOA), [soa]);
    let servers = world.ask("", NS);
    let lines: Vec<_> = servers.answers.iter().map(line).collect();
    let server = |n| format!("diwan.internal. 60 NS m{n}.diwan.internal.");
    assert_eq!(lines, [1, 2, 3].map(server));
    assert_eq!(servers.additionals.len(), 6);
    assert_eq!(world.lines("", A), NONE);
}

#[test]
fn member_has_its_addresses_version_and_role() {
    let mut world = World::new();
    assert_eq!(world.lines("m1", A), ["m1.diwan.internal. 30 A 10.0.0.1"]);
    assert_eq!(world.lines("m3", AAAA), ["m3.diwan.internal. 30 AAAA fd00::3"]);
    let roles = [(1, "follower"), (2, "leader"), (3, "observer")];
    for (number, role) in roles {
        let line = format!("m{number}.diwan.internal. 30 TXT version=0.1.0role={role}");
        assert_eq!(world.lines(&format!("m{number}"), TXT), [line]);
    }
    assert_eq!(world.lines("m4", A), ["NXDomain"]);
    world.seats.remove(0);
    assert_eq!(world.lines("m1", A), ["NXDomain"], "it is no member any more");
}

#[test]
fn announcement_of_another_address_replaces_the_first() {
    let mut world = World::new();
    world.announce(1, &["10.9.9.9"]);
    assert_eq!(world.lines("m1", A), ["m1.diwan.internal. 30 A 10.9.9.9"]);
    assert_eq!(world.lines("m1", AAAA), NONE);
}

#[test]
fn services_lead_to_members_and_voters_come_first() {
    let world = World::new();
    let line = |name: &str, priority: u16, port: u16, n: u8| {
        format!("{name}.diwan.internal. 5 SRV {priority} 1 {port} m{n}.diwan.internal.")
    };
    let council = |n: u8| line("_council._tcp", if n == 3 { 10 } else { 0 }, 2180 + u16::from(n), n);
    assert_eq!(world.lines("_council._tcp", SRV), [1, 2, 3].map(council));
    let objects = |n: u8| line("_objects._tcp", if n == 3 { 10 } else { 0 }, 7180 + u16::from(n), n);
    assert_eq!(world.lines("_objects._tcp", SRV), [1, 2, 3].map(objects));
    let answer = world.ask("_objects._tcp", SRV);
    assert_eq!(answer.additionals.len(), 6);
    let alias = "_concoord._tcp.diwan.internal. 5 CNAME _objects._tcp.diwan.internal.";
    let through_alias = world.lines("_concoord._tcp", SRV);
    assert_eq!((through_alias.len(), through_alias[0].as_str()), (4, alias));
    assert_eq!(world.lines("_tcp", SRV), NONE);
    assert_eq!(world.lines("_council._tcp", A), NONE);
}

#[test]
fn leader_is_followed() {
    let mut world = World::new();
    assert_eq!(world.lines("leader", A), ["leader.diwan.internal. 1 A 10.0.0.2"]);
    world.leader = Some(base::MemberNumber(1));
    assert_eq!(world.lines("leader", AAAA), ["leader.diwan.internal. 1 AAAA fd00::1"]);
    world.leader = None;
    assert_eq!(world.lines("leader", A), NONE);
}

#[test]
fn object_has_its_group_leader_first() {
    let mut world = World::new();
    assert_eq!(world.lines("visits.counter.o", SRV), ["NXDomain"]);
    world.call("counter/visits", "increment", "{}");
    world.call("counter/Big.One", "increment", "{}");
    for rotation in 0..5 {
        world.rotation = rotation;
        let lines = world.lines("visits.counter.o", SRV);
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], "visits.counter.o.diwan.internal. 5 SRV 0 1 7182 m2.diwan.internal.");
        assert_eq!(lines[1], "visits.counter.o.diwan.internal. 5 SRV 1 1 7181 m1.diwan.internal.");
        assert_eq!(lines[2], "visits.counter.o.diwan.internal. 5 SRV 10 1 7183 m3.diwan.internal.");
    }
    let position = world.state.position();
    let text = format!("VISITS.counter.o.diwan.internal. 5 TXT group=0version=builtinposition={position}");
    assert_eq!(world.lines("VISITS.counter.o", TXT), [text]);
    assert_eq!(world.lines("Big.One.counter.o", SRV).len(), 3, "as asked");
    assert_eq!(world.lines("big.one.counter.o", SRV), ["NXDomain"]);
    assert_eq!(world.lines("visits.lock.o", SRV), ["NXDomain"]);
    assert_eq!(world.lines("counter.o", SRV), NONE);
    assert_eq!(world.lines("nothing.o", SRV), ["NXDomain"]);
}

#[test]
fn membership_has_addresses_services_and_epoch() {
    let mut world = World::new();
    assert_eq!(world.lines("web.g", A), ["NXDomain"]);
    let data = [
        r#"{"address":"10.1.0.1","port":80}"#,
        r#"{"address":"fd00::80","port":81}"#,
        r#"{"address":"host.example","port":82}"#,
        r#""no address""#,
        r#"{"address":"10.1.0.1","port":80}"#,
    ];
    for (number, data) in (1..).zip(data) {
        let args = format!(r#"{{"name":"n{number}","data":{data}}}"#);
        world.call_of(number, "membership/web", "join", &args);
    }
    assert_eq!(world.lines("web.g", A), ["web.g.diwan.internal. 2 A 10.1.0.1"]);
    assert_eq!(world.lines("web.g", AAAA), ["web.g.diwan.internal. 2 AAAA fd00::80"]);
    assert_eq!(world.lines("web.g", TXT), ["web.g.diwan.internal. 2 TXT epoch=5"]);
    let service = |to: &str| format!("web.g.diwan.internal. 2 SRV 0 1 {to}");
    let services = [
        service("80 0a010001.addr.diwan.internal."),
        service("81 fd000000000000000000000000000080.addr.diwan.internal."),
        service("82 host.example."),
    ];
    assert_eq!(world.lines("web.g", SRV), services);
    let additionals: Vec<_> = world.ask("web.g", SRV).additionals.iter().map(line).collect();
    let addresses = [
        "0a010001.addr.diwan.internal. 60 A 10.1.0.1",
        "fd000000000000000000000000000080.addr.diwan.internal. 60 AAAA fd00::80",
    ];
    assert_eq!(additionals, addresses);
    assert_eq!(world.lines("0a010001.addr", A), [addresses[0]]);
    assert_eq!(world.lines("0a010001.addr", AAAA), NONE);

    world.call_of(2, "membership/web", "leave", r#"{"name":"n2"}"#);
    assert_eq!(world.lines("web.g", AAAA), NONE);
    assert_eq!(world.lines("web.g", TXT), ["web.g.diwan.internal. 2 TXT epoch=6"]);
}

#[test]
fn election_has_its_leader_or_is_not_there() {
    let mut world = World::new();
    assert_eq!(world.lines("chief.e", A), ["NXDomain"]);
    let campaign = r#"{"name":"a","data":{"address":"10.1.0.9","port":90}}"#;
    world.call_of(1, "election/chief", "campaign", campaign);
    let term = world.state.position();
    assert_eq!(world.lines("chief.e", A), ["chief.e.diwan.internal. 1 A 10.1.0.9"]);
    assert_eq!(world.lines("chief.e", TXT), [format!("chief.e.diwan.internal. 1 TXT term={term}")]);
    let service = "chief.e.diwan.internal. 1 SRV 0 1 90 0a010009.addr.diwan.internal.";
    assert_eq!(world.lines("chief.e", SRV), [service]);
    world.call_of(1, "election/chief", "resign", &format!(r#"{{"fence":{term}}}"#));
    assert_eq!(world.lines("chief.e", A), ["NXDomain"]);
}

#[test]
fn name_that_was_set_has_its_records_and_seconds() {
    let mut world = World::new();
    world.set("www", r#"{"type":"A","address":"10.2.0.1"}"#);
    world.set("www", r#"{"type":"AAAA","address":"fd00::2","ttl":5}"#);
    world.set("www", r#"{"type":"TXT","text":"hello","ttl":3600}"#);
    world.set("_http._tcp", r#"{"type":"SRV","target":"www","priority":1,"weight":2,"port":80}"#);
    assert_eq!(world.lines("www", A), ["www.diwan.internal. 30 A 10.2.0.1"]);
    assert_eq!(world.lines("WwW", A), ["WwW.diwan.internal. 30 A 10.2.0.1"]);
    assert_eq!(world.lines("www", AAAA), ["www.diwan.internal. 5 AAAA fd00::2"]);
    assert_eq!(world.lines("www", TXT), ["www.diwan.internal. 3600 TXT hello"]);
    assert_eq!(world.lines("www", MX), NONE);
    let service = world.ask("_http._tcp", SRV);
    let lines: Vec<_> = service.answers.iter().chain(&service.additionals).map(line).collect();
    let expected = [
        "_http._tcp.diwan.internal. 30 SRV 1 2 80 www.diwan.internal.",
        "www.diwan.internal. 30 A 10.2.0.1",
        "www.diwan.internal. 5 AAAA fd00::2",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn built_in_name_is_not_hidden_by_one_that_was_set() {
    let mut world = World::new();
    for name in ["m1", "leader", "_objects._tcp", "web.g"] {
        world.set(name, r#"{"type":"A","address":"6.6.6.6"}"#);
        assert!(!world.lines(name, A).iter().any(|line| line.contains("6.6.6.6")), "{name}");
    }
}

#[test]
fn alias_is_followed_within_the_zone() {
    let mut world = World::new();
    world.set("db", r#"{"type":"A","address":"10.2.0.2"}"#);
    world.set("first", r#"{"type":"CNAME","target":"second","ttl":7}"#);
    world.set("second", r#"{"type":"CNAME","target":"DB.diwan.internal"}"#);
    world.set("away", r#"{"type":"CNAME","target":"example.com"}"#);
    world.set("gone", r#"{"type":"CNAME","target":"nothing"}"#);
    let followed = [
        "first.diwan.internal. 7 CNAME second.diwan.internal.",
        "second.diwan.internal. 30 CNAME DB.diwan.internal.",
        "DB.diwan.internal. 30 A 10.2.0.2",
    ];
    assert_eq!(world.lines("first", A), followed);
    assert_eq!(world.lines("first", CNAME), followed[..1]);
    assert_eq!(world.lines("first", MX), followed[..2]);
    assert_eq!(world.lines("away", A), ["away.diwan.internal. 30 CNAME example.com."]);
    // The code is that of the last name (RFC 6604).
    let gone = ["NXDomain", "gone.diwan.internal. 30 CNAME nothing.diwan.internal."];
    assert_eq!(world.lines("gone", A), gone);
}

#[test]
fn alias_in_a_circle_ends_and_hides_other_records() {
    let mut world = World::new();
    world.set("a", r#"{"type":"CNAME","target":"b"}"#);
    world.set("b", r#"{"type":"CNAME","target":"a"}"#);
    assert_eq!(world.lines("a", A).len(), 2);
    world.set("self", r#"{"type":"CNAME","target":"self"}"#);
    assert_eq!(world.lines("self", A).len(), 1);
    for n in 0..20 {
        world.set(&format!("c{n}"), &format!(r#"{{"type":"CNAME","target":"c{}"}}"#, n + 1));
    }
    assert_eq!(world.lines("c0", A).len(), objects_names::HOPS_MAX);
    world.set("mixed", r#"{"type":"A","address":"10.2.0.3"}"#);
    world.set("mixed", r#"{"type":"CNAME","target":"m1"}"#);
    let mixed = ["mixed.diwan.internal. 30 CNAME m1.diwan.internal.", "m1.diwan.internal. 30 A 10.0.0.1"];
    assert_eq!(world.lines("mixed", A), mixed);
    world.set("bad", r#"{"type":"CNAME","target":"..."}"#);
    assert_eq!(world.lines("bad", A), NONE);
}

#[test]
fn missing_name_and_missing_type_are_told_apart() {
    let mut world = World::new();
    world.set("a.b.c", r#"{"type":"A","address":"10.2.0.1"}"#);
    for (name, code) in [
        ("b.c", ResponseCode::NoError),
        ("c", ResponseCode::NoError),
        ("a.b.c", ResponseCode::NoError),
        ("x.c", ResponseCode::NXDomain),
        ("x", ResponseCode::NXDomain),
        ("x.a.b.c", ResponseCode::NXDomain),
    ] {
        let answer = world.ask(name, MX);
        assert_eq!(answer.metadata.response_code, code, "{name}");
        assert!(answer.metadata.authoritative && answer.answers.is_empty());
        // Both may be kept for a second.
        let [soa] = &answer.authorities[..] else { panic!("{:?}", answer.authorities) };
        assert!(matches!(&soa.data, RData::SOA(data) if data.minimum == 1 && soa.ttl == 1));
        assert_eq!(soa.name.to_ascii(), "diwan.internal.");
    }
}

#[test]
fn any_is_answered_with_little() {
    let mut world = World::new();
    world.set("alias", r#"{"type":"CNAME","target":"m1"}"#);
    for name in ["", "m1", "leader", "_objects._tcp", "o"] {
        let lines = world.lines(name, ANY);
        assert!(lines.len() == 1 && lines[0].contains("60 HINFO RFC8482"), "{name}: {lines:?}");
    }
    assert_eq!(world.lines("alias", ANY), ["alias.diwan.internal. 30 CNAME m1.diwan.internal."]);
    assert_eq!(world.lines("nothing", ANY), ["NXDomain"]);
}

#[test]
fn records_are_16_at_the_most_and_begin_with_another_each_time() {
    let mut world = World::new();
    for number in 1..=40_u8 {
        let args = format!(r#"{{"name":"n{number:02}","data":{{"address":"10.1.0.{number}","port":80}}}}"#);
        world.call_of(number, "membership/web", "join", &args);
    }
    let mut seen = std::collections::BTreeSet::new();
    for rotation in 0..40 {
        world.rotation = rotation;
        let lines = world.lines("web.g", A);
        assert_eq!(lines.len(), objects_names::RECORDS_MAX);
        assert!(lines[0].ends_with(&format!(" 10.1.0.{}", rotation + 1)), "{lines:?}");
        seen.extend(lines);
    }
    assert_eq!(seen.len(), 40);
    for last in 1..=3 {
        world.set("www", &format!(r#"{{"type":"A","address":"10.2.0.{last}"}}"#));
    }
    for rotation in 0..6 {
        world.rotation = rotation;
        let lines = world.lines("www", A);
        assert!(lines.len() == 3 && lines[0].ends_with(&format!(".{}", rotation % 3 + 1)), "{lines:?}");
    }
}
