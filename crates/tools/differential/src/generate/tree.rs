//! Plots about nodes: sequences, ephemerals, containers and TTL nodes, quotas, the nodes that a new server has.

use council_wire::OpCode;

use super::super::op::Op;
use super::super::script::{Action, Profile, SessionRef};
use super::{Plot, free, pool};

pub(super) fn sequence(plot: &mut Plot) {
    let client = plot.client();
    let top = pool::fresh(&mut plot.dice, "queue");
    plot.send(client, pool::create(&top, 0));
    let mut ops = Vec::new();
    for _ in 0..=plot.dice.below(5) {
        let prefix = plot.dice.pick(&["/n", "/", "/n-", "/é", "/.", "/..", "/x/y", "//", "/deep/"]);
        let flags = plot.dice.pick(&[2, 2, 3, 0]);
        let opcode = plot.dice.pick(&[OpCode::Create, OpCode::Create2]);
        let path = format!("{top}{prefix}");
        ops.push(Op::Create { opcode, path, data: None, acl: pool::open(), flags });
        if plot.dice.once_in(3) {
            ops.push(pool::delete(&format!("{top}/n000000000{}", plot.dice.below(4))));
        }
    }
    plot.batch(client, ops);
    plot.send(client, pool::read(OpCode::GetChildren2, &top, false));
}

pub(super) fn ephemerals(plot: &mut Plot) {
    let (owner, other) = (plot.client(), plot.client());
    let mortal = pool::fresh(&mut plot.dice, "mortal");
    let flags = plot.dice.pick(&[1, 1, 3]);
    plot.send(owner, pool::create(&mortal, flags));
    let child = format!("{mortal}/child");
    plot.send(other, pool::create(&child, 0));
    plot.send(other, Op::CreateTtl { path: child, data: None, acl: pool::open(), flags: 5, ttl: 60_000 });
    plot.send(other, pool::read(OpCode::Exists, &mortal, true));
    plot.send(owner, pool::of(OpCode::GetEphemerals, "/"));
    plot.send(other, pool::of(OpCode::GetEphemerals, &mortal));
    match plot.dice.below(3) {
        0 => plot.send(other, pool::delete(&mortal)),
        1 => {
            // A dropped socket leaves the session and its nodes.
            plot.act(owner, Action::Drop);
            plot.connect(owner, SessionRef::Mine);
            plot.send(owner, pool::of(OpCode::GetEphemerals, ""));
        }
        _ => {
            plot.send(owner, Op::Empty { opcode: OpCode::CloseSession });
            plot.connect(owner, SessionRef::New);
        }
    }
    plot.send(other, pool::read(OpCode::Exists, &mortal, false));
}

pub(super) fn containers(plot: &mut Plot) {
    let client = plot.client();
    let top = pool::fresh(&mut plot.dice, "box");
    let flags = plot.dice.pick(&[4, 4, 0, 2, 1, 5, 77]);
    let opcode =
        plot.dice.pick(&[OpCode::CreateContainer, OpCode::CreateContainer, OpCode::Create, OpCode::Create2]);
    plot.send(client, Op::Create { opcode, path: top.clone(), data: None, acl: pool::open(), flags });
    plot.batch(client, vec![pool::create(&format!("{top}/k"), 0), pool::read(OpCode::GetData, &top, false)]);
    plot.send(client, pool::delete(&top));
    let timed = pool::fresh(&mut plot.dice, "timed");
    let op = free::create_ttl(&mut plot.dice, plot.profile, timed.clone());
    let same = op.clone();
    plot.each(client, [op, same, pool::read(OpCode::Exists, &timed, false), pool::set(&timed, b"later")]);
    let inner = free::create_ttl(&mut plot.dice, plot.profile, format!("{top}/inner"));
    let ops = vec![inner, pool::create(&format!("{top}/m"), 0)];
    plot.send(client, Op::Multi { opcode: OpCode::Multi, ops });
    plot.batch(client, vec![pool::delete(&format!("{top}/k")), pool::delete(&timed)]);
}

#[expect(clippy::too_many_lines, reason = "a list of what is generated")]
pub(super) fn quota(plot: &mut Plot) {
    let client = plot.client();
    let limits = plot.dice.pick(&[
        "count=2,bytes=-1",
        "count=-1,bytes=10",
        "count=-1,bytes=-1=;byteHardLimit=10;countHardLimit=-1",
        "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=3",
        "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=2",
        "count=-1,bytes=-1=;byteHardLimit=5;countHardLimit=-1",
        "count=1,bytes=1=;byteHardLimit=40;countHardLimit=4",
    ]);
    let of = "/zookeeper/quota/q";
    let stats = format!("{of}/zookeeper_stats");
    plot.each(client, [pool::create("/q", 0), pool::create(of, 0)]);
    let data = Some(limits.as_bytes().to_vec());
    plot.send(client, pool::create_with(&format!("{of}/zookeeper_limits"), data, 0));
    plot.send(client, pool::create_with(&stats, Some(b"count=0,bytes=0".to_vec()), 0));
    for _ in 0..5 + plot.dice.below(4) {
        let name = format!("/q/{}", plot.dice.pick(&["k", "l", "k/m", "n"]));
        let data = vec![b'z'; plot.dice.below(30)];
        let op = match plot.dice.below(8) {
            0..4 => {
                let opcode = plot.dice.pick(&[OpCode::Create, OpCode::Create2, OpCode::CreateContainer]);
                Op::Create { opcode, path: name.clone(), data: Some(data), acl: pool::open(), flags: 0 }
            }
            4 => pool::set(&name, &data),
            5 => pool::set("/q", &data),
            6 => pool::delete(&name),
            _ => Op::Multi {
                opcode: OpCode::Multi,
                ops: vec![pool::create_with(&name, Some(data), 0), pool::set("/q", b"in multi")],
            },
        };
        plot.each(client, [op, pool::read(OpCode::GetData, &stats, false)]);
    }
    if plot.dice.once_in(2) {
        plot.each(
            client,
            [pool::delete(&stats), pool::delete(&format!("{of}/zookeeper_limits")), pool::delete(of)],
        );
        plot.each(client, [pool::create("/q/after", 0), pool::set("/q/after", &[b'z'; 50])]);
    }
    // What is left under /q is cleared away, so that later plots do not meet a quota by chance.
    for name in ["/q/k/m", "/q/k", "/q/l", "/q/n", "/q/after", "/q"] {
        plot.send(client, pool::delete(name));
    }
    plot.each(
        client,
        [pool::delete(&stats), pool::delete(&format!("{of}/zookeeper_limits")), pool::delete(of)],
    );
}

