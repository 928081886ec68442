"""Every method of every type, once."""

import diwan

from .harness import SERVERS, fresh, refused, test

CLUSTER = diwan.Cluster(SERVERS, ttl=5, name="suite")


def of(kind, **args):
    made = kind(CLUSTER, fresh(kind.TYPE))
    if args:
        assert made.create(**args) is True
        assert made.create(**args) is False
    return made


@test
def counter():
    counter = of(diwan.Counter, start=3, max=2**62)
    assert (counter.get(), counter.increment(), counter.increment(by=5), counter.decrement(2)) == (3, 4, 9, 7)
    assert counter.set(10) == {"value": 10, "previous": 7}
    assert counter.swap(20)["previous"] == 10
    assert counter.compare_and_set(1, 2) == {"swapped": False, "value": 20}
    assert counter.compare_and_set(20, 2**60)["swapped"]
    assert counter.get(stale=True) == 2**60 == counter.wait(equals=2**60)["value"]
    refused("out-of-range", counter.increment, 2**62)
    assert counter.wait(at_most=1, wait=0)["reached"] is False


@test
def value():
    value = of(diwan.Value, initial={"a": 1})
    assert value.get() == {"value": {"a": 1}, "version": 0}
    first = value.set(None)
    assert first["previous"] == {"a": 1}
    assert value.swap([1, "ä"])["previous"] is None
    assert value.compare_and_set("x", expect="y")["swapped"] is False
    assert value.compare_and_set("x", version=first["version"])["swapped"] is False
    changed = value.await_change(first["version"])
    assert changed["changed"] and changed["value"] == [1, "ä"]


@test
def map_():
    entries = of(diwan.Map, max_entries=5)
    put = entries.put("b", {"x": 1})
    assert put["stored"] and put["previous"] is None
    assert entries.put("b", 2, if_absent=True)["stored"] is False
    assert entries.put("b", 2, if_version=put["version"], ttl_ms=600000)["stored"]
    assert entries.put_all({"a": 1, "c": 3})["stored"] == 2
    assert entries.add("n", 4)["value"] == 4
    assert (entries.get("b")["value"], entries.contains("zz"), entries.size()["size"]) == (2, False, 4)
    assert [entry["value"] for entry in entries.get_all(["a", "c", "no"])] == [1, 3]
    assert (entries.first()["key"], entries.last()["key"]) == ("a", "n")
    assert (entries.floor("bb")["key"], entries.ceiling("bb")["key"], entries.floor("A")) == ("b", "c", None)
    page = entries.range("a", "n", 2)
    assert [entry["key"] for entry in page["entries"]] == ["a", "b"] and page["next"] == "c"
    assert entries.await_change("b", 0)["changed"]
    refused("full", entries.put_all, {"x": 1, "y": 2})
    assert entries.remove("a")["removed"] and entries.clear() == 3


@test
def set_():
    members = of(diwan.Set, max_entries=3)
    assert (members.add([1, "b", 1]), members.remove([1, 7]), members.size()) == (2, 1, 1)
    assert members.contains("b") and members.members() == {"items": ["b"], "next": None}
    refused("full", members.add, [1, 2, 3])
    assert members.pop(5) == ["b"]


@test
def queue():
    jobs = of(diwan.Queue, capacity=3, priority=True, max_attempts=2)
    first, second = jobs.put({"n": 1}), jobs.put({"n": 2}, priority=5)
    assert jobs.put("late", delay_ms=600000) and jobs.size()["delayed"] == 1
    refused("queue-full", jobs.put, 4, wait=0)
    assert [item["id"] for item in jobs.peek(2)] == [second, first]
    assert len(jobs.list()["items"]) == 3
    assert jobs.replace(first, {"n": 9}) and not jobs.replace(1 << 40, 1)
    taken = jobs.take(lease_ms=60000)[0]
    assert (taken["id"], taken["attempt"]) == (second, 1)
    assert jobs.extend([second]) == 1 and jobs.nack([second]) == 1
    taken = jobs.take(lease_ms=60000)[0]
    assert taken["attempt"] == 2 and jobs.nack([second], delay_ms=5) == 1
    assert [item["id"] for item in jobs.dead()] == [second]
    taken = jobs.take(lease_ms=60000)
    assert taken[0]["item"] == {"n": 9} and jobs.ack([first]) == 1
    refused("not-leased", jobs.ack, [first])
    late = jobs.list()["items"][0]["id"]
    assert jobs.remove(late) and jobs.take(wait=0) == []


@test
def stack():
    stack = of(diwan.Stack, capacity=2)
    assert (stack.push("a"), stack.push("b"), stack.size()) == (1, 2, 2)
    refused("queue-full", stack.push, "c", wait=0)
    assert (stack.peek(), stack.items(), stack.pop(), stack.pop(3), stack.pop(wait=0)) == (
        ["b"], ["b", "a"], ["b"], ["a"], [])


@test
def log():
    log = of(diwan.Log, max_entries=100, when_full="refuse")
    assert [log.append(n) for n in range(3)] == [0, 1, 2]
    assert log.read() == {"entries": [0, 1, 2], "first": 0, "next": 3}
    assert log.read(3, wait=0.05)["entries"] == []
    assert log.trim(2) == {"trimmed": 2, "first": 2}
    refused("trimmed", log.read, 1)


@test
def ids():
    ids = of(diwan.Ids, start=7)
    assert ids.peek() == 7 and ids.next(3) == {"first": 7, "last": 9} and ids.next()["first"] == 10
    assert len(of(diwan.Ids, form="ulid").next()["first"]) == 26


