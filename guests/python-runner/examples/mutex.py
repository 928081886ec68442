"""A lock that callers wait for, in the order in which they came. It is its holder's session's: when that ends, the next one has it.
The same as ../../rust/examples/mutex.rs."""

from diwan import Refused, blocking, caller, command, park, position, query


class NotOwner(Refused):
    code = "not-owner"


class Mutex:
    def __init__(self):
        self.holder = None
        self.waiting = []

    @blocking
    def acquire(self):
        session = caller()["session"]
        if session is None:
            raise Refused("a lock is a session's", code="no-session")
        if self.holder is None:
            return self._grant(session)
        ticket = park()
        self.waiting.append((ticket, session))
        return ticket

    @command
    def release(self, fence: int):
        if self.holder is None or self.holder["fence"] != fence:
            raise NotOwner(f"the lock is not held under {fence}")
        self._hand_on()

    @query
    def state(self):
        return {"holder": self.holder, "waiting": len(self.waiting)}

    def ticket_ended(self, ticket):
        self.waiting = [waiter for waiter in self.waiting if waiter[0] != ticket]

    def session_expired(self, session):
        self.waiting = [waiter for waiter in self.waiting if waiter[1] != session]
        if self.holder is not None and self.holder["session"] == session:
            self._hand_on()

    def _grant(self, session):
        # The position rises with every command, so no two grants have the same.
        self.holder = {"fence": position(), "session": session}
        return self.holder

    def _hand_on(self):
        self.holder = None
        while self.waiting:
            ticket, session = self.waiting.pop(0)
            if ticket.wake(self._grant(session)):
                return
            self.holder = None
