"""The same for asyncio: calls side by side, cancellation, a loop that is blocked."""

import asyncio
import functools
import time

from diwan import aio

from .harness import SERVERS, fresh, test


def of_asyncio(function):
    @test
    @functools.wraps(function)
    def run():
        asyncio.run(asyncio.wait_for(function(), 60))
    return run


async def becomes(condition, seconds=20):
    end = time.monotonic() + seconds
    while not await condition():
        assert time.monotonic() < end, "it did not become true in time"
        await asyncio.sleep(0.02)


@of_asyncio
async def calls_run_side_by_side():
    async with aio.Cluster(SERVERS) as cluster:
        counter = aio.Counter(cluster, fresh("counter"))
        values = await asyncio.gather(*(counter.increment() for _ in range(50)))
        assert sorted(values) == list(range(1, 51))
        async with aio.Lock(cluster, fresh("lock")) as held:
            assert held.fence and not held.lost


@of_asyncio
async def cancelled_wait_leaves_no_waiter():
    async with aio.Cluster(SERVERS) as one, aio.Cluster(SERVERS) as other:
        name = fresh("lock")
        async with aio.Lock(one, name):
            waiting = asyncio.ensure_future(aio.Lock(other, name).acquire())

            async def one_waits():
                return (await aio.Lock(one, name).holder())["waiting"] == 1

            async def none_waits():
                return (await aio.Lock(one, name).holder())["waiting"] == 0
            await becomes(one_waits)
            waiting.cancel()
            await becomes(none_waits)
        assert (await aio.Lock(one, name).acquire(wait=5))["acquired"]


@of_asyncio
async def cancelled_grant_is_given_back():
    async with aio.Cluster(SERVERS) as one, aio.Cluster(SERVERS) as other:
        lock = aio.Lock(one, fresh("lock"))
        for delay in (0, 0.002, 0.005, 0.01, 0.03):
            acquiring = asyncio.ensure_future(lock.acquire())
            await asyncio.sleep(delay)
            if not acquiring.done():
                acquiring.cancel()
            try:
                await lock.release((await acquiring)["fence"])
            except asyncio.CancelledError:
                pass
            async with aio.Lock(other, lock.name).hold(wait=10):
                pass


@of_asyncio
async def blocked_loop_keeps_the_lock():
    async with aio.Cluster(SERVERS, ttl=1) as one, aio.Cluster(SERVERS) as other:
        lock = aio.Lock(one, fresh("lock"))
        async with lock as held:
            waiting = asyncio.ensure_future(aio.Lock(other, lock.name).acquire())
            await asyncio.sleep(0.2)
            time.sleep(3)
            assert not held.lost
            await asyncio.sleep(0.1)
            assert not waiting.done()
        assert (await waiting)["acquired"]