@test
def names():
    names = of(diwan.Names)
    assert names.set("www", {"type": "A", "address": "10.0.0.1"})["records"] == 1
    assert names.add("www", {"type": "A", "address": "10.0.0.2"})["records"] == 2
    assert len(names.list("www")["records"]) == 2 and names.list()["names"][0]["name"] == "www"
    assert names.remove("www", {"type": "A", "address": "10.0.0.1"})["records"] == 1
    assert names.remove("www")["records"] == 0


@test
def ratelimiter():
    limiter = of(diwan.RateLimiter, per_second=1, burst=2)
    assert limiter.acquire(2)["granted"] and not limiter.acquire(wait=0)["granted"]
    assert limiter.peek("other")["remaining"] == 2
    refused("never", limiter.acquire, 3)
    assert limiter.configure(per_second=50, burst=5) == {"per_second": 50, "burst": 5}
    assert limiter.acquire(3, wait=5)["granted"]


@test
def latch():
    latch = of(diwan.Latch, count=2)
    assert latch.wait(wait=0) is False
    refused("not-open", latch.reset)
    assert (latch.count_down(), latch.count_down(), latch.count(), latch.wait()) == (1, 0, 0, True)
    assert latch.reset(5) == 5


@test
def barrier():
    barrier = of(diwan.Barrier, parties=1)
    assert barrier.wait()["index"] == 0
    assert barrier.reset() == 1 and barrier.state()["waiting"] == 0
    double = of(diwan.Barrier, parties=1, double=True)
    assert double.enter()["index"] == 0 and double.state()["inside"] == 1 and double.leave() is True


@test
def lock():
    lock = of(diwan.Lock, reentrant=2)
    got = lock.acquire()
    again = lock.acquire()
    assert got["acquired"] and again["fence"] == got["fence"] and again["holds"] == 2
    refused("reentry-limit", lock.acquire)
    assert lock.check(got["fence"]) and lock.holder()["holds"] == 2
    assert lock.acquire("other", wait=0)["acquired"] is False
    back = lock.wait("changed", got["fence"], wait=0.05)
    assert back["signalled"] is False and back["fence"] > got["fence"]
    assert lock.signal("changed") == 0 == lock.signal_all("changed")
    refused("stale-fence", lock.release, got["fence"])
    assert lock.release(back["fence"]) == 1 and lock.release(back["fence"]) == 0
    refused("not-owner", lock.release, back["fence"])
    assert lock.steal("test") > back["fence"]


@test
def rwlock():
    lock = of(diwan.RwLock)
    with lock.reading() as one, lock.reading() as other:
        assert one.fence and other.fence and lock.state()["readers"] == 2
    with lock.writing() as held:
        assert lock.state()["fence"] == held.fence
    got = lock.write()
    down = lock.downgrade(got["fence"])
    assert lock.read(wait=0)["acquired"] and lock.state()["readers"] == 2
    assert lock.release(down) is not None


@test
def semaphore():
    permits = of(diwan.Semaphore, permits=3)
    got = permits.acquire(2)
    assert got["acquired"] and got["held"] == 2 and permits.available()["available"] == 1
    assert permits.release(1, fence=got["fence"]) == 2 and permits.drain()["taken"] == 2
    assert permits.acquire(wait=0)["acquired"] is False and permits.resize(1)["permits"] == 4
    with permits.hold() as held:
        assert held.fence
    refused("not-held", permits.release, 5)


@test
def membership():
    group = of(diwan.Membership, min_size=1)
    joined = group.join("a", {"port": 1})
    assert joined["members"][0]["data"] == {"port": 1}
    refused("not-owner", group.leave, "b")
    epoch = group.update("a", {"port": 2})
    assert group.members()["enough"] and group.members()["epoch"] == epoch
    assert group.await_change(epoch - 1)["changed"] and group.await_size(1)["reached"]
    assert group.report(epoch, "nobody")["reports"] == 0
    assert group.leave("a") == epoch + 1


@test
def election():
    election = of(diwan.Election)
    won = election.campaign("a", {"port": 1})
    assert won["leader"] and election.leader() == {"name": "a", "data": {"port": 1}, "term": won["term"]}
    assert election.proclaim(won["fence"], "x") == won["term"] and election.observe(0)["data"] == "x"
    assert election.candidates() == [] and election.resign(won["fence"]) is True
    with election.lead("b") as held:
        assert election.leader()["term"] == held.fence


@test
def objects():
    counter = of(diwan.Counter, start=1)
    assert counter.describe()["explicit"] is True
    results = counter.batch([("increment", {}), ("set", {}), ("increment", {"by": 2})])
    assert results[0] == {"value": 2} and results[1].slug == "bad-argument" and results[2] == {"value": 4}
    assert counter.name in [shown["name"] for shown in CLUSTER.list("counter", prefix=counter.name)["objects"]]
    refused("exists", counter.create, start=2)
    refused("wrong-incarnation", counter.delete, 1 << 40)
    counter.delete()
    refused("no-such-object", counter.describe)
    name = fresh("ä/ö :x?")
    assert diwan.Counter(CLUSTER, name).increment() == 1 == CLUSTER.type("counter")(name).call("get")["value"]


@test
def problems():
    counter = of(diwan.Counter)
    problem = refused("bad-argument", counter._call, "command", "increment", {"bye": 1})
    assert (problem.status, problem.effect, problem.retry, problem.pointer) == (400, "none", "no", "/bye")
    refused("no-such-method", counter.call, "hop")
    refused("no-such-type", CLUSTER.type("hopper")("x").call, "hop")
    refused("too-large", diwan.Value(CLUSTER, fresh()).set, "x" * (1 << 21))
