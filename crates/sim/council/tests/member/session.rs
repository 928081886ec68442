//! Sessions: made, taken up elsewhere, guarded by their passwords, closed.

use base::Now;
use council_tree::{Command, Operation};
use council_wire::{OpCode, SessionId};
use storage_raft_log::{Batch, Entry, EntryKind, Journal};

use crate::{START, answers, client, config, data, start};
use sim_council::disk::SimDisk;
use sim_council::node::Node;

#[test]
fn a_session_is_taken_up_by_another_connection_and_the_first_is_cut() {
    let mut node = start(&SimDisk::new(1));
    let mut first = client(&mut node);
    first.create(&mut node, "/mine", b"1", 1);
    assert_eq!(answers(&mut node, &mut first)[0].err, 0);
    let mut second = first.clone();
    second.reconnect(&mut node, 10_000);
    answers(&mut node, &mut second);
    assert_eq!(second.session, first.session);
    assert!(node.is_closed(first.conn()));
    assert!(node.tree().node("/mine").is_some(), "its ephemeral nodes stay");
    second.set(&mut node, "/mine", b"2");
    assert_eq!(answers(&mut node, &mut second)[0].err, 0, "its commands count from the start again");
}

#[test]
fn what_the_old_connection_sent_before_the_move_but_too_late_has_no_effect() {
    let mut node = start(&SimDisk::new(1));
    let mut first = client(&mut node);
    let mut second = first.clone();
    second.reconnect(&mut node, 10_000);
    node.step(sim_council::node::Step::Shards).unwrap();
    node.step(sim_council::node::Step::Core).unwrap();
    // The move is in the core's queue; the old connection's write comes behind it.
    first.create(&mut node, "/late", b"", 0);
    answers(&mut node, &mut first);
    assert!(node.tree().node("/late").is_none());
    assert!(node.is_closed(first.conn()));
}

#[test]
fn a_wrong_password_is_told_so_and_disturbs_nobody() {
    let mut node = start(&SimDisk::new(1));
    let mut owner = client(&mut node);
    let mut thief = owner.clone();
    thief.password[3] ^= 1;
    thief.reconnect(&mut node, 10_000);
    answers(&mut node, &mut thief);
    assert_eq!((thief.timeout_ms, thief.session), (0, SessionId::NONE));
    owner.create(&mut node, "/owned", b"", 0);
    assert_eq!(answers(&mut node, &mut owner)[0].err, 0);
    assert!(!node.is_closed(owner.conn()));
}

#[test]
fn closing_a_session_removes_what_it_owns_before_its_reply() {
    let mut node = start(&SimDisk::new(1));
    let mut owner = client(&mut node);
    let mut other = client(&mut node);
    owner.create(&mut node, "/mine", b"", 1);
    answers(&mut node, &mut owner);
    other.get(&mut node, "/mine", true);
    answers(&mut node, &mut other);
    owner.ask(&mut node, OpCode::CloseSession, |_| {});
    assert_eq!(answers(&mut node, &mut owner)[0].err, 0);
    assert!(node.tree().node("/mine").is_none());
    assert_eq!(other.replies(&mut node)[0].xid, council_wire::xid::NOTIFICATION);
    assert!(node.tree().session(owner.session).is_none());
}

#[test]
fn sessions_and_ephemerals_outlive_a_restart_and_keep_their_password() {
    let disk = SimDisk::new(1);
    let mut node = start(&disk);
    let mut owner = client(&mut node);
    owner.create(&mut node, "/mine", b"kept", 1);
    answers(&mut node, &mut owner);
    drop(node);
    disk.crash(sim_council::disk::Loss::All);
    let mut node = Node::start(disk, &config(), START).unwrap();
    owner.reconnect(&mut node, 10_000);
    answers(&mut node, &mut owner);
    assert_eq!(owner.timeout_ms, 10_000);
    owner.get(&mut node, "/mine", false);
    assert_eq!(data(&answers(&mut node, &mut owner)[0]), Ok(Some(b"kept".to_vec())));
}

#[test]
fn a_client_that_has_seen_more_than_this_server_is_sent_away() {
    let mut node = start(&SimDisk::new(1));
    let mut ahead = client(&mut node);
    for number in 0..5 {
        ahead.create(&mut node, &format!("/n{number}"), b"", 0);
    }
    answers(&mut node, &mut ahead);
    let mut younger = start(&SimDisk::new(2));
    ahead.reconnect(&mut younger, 10_000);
    younger.settle().unwrap();
    assert!(younger.is_closed(ahead.conn()));
    assert!(younger.take(ahead.conn()).is_empty());
}

