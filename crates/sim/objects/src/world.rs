//! One run: commands, the state and its model beside each other, a second state that never goes through a snapshot.

use std::collections::BTreeMap;

use base::{Random, WallTime};
use objects_state::{Command, Effect, Effects, Identity, ObjectName, SnapshotProgress, State, type_name};
use sim_kit::{Floor, Judged, Plan, Simulation, World};

use crate::book::Book;
use crate::cells::{self, CELLS};
use crate::copies::{self, copy, load};
use crate::crowd::Crowd;
use crate::elsewhere::Elsewhere;
use crate::guests::alone::Alone;
use crate::imports::{self, Import, Imports};
use crate::model::{Group, Told};
use crate::outcome::{brief, refusal, told_by};
use crate::quotas::{NAMESPACE, Quotas};
use crate::roles::Roles;
use crate::rules::{self, Rules, Seen, Wrong};

/// Simulated milliseconds for each command.
const STEP_MS: u64 = 20;
/// The stamp of the first command.
const BEGIN_MS: i64 = 1_000_000;
/// Positions in which no state is loaded.
const UNLOADED: u64 = 60;
/// Records beyond which a state is copied seldom.
const SMALL: usize = 1_500;

/// What a hundred seeds of a minute must have judged: about a sixth of what they do.
const FLOORS: &[Floor] = &[
    (1, "answers and ends", 50_000),
    (1, "answers of guests", 3_000),
    (2, "queries", 50_000),
    (2, "queries of bytes", 8_000),
    (3, "repeats", 2_000),
    (4, "repeats", 2_000),
    (4, "repeats to guests", 400),
    (5, "requests", 40_000),
    (6, "late requests", 800),
    (6, "late requests above the floor", 600),
    (9, "objects with holders", 8_000),
    (10, "grants", 1_500),
    (13, "ends of sessions", 500),
    (13, "later acts", 3_000),
    (14, "calls that guests wake", 100),
    (14, "grants", 500),
    (15, "ends", 1_500),
    (16, "grants", 500),
    (17, "timeouts", 300),
    (18, "returns", 10),
    (19, "commands", 50_000),
    (20, "refusals", 1_500),
    (23, "imports that kill", 1),
    (24, "imports of exports", 60),
    (24, "loads", 800),
    (24, "loads with guests", 80),
    (24, "snapshots under way", 200),
    (28, "commands about another group's objects", 1_000),
    (31, "objects", 20_000),
    (31, "quotas", 5_000),
    (31, "refusals", 100),
    (32, "acts by revoked tokens", 300),
    (32, "administrators that stay", 2),
    (32, "calls that are allowed", 5_000),
    (32, "forbidden", 6_000),
    (32, "lists of tokens and rights", 500),
    (32, "requests that leave no trace", 8_000),
    (32, "unauthenticated", 3_000),
    (32, "waits that end forbidden", 12),
    (32, "wishes", 30_000),
];

/// See the module.
pub struct ObjectsWorld {
    sim: Simulation,
    ends_ms: u64,
    /// The clock of the leader that stamps.
    clock_ms: i64,
    crowd: Crowd,
    group: Group,
    /// Goes through snapshots now and then.
    state: State,
    /// Never does.
    twin: State,
    /// A snapshot that is taken while commands go on: its bytes, and the digest of its beginning.
    running: Option<(Vec<u8>, u64)>,
    /// The first state has been loaded from a snapshot: until then only bytes lie between the two.
    is_loaded: bool,
    imports: Option<Imports>,
    quotas: Option<Quotas>,
    roles: Option<Roles>,
    /// Types of users, in a state of their own.
    alone: Option<Alone>,
    book: Book,
    rules: Rules,
    wrongs: Vec<String>,
    met: BTreeMap<&'static str, u64>,
}

