//! O28: each object is accepted by one of two groups that have all slots between them, whatever is asked of it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod support;

use std::sync::Arc;

use base::Random;
use objects_state::guest::VersionHash;
use objects_state::{
    Act, Batch, Call, Command, Content, Effect, Identity, Invocation, NewSession, ObjectName, Outcome,
    Problem, Retry, SideEffect, SlotTable, Slug, State, TYPES, TypeId, slot, type_name,
};
use support::engine::FakeEngine;
use support::users::Types;
use support::{Anyone, K, S, Who, World, load, object, session, snapshot};

fn world_of(slots: SlotTable) -> World {
    let mut world = World::new();
    world.state = State::with_slots(slots);
    world
}

/// Some slots of the first group, and all others of the second.
fn halves(random: &mut Random) -> [SlotTable; 2] {
    let some: Vec<u8> = (0..=255).filter(|_| random.chance(50)).collect();
    let others = (0..=255).filter(|slot| !some.contains(slot));
    [SlotTable::new(1, some.clone()), SlotTable::new(2, others)]
}

/// The tables of a group that has an object's slot alone, and of one that has all others.
fn apart(path: &str) -> [SlotTable; 2] {
    let (kind, name) = path.split_once('/').unwrap();
    let own = slot(kind, name);
    [SlotTable::new(1, [own]), SlotTable::new(2, (0..=255).filter(|slot| *slot != own))]
}

fn invocation() -> Invocation {
    Invocation { method: "holder".into(), args: Vec::new() }
}

/// Everything that a command may do to an object.
fn commands(world: &mut World, who: Who, object: &ObjectName) -> Vec<Command> {
    let mut caller = || world.caller(who);
    let (incarnation, calls) = (None, vec![invocation()]);
    let new = NewSession { id: session(77), secret_hash: [7; 32], generation: 1, ttl_ms: 10_000, name: None };
    let mut call = Call {
        caller: caller(),
        object: object.clone(),
        incarnation,
        create: true,
        wait_ms: None,
        opens: None,
        invocation: invocation(),
    };
    let mut commands = vec![Command::Call(call.clone())];
    if who != S(1) {
        (call.caller, call.opens) = (caller(), Some(new));
        commands.push(Command::Call(call));
    }
    let content = || Content::Calls { arguments: b"{}".to_vec(), calls: Vec::new() };
    let named = || object.clone();
    commands.extend([
        Command::Batch(Batch {
            caller: caller(),
            object: named(),
            incarnation,
            create: true,
            invocations: calls,
        }),
        Command::Create { caller: caller(), object: named(), args: b"{}".to_vec() },
        Command::Import { caller: caller(), object: named(), content: content() },
        Command::Migrate { caller: caller(), object: named(), incarnation, to: VersionHash([1; 32]) },
        Command::Quarantine { caller: caller(), object: named(), incarnation, reason: None },
        Command::Rollback { caller: caller(), object: named(), incarnation, lose_commands: true },
        Command::Delete { caller: caller(), object: named(), incarnation },
    ]);
    commands
}

/// The refusal of the newest request, if it was refused.
fn refusal(world: &mut World, command: &Command) -> Option<Problem> {
    let origin = command.caller().unwrap().origin;
    let effects = world.apply(command);
    effects.into_iter().find_map(|effect| match effect {
        Effect::Answered { origin: of, outcome: Outcome::Refused(problem) } if of == origin => Some(problem),
        _ => None,
    })
}

fn is_elsewhere(problem: Option<&Problem>) -> bool {
    problem.is_some_and(|problem| problem.slug == Slug::WrongGroup)
}

fn asked(state: &State, object: &ObjectName) -> [bool; 4] {
    let (name, principal) = (object, "ann".into());
    [
        is_elsewhere(state.query(name, None, true, "get", b"").err().as_ref()),
        is_elsewhere(state.begin_query(name, None, true, "get", b"").err().as_ref()),
        is_elsewhere(state.export(name, None).err().as_ref()),
        is_elsewhere(state.judge(&principal, &Act::See(name)).err().as_ref()),
    ]
}

/// A group, and one to which nothing is given of what this one refuses.
struct Pair {
    group: World,
    idle: World,
}

