//! Snapshots, digests and hostile bytes: random commands on two states, one of which goes through snapshots.

mod support;

use base::{Random, WallTime};
use objects_state::{Command, Loader, MethodKind, SnapshotProgress, State, TYPES, methods};
use support::{Anyone, K, S, Who, World, load, snapshot};

const KEYS: [&str; 6] = ["k0", "k1", "k2", "k3", "k4", "k5"];

/// A value for an argument of that name, now and then a wrong one.
fn argument(random: &mut Random, name: &str, position: u64) -> String {
    let small = random.below(4);
    match name {
        _ if random.chance(3) => String::from("\"odd\""),
        "key" | "owner" | "condition" | "from" | "to" => format!("\"{}\"", KEYS[small as usize]),
        "name" => format!("\"n{small}\""),
        "keys" => String::from("[\"k0\",\"k2\"]"),
        "items" => format!("[{small},\"x\"]"),
        "ids" => format!("[{}]", position.saturating_sub(random.below(12))),
        "id" | "fence" | "version" | "if_version" | "before" => {
            format!("{}", position.saturating_sub(random.below(12)))
        }
        "entries" => format!("{{\"k{small}\":1,\"k5\":[{small}]}}"),
        "if_absent" => format!("{}", random.chance(50)),
        "record" => format!("{{\"type\":\"TXT\",\"text\":\"t{small}\"}}"),
        "lease_ms" | "delay_ms" | "ttl_ms" => format!("{}", 20 + 30 * small),
        _ => format!("{small}"),
    }
}

fn arguments(random: &mut Random, names: &[&str], position: u64) -> String {
    let mut fields = Vec::new();
    for name in names {
        if random.chance(75) {
            fields.push(format!("\"{name}\":{}", argument(random, name, position)));
        }
    }
    if random.chance(50) {
        fields.push(format!("\"wait_ms\":{}", random.below(3) * 40));
    }
    format!("{{{}}}", fields.join(","))
}

fn caller(random: &mut Random) -> Who {
    match random.below(10) {
        0 => Anyone,
        1 => K(KEYS[random.below(6) as usize]),
        _ => S(1 + random.below(5) as u8),
    }
}

/// A command like those that clients send: mostly calls of a few objects.
fn command(random: &mut Random, world: &mut World) -> Command {
    let (kind, name) = TYPES[random.below(TYPES.len() as u64) as usize];
    let path = format!("{name}/{}", random.below(2));
    let changing: Vec<_> = methods(kind).iter().filter(|method| method.kind != MethodKind::Query).collect();
    let method = changing[random.below(changing.len() as u64) as usize];
    let session = support::session(1 + random.below(5) as u8);
    let who = caller(random);
    match random.below(40) {
        0 => Command::ExpireSession { session, generation: 1 },
        1 => Command::CloseSession { caller: world.caller(Anyone), session },
        2..=3 => Command::OpenSession {
            caller: world.caller(Anyone),
            session: objects_state::NewSession {
                id: session,
                secret_hash: [session.0[0]; 32],
                generation: 1,
                ttl_ms: 10_000,
                name: None,
            },
        },
        4 => Command::Delete { caller: world.caller(who), object: support::object(&path), incarnation: None },
        5 => {
            let ticket = world.position().saturating_sub(random.below(20));
            Command::CancelTicket { caller: Some(world.caller(who)), ticket }
        }
        6..=9 => Command::Tick,
        _ => {
            let args = arguments(random, method.args, world.position());
            Command::Call(world.new_call(who, &path, method.name, &args))
        }
    }
}

/// What a snapshot of the running state takes, while commands go on.
struct Running {
    bytes: Vec<u8>,
    digest: u64,
}

#[test]
fn states_stay_equal_and_one_goes_through_snapshots() {
    let mut loads = 0;
    for seed in 0..12 {
        let mut random = Random::new(seed);
        let mut world = World::with_sessions(5);
        let mut other = load(&snapshot(&mut world.state, 100).0, 64).expect("our own snapshot loads");
        let mut running: Option<Running> = None;
        for _ in 0..400 {
            world.now += random.below(25) as i64;
            let command = command(&mut random, &mut world);
            let mut effects = Vec::new();
            other.apply(WallTime::of_ms(world.now), &command, &mut effects);
            assert_eq!(world.apply(&command), effects, "seed {seed}: {command:?}");
            assert_eq!(world.state.digest(), other.digest(), "seed {seed}: {command:?}");
            if random.chance(5) {
                let (bytes, digest) = snapshot(&mut other, 1 + random.below(5_000) as usize);
                assert_eq!(digest, world.state.digest());
                other = load(&bytes, 1 + random.below(700) as usize).expect("our own snapshot loads");
                loads += 1;
            }
            running = Some(match running {
                None => {
                    world.state.snapshot_begin();
                    Running { bytes: Vec::new(), digest: world.state.digest() }
                }
                Some(running) => advance(&mut world.state, running, &mut random),
            });
            if running.as_ref().is_some_and(|running| running.digest == u64::MAX) {
                running = None;
            }
        }
    }
    assert!(loads > 100, "{loads}");
}

