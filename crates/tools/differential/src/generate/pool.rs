//! The small stock that scripts draw from: few paths, so that operations meet; every form of data, ACL and version.

use council_wire::OpCode;
use tools_testbed::dice::Dice;

use super::super::op::{Acl, Op};

const PATHS: [&str; 12] = [
    "/a",
    "/b",
    "/c",
    "/a/x",
    "/a/y",
    "/b/x",
    "/c/é",
    "/a/x/1",
    "/a/x/2",
    "/b/x/1",
    "/a/x/1/deep",
    "/missing/child",
];
/// `user:base64(sha1(user:password))` of the two users that scripts know.
pub(super) const ALICE: &str = "alice:aYXlLOpEooaV1cRAvUL1fp9Qt7E=";
pub(super) const BOB: &str = "bob:t6EE4g1VcSWwVE0HlwKXoBOX6Vk=";
pub(super) const ALICE_LOGIN: &str = "alice:secret";
pub(super) const BOB_LOGIN: &str = "bob:hidden";

pub(super) fn path(dice: &mut Dice) -> String {
    if dice.once_in(25) { "/".into() } else { dice.pick(&PATHS).into() }
}

/// A path that is no system node and not the root.
pub(super) fn own_path(dice: &mut Dice) -> String {
    dice.pick(&PATHS).into()
}

/// A child of a pooled node under a name of its own.
pub(super) fn fresh(dice: &mut Dice, name: &str) -> String {
    let parent = dice.pick(&["", "/a", "/b"]);
    format!("{parent}/{name}")
}

pub(super) fn data(dice: &mut Dice) -> Option<Vec<u8>> {
    match dice.below(8) {
        0 => None,
        1 => Some(Vec::new()),
        2 => Some(vec![0, 255, 128, 7]),
        3 => Some(vec![b'x'; dice.below(3000)]),
        _ => Some(format!("value {}", dice.below(100)).into_bytes()),
    }
}

/// Mostly any version, then small numbers that may be right, then nonsense.
pub(super) fn version(dice: &mut Dice) -> i32 {
    match dice.below(10) {
        0..6 => -1,
        6..9 => i32::try_from(dice.below(3)).unwrap_or(0),
        _ => dice.pick(&[-2, i32::MAX, i32::MIN]),
    }
}

pub(super) fn acl(perms: i32, scheme: &'static str, id: &str) -> Acl {
    Acl { perms, scheme, id: id.into() }
}

pub(super) fn open() -> Option<Vec<Acl>> {
    Some(vec![acl(31, "world", "anyone")])
}

/// An access list: open in most scripts, so that other errors are not hidden behind this one.
pub(super) fn some_acl(dice: &mut Dice) -> Option<Vec<Acl>> {
    match dice.below(16) {
        0 => Some(vec![acl(1, "world", "anyone")]),
        1 => Some(vec![acl(31, "auth", "")]),
        2 => any_acl(dice),
        _ => open(),
    }
}

/// Every form of access list, wrong ones too.
pub(super) fn any_acl(dice: &mut Dice) -> Option<Vec<Acl>> {
    let count = 1 + dice.below(3);
    match dice.below(12) {
        0 => None,
        1 => Some(Vec::new()),
        2 => Some(vec![acl(31, "world", "anyone"), acl(31, "world", "anyone"), acl(1, "world", "anyone")]),
        _ => Some((0..count).map(|_| entry(dice)).collect()),
    }
}

fn entry(dice: &mut Dice) -> Acl {
    let perms = dice.pick(&[31, 31, 31, 1, 2, 3, 4, 8, 16, 0, 255, -1]);
    let (scheme, id) = dice.pick(&[
        ("world", "anyone"),
        ("world", "anyone"),
        ("world", "bob"),
        ("world", ""),
        ("auth", ""),
        ("auth", "ignored"),
        ("digest", ALICE),
        ("digest", BOB),
        ("digest", "nocolon"),
        ("digest", "two:colons:here"),
        ("digest", ""),
        ("ip", "127.0.0.1"),
        ("ip", "127.0.0.0/8"),
        ("ip", "10.1.2.3"),
        ("ip", "10.0.0.0/33"),
        ("ip", "10.0.0.0/-1"),
        ("ip", "10.0.0.0/x"),
        ("ip", "300.0.0.1"),
        ("ip", "127.0.0"),
        ("ip", ""),
        ("super", "super"),
        ("x509", "CN=alice"),
        ("sasl", "alice"),
        ("nonsense", "x"),
        ("", ""),
    ]);
    acl(perms, scheme, id)
}

pub(super) fn create(path: &str, flags: i32) -> Op {
    create_with(path, Some(b"d".to_vec()), flags)
}

pub(super) fn create_with(path: &str, data: Option<Vec<u8>>, flags: i32) -> Op {
    Op::Create { opcode: OpCode::Create, path: path.into(), data, acl: open(), flags }
}

pub(super) fn delete(path: &str) -> Op {
    Op::Versioned { opcode: OpCode::Delete, path: path.into(), version: -1 }
}

pub(super) fn set(path: &str, data: &[u8]) -> Op {
    Op::SetData { path: path.into(), data: Some(data.to_vec()), version: -1 }
}

pub(super) fn read(opcode: OpCode, path: &str, watch: bool) -> Op {
    Op::Watching { opcode, path: path.into(), watch }
}

pub(super) fn of(opcode: OpCode, path: &str) -> Op {
    Op::OfPath { opcode, path: path.into() }
}

pub(super) fn kind(opcode: OpCode, path: &str, kind: i32) -> Op {
    Op::OfKind { opcode, path: path.into(), kind }
}

pub(super) fn login(text: &str) -> Op {
    Op::Auth { scheme: "digest", auth: text.into() }
}
