//! Members that come to different results of a run: which run it was, the object's quarantine, and memory that rots.

mod support;

use base::WallTime;
use objects_state::{Command, Ran, SnapshotProgress, State};
use support::users::Types;
use support::{Anyone, S, World, load, object, snapshot};

const QUARANTINED: &str = "refused quarantined";
const LEVEL: u32 = 8;

fn at_level(level: u32) -> Types {
    let mut types = Types::new();
    types.world.apply(&Command::FeatureLevel(level));
    types.put("hits", "a moody module");
    types.world.open(1, 1);
    types.create("a", "");
    types.finish_all();
    types
}

/// What the leader says of the object `a`.
fn disagreed(types: &mut Types, incarnation: u64, position: u64) {
    let object = types.object("a");
    types.world.apply(&Command::Disagreed { object, incarnation, position });
}

fn incarnation(types: &Types) -> u64 {
    types.world.state.describe(&types.object("a")).expect("it is there").incarnation
}

fn reason(types: &Types) -> Option<String> {
    types.user().quarantined
}

#[test]
fn runs_of_a_command_are_told_also_those_that_fail_and_equal_ones_are_equal_at_two_members() {
    let (mut one, mut other) = (at_level(LEVEL), at_level(LEVEL));
    let mut told = Vec::new();
    for (method, args) in
        [("add", ""), ("add", ""), ("refuse", ""), ("bad", ""), ("wait", ""), ("give", "{\"value\":4}")]
    {
        for types in [&mut one, &mut other] {
            types.call(S(1), method, args);
            let space = incarnation(types);
            let [ran @ Ran { position, space: of, .. }] = types.world.state.ran() else { panic!("one run") };
            assert_eq!((*position, *of), (types.world.position(), space), "{method}");
            told.push(*ran);
        }
        assert_eq!(told[told.len() - 1], told[told.len() - 2], "{method}");
    }
    assert_ne!(told[0].digest, told[2].digest);
    one.world.call(Anyone, "counter/c", "increment", "");
    assert_eq!(one.world.state.ran(), []);
    // From now on runs at one of them come to something else.
    one.engine.become_later(true);
    one.call(S(1), "add", "");
    other.call(S(1), "add", "");
    let of = |types: &Types| types.world.state.ran()[0];
    assert_eq!(of(&one).space, of(&other).space);
    assert_ne!(of(&one).digest, of(&other).digest);
}

#[test]
fn object_of_which_members_disagree_goes_into_quarantine_and_keeps_everything() {
    let mut types = at_level(LEVEL);
    types.call(S(1), "add", "{\"by\":4}");
    let (space, position) = (incarnation(&types), types.world.position());
    assert_eq!(types.world.state.may_disagree(space), Some((types.object("a"), 0)));
    assert_eq!(types.world.state.may_disagree(space + 1), None);
    disagreed(&mut types, space, position);
    let expected = format!("members came to different results of its run at position {position}");
    assert_eq!(reason(&types), Some(expected.clone()));
    assert_eq!([types.call(S(1), "add", ""), types.value()], [QUARANTINED; 2]);
    disagreed(&mut types, space, position + 1);
    assert_eq!(reason(&types), Some(expected), "the first reason counts");
    assert_eq!(types.world.state.may_disagree(space), None);
    let (bytes, digest) = snapshot(&mut types.world.state, 100);
    assert_eq!(load(&bytes, 100).unwrap().digest(), digest);
    types.quarantine(None);
    assert_eq!(types.call(S(1), "add", ""), "{\"value\":5}");
}

#[test]
fn disagreement_that_comes_late_stops_nothing() {
    let mut types = at_level(LEVEL);
    types.call(S(1), "add", "");
    let (space, position) = (incarnation(&types), types.world.position());
    disagreed(&mut types, space + 1, position);
    assert_eq!(reason(&types), None, "another incarnation");
    disagreed(&mut types, space, position);
    types.quarantine(None);
    let released = types.world.position();
    assert_eq!(types.world.state.may_disagree(space), Some((types.object("a"), released)));
    disagreed(&mut types, space, position);
    disagreed(&mut types, space, released);
    assert_eq!(reason(&types), None, "it was released behind that run");
    let (bytes, _) = snapshot(&mut types.world.state, 100);
    assert!(load(&bytes, 100).unwrap().check().is_ok());
    types.call(S(1), "add", "");
    let position = types.world.position();
    disagreed(&mut types, space, position);
    assert!(reason(&types).is_some(), "a run behind its release");
    let name = types.object("a");
    types.delete("a");
    types.world.apply(&Command::Disagreed { object: name.clone(), incarnation: space, position });
    types.create("a", "");
    types.world.apply(&Command::Disagreed { object: name, incarnation: space, position });
    assert_eq!(reason(&types), None, "a new one of that name");
    types.world.apply(&Command::Disagreed { object: object("counter/c"), incarnation: space, position });
    (0..99).for_each(|_| drop(types.world.apply(&Command::Tick)));
    assert!(types.world.state.check().is_ok());
}

#[test]
fn disagreement_calls_off_what_is_under_way() {
    let mut types = Types::sliced("module one", 1);
    types.world.apply(&Command::FeatureLevel(LEVEL));
    types.call(S(1), "add", "{\"fuel\":9000000}");
    assert_eq!(types.under_way(), 1);
    let (space, position) = (incarnation(&types), types.world.position());
    disagreed(&mut types, space, position);
    assert_eq!(types.under_way(), 0);
    types.finish_all();
    types.quarantine(None);
    assert_eq!(types.value(), "{\"value\":0}", "it was refused at its turn");
}

#[test]
fn release_leaves_no_record_while_members_of_earlier_builds_may_be_there() {
    let digest_of = |level| {
        let mut types = at_level(level);
        let before = types.world.state.records();
        types.quarantine(Some("x"));
        types.quarantine(None);
        types.world.state.records() - before
    };
    assert_eq!((digest_of(7), digest_of(8)), (0, 1));
}

#[test]
fn memory_that_has_rotted_becomes_no_snapshot() {
    for chunk in [7, 100, 1 << 20] {
        let mut world = World::with_sessions(2);
        for number in 0..30 {
            world.call(S(1), &format!("counter/{number}"), "increment", "");
        }
        let sound = |state: &mut State| {
            let (bytes, digest) = snapshot(state, chunk);
            load(&bytes, 99).unwrap().digest() == digest
        };
        assert!(sound(&mut world.state));
        world.state.rot(&object("counter/17"));
        let digest = world.state.digest();
        world.state.snapshot_begin();
        // It changes while the snapshot goes on: what was there before is what has rotted.
        let mut bytes = Vec::new();
        assert_eq!(world.state.snapshot_chunk(&mut bytes, 1), SnapshotProgress::More);
        world.state.apply(WallTime::of_ms(world.now), &Command::Tick, &mut Vec::new());
        let progress = loop {
            match world.state.snapshot_chunk(&mut bytes, chunk) {
                SnapshotProgress::More => {}
                progress => break progress,
            }
        };
        assert_eq!(progress, SnapshotProgress::Rotten, "digest {digest:x}");
        assert!(load(&bytes, 99).is_err());
        world.state.rot(&object("counter/17"));
        assert!(sound(&mut world.state), "the same bit again");
    }
}