/// The next chunk of a snapshot that began some commands ago; when it is whole it must be the state of its beginning.
fn advance(state: &mut State, mut running: Running, random: &mut Random) -> Running {
    let progress = state.snapshot_chunk(&mut running.bytes, 1 + random.below(2_000) as usize);
    if let SnapshotProgress::Done { digest } = progress {
        assert_eq!(digest, running.digest);
        let loaded = load(&running.bytes, 999).expect("a snapshot that was taken while commands went on");
        assert_eq!(loaded.digest(), digest);
        running.digest = u64::MAX;
    }
    running
}

/// A state with something of everything.
fn full() -> World {
    let mut random = Random::new(77);
    let mut world = World::with_sessions(5);
    for _ in 0..300 {
        world.now += 3;
        let command = command(&mut random, &mut world);
        world.apply(&command);
    }
    // Sessions and waiters that the commands may all have ended.
    (6..=9).for_each(|number| world.open(number, 1));
    for number in 6..=9 {
        world.call(S(number), "lock/own", "acquire", "");
        world.call(S(number), "queue/own", "put", "{\"item\":1,\"delay_ms\":9000}");
    }
    world.call(K("waits"), "counter/own", "await", "{\"at_least\":9}");
    assert!(world.state.counts().iter().all(|count| *count > 0), "{:?}", world.state.counts());
    world
}

#[test]
fn snapshot_keeps_little_aside() {
    let mut world = full();
    world.state.snapshot_begin();
    assert_eq!(world.state.snapshot_side_bytes(), 0);
    world.call(Anyone, "value/new", "set", "{\"value\":1}");
    let kept = world.state.snapshot_side_bytes();
    assert!(kept > 0 && kept < 2_000, "{kept}");
    let mut out = Vec::new();
    while world.state.snapshot_chunk(&mut out, 100) == SnapshotProgress::More {}
    assert_eq!(world.state.snapshot_side_bytes(), 0);
}

#[test]
fn snapshot_cut_anywhere_is_refused() {
    let mut world = full();
    let (whole, _) = snapshot(&mut world.state, 1_000);
    assert!(load(&whole, 64).is_ok());
    for cut in (0..whole.len()).step_by(13).chain(whole.len() - 12..whole.len()) {
        assert!(load(&whole[..cut], 4_096).is_err(), "cut at {cut}");
    }
    assert!(load(&[&whole[..], &[1]].concat(), 4_096).is_err());
}

#[test]
fn flipped_snapshot_is_refused() {
    let mut world = full();
    let (whole, _) = snapshot(&mut world.state, 1_000);
    let mut random = Random::new(5);
    for _ in 0..1_500 {
        let mut flipped = whole.clone();
        let at = random.below(flipped.len() as u64) as usize;
        flipped[at] ^= 1 << random.below(8);
        assert!(load(&flipped, 4_096).is_err(), "flipped at {at}");
    }
    for _ in 0..1_000 {
        let bytes: Vec<u8> = (0..random.below(200)).map(|_| random.number() as u8).collect();
        assert!(load(&bytes, 50).is_err());
    }
    assert!(Loader::new().finish().is_err());
}

#[test]
fn flipped_commands_never_harm_the_state() {
    let mut world = full();
    let mut random = Random::new(6);
    let (mut applied, mut refused) = (0, 0);
    for _ in 0..3_000 {
        let mut bytes = Vec::new();
        command(&mut random, &mut world).encode(&mut bytes);
        for _ in 0..random.below(3) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << random.below(8);
        }
        bytes.truncate(bytes.len() - (random.below(2) * random.below(bytes.len() as u64)) as usize);
        let before = world.state.digest();
        match world.state.apply_encoded(WallTime::of_ms(world.now), &bytes, &mut Vec::new()) {
            Ok(_) => applied += 1,
            Err(_) => {
                assert_eq!(world.state.digest(), before);
                refused += 1;
            }
        }
    }
    assert!(applied > 500 && refused > 500, "{applied} applied, {refused} refused");
    assert_eq!(world.state.check(), Ok(()));
}

#[test]
fn nothing_is_grantable_at_rest() {
    // Another command that changes nothing must not grant anything: what was due was granted at once.
    let mut random = Random::new(8);
    let mut world = World::with_sessions(5);
    for _ in 0..1_500 {
        world.now += random.below(10) as i64;
        let next = command(&mut random, &mut world);
        world.apply(&next);
        for (_, name) in TYPES {
            for number in 0..2 {
                let path = format!("{name}/{number}");
                if world.state.describe(&support::object(&path)).is_none_or(|object| object.waiting == 0) {
                    continue;
                }
                let probe = Command::Create {
                    caller: world.caller(Anyone),
                    object: support::object(&path),
                    args: Vec::new(),
                };
                world.apply(&probe);
                assert_eq!(world.ended(), [0; 0], "{path} after {next:?}");
            }
        }
    }
}
