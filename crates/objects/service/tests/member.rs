//! Members through their mailboxes, with real threads, disks and connections: one alone, and three, of which one ends, is
//! emptied, and comes back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod nodes;

use nodes::{Node, Ports, config, done};
use tempfile::TempDir;

#[test]
fn member_alone_answers_and_keeps_what_it_answered() {
    let folder = TempDir::new().unwrap();
    for turn in 1..=3 {
        let node = Node::start(config(folder.path(), None), None);
        let answer = done(node.call(&format!("k{turn}"), "counter", "increment", "{}"));
        assert_eq!(answer, format!("{{\"value\":{turn}}}"));
        // A repeat is answered the same, also by the next process.
        assert_eq!(done(node.call("k1", "counter", "increment", "{}")), r#"{"value":1}"#);
        node.member.stop();
    }
}

#[test]
fn data_of_a_group_is_refused_by_a_member_that_is_alone_and_data_of_another_member() {
    let folder = TempDir::new().unwrap();
    let ports = Ports::new(3);
    let start = |own: u8| {
        let group = ports.group(own, 3);
        Node::start(
            config(&folder.path().join(own.to_string()), Some(group)),
            Some(&ports.ports[usize::from(own) - 1]),
        )
    };
    let nodes: Vec<_> = (1..=3).map(start).collect();
    nodes.iter().for_each(Node::serves);
    drop(nodes);
    let alone = Node::start(config(&folder.path().join("1"), None), None);
    let why = alone.member.wait().expect_err("it is a group's").to_string();
    assert!(why.contains("group of 3 voters") && why.contains("hint"), "{why}");
    let other = Node::start(config(&folder.path().join("1"), Some(ports.group(2, 3))), Some(&ports.ports[1]));
    let why = other.member.wait().expect_err("it is member 1's").to_string();
    assert!(why.contains("belong to member 1, and this is member 2"), "{why}");
}

#[test]
fn group_goes_on_without_its_leader_and_takes_back_a_member_that_was_emptied() {
    let folder = TempDir::new().unwrap();
    let ports = Ports::new(3);
    let start = |own: u8| {
        let place = folder.path().join(own.to_string());
        Node::start(config(&place, Some(ports.group(own, 3))), Some(&ports.ports[usize::from(own) - 1]))
    };
    let mut nodes: Vec<_> = (1..=3).map(|own| Some(start(own))).collect();
    let mut count = 0;
    for round in 0..3 {
        // Each of them takes calls, and gives them to the leader.
        for (place, node) in nodes.iter().enumerate() {
            count += 1;
            let answer =
                done(node.as_ref().unwrap().call(&format!("{round}-{place}"), "counter", "increment", "{}"));
            assert_eq!(answer, format!("{{\"value\":{count}}}"));
        }
        let leads = |node: &Option<Node>| node.as_ref().unwrap().member.standing().is_leading();
        let place = nodes.iter().position(leads).unwrap_or(round);
        nodes[place] = None;
        count += 1;
        let other = nodes[(place + 1) % 3].as_ref().unwrap();
        let answer = done(other.call(&format!("{round}-without"), "counter", "increment", "{}"));
        assert_eq!(answer, format!("{{\"value\":{count}}}"));
        let own = u8::try_from(place + 1).unwrap();
        if round == 1 {
            std::fs::remove_dir_all(folder.path().join(own.to_string())).unwrap();
        }
        nodes[place] = Some(start(own));
        nodes[place].as_ref().unwrap().serves();
    }
    let last = nodes[0].as_ref().unwrap();
    assert_eq!(done(last.call("0-0", "counter", "increment", "{}")), r#"{"value":1}"#, "a repeat");
}