impl World for ObjectsWorld {
    const COMMAND: &'static str = "cargo xtask sim-objects";
    const LIGHT: &'static str = "not used here";
    const OWN_OPTION: &'static str = "  --members      plays whole members of the group, under faults";
    const REACHED: &'static [&'static str] = CELLS;
    const FLOORS: &'static [Floor] = FLOORS;

    fn begin(plan: &Plan) -> Self {
        let mut sim = Simulation::new(Random::new(plan.seed.wrapping_mul(0x9e37_79b9).wrapping_add(1)));
        sim.leave_out(plan.without.clone());
        let mut crowd = Crowd::new(&mut sim.random);
        let quotas = Quotas::of(plan.seed).filter(|_| crowd.storm().is_none());
        crowd.namespace = quotas.is_some().then_some(NAMESPACE);
        let ends_ms = sim.now_ms() + plan.faulty_ms;
        let elsewhere = Elsewhere::of(plan.seed);
        let [state, twin] = [elsewhere.table(); 2].map(State::with_slots);
        Self {
            sim,
            ends_ms,
            clock_ms: BEGIN_MS,
            crowd,
            group: Group::without(elsewhere),
            state,
            twin,
            running: None,
            is_loaded: false,
            imports: Imports::of(plan.seed),
            quotas,
            roles: Roles::of(plan.seed),
            alone: Alone::of(plan.seed),
            book: Book::default(),
            rules: Rules::default(),
            wrongs: Vec::new(),
            met: BTreeMap::new(),
        }
    }

    fn setting(&self) -> String {
        let elsewhere = if self.group.elsewhere.is_nothing() { "" } else { ", slots of another group" };
        let quotas = if self.quotas.is_some() { ", quotas" } else { "" };
        let guests = if self.alone.is_some() { ", types of users" } else { "" };
        self.crowd.setting() + elsewhere + quotas + guests
    }

    fn simulation(&self) -> &Simulation {
        &self.sim
    }

    fn simulation_mut(&mut self) -> &mut Simulation {
        &mut self.sim
    }

    fn step(&mut self) -> bool {
        if self.sim.now_ms() >= self.ends_ms || !self.wrongs.is_empty() {
            return false;
        }
        self.sim.pass(if self.crowd.storm().is_some() { 2 } else { STEP_MS });
        if let Some(mut random) = self.sim.strike(1_000) {
            self.pass_time(&mut random);
            let command = self.crowd.next(&mut random, &self.group);
            let played = self.play(&mut random, &command);
            let played = played
                .and_then(|()| self.import(&mut random))
                .and_then(|()| self.set_quota(&mut random))
                .and_then(|()| self.alone.as_mut().map_or(Ok(()), |alone| alone.step(&mut self.rules)));
            if let Err(wrong) = played {
                self.wrongs.push(rules::words(&wrong));
            }
        }
        self.sim.end_fault();
        self.sim.end_moment();
        true
    }

    fn judge(&mut self) -> Vec<String> {
        if self.wrongs.is_empty()
            && let Err(wrong) = self.state.check()
        {
            self.wrongs.push(rules::words(&(24, format!("records do not fit together: {wrong:?}"))));
        }
        let of_guests = self.alone.as_mut().map(|alone| alone.finish(&mut self.rules));
        self.met.extend(of_guests.into_iter().flatten());
        self.wrongs.clone()
    }

    fn judged(&self) -> BTreeMap<u32, Judged> {
        self.rules.judged.clone()
    }

    fn sum_up(&mut self) {
        for (cell, count) in std::mem::take(&mut self.met) {
            self.sim.count(cell, count);
        }
    }
}

impl ObjectsWorld {
    /// Mostly a little; sometimes as long as waits, keys and limits last; sometimes another leader's clock is behind.
    fn pass_time(&mut self, random: &mut Random) {
        self.clock_ms += match random.below(400) {
            0..4 => 1_000 + random.below(9_000) as i64,
            4 => 650_000,
            5 => 3_700_000,
            6..12 => -(random.below(4_000) as i64),
            12..100 => 0,
            _ => random.below(30) as i64,
        };
    }

