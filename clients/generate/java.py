"""The interfaces of the Java library."""

from table import camel, pascal, records, types

PLAIN = {"int": "long", "flag": "boolean", "text": "String", "json": "Object", "jsons": "List<Object>",
         "texts": "List<String>", "ints": "List<Long>", "pairs": "java.util.Map<String, ?>"}
BOXED = {"long": "Long", "boolean": "Boolean"}
HOLDS = {
    "lock": [("hold", "acquire", "release")],
    "rwlock": [("holdRead", "read", "release"), ("holdWrite", "write", "release")],
    "semaphore": [("hold", "acquire", "release")],
    "election": [("lead", "campaign", "resign")],
}
FOLDER = "java/src/main/java/diwan/objects"


def kind(field):
    if field.kind.endswith("[]"):
        return f"List<{field.kind[:-2]}>"
    plain = PLAIN.get(field.kind, field.kind)
    return BOXED.get(plain, plain) if field.optional else plain


def annotation(method, back=""):
    words = [f'kind = "{method.kind}"', f'method = "{method.name}"']
    args = [f'"{arg.name}"' for arg in method.required] + [f'"?{arg.name}"' for arg in method.optional]
    words += [f"args = {{{', '.join(args)}}}"] if args else []
    words += [f'single = "{method.single.name}"'] if method.single and not back else []
    words += [f'back = "{back}"'] if back else []
    return f"    @Call({', '.join(words)})"


def overloads(method):
    """The parameters of each overload: the required ones, with a wait, with all."""
    required = [f"{kind(arg)} {camel(arg.name)}" for arg in method.required]
    optional = [f"{kind(arg)} {camel(arg.name)}" for arg in method.optional]
    forms = [required]
    if method.waits:
        forms.append([*required, "Wait wait"])
    if optional:
        forms.append([*required, *(["Wait wait"] if method.waits else []), *optional])
    return [", ".join(form) for form in forms]


def interface(of):
    body, nested = [], []
    for method in of.methods:
        gives = kind(method.single) if method.single else pascal(method.name) + "Result"
        if not method.single:
            parts = ", ".join(f"{kind(part)} {camel(part.name)}" for part in method.results)
            nested += [f"    /** What {camel(method.name)} gives. */", f"    record {gives}({parts}) {{}}", ""]
        for form in overloads(method):
            body += [f"    /** Gives {', '.join(camel(part.name) for part in method.results)}. */", annotation(method)]
            body += [f"    {gives} {camel(method.name)}({form});", ""]
    for name, by, back in HOLDS.get(of.wire, []):
        method = next(method for method in of.methods if method.name == by)
        for form in overloads(method):
            body += ["    /** Acquires, and keeps watch: what it gives knows when it is lost. */", annotation(method, back)]
            body += [f"    Held {name}({form});", ""]
    text = "\n".join(nested + body[:-1])
    imports = ["import java.util.List;"] if "List<" in text else []
    lines = ["// Made by clients/generate/main.py.", "package diwan.objects;", ""]
    lines += [*imports, ""] if imports else []
    lines += [f"/** {of.doc} */", f'@Of("{of.wire}")', f"public interface {of.name} extends DiwanObject {{", text, "}", ""]
    return "\n".join(lines)


def record(name, doc, fields):
    parts = ", ".join(f"{kind(field)} {camel(field.name)}" for field in fields)
    imports = "import java.util.List;\n\n" if "List<" in parts else ""
    return f"// Made by clients/generate/main.py.\npackage diwan.objects;\n\n{imports}/** {doc} */\npublic record {name}({parts}) {{}}\n"


def files():
    made = {f"{FOLDER}/{of.name}.java": interface(of) for of in types()}
    made.update({f"{FOLDER}/{name}.java": record(name, doc, fields) for name, doc, fields in records()})
    return made
