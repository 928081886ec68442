//! What there is, in OpenAPI 3.1, made from the descriptions of the types.

use objects_state::{Json, Method, MethodKind, Reply, TYPES, TypeId, constructor, methods, type_name};

use crate::arguments::field;
use crate::schema::{Kind, constructor_kind_of, kind_of};

fn text(text: &str) -> String {
    let object = Reply::new().text("t", text).finish();
    object.strip_prefix("{\"t\":").and_then(|rest| rest.strip_suffix('}')).unwrap_or_default().into()
}

fn properties(arguments: &[&str], kind: impl Fn(&str) -> Option<Kind>) -> Reply {
    let mut properties = Reply::new();
    for argument in arguments {
        properties = properties.raw(argument, kind(argument).unwrap_or(Kind::Value).schema());
    }
    properties
}

fn object_schema(properties: Reply) -> String {
    Reply::new()
        .text("type", "object")
        .raw("properties", &properties.finish())
        .flag("additionalProperties", false)
        .finish()
}

const fn kind_name(kind: MethodKind) -> &'static str {
    match kind {
        MethodKind::Query => "query",
        MethodKind::Command => "command",
        MethodKind::Blocking => "blocking",
        MethodKind::Either => "query, blocking with wait_ms",
    }
}

fn arguments(object: TypeId, method: &Method) -> Reply {
    let properties = properties(method.args, |argument| kind_of(object, argument));
    if matches!(method.kind, MethodKind::Blocking | MethodKind::Either) {
        return properties.raw("wait_ms", Kind::Integer.schema());
    }
    properties
}

/// A type, with its methods and their arguments.
pub(crate) fn one_type(object: TypeId) -> String {
    let method = |method: &Method| {
        Reply::new()
            .text("name", method.name)
            .text("kind", kind_name(method.kind))
            .raw("arguments", &object_schema(arguments(object, method)))
            .finish()
    };
    let constructor = properties(constructor(object), |argument| constructor_kind_of(object, argument));
    Reply::new()
        .text("name", type_name(object).unwrap_or_default())
        .flag("built_in", true)
        .raw("constructor", &object_schema(constructor))
        .list("methods", methods(object).iter().map(method))
        .finish()
}

/// All types: the built-in ones, and those of users.
pub(crate) fn types(users: &[Json]) -> String {
    let built_in = TYPES.iter().map(|(object, _)| one_type(*object));
    Reply::new().list("types", built_in.chain(users.iter().map(Json::canonical))).finish()
}

/// The types of users in an answer of the core.
pub(crate) fn user_types(answer: &str) -> Vec<Json> {
    match Json::parse(answer.as_bytes()) {
        Ok(Json::Object(fields)) => match field(&fields, "types") {
            Some(Json::List(types)) => types.clone(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn member<'a>(json: &'a Json, name: &str) -> Option<&'a Json> {
    match json {
        Json::Object(fields) => field(fields, name),
        _ => None,
    }
}

fn word<'a>(json: &'a Json, name: &str) -> Option<&'a str> {
    match member(json, name) {
        Some(Json::Text(text)) => Some(text),
        _ => None,
    }
}

/// The paths of a type of users, as its description has them.
fn user_paths(mut paths: Reply, user: &Json) -> Reply {
    let (Some(name), Some(description)) = (word(user, "name"), member(user, "description")) else {
        return paths;
    };
    let constructor = member(description, "constructor").map_or_else(|| String::from(ANY), Json::canonical);
    paths = paths.raw(&format!("/objects/{name}/{{name}}"), &described_path(name, constructor));
    let Some(Json::Object(methods)) = member(description, "methods") else { return paths };
    for (method, about) in methods {
        let kind = word(about, "kind").unwrap_or("command");
        let form = match word(about, "codec").or_else(|| word(description, "codec")) {
            Some("raw") => Form::Bytes,
            _ => Form::Json(member(about, "args").map_or_else(|| String::from(ANY), Json::canonical)),
        };
        let (waits, summary) = (kind == "blocking", format!("{name}.{method} ({kind})"));
        let body = operation_of(&summary, waits_parameters(waits), (Some(&form), &form), waits);
        let mut path = Reply::new().list("parameters", path_parameters("{name}")).raw("post", &body);
        if kind == "query" {
            let get = operation_of(&summary, freshness_parameters(), (None, &form), false);
            path = path.raw("get", &get);
        }
        paths = paths.raw(&format!("/objects/{name}/{{name}}/{method}"), &path.finish());
    }
    paths
}

/// The schema of what nobody has described.
const ANY: &str = r#"{"type":"object"}"#;

