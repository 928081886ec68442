//! What queries are answered on a state: also for an edge that is lent it.

use objects_state::limits::NAME_BYTES_MAX;
use objects_state::{Description, Outcome, Problem, Reply, Session, SessionId, Slug, State, type_name};

use crate::edge::Question;
use crate::limits::LISTED_MAX;

/// Answers a question on this state.
#[must_use]
pub fn answer(state: &State, principal: &str, question: &Question) -> Outcome {
    let result = match question {
        Question::Method { object, incarnation, create, method, args } => {
            state.query(object, *incarnation, *create, method, args)
        }
        Question::Describe(object) => {
            let described = state.describe(object).map(|known| describe(&known, state.position()));
            described.ok_or_else(|| Problem::new(Slug::NoSuchObject, "there is no such object"))
        }
        Question::List { kind, prefix, after, limit } => {
            if type_name(*kind).is_none() {
                Err(Problem::new(Slug::NoSuchType, "there is no such type"))
            } else if prefix.len() > NAME_BYTES_MAX {
                Err(Problem::new(Slug::BadArgument, "a prefix is longer than names are"))
            } else {
                let limit = (*limit as usize).clamp(1, LISTED_MAX);
                Ok(list(state, state.list(*kind, prefix, after.as_deref()), limit))
            }
        }
        Question::Session(id) => session(state, principal, *id),
        Question::Counts => Ok(counts(state)),
    };
    match result {
        Ok(result) => Outcome::Done(result),
        Err(problem) => Outcome::Refused(Problem { position: state.position(), ..problem }),
    }
}

fn describe(known: &Description, position: u64) -> String {
    Reply::new()
        .text("type", type_name(known.object.kind).unwrap_or(""))
        .text("name", &known.object.name)
        .number("incarnation", known.incarnation)
        .flag("explicit", known.explicit)
        .number("waiting", u64::from(known.waiting))
        .number("position", position)
        .finish()
}

fn list(state: &State, mut objects: impl Iterator<Item = Description>, limit: usize) -> String {
    let page: Vec<_> = objects.by_ref().take(limit).collect();
    let is_last = objects.next().is_none();
    let next = page.last().filter(|_| !is_last).map(|last| last.object.name.as_str());
    let shown = page.iter().map(|known| describe(known, state.position()));
    Reply::new().list("objects", shown).optional_text("next", next).finish()
}

fn session(state: &State, principal: &str, id: SessionId) -> Result<String, Problem> {
    let session = state.session(id);
    let session = session.ok_or_else(|| Problem::new(Slug::SessionExpired, "there is no such session"))?;
    if session.principal != principal {
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

fn counts(state: &State) -> String {
    let [objects, sessions, waiting, keys] = state.counts();
    Reply::new()
        .number("objects", objects)
        .number("sessions", sessions)
        .number("waiting", waiting)
        .number("keys", keys)
        .number("position", state.position())
        .int("stamp_ms", state.stamp().ms())
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_type_and_session_are_refused() {
        let state = State::new();
        let kind = objects_state::TypeId(250);
        let list = Question::List { kind, prefix: String::new(), after: None, limit: 10 };
        let slug = |question: &Question| match answer(&state, "ada", question) {
            Outcome::Refused(problem) => problem.slug,
            Outcome::Done(result) => panic!("{result}"),
        };
        assert_eq!(slug(&list), Slug::NoSuchType);
        assert_eq!(slug(&Question::Session(SessionId([1; 16]))), Slug::SessionExpired);
    }
}
