"""Members die by `kill -9` under calls: no wrong answer, each command once."""

import os
import threading
import time

import diwan

from .harness import SERVERS, control, fresh, test

KILLS = int(os.environ.get("KILLS", "4"))


@test
def increment_and_get_are_right_while_leaders_die():
    stop, wrong, counted = threading.Event(), [], []

    def count():
        with diwan.Cluster(SERVERS, ttl=10) as cluster:
            counter, expected = diwan.Counter(cluster, fresh("counter")), 0
            while not stop.is_set():
                value, expected = counter.increment(), expected + 1
                if value != expected:
                    wrong.append(("increment", value, expected))
                    return
                got = counter.get()
                if got != expected:
                    wrong.append(("get", got, expected))
                    return
            counted.append(expected)
    counters = [threading.Thread(target=count) for _ in range(3)]
    for counter in counters:
        counter.start()
    try:
        for _ in range(KILLS):
            time.sleep(0.5)
            control("kill", "leader")
            control("start")
        time.sleep(0.5)
    finally:
        stop.set()
        for counter in counters:
            counter.join(60)
    assert not wrong, wrong
    assert len(counted) == 3 and min(counted) > KILLS, counted
    print(f"# {sum(counted)} increments over {KILLS} deaths of leaders", flush=True)


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
