//! A migration that is only tried: on a copy of the object at one member, of which nothing is left. A run of it that takes more than
//! a slice goes on in the background, as a query's does.

use super::enter::seed;
use super::host::Records;
use super::{Guest, Root, enter, guard, long, migrate};
use crate::answer::find;
use crate::command::ObjectName;
use crate::group::Core;
use crate::guest::{COPIES, Ended, Engine, Entry, Failure, Host, Run, VersionHash};
use crate::limits::{PAGES_PER_OBJECT_MAX, QUERY_FUEL_PER_PAGE, SLICE_FUEL};
use crate::problem::{Problem, Slug};
use crate::reply::Reply;
use crate::types;

/// An object whose memory is its version's image, and for which nobody waits.
struct New;

impl Host for New {
    fn page(&self, _: u32) -> Option<&[u8]> {
        None
    }
    fn pages(&self) -> Vec<u32> {
        Vec::new()
    }
    fn registers(&self) -> Option<&[u8]> {
        None
    }
    fn caller(&self) -> String {
        String::from("{}")
    }
    fn is_waiting(&self, _: u64) -> bool {
        false
    }
    fn waiting(&self) -> Vec<u64> {
        Vec::new()
    }
}

/// A migration that is tried, of which a run is under way in the background.
#[derive(Clone, Debug)]
pub struct Trial {
    space: u64,
    from: VersionHash,
    to: VersionHash,
    /// That of the old version.
    description: String,
    now_ms: i64,
    position: u64,
    seed: u64,
    /// How much the old version has saved, once it has.
    saved_bytes: Option<u64>,
}

/// How far a migration that is tried has come.
#[derive(Clone, Debug)]
pub enum Tried {
    /// It would be carried out, so.
    Done(String),
    /// A run of it is under way in the background, under this number of the engine.
    UnderWay(u64, Box<Trial>),
}

/// What a migration of the object to that version would come to. What would be refused is refused for the same reason, in the same
/// order; one to the version that the object has does nothing.
///
/// # Errors
/// It would be refused, for this reason.
pub(crate) fn try_migration(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
    to: VersionHash,
) -> Result<String, Problem> {
    let (trial, root) = match trial(core, object, incarnation, to)? {
        Begun::Nothing(result) => return Ok(result),
        Begun::Trial(trial, root) => (trial, root),
    };
    let records = Records { core, space: trial.space, claim: None, ended: None, is_new: false };
    let engine = core.engine.get();
    let saved = trial.save(root.changed, |run| on_a_copy(engine, run, &records));
    let (trial, state) = trial.saved(engine, saved)?;
    let ended = trial.migrate(&state, |run| on_a_copy(engine, run, &New));
    trial.taken(ended)
}

/// The same, but a run that takes long goes on in the background.
///
/// # Errors
/// It would be refused, for this reason; or too many runs are under way.
pub(crate) fn begin_trial(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
    to: VersionHash,
) -> Result<Tried, Problem> {
    let (trial, root) = match trial(core, object, incarnation, to)? {
        Begun::Nothing(result) => return Ok(Tried::Done(result)),
        Begun::Trial(trial, root) => (trial, root),
    };
    let records = Records { core, space: trial.space, claim: None, ended: None, is_new: false };
    let engine = core.engine.get();
    // The copy has been made by then.
    let slice = Some(SLICE_FUEL + QUERY_FUEL_PER_PAGE * u64::from(root.pages));
    let ended = trial.save(root.changed, |run| on_a_copy(engine, &Run { slice, ..*run }, &records));
    if ended.outcome != Err(Failure::Unfinished) {
        return trial.go_on(engine, ended);
    }
    let number = trial.save(root.changed, |run| engine.begin_query(run, &records));
    Ok(Tried::UnderWay(number.ok_or_else(too_many)?, Box::new(trial)))
}

fn too_many() -> Problem {
    let detail = "too many queries that take long are under way at this member";
    Problem { retry_after_ms: Some(100), ..Problem::new(Slug::Rate, detail) }
}

/// What there is to be tried.
enum Begun {
    /// Nothing would be run: this is said of it.
    Nothing(String),
    Trial(Trial, Root),
}

fn trial(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
    to: VersionHash,
) -> Result<Begun, Problem> {
    if !types::is_there(core, object.kind) {
        return Err(Problem::new(Slug::NoSuchType, "only types of users have versions"));
    }
    let (opened, _) = find::<Guest>(core, object, incarnation, false)?;
    let (space, root) = (opened.header.incarnation, opened.live.root);
    long::check_free(core, space)?;
    if root.version == to {
        return Ok(Begun::Nothing(said((root.version, to)).finish()));
    }
    types::ready_version(core, object.kind, to)?;
    guard::check(core, object, space, root.version)?;
    if migrate::goes_by_layout(core, (object.kind, space), root.version, to) {
        let reply = said((root.version, to)).text("by", "layout");
        return Ok(Begun::Nothing(reply.number("pages", u64::from(root.pages)).finish()));
    }
    let description = types::description(core, object.kind, root.version);
    Ok(Begun::Trial(Trial::of(core, space, (root.version, to), description), root))
}

