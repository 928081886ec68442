//! What a server may send to our own client: frames, headers, handshakes, events, Stats.
#![no_main]

use jute::{ConnectResponse, Frame, Reader, ReplyHeader, Stat, WatcherEvent, next_frame};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Frame::Whole(frame) = next_frame(bytes, 1 << 20) else { return };
    assert!(frame.len() <= bytes.len());
    let _ = ConnectResponse::read(&mut Reader::new(frame));
    let reader = &mut Reader::new(frame);
    if ReplyHeader::read(reader).is_ok() {
        let _ = Stat::read(&mut reader.clone());
        let _ = WatcherEvent::read(reader);
    }
});
