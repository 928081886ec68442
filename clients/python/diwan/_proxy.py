"""What the classes of all types have in common, for threads and for asyncio."""

import asyncio
import contextlib
import json
import threading
import uuid
import weakref
from urllib.parse import quote, urlencode

from . import _tls
from ._core import Core
from ._held import Held
from .problem import NotAcquired, Problem, of_response


def given(**args):
    """Those arguments that are given."""
    return {name.rstrip("_"): value for name, value in args.items() if value is not None}


async def _hold(core, of, name, method, args, wait, granted):
    """Acquires, and keeps watch over the grant. Waits again when the longest wait of the server has passed."""
    while True:
        result, session = await core.call("blocking", of, name, method, args, wait)
        if result[granted]:
            held = Held(session, of, name, result)
            session.held.add(held)
            return held
        if wait is not None:
            raise NotAcquired(f"{of} {name}: not acquired within {wait} s")


async def _drop(core, held, method, args):
    """Gives back. What is lost has nothing to give back."""
    held.session.held.discard(held)
    try:
        await core.call("owned", held.of, held.name, method, args)
    except Problem as refused:
        gone = ("not-owner", "not-held", "stale-fence", "session-expired", "object-deleted")
        if refused.slug not in gone:
            raise


class _Base:
    """An object: its cluster, its type, its name."""

    TYPE = ""

    def __init__(self, cluster, name, type=None):
        self.cluster, self.name, self.type = cluster, name, type or self.TYPE

    @property
    def _path(self):
        return self.cluster._path(self.type, self.name)

    def __repr__(self):
        return f"<{self.type} {self.name!r}>"


class SyncObject(_Base):
    """An object, for threads."""

    def _call(self, kind, method, args, wait=None, single=None, stale=False):
        core = self.cluster._core
        position = core.position if stale else None
        calling = core.call(kind, self.type, self.name, method, args, wait, position)
        result, _ = self.cluster._run(calling)
        return result if single is None else result.get(single)

    @contextlib.contextmanager
    def _holding(self, method, args, wait, granted, back):
        core = self.cluster._core
        held = self.cluster._run(_hold(core, self.type, self.name, method, args, wait, granted))
        try:
            yield held
        finally:
            self.cluster._run(_drop(core, held, *back(held)))

    def call(self, method, wait=None, **args):
        """Calls any method."""
        return self._call("blocking", method, args, wait)

    def create(self, **args):
        """Creates the object. Whether it is new."""
        return self.cluster._run(self.cluster._create(self._path, args))["created"]

    def describe(self):
        """What is known of the object."""
        return self.cluster._run(self.cluster._describe(self._path))

    def delete(self, incarnation=None):
        """Deletes the object, if it is that incarnation."""
        self.cluster._run(self.cluster._delete(self._path, incarnation))

    def batch(self, calls):
        """Makes up to 100 calls, (method, arguments) each, one behind the other. A result or a `Problem` for each."""
        return self.cluster._run(self.cluster._batch(self._path, calls))


class AsyncObject(_Base):
    """An object, for asyncio."""

    async def _call(self, kind, method, args, wait=None, single=None, stale=False):
        core = self.cluster._core
        position = core.position if stale else None
        calling = core.call(kind, self.type, self.name, method, args, wait, position)
        result, _ = await self.cluster._run(calling)
        return result if single is None else result.get(single)

    @contextlib.asynccontextmanager
    async def _holding(self, method, args, wait, granted, back):
        core = self.cluster._core
        held = await self.cluster._run(_hold(core, self.type, self.name, method, args, wait, granted))
        try:
            yield held
        finally:
            await asyncio.shield(self.cluster._run(_drop(core, held, *back(held))))

    async def call(self, method, wait=None, **args):
        """Calls any method."""
        return await self._call("blocking", method, args, wait)

    async def create(self, **args):
        """Creates the object. Whether it is new."""
        return (await self.cluster._run(self.cluster._create(self._path, args)))["created"]

    async def describe(self):
        """What is known of the object."""
        return await self.cluster._run(self.cluster._describe(self._path))

    async def delete(self, incarnation=None):
        """Deletes the object, if it is that incarnation."""
        await self.cluster._run(self.cluster._delete(self._path, incarnation))

    async def batch(self, calls):
        """Makes up to 100 calls, (method, arguments) each, one behind the other. A result or a `Problem` for each."""
        return await self.cluster._run(self.cluster._batch(self._path, calls))


