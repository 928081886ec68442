//! Objects of users' types: behind the trait of the built-ins, with a module in the place of code. The engine runs it
//! ([`crate::guest`]); its memory, its waiting calls and its timers are records of the object's space.
//!
//! # Invariants
//! - *A run that is refused changes nothing*, whoever refuses it: the module, its bounds, or what it asked for.
//! - *A waiting call ends before its module hears of it*, so no module can grant what has ended; of a session that ends, all
//!   have.
//! - *What takes long holds up its object alone*: it goes on beside the commands (`long`).
//! - *What nobody called* (a timer, a session's end, the end of a wait) is answered to nobody: if it fails it is counted.

mod acts;
mod call;
mod enter;
mod exchange;
pub(crate) mod guard;
mod host;
pub(crate) mod long;
mod migrate;
mod outbox;
mod rollback;
mod trial;

use std::collections::BTreeMap;

use crate::args::Args;
use crate::codec::{Cursor, Field as _, record};
use crate::command::ObjectName;
use crate::group::Core;
use crate::guest::{OwnPage, PAGE_BYTES, VersionHash};
use crate::key::{self, table};
use crate::limits::PUT_OFF_MS;
use crate::object::{self, Builtin, Ctx, Header, Live, Method, Step, View, Why};
use crate::place::{Place, Queue};
use crate::problem::{Outcome, Problem};
use crate::reply::{Reply, quoted};
use crate::ticket::{self, Ticket};
use crate::types;
use long::Work;

pub use call::Asked;
pub(crate) use call::{batch_step, begin_query, call, check_batch, create, query, takes_bytes};
pub(crate) use enter::query_result;
pub(crate) use exchange::{export, import};
pub(crate) use guard::{
    disagreed, forget_before, is_kept_until, may_disagree, quarantine, quarantine_deadly,
};
pub use long::LongRun;
pub(crate) use migrate::migrate;
pub(crate) use outbox::{
    Message, has_messages, refused as message_refused, sound as sound_messages, take as take_message,
};
pub(crate) use rollback::rollback;
pub use trial::{Trial, Tried};
pub(crate) use trial::{begin_trial, try_migration};

/// Bytes of a failure's words that are kept with an object.
const FAILURE_BYTES_MAX: usize = 200;
/// Pages that differ from the image, by number.
pub(crate) const PAGES: u8 = table::OWN;
/// Size of the memory and globals: one record.
pub(crate) const REGISTERS: u8 = table::OWN + 1;
/// What is out of the ordinary about it: one record.
pub(crate) const GUARD: u8 = table::OWN + 2;
/// The pages that it had before it was migrated, and its registers.
pub(crate) const KEPT_PAGES: u8 = table::OWN + 3;
pub(crate) const KEPT_REGISTERS: u8 = table::OWN + 4;
/// What stands behind a run that is under way.
pub(crate) const BEHIND: u8 = table::OWN + 5;
/// Where timers and ends of waits stand there.
pub(crate) const PLACES: u8 = table::OWN + 6;
/// The constructor's arguments while `init` is under way: one record.
pub(crate) const CREATED_WITH: u8 = table::OWN + 7;
/// The position at which it was last released from quarantine: one record.
pub(crate) const RELEASED: u8 = table::OWN + 8;
/// The feature level from which on objects keep what they were before a migration.
pub(crate) const GUARD_LEVEL: u32 = 3;
/// The feature level from which on records of pages have only what differs from the image.
const LINES_LEVEL: u32 = 10;
/// The feature level from which on objects are put into quarantine of which members came to different results.
pub(crate) const DISAGREED_LEVEL: u32 = 8;
/// Where its calls wait.
pub(crate) const WAITING: u8 = 1;
/// Where calls wait that have not had their turn, or whose run is under way.
pub(crate) const NOT_RUN: u8 = 2;
/// Where its creator waits while `init` is under way.
pub(crate) const CREATING: u8 = 3;

record! {
    /// What changes with an object of a user's type.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct Root {
        pub(crate) version: VersionHash,
        /// The position of the run that changed its memory last.
        pub(crate) changed: u64,
        /// How many pages differ from the image.
        pub(crate) pages: u32,
        pub(crate) timers: u32,
        /// The hash of the constructor's arguments.
        pub(crate) arguments: u64,
        /// Runs that nobody called and that failed.
        pub(crate) failures: u64,
        /// Why the last of them did.
        pub(crate) last_failure: Option<String>,
    }
}

impl Root {
    /// Something that nobody called has failed.
    fn failed(&mut self, mut words: String) {
        self.failures += 1;
        words.truncate(words.floor_char_boundary(FAILURE_BYTES_MAX));
        self.last_failure = Some(words);
    }
}