/// The document: of all types, or of one. Nothing if there is no type of that name.
pub(crate) fn document(only: Option<&str>, users: &[Json]) -> Option<String> {
    let is_wanted = |name: &str| only.is_none_or(|only| only == name);
    let mut paths = Reply::new();
    let mut found = only.is_none();
    for (object, name) in TYPES.iter().filter(|(_, name)| is_wanted(name)) {
        found = true;
        paths = paths.raw(&format!("/objects/{name}/{{name}}"), &object_path(*object, name));
        for method in methods(*object) {
            paths = paths.raw(
                &format!("/objects/{name}/{{name}}/{}", method.name),
                &method_path(*object, name, method),
            );
        }
    }
    for user in users.iter().filter(|user| word(user, "name").is_some_and(is_wanted)) {
        found = true;
        paths = user_paths(paths, user);
    }
    if !found {
        return None;
    }
    if only.is_none() {
        for (path, verbs) in OTHERS {
            paths = paths.raw(path, &other_path(path, verbs));
        }
    }
    let info = Reply::new().text("title", "Diwan: live replicated objects").text("version", "1").finish();
    let document = Reply::new()
        .text("openapi", "3.1.0")
        .raw("info", &info)
        .raw("servers", "[{\"url\":\"/v1\"}]")
        .raw("paths", &paths.finish())
        .raw("components", COMPONENTS)
        .raw("security", "[{},{\"token\":[]}]")
        .finish();
    Some(document)
}

/// What belongs to no type: path, method and meaning.
const OTHERS: &[(&str, &[(&str, &str)])] = &[
    ("/objects", &[("get", "List the objects of a type, or of all types")]),
    ("/objects/{type}/{name}:batch", &[("post", "Call several methods of one object")]),
    (
        "/objects/{type}/{name}/events",
        &[(
            "get",
            "Events of an object, as Server-Sent Events; with `follow=false` those that are remembered, as JSON",
        )],
    ),
    ("/waits", &[("get", "List the objects for which calls wait, with these calls and with the holders")]),
    (
        "/tickets/{id}",
        &[("get", "Collect the result of a call that waits"), ("delete", "Cancel a call that waits")],
    ),
    ("/sessions", &[("post", "Open a session")]),
    ("/sessions/{id}", &[("get", "Show a session"), ("delete", "Close a session")]),
    ("/sessions/{id}/renew", &[("post", "Renew a session")]),
    (
        "/sessions/{id}/events",
        &[("get", "Events of a session; its open stream renews it, but for `keep=false`")],
    ),
    ("/types", &[("get", "List the types")]),
    ("/types/{type}", &[("get", "Describe a type"), ("post", "Upload a version of a type")]),
    (
        "/types/{type}/{version}",
        &[("get", "Describe a version"), ("delete", "Delete a version that no object has")],
    ),
    (
        "/types/{type}/{version}:release",
        &[("post", "Create objects of a version again that has killed members")],
    ),
    ("/objects/{type}/{name}:migrate", &[("post", "Take an object to another version of its type")]),
    (
        "/objects/{type}/{name}:rollback",
        &[("post", "Take an object back to the version before its migration")],
    ),
    ("/objects/{type}/{name}:quarantine", &[("post", "Have an object run nothing")]),
    ("/objects/{type}/{name}:release", &[("post", "Have an object run again")]),
    ("/access", &[("get", "Whether access is open, and who may do what")]),
    ("/access/open", &[("post", "Open access: rights are not looked at")]),
    ("/access/close", &[("post", "Close access: rights are looked at")]),
    ("/access/allow", &[("post", "Give a principal rights")]),
    ("/access/deny", &[("post", "Take rights from a principal")]),
    ("/access/role", &[("post", "Set the rights of a role, or the roles of a principal")]),
    ("/access/quota", &[("post", "Set how much a namespace or a principal may have")]),
    (
        "/tokens",
        &[("get", "List the tokens, without their secrets"), ("post", "Create a token, which is shown once")],
    ),
    ("/tokens/{number}", &[("delete", "Revoke a token")]),
    ("/principals/{principal}", &[("delete", "Revoke all tokens and rights of a principal")]),
    (
        "/backup",
        &[(
            "get",
            "A snapshot of this member, of all that was answered before: a file for `diwan object restore`",
        )],
    ),
    ("/groups", &[("get", "The group, its slots and members, and how much there is")]),
    ("/live", &[("get", "Whether the process serves")]),
    ("/ready", &[("get", "Whether the member has a leader")]),
];

const COMPONENTS: &str = include_str!("components.json");

