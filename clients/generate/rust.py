"""The types of the Rust library."""

import pathlib
import subprocess

from table import pascal, records, types

KINDS = {"int": "i64", "flag": "bool", "text": "String", "json": "Json", "jsons": "Vec<Json>", "texts": "Vec<String>"}
ARGUMENTS = {"int": "i64", "flag": "bool", "text": "&str", "json": "impl Into<Json>", "texts": "&[&str]", "ints": "&[i64]",
             "jsons": "impl IntoIterator<Item = impl Into<Json>>",
             "pairs": "impl IntoIterator<Item = (impl Into<String>, impl Into<Json>)>"}
NAMES = {"await": "wait"}
# How a grant is held: by which function, by which method it is acquired, by which it is given back, with what besides its fence.
HOLDS = {
    "lock": [("hold", "acquire", "release", None)],
    "rwlock": [("hold_read", "read", "release", None), ("hold_write", "write", "release", None)],
    "semaphore": [("hold", "acquire", "release", "n")],
    "election": [("lead", "campaign", "resign", None)],
}
FOLDER = "rust/src/types"
RECORD = "#[derive(Clone, Debug, Default, Deserialize, PartialEq)]"


def kind(field):
    name = f"Vec<{field.kind[:-2]}>" if field.kind.endswith("[]") else KINDS.get(field.kind, field.kind)
    return f"Option<{name}>" if field.optional else name


def result(of, method):
    return kind(method.single) if method.single else f"{of.name}{pascal(method.name)}Result"


def structs(of, method):
    lines = []
    if method.optional:
        lines += [f"/// What `{method.name}` may be given besides.", "#[derive(Clone, Debug, Default)]",
                  f"pub struct {of.name}{pascal(method.name)}Options {{"]
        for arg in method.optional:
            given = "bool" if arg.kind == "flag" else f"Option<{KINDS[arg.kind]}>"
            lines.append(f"pub {arg.name}: {given},")
        lines += ["}", ""]
    if not method.single:
        lines += [f"/// What `{method.name}` gives.", RECORD, "#[serde(default)]",
                  f"pub struct {result(of, method)} {{"]
        lines += [f"pub {field.name}: {kind(field)}," for field in method.results]
        lines += ["}", ""]
    return lines


def passed(arg):
    collected = f"{arg.name}.into_iter().collect::<Json>()"
    return f'.with("{arg.name}", {collected if arg.kind in ("jsons", "pairs") else arg.name})'


def call(of, method, options):
    parts = [f'Call::new(Kind::{method.kind.capitalize()}, "{method.name}")']
    parts += [passed(arg) for arg in method.required]
    for arg in method.optional:
        if of.wire == "lock" and arg.name == "owner":
            parts.append(f'.with("owner", {"options.owner.unwrap_or_else(crate::owner)" if options else "crate::owner()"})')
        elif options:
            value = f"options.{arg.name}.then_some(true)" if arg.kind == "flag" else f"options.{arg.name}"
            parts.append(f'.with_some("{arg.name}", {value})')
    parts += [".waits(wait)"] if method.waits else []
    return "".join(parts)


def head(name, of, method, options, gives):
    given = ["&self", *(f"{arg.name}: {ARGUMENTS[arg.kind]}" for arg in method.required)]
    given += ["wait: Wait"] if method.waits else []
    given += [f"options: {of.name}{pascal(method.name)}Options"] if options else []
    return f"pub fn {name}({', '.join(given)}) -> Result<{gives}> {{"


def define(of, method, options):
    name = NAMES.get(method.name, method.name) + ("_with" if options else "")
    given = ", ".join(f"`{field.name}`" for field in method.results)
    lines = [f"/// Gives {given}.", head(name, of, method, options, result(of, method))]
    asked = call(of, method, options)
    if method.single:
        return [*lines, f'self.0.give_one(&{asked}, "{method.single.name}")', "}", ""]
    return [*lines, f"self.0.give(&{asked})", "}", ""]


