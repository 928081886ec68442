//! Free play: any operation on any pooled path, alone or pipelined, and inside multi and multiRead.

use council_wire::OpCode;
use tools_testbed::dice::Dice;

use super::super::op::{Acl, Op};
use super::super::script::Profile;
use super::{Plot, pool};

/// Operations whose reply depends on when they are applied: only alone, or last in a write.
fn binds_late(op: &Op) -> bool {
    let half_ephemeral = matches!(op, Op::Create { opcode: OpCode::CreateContainer, flags: 1 | 3, .. });
    half_ephemeral || matches!(op, Op::SetAcl { .. } | Op::Auth { .. } | Op::Sasl { .. })
}

pub(super) fn play(plot: &mut Plot) {
    let client = plot.client();
    for _ in 0..=plot.dice.below(4) {
        let mut ops: Vec<Op> = Vec::new();
        for _ in 0..=plot.dice.pick(&[0, 0, 0, 1, 3, 7]) {
            let op = any(&mut plot.dice, plot.profile);
            let last = binds_late(&op);
            ops.push(op);
            if last {
                break;
            }
        }
        plot.batch(client, ops);
    }
}

pub(super) fn multi(plot: &mut Plot) {
    for _ in 0..=plot.dice.below(2) {
        let client = plot.client();
        let mut ops: Vec<Op> = Vec::new();
        for _ in 0..plot.dice.below(6) {
            ops.push(part(&mut plot.dice, plot.profile));
        }
        if plot.dice.once_in(12) {
            let odd = match plot.dice.below(5) {
                0 => Op::SetAcl { path: "/a".into(), acl: pool::open(), version: -1 },
                1 => pool::of(OpCode::DeleteContainer, "/a"),
                2 => pool::read(OpCode::GetData, "/a", false),
                3 => Op::Raw { opcode: 99, body: Vec::new() },
                _ => pool::of(OpCode::Sync, "/a"),
            };
            let at = plot.dice.below(ops.len() + 1);
            ops.insert(at, odd);
        }
        plot.send(client, Op::Multi { opcode: OpCode::Multi, ops });
    }
    if plot.dice.once_in(3) {
        chain(plot);
    }
}

/// Later operations see earlier ones; sometimes the last one fails and takes all back.
fn chain(plot: &mut Plot) {
    let client = plot.client();
    let top = pool::fresh(&mut plot.dice, "chain");
    let child = format!("{top}/child");
    let mut ops = vec![pool::create(&top, 0), pool::create(&child, 0), pool::create(&format!("{top}/s"), 2)];
    ops.push(Op::SetData { path: child.clone(), data: Some(b"second".to_vec()), version: 0 });
    ops.push(Op::Versioned { opcode: OpCode::Check, path: child.clone(), version: 1 });
    ops.push(pool::create(&format!("{top}/s"), 2));
    if plot.dice.once_in(2) {
        ops.push(pool::delete(&top));
    } else {
        ops.push(pool::delete(&child));
    }
    plot.send(client, Op::Multi { opcode: OpCode::Multi, ops });
    plot.batch(
        client,
        vec![pool::delete(&format!("{top}/s0000000001")), pool::delete(&format!("{top}/s0000000002"))],
    );
    plot.batch(client, vec![pool::read(OpCode::GetChildren2, &top, false), pool::delete(&top)]);
}

pub(super) fn multi_read(plot: &mut Plot) {
    let client = plot.client();
    let mut ops: Vec<Op> = Vec::new();
    for _ in 0..plot.dice.below(6) {
        let opcode = plot.dice.pick(&[OpCode::GetData, OpCode::GetChildren]);
        let watch = plot.dice.once_in(4);
        ops.push(pool::read(opcode, &pool::path(&mut plot.dice), watch));
    }
    if plot.dice.once_in(8) {
        let odd = match plot.dice.below(3) {
            0 => pool::create("/a", 0),
            1 => pool::read(OpCode::Exists, "/a", false),
            _ => Op::Raw { opcode: 99, body: Vec::new() },
        };
        let at = plot.dice.below(ops.len() + 1);
        ops.insert(at, odd);
    }
    plot.send(client, Op::Multi { opcode: OpCode::MultiRead, ops });
}

