//! What queries are answered on a state: also for an edge that is lent it.

use std::collections::BTreeSet;

use consensus_raft::Membership;
use objects_state::guest::VersionHash;
use objects_state::limits::NAME_BYTES_MAX;
use objects_state::{
    Act, Description, ObjectName, Outcome, Principal, Problem, Reply, Session, SessionId, Slug, State,
    TypeInfo, VersionInfo, WaitsOf,
};

use crate::edge::Question;
use crate::limits::LISTED_MAX;
use crate::waits::{self, When};

/// Answers a question on this state of a group with these members, if the principal may ask it.
#[must_use]
pub fn answer(state: &State, members: &Membership, principal: &Principal, question: &Question) -> Outcome {
    let result = judge(state, principal, question).and_then(|()| match question {
        Question::Counts => Ok(group(state, members)),
        question => found(state, principal, question),
    });
    match result {
        Ok(result) => Outcome::Done(result),
        Err(problem) => Outcome::Refused(Problem { position: state.position(), ..problem }),
    }
}

/// Whether the principal may ask it, of this state.
///
/// # Errors
/// With the refusal.
pub(crate) fn judge(state: &State, principal: &Principal, question: &Question) -> Result<(), Problem> {
    let act = match question {
        Question::Method { object, method, .. } => Act::Method(object, method),
        Question::Describe(object) => Act::See(object),
        Question::List { kind, prefix, .. } => Act::List(*kind, prefix),
        Question::Waits { kind: Some(kind), prefix, .. } => Act::List(*kind, prefix),
        Question::ListAll { prefix, .. } | Question::Waits { prefix, .. } => Act::ListAll(prefix),
        Question::History { object, .. } => Act::See(object),
        Question::Counts | Question::Types | Question::Type(_) | Question::Version(..) => Act::Know,
        Question::TryMigration { object, .. } | Question::Export { object, .. } => Act::LookAfter(object),
        Question::Tokens | Question::Backup => Act::Administer,
        Question::Session(_) | Question::Access { .. } => return state.admit_principal(principal),
        Question::Ready => return Ok(()),
    };
    state.admit_principal(principal)?;
    state.judge(principal, &act)
}

fn found(state: &State, principal: &Principal, question: &Question) -> Result<String, Problem> {
    match question {
        Question::Method { object, incarnation, create, method, args } => {
            state.query(object, *incarnation, *create, method, args)
        }
        Question::Describe(object) => {
            let described = state.describe(object).map(|known| described(&known, state));
            described.ok_or_else(|| Problem::new(Slug::NoSuchObject, "there is no such object"))
        }
        Question::List { kind, prefix, after, limit } => {
            if state.type_name(*kind).is_none() {
                return Err(Problem::new(Slug::NoSuchType, "there is no such type"));
            }
            check_prefix(prefix)?;
            let objects = state.list(*kind, prefix, after.as_deref());
            Ok(list(state, objects, *limit, |last| last.object.name.clone()))
        }
        Question::ListAll { prefix, after, limit } => list_all(state, prefix, after.as_deref(), *limit),
        Question::Waits { .. } => waits(state, question, &|_| None),
        Question::History { .. } => {
            let detail = "what happened is remembered by a member, not by its state";
            Err(Problem::new(Slug::NoSuchMethod, detail))
        }
        Question::Backup => Err(Problem::new(Slug::NoSuchMethod, "a backup is read from a member's disk")),
        Question::Session(id) => session(state, principal, *id),
        Question::Types => Ok(types(state)),
        Question::Type(name) => user_type(state, name).map(|info| one_type(&info)),
        Question::Version(name, hash) => version(state, name, *hash),
        Question::Export { object, incarnation } => state.export(object, *incarnation),
        Question::TryMigration { object, incarnation, to } => state.try_migration(object, *incarnation, *to),
        Question::Counts => Ok(counts(state).finish()),
        Question::Ready if may_count(state, principal) => Ok(counts(state).finish()),
        Question::Ready => Ok(String::from("{}")),
        Question::Access { after } => Ok(state.shown_access(principal, after.as_deref())),
        Question::Tokens => Ok(state.shown_tokens()),
    }
}