/// Every type of users.
pub(crate) struct Guest;

impl Builtin for Guest {
    const METHODS: &'static [Method] = &[];
    const CONSTRUCTOR: &'static [&'static str] = &[];
    type Config = ();
    type Root = Root;

    fn config(_: &Args) -> Result<(), Problem> {
        Ok(())
    }

    /// Calls come by [`call`].
    fn call(_: &mut Live<Self>, _: &mut Ctx<'_>, _: &str, _: &Args) -> Result<Step, Problem> {
        Err(crate::answer::no_such_type())
    }

    fn query(_: &Live<Self>, _: &View<'_>, _: &str, _: &Args) -> Result<String, Problem> {
        Err(crate::answer::no_such_type())
    }

    /// The result is what the module says to the end of the wait, if that is a JSON object.
    fn ended(
        live: &mut Live<Self>,
        ctx: &mut Ctx<'_>,
        (place, ticket): &(Place, Ticket),
        why: Why,
    ) -> Option<Outcome> {
        match place.queue.tag {
            NOT_RUN => {
                long::leave(ctx, ticket.id);
                let (kind, version) = (ctx.object.kind, live.root.version);
                let method = long::method_of(&ticket.wants).unwrap_or_default();
                Some(said_to_end(None, types::is_of_bytes(ctx.core, kind, version, &method)))
            }
            CREATING => None,
            _ => {
                let Some(said) = enter::uncalled(live, ctx, Work::End(ticket.id, why)) else {
                    // Until then it waits, for as long as it takes.
                    ticket::set_deadline(ctx.core, ticket.id, None);
                    return None;
                };
                Some(said_to_end(said, acts::gives_bytes(ticket)))
            }
        }
    }

    fn due(live: &mut Live<Self>, ctx: &mut Ctx<'_>, timer: &[u8]) {
        if guard::check(ctx.core, ctx.object, ctx.space(), live.root.version).is_err() {
            let later = ctx.now_ms().saturating_add(PUT_OFF_MS);
            return ctx.set_timer(timer, Some(later));
        }
        live.root.timers = live.root.timers.saturating_sub(1);
        if let Some(id) = timer.first_chunk() {
            enter::uncalled(live, ctx, Work::Timer(u64::from_be_bytes(*id)));
        }
    }

    /// Of a call that had its turn its module alone knows what it waits for.
    fn waits_by(_: &Live<Self>, queue: &Queue, wants: &[u8]) -> Option<String> {
        if queue.tag == NOT_RUN { long::method_of(wants) } else { None }
    }

    /// Its state is what its module saves.
    fn arguments(_: &Live<Self>) -> Reply {
        Reply::new()
    }

    /// It stays until it is deleted.
    fn is_idle(_: &Live<Self>, _: &View<'_>) -> bool {
        false
    }

    fn is_readable(table: u8, value: &[u8]) -> bool {
        match table {
            PAGES | KEPT_PAGES => OwnPage::is_sound(value),
            REGISTERS | KEPT_REGISTERS | CREATED_WITH => true,
            GUARD => guard::is_readable(value),
            RELEASED => crate::codec::decoded::<u64>(value).is_ok(),
            BEHIND | PLACES => long::is_readable(table, value),
            _ => false,
        }
    }
}

/// A session has ended that called an object, or waited at it: its module hears of it.
pub(crate) enum Ended {
    Session(crate::command::SessionId),
    Ticket(u64),
}

/// Tells the modules of what a session's end ended, one after the other. Nothing of the session is left by now.
pub(crate) fn tell_ends(core: &mut Core, ends: &[(ObjectName, u64, Ended)]) {
    for (object, space, ended) in ends {
        object::run_in_space::<Guest>(core, object, *space, |live, ctx| {
            match ended {
                Ended::Session(id) if !hears_sessions(ctx.core, object, live.root.version) => {
                    let _ = id;
                    None
                }
                Ended::Session(id) => enter::uncalled(live, ctx, Work::SessionExpired(*id)),
                Ended::Ticket(id) => enter::uncalled(live, ctx, Work::TicketEnded(*id)),
            };
        });
    }
}

/// The version of an object that is there.
pub(crate) fn version_of(core: &Core, object: &ObjectName) -> Option<VersionHash> {
    if !types::is_user(object.kind) {
        return None;
    }
    let root = Header::root_in(core.store.get(&key::object(object))?).ok()?;
    // What is kept of one begins with it.
    VersionHash::take(&mut Cursor::new(root)).ok()
}

