//! Golden captures: the bytes of every operation, as a real ZooKeeper answers it, in small text files that people can read.
//!
//! One file an operation. `# ` begins a comment, `request NAME`, `reply NAME`, `event`, `hello` and `welcome` carry a frame
//! in hex (without its length), and the indented line below says the same for people.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use council_wire::OpCode;
use tools_testbed::wire::{Received, Wire, framed};

use super::encode::Body;
use super::keeper::SUPER;
use super::normalise::{self, Normal, Side};
use super::op::{Acl, Op, ZxidRef};
use super::play::{int_at, long_at};

/// What one file holds.
struct Dialogue {
    file: &'static str,
    about: &'static str,
    ops: Vec<Op>,
}

/// Plays every dialogue on the server at `address`, each in a session of its own, and writes one file for each.
///
/// # Errors
/// The server does not answer, or the folder cannot be written.
pub fn capture(address: SocketAddr, folder: &Path, deadline: Duration) -> io::Result<usize> {
    fs::create_dir_all(folder)?;
    let dialogues = dialogues();
    for dialogue in &dialogues {
        let text = record(address, dialogue, deadline)?;
        fs::write(folder.join(dialogue.file).with_extension("txt"), text)?;
    }
    Ok(dialogues.len())
}

#[expect(clippy::too_many_lines, reason = "a list of what is captured")]
fn record(address: SocketAddr, dialogue: &Dialogue, deadline: Duration) -> io::Result<String> {
    let mut text = format!("# {}\n", dialogue.about);
    let mut wire = Wire::connect(address, deadline)?;
    let hello =
        Body::default().int(0).long(0).int(40_000).long(0).buffer(Some(&[0; 16])).boolean(false).into_bytes();
    wire.send(&framed(&hello))?;
    let Received::Frame(welcome) = wire.receive(deadline) else { return Err(silent("a handshake")) };
    let sessions = [long_at(&welcome, 8).unwrap_or(0)];
    let side = Side { marks: &[], step: 0, sessions: &sessions };
    if dialogue.file == "connect" {
        frame(
            &mut text,
            "hello",
            &hello,
            "protocol 0, zxid 0, timeout 40000, session 0, 16 zero bytes, readOnly false",
        );
        frame(&mut text, "welcome", &welcome, &normalise::handshake(side, &welcome).0.text);
    }
    let mut newest = 0;
    for (index, op) in dialogue.ops.iter().enumerate() {
        let xid = match op {
            Op::Auth { .. } => -4,
            Op::Empty { opcode: OpCode::Ping } => -2,
            Op::SetWatches { .. } => -8,
            _ => i32::try_from(index + 1).unwrap_or(1),
        };
        let request = Body::default().int(xid).int(op.opcode()).raw(&op.body(newest)).into_bytes();
        frame(&mut text, &format!("request {}", op.name()), &request, &op.to_string());
        wire.send(&framed(&request))?;
        loop {
            let Received::Frame(answer) = wire.receive(deadline) else { return Err(silent(&op.to_string())) };
            if int_at(&answer, 0) == Some(-1) {
                frame(&mut text, "event", &answer, &normalise::event(side, &answer).0.text);
                continue;
            }
            newest = newest.max(long_at(&answer, 4).unwrap_or(0));
            let Normal { text: said, .. } = normalise::reply(side, op.opcode(), &answer).0;
            frame(&mut text, &format!("reply {}", op.name()), &answer, &said);
            break;
        }
    }
    Ok(text)
}

fn frame(text: &mut String, label: &str, bytes: &[u8], said: &str) {
    let _ = write!(text, "\n{label} ");
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    let _ = writeln!(text, "\n  {}", said.trim());
}

fn silent(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("no answer to {what}"))
}

fn acl(perms: i32, scheme: &'static str, id: &str) -> Acl {
    Acl { perms, scheme, id: id.to_owned() }
}

fn create(opcode: OpCode, path: &str, data: Option<&[u8]>, flags: i32) -> Op {
    let acl = Some(vec![acl(31, "world", "anyone")]);
    Op::Create { opcode, path: path.to_owned(), data: data.map(<[u8]>::to_vec), acl, flags }
}