/// A page of who waits for whom, which the principal may see.
pub(crate) fn waits(state: &State, question: &Question, when: &When<'_>) -> Result<String, Problem> {
    let Question::Waits { kind, prefix, after, limit } = question else {
        return Err(Problem::new(Slug::BadArgument, "another question"));
    };
    if kind.is_some_and(|kind| state.type_name(kind).is_none()) {
        return Err(Problem::new(Slug::NoSuchType, "there is no such type"));
    }
    check_prefix(prefix)?;
    let after = match (kind, after) {
        (_, None) => None,
        (Some(kind), Some(name)) => Some(ObjectName { kind: *kind, name: name.clone() }),
        (None, Some(path)) => Some(object_named(state, path)?),
    };
    let of = WaitsOf { kind: *kind, prefix, after: after.as_ref(), limit: *limit as usize };
    Ok(waits::page(state, &of, kind.is_none(), when))
}

fn may_count(state: &State, principal: &Principal) -> bool {
    state.admit_principal(principal).is_ok() && state.judge(principal, &Act::Know).is_ok()
}

/// An object by itself: also where it is.
fn described(known: &Description, state: &State) -> String {
    let slot = state.slot_of(&known.object).unwrap_or_default();
    let reply = describe(known, state).number("slot", u64::from(slot));
    reply.number("group", u64::from(state.slots().group())).finish()
}

/// An object of a list.
fn describe(known: &Description, state: &State) -> Reply {
    let reply = Reply::new()
        .text("type", &state.type_name(known.object.kind).unwrap_or_default())
        .text("name", &known.object.name)
        .number("incarnation", known.incarnation)
        .flag("explicit", known.explicit)
        .number("waiting", u64::from(known.waiting))
        .number("position", state.position());
    match &known.user {
        Some(user) => reply
            .text("version", &user.version.to_string())
            .number("memory_bytes", user.memory_bytes)
            .flag("busy", user.is_busy)
            .number("failures", user.failures)
            .optional_text("last_failure", user.last_failure.as_deref())
            .optional_text("quarantined", user.quarantined.as_deref())
            .optional_text("before", user.before.map(|hash| hash.to_string()).as_deref()),
        None => reply,
    }
}

fn user_type(state: &State, name: &str) -> Result<TypeInfo, Problem> {
    let kind = state.type_named(name);
    let info = kind.and_then(|kind| state.user_type(kind));
    info.ok_or_else(|| Problem::new(Slug::NoSuchType, format!("there is no type `{name}`")))
}

fn types(state: &State) -> String {
    let types = state.user_types().map(|info| one_type(&info));
    Reply::new().list("types", types).number("position", state.position()).finish()
}

fn one_type(info: &TypeInfo) -> String {
    let current = info.versions.iter().find(|version| Some(version.hash) == info.current);
    let versions = info.versions.iter().map(|version| shown_version(version).finish());
    Reply::new()
        .text("name", &info.name)
        .flag("built_in", false)
        .optional_text("version", info.current.map(|hash| hash.to_string()).as_deref())
        .list("versions", versions)
        .optional_raw("description", current.map(|version| version.description.as_str()))
        .finish()
}

fn shown_version(version: &VersionInfo) -> Reply {
    Reply::new()
        .text("version", &version.hash.to_string())
        .text("state", version.state)
        .optional_text("rejected", version.rejected.as_deref())
        .optional_text("creations_stopped", version.stopped.as_deref())
        .number("since", version.since)
        .text("module", &VersionHash(version.module).to_string())
        .number("objects", version.objects)
}

fn version(state: &State, name: &str, hash: VersionHash) -> Result<String, Problem> {
    let info = user_type(state, name)?;
    let found = info.versions.iter().find(|version| version.hash == hash);
    let missing = || Problem::new(Slug::NoSuchType, format!("type `{name}` has no version {hash}"));
    let found = found.ok_or_else(missing)?;
    Ok(shown_version(found).raw("description", &found.description).finish())
}

fn check_prefix(prefix: &str) -> Result<(), Problem> {
    match prefix.len() > NAME_BYTES_MAX {
        true => Err(Problem::new(Slug::BadArgument, "a prefix is longer than names are")),
        false => Ok(()),
    }
}

