//! Plots of nonsense: bad paths, damaged bodies, unknown operations, frames that are none.

use council_wire::OpCode;
use tools_testbed::wire::framed;

use super::super::encode::Body;
use super::super::op::{Mangle, Op, ZxidRef};
use super::super::script::{Action, SessionRef};
use super::{Plot, free, pool};

const BAD_PATHS: [&str; 26] = [
    "",
    "a",
    "a/b",
    "/a/",
    "//a",
    "/a//b",
    "/a/./b",
    "/a/../b",
    "/.",
    "/..",
    "/a/.",
    "/a/..",
    "/a\0b",
    "/a\u{1}b",
    "/a\u{1f}",
    "/a\u{7f}",
    "/a\u{9f}b",
    "/\u{e000}",
    "/\u{f8ff}x",
    "/\u{fff0}",
    "/x\u{ffff}",
    "/\u{1f600}",
    "/missing//b",
    "/...",
    "/sp ace",
    "/\u{2028}",
];

#[expect(clippy::too_many_lines, reason = "a list of what is odd")]
pub(super) fn paths(plot: &mut Plot) {
    let client = plot.client();
    for _ in 0..5 {
        let path = plot.dice.pick(&BAD_PATHS);
        let watch = plot.dice.once_in(4);
        let version = -1;
        let op = match plot.dice.below(14) {
            0 => Op::Create {
                opcode: OpCode::Create,
                path: path.into(),
                data: None,
                acl: pool::open(),
                flags: 0,
            },
            1 => Op::Create {
                opcode: OpCode::Create2,
                path: path.into(),
                data: None,
                acl: pool::open(),
                flags: 2,
            },
            2 => Op::Create {
                opcode: OpCode::CreateContainer,
                path: path.into(),
                data: None,
                acl: pool::open(),
                flags: 4,
            },
            3 => free::create_ttl(&mut plot.dice, plot.profile, path.into()),
            4 => pool::delete(path),
            5 => pool::set(path, b"x"),
            6 => Op::SetAcl { path: path.into(), acl: pool::open(), version },
            7 => {
                {
                    // sync would echo it, and the real server does so in an encoding of its own.
                    let all = [OpCode::GetAcl, OpCode::GetAllChildrenNumber, OpCode::Sync];
                    let choices = if path.contains('\u{1f600}') { &all[..2] } else { &all[..] };
                    pool::of(plot.dice.pick(choices), path)
                }
            }
            8 => {
                let opcode = plot.dice.pick(&[
                    OpCode::Exists,
                    OpCode::Exists,
                    OpCode::GetData,
                    OpCode::GetChildren,
                    OpCode::GetChildren2,
                ]);
                pool::read(opcode, path, watch)
            }
            9 => Op::Multi {
                opcode: OpCode::Multi,
                ops: vec![pool::create("/ok", 0), pool::delete(path), pool::delete("/ok")],
            },
            10 => Op::Multi {
                opcode: OpCode::Multi,
                ops: vec![Op::Versioned { opcode: OpCode::Check, path: path.into(), version }],
            },
            11 => {
                Op::Multi { opcode: OpCode::Multi, ops: vec![pool::set(path, b"x"), pool::create(path, 2)] }
            }
            12 => pool::kind(OpCode::AddWatch, path, plot.dice.pick(&[0, 1])),
            _ => pool::kind(plot.dice.pick(&[OpCode::RemoveWatches, OpCode::CheckWatches]), path, 3),
        };
        plot.send(client, op);
    }
    // Some of the paths are fine after all.
    plot.each(client, ["/...", "/sp ace", "/\u{2028}"].map(pool::delete));
}

pub(super) fn malformed(plot: &mut Plot) {
    let client = plot.client();
    for _ in 0..4 {
        let op = any_operation(plot);
        let how = plot.dice.pick(&[
            Mangle::Short(1),
            Mangle::Short(5),
            Mangle::Empty,
            Mangle::Long(3),
            Mangle::NullFirst,
            Mangle::NegativeFirst,
            Mangle::HugeFirst,
        ]);
        plot.send(client, Op::Mangled { op: Box::new(op), how });
    }
    forget_null(plot, client);
    plot.send(client, Op::Empty { opcode: OpCode::Ping });
}