    /// Now and then an object is made of what another one was exported as.
    fn import(&mut self, random: &mut Random) -> Result<(), Wrong> {
        let Some(imports) = &mut self.imports else { return Ok(()) };
        let next = imports.next(&mut self.crowd, &self.group, &self.state);
        let Some(Import { command, source }) = next else { return Ok(()) };
        let made = rules::object_of(&command).cloned();
        let was_there = made.as_ref().is_some_and(|made| self.group.names().contains(made));
        self.play(random, &command)?;
        let is_there = made.as_ref().is_some_and(|made| self.group.names().contains(made));
        match (source, made) {
            (Some(source), Some(made)) if is_there && !was_there => {
                self.rules.count(24, "imports of exports", 1);
                imports::is_like(&self.state, &source, &made)
            }
            _ => Ok(()),
        }
    }

    /// Now and then somebody may have more, or less.
    fn set_quota(&mut self, random: &mut Random) -> Result<(), Wrong> {
        let command = self.quotas.as_mut().and_then(|quotas| quotas.next(&mut self.crowd));
        command.map_or(Ok(()), |command| self.play(random, &command))?;
        let command = self.roles.as_mut().and_then(|roles| roles.next(&mut self.crowd));
        command.map_or(Ok(()), |command| self.play(random, &command))
    }

    /// What the model says of a command, and whether that is a call which the state refuses for its bytes.
    fn told(&mut self, command: &Command) -> Result<(Vec<Told>, bool), Wrong> {
        self.tell(command);
        copies::apply_beside(&mut self.group, &mut self.twin, self.clock_ms, command)
    }

    fn play(&mut self, random: &mut Random, command: &Command) -> Result<(), Wrong> {
        let stamp = WallTime::of_ms(self.clock_ms);
        let first = self.group.position() + 1;
        let now_ms = self.state.stamp().ms().max(self.clock_ms);
        let object = rules::object_of(command).cloned();
        let is_turned_away = self.group.turns_away(command, now_ms);
        let is_repeat = !is_turned_away && self.rules.is_repeat(command, now_ms);
        let before = object.as_ref().filter(|_| is_repeat).map(|object| rules::visible(&self.state, object));
        let (told, is_refused_for_bytes) = self.told(command)?;
        let copy = self.copy_for_refusal(command, &told, is_turned_away)?;
        let counts = self.state.counts();
        let effects = self.apply(stamp, command)?;
        let shown = told_by(&effects);
        self.trace(&shown);
        let seen = Seen {
            command,
            first,
            stamp_ms: now_ms,
            told: &told,
            shown: &shown,
            effects: &effects,
            state: &self.state,
            group: &self.group,
            book: &self.book,
            before,
            may_be_kept: !is_turned_away && self.rules.may_be_kept(command, &effects),
            is_turned_away,
            has_quotas: self.quotas.is_some(),
            is_refused_for_bytes,
        };
        let is_kept = is_repeat || !is_turned_away && self.rules.is_late_repeat(command, now_ms, &effects);
        counted_as_before(&seen, counts)?;
        if let Some(copy) = copy {
            Self::rolled_back(&mut self.rules, copy, stamp, &seen)?;
        }
        self.rules.see(&seen)?;
        self.same_place()?;
        self.note(command, (first, now_ms), &shown, is_kept)?;
        object.as_ref().map_or(Ok(()), |object| self.inspect(object))?;
        self.look_around(random)
    }

    fn note(
        &mut self,
        command: &Command,
        (first, now_ms): (u64, i64),
        shown: &[Told],
        is_kept: bool,
    ) -> Result<(), Wrong> {
        self.meet(cells::met(command, shown, &self.book, is_kept))?;
        self.book.note(command, first, now_ms, shown);
        self.crowd.heard(command, shown);
        Ok(())
    }

    /// Between two commands.
    fn look_around(&mut self, random: &mut Random) -> Result<(), Wrong> {
        self.ask(random)?;
        self.ask_for_rights(random)?;
        self.snapshots(random)
    }

    fn tell(&mut self, command: &Command) {
        let position = self.group.position() + 1;
        let words = brief(command);
        let clock_ms = self.clock_ms;
        self.sim.tell("command", format_args!("at {clock_ms} ms, position {position}: {words}"));
    }

