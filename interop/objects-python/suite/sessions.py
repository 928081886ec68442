"""Sessions: kept alive, lost, ended; what is held is known to be lost before anybody else gets it."""

import concurrent.futures
import http.client
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time

import diwan

from .harness import SERVERS, control, eventually, fresh, refused, test

# A holder in a process of its own: prints its fence, then whenever it finds its lock lost.
HOLDER = """
import sys, time
import diwan
cluster = diwan.Cluster(sys.argv[1], ttl=2)
with diwan.Lock(cluster, sys.argv[2]) as held:
    print(held.fence, flush=True)
    while not held.lost:
        time.sleep(0.01)
    print("lost", flush=True)
"""


def holder(name):
    started = subprocess.Popen([sys.executable, "-c", HOLDER, SERVERS, name], stdout=subprocess.PIPE, text=True)
    return started, int(started.stdout.readline())


@test
def lock_outlives_its_time_to_live():
    with diwan.Cluster(SERVERS, ttl=1) as cluster, diwan.Cluster(SERVERS) as other:
        name = fresh("lock")
        with diwan.Lock(cluster, name) as held:
            assert not diwan.Lock(other, name).acquire(wait=3)["acquired"]
            assert not held.lost
            held.check()


@test
def waiting_request_keeps_its_session_without_a_heartbeat():
    name, credential = fresh("lock"), f"{secrets.token_hex(16)}.{secrets.token_hex(16)}"
    fields = {"Diwan-Session": credential, "Diwan-Request": "1"}

    def post(path, body, fields):
        first = SERVERS.split(",")[0]
        kind = http.client.HTTPSConnection if first.startswith("https://") else http.client.HTTPConnection
        connection = kind(first.removeprefix("https://"), timeout=30)
        connection.request("POST", f"/v1/{path}", json.dumps(body), fields)
        response = connection.getresponse()
        return response.status, json.loads(response.read())

    with diwan.Cluster(SERVERS) as cluster, concurrent.futures.ThreadPoolExecutor() as pool:
        lock = diwan.Lock(cluster, name)
        with lock:
            assert post("sessions", {"ttl_ms": 1000}, {"Diwan-Session": credential})[0] == 201
            # One waits in a session that it was given, one in a session that it opens.
            waits = [pool.submit(post, f"objects/lock/{name}/acquire", {}, fields)]
            eventually(lambda: lock.holder()["waiting"] == 1)
            waits.append(pool.submit(post, f"objects/lock/{name}/acquire", {"ttl_ms": 1000}, {}))
            eventually(lambda: lock.holder()["waiting"] == 2)
            time.sleep(4)
            assert lock.holder()["waiting"] == 2
        # The first one expires after its grant, for nobody renews it.
        for wait in waits:
            status, got = wait.result(20)
            assert status == 200 and got["acquired"], got
        assert got["expires_in_ms"] == 1000 and got["secret"]


@test
def dead_holder_is_followed_in_time():
    name = fresh("lock")
    dead, fence = holder(name)
    with diwan.Cluster(SERVERS) as cluster:
        dead.kill()
        dead.wait()
        began = time.monotonic()
        got = diwan.Lock(cluster, name).acquire(wait=20)
        took = time.monotonic() - began
        assert got["acquired"] and got["fence"] > fence
        assert 1.0 <= took < 10, took


@test
def stopped_holder_knows_that_it_lost():
    name = fresh("lock")
    stopped, fence = holder(name)
    with diwan.Cluster(SERVERS) as cluster:
        os.kill(stopped.pid, signal.SIGSTOP)
        try:
            got = diwan.Lock(cluster, name).acquire(wait=30)
            assert got["acquired"] and got["fence"] > fence
        finally:
            os.kill(stopped.pid, signal.SIGCONT)
        assert stopped.stdout.readline() == "lost\n"
        stopped.wait(20)


@test
def closed_cluster_frees_at_once():
    name = fresh("lock")
    one = diwan.Cluster(SERVERS, ttl=60)
    assert diwan.Lock(one, name).acquire()["acquired"]
    one.close()
    with diwan.Cluster(SERVERS) as other:
        assert diwan.Lock(other, name).acquire(wait=5)["acquired"]
    refused("closed", diwan.Counter(one, "x").get)


@test
def stolen_lock_is_lost():
    with diwan.Cluster(SERVERS, ttl=3) as one, diwan.Cluster(SERVERS) as other:
        name, told = fresh("lock"), threading.Event()
        with diwan.Lock(one, name) as held:
            held.on_lost(lambda held: told.set())
            assert not held.lost
            diwan.Lock(other, name).steal("test")
            assert told.wait(10) and held.lost and "taken" in held.reason
            refused("not-owner", diwan.Lock(one, name).release, held.fence)


@test
def holder_counts_lock_as_lost_before_servers_do():
    # All members stand still: nobody answers, and none can let the session expire meanwhile.
    with diwan.Cluster(SERVERS, ttl=2, timeout=5) as cluster:
        with diwan.Lock(cluster, fresh("lock")) as held:
            paused = ["1", "2", "3"]
            for number in paused:
                control("pause", number)
            began = time.monotonic()
            try:
                assert held.wait_lost(10)
                assert time.monotonic() - began < 1.8, time.monotonic() - began
            finally:
                for number in paused:
                    control("resume", number)
            try:
                held.check()
                raise AssertionError("it is lost")
            except diwan.Lost:
                pass
            control("start")


@test
def expired_session_is_replaced():
    with diwan.Cluster(SERVERS, ttl=5) as cluster:
        counter = diwan.Counter(cluster, fresh("counter"))
        assert counter.increment() == 1
        session = cluster._core.session
        with diwan.Lock(cluster, fresh("lock")) as held:
            ended = cluster._core.exchange("DELETE", f"/v1/sessions/{session.id}", b"", lambda: session.header)
            cluster._run(ended)
            assert held.wait_lost(10)
            assert counter.increment() == 2
            assert cluster._core.session is not session
