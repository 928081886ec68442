//! Plots about sessions: resumed, taken over, refused, closed; every form of handshake; the four-letter words.

use council_wire::OpCode;

use super::super::op::{Op, ZxidRef};
use super::super::script::{Action, Connect, SessionRef};
use super::{Plot, pool};

const WORDS: [&str; 15] = [
    "ruok", "srvr", "stat", "conf", "cons", "dump", "envi", "isro", "mntr", "wchs", "wchc", "wchp", "dirs",
    "gtmk", "none",
];

const PAGES: [&str; 14] = [
    "ruok",
    "stats",
    "server_stats",
    "configuration",
    "initial_configuration",
    "connections",
    "dirs",
    "dump",
    "is_read_only",
    "watch_summary",
    "watches",
    "watches_by_path",
    "get_trace_mask",
    "nonsense",
];

/// Comes back to its session in one of many ways.
pub(super) fn resume(plot: &mut Plot) {
    let client = plot.client();
    let node = pool::fresh(&mut plot.dice, "held");
    plot.send(client, pool::create(&node, 1));
    if plot.dice.once_in(2) {
        plot.act(client, Action::Drop);
    }
    let seen = plot.dice.pick(&[ZxidRef::Zero, ZxidRef::Ago(0), ZxidRef::Ago(2), ZxidRef::Ahead]);
    plot.act(client, Action::Connect(Connect { last_zxid_seen: seen, ..Connect::to(SessionRef::Mine) }));
    if seen == ZxidRef::Ahead {
        plot.connect(client, SessionRef::Mine);
    }
    plot.each(client, [pool::of(OpCode::GetEphemerals, "/"), pool::delete(&node)]);
    if plot.dice.once_in(3) {
        plot.act(client, Action::Drop);
        plot.connect(client, SessionRef::Unknown);
        plot.connect(client, SessionRef::Mine);
    }
}

/// Another client holds the session's password too; the session moves to it and its first owner starts a new one.
pub(super) fn take_over(plot: &mut Plot) {
    let client = plot.client();
    let node = pool::fresh(&mut plot.dice, "held");
    plot.send(client, pool::create(&node, 1));
    if plot.clients > 1 {
        let heir = (client + 1) % plot.clients;
        plot.connect(heir, SessionRef::Of(client));
        plot.each(heir, [pool::of(OpCode::GetEphemerals, "/"), pool::delete(&node)]);
        plot.connect(client, SessionRef::New);
    } else {
        plot.connect(client, SessionRef::Mine);
    }
    plot.send(client, pool::read(OpCode::Exists, &node, false));
}

/// Another client with the session's id and no password: it is refused, and the owner must not be affected.
pub(super) fn wrong_password(plot: &mut Plot) {
    plot.on_purpose("wrong password");
    let client = plot.client();
    plot.connect(client, SessionRef::WrongPassword);
    plot.connect(client, SessionRef::Mine);
    plot.send(client, Op::Empty { opcode: OpCode::Ping });
}

pub(super) fn close(plot: &mut Plot) {
    let (client, other) = (plot.client(), plot.client());
    let nodes: Vec<String> =
        ["one", "two", "three"].iter().map(|name| pool::fresh(&mut plot.dice, name)).collect();
    plot.batch(client, nodes.iter().map(|node| pool::create(node, 1)).collect());
    if other != client {
        plot.batch(other, nodes.iter().map(|node| pool::read(OpCode::GetData, node, true)).collect());
        plot.send(other, pool::read(OpCode::GetChildren, "/", true));
    }
    let mut last = vec![Op::Empty { opcode: OpCode::CloseSession }];
    if plot.dice.once_in(3) {
        last.insert(0, pool::create("/late", 1));
    }
    plot.batch(client, last);
    if plot.dice.once_in(2) {
        plot.connect(client, SessionRef::Mine);
    }
    plot.connect(client, SessionRef::New);
    plot.send(client, pool::read(OpCode::Exists, &nodes[0], false));
}

pub(super) fn handshakes(plot: &mut Plot) {
    let client = plot.client();
    let session = plot.dice.pick(&[SessionRef::New, SessionRef::Mine, SessionRef::Unknown]);
    if session != SessionRef::Mine {
        plot.act(client, Action::Drop);
    }
    let connect = Connect {
        session,
        protocol_version: plot.dice.pick(&[0, 0, 1, -1, 77]),
        last_zxid_seen: plot.dice.pick(&[ZxidRef::Zero, ZxidRef::Zero, ZxidRef::Ago(0)]),
        timeout_ms: plot.dice.pick(&[0, -1, i32::MIN, 39_999, 40_000, 123_456, 400_000, 400_001, i32::MAX]),
        read_only: plot.dice.pick(&[None, Some(false), Some(true)]),
    };
    plot.act(client, Action::Connect(connect));
    if session == SessionRef::Unknown {
        plot.connect(client, SessionRef::Mine);
    }
    plot.send(client, Op::Empty { opcode: OpCode::Ping });
}

pub(super) fn words(plot: &mut Plot) {
    let client = plot.client();
    plot.each(client, [pool::create("/worded", 1), pool::read(OpCode::GetData, "/worded", true)]);
    plot.send(client, pool::kind(OpCode::AddWatch, "/worded/below", 1));
    for word in WORDS {
        plot.act(client, Action::Word(word));
    }
    for name in PAGES {
        plot.act(client, Action::Page(name));
    }
}
