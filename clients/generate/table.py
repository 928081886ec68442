"""The built-in types of live objects: what their methods take and give.

A line is `KIND NAME ARGUMENT... -> RESULT...`; an argument or a result is `name:kind`, with `?` behind the name if it may
be missing. Kinds of methods:

  command   changes the object; needs no session, so it may go under an idempotency key
  owned     acts on what the caller's session holds, or takes something for it
  blocking  may wait, and belongs to a session, so that the wait ends with its client
  query     reads
  either    reads, or waits if `wait_ms` says so

Kinds of values: int (64 bits), flag, text, json, and lists: jsons, texts, ints; pairs (texts to json); and the records
below. The server refuses what does not fit, so nothing is checked twice here.
"""

RECORDS = {
    "Entry": ("An entry of a map.", "key:text value:json version:int"),
    "Item": ("An item of a queue.", "id:int item:json attempt:int"),
    "Member": ("A member of a membership.", "name:text data:json session:text since:int"),
    "NameRecords": ("A name and its records.", "name:text records:jsons"),
}

TYPES = {
    "lock": ("Lock", "A lock. `await` waits for a condition, and returns only with the lock.", """
        create fair?:flag reentrant?:int lock_delay_ms?:int
        blocking acquire owner?:text -> acquired:flag fence?:int holds?:int
        owned release fence:int -> holds:int
        owned steal reason?:text -> fence:int
        blocking await condition:text fence:int -> signalled:flag fence:int
        owned signal condition:text n?:int -> woken:int
        owned signal_all condition:text -> woken:int
        query holder -> session?:text owner?:text fence?:int holds:int since?:int waiting:int
        query check fence:int -> valid:flag
        """),
    "rwlock": ("RwLock", "A lock for one writer or many readers, in the order in which they came.", """
        create lock_delay_ms?:int
        blocking read -> acquired:flag fence?:int
        blocking write -> acquired:flag fence?:int
        owned downgrade fence:int -> fence:int
        owned release fence:int -> holds:int
        query state -> readers:int writer?:text fence?:int waiting:int
        """),
    "semaphore": ("Semaphore", "Permits, in the order in which they were asked for.", """
        create permits?:int bounded?:flag
        blocking acquire n?:int -> acquired:flag fence?:int held?:int
        owned release n?:int fence?:int -> available:int
        owned drain -> taken:int fence?:int
        command resize by:int -> permits:int available:int
        query available -> available:int permits:int waiting:int
        """),
    "barrier": ("Barrier", "A barrier, or a double one, which has `enter` and `leave` in place of `await`.", """
        create parties?:int on_loss?:text double?:flag
        blocking await -> index?:int generation?:int
        blocking enter -> index?:int generation?:int
        blocking leave -> left:flag
        command reset -> parties:int
        query state -> parties:int waiting:int inside:int leaving:int generation:int broken:flag
        """),
    "latch": ("Latch", "A latch: it opens when its count is 0.", """
        create count?:int
        command count_down n?:int -> count:int
        blocking await -> open:flag
        command reset count?:int -> count:int
        query count -> count:int
        """),
    "counter": ("Counter", "A counter of 64 bits, perhaps with bounds.", """
        create start?:int min?:int max?:int
        command increment by?:int -> value:int
        command decrement by?:int -> value:int
        command set value:int -> value:int previous:int
        command swap value:int -> value:int previous:int
        command compare_and_set expect:int value:int -> swapped:flag value:int
        blocking await at_least?:int at_most?:int equals?:int -> reached:flag value:int
        query get -> value:int
        """),
    "value": ("Value", "Any JSON, with a version.", """
        create initial?:json
        command set value:json -> version:int previous:json
        command swap value:json -> version:int previous:json
        command compare_and_set value:json expect?:json version?:int -> swapped:flag version:int value:json
        blocking await_change version:int -> changed:flag value:json version:int
        query get -> value:json version:int
        """),
    "map": ("Map", "A map, ordered by its keys.", """
        create max_entries?:int max_bytes?:int
        command put key:text value:json ttl_ms?:int if_version?:int if_absent?:flag -> stored:flag version:int previous:json
        command remove key:text if_version?:int -> removed:flag version:int previous:json
        command add key:text by?:int -> value:int version:int
        command put_all entries:pairs -> stored:int version:int
        command clear -> removed:int
        blocking await_change key:text version:int -> changed:flag value:json version:int
        query get key:text -> value:json version:int
        query get_all keys:texts -> entries:Entry[]
        query contains key:text -> contains:flag
        query size -> size:int bytes:int
        query first -> entry?:Entry
        query last -> entry?:Entry
        query floor key:text -> entry?:Entry
        query ceiling key:text -> entry?:Entry
        query range from?:text to?:text limit?:int -> entries:Entry[] next?:text
        """),
    "set": ("Set", "A set of any JSON.", """
        create max_entries?:int
        command add items:jsons -> added:int
        command remove items:jsons -> removed:int
        command pop n?:int -> items:jsons
        query contains item:json -> contains:flag
        query size -> size:int
        query members after?:json limit?:int -> items:jsons next?:json
        """),
    "queue": ("Queue", "A queue. With a lease an item comes back unless it is acknowledged.", """
        create capacity?:int priority?:flag max_attempts?:int
        blocking put item:json priority?:int delay_ms?:int -> id?:int
        blocking take n?:int lease_ms?:int -> items:Item[]
        owned ack ids:ints -> acked:int
        owned nack ids:ints delay_ms?:int -> nacked:int
        owned extend ids:ints -> extended:int
        command replace id:int item:json -> replaced:flag
        command remove id:int -> removed:flag
        query peek n?:int -> items:Item[]
        query list after?:int limit?:int -> items:Item[] next?:int
        query size -> size:int ready:int delayed:int leased:int dead:int
        query dead limit?:int -> items:Item[]
        """),
    "stack": ("Stack", "A stack.", """
        create capacity?:int
        blocking push item:json -> size?:int
        blocking pop n?:int -> items:jsons
        query peek -> items:jsons
        query items limit?:int -> items:jsons
        query size -> size:int
        """),
    "log": ("Log", "Entries under rising indexes.", """
        create max_entries?:int max_bytes?:int when_full?:text
        command append entry:json -> index:int
        command trim before:int -> trimmed:int first:int
        either read from?:int limit?:int -> entries:jsons first:int next:int
        """),
    "membership": ("Membership", "Who is there. Members leave with their session.", """
        create min_size?:int
        owned join name:text data?:json -> epoch:int members:Member[]
        owned leave name:text -> epoch:int
        owned update name:text data:json -> epoch:int
        owned report epoch:int name:text -> reports:int removed:flag epoch:int
        blocking await_change epoch:int -> changed:flag epoch:int members:Member[]
        blocking await_size n?:int -> reached:flag epoch:int members:Member[]
        query members -> enough:flag epoch:int members:Member[]
        """),
    "election": ("Election", "An election: one leader at a time, under a term.", """
        create lock_delay_ms?:int
        blocking campaign name:text data?:json -> leader:flag term?:int fence?:int
        owned resign fence:int -> resigned:flag
        owned proclaim fence:int data:json -> term:int
        blocking observe term?:int -> name?:text data?:json term?:int
        query leader -> name?:text data?:json term?:int
        query candidates -> candidates:texts
        """),
    "ratelimiter": ("RateLimiter", "A token bucket for each key.", """
        create per_second?:int burst?:int key_max?:int
        blocking acquire n?:int key?:text -> granted:flag remaining:int retry_after_ms:int
        command configure per_second?:int burst?:int -> per_second:int burst:int
        query peek key?:text -> remaining:int per_second:int burst:int waiting:int
        """),
    "ids": ("Ids", "Numbers, or ULIDs, that are never given twice.", """
        create start?:int form?:text
        command next n?:int -> first:json last:json
        query peek -> next:json
        """),
    "names": ("Names", "Records of names.", """
        create
        command set name:text record:json -> records:int changed:flag
        command add name:text record:json -> records:int changed:flag
        command remove name:text record?:json -> records:int changed:flag
        query list name?:text after?:text limit?:int -> records?:jsons names?:NameRecords[] next?:text
        """),
}