pub(super) fn hears_sessions(core: &Core, object: &ObjectName, version: VersionHash) -> bool {
    types::hears_sessions(core, object.kind, version)
}

/// An object is being deleted: its version and the group's memory have less to carry.
pub(crate) fn deleted(core: &mut Core, object: &ObjectName, header: &Header) {
    let Ok(root) = crate::codec::decoded::<Root>(&header.root) else { return };
    types::count_object(core, object.kind, root.version, -1);
    forget_before(core, header.incarnation);
    core.store.remove(&key::occupied(header.incarnation));
    if root.pages > 0 {
        types::update_totals(core, |totals| {
            let bytes = u64::from(root.pages) * PAGE_BYTES as u64;
            totals.memory_bytes = totals.memory_bytes.saturating_sub(bytes);
        });
    }
    core.engine.get().forget(header.incarnation);
}

/// How many objects each version of a type has.
type ObjectCounts = BTreeMap<(u8, VersionHash), u64>;

/// How many objects each version has, and how many pages they have together: for a loader, which compares.
///
/// # Errors
/// An object's pages or timers are not as many as it says.
pub(crate) fn tally<'a>(
    core: &Core,
    objects: impl Iterator<Item = &'a (ObjectName, Header)>,
) -> Result<(ObjectCounts, u64), crate::codec::Malformed> {
    let (mut versions, mut pages) = (BTreeMap::new(), 0);
    for (object, header) in objects.filter(|(object, _)| types::is_user(object.kind)) {
        let root: Root = crate::codec::decoded(&header.root)?;
        let count = |table| core.store.prefix(&key::entry(header.incarnation, table, &[])).count();
        let timers = count(table::TIMER) + long::timers_behind(core, header.incarnation);
        if count(PAGES) != root.pages as usize || timers != root.timers as usize {
            return Err(crate::codec::Malformed("check: an object's pages or timers are miscounted"));
        }
        long::sound_object(core, header.incarnation)?;
        let pages_of = |table| core.store.prefix(&key::entry(header.incarnation, table, &[]));
        if !pages_of(PAGES).chain(pages_of(KEPT_PAGES)).all(|(key, _)| is_page(key)) {
            return Err(crate::codec::Malformed(
                "check: a page has no number, or lies outside of all memory",
            ));
        }
        let kept = guard::kept_pages(core, header.incarnation);
        if count(KEPT_PAGES) != kept as usize {
            return Err(crate::codec::Malformed("check: an object's kept pages are miscounted"));
        }
        pages += u64::from(kept);
        *versions.entry((object.kind.0, root.version)).or_insert(0) += 1;
        pages += u64::from(root.pages);
    }
    Ok((versions, pages))
}

/// Whether a page may have such a key.
fn is_page(key: &[u8]) -> bool {
    /// Addresses of a memory have 32 bits.
    const NUMBERS: u32 = ((1_u64 << 32) / PAGE_BYTES as u64) as u32;
    key::page_number(key).is_some_and(|number| number < NUMBERS)
}

/// The result of a call that ends with what its module says to that, if that is a JSON object. Of one that gives bytes: none.
fn said_to_end(said: Option<String>, gives_bytes: bool) -> Outcome {
    if gives_bytes {
        return Outcome::Done(crate::bytes::shown(&[]));
    }
    let is_object = |text: &String| text.starts_with('{');
    Outcome::Done(said.filter(is_object).unwrap_or_else(|| String::from("{}")))
}

fn queue() -> Queue {
    Queue::of(WAITING)
}

/// Who calls, as modules are told.
fn caller_json(claim: &object::Claim) -> String {
    use crate::place::ReplyRef;
    let reply = Reply::new()
        .optional_text("session", claim.session.map(|id| id.to_string()).as_deref())
        .text("principal", &claim.principal);
    match &claim.reply {
        ReplyRef::Nowhere => reply.raw("request", "null"),
        ReplyRef::Session(_, request) => reply.number("request", *request),
        ReplyRef::Key(_, key) => reply.raw("request", &quoted(key)),
    }
    .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_of_a_page_ends_with_a_number_that_lies_in_a_memory() {
        let key = |sub: &[u8]| key::entry(7, PAGES, sub);
        for number in [0, 1, 16_384, (1 << 20) - 1_u32] {
            assert!(is_page(&key(&number.to_be_bytes())), "{number}");
        }
        for wrong in [&[][..], &[0, 0, 0], &[0, 0, 0, 0, 0], &(1_u32 << 20).to_be_bytes()] {
            assert!(!is_page(&key(wrong)), "{wrong:?}");
        }
    }
}
