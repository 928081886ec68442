"""The classes of the JavaScript library, and their types."""

from table import camel, pascal, records, types

KINDS = {"int": "Integer", "flag": "boolean", "text": "string", "json": "Json", "jsons": "Json[]", "texts": "string[]",
         "ints": "Integer[]", "pairs": "Record<string, Json>"}
HOLDS = {
    "lock": [("hold", "acquire", "release", "")],
    "rwlock": [("holdRead", "read", "release", ""), ("holdWrite", "write", "release", "")],
    "semaphore": [("hold", "acquire", "release", ", { n: options.n ?? 1 }")],
    "election": [("lead", "campaign", "resign", "")],
}


def kind(field):
    return KINDS.get(field.kind, field.kind)


def options(method):
    """The type of the options."""
    given = [f"{camel(arg.name)}?: {kind(arg)}" for arg in method.optional]
    given += ["waitMs?: number"] if method.waits else []
    given += ["stale?: boolean"] if method.kind == "query" else []
    return "{ " + "; ".join([*given, "signal?: AbortSignal"]) + " }"


def result(method):
    if method.single:
        return kind(method.single) + (" | null" if method.single.optional else "")
    parts = [f"{camel(part.name)}{'?' if part.optional else ''}: {kind(part)}{' | null' if part.optional else ''}"
             for part in method.results]
    return "{ " + "; ".join(parts) + " }"


def arguments(of, method):
    given = [arg.name if camel(arg.name) == arg.name else f"{arg.name}: {camel(arg.name)}" for arg in method.required]
    for arg in method.optional:
        value = f"options.{camel(arg.name)}"
        value += " ?? this.cluster.owner()" if arg.name == "owner" else ""
        given.append(f"{arg.name}: {value}")
    return "{ " + ", ".join(given) + " }" if given else "{}"


def code():
    lines = ["// Made by clients/generate/main.py: the built-in types.", "", "import { DiwanObject } from './object.js'"]
    for of in types():
        lines += ["", f"/** {of.doc} */", f"export class {of.name} extends DiwanObject {{"]
        lines += ["  constructor(cluster, name) {", f"    super(cluster, '{of.wire}', name)", "  }"]
        for method in of.methods:
            names = ", ".join([*(camel(arg.name) for arg in method.required), "options = {}"])
            call = f"this._result('{method.kind}', '{method.name}', {arguments(of, method)}, options)"
            call = f"(await {call}).{camel(method.single.name)}" if method.single else call
            lines += ["", f"  async {camel(method.name)}({names}) {{", f"    return {call}", "  }"]
        for name, by, back, more in HOLDS.get(of.wire, []):
            method = next(method for method in of.methods if method.name == by)
            given = [camel(arg.name) for arg in method.required]
            lines += ["", f"  {name}({', '.join([*given, 'options = {}'])}) {{"]
            lines += [f"    return this._hold('{by}', {arguments(of, method)}, options, '{back}'{more})", "  }"]
            lines += ["", f"  with{part(name)}({', '.join([*given, 'work', 'options = {}'])}) {{"]
            lines += [f"    return this._within(this.{name}({', '.join([*given, 'options'])}), work)", "  }"]
        lines.append("}")
    return "\n".join(lines) + "\n"


def part(name):
    """What stands behind `with`: hold, holdRead, lead are with, withRead, withLead."""
    name = name.removeprefix("hold")
    return name[:1].upper() + name[1:]


def declarations():
    lines = ["// Made by clients/generate/main.py: the built-in types.", "",
             "import type { Cluster, DiwanObject, Held, Integer, Json } from './index.js'", ""]
    for name, doc, fields in records():
        lines += [f"/** {doc} */", f"export interface {name} {{"]
        lines += [f"  {field.name}: {kind(field)}" for field in fields] + ["}", ""]
    for of in types():
        lines += [f"/** {of.doc} */", f"export class {of.name} extends DiwanObject {{"]
        lines.append("  constructor(cluster: Cluster, name: string)")
        for method in of.methods:
            given = [f"{camel(arg.name)}: {kind(arg)}" for arg in method.required] + [f"options?: {options(method)}"]
            lines.append(f"  {camel(method.name)}({', '.join(given)}): Promise<{result(method)}>")
        for name, by, _, _ in HOLDS.get(of.wire, []):
            method = next(method for method in of.methods if method.name == by)
            given = [f"{camel(arg.name)}: {kind(arg)}" for arg in method.required]
            lines.append(f"  {name}({', '.join([*given, f'options?: {options(method)}'])}): Promise<Held>")
            work = "work: (held: Held) => T | Promise<T>"
            lines.append(f"  with{part(name)}<T>({', '.join([*given, work, f'options?: {options(method)}'])}): Promise<T>")
        lines += ["}", ""]
    return "\n".join(lines[:-1]) + "\n"


def files():
    return {"javascript/src/types.js": code(), "javascript/src/types.d.ts": declarations()}
