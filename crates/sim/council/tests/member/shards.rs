//! A member with several shards: each takes its own stream when it comes to it, and sends the core its messages when it
//! comes to it.

use std::net::{IpAddr, Ipv4Addr};

use council_wire::{OpCode, Reader, WatcherEvent, xid};
use sim_council::client::{Client, Reply};
use sim_council::disk::SimDisk;
use sim_council::node::{Node, Step};

use crate::{START, answers, config, data};

/// The shards that clients come to here.
const HERE: u16 = 0;
const THERE: u16 = 1;

fn start() -> Node<SimDisk> {
    let mut config = config();
    config.core.shards = 2;
    Node::start(SimDisk::new(1), &config, START).expect("the disk is well")
}

/// A client of that shard, with a session.
fn client(node: &mut Node<SimDisk>, shard: u16) -> Client {
    let mut client = Client::connect_to(shard, IpAddr::V4(Ipv4Addr::LOCALHOST), node, 10_000);
    assert_eq!(answers(node, &mut client), []);
    assert!(client.is_connected() && client.session.0 != 0);
    client
}

fn take(node: &mut Node<SimDisk>, steps: &[Step]) {
    steps.iter().for_each(|step| node.step(*step).expect("the disk is well"));
}

/// Everything but the shards, until all that was asked is applied.
fn apply_all(node: &mut Node<SimDisk>) {
    (0..4).for_each(|_| take(node, &[Step::Advance, Step::Journal, Step::Advance, Step::Apply]));
}

fn event(reply: &Reply) -> String {
    assert_eq!(reply.xid, xid::NOTIFICATION);
    WatcherEvent::read(&mut Reader::new(&reply.body)).expect("an event").path.to_owned()
}

#[test]
fn connections_of_two_shards_are_not_taken_for_one_though_both_are_the_first() {
    let mut node = start();
    let mut old = client(&mut node, HERE);
    for path in ["/a", "/b", "/c"] {
        old.create(&mut node, path, b"", 0);
    }
    assert_eq!(answers(&mut node, &mut old).len(), 3);
    // The old connection's last requests have left its shard when the session moves, and come to the core behind that.
    old.set(&mut node, "/a", b"late");
    old.get(&mut node, "/a", false);
    take(&mut node, &[Step::Shard(HERE)]);
    let mut new = old.clone();
    new.reconnect_to(THERE, &mut node, 10_000);
    take(&mut node, &[Step::Shard(THERE), Step::CoreOf(THERE)]);
    apply_all(&mut node);
    take(&mut node, &[Step::CoreOf(HERE)]);
    assert_eq!(answers(&mut node, &mut new), []);
    new.set(&mut node, "/a", b"new");
    new.get(&mut node, "/a", false);
    let replies = answers(&mut node, &mut new);
    assert_eq!(replies.len(), 2, "it waits for nothing of the old connection");
    assert_eq!(data(&replies[1]), Ok(Some(b"new".to_vec())));
    assert!(node.is_closed(old.conn()));
}

#[test]
fn watch_of_one_shard_fires_for_write_of_another_before_its_client_reads_that() {
    let mut node = start();
    let (mut writer, mut reader) = (client(&mut node, HERE), client(&mut node, THERE));
    writer.create(&mut node, "/a", b"old", 0);
    assert_eq!(answers(&mut node, &mut writer).len(), 1);
    reader.get(&mut node, "/a", true);
    assert_eq!(answers(&mut node, &mut reader).len(), 1);
    writer.set(&mut node, "/a", b"new");
    take(&mut node, &[Step::Shard(HERE), Step::Core]);
    apply_all(&mut node);
    take(&mut node, &[Step::Shard(HERE)]);
    assert_eq!(writer.replies(&mut node).len(), 1, "its shard has come to it");
    // The other has not: its stream is a write behind the tree that it reads.
    reader.get(&mut node, "/a", false);
    take(&mut node, &[Step::Shard(THERE)]);
    let replies = reader.replies(&mut node);
    assert_eq!(replies.len(), 2);
    assert_eq!(event(&replies[0]), "/a");
    assert_eq!(data(&replies[1]), Ok(Some(b"new".to_vec())));
}

#[test]
fn session_that_moved_is_cut_off_at_its_old_shard_when_that_comes_to_it() {
    let mut node = start();
    let mut old = client(&mut node, HERE);
    old.create(&mut node, "/a", b"", 0);
    assert_eq!(answers(&mut node, &mut old).len(), 1);
    let mut new = old.clone();
    new.reconnect_to(THERE, &mut node, 10_000);
    take(&mut node, &[Step::Shard(THERE), Step::Core]);
    apply_all(&mut node);
    take(&mut node, &[Step::Shard(THERE)]);
    new.set(&mut node, "/a", b"new");
    take(&mut node, &[Step::Shard(THERE), Step::Core]);
    apply_all(&mut node);
    take(&mut node, &[Step::Shard(THERE)]);
    assert_eq!(new.replies(&mut node).len(), 1);
    assert!(!node.is_closed(old.conn()), "its shard knows of nothing");
    old.set(&mut node, "/a", b"old");
    assert_eq!(answers(&mut node, &mut old), []);
    assert!(node.is_closed(old.conn()) && !node.is_closed(new.conn()));
    new.get(&mut node, "/a", false);
    assert_eq!(data(&answers(&mut node, &mut new)[0]), Ok(Some(b"new".to_vec())));
}

#[test]
fn session_is_silent_only_if_no_shard_has_heard_of_it() {
    let mut node = start();
    let mut clients = [client(&mut node, HERE), client(&mut node, THERE)];
    let silent = clients[1].session;
    for moment in 0..400 {
        // From the middle on one of them says nothing.
        let speak = if moment < 200 { 2 } else { 1 };
        if moment % 20 == 0 {
            clients[..speak].iter_mut().for_each(|client| {
                client.ask(&mut node, OpCode::Ping, |_| ());
            });
        }
        node.pass(100);
        node.settle().expect("the disk is well");
        assert!(moment >= 200 || node.tree().session(silent).is_some());
    }
    assert!(node.tree().session(silent).is_none() && node.is_closed(clients[1].conn()));
    assert!(node.tree().session(clients[0].session).is_some() && !node.is_closed(clients[0].conn()));
}

/// A thread that gets no time for longer than a session's timeout has not read what its client sent in time.
#[test]
fn session_lives_on_though_its_shard_stood_still_for_longer_than_its_timeout() {
    let mut node = start();
    let mut client = client(&mut node, THERE);
    let session = client.session;
    for moment in 0..300 {
        node.pass(100);
        // The core knows when this shard heard of it last: the session's first deadline has just passed. The shard goes on
        // soon after the second: a question that it held up for longer than a lease would be asked again.
        let is_stalled = (105..210).contains(&moment);
        if moment % 20 == 10 {
            client.ask(&mut node, OpCode::Ping, |_| ());
        }
        if !is_stalled {
            take(&mut node, &[Step::Shard(THERE)]);
        }
        take(&mut node, &[Step::Shard(HERE), Step::Core]);
        apply_all(&mut node);
    }
    assert!(node.tree().session(session).is_some() && !node.is_closed(client.conn()));
    assert_eq!(client.replies(&mut node).len(), 15, "each ping is answered");
}
