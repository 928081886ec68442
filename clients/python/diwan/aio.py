"""Live replicated objects of Diwan, for asyncio.

    from diwan.aio import Cluster, Counter, Lock

    async with Cluster("10.0.0.1:7180,10.0.0.2:7180,10.0.0.3:7180") as cluster:
        await Counter(cluster, "visits").increment()
        async with Lock(cluster, "build") as held:
            await write(fence=held.fence)
"""

from ._aio_objects import *  # noqa: F403
from ._aio_objects import __all__ as _objects
from ._held import Held
from ._proxy import AsyncCluster as Cluster, AsyncObject as Object
from .problem import Lost, NotAcquired, Problem

__all__ = ["Cluster", "Held", "Lost", "NotAcquired", "Object", "Problem", *_objects]
