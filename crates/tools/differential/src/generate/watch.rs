//! Plots about watches: one-shot, persistent and recursive ones, their removal, and setting them again.

use council_wire::OpCode;

use super::super::op::{Op, ZxidRef};
use super::super::script::{Action, Profile, SessionRef};
use super::{Plot, free, pool};

const READS: [OpCode; 4] = [OpCode::Exists, OpCode::GetData, OpCode::GetChildren, OpCode::GetChildren2];

pub(super) fn watches(plot: &mut Plot) {
    let (watcher, writer) = (plot.client(), plot.client());
    let top = pool::fresh(&mut plot.dice, "seen");
    if plot.dice.once_in(2) {
        plot.send(writer, pool::create(&top, 0));
    }
    for _ in 0..=plot.dice.below(4) {
        let opcode = plot.dice.pick(&READS);
        plot.send(watcher, pool::read(opcode, &top, true));
    }
    change(plot, writer, &top);
    change(plot, writer, &top);
}

pub(super) fn persistent(plot: &mut Plot) {
    let (watcher, writer) = (plot.client(), plot.client());
    let top = pool::fresh(&mut plot.dice, "seen");
    for _ in 0..=plot.dice.below(3) {
        let mode = plot.dice.pick(&[0, 1, 0, 1, 0, 1, 2, -1]);
        let on = plot.dice.pick(&["", "/child", ""]);
        plot.send(watcher, pool::kind(OpCode::AddWatch, &format!("{top}{on}"), mode));
        if plot.dice.once_in(3) {
            let opcode = plot.dice.pick(&READS);
            plot.send(watcher, pool::read(opcode, &top, true));
        }
    }
    change(plot, writer, &top);
    if plot.dice.once_in(3) {
        let kind = plot.dice.pick(&[3, 4, 5]);
        plot.send(watcher, pool::kind(OpCode::RemoveWatches, &top, kind));
    }
    change(plot, writer, &top);
    if plot.dice.once_in(3) {
        hide(plot, writer, &top);
    }
}

pub(super) fn check_and_remove(plot: &mut Plot) {
    let watcher = plot.client();
    let top = pool::own_path(&mut plot.dice);
    for _ in 0..=plot.dice.below(3) {
        let op = match plot.dice.below(3) {
            0 => pool::kind(OpCode::AddWatch, &top, plot.dice.pick(&[0, 1])),
            _ => pool::read(plot.dice.pick(&READS), &top, true),
        };
        plot.send(watcher, op);
    }
    for _ in 0..3 + plot.dice.below(4) {
        let opcode = plot.dice.pick(&[OpCode::CheckWatches, OpCode::CheckWatches, OpCode::RemoveWatches]);
        let path = if plot.dice.once_in(8) { String::new() } else { top.clone() };
        let kind = plot.dice.pick(&[1, 2, 3, 4, 5, 0, 6, -1]);
        plot.send(watcher, pool::kind(opcode, &path, kind));
    }
    let writer = plot.client();
    plot.send(writer, pool::set(&top, b"after removal"));
}

/// A client loses its connection, things change, it comes back and sets its watches again.
pub(super) fn reconnect(plot: &mut Plot) {
    let watcher = plot.client();
    let top = pool::fresh(&mut plot.dice, "kept");
    let other = pool::fresh(&mut plot.dice, "else");
    plot.each(watcher, [pool::create(&top, 0), pool::create(&other, 1)]);
    for _ in 0..=plot.dice.below(3) {
        let opcode = plot.dice.pick(&READS);
        plot.send(watcher, pool::read(opcode, &top, true));
    }
    plot.act(watcher, Action::Drop);
    if plot.clients > 1 {
        let writer = (watcher + 1) % plot.clients;
        change(plot, writer, &top);
        if plot.dice.once_in(2) {
            plot.send(writer, pool::set(&other, b"x"));
        }
    }
    plot.connect(watcher, SessionRef::Mine);
    let newest =
        plot.dice.pick(&[ZxidRef::Ago(0), ZxidRef::Ago(1), ZxidRef::Ago(3), ZxidRef::Ago(10), ZxidRef::Zero]);
    let five = plot.dice.once_in(2);
    let opcode = if five { OpCode::SetWatches2 } else { OpCode::SetWatches };
    let mut lists = Vec::new();
    for index in 0..if five { 5 } else { 3 } {
        let mut list: Vec<String> = Vec::new();
        for path in [&top, &other, &"/a".to_owned(), &"/missing/child".to_owned()] {
            if plot.dice.once_in(3) {
                list.push(path.clone());
            }
        }
        // Under the plain profile it is switched off, and Diwan does what ZooKeeper does.
        if plot.profile == Profile::Full && matches!(index, 1 | 3 | 4) && !list.is_empty() {
            plot.on_purpose("catch-up");
        }
        lists.push(list);
    }
    plot.send(watcher, Op::SetWatches { opcode, relative: newest, lists });
    let writer = plot.client();
    change(plot, writer, &top);
    plot.each(writer, [pool::delete(&format!("{top}/child")), pool::delete(&top), pool::delete(&other)]);
    // Which watches are left depends on the events so far: none of them may reach later plots.
    plot.act(watcher, Action::Drop);
    plot.connect(watcher, SessionRef::Mine);
}

/// Changes of which a watcher of `top` could get events.
fn change(plot: &mut Plot, writer: usize, top: &str) {
    let child = format!("{top}/child");
    let grandchild = format!("{child}/grand");
    match plot.dice.below(10) {
        0 => plot.each(writer, [pool::create(top, 0), pool::create(&child, 0), pool::create(&grandchild, 0)]),
        1 => plot.each(writer, [pool::delete(&grandchild), pool::delete(&child), pool::delete(top)]),
        2 => plot.each(writer, [pool::create(top, 0), pool::set(top, b"new"), pool::set(top, b"newer")]),
        3 => plot.batch(writer, vec![pool::create(&child, 1), pool::set(&child, b"1"), pool::delete(&child)]),
        4 => {
            let ops = vec![
                pool::create(&child, 0),
                pool::set(top, b"multi"),
                pool::delete(&child),
                pool::create(&child, 0),
            ];
            plot.send(writer, Op::Multi { opcode: OpCode::Multi, ops });
        }
        5 => {
            let ops = vec![pool::set(top, b"fails"), pool::delete("/nowhere")];
            plot.send(writer, Op::Multi { opcode: OpCode::Multi, ops });
        }
        6 => plot.send(writer, Op::SetAcl { path: top.into(), acl: pool::open(), version: -1 }),
        7 => plot.each(writer, [pool::create(top, 1), pool::create(&child, 2)]),
        8 => {
            let op = free::any(&mut plot.dice, plot.profile);
            plot.send(writer, op);
        }
        _ => plot.send(writer, pool::set(top, b"again")),
    }
}

/// No client may read the node any more: its watchers get no event, not even its deletion.
fn hide(plot: &mut Plot, writer: usize, top: &str) {
    let write_only = Some(vec![pool::acl(2 | 4 | 8 | 16, "world", "anyone")]);
    plot.send(writer, pool::create(top, 0));
    plot.send(writer, Op::SetAcl { path: top.into(), acl: write_only, version: -1 });
    plot.each(writer, [pool::set(top, b"unseen"), pool::create(&format!("{top}/child"), 0)]);
    plot.each(writer, [pool::delete(&format!("{top}/child")), pool::delete(top), pool::create(top, 0)]);
}
