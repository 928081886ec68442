//! Who asks, and whether that may: where a request comes in, and again for what goes on when tokens or rights change.

use base::MonoTime;
use objects_state::{Act, Authority, Command, Principal, Problem, Slug, State};

use super::ObjectsMachine;
use crate::edge::{Question, Request, Subject};
use crate::query;
use crate::watches::Watched;

/// Puts a request under the principal of its token, if it has one, who must be one that may ask anything.
///
/// # Errors
/// With its refusal. Of a token that nobody knows the request is as it came.
pub(super) fn admit(request: &mut Request, state: &State) -> Result<(), Problem> {
    if let Request::ByToken { hash, request: asked } = request {
        let (Some(principal), Some(place)) = (state.principal_of(hash), asked.principal_mut()) else {
            return Err(turned_away(request, unknown_token()));
        };
        *place = principal;
        *request = asked.take();
    }
    let admitted = match (&*request, request.principal()) {
        // A probe may be anybody's.
        (Request::Query { question: Question::Ready, .. }, _) | (_, None) => Ok(()),
        (_, Some(principal)) => state.admit_principal(principal),
    };
    admitted.map_err(|problem| turned_away(request, problem))
}

fn turned_away(request: &Request, problem: Problem) -> Problem {
    match request.command().and_then(Command::caller) {
        Some(caller) => caller.turned_away(problem),
        None => problem,
    }
}

/// Whether a request that is admitted may be carried out, as far as the state of now can say. A command is judged again at its
/// position, a query where it is evaluated.
///
/// # Errors
/// With the refusal.
pub(super) fn judge(request: &Request, state: &State) -> Result<(), Problem> {
    match request {
        Request::Command { command, .. } => state.judge_command(command),
        Request::Watch { principal, subject: Subject::Object(object), .. } => {
            state.judge(principal, &Act::See(object))
        }
        _ => Ok(()),
    }
}

/// The refusal of a request whose token nobody knows.
fn unknown_token() -> Problem {
    let detail = "there is no such token, or it was revoked, or it has ended: send another one of the same principal, which an \
                  administrator makes with `diwan object token create`";
    Problem::new(Slug::Unauthenticated, detail)
}

impl ObjectsMachine {
    /// Tokens or rights may have changed: what goes on without the right ends. What waits in the state has ended there.
    pub(super) fn judge_again(&mut self, state: &State, now: MonoTime) {
        if self.access_changes == state.access_changes() {
            return;
        }
        self.access_changes = state.access_changes();
        let may = |principal: &Principal, watched: &Watched| {
            state.admit_principal(principal)?;
            match watched {
                Watched::Object(object) => state.judge(principal, &Act::See(object)),
                Watched::Session(_) => Ok(()),
            }
        };
        self.watches.judge(may, &mut self.out);
        let may = |principal: &Principal| query::judge(state, principal, &Question::Backup);
        self.backups.judge(may, now, &mut self.out);
        let is_valid = |authority: Authority| match authority {
            Authority::Token(number) => state.has_token(number),
            Authority::Member | Authority::Root => true,
        };
        for origin in self.joined.take_unvouched(is_valid) {
            self.out.refuse(origin, unknown_token());
        }
    }
}
