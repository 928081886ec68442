"""Members die by `kill -9` under calls: no wrong answer, each command once."""

import asyncio
import os
import threading
import time

import diwan
import diwan.aio

from .harness import SERVERS, control, fresh, test

KILLS = int(os.environ.get("KILLS", "4"))


class Gaps:
    """The longest time that a loop went without an answer, for each kill."""

    def __init__(self):
        self.open, self.of_kills, self.calls = 0.0, [], 0

    def answered(self, since):
        """Gives the time of this answer."""
        now = time.monotonic()
        self.open = max(self.open, now - since)
        self.calls += 1
        return now

    def kill(self):
        """Kills the leader, once all members serve, and again."""
        time.sleep(0.5)
        self.open = 0.0
        control("kill", "leader")
        control("start")
        time.sleep(0.5)
        self.of_kills.append(self.open)

    def __str__(self):
        gaps = [round(gap * 1000) for gap in sorted(self.of_kills)]
        return (f"{self.calls} calls, 0 wrong answers over {len(gaps)} kills of leaders; "
                f"gap: median {gaps[len(gaps) // 2]} ms, longest {gaps[-1]} ms")


def under_kills(gaps, count):
    """Three threads count while leaders die. How far each came."""
    stop, wrong, counted = threading.Event(), [], []

    def counting():
        try:
            counted.append(count(stop))
        except BaseException as error:  # noqa: BLE001
            wrong.append(error)
            stop.set()
    counters = [threading.Thread(target=counting) for _ in range(3)]
    for counter in counters:
        counter.start()
    try:
        for _ in range(KILLS):
            if not stop.is_set():
                gaps.kill()
    finally:
        stop.set()
        for counter in counters:
            counter.join(60)
    assert not wrong, wrong
    assert len(counted) == 3 and min(counted) > KILLS, counted


@test
def increment_and_get_are_right_while_leaders_die():
    gaps = Gaps()

    def count(stop):
        with diwan.Cluster(SERVERS, ttl=10) as cluster:
            counter, n, last = diwan.Counter(cluster, fresh("counter")), 0, time.monotonic()
            while not stop.is_set():
                n += 1
                value = counter.increment()
                assert value == n, f"increment: {value} in place of {n}"
                last = gaps.answered(last)
                value = counter.get()
                assert value == n, f"get: {value} in place of {n}"
                last = gaps.answered(last)
            return n
    under_kills(gaps, count)
    print(f"# threads: {gaps}", flush=True)


@test
def increment_and_get_of_asyncio_are_right_while_leaders_die():
    gaps = Gaps()

    async def counting(stop):
        async with diwan.aio.Cluster(SERVERS, ttl=10) as cluster:
            counter, n, last = diwan.aio.Counter(cluster, fresh("counter")), 0, time.monotonic()
            while not stop.is_set():
                n += 1
                value = await counter.increment()
                assert value == n, f"increment: {value} in place of {n}"
                last = gaps.answered(last)
                value = await counter.get()
                assert value == n, f"get: {value} in place of {n}"
                last = gaps.answered(last)
            return n
    under_kills(gaps, lambda stop: asyncio.run(counting(stop)))
    print(f"# asyncio: {gaps}", flush=True)


@test
def lock_is_held_by_one_while_leaders_die():
    inside, wrong, fences, stop = [], [], [], threading.Event()

    def turns(place):
        with diwan.Cluster(SERVERS, ttl=10) as cluster:
            while not stop.is_set():
                with diwan.Lock(cluster, name) as held:
                    inside.append(place)
                    if len(inside) != 1 or (fences and held.fence <= fences[-1]):
                        wrong.append((list(inside), held.fence, fences[-1:]))
                    fences.append(held.fence)
                    time.sleep(0.005)
                    inside.remove(place)
    name = fresh("lock")
    threads = [threading.Thread(target=turns, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(KILLS // 2):
            time.sleep(0.5)
            control("kill", "leader")
            control("start")
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)
    assert not wrong and len(fences) > 3, (wrong, len(fences))


@test
def wait_outlives_the_leader():
    with diwan.Cluster(SERVERS) as one, diwan.Cluster(SERVERS) as other:
        latch, opened = diwan.Latch(one, fresh("latch")), []
        waiting = threading.Thread(target=lambda: opened.append(diwan.Latch(other, latch.name).wait()))
        waiting.start()
        time.sleep(0.5)
        control("kill", "leader")
        control("start")
        assert latch.count_down() == 0
        waiting.join(30)
        assert opened == [True]
