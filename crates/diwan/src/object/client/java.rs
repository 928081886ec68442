//! Java: an interface, which the library carries out.

use std::fmt::Write as _;

use super::described::{Argument, Calling, Described, Kind, Method};
use super::naming::{camel, class};

/// Words of the language, and what objects have already.
const TAKEN: &[&str] = &[
    "abstract",
    "assert",
    "boolean",
    "break",
    "byte",
    "call",
    "case",
    "catch",
    "char",
    "class",
    "clone",
    "const",
    "continue",
    "create",
    "default",
    "delete",
    "describe",
    "do",
    "double",
    "else",
    "enum",
    "equals",
    "extends",
    "false",
    "final",
    "finalize",
    "finally",
    "float",
    "for",
    "getClass",
    "goto",
    "hashCode",
    "if",
    "implements",
    "import",
    "instanceof",
    "int",
    "interface",
    "long",
    "native",
    "new",
    "notify",
    "notifyAll",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "short",
    "static",
    "strictfp",
    "super",
    "switch",
    "synchronized",
    "this",
    "throw",
    "throws",
    "toString",
    "transient",
    "true",
    "try",
    "void",
    "volatile",
    "wait",
    "while",
];

/// Classes that the file uses.
const CLASSES: &[&str] = &[
    "Boolean",
    "Call",
    "DiwanObject",
    "Double",
    "Long",
    "Map",
    "Object",
    "Of",
    "Override",
    "String",
    "Wait",
];

/// As it is passed; of those that may be left out the boxed one.
const fn kind(argument: &Argument) -> &'static str {
    match (argument.kind, argument.is_optional) {
        (Kind::Flag, false) => "boolean",
        (Kind::Flag, true) => "Boolean",
        (Kind::Integer, false) => "long",
        (Kind::Integer, true) => "Long",
        (Kind::Number, false) => "double",
        (Kind::Number, true) => "Double",
        (Kind::Text, _) => "String",
        (Kind::Any, _) => "Object",
    }
}

/// The file.
pub(super) fn source(of: &Described, package: Option<&str>) -> String {
    let Described { name, version, methods, .. } = of;
    let class = class(name, CLASSES);
    let mut out = format!("// Made by `diwan object client` from version {version} of type {name}.\n");
    if let Some(package) = package {
        let _ = write!(out, "package {package};\n\n");
    }
    let _ = write!(
        out,
        "import diwan.objects.Call;\nimport diwan.objects.DiwanObject;\nimport diwan.objects.Of;\nimport \
         diwan.objects.Wait;\nimport java.util.Map;\n\n\
         /** An object of type {{@code {name}}}: {{@code cluster.object({class}.class, \"name\")}}. */\n\
         @Of(\"{name}\")\npublic interface {class} extends DiwanObject {{\n"
    );
    let methods: Vec<_> = methods.iter().map(one).collect();
    out.push_str(&methods.join("\n"));
    out.push_str("}\n");
    out
}

fn one(method: &Method) -> String {
    let Some(arguments) = &method.arguments else {
        return format!(
            "    /** {}. Its arguments are not described. */\n    default Map<String, Object> {}(Wait wait, Map<String, ?> args) \
             {{\n        return call(\"{}\", wait, args);\n    }}\n",
            told(method),
            camel(&method.name, TAKEN),
            method.name,
        );
    };
    let marked =
        |argument: &Argument| format!("\"{}{}\"", if argument.is_optional { "?" } else { "" }, argument.name);
    let names: Vec<_> = arguments.iter().map(marked).collect();
    let waits = (method.calling == Calling::Blocking).then(|| String::from("Wait wait"));
    let taken = |argument: &Argument| format!("{} {}", kind(argument), camel(&argument.name, TAKEN));
    let parameters: Vec<_> = waits.into_iter().chain(arguments.iter().map(taken)).collect();
    let optional = method.optional().count();
    let nulls = if optional > 0 { " What may be left out may be null." } else { "" };
    format!(
        "    /** {}.{nulls} */\n    @Call(kind = \"{}\", method = \"{}\", args = {{{}}})\n    Map<String, Object> {}({});\n",
        told(method),
        method.calling.name(),
        method.name,
        names.join(", "),
        camel(&method.name, TAKEN),
        parameters.join(", "),
    )
}

const fn told(method: &Method) -> &'static str {
    match method.calling {
        Calling::Command => "A command",
        Calling::Query => "A query",
        Calling::Blocking => "A call that may wait",
    }
}
