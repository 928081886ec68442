//! The one way of every command: open the object, or make a fresh one; let the type work; grant all that can be granted
//! (so no wake-up is lost); write the header back, or drop the object if nothing but defaults is left.

use core::marker::PhantomData;

use super::{Builtin, Claim, Ctx, Header, Live, View, Why};
use crate::asked;
use crate::codec::{Field as _, decoded, encoded};
use crate::command::ObjectName;
use crate::effects::{EventKind, TicketEnd};
use crate::group::Core;
use crate::key::{self, table};
use crate::place::Place;
use crate::problem::{Outcome, Problem, Slug};
use crate::ticket::{self, Ticket};

/// An object with what its type keeps of it.
pub(crate) struct Open<K: Builtin> {
    pub(crate) header: Header,
    pub(crate) live: Live<K>,
}

/// An object that there is.
pub(crate) fn open<K: Builtin>(core: &Core, object: &ObjectName) -> Option<Open<K>> {
    let header: Header = core.read(&key::object(object))?;
    // One that was created on use has the defaults; a type of users has nothing that could differ.
    let may_differ = header.explicit && size_of::<K::Config>() > 0;
    let config = may_differ.then(|| core.read(&key::entry(header.incarnation, table::CONFIG, &[])));
    let config = config.flatten().unwrap_or_default();
    let root = decoded(&header.root).unwrap_or_default();
    Some(Open { header, live: Live { config, root, left: None, kind: PhantomData } })
}

/// An object with nothing but defaults, as if it were created now.
pub(crate) fn fresh<K: Builtin>(core: &Core) -> Open<K> {
    let incarnation = core.meta.position;
    let root = encoded(&K::Root::default());
    let header = Header { incarnation, explicit: false, tickets: 0, ticket_bytes: 0, root };
    Open {
        header,
        live: Live { config: K::Config::default(), root: K::Root::default(), left: None, kind: PhantomData },
    }
}

/// Writes an object back, or drops it if nothing but defaults is left.
pub(crate) fn close<K: Builtin>(core: &mut Core, object: &ObjectName, mut opened: Open<K>, existed: bool) {
    let key = key::object(object);
    let view = View { core: &*core, space: opened.header.incarnation, tickets: opened.header.tickets };
    let is_idle = !opened.header.explicit && view.tickets == 0 && K::is_idle(&opened.live, &view);
    if is_idle {
        if core.store.remove(&key) {
            core.meta.objects -= 1;
        }
        core.bury(key::space(opened.header.incarnation));
        return;
    }
    if !existed {
        core.meta.objects += 1;
        core.event(EventKind::Created, object, None);
    }
    opened.header.root.clear();
    opened.live.root.put(&mut opened.header.root);
    core.write(key, &opened.header);
}

/// Lets a type work on an object, grants what can be granted, and writes the object back.
pub(crate) fn run<K: Builtin, R>(
    core: &mut Core,
    object: &ObjectName,
    mut opened: Open<K>,
    existed: bool,
    claim: &Claim,
    work: impl FnOnce(&mut Live<K>, &mut Ctx<'_>) -> Result<R, Problem>,
) -> Result<R, Problem> {
    let mut ctx = Ctx { core: &mut *core, header: &mut opened.header, object, claim };
    let result = work(&mut opened.live, &mut ctx)?;
    K::wake(&mut opened.live, &mut ctx);
    close(core, object, opened, existed);
    Ok(result)
}

/// The same for an object that there is; nothing if it is gone, or another incarnation.
pub(crate) fn run_in_space<K: Builtin>(
    core: &mut Core,
    object: &ObjectName,
    space: u64,
    work: impl FnOnce(&mut Live<K>, &mut Ctx<'_>),
) {
    let Some(opened) = open::<K>(core, object).filter(|opened| opened.header.incarnation == space) else {
        return;
    };
    let done = run(core, object, opened, true, &Claim::default(), |live, ctx| {
        work(live, ctx);
        Ok(())
    });
    debug_assert!(done.is_ok(), "work that cannot fail has failed");
}

/// Ends a ticket whose object is there, for that reason. The type may let it go on waiting (a condition's).
pub(crate) fn end_ticket<K: Builtin>(
    live: &mut Live<K>,
    ctx: &mut Ctx<'_>,
    found: (Place, Ticket),
    why: Why,
) {
    let Some(outcome) = K::ended(live, ctx, &found, why) else { return };
    live.left = Some(found.0.queue.sub.clone());
    let (end, outcome) = match why {
        Why::TimedOut => (TicketEnd::TimedOut, outcome),
        Why::Cancelled => (TicketEnd::Cancelled, outcome),
        // The session that it has opened ends, if it has nothing else.
        Why::Forbidden => (TicketEnd::Cancelled, asked::forbidden(ctx.position())),
        Why::Died => {
            let problem = Problem::new(Slug::SessionExpired, "the session of the waiting call has ended");
            (TicketEnd::Ended, Outcome::Refused(Problem { position: ctx.position(), ..problem }))
        }
    };
    ctx.end(&found.0, &found.1, end, outcome);
}

/// An object is deleted. All that wait for it are told.
pub(crate) fn remove(core: &mut Core, object: &ObjectName, header: &Header) {
    end_waits(core, header.incarnation);
    core.store.remove(&key::object(object));
    core.meta.objects -= 1;
    core.event(EventKind::Deleted, object, None);
    core.bury(key::space(header.incarnation));
}

fn end_waits(core: &mut Core, space: u64) {
    let prefix = key::entry(space, table::TICKET, &[]);
    let tickets = core.store.prefix(&prefix).filter_map(|(_, record)| decoded(record).ok());
    let mut tickets: Vec<Ticket> = tickets.collect();
    tickets.sort_by_key(|ticket| ticket.id);
    for waiting in tickets {
        let Some((place, waiting)) = ticket::waiting(core, waiting.id) else { continue };
        let position = core.meta.position;
        let problem = Problem { position, ..Problem::new(Slug::ObjectDeleted, "the object was deleted") };
        ticket::end(core, &place, &waiting, TicketEnd::Ended, Outcome::Refused(problem));
    }
}
