//! Types of users in runs of the state alone: a state that goes through snapshots, one that never does, and the models. It is played beside
//! the built-in types of the same run, and has nothing to do with them.

use std::sync::Arc;

use base::{Random, WallTime};
use objects_state::guest::Engine as _;
use objects_state::{Command, Effects, ObjectName, State, Verdict};

use super::bytes::{self, VIEW};
use super::crowd::{Crowd, PROMPT};
use super::judge::{Guests, Seen};
use super::unharmed::Unharmed;
use crate::copies::copy;
use crate::outcome::brief;
use crate::rules::{Rules, Wrong};
use crate::told::Object;

/// Draws apart from everything else: other runs take the steps that they took.
const ALONE_SEED: u64 = 0x6775_6573_7473;
/// The feature level from which on all of it is there.
const LEVEL: u32 = 9;

/// A state, and the engine that runs its modules.
struct Place {
    state: State,
    engine: Arc<Unharmed>,
}

impl Place {
    fn new() -> Self {
        let engine = Arc::new(Unharmed::new());
        Self { state: State::with_engine(engine.clone()), engine }
    }

    /// The state by way of its snapshot; nothing that its engine knows of objects outlives that.
    fn reload(&mut self, random: &mut Random) -> Result<(), Wrong> {
        self.state =
            copy(&mut self.state, 1 + random.below(20_000) as usize, 1 + random.below(9_000) as usize)?;
        self.engine.forget_all();
        self.state.set_engine(self.engine.clone());
        Ok(())
    }
}

/// See the module.
pub(crate) struct Alone {
    random: Random,
    clock_ms: i64,
    crowd: Crowd,
    place: Place,
    /// Never goes through a snapshot.
    twin: Place,
    guests: Guests,
}

impl Alone {
    /// In a sixth of the runs.
    pub(crate) fn of(seed: u64) -> Option<Self> {
        let mut random = Random::new(seed ^ ALONE_SEED);
        random.chance(16).then(|| Self {
            random,
            clock_ms: 1_000_000,
            crowd: Crowd::new(),
            place: Place::new(),
            twin: Place::new(),
            guests: Guests::default(),
        })
    }

    /// A command, or several; queries, and now and then a snapshot.
    pub(crate) fn step(&mut self, rules: &mut Rules) -> Result<(), Wrong> {
        let clock_ms = match self.random.below(60) {
            0 => 5_000 + self.random.below(60_000),
            _ => self.random.below(60),
        };
        self.clock_ms += clock_ms as i64;
        let commands = match self.place.state.position() {
            0 => vec![Command::FeatureLevel(LEVEL)],
            _ => self.verdict().map_or_else(
                || self.crowd.next(&mut self.random, &self.place.state),
                |verdict| vec![verdict],
            ),
        };
        commands.iter().try_for_each(|command| self.play(command, rules))?;
        self.view(rules)?;
        if self.random.below(100) == 0 {
            self.place.reload(&mut self.random)?;
            rules.count(24, "loads with guests", 1);
        }
        Ok(())
    }

    /// What is judged, and what has happened.
    pub(crate) fn finish(&mut self, rules: &mut Rules) -> Vec<(&'static str, u64)> {
        for (rule, all) in std::mem::take(&mut self.guests.judged) {
            all.into_iter().for_each(|(what, count)| rules.count(rule, what, count));
        }
        std::mem::take(&mut self.guests.reached).into_iter().collect()
    }

    /// What the members' engines say of a version, some time after it came.
    fn verdict(&mut self) -> Option<Command> {
        let (kind, version) = self.place.state.preparing().first().copied()?;
        self.random.chance(20).then(|| {
            let rejected = self.place.engine.ready(version).err().map(|rejected| format!("{rejected:?}"));
            Command::TypeVerdict { kind, version, verdict: Verdict { rejected, described: None } }
        })
    }

    fn play(&mut self, command: &Command, rules: &mut Rules) -> Result<(), Wrong> {
        let stamp = WallTime::of_ms(self.clock_ms);
        let first = self.place.state.position() + 1;
        let (mut effects, mut others, mut bytes) = (Effects::new(), Effects::new(), Vec::new());
        command.encode(&mut bytes);
        self.place.state.apply(stamp, command, &mut effects);
        let decoded = self.twin.state.apply_encoded(stamp, &bytes, &mut others);
        decoded.map_err(|wrong| (19, format!("its bytes are no command: {wrong:?}")))?;
        rules.count(19, "commands with guests", 1);
        if effects != others || self.place.state.digest() != self.twin.state.digest() {
            let words = format!("with snapshots {effects:?}\nwithout {others:?}\nafter {}", brief(command));
            return Err((24, words));
        }
        let stamp_ms = self.clock_ms;
        self.guests.see(&Seen { command, first, stamp_ms, effects: &effects, state: &self.place.state })
    }

    /// O2: a query that takes bytes.
    fn view(&mut self, rules: &mut Rules) -> Result<(), Wrong> {
        let (of, args) = (PROMPT[0], bytes::draw(&mut self.random));
        let object = Object { type_name: of.name().into(), name: "g0".into() };
        let Some(kind) = self.place.state.type_named(of.name()) else { return Ok(()) };
        let name = ObjectName { kind, name: object.name.clone() };
        let shown = self.place.state.query(&name, None, false, VIEW, &args);
        let shown = shown.map_err(|problem| problem.slug.name());
        let due = self.guests.view(&object, &args).unwrap_or(Err("no-such-object"));
        rules.count(2, "queries of bytes", 1);
        let due = due.map(|text| format!("={}", text.trim_matches('"')));
        if shown == due {
            Ok(())
        } else {
            Err((2, format!("{object:?} {args:?}\nmodel {due:?}\nstate {shown:?}")))
        }
    }
}
