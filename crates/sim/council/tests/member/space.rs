//! A full disk: writes are refused with an error, everything else goes on, and writes come back by themselves.

use council_wire::{ErrorCode, OpCode};
use sim_council::disk::SimDisk;

use crate::{answers, client, data, start};

#[test]
fn writes_are_refused_reads_go_on_sessions_close_and_writes_come_back() {
    let disk = SimDisk::new(1);
    let mut node = start(&disk);
    let mut writer = client(&mut node);
    let mut leaver = client(&mut node);
    writer.create(&mut node, "/n", b"first", 0);
    answers(&mut node, &mut writer);
    disk.set_capacity(disk.used());
    let mut acknowledged = Vec::new();
    let mut refused = 0;
    for number in 0..400 {
        let value = format!("{number:0>900}").into_bytes();
        writer.set(&mut node, "/n", &value);
        for reply in answers(&mut node, &mut writer) {
            match ErrorCode::from_code(reply.err) {
                Some(ErrorCode::Ok) => acknowledged = value.clone(),
                _ => refused += 1,
            }
        }
    }
    assert!(refused > 0, "the disk was never full");
    writer.get(&mut node, "/n", false);
    assert_eq!(data(&answers(&mut node, &mut writer)[0]), Ok(Some(acknowledged)));
    leaver.ask(&mut node, OpCode::CloseSession, |_| {});
    assert_eq!(answers(&mut node, &mut leaver)[0].err, 0);
    assert!(node.tree().session(leaver.session).is_none());
    disk.set_capacity(u64::MAX);
    // A full disk is looked at again from time to time.
    node.pass(500);
    writer.set(&mut node, "/n", b"again");
    node.settle().unwrap();
    writer.replies(&mut node);
    writer.set(&mut node, "/n", b"again");
    let replies = answers(&mut node, &mut writer);
    assert_eq!(replies.last().map(|reply| reply.err), Some(0));
}

/// Much more is in flight than the segment can still take; what is refused of it takes a few bytes of the reserve, however
/// many they are.
#[test]
fn everything_in_flight_is_answered_when_the_disk_is_full() {
    for in_flight in [20, 400, 2_000] {
        let disk = SimDisk::new(1);
        let mut node = start(&disk);
        let mut writer = client(&mut node);
        let mut leaver = client(&mut node);
        writer.create(&mut node, "/n", b"first", 0);
        answers(&mut node, &mut writer);
        disk.set_capacity(disk.used());
        for number in 0..in_flight {
            writer.set(&mut node, "/n", format!("{number:0>900}").as_bytes());
        }
        let mut replies = Vec::new();
        for _ in 0..100 {
            replies.extend(answers(&mut node, &mut writer));
            if replies.len() == in_flight {
                break;
            }
        }
        assert_eq!(replies.len(), in_flight, "some hang");
        assert!(replies.iter().any(|reply| reply.err != 0), "the disk was never full");
        let done = replies.iter().filter(|reply| reply.err == 0).count();
        let last = done.checked_sub(1).map(|last| format!("{last:0>900}").into_bytes());
        writer.get(&mut node, "/n", false);
        let read = data(&answers(&mut node, &mut writer)[0]);
        assert_eq!(read, Ok(Some(last.unwrap_or_else(|| b"first".to_vec()))));
        // Sessions are opened and closed from the reserve.
        let mut newcomer = client(&mut node);
        for session in [&mut leaver, &mut newcomer] {
            session.ask(&mut node, OpCode::CloseSession, |_| {});
            assert_eq!(answers(&mut node, session)[0].err, 0);
        }
    }
}