class Field:
    """An argument or a part of a result."""

    def __init__(self, text):
        name, self.kind = text.split(":")
        self.optional = name.endswith("?")
        self.name = name.rstrip("?")


class Method:
    """A method of a type."""

    def __init__(self, line):
        head, _, results = line.partition("->")
        self.kind, self.name, *args = head.split() if not head.startswith("create") else ["create", *head.split()]
        self.args = [Field(arg) for arg in args]
        self.results = [Field(result) for result in results.split()]

    @property
    def waits(self):
        return self.kind in ("blocking", "either")

    @property
    def required(self):
        return [arg for arg in self.args if not arg.optional]

    @property
    def optional(self):
        return [arg for arg in self.args if arg.optional]

    @property
    def single(self):
        """The only part of the result, which a proxy gives by itself."""
        return self.results[0] if len(self.results) == 1 else None


class Type:
    """A built-in type."""

    def __init__(self, wire):
        self.wire = wire
        self.name, self.doc, lines = TYPES[wire]
        methods = [Method(line.strip()) for line in lines.strip().splitlines()]
        self.create = methods[0]
        self.methods = methods[1:]


def types():
    return [Type(wire) for wire in TYPES]


def records():
    return [(name, doc, [Field(field) for field in fields.split()]) for name, (doc, fields) in RECORDS.items()]


def words(name):
    return name.split("_")


def pascal(name):
    return "".join(word.capitalize() for word in words(name))


def camel(name):
    first, *rest = words(name)
    return first + "".join(word.capitalize() for word in rest)