/// Every refusal that a create, a delete or a change of data can meet, by every kind of create, alone and in a multi.
pub(super) fn refusals(plot: &mut Plot) {
    let client = plot.client();
    plot.batch(
        client,
        vec![pool::create("/mortal", 1), pool::create("/full", 0), pool::create("/full/child", 0)],
    );
    for _ in 0..6 {
        let path = plot.dice.pick(&["/mortal/child", "/mortal", "/full", "/full/child", "/absent/child"]);
        let version = plot.dice.pick(&[-1, 7]);
        let op = match plot.dice.below(6) {
            0..3 => {
                let opcode = plot.dice.pick(&[OpCode::Create, OpCode::Create2, OpCode::CreateContainer]);
                let flags = if opcode == OpCode::CreateContainer { 4 } else { plot.dice.pick(&[0, 0, 1, 2]) };
                Op::Create { opcode, path: path.into(), data: None, acl: pool::open(), flags }
            }
            3 => Op::CreateTtl { path: path.into(), data: None, acl: pool::open(), flags: 5, ttl: 600_000 },
            4 => Op::Versioned { opcode: OpCode::Delete, path: "/full".into(), version },
            _ => Op::SetData { path: path.into(), data: None, version },
        };
        if plot.dice.once_in(2) {
            let check = Op::Versioned { opcode: OpCode::Check, path: path.into(), version };
            let ops = if plot.dice.once_in(2) { vec![op, check] } else { vec![check, op] };
            plot.send(client, Op::Multi { opcode: OpCode::Multi, ops });
        } else {
            plot.send(client, op);
        }
    }
    plot.send(client, pool::read(OpCode::Exists, "/nul\0", plot.dice.clone().once_in(2)));
    plot.batch(client, ["/mortal", "/full/child", "/full"].map(pool::delete).into());
}

pub(super) fn system_nodes(plot: &mut Plot) {
    let client = plot.client();
    let node = plot.dice.pick(&["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config", ""]);
    for _ in 0..3 {
        let op = match plot.dice.below(9) {
            0 => pool::delete(node),
            1 => pool::create(node, 0),
            2 => pool::read(OpCode::Exists, node, true),
            3 => pool::read(OpCode::GetData, node, true),
            4 => pool::read(OpCode::GetChildren2, node, false),
            5 => pool::of(OpCode::GetAcl, node),
            6 => pool::of(OpCode::GetAllChildrenNumber, node),
            7 => Op::SetAcl { path: node.into(), acl: pool::open(), version: 9 },
            _ => Op::Versioned { opcode: OpCode::Delete, path: node.into(), version: 5 },
        };
        plot.send(client, op);
    }
    if plot.profile == Profile::Full && plot.dice.once_in(2) {
        plot.each(
            client,
            [
                pool::create("/zookeeper/own", 0),
                pool::set("/zookeeper/own", b"x"),
                pool::delete("/zookeeper/own"),
            ],
        );
    }
}

/// Clients must not reap: the whole plot is excused, and ends with the same tree if it is refused.
pub(super) fn delete_container(plot: &mut Plot) {
    plot.on_purpose("deleteContainer");
    let client = plot.client();
    let top = plot.dice.pick(&["/reaped", "/reaped2"]);
    plot.send(client, pool::create(top, 0));
    let child = format!("{top}/child");
    if plot.dice.once_in(2) {
        plot.each(
            client,
            [pool::create(&child, 0), pool::of(OpCode::DeleteContainer, top), pool::delete(&child)],
        );
    }
    if plot.dice.once_in(2) {
        plot.each(
            client,
            [pool::create(&child, 1), pool::of(OpCode::DeleteContainer, &child), pool::delete(&child)],
        );
    }
    for bad in ["/", "no slash", "/reaped/missing"] {
        plot.send(client, pool::of(OpCode::DeleteContainer, bad));
    }
    plot.each(client, [pool::of(OpCode::DeleteContainer, top), pool::delete(top)]);
    // The root's pzxid is that of the last child's end: end one more, the same way on both servers.
    plot.each(client, [pool::create("/reaped", 0), pool::delete("/reaped")]);
}
