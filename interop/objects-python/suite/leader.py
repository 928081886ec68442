"""Which member is asked: the leader, once a response has named it, but nobody whose address was not given."""

import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import diwan

from .harness import SERVERS, control, fresh, test

CALLS = 200


def asked():
    """How many requests each member has had."""
    return [int(control("requests", str(number))) for number in (1, 2, 3)]


def strays(counter):
    """Calls it; who leads and whom the requests went to, if that is not the leader throughout."""
    leader, before = int(control("leader")), asked()
    for _ in range(CALLS):
        counter.increment()
    grown = [now - then for now, then in zip(asked(), before)]
    others = sum(grown) - grown[leader - 1]
    kept = grown[leader - 1] >= CALLS and others < CALLS / 2
    return None if kept or int(control("leader")) != leader else (leader, grown)


@test
def requests_go_to_the_leader():
    # A cluster object begins with a member that it draws.
    for _ in range(5):
        with diwan.Cluster(SERVERS) as cluster:
            counter = diwan.Counter(cluster, fresh("counter"))
            for _ in range(20):
                counter.increment()
            # One that was elected a moment ago may not have served then: it is shunned for 5 seconds, and another may be elected meanwhile.
            end = time.monotonic() + 20
            while strayed := strays(counter):
                assert time.monotonic() < end, strayed


@test
def address_that_nobody_has_given_gets_nothing():
    stranger = socket.create_server(("127.0.0.1", 0))
    named = f"127.0.0.1:{stranger.getsockname()[1]}"

    class Member(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self):
            self.rfile.read(int(self.headers.get("content-length", 0)))
            body = json.dumps({"value": 1, "session": "0" * 32, "secret": "0" * 32, "generation": 1, "ttl_ms": 5_000}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.send_header("diwan-leader", named)
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = answer

        def log_message(self, *_):
            pass

    member = ThreadingHTTPServer(("127.0.0.1", 0), Member)
    threading.Thread(target=member.serve_forever, daemon=True).start()
    try:
        with diwan.Cluster(f"127.0.0.1:{member.server_port}", token="diwan_" + "0" * 64) as cluster:
            for _ in range(3):
                assert diwan.Counter(cluster, "c").increment() == 1
        stranger.settimeout(0.2)
        try:
            stranger.accept()
        except socket.timeout:
            return
        raise AssertionError("the token may have gone there")
    finally:
        member.shutdown()
        stranger.close()
