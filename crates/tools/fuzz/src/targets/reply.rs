//! What a server may send to a client.

use council_wire::{
    AclList, ConnectResponse, Frame, Malformed, MultiHeader, Reader, ReplyHeader, Stat, WatcherEvent,
    next_frame,
};

use crate::golden;

pub(crate) fn run(bytes: &[u8]) {
    let Frame::Whole(frame) = next_frame(bytes, 1 << 20) else { return };
    assert!(frame.len() <= bytes.len());
    if let Ok(response) = ConnectResponse::read(&mut Reader::new(frame)) {
        assert!(response.password.unwrap_or_default().len() <= frame.len());
    }
    let mut reader = Reader::new(frame);
    if ReplyHeader::read(&mut reader).is_err() {
        return;
    }
    // Any body may stand where another is expected.
    let kinds: [Read; 6] = [stat, event, data, names, acl, results];
    for read in kinds {
        let mut body = reader.clone();
        let _ = read(&mut body);
        assert!(body.rest().len() <= reader.rest().len());
    }
}

/// Reads a body as that of one kind.
type Read = fn(&mut Reader<'_>) -> Result<(), Malformed>;

fn stat(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    Stat::read(reader).map(drop)
}

fn event(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    WatcherEvent::read(reader).map(drop)
}

fn data(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    reader.buffer()?;
    stat(reader)
}

fn names(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    for _ in 0..reader.count()? {
        reader.text()?;
    }
    stat(reader)
}

fn acl(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    let acl = AclList::read(reader)?;
    assert_eq!(acl.iter().count(), acl.len(), "an ACL is shorter than it says");
    stat(reader)
}

fn results(reader: &mut Reader<'_>) -> Result<(), Malformed> {
    while !MultiHeader::read(reader)?.done {}
    Ok(())
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let kinds = ["reply", "event", "welcome"];
    kinds.iter().flat_map(|kind| golden::of_kind(kind)).map(|frame| golden::framed(&frame.bytes)).collect()
}
