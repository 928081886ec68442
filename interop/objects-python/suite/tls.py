"""Members that speak TLS alone. Without OBJECTS_KEYS they speak plain text, and these tests find nothing to do."""

import os
import ssl
import time

import diwan
import diwan.aio

from .harness import SERVERS, fresh, test

KEYS = os.environ.get("OBJECTS_KEYS")
BARE = SERVERS.replace("https://", "")


def key(name):
    return os.path.join(KEYS, name)


def counts(**options):
    with diwan.Cluster(BARE, **options) as cluster:
        assert diwan.Counter(cluster, fresh()).increment() == 1


def refused(words, members=BARE, **options):
    began = time.monotonic()
    with diwan.Cluster(members, **options) as cluster:
        try:
            diwan.Counter(cluster, fresh()).increment()
        except diwan.Problem as problem:
            assert problem.slug in ("no-tls", "tls-required") and problem.effect == "none", problem
            assert words in str(problem), problem
            assert time.monotonic() - began < 10, "what cannot change is not tried again and again"
            return
    raise AssertionError("it was carried out")


if KEYS:
    @test
    def authority_that_is_named_is_trusted():
        counts(ca=key("ca.pem"))
        counts(ca=key("ca.pem"), cert=key("client.pem"))
        counts(tls=ssl.create_default_context(cafile=key("ca.pem")))

    @test
    def other_side_that_is_not_trusted_is_refused_at_once():
        refused("certificate verify failed", ca=key("foreign-ca.pem"))
        refused("alert", ca=key("ca.pem"), cert=key("stranger.pem"))
        refused("https", tls=False)
