"""Who asks, while members die: tokens by name, by a file and by the environment; wrong ones, revoked ones, and replaced ones."""

import asyncio
import contextlib
import os
import threading
import time

import diwan
import diwan.aio

from .deaths import Gaps
from .harness import CONTROL, SERVERS, control, eventually, fresh, refused, test


@contextlib.contextmanager
def closed(*rights):
    """Access is closed, and a principal has these rights: its name, and a file with its token."""
    name = fresh("principal")
    file = os.path.join(os.path.dirname(CONTROL), f"{name}.token")
    control("close")
    try:
        control("token", name, file, *rights)
        yield name, file
    finally:
        control("open")


def read(file):
    with open(file, encoding="ascii") as opened:
        return opened.read().strip()


@test
def token_says_who_asks_while_leaders_die():
    with closed("counter/*:*") as (_, file):
        counted, stop = [], threading.Event()

        def threads():
            with diwan.Cluster(SERVERS, token=read(file)) as cluster:
                counter, n = diwan.Counter(cluster, fresh()), 0
                while not stop.is_set():
                    n += 1
                    assert counter.increment() == n and counter.get() == n
                counted.append(n)

        async def tasks():
            async with diwan.aio.Cluster(SERVERS, token_file=file) as cluster:
                counter, n = diwan.aio.Counter(cluster, fresh()), 0
                while not stop.is_set():
                    n += 1
                    assert await counter.increment() == n and await counter.get(stale=True) == n
                counted.append(n)
        working = [threading.Thread(target=threads), threading.Thread(target=lambda: asyncio.run(tasks()))]
        for thread in working:
            thread.start()
        gaps = Gaps()
        for _ in range(2):
            gaps.kill()
        stop.set()
        for thread in working:
            thread.join(60)
        assert len(counted) == 2 and min(counted) > 2, counted
        with diwan.Cluster(SERVERS, token=read(file)) as cluster:
            problem = refused("forbidden", diwan.Lock(cluster, fresh()).acquire)
            assert (problem.effect, problem.retry) == ("none", "no") and "administrator" in problem.detail, problem
        with diwan.Cluster(SERVERS) as cluster:
            problem = refused("unauthenticated", diwan.Counter(cluster, fresh()).increment)
            assert problem.effect == "none" and "Authorization" in problem.detail, problem


@test
def environment_says_who_asks():
    with closed("counter/*:*") as (_, file):
        for name, value in (("DIWAN_TOKEN", read(file)), ("DIWAN_TOKEN_FILE", file)):
            os.environ[name] = value
            try:
                with diwan.Cluster(SERVERS) as cluster:
                    assert diwan.Counter(cluster, fresh()).increment() == 1
            finally:
                del os.environ[name]
    for wrong in ({"token": "diwan_1"}, {"token": read(file), "token_file": file}, {"token_file": "/nowhere"}):
        try:
            diwan.Cluster(SERVERS, **wrong)
        except (ValueError, OSError):
            continue
        raise AssertionError(wrong)


@test
def wrong_and_revoked_tokens_are_refused_at_once():
    wrong = "diwan_" + 64 * "1"
    began = time.monotonic()
    with diwan.Cluster(SERVERS, token=wrong) as cluster:
        for call in (diwan.Counter(cluster, "c").increment, diwan.Counter(cluster, "c").get, diwan.Lock(cluster, "l").acquire):
            problem = refused("unauthenticated", call)
            assert (problem.status, problem.effect, problem.retry) == (401, "none", "no"), problem

    async def of_asyncio():
        async with diwan.aio.Cluster(SERVERS, token=wrong) as cluster:
            try:
                await diwan.aio.Counter(cluster, "c").increment()
            except diwan.Problem as problem:
                assert (problem.slug, problem.effect) == ("unauthenticated", "none"), problem
                return
            raise AssertionError("it was carried out")
    asyncio.run(of_asyncio())
    assert time.monotonic() - began < 10, "what cannot change is not tried again and again"
    with closed("counter/*:*", "lock/*:*") as (name, file), diwan.Cluster(SERVERS, ttl=2, token=read(file)) as cluster:
        # The lock cannot be given back any more.
        with contextlib.suppress(diwan.Problem), diwan.Lock(cluster, fresh()) as held:
            control("revoke", name)
            problem = refused("unauthenticated", diwan.Counter(cluster, fresh()).increment)
            assert problem.effect == "none", problem
            eventually(lambda: held.lost)
        assert held.lost


@test
def file_is_read_again_when_its_token_was_replaced():
    with closed("counter/*:*", "lock/*:*") as (name, file):
        with diwan.Cluster(SERVERS, ttl=4, token_file=file) as cluster:
            counter, n = diwan.Counter(cluster, fresh()), 0
            with diwan.Lock(cluster, fresh()) as held:
                for _ in range(3):
                    first = read(file)
                    control("token", name, file)
                    assert read(file) != first
                    end = time.monotonic() + 2
                    while time.monotonic() < end:
                        n += 1
                        assert counter.increment() == n
                        time.sleep(0.05)
                # Its heartbeats came by the new ones.
                held.check()

        async def of_asyncio():
            async with diwan.aio.Cluster(SERVERS, token_file=file) as cluster:
                assert await diwan.aio.Counter(cluster, counter.name).increment() == n + 1
                control("token", name, file)
                values = await asyncio.gather(*(diwan.aio.Counter(cluster, counter.name).increment() for _ in range(20)))
                assert sorted(values) == list(range(n + 2, n + 22)), values
        asyncio.run(of_asyncio())
