"""What types of live objects are written against."""

from _diwan import (
    caller, clear_timer, emit, log, now_ms, park as _park, position, random_bytes, refuse, send as _send, set_timer, wake,
)

__all__ = [
    "Refused", "Ticket", "blocking", "caller", "clear_timer", "command", "emit", "log", "now_ms", "object", "park", "position",
    "query", "random_below", "random_bytes", "send", "set_timer",
]


class Refused(Exception):
    """The call is refused: the caller gets the code and the text, and the object is as before."""

    code = "refused"

    def __init__(self, detail="", code=None):
        super().__init__(detail)
        self.detail = str(detail)
        if code is not None:
            self.code = code


class Ticket(int):
    """A call that waits. The object keeps it, and ends it in a later command; if the call ends otherwise (its time, its caller),
    the method `ticket_ended(self, ticket)` is told."""

    def wake(self, result=None):
        """Ends the call with a result. False: nobody waits under this ticket any more."""
        return wake(int(self), result)

    def refuse(self, why):
        """Refuses the call with a `Refused`. False: nobody waits under this ticket any more."""
        return refuse(int(self), why.code, why.detail)


def park(tag=0, wait_ms=None):
    """The call of this method waits, at most that long; without a limit the caller's own one rules."""
    return Ticket(_park(tag, -1 if wait_ms is None else max(wait_ms, 0)))


def send(target, method, arguments=None):
    """Has a method of another object, `TYPE/NAME`, called later, once, if the call succeeds. Nobody hears of the result."""
    _send(target, method, {} if arguments is None else arguments)


def random_below(limit):
    """A random number from 0 to below the limit. It is not secret: every member computes the same."""
    return int.from_bytes(random_bytes(16), "little") % limit


def command(method):
    """The method may change the object."""
    method._diwan_kind = "command"
    return method


def query(method):
    """The method only reads. What it changes is thrown away."""
    method._diwan_kind = "query"
    return method


def blocking(method):
    """A command that may wait: it returns what `park` gave."""
    method._diwan_kind = "blocking"
    return method


_builtin_object = object


def object(cls):
    """The class is the type; needed only if the file has several with methods that may be called."""
    cls._diwan_object = cls.__name__
    return cls


# What the runner calls. Nothing below is the author's business.

_SCHEMAS = {int: "integer", float: "number", str: "string", bool: "boolean", list: "array", dict: "object"}
_NOT_ARGUMENTS = ("ttl_ms", "wait_ms")


class _Method:
    """What is known of a method, so that wrong arguments are refused before it runs."""

    def __init__(self, name, function, kind):
        code = function.__code__
        names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
        defaults = function.__defaults__ or ()
        keywords = function.__kwdefaults__ or {}
        positional = code.co_varnames[1 : code.co_argcount]
        optional = set(positional[len(positional) - len(defaults) :]) | set(keywords)
        annotations = getattr(function, "__annotations__", {})
        self.name, self.function, self.kind, self.names = name, function, kind, names
        self.required = tuple(argument for argument in names if argument not in optional)
        self.types = {argument: annotations[argument] for argument in names if annotations.get(argument) in _SCHEMAS}
        self.takes_any = bool(code.co_flags & 8)

    def checked(self, arguments):
        for argument in _NOT_ARGUMENTS:
            if argument not in self.names:
                arguments.pop(argument, None)
        for argument in self.required:
            if argument not in arguments:
                raise Refused(f"`{argument}`: is missing", "bad-argument")
        for argument, value in arguments.items():
            if argument not in self.names and not self.takes_any:
                raise Refused(f"`{argument}`: the method has no such argument", "bad-argument")
            wanted = self.types.get(argument)
            if wanted is not None and not _is_a(value, wanted):
                raise Refused(f"`{argument}`: is no {_SCHEMAS[wanted]}", "bad-argument")
        return arguments

    def schema(self):
        properties = {argument: {} for argument in self.names}
        for argument, wanted in self.types.items():
            properties[argument]["type"] = _SCHEMAS[wanted]
        schema = {"type": "object", "properties": properties}
        if self.required:
            schema["required"] = list(self.required)
        return schema


def _is_a(value, wanted):
    if value is None:
        return True
    if wanted is float:
        return type(value) in (int, float)
    return type(value) is wanted


class _Loaded:
    """The type that was loaded, and its object."""

    cls = None
    constructor = None
    methods = {}
    instance = None


def _methods_of(cls):
    methods = {}
    for base in reversed(cls.__mro__):
        for name, member in vars(base).items():
            kind = getattr(member, "_diwan_kind", None)
            if kind is not None:
                methods[name] = _Method(name, member, kind)
            else:
                methods.pop(name, None)
    return methods


def _load(namespace):
    classes = [value for value in namespace.values() if isinstance(value, type) and value.__module__ == namespace["__name__"]]
    marked = [cls for cls in classes if vars(cls).get("_diwan_object") == cls.__name__]
    classes = marked or [cls for cls in classes if _methods_of(cls)]
    if len(classes) != 1:
        found = ", ".join(cls.__name__ for cls in classes) or "none"
        raise Refused(f"the file must have one class with methods that may be called; found: {found}", "bad-source")
    cls = _Loaded.cls = classes[0]
    _Loaded.methods = _methods_of(cls)
    if cls.__init__ is not _builtin_object.__init__:
        _Loaded.constructor = _Method("__init__", cls.__init__, "constructor")


def _describe():
    cls, constructor = _Loaded.cls, _Loaded.constructor
    methods = {}
    for name, method in _Loaded.methods.items():
        methods[name] = {"kind": method.kind, "args": method.schema()}
        if method.function.__doc__:
            methods[name]["description"] = method.function.__doc__
    schema = constructor.schema() if constructor else {"type": "object", "properties": {}}
    return {
        "name": cls.__name__.lower(),
        "codec": "json",
        "constructor": {"args": schema},
        "methods": methods,
        "session_expired": _own("session_expired") is not None,
    }


def _create(arguments):
    constructor = _Loaded.constructor
    if constructor is not None:
        arguments = constructor.checked(arguments)
    elif arguments:
        raise Refused("the type's constructor has no arguments", "bad-argument")
    _Loaded.instance = _Loaded.cls(**arguments)


def _call(name, arguments=None):
    method = _Loaded.methods.get(name)
    if method is None:
        raise Refused(f"the type has no method `{name}`", "no-such-method")
    if arguments is None:
        if not method.required:
            return method.function(_Loaded.instance)
        arguments = {}
    return method.function(_Loaded.instance, **method.checked(arguments))


def _event(name, argument):
    told = _own(name)
    if told:
        told(_Loaded.instance, Ticket(argument) if name == "ticket_ended" else argument)


def _own(name):
    """A method of the author's that the cluster calls: not one that callers may call."""
    method = getattr(_Loaded.cls, name, None)
    return None if hasattr(method, "_diwan_kind") else method


def _save():
    save = _own("save")
    return save(_Loaded.instance) if save else vars(_Loaded.instance)


def _migrate(description, state):
    instance = _Loaded.instance = _Loaded.cls.__new__(_Loaded.cls)
    migrate = _own("migrate")
    if migrate:
        migrate(instance, description, state)
    else:
        vars(instance).update(state)
