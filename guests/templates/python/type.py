"""A type of live objects. Upload it with the Python runner, and call it:

    diwan object type put TYPE_NAME .
    diwan object call TYPE_NAME/first hit '{"by":2}'
"""

from diwan import Refused, command, query


class Hits:
    def __init__(self, start: int = 0):
        self.count = start

    @command
    def hit(self, by: int = 1):
        """Counts hits."""
        if by < 0:
            raise Refused("hits are not taken back", code="negative")
        self.count += by
        return {"count": self.count}

    @query
    def get(self):
        return {"count": self.count}
