"""kazoo's recipes, each with contenders of their own sessions."""

import threading
from datetime import timedelta

from kazoo.exceptions import CancelledError, LockTimeout
from kazoo.recipe.party import ShallowParty

from suite.harness import equal, in_background, raises, wait_for


def lock_excludes(t):
    first, second = t.zk.Lock(t.path, "one"), t.client().Lock(t.path, "two")
    assert first.acquire()
    equal(second.acquire(blocking=False), False)
    equal(second.contenders(), ["one"])
    first.release()
    assert second.acquire(timeout=10)
    second.release()


def lock_times_out(t):
    first, second = t.zk.Lock(t.path), t.client().Lock(t.path)
    with first:
        with raises(LockTimeout):
            second.acquire(timeout=0.2)
        equal(len(first.contenders()), 1, "contenders after the timeout")


def lock_passes_in_the_order_of_arrival(t):
    order, threads, holder = [], [], t.zk.Lock(t.path)
    holder.acquire()
    for n in range(4):
        def contend(n=n, zk=t.client()):
            with zk.Lock(t.path, f"c{n}"):
                order.append(n)
        threads.append(in_background(contend))
        wait_for(lambda n=n: len(holder.contenders()) == n + 2, f"contender {n}")
    holder.release()
    for thread in threads:
        thread.join(10)
    equal(order, [0, 1, 2, 3])


def lock_of_a_closed_session_is_free(t):
    other = t.client()
    other.Lock(t.path).acquire()
    other.stop()
    assert t.zk.Lock(t.path).acquire(timeout=10)


def lock_can_be_cancelled(t):
    t.zk.Lock(t.path).acquire()
    waiting, cancelled = t.client().Lock(t.path), []

    def contend():
        try:
            waiting.acquire()
        except CancelledError:
            cancelled.append(True)

    thread = in_background(contend)
    wait_for(lambda: len(waiting.contenders()) == 2, "the contender")
    waiting.cancel()
    thread.join(10)
    equal(cancelled, [True])


def lock_protects_a_counter(t):
    held, counts = t.node("lock"), {"inside": 0, "max": 0, "total": 0}

    def contend(zk):
        for _ in range(5):
            with zk.Lock(held):
                counts["inside"] += 1
                counts["max"] = max(counts["max"], counts["inside"])
                counts["total"] += 1
                counts["inside"] -= 1

    threads = [in_background(contend, t.client()) for _ in range(6)]
    for thread in threads:
        thread.join(30)
    equal((counts["total"], counts["max"]), (30, 1))


def read_write_lock(t):
    readers = [t.client().ReadLock(t.path) for _ in range(2)]
    writer = t.client().WriteLock(t.path)
    for reader in readers:
        assert reader.acquire(timeout=10)
    equal(writer.acquire(blocking=False), False)
    for reader in readers:
        reader.release()
    assert writer.acquire(timeout=10)
    equal(t.zk.ReadLock(t.path).acquire(blocking=False), False)
    writer.release()


def semaphore_counts(t):
    holders = [t.client().Semaphore(t.path + "/s", max_leases=2) for _ in range(3)]
    assert holders[0].acquire() and holders[1].acquire()
    equal(holders[2].acquire(blocking=False), False)
    holders[0].release()
    assert holders[2].acquire(timeout=10)
    equal(len(holders[2].lease_holders()), 2)


def semaphore_sizes_must_agree(t):
    t.zk.Semaphore(t.path + "/s", max_leases=2).acquire()
    with raises(ValueError):
        t.client().Semaphore(t.path + "/s", max_leases=3).acquire()


def election_has_one_leader_at_a_time(t):
    led, leading, resign = [], threading.Event(), threading.Event()

    def first():
        led.append("first")
        leading.set()
        resign.wait(10)

    a = in_background(lambda: t.client().Election(t.path, "first").run(first))
    assert leading.wait(10)
    b = in_background(lambda: t.client().Election(t.path, "second").run(lambda: led.append("second")))
    wait_for(lambda: t.zk.Election(t.path).contenders() == ["first", "second"], "two contenders")
    equal(led, ["first"])
    resign.set()
    a.join(10), b.join(10)
    equal(led, ["first", "second"])


def election_survives_its_leader(t):
    doomed, leading, led = t.client(), threading.Event(), []

    def lead():
        leading.set()
        threading.Event().wait(5)

    in_background(lambda: doomed.Election(t.path, "doomed").run(lead))
    assert leading.wait(10)
    heir = in_background(lambda: t.client().Election(t.path, "heir").run(lambda: led.append("heir")))
    wait_for(lambda: len(t.zk.Election(t.path).contenders()) == 2, "two contenders")
    doomed.stop()
    heir.join(10)
    equal(led, ["heir"])


def barrier_holds_until_removed(t):
    path, passed = t.path + "/barrier", []
    barrier = t.zk.Barrier(path)
    barrier.create()
    equal(t.client().Barrier(path).wait(timeout=0.1), False)
    waiters = [in_background(lambda zk=t.client(): passed.append(zk.Barrier(path).wait(10))) for _ in range(3)]
    equal(passed, [])
    assert barrier.remove()
    for waiter in waiters:
        waiter.join(10)
    equal(passed, [True] * 3)