#[test]
fn session_id_is_new_after_restart_with_clock_set_back() {
    let disk = SimDisk::new(1);
    let before = client(&mut start(&disk)).session;
    let earlier = Now { wall: START.wall.plus_ms(-3_600_000), ..START };
    let mut node = Node::start(disk, &config(), earlier).expect("the disk is well");
    let after = client(&mut node).session;
    assert!(after.0 > before.0, "{after:?} behind {before:?}");
}

#[test]
fn client_that_has_seen_one_transaction_more_than_this_server_is_sent_away() {
    let mut node = start(&SimDisk::new(1));
    let mut client = client(&mut node);
    client.create(&mut node, "/a", b"", 0);
    answers(&mut node, &mut client);
    let seen = client.last_zxid;
    assert_eq!(seen, node.tree().last_zxid().0);
    client.last_zxid = seen + 1;
    client.reconnect(&mut node, 10_000);
    node.settle().expect("the disk is well");
    assert!(node.is_closed(client.conn()));
    client.last_zxid = seen;
    client.reconnect(&mut node, 10_000);
    answers(&mut node, &mut client);
    assert!(client.is_connected() && !node.is_closed(client.conn()));
}

/// A count of 32 bits would run over into the epoch: the next epoch begins long before.
#[test]
fn next_epoch_begins_before_the_count_of_one_is_used_up() {
    const TRANSACTIONS_MAX: u32 = 20;
    let mut config = config();
    config.core.epoch_transactions_max = TRANSACTIONS_MAX;
    let mut node = Node::start(SimDisk::new(1), &config, START).expect("the disk is well");
    let mut client = client(&mut node);
    let epoch = node.tree().last_zxid().epoch();
    for number in 0..2 * TRANSACTIONS_MAX {
        client.create(&mut node, &format!("/{number}"), b"", 0);
        assert_eq!(answers(&mut node, &mut client)[0].err, 0);
        node.pass(200);
        let zxid = node.tree().last_zxid();
        assert!(zxid.count() <= TRANSACTIONS_MAX + 1, "{zxid:?}");
    }
    node.settle().expect("the disk is well");
    assert!(node.tree().last_zxid().epoch() > epoch);
    assert!(!node.is_closed(client.conn()), "nobody is disturbed");
}

/// Moves a session to its last connections but a few, as millions of reconnections would.
fn take_up_often(disk: &SimDisk, session: SessionId) {
    let (mut journal, recovered) = Journal::open(disk.clone(), config().journal).expect("the disk is well");
    let attach = Operation::Attach { session, generation: u32::MAX - 600, timeout_ms: 10_000 };
    let mut command = Vec::new();
    Command::internal(attach).encode(&mut command);
    let mut data = vec![1];
    data.extend_from_slice(&START.wall.ms().to_le_bytes());
    data.extend_from_slice(&(command.len() as u32).to_le_bytes());
    data.extend_from_slice(&command);
    let (index, term) = (recovered.last_index.next(), recovered.hard_state.term);
    let entry = Entry { index, term, kind: EntryKind::Normal, data: data.into() };
    journal.append(&Batch { entries: vec![entry], ..Batch::default() }).expect("the disk is well");
    journal.flush().expect("the disk is well");
}

#[test]
fn a_session_that_was_taken_up_as_often_as_there_are_numbers_ends_and_its_client_opens_another() {
    let disk = SimDisk::new(1);
    let mut node = start(&disk);
    let mut owner = client(&mut node);
    owner.create(&mut node, "/mine", b"", 1);
    answers(&mut node, &mut owner);
    drop(node);
    take_up_often(&disk, owner.session);
    let mut node = start(&disk);
    let used_up = owner.session;
    let mut taken_up = 0;
    loop {
        owner.reconnect(&mut node, 10_000);
        answers(&mut node, &mut owner);
        if owner.timeout_ms == 0 {
            break;
        }
        assert_eq!(owner.session, used_up);
        taken_up += 1;
        assert!(taken_up < 10, "numbers end");
    }
    assert!(taken_up >= 1, "some were left");
    assert!(node.tree().session(used_up).is_none(), "it has ended, as its client was told");
    assert!(node.tree().node("/mine").is_none(), "with all that it owned");
    let mut next = client(&mut node);
    next.create(&mut node, "/mine", b"", 1);
    assert_eq!(answers(&mut node, &mut next)[0].err, 0);
}