/// The form of arguments, and of the result.
enum Form {
    /// JSON; the schema of the arguments.
    Json(String),
    Bytes,
}

/// The content of bytes.
const OF_BYTES: &str = r#"{"application/octet-stream":{"schema":{"type":"string","format":"binary"}}}"#;

fn responses(result: &Form, waits: bool) -> String {
    let result = match result {
        Form::Json(_) => String::from("{\"$ref\":\"#/components/responses/Result\"}"),
        Form::Bytes => format!("{{\"description\":\"The result, as bytes\",\"content\":{OF_BYTES}}}"),
    };
    let responses = Reply::new().raw("200", &result);
    let responses =
        if waits { responses.raw("202", "{\"$ref\":\"#/components/responses/Waits\"}") } else { responses };
    responses.raw("default", "{\"$ref\":\"#/components/responses/Problem\"}").finish()
}

fn parameter(name: &str, place: &str, schema: &str) -> String {
    let parameter = Reply::new().text("name", name).text("in", place);
    let parameter = if place == "path" { parameter.flag("required", true) } else { parameter };
    parameter.raw("schema", schema).finish()
}

fn operation(summary: &str, parameters: Vec<String>, body: Option<String>, waits: bool) -> String {
    let body = body.map(Form::Json);
    let result = Form::Json(String::new());
    operation_of(summary, parameters, (body.as_ref(), &result), waits)
}

/// The same, of a body and a result in these forms.
fn operation_of(
    summary: &str,
    parameters: Vec<String>,
    (body, result): (Option<&Form>, &Form),
    waits: bool,
) -> String {
    let operation = Reply::new().text("summary", summary).list("parameters", parameters);
    let content = body.map(|body| match body {
        Form::Json(schema) => format!("{{\"application/json\":{{\"schema\":{schema}}}}}"),
        Form::Bytes => String::from(OF_BYTES),
    });
    let operation = match content {
        Some(content) => operation.raw("requestBody", &format!("{{\"content\":{content}}}")),
        None => operation,
    };
    operation.raw("responses", &responses(result, waits)).finish()
}

fn path_parameters(path: &str) -> Vec<String> {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    names.map(|name| parameter(name, "path", Kind::Text.schema())).collect()
}

fn object_path(object: TypeId, name: &str) -> String {
    let constructor = properties(constructor(object), |argument| constructor_kind_of(object, argument));
    described_path(name, object_schema(constructor))
}

fn described_path(name: &str, constructor: String) -> String {
    let create = operation(&format!("Create a {name}"), Vec::new(), Some(constructor), false);
    Reply::new()
        .list("parameters", path_parameters("{name}"))
        .raw("put", &create)
        .raw("get", &operation(&format!("Describe a {name}"), Vec::new(), None, false))
        .raw("delete", &operation(&format!("Delete a {name}"), Vec::new(), None, false))
        .finish()
}

fn method_path(object: TypeId, name: &str, method: &Method) -> String {
    let summary = format!("{name}.{} ({})", method.name, kind_name(method.kind));
    let waits = matches!(method.kind, MethodKind::Blocking | MethodKind::Either);
    let parameters = waits_parameters(waits);
    let body = object_schema(arguments(object, method));
    let path = Reply::new().list("parameters", path_parameters("{name}"));
    let path = path.raw("post", &operation(&summary, parameters, Some(body), waits));
    if !matches!(method.kind, MethodKind::Query | MethodKind::Either) {
        return path.finish();
    }
    let arguments = method.args.iter().map(|argument| {
        parameter(argument, "query", kind_of(object, argument).unwrap_or(Kind::Value).schema())
    });
    let parameters = arguments.chain(freshness_parameters()).collect();
    path.raw("get", &operation(&summary, parameters, None, false)).finish()
}

fn waits_parameters(waits: bool) -> Vec<String> {
    let names: &[&str] = if waits { &["wait_ms", "hold_ms"] } else { &[] };
    names.iter().map(|name| parameter(name, "query", Kind::Integer.schema())).collect()
}

fn freshness_parameters() -> Vec<String> {
    let consistency = format!("{{\"enum\":[{},{}]}}", text("linearizable"), text("stale"));
    vec![
        parameter("consistency", "query", &consistency),
        parameter("min_position", "query", Kind::Integer.schema()),
    ]
}

fn other_path(path: &str, verbs: &[(&str, &str)]) -> String {
    let mut shown = Reply::new().list("parameters", path_parameters(path));
    for (verb, summary) in verbs {
        shown = shown.raw(verb, &operation(summary, Vec::new(), None, false));
    }
    shown.finish()
}