    fn trace(&mut self, shown: &[Told]) {
        self.sim.trace.bytes(format!("{shown:?}").as_bytes());
    }

    /// Both states apply it, one of them from its bytes. They must do the same.
    fn apply(&mut self, stamp: WallTime, command: &Command) -> Result<Effects, Wrong> {
        let (mut effects, mut others, mut bytes) = (Effects::new(), Effects::new(), Vec::new());
        command.encode(&mut bytes);
        self.state.apply(stamp, command, &mut effects);
        let decoded = self.twin.apply_encoded(stamp, &bytes, &mut others);
        if let Err(wrong) = decoded {
            return Err((19, format!("its bytes are no command: {wrong:?}")));
        }
        self.rules.count(19, "commands", 1);
        if effects != others || self.state.digest() != self.twin.digest() {
            let words = format!("with snapshots {effects:?}\nwithout {others:?}\nafter {}", brief(command));
            return Err((if self.is_loaded { 24 } else { 19 }, words));
        }
        Ok(effects)
    }

    /// A copy of the state before a command that will be refused and not remembered: it must not change anything.
    fn copy_for_refusal(
        &mut self,
        command: &Command,
        told: &[Told],
        is_turned_away: bool,
    ) -> Result<Option<State>, Wrong> {
        let is_refused = matches!(told, [Told::Answered(_, Err(_))]);
        let is_anonymous = match command {
            Command::Call(call) => call.caller.identity == Identity::Anonymous,
            Command::Create { caller, .. }
            | Command::Delete { caller, .. }
            | Command::Import { caller, .. } => caller.identity == Identity::Anonymous,
            Command::Access { .. } => true,
            _ => is_turned_away,
        };
        if !is_refused || !(is_anonymous || is_turned_away) || self.state.records() > SMALL {
            return Ok(None);
        }
        copy(&mut self.twin, 1 << 20, 1 << 20).map(Some)
    }

    /// O20: what is refused leaves what nothing at all would have left, to the bit.
    fn rolled_back(
        rules: &mut Rules,
        mut copy: State,
        stamp: WallTime,
        seen: &Seen<'_>,
    ) -> Result<(), Wrong> {
        let is_refused = |effect: &Effect| {
            matches!(effect, Effect::Answered { outcome: objects_state::Outcome::Refused(_), .. })
        };
        if seen.effects.len() != 1 || !seen.effects.iter().all(is_refused) {
            return Ok(());
        }
        rules.count(20, "refusals", 1);
        copy.apply(stamp, &Command::FeatureLevel(0), &mut Effects::new());
        if copy.digest() == seen.state.digest() {
            return Ok(());
        }
        Err((
            20,
            format!("a refusal leaves something behind: {:?} after {}", seen.effects, brief(seen.command)),
        ))
    }

    fn same_place(&self) -> Result<(), Wrong> {
        let (model, state) = (self.group.position(), self.state.position());
        if model == state { Ok(()) } else { Err((1, format!("position {state}, and {model} of the model"))) }
    }

    fn meet(&mut self, met: Vec<String>) -> Result<(), Wrong> {
        for cell in met {
            let Some(known) = cells::known(&cell) else {
                return Err((1, format!("`{cell}` is in no table of what can be")));
            };
            *self.met.entry(known).or_default() += 1;
        }
        Ok(())
    }

    /// What can be seen of the object that a command was about.
    fn inspect(&mut self, object: &ObjectName) -> Result<(), Wrong> {
        for method in rules::plain_queries(object) {
            let told = self.group.query(object, None, true, method, b"");
            let shown = self.state.query(object, None, true, method, b"");
            let shown = shown.map(|text| crate::outcome::parsed(&text)).map_err(|problem| refusal(&problem));
            if told != shown {
                return Err((
                    1,
                    format!("{object:?} has become another in `{method}`\nmodel {told:?}\nstate {shown:?}"),
                ));
            }
        }
        Ok(())
    }

