"""The classes of the Python library, for threads and for asyncio."""

from table import types

KINDS = {"int": "int", "flag": "bool", "text": "str", "json": "Any", "jsons": "list", "texts": "List[str]",
         "ints": "List[int]", "pairs": "Dict[str, Any]"}
NAMES = {"await": "wait"}

# What is held, by `with`: how the function is called, by which method it is acquired, which part of the result says so,
# how it is given back.
HOLDS = {
    "lock": [("hold", "acquire", "acquired", '"release", {"fence": held.fence}')],
    "rwlock": [("reading", "read", "acquired", '"release", {"fence": held.fence}'),
               ("writing", "write", "acquired", '"release", {"fence": held.fence}')],
    "semaphore": [("hold", "acquire", "acquired", '"release", {"n": n or 1, "fence": held.fence}')],
    "election": [("lead", "campaign", "leader", '"resign", {"fence": held.fence}')],
}
OWNER = {"": 'f"t{threading.get_ident()}"', "async ": 'f"t{id(asyncio.current_task())}"'}


def parameter(arg):
    kind = KINDS[arg.kind]
    name = safe(arg.name)
    if not arg.optional:
        return f"{name}: {kind}"
    return f"{name}: {'Any' if kind == 'Any' else f'Optional[{kind}]'} = None"


def safe(name):
    return name + "_" if name == "from" else name


def parameters(method, first=True):
    given = [parameter(arg) for arg in method.required + method.optional]
    if method.kind == "blocking":
        given += ["*", "wait: Optional[float] = None"]
    elif method.kind == "either":
        given += ["*", "wait: float = 0"]
    elif method.kind == "query":
        given += ["*", "stale: bool = False"]
    return ", ".join(["self", *given])


def passed(method):
    """The arguments: an optional one that is not given is not sent, a null that must be given is."""
    needed = [f'"{arg.name}": {safe(arg.name)}' for arg in method.required]
    given = [f"{safe(arg.name)}={safe(arg.name)}" for arg in method.optional]
    if not given:
        return "{" + ", ".join(needed) + "}"
    return "{" + ", ".join([*needed, f"**given({', '.join(given)})"]) + "}"


def returns(method):
    if not method.single:
        return "Dict[str, Any]"
    kind = KINDS.get(method.single.kind, "List[Dict[str, Any]]" if "[]" in method.single.kind else "Dict[str, Any]")
    return f"Optional[{kind}]" if method.single.optional else kind


def define(of, method, a):
    lines = [f"    {a}def {NAMES.get(method.name, method.name)}({parameters(method)}) -> {returns(method)}:"]
    given = ", ".join(f"{'?' if r.optional else ''}{r.name}" for r in method.results)
    how = {"blocking": " Waits `wait` seconds, for ever without it.", "either": " Waits `wait` seconds for more.",
           "query": " `stale`: from this member's copy."}.get(method.kind, "")
    lines.append(f'        """Gives {given.replace("?", "")}.{how}"""')
    if of.wire == "lock" and method.name == "acquire":
        lines.append(f"        owner = {OWNER[a]} if owner is None else owner")
    words = [f'"{method.kind}"', f'"{method.name}"', passed(method)]
    words += ["wait"] if method.waits else []
    words += [f'single="{method.single.name}"'] if method.single else []
    words += ["stale=stale"] if method.kind == "query" else []
    lines.append(f"        return {'await ' if a else ''}self._call({', '.join(words)})")
    return lines


def holds(of, a):
    lines = []
    for name, by, granted, back in HOLDS.get(of.wire, []):
        method = next(method for method in of.methods if method.name == by)
        lines += [
            "",
            f"    def {name}({parameters(method)}):",
            f'        """`{a}with` it is held; `NotAcquired` if it was not in time."""',
        ]
        if of.wire == "lock":
            lines.append(f"        owner = {OWNER[a]} if owner is None else owner")
        lines += [
            f'        return self._holding("{by}", {passed(method)}, wait, "{granted}",',
            f"                             lambda held: ({back}))",
        ]
    return lines


def module(a):
    base = "AsyncObject" if a else "SyncObject"
    mixin = "AsyncHolds" if a else "SyncHolds"
    lines = ['"""Made by clients/generate/main.py: the built-in types."""', "", "from __future__ import annotations", ""]
    lines += ["import asyncio" if a else "import threading", "from typing import Any, Dict, List, Optional", ""]
    lines += [f"from ._proxy import {base}, {mixin}, given", "", f"__all__ = {[of.name for of in types()]}"]
    for of in types():
        held = any(hold[0] == "hold" for hold in HOLDS.get(of.wire, []))
        lines += ["", "", f"class {of.name}({f'{mixin}, ' if held else ''}{base}):", f'    """{of.doc}"""', ""]
        lines.append(f'    TYPE = "{of.wire}"')
        for method in of.methods:
            lines += ["", *define(of, method, a)]
        lines += holds(of, a)
    return "\n".join(lines) + "\n"


def files():
    return {"python/diwan/_objects.py": module(""), "python/diwan/_aio_objects.py": module("async ")}
