"""Live replicated objects of Diwan, for threads. `diwan.aio` has the same for asyncio.

    from diwan import Cluster, Counter, Lock

    with Cluster("10.0.0.1:7180,10.0.0.2:7180,10.0.0.3:7180") as cluster:
        Counter(cluster, "visits").increment()
        with Lock(cluster, "build") as held:
            write(fence=held.fence)
"""

from ._held import Held
from ._objects import *  # noqa: F403
from ._objects import __all__ as _objects
from ._proxy import Cluster, SyncObject as Object
from .problem import Lost, NotAcquired, Problem

__all__ = ["Cluster", "Held", "Lost", "NotAcquired", "Object", "Problem", *_objects]
