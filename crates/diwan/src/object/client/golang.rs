//! Go: a type with a method for each.

use std::fmt::Write as _;

use super::described::{Argument, Calling, Described, Kind, Method};
use super::naming::pascal;

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "bool",
        Kind::Integer => "int64",
        Kind::Number => "float64",
        Kind::Text => "string",
        Kind::Any => "any",
    }
}

/// What objects of the library have already.
const TAKEN: &[&str] = &["Call", "Create", "Delete", "Describe", "Object", "Query"];

fn method_name(name: &str) -> String {
    let name = pascal(name);
    if TAKEN.contains(&&*name) { name + "_" } else { name }
}

/// The file.
pub(super) fn source(of: &Described, package: &str) -> String {
    let Described { name, version, methods, .. } = of;
    let class = pascal(name);
    let package = package.rsplit('.').next().unwrap_or(package);
    let mut out = format!(
        "// Made by `diwan object client` from version {version} of type {name}. DO NOT EDIT.\n\npackage {package}\n\n\
         import (\n\t\"context\"\n\n\tdiwan \"diwan/objects\"\n)\n\n\
         // {class} is an object of type {name}.\ntype {class} struct{{ *diwan.Object }}\n\n\
         // New{class} names one; it is there once it is created.\nfunc New{class}(cluster *diwan.Cluster, name string) {class} \
         {{\n\treturn {class}{{diwan.NewObject(cluster, \"{name}\", name)}}\n}}\n"
    );
    if methods.is_empty() {
        out.push_str("\nvar _ context.Context\n");
    }
    methods.iter().for_each(|method| out.push_str(&one(&class, method)));
    out
}

/// Fields in the columns that `gofmt` gives them.
fn fields(arguments: &[Argument]) -> String {
    let parts = |argument: &Argument| {
        let pointer = if argument.is_optional && argument.kind != Kind::Any { "*" } else { "" };
        (pascal(&argument.name), format!("{pointer}{}", kind(argument.kind)), argument.is_optional)
    };
    let parts: Vec<_> = arguments.iter().map(parts).collect();
    let names = parts.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let kinds = parts
        .iter()
        .filter(|(.., is_optional)| *is_optional)
        .map(|(_, kind, _)| kind.len())
        .max()
        .unwrap_or(0);
    let line = |(name, kind, is_optional): &(String, String, bool)| match is_optional {
        true => format!("\t{name:names$} {kind:kinds$} // may be left out\n"),
        false => format!("\t{name:names$} {kind}\n"),
    };
    parts.iter().map(line).collect()
}

fn one(class: &str, method: &Method) -> String {
    let name = method_name(&method.name);
    let arguments = method.arguments.as_deref();
    let args = format!("{class}{}Args", pascal(&method.name));
    let mut out = String::new();
    let (parameter, given) = match arguments {
        Some([]) => (String::new(), "nil"),
        Some(arguments) => {
            let fields = fields(arguments);
            let _ =
                write!(out, "\n// {args} are the arguments of {name}.\ntype {args} struct {{\n{fields}}}\n");
            (format!(", args {args}"), "given")
        }
        None => (String::from(", args map[string]any"), "args"),
    };
    let (waits, told) = match method.calling {
        Calling::Blocking => (", wait diwan.Wait", "call that may wait"),
        other => ("", other.name()),
    };
    let _ = write!(
        out,
        "\n// {name} is a {told}. Its result is read into result, unless that is nil.\n\
         func (o {class}) {name}(ctx context.Context{waits}{parameter}, result any) error {{\n"
    );
    out.push_str(&arguments.filter(|all| !all.is_empty()).map(filled).unwrap_or_default());
    let (called, wait) = match method.calling {
        Calling::Query => ("Query", ""),
        Calling::Command => ("Call", ", diwan.Forever"),
        Calling::Blocking => ("Call", ", wait"),
    };
    let _ = write!(out, "\treturn o.Object.{called}(ctx, \"{}\"{wait}, {given}, result)\n}}\n", method.name);
    out
}

fn filled(arguments: &[Argument]) -> String {
    let mut out = String::from("\tgiven := map[string]any{");
    let needed = arguments.iter().filter(|argument| !argument.is_optional);
    let needed: Vec<_> =
        needed.map(|argument| format!("\"{}\": args.{}", argument.name, pascal(&argument.name))).collect();
    out.push_str(&needed.join(", "));
    out.push_str("}\n");
    for Argument { name, .. } in arguments.iter().filter(|argument| argument.is_optional) {
        let field = pascal(name);
        let _ = write!(out, "\tif args.{field} != nil {{\n\t\tgiven[\"{name}\"] = args.{field}\n\t}}\n");
    }
    out
}
