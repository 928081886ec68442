//! Rust: a struct with a method for each.

use std::fmt::Write as _;

use super::described::{Argument, Calling, Described, Kind, Method};
use super::naming::{class, snake};

/// Words of the language, and what objects have already.
const TAKEN: &[&str] = &[
    "abstract", "args", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop",
    "macro", "match", "mod", "move", "mut", "new", "object", "override", "priv", "pub", "ref", "return",
    "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized",
    "use", "virtual", "wait", "where", "while", "yield",
];

/// Classes that the file uses.
const CLASSES: &[&str] = &[
    "Cluster",
    "Clone",
    "Debug",
    "DeserializeOwned",
    "Map",
    "Object",
    "Option",
    "Result",
    "Self",
    "Some",
    "String",
    "Value",
    "Wait",
];

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "bool",
        Kind::Integer => "i64",
        Kind::Number => "f64",
        Kind::Text => "String",
        Kind::Any => "Value",
    }
}

/// The module.
pub(super) fn source(of: &Described) -> String {
    let Described { name, version, methods, .. } = of;
    let class = class(name, CLASSES);
    let mut out = format!(
        "//! Objects of type `{name}`, version {version}. Made by `diwan object client`; needs the crates `diwan-objects`, `serde` \
         and `serde_json`.\n\n#![allow(dead_code, unused_imports)]\n\n\
         use diwan_objects::{{Cluster, Object, Result, Wait}};\nuse serde::de::DeserializeOwned;\nuse \
         serde_json::{{Map, Value, json}};\n\n\
         /// An object of type `{name}`.\n#[derive(Clone, Debug)]\npub struct {class} {{\n    object: Object,\n}}\n\n\
         impl {class} {{\n    /// Names one; it is there once it is created.\n    #[must_use]\n    \
         pub fn new(cluster: &Cluster, name: &str) -> Self {{\n        \
         Self {{ object: cluster.object(\"{name}\", name) }}\n    }}\n\n    \
         /// What objects of all types have.\n    #[must_use]\n    pub const fn object(&self) -> &Object {{\n        \
         &self.object\n    }}\n"
    );
    methods.iter().for_each(|method| out.push_str(&one(method)));
    out.push_str("}\n");
    out
}

fn parameter(argument: &Argument) -> String {
    let (name, kind) = (snake(&argument.name, TAKEN), kind(argument.kind));
    if argument.is_optional { format!(", {name}: Option<{kind}>") } else { format!(", {name}: {kind}") }
}

fn one(method: &Method) -> String {
    let parameters = match &method.arguments {
        Some(arguments) => arguments.iter().map(parameter).collect(),
        None => String::from(", args: Map<String, Value>"),
    };
    let (waits, told) = match method.calling {
        Calling::Command => ("", "A command."),
        Calling::Query => ("", "A query."),
        Calling::Blocking => (", wait: Wait", "A call that may wait."),
    };
    let mut out = format!(
        "\n    /// {told}\n    pub fn {}<R: DeserializeOwned>(&self{parameters}{waits}) -> Result<R> {{\n",
        snake(&method.name, TAKEN)
    );
    let args = match &method.arguments {
        None => "args",
        Some(_) => {
            out.push_str(&filled(method));
            "args"
        }
    };
    let name = &method.name;
    let _ = match method.calling {
        Calling::Query => writeln!(out, "        self.object.query(\"{name}\", {args})\n    }}"),
        Calling::Command => {
            writeln!(out, "        self.object.call(\"{name}\", {args}, Wait::forever())\n    }}")
        }
        Calling::Blocking => writeln!(out, "        self.object.call(\"{name}\", {args}, wait)\n    }}"),
    };
    out
}

fn filled(method: &Method) -> String {
    let mutable = if method.arguments.iter().flatten().next().is_some() { "mut " } else { "" };
    let mut out = format!("        let {mutable}args = Map::new();\n");
    for argument in method.needed() {
        let _ = writeln!(
            out,
            "        args.insert(\"{}\".into(), json!({}));",
            argument.name,
            snake(&argument.name, TAKEN)
        );
    }
    for argument in method.optional() {
        let own = snake(&argument.name, TAKEN);
        let _ = write!(
            out,
            "        if let Some({own}) = {own} {{\n            args.insert(\"{}\".into(), json!({own}));\n        }}\n",
            argument.name
        );
    }
    out
}
