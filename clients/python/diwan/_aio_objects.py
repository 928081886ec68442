"""Made by clients/generate/main.py: the built-in types."""

from __future__ import annotations

import asyncio
from typing import Any, Dict, List, Optional

from ._proxy import AsyncObject, AsyncHolds, given

__all__ = ['Lock', 'RwLock', 'Semaphore', 'Barrier', 'Latch', 'Counter', 'Value', 'Map', 'Set', 'Queue', 'Stack', 'Log', 'Membership', 'Election', 'RateLimiter', 'Ids', 'Names']


class Lock(AsyncHolds, AsyncObject):
    """A lock. `await` waits for a condition, and returns only with the lock."""

    TYPE = "lock"

    async def acquire(self, owner: Optional[str] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives acquired, fence, holds. Waits `wait` seconds, for ever without it."""
        owner = f"t{id(asyncio.current_task())}" if owner is None else owner
        return await self._call("blocking", "acquire", {**given(owner=owner)}, wait)

    async def release(self, fence: int) -> int:
        """Gives holds."""
        return await self._call("owned", "release", {"fence": fence}, single="holds")

    async def steal(self, reason: Optional[str] = None) -> int:
        """Gives fence."""
        return await self._call("owned", "steal", {**given(reason=reason)}, single="fence")

    async def wait(self, condition: str, fence: int, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives signalled, fence. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "await", {"condition": condition, "fence": fence}, wait)

    async def signal(self, condition: str, n: Optional[int] = None) -> int:
        """Gives woken."""
        return await self._call("owned", "signal", {"condition": condition, **given(n=n)}, single="woken")

    async def signal_all(self, condition: str) -> int:
        """Gives woken."""
        return await self._call("owned", "signal_all", {"condition": condition}, single="woken")

    async def holder(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives session, owner, fence, holds, since, waiting. `stale`: from this member's copy."""
        return await self._call("query", "holder", {}, stale=stale)

    async def check(self, fence: int, *, stale: bool = False) -> bool:
        """Gives valid. `stale`: from this member's copy."""
        return await self._call("query", "check", {"fence": fence}, single="valid", stale=stale)

    def hold(self, owner: Optional[str] = None, *, wait: Optional[float] = None):
        """`async with` it is held; `NotAcquired` if it was not in time."""
        owner = f"t{id(asyncio.current_task())}" if owner is None else owner
        return self._holding("acquire", {**given(owner=owner)}, wait, "acquired",
                             lambda held: ("release", {"fence": held.fence}))


class RwLock(AsyncObject):
    """A lock for one writer or many readers, in the order in which they came."""

    TYPE = "rwlock"

    async def read(self, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives acquired, fence. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "read", {}, wait)

    async def write(self, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives acquired, fence. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "write", {}, wait)

    async def downgrade(self, fence: int) -> int:
        """Gives fence."""
        return await self._call("owned", "downgrade", {"fence": fence}, single="fence")

    async def release(self, fence: int) -> int:
        """Gives holds."""
        return await self._call("owned", "release", {"fence": fence}, single="holds")

    async def state(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives readers, writer, fence, waiting. `stale`: from this member's copy."""
        return await self._call("query", "state", {}, stale=stale)

    def reading(self, *, wait: Optional[float] = None):
        """`async with` it is held; `NotAcquired` if it was not in time."""
        return self._holding("read", {}, wait, "acquired",
                             lambda held: ("release", {"fence": held.fence}))

    def writing(self, *, wait: Optional[float] = None):
        """`async with` it is held; `NotAcquired` if it was not in time."""
        return self._holding("write", {}, wait, "acquired",
                             lambda held: ("release", {"fence": held.fence}))


class Semaphore(AsyncHolds, AsyncObject):
    """Permits, in the order in which they were asked for."""

    TYPE = "semaphore"

    async def acquire(self, n: Optional[int] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives acquired, fence, held. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "acquire", {**given(n=n)}, wait)

    async def release(self, n: Optional[int] = None, fence: Optional[int] = None) -> int:
        """Gives available."""
        return await self._call("owned", "release", {**given(n=n, fence=fence)}, single="available")

    async def drain(self) -> Dict[str, Any]:
        """Gives taken, fence."""
        return await self._call("owned", "drain", {})

    async def resize(self, by: int) -> Dict[str, Any]:
        """Gives permits, available."""
        return await self._call("command", "resize", {"by": by})

    async def available(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives available, permits, waiting. `stale`: from this member's copy."""
        return await self._call("query", "available", {}, stale=stale)

    def hold(self, n: Optional[int] = None, *, wait: Optional[float] = None):
        """`async with` it is held; `NotAcquired` if it was not in time."""
        return self._holding("acquire", {**given(n=n)}, wait, "acquired",
                             lambda held: ("release", {"n": n or 1, "fence": held.fence}))


class Barrier(AsyncObject):
    """A barrier, or a double one, which has `enter` and `leave` in place of `await`."""

    TYPE = "barrier"

    async def wait(self, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives index, generation. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "await", {}, wait)

    async def enter(self, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives index, generation. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "enter", {}, wait)

    async def leave(self, *, wait: Optional[float] = None) -> bool:
        """Gives left. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "leave", {}, wait, single="left")

    async def reset(self) -> int:
        """Gives parties."""
        return await self._call("command", "reset", {}, single="parties")

    async def state(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives parties, waiting, inside, leaving, generation, broken. `stale`: from this member's copy."""
        return await self._call("query", "state", {}, stale=stale)


class Latch(AsyncObject):
    """A latch: it opens when its count is 0."""

    TYPE = "latch"

    async def count_down(self, n: Optional[int] = None) -> int:
        """Gives count."""
        return await self._call("command", "count_down", {**given(n=n)}, single="count")

    async def wait(self, *, wait: Optional[float] = None) -> bool:
        """Gives open. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "await", {}, wait, single="open")

    async def reset(self, count: Optional[int] = None) -> int:
        """Gives count."""
        return await self._call("command", "reset", {**given(count=count)}, single="count")

    async def count(self, *, stale: bool = False) -> int:
        """Gives count. `stale`: from this member's copy."""
        return await self._call("query", "count", {}, single="count", stale=stale)


class Counter(AsyncObject):
    """A counter of 64 bits, perhaps with bounds."""

    TYPE = "counter"

    async def increment(self, by: Optional[int] = None) -> int:
        """Gives value."""
        return await self._call("command", "increment", {**given(by=by)}, single="value")

    async def decrement(self, by: Optional[int] = None) -> int:
        """Gives value."""
        return await self._call("command", "decrement", {**given(by=by)}, single="value")

    async def set(self, value: int) -> Dict[str, Any]:
        """Gives value, previous."""
        return await self._call("command", "set", {"value": value})

    async def swap(self, value: int) -> Dict[str, Any]:
        """Gives value, previous."""
        return await self._call("command", "swap", {"value": value})

    async def compare_and_set(self, expect: int, value: int) -> Dict[str, Any]:
        """Gives swapped, value."""
        return await self._call("command", "compare_and_set", {"expect": expect, "value": value})

    async def wait(self, at_least: Optional[int] = None, at_most: Optional[int] = None, equals: Optional[int] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives reached, value. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "await", {**given(at_least=at_least, at_most=at_most, equals=equals)}, wait)

    async def get(self, *, stale: bool = False) -> int:
        """Gives value. `stale`: from this member's copy."""
        return await self._call("query", "get", {}, single="value", stale=stale)


class Value(AsyncObject):
    """Any JSON, with a version."""

    TYPE = "value"

    async def set(self, value: Any) -> Dict[str, Any]:
        """Gives version, previous."""
        return await self._call("command", "set", {"value": value})

    async def swap(self, value: Any) -> Dict[str, Any]:
        """Gives version, previous."""
        return await self._call("command", "swap", {"value": value})

    async def compare_and_set(self, value: Any, expect: Any = None, version: Optional[int] = None) -> Dict[str, Any]:
        """Gives swapped, version, value."""
        return await self._call("command", "compare_and_set", {"value": value, **given(expect=expect, version=version)})

    async def await_change(self, version: int, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives changed, value, version. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "await_change", {"version": version}, wait)

    async def get(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives value, version. `stale`: from this member's copy."""
        return await self._call("query", "get", {}, stale=stale)


class Map(AsyncObject):
    """A map, ordered by its keys."""

    TYPE = "map"

    async def put(self, key: str, value: Any, ttl_ms: Optional[int] = None, if_version: Optional[int] = None, if_absent: Optional[bool] = None) -> Dict[str, Any]:
        """Gives stored, version, previous."""
        return await self._call("command", "put", {"key": key, "value": value, **given(ttl_ms=ttl_ms, if_version=if_version, if_absent=if_absent)})

    async def remove(self, key: str, if_version: Optional[int] = None) -> Dict[str, Any]:
        """Gives removed, version, previous."""
        return await self._call("command", "remove", {"key": key, **given(if_version=if_version)})

    async def add(self, key: str, by: Optional[int] = None) -> Dict[str, Any]:
        """Gives value, version."""
        return await self._call("command", "add", {"key": key, **given(by=by)})

    async def put_all(self, entries: Dict[str, Any]) -> Dict[str, Any]:
        """Gives stored, version."""
        return await self._call("command", "put_all", {"entries": entries})

    async def clear(self) -> int:
        """Gives removed."""
        return await self._call("command", "clear", {}, single="removed")

    async def await_change(self, key: str, version: int, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives changed, value, version. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "await_change", {"key": key, "version": version}, wait)

    async def get(self, key: str, *, stale: bool = False) -> Dict[str, Any]:
        """Gives value, version. `stale`: from this member's copy."""
        return await self._call("query", "get", {"key": key}, stale=stale)

    async def get_all(self, keys: List[str], *, stale: bool = False) -> List[Dict[str, Any]]:
        """Gives entries. `stale`: from this member's copy."""
        return await self._call("query", "get_all", {"keys": keys}, single="entries", stale=stale)

    async def contains(self, key: str, *, stale: bool = False) -> bool:
        """Gives contains. `stale`: from this member's copy."""
        return await self._call("query", "contains", {"key": key}, single="contains", stale=stale)

    async def size(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives size, bytes. `stale`: from this member's copy."""
        return await self._call("query", "size", {}, stale=stale)

    async def first(self, *, stale: bool = False) -> Optional[Dict[str, Any]]:
        """Gives entry. `stale`: from this member's copy."""
        return await self._call("query", "first", {}, single="entry", stale=stale)

    async def last(self, *, stale: bool = False) -> Optional[Dict[str, Any]]:
        """Gives entry. `stale`: from this member's copy."""
        return await self._call("query", "last", {}, single="entry", stale=stale)

    async def floor(self, key: str, *, stale: bool = False) -> Optional[Dict[str, Any]]:
        """Gives entry. `stale`: from this member's copy."""
        return await self._call("query", "floor", {"key": key}, single="entry", stale=stale)

    async def ceiling(self, key: str, *, stale: bool = False) -> Optional[Dict[str, Any]]:
        """Gives entry. `stale`: from this member's copy."""
        return await self._call("query", "ceiling", {"key": key}, single="entry", stale=stale)

    async def range(self, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, *, stale: bool = False) -> Dict[str, Any]:
        """Gives entries, next. `stale`: from this member's copy."""
        return await self._call("query", "range", {**given(from_=from_, to=to, limit=limit)}, stale=stale)


class Set(AsyncObject):
    """A set of any JSON."""

    TYPE = "set"

    async def add(self, items: list) -> int:
        """Gives added."""
        return await self._call("command", "add", {"items": items}, single="added")

    async def remove(self, items: list) -> int:
        """Gives removed."""
        return await self._call("command", "remove", {"items": items}, single="removed")

    async def pop(self, n: Optional[int] = None) -> list:
        """Gives items."""
        return await self._call("command", "pop", {**given(n=n)}, single="items")

    async def contains(self, item: Any, *, stale: bool = False) -> bool:
        """Gives contains. `stale`: from this member's copy."""
        return await self._call("query", "contains", {"item": item}, single="contains", stale=stale)

    async def size(self, *, stale: bool = False) -> int:
        """Gives size. `stale`: from this member's copy."""
        return await self._call("query", "size", {}, single="size", stale=stale)

    async def members(self, after: Any = None, limit: Optional[int] = None, *, stale: bool = False) -> Dict[str, Any]:
        """Gives items, next. `stale`: from this member's copy."""
        return await self._call("query", "members", {**given(after=after, limit=limit)}, stale=stale)


class Queue(AsyncObject):
    """A queue. With a lease an item comes back unless it is acknowledged."""

    TYPE = "queue"

    async def put(self, item: Any, priority: Optional[int] = None, delay_ms: Optional[int] = None, *, wait: Optional[float] = None) -> Optional[int]:
        """Gives id. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "put", {"item": item, **given(priority=priority, delay_ms=delay_ms)}, wait, single="id")

    async def take(self, n: Optional[int] = None, lease_ms: Optional[int] = None, *, wait: Optional[float] = None) -> List[Dict[str, Any]]:
        """Gives items. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "take", {**given(n=n, lease_ms=lease_ms)}, wait, single="items")

    async def ack(self, ids: List[int]) -> int:
        """Gives acked."""
        return await self._call("owned", "ack", {"ids": ids}, single="acked")

    async def nack(self, ids: List[int], delay_ms: Optional[int] = None) -> int:
        """Gives nacked."""
        return await self._call("owned", "nack", {"ids": ids, **given(delay_ms=delay_ms)}, single="nacked")

    async def extend(self, ids: List[int]) -> int:
        """Gives extended."""
        return await self._call("owned", "extend", {"ids": ids}, single="extended")

    async def replace(self, id: int, item: Any) -> bool:
        """Gives replaced."""
        return await self._call("command", "replace", {"id": id, "item": item}, single="replaced")

    async def remove(self, id: int) -> bool:
        """Gives removed."""
        return await self._call("command", "remove", {"id": id}, single="removed")

    async def peek(self, n: Optional[int] = None, *, stale: bool = False) -> List[Dict[str, Any]]:
        """Gives items. `stale`: from this member's copy."""
        return await self._call("query", "peek", {**given(n=n)}, single="items", stale=stale)

    async def list(self, after: Optional[int] = None, limit: Optional[int] = None, *, stale: bool = False) -> Dict[str, Any]:
        """Gives items, next. `stale`: from this member's copy."""
        return await self._call("query", "list", {**given(after=after, limit=limit)}, stale=stale)

    async def size(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives size, ready, delayed, leased, dead. `stale`: from this member's copy."""
        return await self._call("query", "size", {}, stale=stale)

    async def dead(self, limit: Optional[int] = None, *, stale: bool = False) -> List[Dict[str, Any]]:
        """Gives items. `stale`: from this member's copy."""
        return await self._call("query", "dead", {**given(limit=limit)}, single="items", stale=stale)


class Stack(AsyncObject):
    """A stack."""

    TYPE = "stack"

    async def push(self, item: Any, *, wait: Optional[float] = None) -> Optional[int]:
        """Gives size. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "push", {"item": item}, wait, single="size")

    async def pop(self, n: Optional[int] = None, *, wait: Optional[float] = None) -> list:
        """Gives items. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "pop", {**given(n=n)}, wait, single="items")

    async def peek(self, *, stale: bool = False) -> list:
        """Gives items. `stale`: from this member's copy."""
        return await self._call("query", "peek", {}, single="items", stale=stale)

    async def items(self, limit: Optional[int] = None, *, stale: bool = False) -> list:
        """Gives items. `stale`: from this member's copy."""
        return await self._call("query", "items", {**given(limit=limit)}, single="items", stale=stale)

    async def size(self, *, stale: bool = False) -> int:
        """Gives size. `stale`: from this member's copy."""
        return await self._call("query", "size", {}, single="size", stale=stale)


class Log(AsyncObject):
    """Entries under rising indexes."""

    TYPE = "log"

    async def append(self, entry: Any) -> int:
        """Gives index."""
        return await self._call("command", "append", {"entry": entry}, single="index")

    async def trim(self, before: int) -> Dict[str, Any]:
        """Gives trimmed, first."""
        return await self._call("command", "trim", {"before": before})

    async def read(self, from_: Optional[int] = None, limit: Optional[int] = None, *, wait: float = 0) -> Dict[str, Any]:
        """Gives entries, first, next. Waits `wait` seconds for more."""
        return await self._call("either", "read", {**given(from_=from_, limit=limit)}, wait)


class Membership(AsyncObject):
    """Who is there. Members leave with their session."""

    TYPE = "membership"

    async def join(self, name: str, data: Any = None) -> Dict[str, Any]:
        """Gives epoch, members."""
        return await self._call("owned", "join", {"name": name, **given(data=data)})

    async def leave(self, name: str) -> int:
        """Gives epoch."""
        return await self._call("owned", "leave", {"name": name}, single="epoch")

    async def update(self, name: str, data: Any) -> int:
        """Gives epoch."""
        return await self._call("owned", "update", {"name": name, "data": data}, single="epoch")

    async def report(self, epoch: int, name: str) -> Dict[str, Any]:
        """Gives reports, removed, epoch."""
        return await self._call("owned", "report", {"epoch": epoch, "name": name})

    async def await_change(self, epoch: int, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives changed, epoch, members. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "await_change", {"epoch": epoch}, wait)

    async def await_size(self, n: Optional[int] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives reached, epoch, members. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "await_size", {**given(n=n)}, wait)

    async def members(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives enough, epoch, members. `stale`: from this member's copy."""
        return await self._call("query", "members", {}, stale=stale)


class Election(AsyncObject):
    """An election: one leader at a time, under a term."""

    TYPE = "election"

    async def campaign(self, name: str, data: Any = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives leader, term, fence. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "campaign", {"name": name, **given(data=data)}, wait)

    async def resign(self, fence: int) -> bool:
        """Gives resigned."""
        return await self._call("owned", "resign", {"fence": fence}, single="resigned")

    async def proclaim(self, fence: int, data: Any) -> int:
        """Gives term."""
        return await self._call("owned", "proclaim", {"fence": fence, "data": data}, single="term")

    async def observe(self, term: Optional[int] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives name, data, term. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "observe", {**given(term=term)}, wait)

    async def leader(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives name, data, term. `stale`: from this member's copy."""
        return await self._call("query", "leader", {}, stale=stale)

    async def candidates(self, *, stale: bool = False) -> List[str]:
        """Gives candidates. `stale`: from this member's copy."""
        return await self._call("query", "candidates", {}, single="candidates", stale=stale)

    def lead(self, name: str, data: Any = None, *, wait: Optional[float] = None):
        """`async with` it is held; `NotAcquired` if it was not in time."""
        return self._holding("campaign", {"name": name, **given(data=data)}, wait, "leader",
                             lambda held: ("resign", {"fence": held.fence}))


class RateLimiter(AsyncObject):
    """A token bucket for each key."""

    TYPE = "ratelimiter"

    async def acquire(self, n: Optional[int] = None, key: Optional[str] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives granted, remaining, retry_after_ms. Waits `wait` seconds, for ever without it."""
        return await self._call("blocking", "acquire", {**given(n=n, key=key)}, wait)

    async def configure(self, per_second: Optional[int] = None, burst: Optional[int] = None) -> Dict[str, Any]:
        """Gives per_second, burst."""
        return await self._call("command", "configure", {**given(per_second=per_second, burst=burst)})

    async def peek(self, key: Optional[str] = None, *, stale: bool = False) -> Dict[str, Any]:
        """Gives remaining, per_second, burst, waiting. `stale`: from this member's copy."""
        return await self._call("query", "peek", {**given(key=key)}, stale=stale)


class Ids(AsyncObject):
    """Numbers, or ULIDs, that are never given twice."""

    TYPE = "ids"

    async def next(self, n: Optional[int] = None) -> Dict[str, Any]:
        """Gives first, last."""
        return await self._call("command", "next", {**given(n=n)})

    async def peek(self, *, stale: bool = False) -> Any:
        """Gives next. `stale`: from this member's copy."""
        return await self._call("query", "peek", {}, single="next", stale=stale)


class Names(AsyncObject):
    """Records of names."""

    TYPE = "names"

    async def set(self, name: str, record: Any) -> Dict[str, Any]:
        """Gives records, changed."""
        return await self._call("command", "set", {"name": name, "record": record})

    async def add(self, name: str, record: Any) -> Dict[str, Any]:
        """Gives records, changed."""
        return await self._call("command", "add", {"name": name, "record": record})

    async def remove(self, name: str, record: Any = None) -> Dict[str, Any]:
        """Gives records, changed."""
        return await self._call("command", "remove", {"name": name, **given(record=record)})

    async def list(self, name: Optional[str] = None, after: Optional[str] = None, limit: Optional[int] = None, *, stale: bool = False) -> Dict[str, Any]:
        """Gives records, names, next. `stale`: from this member's copy."""
        return await self._call("query", "list", {**given(name=name, after=after, limit=limit)}, stale=stale)
