"""Calls: which member they go to, under which number, and again until they are answered.

All of it runs on the loop of one thread of its own. What user code does, in threads or on its own loop, does not block
the heartbeats.
"""

import asyncio
import json
import random
import threading
import uuid
from urllib.parse import quote

from . import problem
from ._http import Connections
from ._session import RESERVE, Session, clock
from ._tls import is_refused
from ._token import Credentials

HOLD_SECONDS = 10.0
ATTEMPT_SECONDS = 5.0
# For how long a member that did not serve is not gone to because a response names it.
SHUN_SECONDS = 5.0
# Refusals of members, not of the replicated state: the same request is sent again.
AGAIN = ("no-leader", "outcome-unknown", "rate", "bad-response", "too-slow")
# How a grant is given back that nobody waits for any more: by which method, and its arguments.
UNDO = {
    ("lock", "acquire"): lambda got, args: ("release", {"fence": got["fence"]}) if got["acquired"] else None,
    ("rwlock", "read"): lambda got, args: ("release", {"fence": got["fence"]}) if got["acquired"] else None,
    ("rwlock", "write"): lambda got, args: ("release", {"fence": got["fence"]}) if got["acquired"] else None,
    ("semaphore", "acquire"): lambda got, args: (
        ("release", {"n": args.get("n", 1), "fence": got["fence"]}) if got["acquired"] else None),
    ("election", "campaign"): lambda got, args: ("resign", {"fence": got["fence"]}) if got["leader"] else None,
    ("queue", "take"): lambda got, args: (
        ("nack", {"ids": [item["id"] for item in got["items"]]}) if got["items"] and "lease_ms" in args else None),
}