impl Pair {
    fn of(slots: SlotTable) -> Self {
        let mut pair = Self { group: world_of(slots), idle: world_of(slots) };
        for world in [&mut pair.group, &mut pair.idle] {
            world.open(1, 1);
        }
        pair
    }

    fn accepts(&self, object: &ObjectName) -> bool {
        let kind = type_name(object.kind).unwrap();
        self.group.state.slots().accepts(kind, &object.name)
    }

    /// Gives a command about an object. What is refused because its slot is elsewhere leaves nothing behind but its position.
    fn give(&mut self, command: &Command, accepts: bool) {
        let judged = self.group.state.judge_command(command).err();
        let problem = refusal(&mut self.group, command);
        assert_eq!(is_elsewhere(problem.as_ref()), !accepts, "{command:?}: {problem:?}");
        // Of a batch the calls are judged, each by itself: nothing is said of it before.
        let is_batch = matches!(command, Command::Batch(_));
        assert!(is_batch || is_elsewhere(judged.as_ref()) != accepts, "{command:?}");
        if accepts {
            self.idle.apply(command);
            return;
        }
        self.idle.apply(&Command::CancelTicket { caller: None, ticket: 0 });
        assert_eq!(self.group.state.digest(), self.idle.state.digest(), "{command:?}");
        let problem = problem.unwrap();
        let expected = match command.caller().unwrap().identity {
            Identity::Anonymous => (SideEffect::None, Retry::Now),
            // A copy may be on its way to the log.
            _ => (SideEffect::Unknown, Retry::SameKey),
        };
        assert_eq!((problem.effect, problem.retry()), expected);
    }
}

#[test]
fn each_object_is_accepted_by_exactly_one_of_two_groups() {
    for seed in 0..20 {
        let random = &mut Random::new(seed);
        let mut pairs = halves(random).map(Pair::of);
        for round in 0..12 {
            let (kind, _) = TYPES[random.below(TYPES.len() as u64) as usize];
            let object = ObjectName { kind, name: format!("object {}", random.below(1_000)) };
            let accept = pairs.each_ref().map(|pair| pair.accepts(&object));
            assert!(accept[0] != accept[1], "{object:?} is one group's");
            let who = [Anyone, S(1), K("key")][random.below(3) as usize];
            let mut given = commands(&mut pairs[0].group, who, &object);
            for (number, command) in given.iter_mut().enumerate() {
                // A key stands for one request.
                if let Some(Identity::Key(key)) = identity_of(command) {
                    *key = format!("{round} {number}");
                }
            }
            for (pair, accepts) in pairs.iter_mut().zip(accept) {
                given.iter().for_each(|command| pair.give(command, accepts));
                assert_eq!(asked(&pair.group.state, &object), [!accepts; 4]);
            }
        }
    }
}

fn identity_of(command: &mut Command) -> Option<&mut Identity> {
    match command {
        Command::Call(Call { caller, .. })
        | Command::Batch(Batch { caller, .. })
        | Command::Create { caller, .. }
        | Command::Delete { caller, .. }
        | Command::Migrate { caller, .. }
        | Command::Quarantine { caller, .. }
        | Command::Rollback { caller, .. }
        | Command::Import { caller, .. } => Some(&mut caller.identity),
        _ => None,
    }
}

#[test]
fn request_that_was_refused_here_is_carried_out_elsewhere_under_the_same_key() {
    let [own, others] = apart("counter/c").map(world_of);
    let (mut own, mut others) = (own, others);
    let call = others.new_call(K("once"), "counter/c", "increment", "");
    for _ in 0..2 {
        let problem = refusal(&mut others, &Command::Call(call.clone())).unwrap();
        assert_eq!((problem.slug, problem.slug.status()), (Slug::WrongGroup, 421));
        assert!(problem.detail.contains("group 2"), "{}", problem.detail);
    }
    own.origins = others.origins;
    for _ in 0..2 {
        assert_eq!(own.answer(&Command::Call(call.clone())), "{\"value\":1}", "the second is a copy");
    }
    assert_eq!(others.state.counts(), [0; 4], "no key is remembered");
}

#[test]
fn type_that_there_is_not_is_refused_as_such() {
    let world = world_of(SlotTable::new(1, []));
    let object = ObjectName { kind: TypeId(200), name: "a".into() };
    let problem = world.state.query(&object, None, true, "get", b"").unwrap_err();
    assert_eq!((problem.slug, world.state.slot_of(&object)), (Slug::NoSuchType, None));
}