/// An operation that a multi may hold.
fn part(dice: &mut Dice, profile: Profile) -> Op {
    let path = pool::own_path(dice);
    match dice.below(10) {
        0..4 => match create(dice, profile) {
            op if binds_late(&op) => pool::create(&path, 1),
            op => op,
        },
        4..6 => Op::Versioned { opcode: OpCode::Delete, path, version: pool::version(dice) },
        6..8 => Op::SetData { path, data: pool::data(dice), version: pool::version(dice) },
        _ => Op::Versioned { opcode: OpCode::Check, path, version: pool::version(dice) },
    }
}

/// Any operation that leaves the connection open.
pub(super) fn any(dice: &mut Dice, profile: Profile) -> Op {
    let path = pool::path(dice);
    let watch = dice.once_in(4);
    match dice.weighted(&[24, 9, 12, 5, 5, 14, 3, 3, 2, 2, 3, 3, 3]) {
        0 => create(dice, profile),
        1 => Op::Versioned { opcode: OpCode::Delete, path, version: pool::version(dice) },
        2 => Op::SetData { path, data: pool::data(dice), version: pool::version(dice) },
        3 => Op::SetAcl { acl: set_acl_list(dice, &path), path, version: pool::version(dice) },
        4 => pool::of(OpCode::GetAcl, &path),
        5 => {
            let opcode =
                dice.pick(&[OpCode::Exists, OpCode::GetData, OpCode::GetChildren, OpCode::GetChildren2]);
            pool::read(opcode, &path, watch)
        }
        6 => pool::of(OpCode::Sync, &path),
        7 => Op::Empty { opcode: OpCode::Ping },
        8 => pool::of(OpCode::GetEphemerals, dice.pick(&["", "/", "/a", "/a/x", "/missing", " ", "a"])),
        9 => pool::of(OpCode::GetAllChildrenNumber, &path),
        10 => Op::Empty { opcode: OpCode::WhoAmI },
        11 => pool::kind(OpCode::AddWatch, &path, dice.pick(&[0, 1])),
        _ => pool::kind(
            dice.pick(&[OpCode::CheckWatches, OpCode::RemoveWatches]),
            &path,
            dice.pick(&[1, 2, 3, 4, 5]),
        ),
    }
}

/// The root stays open: a closed one would end every later plot.
fn set_acl_list(dice: &mut Dice, path: &str) -> Option<Vec<Acl>> {
    if path == "/" { pool::open() } else { pool::some_acl(dice) }
}

fn create(dice: &mut Dice, profile: Profile) -> Op {
    let path = match dice.below(8) {
        0 => pool::fresh(dice, "s"),
        1 => pool::path(dice),
        _ => pool::own_path(dice),
    };
    let (data, acl) = (pool::data(dice), pool::some_acl(dice));
    if dice.once_in(8) {
        return create_ttl(dice, profile, path);
    }
    let opcode = dice.pick(&[
        OpCode::Create,
        OpCode::Create,
        OpCode::Create2,
        OpCode::Create2,
        OpCode::CreateContainer,
    ]);
    let flags = dice.pick(&[0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7, -1, 100]);
    Op::Create { opcode, path, data, acl, flags }
}

/// createTTL, but never with a negative ttl under flags that are not a TTL's: that stops ZooKeeper 3.9.5 for good.
pub(super) fn create_ttl(dice: &mut Dice, profile: Profile, path: String) -> Op {
    let flags = dice.pick(&[5, 5, 5, 6, 6, 0, 2, 1, 4, 9]);
    let lowest = if matches!(flags, 5 | 6) { -1 } else { 0 };
    let far = if profile == Profile::Plain { 60_000 } else { (1 << 40) - 1 };
    let ttl = dice.pick(&[600_000, 600_000, 600_000, far, 1 << 40, i64::MAX, 0, -1, i64::MIN]).max(lowest);
    Op::CreateTtl { path, data: pool::data(dice), acl: pool::some_acl(dice), flags, ttl }
}