/// Takes watches on null away again: the page that lists watches by path is broken off at such a one by the real server.
fn forget_null(plot: &mut Plot, client: usize) {
    let remove = Box::new(pool::kind(OpCode::RemoveWatches, "/a", 3));
    plot.send(client, Op::Mangled { op: remove, how: Mangle::NullFirst });
}

/// Every operation with a body, each as likely as the others.
fn any_operation(plot: &mut Plot) -> Op {
    let watch = plot.dice.once_in(4);
    match plot.dice.below(13) {
        0 => Op::Multi { opcode: OpCode::Multi, ops: vec![pool::create("/a/x", 0), pool::set("/a", b"x")] },
        1 => Op::Multi { opcode: OpCode::MultiRead, ops: vec![pool::read(OpCode::GetData, "/a", true)] },
        2 => {
            let opcode = plot.dice.pick(&[OpCode::SetWatches, OpCode::SetWatches2]);
            // Exists-watches and persistent ones would be caught up from the beginning, which only Diwan does.
            let mut lists = vec![vec!["/b".into()], Vec::new(), vec!["/b".into()]];
            if opcode == OpCode::SetWatches2 {
                lists.extend([Vec::new(), Vec::new()]);
            }
            Op::SetWatches { opcode, relative: ZxidRef::Zero, lists }
        }
        3 => Op::SetAcl { path: "/a".into(), acl: pool::open(), version: -1 },
        4 => free::create_ttl(&mut plot.dice, plot.profile, "/a/t".into()),
        5 => Op::Reconfig { joining: None, leaving: Some("5".into()), members: None, config: -1 },
        6 => {
            let plain = [OpCode::GetEphemerals, OpCode::Sync, OpCode::GetAcl, OpCode::GetAllChildrenNumber];
            pool::of(plot.dice.pick(&plain), "/a")
        }
        7 => pool::kind(
            plot.dice.pick(&[OpCode::AddWatch, OpCode::CheckWatches, OpCode::RemoveWatches]),
            "/a",
            3,
        ),
        8 | 9 => {
            let reads = [OpCode::Exists, OpCode::GetData, OpCode::GetChildren, OpCode::GetChildren2];
            pool::read(plot.dice.pick(&reads), "/a", watch)
        }
        10 => Op::Versioned { opcode: OpCode::Delete, path: "/a/y".into(), version: -1 },
        11 => pool::set("/a", b"x"),
        _ => {
            let opcode = plot.dice.pick(&[OpCode::Create, OpCode::Create2, OpCode::CreateContainer]);
            Op::Create { opcode, path: "/a/m".into(), data: None, acl: pool::open(), flags: 0 }
        }
    }
}