fn plain(path: &str) -> Op {
    create(OpCode::Create, path, Some(b"data"), 0)
}

fn watching(opcode: OpCode, path: &str, watch: bool) -> Op {
    Op::Watching { opcode, path: path.to_owned(), watch }
}

fn of_path(opcode: OpCode, path: &str) -> Op {
    Op::OfPath { opcode, path: path.to_owned() }
}

fn of_kind(opcode: OpCode, path: &str, kind: i32) -> Op {
    Op::OfKind { opcode, path: path.to_owned(), kind }
}

fn versioned(opcode: OpCode, path: &str, version: i32) -> Op {
    Op::Versioned { opcode, path: path.to_owned(), version }
}

fn set(path: &str, data: Option<&[u8]>, version: i32) -> Op {
    Op::SetData { path: path.to_owned(), data: data.map(<[u8]>::to_vec), version }
}

fn multi(opcode: OpCode, ops: Vec<Op>) -> Op {
    Op::Multi { opcode, ops }
}

fn dialogue(file: &'static str, about: &'static str, ops: Vec<Op>) -> Dialogue {
    Dialogue { file, about, ops }
}

fn dialogues() -> Vec<Dialogue> {
    let mut all = writes();
    all.extend(reads());
    all.extend(watches());
    all.extend(connections());
    all
}