fn said((from, to): (VersionHash, VersionHash)) -> Reply {
    let reply = Reply::new().flag("would_migrate", from != to).text("from", &from.to_string());
    reply.text("version", &to.to_string())
}

impl Trial {
    fn of(core: &Core, space: u64, (from, to): (VersionHash, VersionHash), description: String) -> Self {
        let (now_ms, position) = (core.meta.stamp_ms, core.meta.position);
        Self { space, from, to, description, now_ms, position, seed: seed(core, COPIES), saved_bytes: None }
    }

    /// A run of it has ended.
    ///
    /// # Errors
    /// It would be refused, for this reason; or too many runs are under way.
    pub fn go_on(self, engine: &dyn Engine, ended: Ended) -> Result<Tried, Problem> {
        if self.saved_bytes.is_some() {
            return self.taken(ended).map(Tried::Done);
        }
        let (trial, state) = self.saved(engine, ended)?;
        let slice = Some(SLICE_FUEL);
        let ended = trial.migrate(&state, |run| on_a_copy(engine, &Run { slice, ..*run }, &New));
        if ended.outcome != Err(Failure::Unfinished) {
            return trial.taken(ended).map(Tried::Done);
        }
        let number = trial.migrate(&state, |run| engine.begin_query(run, &New));
        Ok(Tried::UnderWay(number.ok_or_else(too_many)?, Box::new(trial)))
    }

    /// The position of the state on which it is tried.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    fn run<'a>(&self, version: VersionHash, changed: u64, entry: Entry<'a>) -> Run<'a> {
        let Self { space, now_ms, position, seed, .. } = *self;
        let (kept_at, fuel_max, bytes, slice) = (position, u64::MAX, false, None);
        Run { version, space, changed, entry, now_ms, position, kept_at, seed, fuel_max, bytes, slice }
    }

    fn save<R>(&self, changed: u64, work: impl FnOnce(&Run<'_>) -> R) -> R {
        work(&self.run(self.from, changed, Entry::Save))
    }

    fn migrate<R>(&self, state: &str, work: impl FnOnce(&Run<'_>) -> R) -> R {
        work(&self.run(self.to, 0, Entry::Migrate(state.as_bytes())))
    }

    /// The old version has saved: what the new one is given.
    fn saved(mut self, engine: &dyn Engine, ended: Ended) -> Result<(Self, String), Problem> {
        let saved = enter::text(ended.outcome.map_err(enter::problem)?, Entry::Save, false)?;
        engine.ready(self.to).map_err(|rejected| types::closed(&rejected.detail))?;
        self.saved_bytes = Some(saved.len() as u64);
        let state = Reply::new()
            .raw("description", &self.description)
            .raw("state", if saved.is_empty() { "null" } else { &saved })
            .finish();
        Ok((self, state))
    }

    /// The new version has taken over.
    fn taken(&self, ended: Ended) -> Result<String, Problem> {
        let refused = |failure| Problem { slug: Slug::NotMigrated, code: None, ..enter::problem(failure) };
        ended.outcome.map_err(refused)?;
        let pages = ended.pages.len();
        if pages > PAGES_PER_OBJECT_MAX as usize {
            return Err(Problem::new(Slug::NotMigrated, "an object has 64 MiB of memory at the most"));
        }
        let reply = said((self.from, self.to));
        let reply = reply.number("state_bytes", self.saved_bytes.unwrap_or_default());
        Ok(reply.number("pages", pages as u64).finish())
    }
}

/// What the object's module saves of it, and its root.
///
/// # Errors
/// There is no such object, or its module does not run or refuses.
pub(super) fn saved(
    core: &Core,
    object: &ObjectName,
    incarnation: Option<u64>,
) -> Result<(Root, String), Problem> {
    let (opened, _) = find::<Guest>(core, object, incarnation, false)?;
    let (space, root) = (opened.header.incarnation, opened.live.root);
    guard::check(core, object, space, root.version)?;
    let records = Records { core, space, claim: None, ended: None, is_new: false };
    let copy = Trial::of(core, space, (root.version, root.version), String::new());
    let ended = copy.save(root.changed, |run| on_a_copy(core.engine.get(), run, &records));
    let saved = enter::text(ended.outcome.map_err(enter::problem)?, Entry::Save, false)?;
    Ok((root, saved))
}

/// Runs on a copy of which nothing is left.
fn on_a_copy(engine: &dyn Engine, run: &Run<'_>, host: &dyn Host) -> Ended {
    // What is left of another trial is another object's.
    engine.forget(COPIES);
    let ended = engine.run(&Run { space: COPIES, ..*run }, host);
    engine.forget(COPIES);
    ended
}
