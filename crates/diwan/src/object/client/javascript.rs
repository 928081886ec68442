//! JavaScript and TypeScript.

use std::fmt::Write as _;

use super::described::{Argument, Calling, Described, Kind, Method};
use super::naming::{camel, class};

/// What objects have already, and what cannot be a method's name.
const TAKEN: &[&str] = &[
    "args",
    "arguments",
    "await",
    "batch",
    "break",
    "call",
    "case",
    "catch",
    "class",
    "cluster",
    "const",
    "constructor",
    "continue",
    "create",
    "debugger",
    "default",
    "delete",
    "describe",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "name",
    "new",
    "null",
    "options",
    "package",
    "path",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "then",
    "this",
    "throw",
    "true",
    "try",
    "type",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

/// Classes that the file uses.
const CLASSES: &[&str] = &["Cluster", "DiwanObject", "Integer", "Json", "Promise", "Record"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    JavaScript,
    TypeScript,
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "boolean",
        Kind::Integer => "Integer",
        Kind::Number => "number",
        Kind::Text => "string",
        Kind::Any => "Json",
    }
}

/// The module.
pub(super) fn source(of: &Described, form: Form) -> String {
    let Described { name, version, methods, .. } = of;
    let class = class(name, CLASSES);
    let mut out =
        format!("// Objects of type `{name}`, version {version}. Made by `diwan object client`.\n\n");
    out.push_str(match form {
        Form::JavaScript => "import { DiwanObject } from 'diwan-objects'\n",
        Form::TypeScript => {
            "import { DiwanObject, type Cluster, type Integer, type Json } from 'diwan-objects'\n"
        }
    });
    let cluster = if form == Form::TypeScript { "cluster: Cluster, name: string" } else { "cluster, name" };
    let _ = write!(
        out,
        "\n/** An object of type `{name}`. */\nexport class {class} extends DiwanObject {{\n  constructor({cluster}) {{\n    \
         super(cluster, '{name}', name)\n  }}\n"
    );
    methods.iter().for_each(|method| out.push_str(&one(method, form)));
    out.push_str("}\n");
    out
}

fn typed(argument: &Argument) -> String {
    let mark = if argument.is_optional { "?" } else { "" };
    format!("'{}'{mark}: {}", argument.name, kind(argument.kind))
}

fn one(method: &Method, form: Form) -> String {
    let names = |argument: &Argument| format!("`{}`", argument.name);
    let told = match &method.arguments {
        Some(arguments) if arguments.is_empty() => String::from("no arguments"),
        Some(arguments) => format!("args: {}", arguments.iter().map(names).collect::<Vec<_>>().join(", ")),
        None => String::from("args as the type takes them"),
    };
    let (waits, options) = match method.calling {
        Calling::Blocking => {
            ("; waits `options.waitMs`, for ever without it", "waitMs?: number; signal?: AbortSignal")
        }
        Calling::Query => {
            ("; `options.stale`: from one member's copy", "stale?: boolean; signal?: AbortSignal")
        }
        Calling::Command => ("", "signal?: AbortSignal"),
    };
    let parameters = match form {
        Form::JavaScript => String::from("args = {}, options = {}"),
        Form::TypeScript => {
            let (of, default) = match &method.arguments {
                Some(arguments) => {
                    let default = if method.needed().next().is_none() { " = {}" } else { "" };
                    let typed = arguments.iter().map(typed).collect::<Vec<_>>().join("; ");
                    let typed = if typed.is_empty() { String::from("{}") } else { format!("{{ {typed} }}") };
                    (typed, default)
                }
                None => (String::from("Record<string, Json>"), " = {}"),
            };
            format!("args: {of}{default}, options: {{ {options} }} = {{}}")
        }
    };
    let gives = if form == Form::TypeScript { ": Promise<any>" } else { "" };
    // The library's own methods take what all kinds of calls take.
    let own = if form == Form::TypeScript { "(this as any)" } else { "this" };
    format!(
        "\n  /** A {}: {told}{waits}. */\n  async {}({parameters}){gives} {{\n    \
         return {own}._result('{}', '{}', args, options)\n  }}\n",
        if method.calling == Calling::Blocking { "call that may wait" } else { method.calling.name() },
        camel(&method.name, TAKEN),
        method.calling.name(),
        method.name,
    )
}
