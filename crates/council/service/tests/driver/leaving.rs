//! A member that is removed while clients write through it.

use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use council_wire::OpCode;

use crate::fixture::{Client, dial, until};
use crate::trio::Ensemble;

/// So long that no client is parted from because a lease has run out.
const LEASE_MS: u32 = 60_000;

fn ensemble() -> Ensemble {
    Ensemble::start_with(false, |config| {
        config.reconfig_enabled = true;
        config.auth.skip_acl = true;
        if let Some(ensemble) = &mut config.ensemble {
            ensemble.lease_ms = LEASE_MS;
        }
    })
}

/// Writes until the server parts; gives how many writes were answered. The first answer is told.
fn write_until_parted(mut client: Client<std::net::TcpStream>, told: Sender<()>) -> i32 {
    let mut answered = 0;
    loop {
        if answered == 1 {
            // A test that has failed listens no more.
            let _ = told.send(());
        }
        client.send(OpCode::SetData, |writer| {
            writer.text("/n").buffer(Some(answered.to_string().as_bytes())).i32(-1);
        });
        let Some((header, _)) = client.reply() else { return answered };
        assert_eq!(header.err, 0, "a client learns of it by nothing but the end of its connection");
        answered += 1;
    }
}

fn a_removed_member_parts_at_once(mode: &str) {
    let mut ensemble = ensemble();
    let removed = ensemble.by_mode(mode)[0];
    let stays = (1..=3).find(|number| *number != removed).unwrap();
    let mut operator = Client::connect(&ensemble.members[&stays]);
    assert_eq!(operator.create("/n", b"", 0), 0);
    let (told, writing) = channel();
    let writers: Vec<_> = (0..3)
        .map(|_| {
            let (client, told) = (Client::connect(&ensemble.members[&removed]), told.clone());
            thread::spawn(move || write_until_parted(client, told))
        })
        .collect();
    for _ in &writers {
        writing.recv_timeout(Duration::from_secs(30)).expect("each client writes");
    }
    let leaving = removed.to_string();
    let (error, _) = operator.ask(OpCode::Reconfig, |writer| {
        writer.string(None).string(Some(leaving.as_str())).string(None).i64(-1);
    });
    assert_eq!(error, 0);
    let began = Instant::now();
    for writer in writers {
        assert!(writer.join().unwrap() > 0, "nothing was written");
    }
    assert!(
        began.elapsed() < Duration::from_millis(u64::from(LEASE_MS) / 2),
        "its clients waited for the lease to run out"
    );
    assert!(!ensemble.members[&removed].is_serving());
    assert!(Client::greet(dial(&ensemble.members[&removed]), None).is_none(), "it opens a session");

    // The others go on, and one of them leads.
    assert_eq!(operator.create("/after", b"", 0), 0);
    until("another leads", || ensemble.by_mode("leader").iter().any(|number| *number != removed));
    drop(ensemble.members.remove(&removed));
    assert_eq!(operator.create("/later", b"", 0), 0);
}

#[test]
fn a_removed_follower_parts_from_its_clients_at_once() {
    a_removed_member_parts_at_once("follower");
}

#[test]
fn a_removed_leader_hands_the_lead_over_and_parts_at_once() {
    a_removed_member_parts_at_once("leader");
}
