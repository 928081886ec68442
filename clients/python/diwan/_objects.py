"""Made by clients/generate/main.py: the built-in types."""

from __future__ import annotations

import threading
from typing import Any, Dict, List, Optional

from ._proxy import SyncObject, SyncHolds, given

__all__ = ['Lock', 'RwLock', 'Semaphore', 'Barrier', 'Latch', 'Counter', 'Value', 'Map', 'Set', 'Queue', 'Stack', 'Log', 'Membership', 'Election', 'RateLimiter', 'Ids', 'Names']


class Lock(SyncHolds, SyncObject):
    """A lock. `await` waits for a condition, and returns only with the lock."""

    TYPE = "lock"

    def acquire(self, owner: Optional[str] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives acquired, fence, holds. Waits `wait` seconds, for ever without it."""
        owner = f"t{threading.get_ident()}" if owner is None else owner
        return self._call("blocking", "acquire", {**given(owner=owner)}, wait)

    def release(self, fence: int) -> int:
        """Gives holds."""
        return self._call("owned", "release", {"fence": fence}, single="holds")

    def steal(self, reason: Optional[str] = None) -> int:
        """Gives fence."""
        return self._call("owned", "steal", {**given(reason=reason)}, single="fence")

    def wait(self, condition: str, fence: int, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives signalled, fence. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "await", {"condition": condition, "fence": fence}, wait)

    def signal(self, condition: str, n: Optional[int] = None) -> int:
        """Gives woken."""
        return self._call("owned", "signal", {"condition": condition, **given(n=n)}, single="woken")

    def signal_all(self, condition: str) -> int:
        """Gives woken."""
        return self._call("owned", "signal_all", {"condition": condition}, single="woken")

    def holder(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives session, owner, fence, holds, since, waiting. `stale`: from this member's copy."""
        return self._call("query", "holder", {}, stale=stale)

    def check(self, fence: int, *, stale: bool = False) -> bool:
        """Gives valid. `stale`: from this member's copy."""
        return self._call("query", "check", {"fence": fence}, single="valid", stale=stale)

    def hold(self, owner: Optional[str] = None, *, wait: Optional[float] = None):
        """`with` it is held; `NotAcquired` if it was not in time."""
        owner = f"t{threading.get_ident()}" if owner is None else owner
        return self._holding("acquire", {**given(owner=owner)}, wait, "acquired",
                             lambda held: ("release", {"fence": held.fence}))


class RwLock(SyncObject):
    """A lock for one writer or many readers, in the order in which they came."""

    TYPE = "rwlock"

    def read(self, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives acquired, fence. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "read", {}, wait)

    def write(self, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives acquired, fence. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "write", {}, wait)

    def downgrade(self, fence: int) -> int:
        """Gives fence."""
        return self._call("owned", "downgrade", {"fence": fence}, single="fence")

    def release(self, fence: int) -> int:
        """Gives holds."""
        return self._call("owned", "release", {"fence": fence}, single="holds")

    def state(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives readers, writer, fence, waiting. `stale`: from this member's copy."""
        return self._call("query", "state", {}, stale=stale)

    def reading(self, *, wait: Optional[float] = None):
        """`with` it is held; `NotAcquired` if it was not in time."""
        return self._holding("read", {}, wait, "acquired",
                             lambda held: ("release", {"fence": held.fence}))

    def writing(self, *, wait: Optional[float] = None):
        """`with` it is held; `NotAcquired` if it was not in time."""
        return self._holding("write", {}, wait, "acquired",
                             lambda held: ("release", {"fence": held.fence}))


class Semaphore(SyncHolds, SyncObject):
    """Permits, in the order in which they were asked for."""

    TYPE = "semaphore"

    def acquire(self, n: Optional[int] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives acquired, fence, held. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "acquire", {**given(n=n)}, wait)

    def release(self, n: Optional[int] = None, fence: Optional[int] = None) -> int:
        """Gives available."""
        return self._call("owned", "release", {**given(n=n, fence=fence)}, single="available")

    def drain(self) -> Dict[str, Any]:
        """Gives taken, fence."""
        return self._call("owned", "drain", {})

    def resize(self, by: int) -> Dict[str, Any]:
        """Gives permits, available."""
        return self._call("command", "resize", {"by": by})

    def available(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives available, permits, waiting. `stale`: from this member's copy."""
        return self._call("query", "available", {}, stale=stale)

    def hold(self, n: Optional[int] = None, *, wait: Optional[float] = None):
        """`with` it is held; `NotAcquired` if it was not in time."""
        return self._holding("acquire", {**given(n=n)}, wait, "acquired",
                             lambda held: ("release", {"n": n or 1, "fence": held.fence}))


class Barrier(SyncObject):
    """A barrier, or a double one, which has `enter` and `leave` in place of `await`."""

    TYPE = "barrier"

    def wait(self, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives index, generation. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "await", {}, wait)

    def enter(self, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives index, generation. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "enter", {}, wait)

    def leave(self, *, wait: Optional[float] = None) -> bool:
        """Gives left. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "leave", {}, wait, single="left")

    def reset(self) -> int:
        """Gives parties."""
        return self._call("command", "reset", {}, single="parties")

    def state(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives parties, waiting, inside, leaving, generation, broken. `stale`: from this member's copy."""
        return self._call("query", "state", {}, stale=stale)


class Latch(SyncObject):
    """A latch: it opens when its count is 0."""

    TYPE = "latch"

    def count_down(self, n: Optional[int] = None) -> int:
        """Gives count."""
        return self._call("command", "count_down", {**given(n=n)}, single="count")

    def wait(self, *, wait: Optional[float] = None) -> bool:
        """Gives open. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "await", {}, wait, single="open")

    def reset(self, count: Optional[int] = None) -> int:
        """Gives count."""
        return self._call("command", "reset", {**given(count=count)}, single="count")

    def count(self, *, stale: bool = False) -> int:
        """Gives count. `stale`: from this member's copy."""
        return self._call("query", "count", {}, single="count", stale=stale)


class Counter(SyncObject):
    """A counter of 64 bits, perhaps with bounds."""

    TYPE = "counter"

    def increment(self, by: Optional[int] = None) -> int:
        """Gives value."""
        return self._call("command", "increment", {**given(by=by)}, single="value")

    def decrement(self, by: Optional[int] = None) -> int:
        """Gives value."""
        return self._call("command", "decrement", {**given(by=by)}, single="value")

    def set(self, value: int) -> Dict[str, Any]:
        """Gives value, previous."""
        return self._call("command", "set", {"value": value})

    def swap(self, value: int) -> Dict[str, Any]:
        """Gives value, previous."""
        return self._call("command", "swap", {"value": value})

    def compare_and_set(self, expect: int, value: int) -> Dict[str, Any]:
        """Gives swapped, value."""
        return self._call("command", "compare_and_set", {"expect": expect, "value": value})

    def wait(self, at_least: Optional[int] = None, at_most: Optional[int] = None, equals: Optional[int] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives reached, value. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "await", {**given(at_least=at_least, at_most=at_most, equals=equals)}, wait)

    def get(self, *, stale: bool = False) -> int:
        """Gives value. `stale`: from this member's copy."""
        return self._call("query", "get", {}, single="value", stale=stale)


class Value(SyncObject):
    """Any JSON, with a version."""

    TYPE = "value"

    def set(self, value: Any) -> Dict[str, Any]:
        """Gives version, previous."""
        return self._call("command", "set", {"value": value})

    def swap(self, value: Any) -> Dict[str, Any]:
        """Gives version, previous."""
        return self._call("command", "swap", {"value": value})

    def compare_and_set(self, value: Any, expect: Any = None, version: Optional[int] = None) -> Dict[str, Any]:
        """Gives swapped, version, value."""
        return self._call("command", "compare_and_set", {"value": value, **given(expect=expect, version=version)})

    def await_change(self, version: int, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives changed, value, version. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "await_change", {"version": version}, wait)

    def get(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives value, version. `stale`: from this member's copy."""
        return self._call("query", "get", {}, stale=stale)


class Map(SyncObject):
    """A map, ordered by its keys."""

    TYPE = "map"

    def put(self, key: str, value: Any, ttl_ms: Optional[int] = None, if_version: Optional[int] = None, if_absent: Optional[bool] = None) -> Dict[str, Any]:
        """Gives stored, version, previous."""
        return self._call("command", "put", {"key": key, "value": value, **given(ttl_ms=ttl_ms, if_version=if_version, if_absent=if_absent)})

    def remove(self, key: str, if_version: Optional[int] = None) -> Dict[str, Any]:
        """Gives removed, version, previous."""
        return self._call("command", "remove", {"key": key, **given(if_version=if_version)})

    def add(self, key: str, by: Optional[int] = None) -> Dict[str, Any]:
        """Gives value, version."""
        return self._call("command", "add", {"key": key, **given(by=by)})

    def put_all(self, entries: Dict[str, Any]) -> Dict[str, Any]:
        """Gives stored, version."""
        return self._call("command", "put_all", {"entries": entries})

    def clear(self) -> int:
        """Gives removed."""
        return self._call("command", "clear", {}, single="removed")

    def await_change(self, key: str, version: int, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives changed, value, version. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "await_change", {"key": key, "version": version}, wait)

    def get(self, key: str, *, stale: bool = False) -> Dict[str, Any]:
        """Gives value, version. `stale`: from this member's copy."""
        return self._call("query", "get", {"key": key}, stale=stale)

    def get_all(self, keys: List[str], *, stale: bool = False) -> List[Dict[str, Any]]:
        """Gives entries. `stale`: from this member's copy."""
        return self._call("query", "get_all", {"keys": keys}, single="entries", stale=stale)

    def contains(self, key: str, *, stale: bool = False) -> bool:
        """Gives contains. `stale`: from this member's copy."""
        return self._call("query", "contains", {"key": key}, single="contains", stale=stale)

    def size(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives size, bytes. `stale`: from this member's copy."""
        return self._call("query", "size", {}, stale=stale)

    def first(self, *, stale: bool = False) -> Optional[Dict[str, Any]]:
        """Gives entry. `stale`: from this member's copy."""
        return self._call("query", "first", {}, single="entry", stale=stale)

    def last(self, *, stale: bool = False) -> Optional[Dict[str, Any]]:
        """Gives entry. `stale`: from this member's copy."""
        return self._call("query", "last", {}, single="entry", stale=stale)

    def floor(self, key: str, *, stale: bool = False) -> Optional[Dict[str, Any]]:
        """Gives entry. `stale`: from this member's copy."""
        return self._call("query", "floor", {"key": key}, single="entry", stale=stale)

    def ceiling(self, key: str, *, stale: bool = False) -> Optional[Dict[str, Any]]:
        """Gives entry. `stale`: from this member's copy."""
        return self._call("query", "ceiling", {"key": key}, single="entry", stale=stale)

    def range(self, from_: Optional[str] = None, to: Optional[str] = None, limit: Optional[int] = None, *, stale: bool = False) -> Dict[str, Any]:
        """Gives entries, next. `stale`: from this member's copy."""
        return self._call("query", "range", {**given(from_=from_, to=to, limit=limit)}, stale=stale)


class Set(SyncObject):
    """A set of any JSON."""

    TYPE = "set"

    def add(self, items: list) -> int:
        """Gives added."""
        return self._call("command", "add", {"items": items}, single="added")

    def remove(self, items: list) -> int:
        """Gives removed."""
        return self._call("command", "remove", {"items": items}, single="removed")

    def pop(self, n: Optional[int] = None) -> list:
        """Gives items."""
        return self._call("command", "pop", {**given(n=n)}, single="items")

    def contains(self, item: Any, *, stale: bool = False) -> bool:
        """Gives contains. `stale`: from this member's copy."""
        return self._call("query", "contains", {"item": item}, single="contains", stale=stale)

    def size(self, *, stale: bool = False) -> int:
        """Gives size. `stale`: from this member's copy."""
        return self._call("query", "size", {}, single="size", stale=stale)

    def members(self, after: Any = None, limit: Optional[int] = None, *, stale: bool = False) -> Dict[str, Any]:
        """Gives items, next. `stale`: from this member's copy."""
        return self._call("query", "members", {**given(after=after, limit=limit)}, stale=stale)


class Queue(SyncObject):
    """A queue. With a lease an item comes back unless it is acknowledged."""

    TYPE = "queue"

    def put(self, item: Any, priority: Optional[int] = None, delay_ms: Optional[int] = None, *, wait: Optional[float] = None) -> Optional[int]:
        """Gives id. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "put", {"item": item, **given(priority=priority, delay_ms=delay_ms)}, wait, single="id")

    def take(self, n: Optional[int] = None, lease_ms: Optional[int] = None, *, wait: Optional[float] = None) -> List[Dict[str, Any]]:
        """Gives items. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "take", {**given(n=n, lease_ms=lease_ms)}, wait, single="items")

    def ack(self, ids: List[int]) -> int:
        """Gives acked."""
        return self._call("owned", "ack", {"ids": ids}, single="acked")

    def nack(self, ids: List[int], delay_ms: Optional[int] = None) -> int:
        """Gives nacked."""
        return self._call("owned", "nack", {"ids": ids, **given(delay_ms=delay_ms)}, single="nacked")

    def extend(self, ids: List[int]) -> int:
        """Gives extended."""
        return self._call("owned", "extend", {"ids": ids}, single="extended")

    def replace(self, id: int, item: Any) -> bool:
        """Gives replaced."""
        return self._call("command", "replace", {"id": id, "item": item}, single="replaced")

    def remove(self, id: int) -> bool:
        """Gives removed."""
        return self._call("command", "remove", {"id": id}, single="removed")

    def peek(self, n: Optional[int] = None, *, stale: bool = False) -> List[Dict[str, Any]]:
        """Gives items. `stale`: from this member's copy."""
        return self._call("query", "peek", {**given(n=n)}, single="items", stale=stale)

    def list(self, after: Optional[int] = None, limit: Optional[int] = None, *, stale: bool = False) -> Dict[str, Any]:
        """Gives items, next. `stale`: from this member's copy."""
        return self._call("query", "list", {**given(after=after, limit=limit)}, stale=stale)

    def size(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives size, ready, delayed, leased, dead. `stale`: from this member's copy."""
        return self._call("query", "size", {}, stale=stale)

    def dead(self, limit: Optional[int] = None, *, stale: bool = False) -> List[Dict[str, Any]]:
        """Gives items. `stale`: from this member's copy."""
        return self._call("query", "dead", {**given(limit=limit)}, single="items", stale=stale)


class Stack(SyncObject):
    """A stack."""

    TYPE = "stack"

    def push(self, item: Any, *, wait: Optional[float] = None) -> Optional[int]:
        """Gives size. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "push", {"item": item}, wait, single="size")

    def pop(self, n: Optional[int] = None, *, wait: Optional[float] = None) -> list:
        """Gives items. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "pop", {**given(n=n)}, wait, single="items")

    def peek(self, *, stale: bool = False) -> list:
        """Gives items. `stale`: from this member's copy."""
        return self._call("query", "peek", {}, single="items", stale=stale)

    def items(self, limit: Optional[int] = None, *, stale: bool = False) -> list:
        """Gives items. `stale`: from this member's copy."""
        return self._call("query", "items", {**given(limit=limit)}, single="items", stale=stale)

    def size(self, *, stale: bool = False) -> int:
        """Gives size. `stale`: from this member's copy."""
        return self._call("query", "size", {}, single="size", stale=stale)


class Log(SyncObject):
    """Entries under rising indexes."""

    TYPE = "log"

    def append(self, entry: Any) -> int:
        """Gives index."""
        return self._call("command", "append", {"entry": entry}, single="index")

    def trim(self, before: int) -> Dict[str, Any]:
        """Gives trimmed, first."""
        return self._call("command", "trim", {"before": before})

    def read(self, from_: Optional[int] = None, limit: Optional[int] = None, *, wait: float = 0) -> Dict[str, Any]:
        """Gives entries, first, next. Waits `wait` seconds for more."""
        return self._call("either", "read", {**given(from_=from_, limit=limit)}, wait)


class Membership(SyncObject):
    """Who is there. Members leave with their session."""

    TYPE = "membership"

    def join(self, name: str, data: Any = None) -> Dict[str, Any]:
        """Gives epoch, members."""
        return self._call("owned", "join", {"name": name, **given(data=data)})

    def leave(self, name: str) -> int:
        """Gives epoch."""
        return self._call("owned", "leave", {"name": name}, single="epoch")

    def update(self, name: str, data: Any) -> int:
        """Gives epoch."""
        return self._call("owned", "update", {"name": name, "data": data}, single="epoch")

    def report(self, epoch: int, name: str) -> Dict[str, Any]:
        """Gives reports, removed, epoch."""
        return self._call("owned", "report", {"epoch": epoch, "name": name})

    def await_change(self, epoch: int, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives changed, epoch, members. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "await_change", {"epoch": epoch}, wait)

    def await_size(self, n: Optional[int] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives reached, epoch, members. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "await_size", {**given(n=n)}, wait)

    def members(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives enough, epoch, members. `stale`: from this member's copy."""
        return self._call("query", "members", {}, stale=stale)


class Election(SyncObject):
    """An election: one leader at a time, under a term."""

    TYPE = "election"

    def campaign(self, name: str, data: Any = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives leader, term, fence. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "campaign", {"name": name, **given(data=data)}, wait)

    def resign(self, fence: int) -> bool:
        """Gives resigned."""
        return self._call("owned", "resign", {"fence": fence}, single="resigned")

    def proclaim(self, fence: int, data: Any) -> int:
        """Gives term."""
        return self._call("owned", "proclaim", {"fence": fence, "data": data}, single="term")

    def observe(self, term: Optional[int] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives name, data, term. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "observe", {**given(term=term)}, wait)

    def leader(self, *, stale: bool = False) -> Dict[str, Any]:
        """Gives name, data, term. `stale`: from this member's copy."""
        return self._call("query", "leader", {}, stale=stale)

    def candidates(self, *, stale: bool = False) -> List[str]:
        """Gives candidates. `stale`: from this member's copy."""
        return self._call("query", "candidates", {}, single="candidates", stale=stale)

    def lead(self, name: str, data: Any = None, *, wait: Optional[float] = None):
        """`with` it is held; `NotAcquired` if it was not in time."""
        return self._holding("campaign", {"name": name, **given(data=data)}, wait, "leader",
                             lambda held: ("resign", {"fence": held.fence}))


class RateLimiter(SyncObject):
    """A token bucket for each key."""

    TYPE = "ratelimiter"

    def acquire(self, n: Optional[int] = None, key: Optional[str] = None, *, wait: Optional[float] = None) -> Dict[str, Any]:
        """Gives granted, remaining, retry_after_ms. Waits `wait` seconds, for ever without it."""
        return self._call("blocking", "acquire", {**given(n=n, key=key)}, wait)

    def configure(self, per_second: Optional[int] = None, burst: Optional[int] = None) -> Dict[str, Any]:
        """Gives per_second, burst."""
        return self._call("command", "configure", {**given(per_second=per_second, burst=burst)})

    def peek(self, key: Optional[str] = None, *, stale: bool = False) -> Dict[str, Any]:
        """Gives remaining, per_second, burst, waiting. `stale`: from this member's copy."""
        return self._call("query", "peek", {**given(key=key)}, stale=stale)


class Ids(SyncObject):
    """Numbers, or ULIDs, that are never given twice."""

    TYPE = "ids"

    def next(self, n: Optional[int] = None) -> Dict[str, Any]:
        """Gives first, last."""
        return self._call("command", "next", {**given(n=n)})

    def peek(self, *, stale: bool = False) -> Any:
        """Gives next. `stale`: from this member's copy."""
        return self._call("query", "peek", {}, single="next", stale=stale)


class Names(SyncObject):
    """Records of names."""

    TYPE = "names"

    def set(self, name: str, record: Any) -> Dict[str, Any]:
        """Gives records, changed."""
        return self._call("command", "set", {"name": name, "record": record})

    def add(self, name: str, record: Any) -> Dict[str, Any]:
        """Gives records, changed."""
        return self._call("command", "add", {"name": name, "record": record})

    def remove(self, name: str, record: Any = None) -> Dict[str, Any]:
        """Gives records, changed."""
        return self._call("command", "remove", {"name": name, **given(record=record)})

    def list(self, name: Optional[str] = None, after: Optional[str] = None, limit: Optional[int] = None, *, stale: bool = False) -> Dict[str, Any]:
        """Gives records, names, next. `stale`: from this member's copy."""
        return self._call("query", "list", {**given(name=name, after=after, limit=limit)}, stale=stale)