class SyncHolds:
    """`with` for a type whose grants are held without arguments: they are kept for each thread."""

    def __enter__(self):
        stack = self.__dict__.setdefault("_stacks", threading.local()).__dict__.setdefault("stack", [])
        holding = self.hold()
        held = holding.__enter__()
        stack.append(holding)
        return held

    def __exit__(self, *error):
        self._stacks.stack.pop().__exit__(*error)


class AsyncHolds:
    """`async with` for a type whose grants are held without arguments: they are kept for each task."""

    async def __aenter__(self):
        stacks = self.__dict__.setdefault("_stacks", weakref.WeakKeyDictionary())
        holding = self.hold()
        held = await holding.__aenter__()
        stacks.setdefault(asyncio.current_task(), []).append(holding)
        return held

    async def __aexit__(self, *error):
        await self._stacks[asyncio.current_task()].pop().__aexit__(*error)


class BaseCluster:
    """The members of a cluster, by their addresses, and one session with it."""

    def __init__(self, members="127.0.0.1:7180", *, ttl=10.0, timeout=30.0, name=None, tls=None, ca=None, cert=None, token=None,
                 token_file=None):
        """`ttl`: seconds after which what a dead client held is free. `timeout`: seconds for which a call is tried again.

        Connections are encrypted if `tls` is true or an `ssl.SSLContext`, if there is one of the others, or if addresses
        begin with `https://`. `ca`: a file with the authorities that vouch for members; without it, the system's. `cert`: a
        file with the certificate that this client shows and its key, or a pair of files.
        `token`: says who asks, with every request. `token_file`: a file with it, read again when the token is refused, so it
        may be replaced meanwhile. Without either: `DIWAN_TOKEN`, or the file that `DIWAN_TOKEN_FILE` names.
        """
        listed = members.split(",") if isinstance(members, str) else members
        encrypted = any(member.strip().startswith("https://") for member in listed)
        self._core = Core(members, ttl, timeout, name, _tls.context(tls or encrypted, ca, cert), token, token_file)

    @staticmethod
    def _path(of, name):
        return f"/v1/objects/{of}/{quote(name, safe='')}"

    async def _create(self, path, args):
        return (await self._core.keyed("PUT", path, json.dumps(args).encode()))[1]

    async def _describe(self, path):
        return (await self._core.exchange("GET", path, b"", dict))[1]

    async def _delete(self, path, incarnation):
        fields = {"Idempotency-Key": f'"{uuid.uuid4()}"'}
        if incarnation is not None:
            fields["If-Match"] = f'"{incarnation}"'
        await self._core.exchange("DELETE", path, b"", lambda: fields)

    async def _batch(self, path, calls):
        body = json.dumps({"calls": [{"method": method, "args": args} for method, args in calls]}).encode()
        results = (await self._core.keyed("POST", f"{path}:batch", body))[1]["results"]

        def each(part):
            if "problem" in part:
                return of_response(part["problem"].get("status", 0), json.dumps(part["problem"]))
            return part["result"]
        return [each(part) for part in results]

    async def _list(self, of, prefix, after, limit):
        query = urlencode(given(type=of, prefix=prefix, after=after, limit=limit))
        return (await self._core.exchange("GET", f"/v1/objects?{query}", b"", dict))[1]


class Cluster(BaseCluster):
    """A cluster, for threads. Close it, or use it with `with`: then what it holds is free at once."""

    def _run(self, coroutine):
        future = self._core.submit(coroutine)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def list(self, type, prefix=None, after=None, limit=None):
        """The objects of a type: `objects` and `next`."""
        return self._run(self._list(type, prefix, after, limit))

    def type(self, type):
        """The objects of any type: `cluster.type("hits")("home").call("hit")`."""
        return lambda name: SyncObject(self, name, type)

    def close(self):
        self._core.stop()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class AsyncCluster(BaseCluster):
    """A cluster, for asyncio. Its connections and heartbeats are on a thread of their own: the loop may be blocked."""

    def _run(self, coroutine):
        return asyncio.wrap_future(self._core.submit(coroutine))

    async def list(self, type, prefix=None, after=None, limit=None):
        """The objects of a type: `objects` and `next`."""
        return await self._run(self._list(type, prefix, after, limit))

    def type(self, type):
        """The objects of any type: `await cluster.type("hits")("home").call("hit")`."""
        return lambda name: AsyncObject(self, name, type)

    async def close(self):
        await asyncio.get_running_loop().run_in_executor(None, self._core.stop)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        await self.close()
