"""Calls that wait: granted, timed out, given up; many at once in one session."""

import concurrent.futures
import time

import diwan

from .harness import SERVERS, eventually, fresh, test

POOL = concurrent.futures.ThreadPoolExecutor(100)


@test
def lock_goes_to_next_waiter_in_order():
    name, order = fresh("lock"), []

    def turn(place):
        with diwan.Lock(cluster, name).hold(f"o{place}") as held:
            order.append((place, held.fence))
    with diwan.Cluster(SERVERS) as cluster:
        lock, turns = diwan.Lock(cluster, name), []
        with lock as held:
            for place in range(5):
                turns.append(POOL.submit(turn, place))
                eventually(lambda: lock.holder()["waiting"] == place + 1)
        for done in turns:
            done.result(20)
    assert [place for place, _ in order] == list(range(5)), order
    fences = [held.fence] + [fence for _, fence in order]
    assert fences == sorted(set(fences))


@test
def wait_ends_in_time():
    with diwan.Cluster(SERVERS) as one, diwan.Cluster(SERVERS) as other:
        name = fresh("lock")
        with diwan.Lock(one, name):
            began = time.monotonic()
            try:
                with diwan.Lock(other, name).hold(wait=0.5):
                    raise AssertionError("two hold it")
            except diwan.NotAcquired:
                pass
            assert 0.45 <= time.monotonic() - began < 5
            assert diwan.Lock(one, name).holder()["waiting"] == 0


@test
def queue_gives_each_item_once():
    with diwan.Cluster(SERVERS) as cluster:
        jobs = diwan.Queue(cluster, fresh("queue"))
        takers = [POOL.submit(jobs.take) for _ in range(10)]
        for n in range(10):
            jobs.put(n)
        assert sorted(taker.result(20)[0]["item"] for taker in takers) == list(range(10))


@test
def parallel_first_calls_open_one_session():
    with diwan.Cluster(SERVERS) as cluster:
        group = diwan.Membership(cluster, fresh("group"))
        views = [POOL.submit(group.join, f"m{n}") for n in range(30)]
        for view in views:
            view.result(20)
        members = group.members()["members"]
        assert len(members) == 30 and len({member["session"] for member in members}) == 1


@test
def call_that_waits_holds_up_no_commands():
    with diwan.Cluster(SERVERS) as cluster:
        jobs, counter = diwan.Queue(cluster, fresh("queue")), diwan.Counter(cluster, fresh("counter"))
        taker = POOL.submit(jobs.take)
        values = [counter.increment() for _ in range(150)]
        assert values == list(range(1, 151))
        jobs.put("x")
        assert taker.result(20)[0]["item"] == "x"


@test
def call_that_waits_holds_up_no_call_of_its_session():
    with diwan.Cluster(SERVERS) as cluster, diwan.Cluster(SERVERS) as other:
        wanted, mine = diwan.Lock(cluster, fresh("lock")), diwan.Lock(cluster, fresh("lock"))
        with diwan.Lock(other, wanted.name):
            waiting = POOL.submit(wanted.acquire)
            eventually(lambda: wanted.holder()["waiting"] == 1)
            for _ in range(100):
                got = mine.acquire(wait=10)
                session = mine.holder()["session"]
                assert got["acquired"] and mine.release(got["fence"]) == 0
            assert not waiting.done()
        assert waiting.result(20)["acquired"]
        assert wanted.holder()["session"] == session


@test
def hundred_threads_count_right():
    with diwan.Cluster(SERVERS) as cluster:
        counter = diwan.Counter(cluster, fresh("counter"))
        values = list(POOL.map(lambda _: counter.increment(), range(300)))
        assert sorted(values) == list(range(1, 301))


@test
def condition_is_signalled():
    with diwan.Cluster(SERVERS) as cluster:
        lock = diwan.Lock(cluster, fresh("lock"))
        mine = lock.acquire("a")
        waiting = POOL.submit(lambda: lock.wait("full", mine["fence"]))
        eventually(lambda: lock.holder()["fence"] is None)
        other = lock.acquire("b")
        assert lock.signal("full") == 1
        lock.release(other["fence"])
        back = waiting.result(20)
        assert back["signalled"] and back["fence"] > other["fence"]
        assert lock.release(back["fence"]) == 0
