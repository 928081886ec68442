//! What a server of names reads of a state: records, memberships and elections, typed.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod support;

use std::net::{IpAddr, Ipv4Addr};

use objects_state::{Endpoint, Host, NameData, NameRecord};
use support::{Anyone, S, World};

const ZONE: &str = "names/zone";

fn set(world: &mut World, method: &str, name: &str, record: &str) {
    let answer = world.call(Anyone, ZONE, method, &format!(r#"{{"name":"{name}","record":{record}}}"#));
    assert!(answer.starts_with(r#"{"records":"#), "{answer}");
}

fn address(last: u8) -> Option<Host> {
    Some(Host::Address(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))))
}

#[test]
fn record_is_read_as_it_was_set() {
    let mut world = World::new();
    set(&mut world, "add", "WWW", r#"{"type":"A","address":"10.0.0.1"}"#);
    set(&mut world, "add", "www", r#"{"type":"AAAA","address":"::1","ttl":5}"#);
    set(&mut world, "add", "www", r#"{"type":"TXT","text":"a \"quoted\"\nline"}"#);
    set(&mut world, "add", "www", r#"{"type":"SRV","target":"db","priority":1,"weight":2,"port":3}"#);
    set(&mut world, "set", "alias", r#"{"type":"CNAME","target":"www"}"#);
    let expected = [
        (30, NameData::A(Ipv4Addr::new(10, 0, 0, 1))),
        (5, NameData::Aaaa("::1".parse().unwrap())),
        (30, NameData::Txt("a \"quoted\"\nline".into())),
        (30, NameData::Srv { target: "db".into(), priority: 1, weight: 2, port: 3 }),
    ];
    let expected = expected.map(|(ttl, data)| NameRecord { ttl, data });
    assert_eq!(world.state.name_records("zone", "www"), expected);
    let alias = NameRecord { ttl: 30, data: NameData::Cname("www".into()) };
    assert_eq!(world.state.name_records("zone", "alias"), [alias]);
    assert_eq!(world.state.name_records("zone", "none"), []);
    assert_eq!(world.state.name_records("other", "www"), []);
}

#[test]
fn names_below_a_name_are_counted_until_the_last_is_removed() {
    let mut world = World::new();
    let record = r#"{"type":"A","address":"10.0.0.1"}"#;
    set(&mut world, "set", "a.b.c", record);
    set(&mut world, "add", "d.b.c", record);
    set(&mut world, "add", "d.b.c", r#"{"type":"TXT","text":"more"}"#);
    let below = |world: &World, name: &str| world.state.has_names_below("zone", name);
    assert!(below(&world, "b.c") && below(&world, "c"));
    assert!(!below(&world, "a.b.c") && !below(&world, "b") && !below(&world, ""));
    let remove = |world: &mut World, name: &str| {
        world.call(Anyone, ZONE, "remove", &format!(r#"{{"name":"{name}"}}"#));
    };
    remove(&mut world, "a.b.c");
    remove(&mut world, "a.b.c");
    assert!(below(&world, "b.c") && below(&world, "c"));
    remove(&mut world, "d.b.c");
    assert!(!below(&world, "b.c") && !below(&world, "c"));
}

#[test]
fn members_are_read_from_any_one_of_them_on() {
    let mut world = World::with_sessions(3);
    assert!(world.state.members("web").is_none());
    let data = [r#"{"address":"10.0.0.1","port":80}"#, r#"{"address":"host.example","port":0}"#, "7"];
    for (number, data) in (1..).zip(data) {
        world.call(S(number), "membership/web", "join", &format!(r#"{{"name":"m{number}","data":{data}}}"#));
    }
    let members = world.state.members("web").unwrap();
    assert_eq!((members.epoch, members.size), (3, 3));
    let first = Endpoint { host: address(1), port: Some(80) };
    let second = Endpoint { host: Some(Host::Name("host.example".into())), port: None };
    let all = [first, second, Endpoint::default()];
    assert_eq!(members.endpoints(0).collect::<Vec<_>>(), all);
    let turned = [&all[2..], &all[..2]].concat();
    assert_eq!(members.endpoints(2).collect::<Vec<_>>(), turned);
}

#[test]
fn elected_is_read_while_there_is_a_leader() {
    let mut world = World::with_sessions(1);
    assert_eq!(world.state.elected("chief"), None);
    world.call(S(1), "election/chief", "campaign", r#"{"name":"a","data":{"address":"10.0.0.9"}}"#);
    let term = world.state.position();
    assert_eq!(world.state.elected("chief"), Some((term, Endpoint { host: address(9), port: None })));
    world.call(S(1), "election/chief", "resign", &format!(r#"{{"fence":{term}}}"#));
    assert_eq!(world.state.elected("chief"), None);
}