def holds(of, options):
    lines = []
    for name, by, back, more in HOLDS.get(of.wire, []):
        method = next(method for method in of.methods if method.name == by)
        if options and not method.optional:
            continue
        name += "_with" if options else ""
        lines += [f"/// Acquires by `{by}`, and keeps watch: what it gives knows when it is lost, and gives itself back.",
                  head(name, of, method, options, "Held")]
        undo = f'Call::new(Kind::Owned, "{back}")'
        undo += f'.with_some("{more}", options.{more})' if more and options else ""
        lines += [f"let back = {undo};", f"self.0.hold(&{call(of, method, options)}, back)", "}", ""]
    return lines


def formatted(text):
    """As rustfmt has it, with this repository's settings."""
    root = pathlib.Path(__file__).parent.parent.parent
    done = subprocess.run(["rustfmt", "--edition", "2024"], input=text, capture_output=True, text=True, cwd=root, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return done.stdout


def module(doc, lines):
    text = "\n".join(lines)
    uses = ["use serde::Deserialize;"] if "Deserialize" in text else []
    uses += ["use serde_json::Value as Json;"] if "Json" in text else []
    ours = ["use crate::call::{Call, Kind};", "use crate::cluster::Cluster;", "use crate::error::Result;"] if "Call::" in text else []
    ours += ["use crate::held::Held;"] if "<Held>" in text else []
    ours += ["use crate::object::Object;"] if "Object" in text else []
    named = [name for name, _, _ in records() if f"<{name}>" in text]
    ours += [f"use crate::types::{{{', '.join(named)}}};"] if named else []
    ours += ["use crate::wait::Wait;"] if "Wait" in text else []
    return formatted("\n".join([f"//! {doc}", "// Made by clients/generate/main.py.", "", *uses, "", *ours, "", text]))


def of_type(of):
    doc = of.doc.replace("`await`", "`wait`")
    lines = [line for method in of.methods for line in structs(of, method)]
    lines += [f"/// {doc}", "#[derive(Clone, Debug)]", f"pub struct {of.name}(Object);", "",
              f"impl std::ops::Deref for {of.name} {{", "type Target = Object;", "", "fn deref(&self) -> &Object {", "&self.0", "}",
              "}", "", f"impl {of.name} {{", "/// Names one; it exists once it is used.", "#[must_use]",
              "pub fn new(cluster: &Cluster, name: &str) -> Self {", f'Self(Object::new(cluster, "{of.wire}", name))', "}", "",
              "/// The same object, whose queries ask one member's copy, not older than what this cluster object has seen.",
              "#[must_use]", "pub fn stale(&self) -> Self {", "Self(self.0.stale())", "}", ""]
    for method in of.methods:
        lines += define(of, method, False)
        lines += define(of, method, True) if method.optional else []
    return lines + holds(of, False) + holds(of, True) + ["}"]


def files():
    made = {f"{FOLDER}/{of.wire}.rs": module(of.doc.replace("`await`", "`wait`"), of_type(of)) for of in types()}
    lines = []
    for name, doc, fields in records():
        lines += [f"/// {doc}", RECORD, "#[serde(default)]", f"pub struct {name} {{"]
        lines += [*(f"pub {field.name}: {kind(field)}," for field in fields), "}", ""]
    made[f"{FOLDER}/records.rs"] = module("Parts of results.", lines)
    names = sorted([of.wire for of in types()] + ["records"])
    lines = ['#![allow(missing_docs, reason = "parts of arguments and results have the names that docs/objects.md has")]',
             '#![allow(clippy::needless_pass_by_value, reason = "options are made for one call")]', ""]
    lines += [f"mod {name};" for name in names] + [""] + [f"pub use {name}::*;" for name in names]
    made[f"{FOLDER}/mod.rs"] = module("The built-in types.", lines)
    return made
