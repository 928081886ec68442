//! A full disk: writes are refused with an error, everything else goes on, and writes come back by themselves.

use jute::{ErrorCode, OpCode};
use sim::disk::SimDisk;

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
    node.make_room();
    writer.set(&mut node, "/n", b"again");
    node.settle().unwrap();
    writer.replies(&mut node);
    writer.set(&mut node, "/n", b"again");
    let replies = answers(&mut node, &mut writer);
    assert_eq!(replies.last().map(|reply| reply.err), Some(0));
}
