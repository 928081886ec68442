//! The arguments of calls, from bodies and from queries.

use objects_state::{Content, Invocation, Json, Method, Reply, TypeId, limits};

use crate::message::Fault;
use crate::schema::{Kind, kind_of};
use crate::target::Query;

/// Checks that a body is a JSON object, or nothing. Gives its fields. What is no JSON costs nobody but its sender.
pub(crate) fn body(body: &[u8]) -> Result<Vec<(String, Json)>, Fault> {
    if body.len() > limits::ARGUMENT_BYTES_MAX {
        return Err(Fault::too_large(limits::ARGUMENT_BYTES_MAX));
    }
    any_body(body)
}

pub(crate) fn any_body(body: &[u8]) -> Result<Vec<(String, Json)>, Fault> {
    if body.is_empty() {
        return Ok(Vec::new());
    }
    match Json::parse(body) {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(_) => Err(Fault::argument("", "the body is no JSON object")),
        Err(wrong) => Err(Fault::argument("", format!("not JSON: {} after {} bytes", wrong.why, wrong.at))),
    }
}

pub(crate) fn field<'a>(fields: &'a [(String, Json)], name: &str) -> Option<&'a Json> {
    fields.iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// Refuses fields of other names.
pub(crate) fn only(fields: &[(String, Json)], names: &[&str]) -> Result<(), Fault> {
    match fields.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        Some((name, _)) => Err(Fault::argument(name, "there is no such field")),
        None => Ok(()),
    }
}

pub(crate) fn integer(fields: &[(String, Json)], name: &str) -> Result<Option<i64>, Fault> {
    match field(fields, name) {
        None | Some(Json::Null) => Ok(None),
        Some(value) => {
            value.integer().map(Some).ok_or_else(|| Fault::argument(name, "not an integer of 64 bits"))
        }
    }
}

pub(crate) fn text(fields: &[(String, Json)], name: &str) -> Result<Option<String>, Fault> {
    match field(fields, name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Text(text)) => Ok(Some(text.clone())),
        Some(_) => Err(Fault::argument(name, "not a text")),
    }
}

/// The arguments of a query that was asked by GET.
pub(crate) fn of_query(object: TypeId, method: &Method, parameters: Query<'_>) -> Result<Vec<u8>, Fault> {
    if parameters.is_empty() {
        return Ok(Vec::new());
    }
    let mut args = Reply::new();
    for (name, value) in parameters.rest() {
        let is_known = method.args.contains(&&*name);
        let kind = is_known.then(|| kind_of(object, &name)).flatten();
        let Some(kind) = kind else { return Err(Fault::argument(&name, "the method has no such argument")) };
        args = match kind {
            Kind::Text => args.text(&name, &value),
            kind => args.raw(&name, &json(kind, &name, &value)?),
        };
    }
    Ok(args.finish().into_bytes())
}

/// The arguments of a query of a user's type that was asked by GET: JSON, and what is no JSON is text.
pub(crate) fn of_user_query(parameters: Query<'_>) -> Result<Vec<u8>, Fault> {
    if parameters.is_empty() {
        return Ok(Vec::new());
    }
    let mut args = Reply::new();
    for (name, value) in parameters.rest() {
        args = match Json::parse(value.as_bytes()) {
            Ok(json) => args.raw(&name, &json.canonical()),
            Err(_) => args.text(&name, &value),
        };
    }
    let args = args.finish().into_bytes();
    // A name that is there twice after its escapes are resolved was refused with the target.
    if args.len() > limits::ARGUMENT_BYTES_MAX {
        Err(Fault::too_large(limits::ARGUMENT_BYTES_MAX))
    } else {
        Ok(args)
    }
}

/// A parameter's value that is no text, as JSON.
fn json(kind: Kind, name: &str, value: &str) -> Result<String, Fault> {
    match kind {
        Kind::Integer => match value.parse::<i64>() {
            Ok(number) => Ok(number.to_string()),
            Err(_) => Err(Fault::argument(name, "not an integer of 64 bits")),
        },
        Kind::Flag if value == "true" || value == "false" => Ok(value.into()),
        Kind::Flag => Err(Fault::argument(name, "neither true nor false")),
        _ => match Json::parse(value.as_bytes()) {
            Ok(value) => Ok(value.canonical()),
            Err(wrong) => {
                let detail = format!("not JSON (a text has quotes): {} after {} bytes", wrong.why, wrong.at);
                Err(Fault::argument(name, detail))
            }
        },
    }
}

/// The calls of a batch: `{"calls":[{"method":..,"args":{..}},..]}`.
pub(crate) fn batch(body: &[u8]) -> Result<Vec<Invocation>, Fault> {
    let fields = any_body(body)?;
    only(&fields, &["calls"])?;
    let Some(Json::List(calls)) = field(&fields, "calls") else {
        return Err(Fault::argument("calls", "it is missing, or no list"));
    };
    if !(1..=limits::BATCH_MAX).contains(&calls.len()) {
        return Err(Fault::argument("calls", format!("not 1 to {} calls", limits::BATCH_MAX)));
    }
    (0..).zip(calls).map(|(index, call)| one_of_batch(index, call)).collect()
}

/// What an import makes an object of.
pub(crate) fn content(fields: &[(String, Json)]) -> Result<Content, Fault> {
    let object = |name: &str| match field(fields, name) {
        Some(value @ Json::Object(_)) => Ok(value.canonical().into_bytes()),
        _ => Err(Fault::argument(name, "it is missing, or no JSON object")),
    };
    if let Some(state) = field(fields, "state") {
        only(fields, &["export", "type", "name", "position", "version", "description", "state"])?;
        return Ok(Content::State {
            description: object("description")?,
            state: state.canonical().into_bytes(),
        });
    }
    only(fields, &["export", "type", "name", "position", "arguments", "calls", "left_out"])?;
    let Some(Json::List(calls)) = field(fields, "calls") else {
        return Err(Fault::argument("calls", "it is missing, or no list"));
    };
    if calls.len() > limits::IMPORT_CALLS_MAX {
        return Err(Fault::argument("calls", format!("more than {} calls", limits::IMPORT_CALLS_MAX)));
    }
    let calls = (0..).zip(calls).map(|(index, call)| one_of_batch(index, call)).collect::<Result<_, _>>()?;
    Ok(Content::Calls { arguments: object("arguments")?, calls })
}

fn one_of_batch(index: usize, call: &Json) -> Result<Invocation, Fault> {
    let wrong = |detail: &str| Fault::argument("calls", format!("call {index}: {detail}"));
    let Json::Object(fields) = call else { return Err(wrong("no JSON object")) };
    only(fields, &["method", "args"]).map_err(|_| wrong("it has other fields than `method` and `args`"))?;
    let Some(Json::Text(method)) = field(fields, "method") else {
        return Err(wrong("`method` is missing, or no text"));
    };
    let args = match field(fields, "args") {
        None | Some(Json::Null) => Vec::new(),
        Some(args @ Json::Object(_)) => args.canonical().into_bytes(),
        Some(_) => return Err(wrong("`args` is no JSON object")),
    };
    Ok(Invocation { method: method.clone(), args })
}
