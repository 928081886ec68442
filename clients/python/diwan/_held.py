"""What a caller holds: a lock, permits, a leadership. It knows by its own clock when it may have lost it."""

import threading

from ._session import clock
from .problem import Lost


class Held:
    """A grant. `fence` goes along with every write to what it protects."""

    def __init__(self, session, of, name, result):
        self.session, self.of, self.name = session, of, name
        self.fence = result.get("fence")
        self.result = result
        self.reason = None
        self._event = threading.Event()
        self._callbacks = []
        self._lock = threading.Lock()

    @property
    def lost(self):
        """Whether somebody else may hold it by now. It never becomes false again."""
        if not self._event.is_set() and (self.session.ended or clock() >= self.session.lost_at):
            self.is_lost("no renewal was answered in time")
        return self._event.is_set()

    def check(self):
        """Raises `Lost` if it is lost."""
        if self.lost:
            raise Lost(f"{self.of} {self.name}: {self.reason}")

    def wait_lost(self, timeout=None):
        """Waits until it is lost, at most so many seconds."""
        return self._event.wait(timeout)

    def on_lost(self, callback):
        """Has `callback(held)` called once it is lost, by the thread that notices. It must not block."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def is_lost(self, reason):
        with self._lock:
            if self._event.is_set():
                return
            self.reason = reason
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def __repr__(self):
        return f"<held {self.of} {self.name!r}, fence {self.fence}{', lost' if self.lost else ''}>"