/// Records that decode, with nulls in unusual places.
#[expect(clippy::too_many_lines, reason = "a list of what is odd")]
pub(super) fn null_fields(plot: &mut Plot) {
    let client = plot.client();
    let create = |acl: Body| Op::Raw {
        opcode: OpCode::Create.code(),
        body: Body::default().text("/null").buffer(None).append(acl).int(0).into_bytes(),
    };
    let entry = |scheme: Option<&str>, id: Option<&str>| {
        Body::default().int(1).int(31).optional_text(scheme).optional_text(id)
    };
    for _ in 0..3 {
        let null_lists = |count: i32| Body::default().long(0).int(count).int(-1).int(0).into_bytes();
        let op = match plot.dice.below(9) {
            0 => create(Body::default().int(-2)),
            1 => create(Body::default().int(i32::MAX)),
            2 => create(entry(None, Some("x"))),
            3 => create(entry(Some(plot.dice.pick(&["world", "digest", "ip", "auth"])), None)),
            4 => {
                Op::Raw { opcode: OpCode::SetWatches.code(), body: null_lists(plot.dice.pick(&[-1, -2, 0])) }
            }
            5 => {
                let body = Body::default().long(0).int(0).int(0).int(0).int(1).int(-1).int(0).into_bytes();
                Op::Raw { opcode: OpCode::SetWatches2.code(), body }
            }
            6 => {
                // An empty multi, with any type.
                let body = Body::default().multi_header(plot.dice.pick(&[1, 99, -1]), true).into_bytes();
                Op::Raw { opcode: plot.dice.pick(&[OpCode::Multi, OpCode::MultiRead]).code(), body }
            }
            7 => {
                let reads = Body::default().multi_header(4, false).text("/a").boolean(false);
                let body =
                    reads.multi_header(4, false).int(-1).boolean(false).multi_header(-1, true).into_bytes();
                Op::Raw { opcode: OpCode::MultiRead.code(), body }
            }
            _ => {
                let how = Mangle::NullFirst;
                let opcode = plot.dice.pick(&[
                    OpCode::Sync,
                    OpCode::GetEphemerals,
                    OpCode::GetAllChildrenNumber,
                    OpCode::GetAcl,
                ]);
                Op::Mangled { op: Box::new(pool::of(opcode, "/a")), how }
            }
        };
        plot.send(client, op);
    }
    forget_null(plot, client);
    plot.send(client, pool::delete("/null"));
}

pub(super) fn unknown(plot: &mut Plot) {
    let client = plot.client();
    let op = match plot.dice.below(3) {
        0 => Op::Versioned { opcode: OpCode::Check, path: "/a".into(), version: -1 },
        _ => Op::Raw {
            opcode: plot.dice.pick(&[0, 10, 23, 99, 108, 1000, -1, -7, i32::MAX, i32::MIN]),
            body: vec![0; plot.dice.below(9)],
        },
    };
    // Alone: the real server answers these from its input path, past replies that are still under way.
    plot.send(client, op);
    plot.connect(client, SessionRef::Mine);
    plot.send(client, pool::read(OpCode::GetData, "/a", false));
}

/// Bytes that end a connection: in place of a handshake, or after it.
pub(super) fn frames(plot: &mut Plot) {
    let client = plot.client();
    if plot.dice.once_in(2) {
        plot.act(client, Action::Drop);
    }
    let bytes = plot.dice.pick(&[
        framed(&[]),
        framed(&[0, 0, 0]),
        vec![255, 255, 255, 255],
        vec![128, 0, 0, 0],
        vec![255, 255, 255, 0, 1, 2, 3],
    ]);
    plot.act(client, Action::Bytes(bytes));
    plot.connect(client, SessionRef::Mine);
}

/// A length beyond `jute.maxbuffer`, in the middle of a session.
pub(super) fn oversized(plot: &mut Plot) {
    plot.on_purpose("oversized request");
    let client = plot.client();
    plot.send(client, Op::Raw { opcode: OpCode::Exists.code(), body: vec![0; 0x10_0000] });
    plot.act(client, Action::Drop);
    plot.connect(client, SessionRef::Mine);
}

pub(super) fn reconfig_and_sasl(plot: &mut Plot) {
    let client = plot.client();
    let text = |text: &str| Some(text.to_owned());
    let joining = plot.dice.pick(&[None, text("server.2=127.0.0.1:1:2;3"), text("")]);
    let members = plot.dice.pick(&[None, text("server.1=127.0.0.1:1:2;3")]);
    plot.send(client, Op::Reconfig { joining, leaving: None, members, config: -1 });
    let token = plot.dice.pick(&[None, Some(Vec::new()), Some(b"token".to_vec())]);
    let ends_the_connection = token.is_none();
    plot.send(client, Op::Sasl { token });
    if ends_the_connection {
        plot.connect(client, SessionRef::Mine);
    }
    plot.send(client, Op::Empty { opcode: OpCode::WhoAmI });
    plot.send(client, pool::login(super::super::keeper::SUPER));
    plot.send(client, Op::Reconfig { joining: None, leaving: text("7"), members: None, config: 3 });
}
