//! Requests that name a type by a word: the state of this member knows its number.

use objects_state::{Caller, Command, Identity, MethodKind, State, TypeId};

use crate::edge::{Question, Request, SessionProof, Subject};

/// A request with its type's number in place, if the state knows a type of that name; otherwise as it came.
#[expect(clippy::result_large_err, reason = "what cannot be resolved waits, as it came")]
pub(crate) fn resolved(request: Request, state: &State) -> Result<Request, Request> {
    let Request::OfType { type_name, request, consistency, min_position } = request else {
        return Ok(request);
    };
    let Some(kind) = state.type_named(&type_name) else {
        return Err(Request::OfType { type_name, request, consistency, min_position });
    };
    let mut request = *request;
    set_type(&mut request, kind);
    Ok(match request {
        Request::Command { command: Command::Call(call), secret_hash }
            if state.method_kind(&call.object, &call.invocation.method) == Some(MethodKind::Query) =>
        {
            // As a query of a built-in type that was sent by POST.
            let proof = proof_of_caller(&call.caller, secret_hash);
            let (object, incarnation) = (call.object, call.incarnation);
            let (method, args) = (call.invocation.method, call.invocation.args);
            let question = Question::Method { object, incarnation, create: false, method, args };
            let (origin, principal) = (call.caller.origin, call.caller.principal);
            Request::Query { origin, principal, question, consistency, min_position, proof }
        }
        request => request,
    })
}

fn set_type(request: &mut Request, to: TypeId) {
    match request {
        Request::Command { command, .. } => match command {
            Command::Call(call) => call.object.kind = to,
            Command::Batch(batch) => batch.object.kind = to,
            Command::Create { object, .. }
            | Command::Delete { object, .. }
            | Command::Migrate { object, .. }
            | Command::Quarantine { object, .. }
            | Command::Import { object, .. }
            | Command::Rollback { object, .. } => object.kind = to,
            _ => {}
        },
        Request::Query { question, .. } => match question {
            Question::Method { object, .. }
            | Question::Describe(object)
            | Question::Export { object, .. }
            | Question::History { object, .. }
            | Question::TryMigration { object, .. } => object.kind = to,
            Question::List { kind, .. } => *kind = to,
            Question::Waits { kind, .. } => *kind = Some(to),
            _ => {}
        },
        Request::Watch { subject: Subject::Object(object), .. } => object.kind = to,
        _ => {}
    }
}

/// What a caller proves by the hash of its session's secret.
pub(crate) const fn proof_of_caller(caller: &Caller, secret_hash: Option<[u8; 32]>) -> Option<SessionProof> {
    match (&caller.identity, secret_hash) {
        (Identity::Session { session, .. }, Some(secret_hash)) => {
            Some(SessionProof { session: *session, secret_hash })
        }
        _ => None,
    }
}
