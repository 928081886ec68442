"""Counts hits, and refuses to count further than 64 bits reach. The same as ../../rust/examples/hits.rs."""

from diwan import Refused, command, query

MOST = 2**63 - 1


class Hits:
    def __init__(self, start: int = 0):
        self.count = start

    @command
    def hit(self, by: int = 1):
        """Counts hits."""
        if self.count + by > MOST:
            raise Refused("more hits than can be counted", code="overflow")
        self.count += by
        return {"count": self.count}

    @query
    def get(self):
        return {"count": self.count}
