//! Bytes that are cut, flipped or made up: refused or harmless, never a panic, never half a tree.

mod support;

use base::WallTime;
use council_tree::{Changes, Command, Identities, Operation, Origin, Policy, Stamp};
use council_wire::{Acl, OpCode, SessionId};
use support::{Dice, World, Write, dump, load, take_snapshot};

fn create(path: &str, data: &[u8], flags: i32, acl: Vec<Acl>) -> Write {
    let data = Some(data.to_vec());
    Write::Create { opcode: OpCode::Create, path: path.into(), data, acl, flags, ttl_ms: 0 }
}

/// A tree with something of everything, and with vacant slots.
fn world() -> World {
    let mut world = World::new();
    world.policy = Policy::standard() | Policy::EXTENDED_TYPES;
    world.open(1, 4_000);
    world.open(2, 9_000);
    let bob = vec![Acl { permissions: 31, scheme: "digest".into(), id: "bob:x".into() }, Acl::open()];
    for n in 0..40 {
        let acl = if n % 3 == 0 { bob.clone() } else { vec![Acl::open()] };
        world.write(1, &create(&format!("/node-{n}"), &vec![n; usize::from(n)], 0, acl));
        world.write(2, &create(&format!("/node-{n}/e"), b"x", i32::from(n % 2), vec![Acl::open()]));
    }
    for n in (0..40).step_by(5) {
        world.write(1, &Write::Delete { path: format!("/node-{n}/e"), version: -1 });
        world.write(1, &create(&format!("/late-{n}"), &[7; 5000], 0, vec![Acl::open()]));
    }
    for (opcode, path, flags) in [(OpCode::CreateContainer, "/c", 4), (OpCode::CreateTtl, "/t", 5)] {
        let acl = vec![Acl::open()];
        world.write(1, &Write::Create { opcode, path: path.into(), data: None, acl, flags, ttl_ms: 77 });
    }
    world.write(1, &create("/zookeeper/quota/c", b"", 0, vec![Acl::open()]));
    world.write(1, &create("/zookeeper/quota/c/zookeeper_limits", b"count=1", 0, vec![Acl::open()]));
    world
}

fn snapshot(world: &mut World) -> Vec<u8> {
    world.tree.snapshot_begin();
    take_snapshot(&mut world.tree, 1000)
}

#[test]
fn a_snapshot_cut_anywhere_is_refused() {
    let mut world = world();
    let whole = snapshot(&mut world);
    assert!(load(&whole, 64).is_ok());
    for cut in (0..whole.len()).step_by(7).chain(whole.len() - 40..whole.len()) {
        assert!(load(&whole[..cut], 4096).is_err(), "cut at {cut}");
    }
    let longer = [&whole[..], &[5]].concat();
    assert!(load(&longer, 4096).is_err());
}

#[test]
fn a_flipped_snapshot_is_refused_or_means_the_same() {
    let mut world = world();
    let whole = snapshot(&mut world);
    let (digest, content) = (world.tree.digest(), dump(&world.tree));
    let mut dice = Dice::new(1);
    let mut refused = 0;
    for _ in 0..4000 {
        let mut flipped = whole.clone();
        for _ in 0..=dice.below(3) {
            let at = dice.below(flipped.len());
            flipped[at] ^= 1 << dice.below(8);
        }
        // Slots and ACL numbers are names that another snapshot may choose otherwise.
        match load(&flipped, 1 + dice.below(9000)) {
            Ok(tree) => assert!(tree.digest() == digest && dump(&tree) == content),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 3900, "only {refused} were refused");
}

#[test]
fn pieces_of_snapshots_in_any_order_are_refused() {
    let mut world = world();
    let whole = snapshot(&mut world);
    let mut dice = Dice::new(2);
    for _ in 0..2000 {
        let (a, b) = (dice.below(whole.len()), dice.below(whole.len()));
        let glued = [&whole[..a], &whole[b..]].concat();
        if a != b && load(&glued, 4096).is_ok() {
            panic!("{a} and {b} made a tree");
        }
    }
}

#[test]
fn made_up_bytes_are_no_snapshot() {
    let mut dice = Dice::new(3);
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..dice.below(200)).map(|_| dice.next() as u8 >> dice.below(8)).collect();
        assert!(load(&bytes, 50).is_err());
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in order")]
fn flipped_commands_never_harm_the_tree() {
    let mut world = world();
    let mut dice = Dice::new(4);
    let bodies: Vec<(OpCode, Vec<u8>)> = [
        create("/x", b"data", 2, vec![Acl::open()]),
        Write::Delete { path: "/node-5".into(), version: -1 },
        Write::SetData { path: "/node-6".into(), data: None, version: -1 },
        Write::SetAcl { path: "/node-7".into(), acl: vec![Acl::open()], version: -1 },
        Write::Multi(vec![
            create("/y", b"", 3, vec![Acl::open()]),
            Write::Delete { path: "/node-1/e".into(), version: -1 },
            Write::Check { path: "/node-2".into(), version: 0 },
        ]),
    ]
    .iter()
    .map(|write| (write.opcode(), write.body()))
    .collect();
    let (mut applied, mut sequence) = (0, world.clients[&1].sequence);
    for _ in 0..20_000 {
        let (opcode, body) = dice.pick(&bodies);
        let command = Command {
            origin: Some(Origin { session: SessionId(1), generation: 1, sequence: sequence + 1 }),
            policy: Policy::standard(),
            identities: Identities::NONE,
            operation: Operation::Client { opcode: *opcode, body },
        };
        let mut bytes = Vec::new();
        command.encode(&mut bytes);
        for _ in 0..dice.below(3) {
            let at = dice.below(bytes.len());
            bytes[at] ^= 1 << dice.below(8);
        }
        bytes.truncate(bytes.len() - dice.below(2) * dice.below(bytes.len()));
        if let Ok(command) = Command::decode(&bytes) {
            world.tree.apply(Stamp { time: WallTime::of_ms(5) }, &command, &mut Changes::new());
            applied += 1;
        }
        sequence = world.tree.session(SessionId(1)).map_or(0, |session| session.sequence);
    }
    assert!(applied > 5_000, "only {applied} could be decoded");
    let (digest, content) = (world.tree.digest(), dump(&world.tree));
    let loaded = load(&snapshot(&mut world), 4096).expect("our own snapshot loads");
    assert_eq!((loaded.digest(), dump(&loaded)), (digest, content));
}

#[test]
fn a_command_of_a_later_version_is_refused() {
    let mut bytes = Vec::new();
    Command::internal(Operation::RaiseEpoch).encode(&mut bytes);
    assert!(Command::decode(&bytes).is_ok());
    bytes[0] += 1;
    assert!(Command::decode(&bytes).is_err());
    assert!(Command::decode(&[]).is_err());
}
