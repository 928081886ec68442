"""Loads ConCoord as the lab loads servers that speak ZooKeeper's protocol. For Python 2.7, which ConCoord 1.1.0 needs.

The task comes as one line of JSON on standard input. Before and after each thing that is measured a line
{"edge":"begin","phase":..} is written and an empty line waited for, while the load goes on, so that the caller
reads the servers' meters exactly there; what was seen is the last line. What each part of a task means:
crates/tools/lab/src/task/mod.rs.
"""
import collections
import json
import math
import random
import select
import sys
import time

from concoord.enums import WINDOW
from lab_clients import Client, Clients, Failure
from lab_state import stamp

# What an update sends of a value; what is beyond lives in the object.
PART_MAX = 100
TOLD_MAX = 5
MADE_AT_ONCE = 100
# Numbers of values that one client makes for itself.
OWN = 1000000


class Counts(object):
    """Latencies in microseconds, to three digits."""

    def __init__(self):
        self.bars = collections.Counter()
        self.total = 0

    def record(self, seconds):
        micros = max(int(seconds * 1e6), 1)
        coarse = 10 ** max(int(math.log10(micros)) - 2, 0)
        self.bars[micros // coarse * coarse] += 1
        self.total += 1

    def written(self):
        return sorted(self.bars.items())


class Ledger(object):
    """Knows the latest acknowledged update of each value, and holds what is read against it."""

    def __init__(self, size):
        self.size = size
        self.latest = {}
        self.reads = self.writes = 0
        self.told = []

    def tell(self, text):
        if len(self.told) < TOLD_MAX:
            self.told.append(text)

    def wrote(self, number, version, writer, write):
        self.writes += 1
        if version > self.latest.get(number, (0,))[0]:
            self.latest[number] = (version, writer, write)

    def read(self, number, answer, asked_after):
        """An update that was acknowledged before a value was asked for must be in it."""
        self.reads += 1
        version, value = answer
        known = self.latest.get(number, (0, 0, 0))
        if version < asked_after:
            self.tell('value %d was at update %d, %d was acknowledged' % (number, version, asked_after))
        if len(value) != self.size:
            self.tell('value %d holds %d bytes' % (number, len(value)))
        mark = stamp(number, *known[1:])[:self.size]
        if version == known[0] and value[:len(mark)] != mark:
            self.tell('value %d holds %r, %r was written' % (number, value[:len(mark)], mark))
        if value[4:8] != mark[4:8]:
            self.tell('value %d holds what was written to another' % number)

    def version(self, number):
        return self.latest.get(number, (0,))[0]

    def look(self, todo):
        """Somebody who wrote nothing reads every value that was written, when nothing is under way."""
        clients = Clients(todo, 1)
        for number in self.latest:
            self.read(number, clients.call('read', number), self.version(number))


class Todo(object):
    """A task; its parts are attributes."""

    def __init__(self, line):
        self.__dict__.update(json.loads(line))
        self.endpoints = [str(endpoint) for endpoint in self.endpoints]
        self.per_second = float(self.per_second)
        self.patience = self.patience_ms / 1000.0
        self.measured = self.measured_ms / 1000.0
        self.warm_up = self.warm_up_ms / 1000.0

    def part(self, number, writer, write):
        size = min(self.value_bytes, PART_MAX)
        return stamp(number, writer, write)[:size].ljust(size, '\0')


def edge(clients, which, phase):
    """Tells that measuring begins or ends, and has the load go on until the meters are read."""
    sys.stdout.write('{"edge":"%s","phase":"%s"}\n' % (which, phase))
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:
        clients.turn(0.002)
    sys.stdin.readline()


def phase(name, counts, errors, elapsed):
    return {'name': name, 'operations': counts.total, 'errors': errors, 'elapsed_s': elapsed,
            'latency_us': counts.written()}


def outcome(phases=(), book=None, lost=0, timeline=()):
    reads, writes, wrong = (book.reads, book.writes, book.told) if book else (0, 0, [])
    return {'phases': list(phases), 'reads': reads, 'writes': writes, 'events': 0, 'barriers': 0, 'wrong': wrong,
            'lost': lost, 'timeline': list(timeline)}


def prepare(todo):
    clients = Clients(todo, 1)
    at_once = max(1, min(MADE_AT_ONCE, 500000 // max(todo.value_bytes, 1)))
    for first in xrange(todo.__dict__['from'], todo.keys, at_once):
        clients.call('make', first, min(first + at_once, todo.keys), todo.value_bytes)
    return outcome()


class Mixed(object):
    """Reads and updates of random values: closed, each client with so many requests outstanding, or open, at a rate."""

    def __init__(self, todo):
        self.todo = todo
        self.book = Ledger(todo.value_bytes)
        self.counts, self.errors = Counts(), 0
        self.dice = random.Random(todo.seed)
        self.measuring = self.stopped = False
        self.started, self.due = time.time(), 0
        self.writes = collections.Counter()
        self.clients = Clients(todo, todo.clients, self.feed)
        self.free = [client for client in self.clients.all for _ in xrange(max(todo.outstanding, 1))]

    def feed(self):
        """Sends what is due, as far as clients may; how long until the next."""
        while self.free and not self.stopped:
            asked = time.time()
            if self.todo.per_second > 0:
                # A request counts from when it was due, also if it was sent late.
                due = self.started + self.due / self.todo.per_second
                if due > asked:
                    return due - asked
                self.due += 1
                asked = due
            self.send(self.free.pop(), asked)
        return 1

    def send(self, client, asked):
        number = self.dice.randrange(self.todo.keys)
        if self.dice.randrange(1000) >= self.todo.writes_per_mille:
            version = self.book.version(number)

            def read(answer):
                self.book.read(number, answer, version)
                self.done(client, asked)

            client.send(('read', number), read, self.failed(client))
            return
        writer = client.place + 1
        self.writes[writer] += 1
        write = self.writes[writer]

        def wrote(version):
            self.book.wrote(number, version, writer, write)
            self.done(client, asked)

        part = self.todo.part(number, writer, write)
        client.send(('update', number, self.todo.value_bytes, part), wrote, self.failed(client))

    def done(self, client, asked):
        if self.measuring:
            self.counts.record(time.time() - asked)
        self.free.append(client)

    def failed(self, client):
        def fail(_):
            self.errors += self.measuring
            self.free.append(client)
        return fail

    def perform(self):
        self.clients.turn_for(self.todo.warm_up)
        edge(self.clients, 'begin', 'mixed')
        began, self.measuring = time.time(), True
        self.clients.turn_for(self.todo.measured)
        self.measuring = False
        elapsed = time.time() - began
        edge(self.clients, 'end', 'mixed')
        self.stopped = True
        self.clients.finish()
        self.book.look(self.todo)
        return outcome([phase('mixed', self.counts, self.errors, elapsed)], self.book)


def own(todo):
    """Each client works on values of its own, step by step. One request at a time in all: see `timeline`."""
    clients = Clients(todo, todo.clients)
    book = Ledger(todo.value_bytes)
    made = ((client, client.place * OWN + nth) for nth in xrange(min(todo.count, OWN)) for client in clients.all)
    phases = []
    for step in todo.steps:
        counts, done = Counts(), []
        edge(clients, 'begin', step)
        began = time.time()
        for client, number in made:
            asked = time.time()
            if todo.measured > 0 and asked - began >= todo.measured:
                break
            if step == 'create':
                client.call('make', number, number + 1, todo.value_bytes)
            elif step == 'set':
                part = todo.part(number, client.place + 1, 1)
                book.wrote(number, client.call('update', number, todo.value_bytes, part), client.place + 1, 1)
            elif step == 'get':
                book.read(number, client.call('read', number), book.version(number))
            else:
                client.call('remove', number)
            counts.record(time.time() - asked)
            done.append((client, number))
        elapsed = time.time() - began
        edge(clients, 'end', step)
        phases.append(phase(step, counts, 0, elapsed))
        made = done if step == 'create' else made
    return outcome(phases, book)


def timeline(todo):
    """Clients update at a steady pace, each its own value, again and again until it is acknowledged."""
    book = Ledger(todo.value_bytes)
    counts = Counts()
    between = todo.clients / todo.per_second
    slots = collections.defaultdict(lambda: [0, 0])
    began = [0.0]
    next_write = [0] * todo.clients
    free = set()

    def due(place):
        return next_write[place] * between + between * place / todo.clients

    def feed():
        # One at a time: ConCoord 1.1.0 gathers what comes together into batches, and the next leader cannot read those.
        if not free or clients.are_waiting():
            return 1
        client = min(free, key=lambda client: due(client.place))
        wait = due(client.place) - (time.time() - began[0])
        if wait <= 0:
            free.discard(client)
            send(client)
        return max(wait, 0)

    def send(client):
        place, was_due = client.place, due(client.place)
        next_write[place] += 1
        write = next_write[place]

        def wrote(version):
            book.wrote(place, version, place + 1, write)
            now = time.time() - began[0]
            counts.record(now - was_due)
            slot = slots[int(now * 100)]
            slot[0] += 1
            slot[1] = max(slot[1], (now - was_due) * 1e6)
            if due(place) < todo.measured:
                free.add(client)

        client.send(('update', place, todo.value_bytes, todo.part(place, place + 1, write)), wrote,
                    lambda text: book.tell('an update of client %d failed: %s' % (place, text)))

    clients = Clients(todo, todo.clients, feed)
    edge(clients, 'begin', 'timeline')
    began[0] = time.time()
    free.update(clients.all)
    while free or clients.are_waiting():
        clients.turn(1)
    elapsed = time.time() - began[0]
    edge(clients, 'end', 'timeline')
    book.look(todo)
    seen = [(slot * 10, slots[slot][0], slots[slot][1]) for slot in xrange(int(elapsed * 100) + 1)]
    lost = sum(client.lost for client in clients.all)
    return outcome([phase('timeline', counts, 0, elapsed)], book, lost, seen)


KINDS = {'prepare': prepare, 'mixed': lambda todo: Mixed(todo).perform(), 'own': own, 'timeline': timeline}


def ask(endpoints):
    """Waits until all take part: a replica joins some commands later, and these are those commands."""
    client = Client(endpoints, 0, 12.0)
    for _ in xrange(3 * WINDOW):
        client.call('make', 0, 0, 0)


def main():
    todo = Todo(sys.stdin.readline())
    if todo.kind not in KINDS:
        sys.exit('there is no task %r' % str(todo.kind))
    print json.dumps(KINDS[todo.kind](todo))
    sys.stdout.flush()


if __name__ == '__main__':
    try:
        if sys.argv[1:2] == ['ask']:
            ask(sys.argv[2:])
        else:
            main()
    except Failure as failure:
        sys.exit(str(failure))