    /// O2.
    fn ask(&mut self, random: &mut Random) -> Result<(), Wrong> {
        for _ in 0..random.below(3) {
            let (object, asked, create) = self.crowd.query(random, &self.group);
            let (method, args) = (&*asked.method, &asked.args[..]);
            let told = self.group.query(&object, None, create, method, args);
            let shown = self.state.query(&object, None, create, method, args);
            let shown = shown.map(|text| crate::outcome::parsed(&text)).map_err(|problem| refusal(&problem));
            self.rules.count(2, "queries", 1);
            if told != shown {
                return Err((2, format!("{object:?} {asked:?}\nmodel {told:?}\nstate {shown:?}")));
            }
            let kind = type_name(object.kind).unwrap_or_default();
            self.meet(vec![cells::of_query(kind, method, &shown)])?;
        }
        Ok(())
    }

    /// O32: what members ask before they show something, and what those who administer are shown.
    fn ask_for_rights(&mut self, random: &mut Random) -> Result<(), Wrong> {
        if !self.crowd.has_access() {
            return Ok(());
        }
        for _ in 0..random.below(4) {
            let wish = self.crowd.wish(random);
            let (principal, act) = (&wish.principal, wish.act());
            let told = self.group.judge_query(principal, &act);
            let shown =
                self.state.admit_principal(principal).and_then(|()| self.state.judge(principal, &act));
            let shown = shown.map_err(|problem| refusal(&problem));
            self.rules.count(32, "wishes", 1);
            if told != shown {
                return Err((32, format!("{principal:?} {act:?}\nmodel {told:?}\nstate {shown:?}")));
            }
        }
        if random.below(40) == 0 {
            let principal = self.crowd.wish(random).principal;
            let told = [self.group.shown_access(&principal), self.group.shown_tokens()];
            let shown = [self.state.shown_access(&principal, None), self.state.shown_tokens()];
            self.rules.count(32, "lists of tokens and rights", 1);
            let shown = shown.map(|text| crate::outcome::plain(crate::outcome::parsed(&text)));
            if told != shown {
                return Err((32, format!("{principal:?} is shown\nmodel {told:?}\nstate {shown:?}")));
            }
        }
        Ok(())
    }

    /// O24.
    fn snapshots(&mut self, random: &mut Random) -> Result<(), Wrong> {
        let large = self.state.records() > SMALL;
        if random.below(if large { 4_000 } else { 120 }) == 0 {
            self.check()?;
        }
        match &mut self.running {
            Some((bytes, digest)) => {
                let most = 1 + random.below(if large { 1 << 20 } else { 4_000 }) as usize;
                if let SnapshotProgress::Done { .. } = self.state.snapshot_chunk(bytes, most) {
                    let loaded = load(bytes, 700)?;
                    if loaded.digest() != *digest {
                        return Err((24, "a snapshot is not of its beginning".into()));
                    }
                    self.rules.count(24, "snapshots under way", 1);
                    self.running = None;
                }
            }
            None => match random.below(if large { 9_000 } else { 150 }) {
                0 => {
                    let digest = self.state.digest();
                    self.state.snapshot_begin();
                    self.running = Some((Vec::new(), digest));
                }
                1..4 if self.group.position() > UNLOADED => {
                    self.is_loaded = true;
                    let chunk = 1 + random.below(if large { 1 << 20 } else { 9_000 }) as usize;
                    self.state = copy(&mut self.state, chunk, 1 + random.below(9_000) as usize)?;
                    self.rules.count(24, "loads", 1);
                }
                _ => {}
            },
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), Wrong> {
        self.rules.count(24, "checks of all records", 1);
        self.state.check().map_err(|wrong| (24, format!("records do not fit together: {wrong:?}")))
    }
}

/// O20, as far as it is seen at once: a refusal opens, creates and parks nothing.
fn counted_as_before(seen: &Seen<'_>, before: [u64; 4]) -> Result<(), Wrong> {
    let after = seen.state.counts();
    if !matches!(seen.shown, [Told::Answered(_, Err(_))]) || before[..3] == after[..3] {
        return Ok(());
    }
    let words = format!("objects, sessions and waiting calls {before:?} are {after:?}");
    Err((20, format!("{words} after a refusal of {}", brief(seen.command))))
}
