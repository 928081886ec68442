"""Which requests of a session have been answered: all up to a floor, and ranges above it, as the server is told of them."""


class Acknowledged:
    def __init__(self):
        self.floor = 0
        # First and last number of each, in order and apart. There are no more of them than requests without an answer.
        self.above = []

    def add(self, number):
        """That request is answered."""
        at = len(self.above)
        while at and self.above[at - 1][0] > number:
            at -= 1
        if number <= self.floor or (at and self.above[at - 1][1] >= number):
            return
        self.above.insert(at, [number, number])
        if at + 1 < len(self.above) and self.above[at + 1][0] == number + 1:
            self.above[at][1] = self.above.pop(at + 1)[1]
        if at and self.above[at - 1][1] == number - 1:
            self.above[at - 1][1] = self.above.pop(at)[1]
        if self.above[0][0] == self.floor + 1:
            self.floor = self.above.pop(0)[1]

    def unanswered(self, last):
        """How many of the requests up to that one are not answered."""
        return last - self.floor - sum(end - first + 1 for first, end in self.above)

    def __str__(self):
        ranges = [f"{first}-{end}" if end > first else f"{first}" for first, end in self.above]
        return ", ".join([str(self.floor), *ranges])
