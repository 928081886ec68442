"""A type of live objects. Upload it with the Python runner, create an object, and call it:

    diwan object put TYPE_NAME.py --name TYPE_NAME --runner diwan_python_runner.wasm
    diwan object create TYPE_NAME/first
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
