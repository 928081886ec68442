//! Python: a class for threads, and one for asyncio.

use std::fmt::Write as _;

use super::described::{Argument, Calling, Described, Kind, Method};
use super::naming::{class, snake};

/// Words of the language, and what objects have already.
const TAKEN: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "call", "class", "cluster", "continue", "create",
    "def", "del", "delete", "describe", "elif", "else", "except", "finally", "for", "from", "global", "if",
    "import", "in", "is", "lambda", "name", "nonlocal", "not", "or", "pass", "raise", "return", "self",
    "stale", "try", "type", "while", "with", "yield", "batch", "wait",
];

/// Classes that the file uses.
const CLASSES: &[&str] = &["Any", "Async", "Dict", "False", "None", "Optional", "True"];

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "bool",
        Kind::Integer => "int",
        Kind::Number => "float",
        Kind::Text => "str",
        Kind::Any => "Any",
    }
}

/// The module.
pub(super) fn source(of: &Described) -> String {
    let Described { name, version, .. } = of;
    let class = class(name, CLASSES);
    let mut out = format!(
        "\"\"\"Objects of type `{name}`, version {version}. Made by `diwan object client`.\n\n    \
         {class}(cluster, \"name\"), with a `diwan.Cluster`; Async{class} with a `diwan.aio.Cluster`.\n\"\"\"\n\n\
         from __future__ import annotations\n\nfrom typing import Any, Dict, Optional\n\n\
         import diwan\nimport diwan.aio\n\n\n\
         def _given(args: Dict[str, Any]) -> Dict[str, Any]:\n    \
         return {{name: value for name, value in args.items() if value is not None}}\n"
    );
    for (prefix, module) in [("", "diwan"), ("Async", "diwan.aio")] {
        let _ = write!(
            out,
            "\n\nclass {prefix}{class}({module}.Object):\n    \"\"\"An object of type `{name}`.\"\"\"\n\n    \
             TYPE = \"{name}\"\n"
        );
        for method in &of.methods {
            out.push_str(&one(method, !prefix.is_empty()));
        }
    }
    out
}

fn parameter(argument: &Argument) -> String {
    let (name, kind) = (snake(&argument.name, TAKEN), kind(argument.kind));
    match argument.is_optional {
        true => format!("{name}: Optional[{kind}] = None"),
        false => format!("{name}: {kind}"),
    }
}

fn one(method: &Method, is_async: bool) -> String {
    let mut parameters = vec![String::from("self")];
    match &method.arguments {
        Some(arguments) => parameters.extend(arguments.iter().map(parameter)),
        None => parameters.push(String::from("args: Optional[Dict[str, Any]] = None")),
    }
    let (keyword, behind, told) = match method.calling {
        Calling::Command => ("", "", ""),
        Calling::Query => (", *, stale: bool = False", ", stale=stale", " `stale`: from one member's copy."),
        Calling::Blocking => {
            (", *, wait: Optional[float] = None", ", wait", " Waits `wait` seconds, for ever without it.")
        }
    };
    let needed =
        method.needed().map(|argument| format!("\"{}\": {}", argument.name, snake(&argument.name, TAKEN)));
    let mut args: Vec<_> = needed.collect();
    let given =
        method.optional().map(|argument| format!("\"{}\": {}", argument.name, snake(&argument.name, TAKEN)));
    let given: Vec<_> = given.collect();
    if !given.is_empty() {
        args.push(format!("**_given({{{}}})", given.join(", ")));
    }
    let args = match &method.arguments {
        Some(_) => format!("{{{}}}", args.join(", ")),
        None => String::from("args or {}"),
    };
    let (start, wait) = if is_async { ("async def", "await ") } else { ("def", "") };
    format!(
        "\n    {start} {}({}{keyword}) -> Any:\n        \"\"\"A {}.{told}\"\"\"\n        \
         return {wait}self._call(\"{}\", \"{}\", {args}{behind})\n",
        snake(&method.name, TAKEN),
        parameters.join(", "),
        if method.calling == Calling::Blocking { "call that may wait" } else { method.calling.name() },
        method.calling.name(),
        method.name,
    )
}
