//! What there is, in OpenAPI 3.1, made from the descriptions of the types.

use objects_state::{Method, MethodKind, Reply, TYPES, TypeId, constructor, methods, type_name};

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

/// All types.
pub(crate) fn types() -> String {
    Reply::new().list("types", TYPES.iter().map(|(object, _)| one_type(*object))).finish()
}

/// The document: of all types, or of one.
pub(crate) fn document(only: Option<TypeId>) -> String {
    let mut paths = Reply::new();
    for (object, name) in TYPES.iter().filter(|(object, _)| only.is_none_or(|only| only == *object)) {
        paths = paths.raw(&format!("/objects/{name}/{{name}}"), &object_path(*object, name));
        for method in methods(*object) {
            paths = paths.raw(
                &format!("/objects/{name}/{{name}}/{}", method.name),
                &method_path(*object, name, method),
            );
        }
    }
    if only.is_none() {
        for (path, verbs) in OTHERS {
            paths = paths.raw(path, &other_path(path, verbs));
        }
    }
    let info = Reply::new().text("title", "Diwan: live replicated objects").text("version", "1").finish();
    Reply::new()
        .text("openapi", "3.1.0")
        .raw("info", &info)
        .raw("servers", "[{\"url\":\"/v1\"}]")
        .raw("paths", &paths.finish())
        .raw("components", COMPONENTS)
        .finish()
}

/// What belongs to no type: path, method and meaning.
const OTHERS: &[(&str, &[(&str, &str)])] = &[
    ("/objects", &[("get", "List the objects of a type")]),
    ("/objects/{type}/{name}:batch", &[("post", "Call several methods of one object")]),
    ("/objects/{type}/{name}/events", &[("get", "Events of an object, as Server-Sent Events")]),
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
    ("/types/{type}", &[("get", "Describe a type")]),
    ("/groups", &[("get", "How much there is")]),
    ("/live", &[("get", "Whether the process serves")]),
    ("/ready", &[("get", "Whether the member has a leader")]),
];

const COMPONENTS: &str = include_str!("components.json");

fn responses(waits: bool) -> String {
    let responses = Reply::new().raw("200", "{\"$ref\":\"#/components/responses/Result\"}");
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
    let operation = Reply::new().text("summary", summary).list("parameters", parameters);
    let operation = match body {
        Some(schema) => {
            let content = format!("{{\"content\":{{\"application/json\":{{\"schema\":{schema}}}}}}}");
            operation.raw("requestBody", &content)
        }
        None => operation,
    };
    operation.raw("responses", &responses(waits)).finish()
}

fn path_parameters(path: &str) -> Vec<String> {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    names.map(|name| parameter(name, "path", Kind::Text.schema())).collect()
}

fn object_path(object: TypeId, name: &str) -> String {
    let constructor = properties(constructor(object), |argument| constructor_kind_of(object, argument));
    let create = operation(&format!("Create a {name}"), Vec::new(), Some(object_schema(constructor)), false);
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
    let mut parameters = Vec::new();
    if waits {
        parameters.push(parameter("wait_ms", "query", Kind::Integer.schema()));
        parameters.push(parameter("hold_ms", "query", Kind::Integer.schema()));
    }
    let body = object_schema(arguments(object, method));
    let path = Reply::new().list("parameters", path_parameters("{name}"));
    let path = path.raw("post", &operation(&summary, parameters, Some(body), waits));
    if !matches!(method.kind, MethodKind::Query | MethodKind::Either) {
        return path.finish();
    }
    let arguments = method.args.iter().map(|argument| {
        parameter(argument, "query", kind_of(object, argument).unwrap_or(Kind::Value).schema())
    });
    let consistency = format!("{{\"enum\":[{},{}]}}", text("linearizable"), text("stale"));
    let freshness = [
        parameter("consistency", "query", &consistency),
        parameter("min_position", "query", Kind::Integer.schema()),
    ];
    let parameters = arguments.chain(freshness).collect();
    path.raw("get", &operation(&summary, parameters, None, false)).finish()
}

fn other_path(path: &str, verbs: &[(&str, &str)]) -> String {
    let mut shown = Reply::new().list("parameters", path_parameters(path));
    for (verb, summary) in verbs {
        shown = shown.raw(verb, &operation(summary, Vec::new(), None, false));
    }
    shown.finish()
}