class Core:
    """The connections and the session of a cluster."""

    def __init__(self, members, ttl, timeout, name, tls=None, token=None, token_file=None):
        self.credentials = Credentials(token, token_file)
        listed = members.split(",") if isinstance(members, str) else list(members)
        self.members = [self._address(member.strip()) for member in listed]
        self.ttl, self.timeout, self.name = ttl, timeout, name
        self.current = random.randrange(len(self.members))
        # When a member did not serve, by its address.
        self.failures = {}
        self.position = 0
        self.loop = asyncio.new_event_loop()
        self.http = Connections(tls)
        self.session = None
        self.opening = None
        self.closed = False
        self.background = set()
        self.thread = threading.Thread(target=self._run, name="diwan", daemon=True)
        self.thread.start()

    @staticmethod
    def _address(member):
        member = member.removeprefix("http://").removeprefix("https://").rstrip("/")
        return member if ":" in member.rpartition("]")[2] else f"{member}:7180"

    def _run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()

    def submit(self, coroutine):
        """Runs it on the core's loop; a future of `concurrent.futures`."""
        if self.closed:
            coroutine.close()
            raise problem.Problem("closed", "the cluster object is closed")
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    # Members

    def _pick(self):
        return self.members[self.current]

    def _failed(self, member):
        """That member does not serve: the next one."""
        self.failures[member] = clock()
        if member == self.members[self.current]:
            self.current = (self.current + 1) % len(self.members)

    def _heard(self, fields):
        """Takes note of what a response says; whether it names a leader to which we go next.

        Only to one whose address was given to this object: what a response says must not send a token anywhere else. Nor to
        one that did not serve a moment ago.
        """
        if fields.get("diwan-position", "").isdigit():
            self.position = max(self.position, int(fields["diwan-position"]))
        leader = fields.get("diwan-leader")
        if leader not in self.members or clock() - self.failures.get(leader, -SHUN_SECONDS) < SHUN_SECONDS:
            return False
        self.current = self.members.index(leader)
        return True

    # Requests

    async def once(self, method, target, body, fields):
        """One attempt at one member, and another one by a token that has replaced the one that was refused."""
        signed = self.credentials.fields
        try:
            return await self._once(method, target, body, {**fields, **signed})
        except problem.Problem as refused:
            if refused.slug != "unauthenticated" or not self.credentials.replaced(signed):
                raise
        return await self._once(method, target, body, {**fields, **self.credentials.fields})

    async def _once(self, method, target, body, fields):
        member = self._pick()
        try:
            status, answered, data = await self.http.request(member, method, target, fields, body)
        except (OSError, asyncio.TimeoutError, asyncio.CancelledError):
            # Cancelled by the time-out around it, perhaps: another member may be quicker.
            self._failed(member)
            raise
        follows = self._heard(answered)
        if status >= 400 or status < 200:
            refused = problem.of_response(status, data)
            if refused.slug in AGAIN and not follows:
                self._failed(member)
            raise refused
        return status, json.loads(data) if data else {}

    async def exchange(self, method, target, body, fields, *, patience=None, attempt=ATTEMPT_SECONDS):
        """Sends a request until it is answered. `target` and `fields` may be functions: they are asked before each attempt."""
        patience = self.timeout if patience is None else patience
        end, pause, unanswered, unencrypted, waits = clock() + patience, 0.01, False, 0, False
        while True:
            try:
                where = target() if callable(target) else target
                status, answer = await asyncio.wait_for(self.once(method, where, body, fields()), attempt)
                if status != 202 or "hold_ms=0" in where:
                    return status, answer
                # It waits: we ask again, and join it.
                end, pause, unanswered, unencrypted, waits = clock() + patience, 0.01, False, 0, True
                continue
            except problem.Problem as refused:
                if refused.slug not in AGAIN:
                    # An attempt before this one may have had the effect whose memory is gone.
                    if unanswered and refused.slug in ("request-forgotten", "session-expired"):
                        refused.effect = "unknown"
                    # A member that lets nobody in does not look whether there was an attempt before: we know.
                    if refused.slug in ("unauthenticated", "forbidden"):
                        known = not (unanswered or waits)
                        refused.effect, refused.retry = ("none", "no") if known else ("unknown", "same-key")
                    raise
                unanswered |= refused.effect != "none"
                last = refused
            except (OSError, asyncio.TimeoutError) as error:
                unencrypted = unencrypted + 1 if is_refused(error) else 0
                if unencrypted >= len(self.members):
                    raise problem.Problem("no-tls", str(error), effect="unknown" if unanswered else "none") from error
                unanswered |= not unencrypted
                last = problem.Problem("no-answer", str(error) or "no member answered in time", retry="now")
            if clock() + pause > end:
                if unanswered:
                    raise problem.Problem("outcome-unknown", str(last), status=504, effect="unknown", retry="same-key")
                raise last
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, 0.5)

    # The session

    async def open_session(self):
        """The session: opened once, however many calls ask for it at once."""
        if self.session and not self.session.ended:
            return self.session
        if self.opening is None:
            self.opening = asyncio.ensure_future(self._open())
        try:
            return await asyncio.shield(self.opening)
        finally:
            if self.opening is not None and self.opening.done():
                self.opening = None

    async def _open(self):
        session = Session(self, self.ttl, self.name)
        await session.open()
        self.session = session
        return session

    # Calls

    async def call(self, kind, of, name, method, args, wait=None, min_position=None):
        """Calls a method. Gives its result, and the session that it was called in."""
        target = f"/v1/objects/{of}/{quote(name, safe='')}/{quote(method, safe='')}"
        body = json.dumps(args).encode() if args else b""
        if kind == "query" or (kind == "either" and not wait):
            asked = f"?consistency=stale&min_position={min_position}" if min_position is not None else ""
            return (await self.exchange("POST", target + asked, body, dict))[1], None
        if kind == "command" and self.session and not self.session.ended and not self.session.has_room(RESERVE // 2):
            # Very many calls are under way. This one needs no session.
            return (await self.keyed("POST", target, body))[1], None
        return await self._in_session(of, name, method, args, target, body, wait, kind)

    async def keyed(self, verb, target, body):
        """A request under an idempotency key."""
        fields = {"Idempotency-Key": f'"{uuid.uuid4()}"'}
        return await self.exchange(verb, target, body, lambda: fields)

    async def _in_session(self, of, name, method, args, target, body, wait, kind):
        for again in (True, False):
            session = await self.open_session()
            try:
                # What gives back is not held up by what waits for it.
                number = await session.number(RESERVE if kind in ("blocking", "either") and wait != 0 else 0)
                return await self._numbered(session, number, of, name, method, args, target, body, wait, kind), session
            except problem.Problem as refused:
                if refused.slug != "session-expired":
                    raise
                await session.end(refused)
                if not again or refused.effect != "none":
                    raise

    async def _numbered(self, session, number, of, name, method, args, target, body, wait, kind):
        waits = kind in ("blocking", "either") and wait != 0
        end = None if wait is None else clock() + wait

        def where(hold=HOLD_SECONDS):
            left = None if end is None else max(0, int((end - clock()) * 1000))
            parts = [] if left is None else [f"wait_ms={left}"]
            return f"{target}?{'&'.join(parts + [f'hold_ms={int(hold * 1000)}'])}" if waits or parts else target

        attempt = ATTEMPT_SECONDS + (HOLD_SECONDS if waits else 0)
        try:
            _, result = await self.exchange("POST", where, body, lambda: session.fields(number), attempt=attempt)
        except (asyncio.CancelledError, problem.Problem) as error:
            answered = isinstance(error, problem.Problem) and error.slug != "outcome-unknown"
            # One without a grant is given up by its number: below the floor it has no effect any more.
            if answered or kind == "command":
                await session.answered(number)
                raise
            # Nobody waits for the answer, but it may be a grant.
            task = self.loop.create_task(self._give_up(session, number, of, name, method, args, target, body))
            self.background.add(task)
            task.add_done_callback(self.background.discard)
            raise
        await session.answered(number)
        return result

    async def _give_up(self, session, number, of, name, method, args, target, body):
        """Ends a call that nobody waits for: cancels it if it waits, gives back what it got."""
        try:
            fields = lambda: session.fields(number)  # noqa: E731
            asked = f"{target}?wait_ms=0&hold_ms=0"
            status, result = await self.exchange("POST", asked, body, fields, patience=self.ttl)
            if status == 202:
                ticket = f"/v1/tickets/{result['ticket']}"
                try:
                    await self.exchange("DELETE", ticket, b"", dict, patience=self.ttl)
                    return
                except problem.Problem as refused:
                    if refused.slug != "already-granted":
                        return
                    result = refused.result or {}
            undo = UNDO.get((of, method))
            back = undo and undo(result, args)
            if back:
                await self.call("owned", of, name, *back)
        except (problem.Problem, KeyError):
            pass
        finally:
            await session.answered(number)

    async def close(self):
        for task in list(self.background):
            await asyncio.wait([task], timeout=2.0)
        if self.session:
            try:
                await self.session.close()
            except problem.Problem:
                pass
        self.http.close()

    def stop(self):
        """Closes the session and ends the thread."""
        if self.closed:
            return
        closing = self.submit(self.close())
        self.closed = True
        try:
            closing.result(10.0)
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
