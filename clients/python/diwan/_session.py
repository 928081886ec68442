"""The session of a cluster object: its number, its heartbeat, and what it holds."""

import asyncio
import json
import secrets
import time

from . import problem
from ._acknowledged import Acknowledged

# Requests that may be without an answer, as the server bounds them, and how many of them calls that wait leave to the others.
WINDOW = 64
RESERVE = 16

# The clock that goes on while the machine sleeps, where there is one: the servers' does.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", None)


def clock():
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)


class Session:
    """Open from its first call until it is closed or expires. It lives on the loop of the core."""

    def __init__(self, core, ttl, name):
        self.core, self.ttl, self.name = core, ttl, name
        self.id, self.secret = secrets.token_hex(16), secrets.token_hex(16)
        self.header = {"Diwan-Session": f"{self.id}.{self.secret}"}
        self.next, self.answers = 1, Acknowledged()
        self.room = asyncio.Condition()
        # When the last renewal was sent that was answered. Nothing that this session holds is taken for held beyond
        # three quarters of its time to live from then on: before any server lets it expire.
        self.renewed = None
        self.ended = None
        self.held = set()
        self.tasks = []

    @property
    def lost_at(self):
        return self.renewed + self.ttl * 0.75

    async def open(self):
        body = {"ttl_ms": int(self.ttl * 1000)}
        if self.name:
            body["name"] = self.name
        sent = clock()
        # The id and the secret are ours, so the request can be repeated.
        await self.core.exchange("POST", "/v1/sessions", json.dumps(body).encode(), lambda: self.header)
        self.renewed = sent
        self.tasks = [asyncio.ensure_future(task) for task in (self._renew(), self._watch(), self._check())]

    def has_room(self, reserve=0):
        return self.answers.unanswered(self.next - 1) < WINDOW - reserve

    async def number(self, reserve=0):
        """The number of the next request, once there is room for it."""
        async with self.room:
            await self.room.wait_for(lambda: self.ended or self.has_room(reserve))
            if self.ended:
                raise self.ended
            number = self.next
            self.next += 1
            return number

    async def answered(self, number):
        """The reply to that request has come, or nobody wants it any more."""
        async with self.room:
            self.answers.add(number)
            self.room.notify_all()

    def fields(self, number):
        return {**self.header, "Diwan-Request": number, "Diwan-Acknowledged": str(self.answers)}

    async def _renew(self):
        """The heartbeat. It asks one member after the other until one answers."""
        pause = self.ttl / 6
        while not self.ended:
            sent = clock()
            try:
                renewing = self.core.once("POST", f"/v1/sessions/{self.id}/renew", b"", self.header)
                await asyncio.wait_for(renewing, max(pause, 0.2))
                self.renewed = max(self.renewed, sent)
                await asyncio.sleep(pause)
            except problem.Problem as refused:
                if refused.slug in ("session-expired", "unauthenticated", "forbidden"):
                    await self.end(refused)
                else:
                    await asyncio.sleep(0.05)
            except (OSError, asyncio.TimeoutError, ValueError):
                await asyncio.sleep(0.05)

    async def _watch(self):
        """Tells holders that the time has passed in which the session was surely alive."""
        while not self.ended:
            left = self.lost_at - clock()
            if left <= 0:
                self.lose("no renewal was answered in time")
                left = self.ttl / 20
            await asyncio.sleep(left)

    async def _check(self):
        """Asks whether locks are still held that were long enough to be stolen. (The session's event stream would tell
        sooner, but it counts as a sign of life even of a process that stands still.)"""
        while not self.ended:
            known = list(self.held)
            await asyncio.sleep(self.ttl / 6)
            for held in [held for held in known if held in self.held and held.of == "lock"]:
                try:
                    told, _ = await self.core.call("query", "lock", held.name, "check", {"fence": held.fence})
                    if not told["valid"] and held in self.held:
                        self.held.discard(held)
                        held.is_lost("it was taken away")
                except problem.Problem:
                    pass

    def lose(self, why):
        for held in list(self.held):
            self.held.discard(held)
            held.is_lost(why)

    async def end(self, refused):
        async with self.room:
            self.ended = self.ended or refused
            self.room.notify_all()
        self.lose("the session has ended")

    async def close(self):
        for task in self.tasks:
            task.cancel()
        if not self.ended:
            await self.end(problem.Problem("session-expired", "the session was closed", status=410))
            await self.core.exchange("DELETE", f"/v1/sessions/{self.id}", b"", lambda: self.header, patience=2.0)
