//! Requests that name a type by a word: the state of this member knows its number.

use objects_state::{Act, Call, Caller, Command, Identity, MethodKind, Problem, Slug, State, TypeId};

use crate::edge::{Question, Request, SessionProof, Subject};

/// Puts the number of its type into a request that names one. False if the state knows no type of that name: then it is as it came.
pub(crate) fn find(request: &mut Request, state: &State) -> bool {
    let Request::OfType { type_name, request: asked, .. } = request else { return true };
    let Some(kind) = state.type_named(type_name) else { return false };
    set_type(asked, kind);
    true
}

/// Takes the request out whose type was found.
pub(crate) fn unfold(request: &mut Request, state: &State) {
    let Request::OfType { request: asked, consistency, min_position, .. } = request else { return };
    let (consistency, min_position) = (*consistency, *min_position);
    *request = match asked.take() {
        Request::Command { command: Command::Call(call), secret_hash } if is_query(&call, state) => {
            // As a query of a built-in type that was sent by POST.
            let proof = proof_of_caller(&call.caller, secret_hash);
            let (object, incarnation) = (call.object, call.incarnation);
            let (method, args) = (call.invocation.method.into(), call.invocation.args);
            let question = Question::Method { object, incarnation, create: false, method, args };
            let (origin, principal) = (call.caller.origin, call.caller.principal);
            Request::Query { origin, principal, question, consistency, min_position, proof }
        }
        asked => asked,
    };
}

/// Whether a call is answered from this member's state: it is a query, or its object is not there, and nobody can tell whether it
/// is one. A call does not make objects of users' types, so the state refuses both. In the log it may come behind its object, which
/// refuses queries there. One that may be sent again goes there all the same: the same request may be there already.
fn is_query(call: &Call, state: &State) -> bool {
    let (is_there, kind) = state.method_kind(&call.object, &call.invocation.method);
    kind == Some(MethodKind::Query) || (!is_there && call.caller.identity == Identity::Anonymous)
}

/// Whether nobody can say yet if a call, whose type was found, is a query: this member's state does not have its object, and so not its version.
pub(crate) fn may_be_a_query(request: &Request, state: &State) -> bool {
    let Request::OfType { request, .. } = request else { return false };
    matches!(&**request, Request::Command { command: Command::Call(call), .. } if !state.is_there(&call.object))
}

/// Whether arguments are in the form that the method takes, as far as this member's state knows it. The type was found.
///
/// # Errors
/// They are JSON, and it takes bytes.
pub(crate) fn check_codec(request: &Request, state: &State) -> Result<(), Problem> {
    let Request::OfType { request, is_bytes: false, .. } = request else { return Ok(()) };
    let (object, method, args) = match &**request {
        Request::Command { command: Command::Call(call), .. } => {
            (&call.object, call.invocation.method.as_str(), &call.invocation.args)
        }
        Request::Query { question: Question::Method { object, method, args, .. }, .. } => {
            (object, &**method, args)
        }
        _ => return Ok(()),
    };
    if args.is_empty() || !state.has_methods_of_bytes(object.kind) {
        return Ok(());
    }
    // Who may not call it learns nothing of it here.
    let may_call =
        request.principal().is_some_and(|own| state.judge(own, &Act::Method(object, method)).is_ok());
    if may_call && state.takes_bytes(object, method) {
        let detail = "the method takes bytes: send them with `Content-Type: application/octet-stream`";
        return Err(Problem::new(Slug::BadCodec, detail));
    }
    Ok(())
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
