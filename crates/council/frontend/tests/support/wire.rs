//! Requests as a client encodes them, and replies in words.

use std::fmt::Write as _;

use council_wire::{
    Acl, ConnectRequest, ConnectResponse, MultiHeader, OpCode, Reader, ReplyHeader, RequestHeader, Stat,
    WatcherEvent, Writer, end_frame, start_frame, xid,
};

/// A frame of a request.
pub fn request(xid: i32, operation: i32, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let start = start_frame(&mut out);
    let mut writer = Writer::new(&mut out);
    RequestHeader { xid, operation }.write(&mut writer);
    writer.raw(body);
    end_frame(&mut out, start);
    out
}

/// The first frame of a connection.
pub fn connect(request: &ConnectRequest<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let start = start_frame(&mut out);
    request.write(&mut Writer::new(&mut out));
    end_frame(&mut out, start);
    out
}

/// A body made of what `write` writes.
pub fn body(write: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut Writer::new(&mut out));
    out
}

/// The body of create and its like.
pub fn create(path: &str, data: Option<&[u8]>, acl: &[Acl], flags: i32) -> Vec<u8> {
    body(|writer| {
        writer.text(path).buffer(data);
        Acl::write_all(acl, writer);
        writer.i32(flags);
    })
}

/// The body of a read: path and watch flag.
pub fn read(path: &str, watch: bool) -> Vec<u8> {
    body(|writer| {
        writer.text(path).bool(watch);
    })
}

/// What a first reply says.
pub fn describe_connect(frame: &[u8]) -> (String, ConnectResponse<'_>) {
    let response = ConnectResponse::read(&mut Reader::new(frame)).expect("a connect response");
    let mut text = format!("connected session={:#x} timeout={}", response.session_id, response.timeout_ms);
    if let Some(read_only) = response.read_only {
        write!(text, " readonly={read_only}").unwrap();
    }
    (text, response)
}

/// What a later reply or an event says. `operation_of` knows what was asked under an xid.
pub fn describe(frame: &[u8], operation_of: impl FnOnce(i32) -> Option<OpCode>) -> String {
    let mut reader = Reader::new(frame);
    let header = ReplyHeader::read(&mut reader).expect("a reply header");
    if header.xid == xid::NOTIFICATION {
        let event = WatcherEvent::read(&mut reader).expect("an event");
        return format!("event {:?} {} zxid={}", event.event, event.path, header.zxid);
    }
    let operation = operation_of(header.xid);
    let name = operation.map_or("?", OpCode::name);
    let mut text = format!("xid={} {name} zxid={}", header.xid, header.zxid);
    if header.err != 0 {
        let error = council_wire::ErrorCode::from_code(header.err).map_or("?", council_wire::ErrorCode::name);
        write!(text, " {error}").unwrap();
    }
    if !reader.rest().is_empty() {
        text.push(' ');
        text.push_str(
            &operation.map_or_else(|| String::from("?"), |operation| describe_body(operation, &mut reader)),
        );
    }
    if !reader.rest().is_empty() {
        write!(text, " and {} bytes more", reader.rest().len()).unwrap();
    }
    text
}

fn describe_body(operation: OpCode, reader: &mut Reader<'_>) -> String {
    match operation {
        OpCode::Create | OpCode::Sync => reader.text().unwrap().to_owned(),
        OpCode::Create2 | OpCode::CreateContainer | OpCode::CreateTtl => {
            format!("{} {}", reader.text().unwrap(), stat(reader))
        }
        OpCode::Exists | OpCode::SetData | OpCode::SetAcl => stat(reader),
        OpCode::GetData => format!("{} {}", data(reader), stat(reader)),
        OpCode::GetChildren => texts(reader),
        OpCode::GetChildren2 => format!("{} {}", texts(reader), stat(reader)),
        OpCode::GetEphemerals => texts(reader),
        OpCode::GetAllChildrenNumber | OpCode::AddWatch => reader.i32().unwrap().to_string(),
        OpCode::GetAcl => format!("{} {}", acl(reader), stat(reader)),
        OpCode::WhoAmI => whoami(reader),
        OpCode::Sasl => data(reader),
        OpCode::Multi | OpCode::MultiRead => multi(reader),
        _ => String::new(),
    }
}

fn stat(reader: &mut Reader<'_>) -> String {
    let stat = Stat::read(reader).expect("a stat");
    let mut text = format!(
        "[c{} m{} p{} version={} cversion={} aversion={} length={} children={}",
        stat.czxid,
        stat.mzxid,
        stat.pzxid,
        stat.version,
        stat.cversion,
        stat.aversion,
        stat.data_length,
        stat.num_children
    );
    if stat.ephemeral_owner != 0 {
        write!(text, " owner={:#x}", stat.ephemeral_owner).unwrap();
    }
    text + "]"
}

fn data(reader: &mut Reader<'_>) -> String {
    reader
        .buffer()
        .unwrap()
        .map_or_else(|| String::from("null"), |data| format!("{:?}", String::from_utf8_lossy(data)))
}

fn texts(reader: &mut Reader<'_>) -> String {
    let mut found: Vec<_> = (0..reader.count().unwrap()).map(|_| reader.text().unwrap().to_owned()).collect();
    found.sort_unstable();
    format!("({})", found.join(" "))
}

fn acl(reader: &mut Reader<'_>) -> String {
    let entry = |reader: &mut Reader<'_>| {
        let permissions = reader.i32().unwrap();
        format!("{}:{}:{permissions}", reader.text().unwrap(), reader.text().unwrap())
    };
    let count = reader.count().unwrap();
    format!("({})", (0..count).map(|_| entry(reader)).collect::<Vec<_>>().join(" "))
}

fn whoami(reader: &mut Reader<'_>) -> String {
    let count = reader.count().unwrap();
    let each = (0..count).map(|_| format!("{}:{}", reader.text().unwrap(), reader.text().unwrap()));
    format!("({})", each.collect::<Vec<_>>().join(" "))
}

fn multi(reader: &mut Reader<'_>) -> String {
    let mut results = Vec::new();
    loop {
        let header = MultiHeader::read(reader).expect("a multi header");
        if header.done {
            return format!("({})", results.join("; "));
        }
        results.push(match OpCode::from_code(header.operation) {
            Some(operation) => {
                format!("{} {}", operation.name(), describe_body(operation, reader)).trim().to_owned()
            }
            None => {
                let error = reader.i32().expect("an error result");
                assert_eq!(error, header.err, "header and body of an error result say the same");
                council_wire::ErrorCode::from_code(error)
                    .map_or("?", council_wire::ErrorCode::name)
                    .to_owned()
            }
        });
    }
}