def double_barrier_gathers_and_parts(t):
    path, log = t.path + "/double", []

    def take_part(zk):
        barrier = zk.DoubleBarrier(path, 3)
        barrier.enter()
        log.append("in")
        barrier.leave()
        log.append("out")

    threads = [in_background(take_part, t.client()) for _ in range(2)]
    wait_for(lambda: len(t.zk.get_children(path)) == 2 if t.zk.exists(path) else False, "two at the barrier")
    equal(log, [])
    threads.append(in_background(take_part, t.client()))
    for thread in threads:
        thread.join(15)
    equal(sorted(log), ["in"] * 3 + ["out"] * 3)


def counter_adds_up(t):
    counters = [zk.Counter(t.path + "/n") for zk in [t.zk] + [t.client() for _ in range(3)]]

    def add(counter):
        for _ in range(10):
            counter += 2
            counter -= 1

    for thread in [in_background(add, counter) for counter in counters]:
        thread.join(30)
    equal(counters[0].value, 40)


def counter_of_other_kinds(t):
    floating = t.zk.Counter(t.path + "/f", default=1.5)
    floating += 2.25
    equal(floating.value, 3.75)
    curators = t.zk.Counter(t.path + "/c", support_curator=True)
    curators += 258
    equal(t.zk.get(t.path + "/c")[0], b"\x00\x00\x01\x02")


def queue_is_first_in_first_out(t):
    queue, other = t.zk.Queue(t.path), t.client().Queue(t.path)
    for n in range(5):
        queue.put(b"%d" % n)
    equal(len(queue), 5)
    equal([other.get() for _ in range(6)], [b"0", b"1", b"2", b"3", b"4", None])


def queue_respects_priority(t):
    queue = t.zk.Queue(t.path)
    queue.put(b"late", priority=500)
    queue.put(b"early", priority=1)
    equal([queue.get(), queue.get()], [b"early", b"late"])


def queue_gives_each_entry_once(t):
    queue, taken = t.zk.Queue(t.path), []
    for n in range(60):
        queue.put(b"%d" % n)

    def take(zk):
        mine = zk.Queue(t.path)
        while (entry := mine.get()) is not None:
            taken.append(int(entry))

    for thread in [in_background(take, t.client()) for _ in range(4)]:
        thread.join(30)
    equal(sorted(taken), list(range(60)))


def locking_queue_gives_back_what_was_not_consumed(t):
    t.zk.LockingQueue(t.path).put_all([b"a", b"b"])
    fickle = t.client()
    equal(fickle.LockingQueue(t.path).get(10), b"a")
    steady = t.zk.LockingQueue(t.path)
    equal(steady.get(10), b"b")
    assert steady.holds_lock() and steady.consume()
    fickle.stop()
    equal(steady.get(10), b"a")
    assert steady.release()
    equal(steady.get(10), b"a")
    assert steady.consume()
    equal(len(steady), 0)


def locking_queue_wakes_a_waiter(t):
    got, other = [], t.client()
    waiter = in_background(lambda: got.append(other.LockingQueue(t.path).get(10)))
    wait_for(lambda: t.zk.exists(t.path + "/entries"), "the queue")
    t.zk.LockingQueue(t.path).put(b"x")
    waiter.join(15)
    equal(got, [b"x"])


def party_knows_its_members(t):
    members = [t.client() for _ in range(3)]
    for n, zk in enumerate(members):
        zk.Party(t.path + "/party", f"m{n}").join()
    party = t.zk.Party(t.path + "/party", "watcher")
    equal(sorted(party), ["m0", "m1", "m2"])
    members[1].stop()
    equal(sorted(party), ["m0", "m2"])
    party.join()
    equal(len(party), 3)
    party.leave()
    equal(len(party), 2)


def shallow_party_knows_its_members(t):
    ShallowParty(t.client(), t.path + "/party", "m0").join()
    equal(list(ShallowParty(t.zk, t.path + "/party", "watcher")), ["m0"])


def partitioner_divides_a_set(t):
    def make(zk, name):
        return zk.SetPartitioner(t.path + "/parts", set=("a", "b", "c", "d"), identifier=name, time_boundary=0.3)

    def settle(partitioners):
        for partitioner in partitioners:
            if partitioner.release:
                partitioner.release_set()
            assert not partitioner.failed
        return all(p.acquired for p in partitioners) and sum(len(list(p)) for p in partitioners) == 4

    first = make(t.zk, "one")
    wait_for(lambda: settle([first]), "the whole set")
    second = make(t.client(), "two")
    wait_for(lambda: settle([first, second]) and list(first) and list(second), "a share each")
    equal(sorted(list(first) + list(second)), ["a", "b", "c", "d"])
    second.finish()
    wait_for(lambda: settle([first]), "the whole set again")


def lease_is_exclusive_until_it_ends(t):
    hour = timedelta(hours=1)
    assert t.zk.NonBlockingLease(t.path + "/lease", hour, identifier="one")
    assert not t.client().NonBlockingLease(t.path + "/lease", hour, identifier="two")
    assert t.zk.NonBlockingLease(t.path + "/lease", hour, identifier="one"), "renewal"
    leases = [bool(t.zk.MultiNonBlockingLease(2, t.path + "/many", hour, identifier=f"{n}")) for n in range(3)]
    equal(leases, [True, True, False])
