//! Plots about permissions: guarded nodes, every form of access list, authentication that succeeds and fails.

use council_wire::OpCode;

use super::super::op::Op;
use super::super::script::SessionRef;
use super::{Plot, pool};

/// One client guards a node; another (or the same, without the right identity) tries everything on it.
pub(super) fn guarded_node(plot: &mut Plot) {
    let (guard, thief) = (plot.client(), plot.client());
    let top = plot.dice.pick(&["/guarded", "/a/guarded"]);
    plot.send(guard, pool::login(pool::ALICE_LOGIN));
    plot.send(guard, pool::create(top, 0));
    plot.send(guard, pool::create(&format!("{top}/old"), 0));
    let perms = plot.dice.pick(&[0, 1, 2, 4, 8, 16, 1 | 2, 1 | 16, 2 | 8]);
    let mut list = vec![pool::acl(perms, "world", "anyone")];
    list.push(match plot.dice.below(4) {
        0 => pool::acl(31, "digest", pool::BOB),
        1 => pool::acl(perms, "ip", "127.0.0.1"),
        _ => pool::acl(31, "digest", pool::ALICE),
    });
    plot.send(guard, Op::SetAcl { path: top.into(), acl: Some(list), version: -1 });
    for _ in 0..5 + plot.dice.below(5) {
        let op = attempt(plot, top);
        plot.send(thief, op);
    }
    plot.send(thief, pool::login(pool::BOB_LOGIN));
    let op = attempt(plot, top);
    plot.send(thief, op);
    // A client with the right identity opens the node again; if there is none, the node stays guarded until the script
    // ends.
    for client in [guard, thief] {
        plot.send(client, Op::SetAcl { path: top.into(), acl: pool::open(), version: -1 });
    }
    plot.each(guard, ["/old", "/new", ""].map(|child| pool::delete(&format!("{top}{child}"))));
}

fn attempt(plot: &mut Plot, top: &str) -> Op {
    let (old, new) = (format!("{top}/old"), format!("{top}/new"));
    let watch = plot.dice.once_in(3);
    match plot.dice.below(15) {
        0 => pool::read(OpCode::GetData, top, watch),
        1 => pool::read(OpCode::Exists, top, watch),
        2 => pool::read(OpCode::GetChildren, top, watch),
        3 => pool::read(OpCode::GetChildren2, top, watch),
        4 | 5 => pool::of(OpCode::GetAcl, top),
        6 => Op::SetAcl {
            path: top.into(),
            acl: pool::some_acl(&mut plot.dice),
            version: plot.dice.pick(&[-1, -1, 0, 5]),
        },
        7 => pool::set(top, b"stolen"),
        8 => Op::Create {
            opcode: plot.dice.pick(&CREATES),
            path: new,
            data: None,
            acl: pool::open(),
            flags: 0,
        },
        9 => Op::CreateTtl { path: new, data: None, acl: pool::open(), flags: 5, ttl: 600_000 },
        10 => pool::delete(&old),
        11 => pool::of(OpCode::GetAllChildrenNumber, top),
        12 => {
            let check = Op::Versioned { opcode: OpCode::Check, path: top.into(), version: -1 };
            Op::Multi { opcode: OpCode::Multi, ops: vec![check, pool::set(top, b"stolen")] }
        }
        13 => {
            let ops =
                vec![pool::read(OpCode::GetData, top, false), pool::read(OpCode::GetChildren, top, false)];
            Op::Multi { opcode: OpCode::MultiRead, ops }
        }
        _ => pool::set(&old, b"a child has its own list"),
    }
}

const CREATES: [OpCode; 3] = [OpCode::Create, OpCode::Create2, OpCode::CreateContainer];

pub(super) fn forms(plot: &mut Plot) {
    let client = plot.client();
    let top = pool::fresh(&mut plot.dice, "listed");
    for _ in 0..3 {
        let acl = pool::any_acl(&mut plot.dice);
        let op = match plot.dice.below(4) {
            0 => {
                Op::Create { opcode: plot.dice.pick(&CREATES), path: top.clone(), data: None, acl, flags: 0 }
            }
            1 => Op::CreateTtl { path: top.clone(), data: None, acl, flags: 5, ttl: 600_000 },
            2 => {
                let create =
                    Op::Create { opcode: OpCode::Create, path: top.clone(), data: None, acl, flags: 0 };
                Op::Multi { opcode: OpCode::Multi, ops: vec![create] }
            }
            _ => Op::SetAcl { path: top.clone(), acl, version: pool::version(&mut plot.dice) },
        };
        plot.each(client, [op, pool::of(OpCode::GetAcl, &top)]);
    }
    plot.send(client, pool::delete(&top));
}

pub(super) fn authenticate(plot: &mut Plot) {
    let client = plot.client();
    for _ in 0..=plot.dice.below(3) {
        let login = plot.dice.pick(&[
            pool::ALICE_LOGIN,
            pool::BOB_LOGIN,
            "nocolon",
            "",
            "super:wrong",
            "a:b:c",
            ":",
            "é:ü",
        ]);
        let op = match plot.dice.below(4) {
            0 => Op::Auth { scheme: "ip", auth: b"anything".to_vec() },
            _ => pool::login(login),
        };
        plot.each(client, [op, Op::Empty { opcode: OpCode::WhoAmI }]);
    }
    let mine = pool::fresh(&mut plot.dice, "mine");
    let acl = Some(vec![pool::acl(31, "auth", "")]);
    plot.send(client, Op::Create { opcode: OpCode::Create, path: mine.clone(), data: None, acl, flags: 0 });
    plot.each(client, [pool::of(OpCode::GetAcl, &mine), pool::read(OpCode::GetData, &mine, false)]);
    if plot.dice.once_in(3) {
        plot.send(client, pool::login(super::super::keeper::SUPER));
        plot.each(client, [Op::Empty { opcode: OpCode::WhoAmI }, pool::of(OpCode::GetAcl, &mine)]);
    }
    plot.send(client, pool::delete(&mine));
}

pub(super) fn fail(plot: &mut Plot) {
    let client = plot.client();
    let scheme = plot.dice.pick(&["nonsense", "world", "", "x509", "sasl", "auth"]);
    plot.send(client, Op::Auth { scheme, auth: b"alice:secret".to_vec() });
    plot.connect(client, SessionRef::Mine);
    plot.send(client, Op::Empty { opcode: OpCode::WhoAmI });
}