/// The object of that path, whether it is there or not.
fn object_named(state: &State, path: &str) -> Result<ObjectName, Problem> {
    let (kind, name) = path.split_once('/').unwrap_or((path, ""));
    let kind = state.type_named(kind).ok_or_else(|| {
        let detail = "`after` is no TYPE/NAME of a type that is there: give the `next` of the page before";
        Problem::new(Slug::BadArgument, detail)
    })?;
    Ok(ObjectName { kind, name: name.into() })
}

/// A page of objects. `named` is what the next page is asked for with.
fn list(
    state: &State,
    mut objects: impl Iterator<Item = Description>,
    limit: u32,
    named: impl FnOnce(&Description) -> String,
) -> String {
    let page: Vec<_> = objects.by_ref().take((limit as usize).clamp(1, LISTED_MAX)).collect();
    let is_last = objects.next().is_none();
    let next = page.last().filter(|_| !is_last).map(named);
    let shown = page.iter().map(|known| describe(known, state).finish());
    Reply::new().list("objects", shown).optional_text("next", next.as_deref()).finish()
}

/// A page of the objects of all types.
fn list_all(state: &State, prefix: &str, after: Option<&str>, limit: u32) -> Result<String, Problem> {
    check_prefix(prefix)?;
    let after = after.map(|after| object_named(state, after)).transpose()?;
    let path = |last: &Description| {
        let kind = state.type_name(last.object.kind).unwrap_or_default();
        format!("{kind}/{}", last.object.name)
    };
    Ok(list(state, state.list_all(prefix, after.as_ref()), limit, path))
}

fn session(state: &State, principal: &Principal, id: SessionId) -> Result<String, Problem> {
    let session = state.session(id);
    let session = session.ok_or_else(|| Problem::new(Slug::SessionExpired, "there is no such session"))?;
    if session.principal != principal.name && !state.administers(principal) {
        return Err(Problem::new(Slug::Forbidden, "the session is another principal's"));
    }
    let reply = Reply::new()
        .text("session", &id.to_string())
        .optional_text("name", session.name.as_deref())
        .number("generation", u64::from(session.generation))
        .int("ttl_ms", session.ttl_ms)
        .number("since", session.since)
        .number("holdings", u64::from(session.holdings))
        .number("tickets", u64::from(session.tickets))
        .number("unacknowledged", u64::from(session.unacknowledged))
        .number("floor", session.floor);
    Ok(reply.finish())
}

/// What a client is told that renewed its session.
pub(crate) fn renewed(id: SessionId, session: &Session) -> String {
    Reply::new()
        .text("session", &id.to_string())
        .number("generation", u64::from(session.generation))
        .int("ttl_ms", session.ttl_ms)
        .finish()
}

/// A group: how much there is, which slots it has, and the numbers of its members.
fn group(state: &State, members: &Membership) -> String {
    let all = members.voters.iter().chain(&members.learners);
    let numbers: BTreeSet<_> = all.map(|member| member.number().0).collect();
    counts(state)
        .number("group", u64::from(state.slots().group()))
        .text("slots", &state.slots().shown())
        .list("members", numbers.iter().map(ToString::to_string))
        .finish()
}

fn counts(state: &State) -> Reply {
    let [objects, sessions, waiting, keys] = state.counts();
    Reply::new()
        .number("objects", objects)
        .number("sessions", sessions)
        .number("waiting", waiting)
        .number("keys", keys)
        .number("position", state.position())
        .int("stamp_ms", state.stamp().ms())
        .text("digest", &format!("{:016x}", state.digest()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_type_and_session_are_refused() {
        let state = State::new();
        let kind = objects_state::TypeId(250);
        let list = Question::List { kind, prefix: String::new(), after: None, limit: 10 };
        let slug = |question: &Question| match answer(&state, &Membership::default(), &"ada".into(), question)
        {
            Outcome::Refused(problem) => problem.slug,
            Outcome::Done(result) => panic!("{result}"),
        };
        assert_eq!(slug(&list), Slug::NoSuchType);
        let all =
            |after: &str| Question::ListAll { prefix: String::new(), after: Some(after.into()), limit: 10 };
        assert_eq!((slug(&all("none/a")), slug(&all("none"))), (Slug::BadArgument, Slug::BadArgument));
        assert_eq!(slug(&Question::Session(SessionId([1; 16]))), Slug::SessionExpired);
    }
}