/// A world with objects of a user's type, in a group of those slots.
fn types_of(slots: SlotTable) -> Types {
    let (mut world, engine) = (world_of(slots), Arc::new(FakeEngine::new(true)));
    world.state.set_engine(Arc::clone(&engine) as _);
    let mut types = Types { world, engine };
    types.world.apply(&Command::FeatureLevel(8));
    types.put("hits", "module one");
    assert!(types.create("a", "").starts_with("{\"created\":true"));
    types
}

#[test]
fn message_to_an_object_of_another_group_is_not_sent_and_its_sender_is_told() {
    let foreign = slot("hits", "b");
    assert_ne!((slot("hits", "a"), slot("counter", "c")), (foreign, foreign));
    let mut types = types_of(SlotTable::new(1, (0..=255).filter(|slot| *slot != foreign)));
    let call = Call { object: types.object("a"), ..types.new_call(K("k"), "send", "{\"by\":4}") };
    let problem = refusal(&mut types.world, &Command::Call(call)).unwrap();
    assert_eq!((problem.slug, problem.effect), (Slug::WrongGroup, SideEffect::Unknown));
    // Nothing of the run has happened, and no message waits that would be lost.
    assert_eq!((types.value().as_str(), types.world.state.next_deadline()), ("{\"value\":0}", None));
    assert_eq!(types.user().failures, 0);
    // What goes to objects that are here is sent.
    types.call(Anyone, "send_counter", "");
    types.world.pass(0);
    assert_eq!(types.world.query("counter/c", "get", ""), "{\"value\":3}");
}

#[test]
fn runs_of_another_groups_objects_are_refused() {
    let foreign = slot("hits", "b");
    let mut types = types_of(SlotTable::new(1, (0..=255).filter(|slot| *slot != foreign)));
    assert_eq!(types.create("b", ""), "refused wrong-group");
    assert_eq!(types.delete("b"), "refused wrong-group");
    let b = types.object("b");
    let tried = types.world.state.try_migration(&b, None, VersionHash([2; 32])).unwrap_err();
    assert_eq!(tried.slug, Slug::WrongGroup);
    let listed: Vec<_> = types.world.state.list(b.kind, "", None).collect();
    assert_eq!(listed.len(), 1, "a list has the group's objects");
}

#[test]
fn record_comes_with_the_level_and_goes_through_snapshots() {
    let mut world = World::new();
    world.call(Anyone, "counter/c", "increment", "");
    for (level, records) in [(7, 0), (8, 1), (8, 0), (9, 0)] {
        let before = (world.state.records(), world.state.digest());
        world.apply(&Command::FeatureLevel(level));
        assert_eq!(world.state.records() - before.0, records, "level {level}");
        assert_ne!(world.state.digest(), before.1);
        let (bytes, digest) = snapshot(&mut world.state, 50);
        let loaded = load(&bytes, 7).unwrap();
        assert_eq!((loaded.digest(), *loaded.slots()), (digest, SlotTable::ALL), "level {level}");
        world.state = loaded;
    }
    assert_eq!(world.call(Anyone, "counter/c", "increment", ""), "{\"value\":2}");
}

#[test]
fn snapshot_of_a_part_is_a_part() {
    let [own, _] = apart("counter/c");
    let mut world = world_of(own);
    let before = world.state.digest();
    assert_ne!(before, State::new().digest(), "the slots are in the digest");
    assert_eq!(world.call(Anyone, "counter/c", "increment", ""), "{\"value\":1}");
    world.apply(&Command::FeatureLevel(8));
    let (bytes, digest) = snapshot(&mut world.state, 64);
    let loaded = load(&bytes, 11).unwrap();
    assert_eq!((loaded.digest(), *loaded.slots(), loaded.slots().group()), (digest, own, 1));
    world.state = loaded;
    assert_eq!(world.call(Anyone, "counter/c", "increment", ""), "{\"value\":2}");
    assert_eq!(world.call(Anyone, "counter/d", "increment", ""), "refused wrong-group");
    assert_eq!(world.state.slot_of(&object("counter/c")), Some(slot("counter", "c")));
}
