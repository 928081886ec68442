//! Plots about the server's reaper: what it removes, what it leaves, and which clients get events.

use council_wire::OpCode;

use super::super::op::Op;
use super::super::script::{Action, Request};
use super::{Plot, pool};

/// A container goes when its last child is gone; one that never had a child stays.
pub(super) fn containers(plot: &mut Plot) {
    let (owner, watcher) = (plot.client(), plot.client());
    let top = pool::fresh(&mut plot.dice, "box");
    let container = |path: &str| Op::Create {
        opcode: OpCode::CreateContainer,
        path: path.into(),
        data: None,
        acl: pool::open(),
        flags: 4,
    };
    let children = [format!("{top}/one"), format!("{top}/two")];
    plot.each(owner, [container(&top), container("/unused"), pool::create(&children[0], 0)]);
    if plot.dice.once_in(2) {
        plot.send(owner, pool::create(&children[1], 1));
    }
    watch(plot, watcher, &top);
    let last = if plot.dice.once_in(2) {
        children.iter().map(|child| pool::delete(child)).collect()
    } else {
        vec![
            Op::Multi { opcode: OpCode::Multi, ops: vec![pool::delete(&children[0])] },
            pool::delete(&children[1]),
        ]
    };
    reap(plot, owner, last, &top);
    plot.each(owner, [pool::read(OpCode::Exists, "/unused", false), pool::delete("/unused")]);
}

/// A TTL node goes when its time is over and it has no children.
pub(super) fn timed(plot: &mut Plot) {
    let (owner, watcher) = (plot.client(), plot.client());
    let top = pool::fresh(&mut plot.dice, "timed");
    watch(plot, watcher, &top);
    let timed =
        |path: &str, ttl| Op::CreateTtl { path: path.into(), data: None, acl: pool::open(), flags: 5, ttl };
    if plot.dice.once_in(2) {
        reap(plot, owner, vec![timed(&top, 1)], &top);
    } else {
        // With a child it stays as long as the child does.
        let child = format!("{top}/child");
        let both = vec![timed(&top, 1), pool::create(&child, 0)];
        plot.send(owner, Op::Multi { opcode: OpCode::Multi, ops: both });
        plot.send(owner, pool::read(OpCode::GetChildren2, &top, true));
        reap(plot, owner, vec![pool::set(&child, b"x"), pool::delete(&child)], &top);
    }
    plot.send(owner, timed("/later", 3_600_000));
    plot.each(owner, [pool::read(OpCode::Exists, "/later", false), pool::delete("/later")]);
}

fn watch(plot: &mut Plot, watcher: usize, top: &str) {
    let op = match plot.dice.below(5) {
        0 => pool::kind(OpCode::AddWatch, top, 0),
        1 => pool::kind(OpCode::AddWatch, top, 1),
        2 => pool::read(OpCode::Exists, top, true),
        3 => pool::read(OpCode::GetChildren, top, true),
        _ => pool::read(OpCode::GetChildren, "/", true),
    };
    plot.send(watcher, op);
}

fn reap(plot: &mut Plot, client: usize, ops: Vec<Op>, gone: &str) {
    let requests = ops.into_iter().map(|op| Request { xid: plot.next_xid(client), op }).collect();
    plot.act(client, Action::Reap(requests, vec![gone.to_owned()]));
}
