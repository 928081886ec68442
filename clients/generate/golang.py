"""The types of the Go library."""

from table import camel, pascal, records, types

KINDS = {"int": "int64", "flag": "bool", "text": "string", "json": "json.RawMessage", "jsons": "[]json.RawMessage",
         "texts": "[]string"}
ARGUMENTS = {"int": "int64", "flag": "bool", "text": "string", "json": "any", "jsons": "[]any", "texts": "[]string",
             "ints": "[]int64", "pairs": "map[string]any"}
HOLDS = {
    "lock": [("Hold", "acquire", "release", "")],
    "rwlock": [("HoldRead", "read", "release", ""), ("HoldWrite", "write", "release", "")],
    "semaphore": [("Hold", "acquire", "release", "n")],
    "election": [("Lead", "campaign", "resign", "")],
}
RESERVED = {"type", "range", "map", "func", "default"}


def exported(name):
    return "".join("ID" if word == "id" else word.capitalize() for word in name.split("_"))


def local(name):
    name = camel(name)
    return name + "_" if name in RESERVED else name


def kind(field):
    if field.kind.endswith("[]"):
        return f"[]{field.kind[:-2]}"
    if field.kind in KINDS:
        return KINDS[field.kind]
    return f"*{field.kind}" if field.optional else field.kind


def columns(rows):
    """The lines of a struct, in columns as gofmt has them."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]) - 1)] if rows else []
    return ["\t" + "".join(f"{part:<{width + 1}}" for part, width in zip(row, widths)) + row[-1] for row in rows]


def struct(name, doc, fields):
    lines = [f"// {name} {doc}", f"type {name} struct {{"]
    lines += columns([(exported(field.name), kind(field), f'`json:"{field.name}"`') for field in fields])
    return lines + ["}", ""]


def options(name, method):
    lines = [f"// {name} holds what {method.name} may be given besides.", f"type {name} struct {{"]
    lines += columns([(exported(arg.name), ("*" if arg.kind == "int" else "") + ARGUMENTS[arg.kind]) for arg in method.optional])
    if method.kind == "query":
        lines.append("\t// Stale asks a member's copy, not older than what this cluster object has seen.\n\tStale bool")
    return lines + ["}", ""]


ZERO = {"int": "nil", "json": "nil", "text": '""', "flag": "false"}


def head(of, method):
    given = ["ctx context.Context"]
    given += ["wait Wait"] if method.waits else []
    given += [f"{local(arg.name)} {ARGUMENTS[arg.kind]}" for arg in method.required]
    if method.optional or method.kind == "query":
        given.append(f"options ...{of.name}{pascal(method.name)}Options")
    return ", ".join(given)


def asked(of, method):
    """The lines that make `asked`."""
    given = ", ".join(f'"{arg.name}": {local(arg.name)}' for arg in method.required)
    wait = ", wait: wait" if method.waits else ""
    lines = [f'\tasked := call{{kind: "{method.kind}", method: "{method.name}", args: arguments{{{given}}}{wait}}}']
    if method.optional or method.kind == "query":
        lines.append("\tfor _, option := range options {")
        for arg in method.optional:
            lines.append(f"\t\tif option.{exported(arg.name)} != {ZERO[arg.kind]} {{")
            lines.append(f'\t\t\tasked.args["{arg.name}"] = option.{exported(arg.name)}')
            lines.append("\t\t}")
        lines += ["\t\tasked.stale = option.Stale"] if method.kind == "query" else []
        lines.append("\t}")
    if of.wire == "lock" and method.name == "acquire":
        lines += ["\tif asked.args[\"owner\"] == nil {", "\t\t// Each call is an owner of its own: goroutines have no names.",
                  '\t\tasked.args["owner"] = fmt.Sprint("g", o.cluster.owners.Add(1))', "\t}"]
    return lines


def define(of, method):
    name, one = pascal(method.name), method.single
    result = f"{of.name}{name}Result"
    lines = []
    if method.optional or method.kind == "query":
        lines += options(f"{of.name}{name}Options", method)
    if not one:
        lines += struct(result, f"is what {method.name} gives.", method.results)
    gives = kind(one) if one else result
    lines += [f"// {name} gives {', '.join(field.name for field in method.results)}."]
    lines += [f"func (o *{of.name}) {name}({head(of, method)}) ({gives}, error) {{", *asked(of, method)]
    if one:
        lines += ["\tvar result struct {", f'\t\tOne {gives} `json:"{one.name}"`', "\t}"]
    else:
        lines += [f"\tvar result {result}"]
    lines += ["\t_, err := o.do(ctx, asked, &result)", f"\treturn result{'.One' if one else ''}, err", "}", ""]
    return lines


def holds(of):
    lines = []
    for name, by, back, more in HOLDS.get(of.wire, []):
        method = next(method for method in of.methods if method.name == by)
        lines += [f"// {name} acquires, and keeps watch: what it gives knows when it is lost."]
        lines += [f"func (o *{of.name}) {name}({head(of, method)}) (*Held, error) {{", *asked(of, method)]
        lines += ["\treturn o.hold(ctx, asked, func(fence int64) call {"]
        lines += ['\t\targs := arguments{"fence": fence}']
        if more:
            lines += [f'\t\tif {more}, given := asked.args["{more}"]; given {{', f'\t\t\targs["{more}"] = {more}', "\t\t}"]
        lines += [f'\t\treturn call{{kind: "owned", method: "{back}", args: args}}', "\t})", "}", ""]
    return lines


def module(lines):
    """A file, with the imports that it needs."""
    text = "\n".join(lines)
    needs = [name for name, sign in (("context", "context."), ("encoding/json", "json."), ("fmt", "fmt.")) if sign in text]
    imports = [f'import "{needs[0]}"', ""] if len(needs) == 1 else ["import (", *(f'\t"{name}"' for name in needs), ")", ""]
    return "\n".join(["// Made by clients/generate/main.py.", "", "package objects", "", *(imports if needs else []), text])


def of_type(of):
    lines = [f"// {of.name} is {of.doc[0].lower() + of.doc[1:]}", f"type {of.name} struct{{ Object }}", ""]
    lines += [f"// New{of.name} names one; it exists once it is used.",
              f"func New{of.name}(cluster *Cluster, name string) *{of.name} {{",
              f'\treturn &{of.name}{{Object{{cluster, "{of.wire}", name}}}}', "}", ""]
    for method in of.methods:
        lines += define(of, method)
    return lines + holds(of)


def files():
    made = {f"go/type_{of.wire}.go": module(of_type(of)) for of in types()}
    lines = []
    for name, doc, fields in records():
        lines += struct(name, "is " + doc[0].lower() + doc[1:], fields)
    made["go/records.go"] = module(lines)
    return made