#[expect(clippy::too_many_lines, reason = "a list of what is captured")]
fn writes() -> Vec<Dialogue> {
    let ttl = |path: &str, flags, ttl| Op::CreateTtl {
        path: path.to_owned(),
        data: None,
        acl: Some(vec![acl(31, "world", "anyone")]),
        flags,
        ttl,
    };
    let guarded = Some(vec![acl(1, "world", "anyone"), acl(31, "ip", "127.0.0.1")]);
    vec![
        dialogue(
            "create",
            "create: persistent, null data, ephemeral, sequential; refused",
            vec![
                plain("/create"),
                create(OpCode::Create, "/create/null", None, 0),
                create(OpCode::Create, "/create/ephemeral", Some(b""), 1),
                create(OpCode::Create, "/create/s-", Some(b"x"), 2),
                create(OpCode::Create, "/create/é", Some(&[0, 255]), 3),
                plain("/create"),
                plain("/create/ephemeral/child"),
                plain("no slash"),
                Op::Create {
                    opcode: OpCode::Create,
                    path: "/create/open".into(),
                    data: None,
                    acl: Some(vec![]),
                    flags: 0,
                },
            ],
        ),
        dialogue(
            "create2",
            "create2 answers path and Stat",
            vec![
                create(OpCode::Create2, "/create2", Some(b"data"), 0),
                create(OpCode::Create2, "/create2/s", None, 3),
                create(OpCode::Create2, "/missing/child", None, 0),
            ],
        ),
        dialogue(
            "createContainer",
            "createContainer: the owner is shown as 0",
            vec![
                create(OpCode::CreateContainer, "/container", None, 4),
                create(OpCode::CreateContainer, "/container", None, 4),
            ],
        ),
        dialogue(
            "createTTL",
            "createTTL: with and without a sequence number; a ttl of 0 is refused",
            vec![ttl("/ttl", 5, 600_000), ttl("/ttl-", 6, 600_000), ttl("/ttl-zero", 5, 0)],
        ),
        dialogue(
            "delete",
            "delete: by version, refused, done",
            vec![
                plain("/delete"),
                plain("/delete/child"),
                versioned(OpCode::Delete, "/delete", -1),
                versioned(OpCode::Delete, "/delete/child", 7),
                versioned(OpCode::Delete, "/delete/child", 0),
                versioned(OpCode::Delete, "/delete/child", -1),
            ],
        ),
        dialogue(
            "deleteContainer",
            "deleteContainer, as the server's own reaper sends it",
            vec![
                create(OpCode::CreateContainer, "/reaped", None, 4),
                of_path(OpCode::DeleteContainer, "/reaped"),
                of_path(OpCode::DeleteContainer, "/reaped"),
            ],
        ),
        dialogue(
            "setData",
            "setData: data, null data, a wrong version",
            vec![
                plain("/setData"),
                set("/setData", Some(b"new"), 0),
                set("/setData", None, -1),
                set("/setData", Some(b""), 9),
            ],
        ),
        dialogue(
            "setACL",
            "setACL: a list of two, a wrong version, an unknown scheme",
            vec![
                plain("/setACL"),
                Op::SetAcl { path: "/setACL".into(), acl: guarded, version: 0 },
                Op::SetAcl {
                    path: "/setACL".into(),
                    acl: Some(vec![acl(31, "world", "anyone")]),
                    version: 9,
                },
                Op::SetAcl { path: "/setACL".into(), acl: Some(vec![acl(31, "nonsense", "x")]), version: -1 },
            ],
        ),
        dialogue(
            "multi",
            "multi: every kind of operation; a failure; none at all; one that it cannot hold",
            vec![
                multi(
                    OpCode::Multi,
                    vec![
                        plain("/multi"),
                        create(OpCode::Create2, "/multi/two", None, 0),
                        create(OpCode::CreateContainer, "/multi/box", None, 4),
                        ttl("/multi/ttl", 5, 600_000),
                        set("/multi", Some(b"set"), 0),
                        versioned(OpCode::Check, "/multi", 1),
                        versioned(OpCode::Delete, "/multi/two", -1),
                    ],
                ),
                multi(
                    OpCode::Multi,
                    vec![plain("/multi/a"), versioned(OpCode::Check, "/multi", 7), plain("/multi/b")],
                ),
                multi(OpCode::Multi, vec![]),
                multi(OpCode::Multi, vec![of_path(OpCode::Sync, "/multi")]),
            ],
        ),
        dialogue(
            "reconfig",
            "reconfig of a single server",
            vec![Op::Reconfig {
                joining: Some("server.2=127.0.0.1:1:2;3".into()),
                leaving: None,
                members: None,
                config: -1,
            }],
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a list of what is captured")]
fn reads() -> Vec<Dialogue> {
    let pair = |opcode| vec![watching(opcode, "/zookeeper", false), watching(opcode, "/missing", false)];
    vec![
        dialogue("exists", "exists: there, not there", pair(OpCode::Exists)),
        dialogue("getData", "getData: data, null data, no node", {
            let mut ops = vec![plain("/getData"), watching(OpCode::GetData, "/getData", false)];
            ops.extend([set("/getData", None, -1), watching(OpCode::GetData, "/getData", true)]);
            ops.extend(pair(OpCode::GetData));
            ops
        }),
        dialogue(
            "getACL",
            "getACL: of the root, of the configuration, of no node",
            vec![
                of_path(OpCode::GetAcl, "/"),
                of_path(OpCode::GetAcl, "/zookeeper/config"),
                of_path(OpCode::GetAcl, "/missing"),
            ],
        ),
        dialogue("getChildren", "getChildren: names, no node", pair(OpCode::GetChildren)),
        dialogue("getChildren2", "getChildren2: names and Stat, no node", pair(OpCode::GetChildren2)),
        dialogue(
            "multiRead",
            "multiRead: data, children, and an error that leaves the others alone",
            vec![
                multi(
                    OpCode::MultiRead,
                    vec![
                        watching(OpCode::GetData, "/zookeeper", false),
                        watching(OpCode::GetChildren, "/zookeeper", false),
                        watching(OpCode::GetData, "/missing", false),
                    ],
                ),
                multi(OpCode::MultiRead, vec![]),
            ],
        ),
        dialogue(
            "getEphemerals",
            "getEphemerals: of this session, by prefix",
            vec![
                create(OpCode::Create, "/getEphemerals", None, 1),
                of_path(OpCode::GetEphemerals, "/"),
                of_path(OpCode::GetEphemerals, "/none"),
            ],
        ),
        dialogue(
            "getAllChildrenNumber",
            "getAllChildrenNumber: below a node, of no node",
            vec![
                of_path(OpCode::GetAllChildrenNumber, "/zookeeper"),
                of_path(OpCode::GetAllChildrenNumber, "/missing"),
            ],
        ),
        dialogue("sync", "sync echoes its path", vec![of_path(OpCode::Sync, "/any/path")]),
    ]
}

#[expect(clippy::too_many_lines, reason = "a list of what is captured")]
fn watches() -> Vec<Dialogue> {
    let lists = |count: usize| (0..count).map(|index| vec![format!("/list{index}"), "/".into()]).collect();
    let set_watches = |opcode, count| Op::SetWatches { opcode, relative: ZxidRef::Zero, lists: lists(count) };
    vec![
        dialogue(
            "addWatch",
            "addWatch: both modes, a mode that is none, and what the watches hear",
            vec![
                of_kind(OpCode::AddWatch, "/addWatch", 0),
                of_kind(OpCode::AddWatch, "/addWatch", 1),
                of_kind(OpCode::AddWatch, "/addWatch", 2),
                plain("/addWatch"),
                plain("/addWatch/child"),
                set("/addWatch/child", Some(b"heard"), -1),
                versioned(OpCode::Delete, "/addWatch/child", -1),
            ],
        ),
        dialogue(
            "events",
            "one-shot watches: created, changed, children changed, deleted",
            vec![
                watching(OpCode::Exists, "/events", true),
                plain("/events"),
                watching(OpCode::GetData, "/events", true),
                watching(OpCode::GetChildren, "/events", true),
                set("/events", None, -1),
                plain("/events/child"),
                versioned(OpCode::Delete, "/events/child", -1),
                watching(OpCode::Exists, "/events", true),
                versioned(OpCode::Delete, "/events", -1),
            ],
        ),
        dialogue(
            "checkWatches",
            "checkWatches: there, not there, a type that is none",
            vec![
                watching(OpCode::Exists, "/checkWatches", true),
                of_kind(OpCode::CheckWatches, "/checkWatches", 2),
                of_kind(OpCode::CheckWatches, "/checkWatches", 1),
                of_kind(OpCode::CheckWatches, "/checkWatches", 9),
            ],
        ),
        dialogue(
            "removeWatches",
            "removeWatches: there, not there any more",
            vec![
                of_kind(OpCode::AddWatch, "/removeWatches", 0),
                of_kind(OpCode::RemoveWatches, "/removeWatches", 3),
                of_kind(OpCode::RemoveWatches, "/removeWatches", 3),
            ],
        ),
        dialogue(
            "setWatches",
            "setWatches: three lists, and the events of what changed meanwhile",
            vec![set_watches(OpCode::SetWatches, 3)],
        ),
        dialogue(
            "setWatches2",
            "setWatches2: five lists, and the events of what changed meanwhile",
            vec![set_watches(OpCode::SetWatches2, 5)],
        ),
    ]
}

fn connections() -> Vec<Dialogue> {
    let empty = |opcode| Op::Empty { opcode };
    vec![
        dialogue("connect", "the handshake of a new session, and a ping", vec![empty(OpCode::Ping)]),
        dialogue(
            "auth",
            "auth: a user, the superuser, a scheme that is none",
            vec![
                Op::Auth { scheme: "digest", auth: b"alice:secret".to_vec() },
                Op::Auth { scheme: "digest", auth: SUPER.into() },
                empty(OpCode::WhoAmI),
                Op::Auth { scheme: "nonsense", auth: Vec::new() },
            ],
        ),
        dialogue("whoAmI", "whoAmI without a login", vec![empty(OpCode::WhoAmI)]),
        dialogue("sasl", "sasl where none is configured", vec![Op::Sasl { token: Some(Vec::new()) }]),
        dialogue("check", "check outside a multi", vec![versioned(OpCode::Check, "/", -1)]),
        dialogue(
            "closeSession",
            "closeSession is answered, then the connection is closed",
            vec![empty(OpCode::CloseSession)],
        ),
    ]
}
