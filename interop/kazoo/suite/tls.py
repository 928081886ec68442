"""Encrypted connections: who may connect, whom the server takes a client's certificate for."""

import os

from kazoo.exceptions import NoAuthError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.security import ACL, Id, Permissions, make_acl

from suite.harness import CONNECT, Events, Skip, control, equal, raises, wait_for

ALICE = "CN=alice,OU=interop,O=Diwan"
REFUSED_WITHIN = 2


def _keys(name):
    folder = os.environ.get("ZK_KEYS")
    if not folder:
        raise Skip("ZK_KEYS is not set")
    return os.path.join(folder, name)


def _address():
    address = os.environ.get("ZK_SECURE")
    if not address:
        raise Skip("ZK_SECURE is not set")
    return address


def _client(t, holder="alice", ca="ca.pem", start=True, **options):
    """A client with this one's certificate, or with none."""
    if holder:
        options.update(certfile=_keys(holder + ".pem"), keyfile=_keys(holder + ".pem"))
    return t.client(start=start, address=_address(), use_ssl=True, check_hostname=True, ca=_keys(ca), **options)


def _refused(client):
    with raises(KazooTimeoutError):
        client.start(timeout=REFUSED_WITHIN)


def reads_and_writes(t):
    zk = _client(t)
    path = t.node("a", b"plain")
    equal(zk.get(path)[0], b"plain")
    zk.set(path, b"encrypted")
    equal(t.zk.get(path)[0], b"encrypted")


def values_of_every_size(t):
    zk = _client(t)
    path = t.node("a")
    # A record of TLS holds 16 KiB at the most.
    for size in (1, 16_383, 16_384, 16_385, 100_000, 1_000_000):
        value = os.urandom(size)
        zk.set(path, value)
        equal(zk.get(path)[0] == value, True, size)


def many_at_a_time(t):
    zk = _client(t)
    writes = [zk.create_async(f"{t.path}/n{number}", b"x" * number) for number in range(500)]
    for write in writes:
        write.get(timeout=15)
    equal(len(zk.get_children(t.path)), 500)


def watches_fire(t):
    zk = _client(t)
    path = t.node("a")
    events = Events()
    zk.get(path, watch=events)
    t.zk.set(path, b"x")
    equal(events.wait(), [("CHANGED", path)])


def the_certificate_is_an_identity(t):
    alice = _client(t)
    acl = [ACL(Permissions.ALL, Id("x509", ALICE))]
    path = alice.create(t.path + "/hers", b"secret", acl=acl)
    equal(alice.get(path)[0], b"secret")
    equal(alice.get_acls(path)[0], acl)
    with raises(NoAuthError):
        t.zk.get(path)
    with raises(NoAuthError):
        t.zk.set(path, b"x")


def the_creator_is_the_certificate(t):
    alice = _client(t)
    path = alice.create(t.path + "/hers", acl=[make_acl("auth", "", all=True)])
    identities = [(entry.id.scheme, entry.id.id) for entry in alice.get_acls(path)[0]]
    equal(identities, [("x509", ALICE)])


def another_certificate_is_another_identity(t):
    alice = _client(t)
    acl = [make_acl("x509", "CN=bob,OU=interop,O=Diwan", all=True)]
    path = alice.create(t.path + "/his", acl=acl)
    with raises(NoAuthError):
        alice.get(path)


def the_super_user_has_a_certificate_too(t):
    path = t.node("a", acl=[make_acl("x509", "CN=nobody", all=True)])
    root = _client(t, "super")
    equal(root.get(path)[0], b"")
    root.delete(path)


def a_stranger_is_refused(t):
    _refused(_client(t, "stranger", start=False))


def no_certificate_is_refused(t):
    _refused(_client(t, None, start=False))


def a_plain_client_is_refused(t):
    _refused(t.client(start=False, address=_address()))


def a_server_nobody_knows_is_refused_by_the_client(t):
    # Trusting the stranger's own certificate, the client has no reason to trust the server.
    _refused(_client(t, ca="stranger.pem", start=False))


def an_encrypted_client_is_refused_at_the_plain_port(t):
    options = {"use_ssl": True, "ca": _keys("ca.pem")}
    _refused(t.client(start=False, address=CONNECT, **options))


def a_session_moves_between_the_ports(t):
    plain = t.client()
    path = plain.create(t.path + "/e", ephemeral=True)
    session = plain.client_id
    secure = _client(t, start=False, client_id=session)
    secure.start(timeout=15)
    equal(secure.client_id[0], session[0])
    equal(secure.exists(path).owner_session_id, session[0])


def a_session_survives_a_restart(t):
    zk = _client(t)
    path = zk.create(t.path + "/e", ephemeral=True)
    session = zk.client_id[0]
    control("kill")
    control("start")
    wait_for(lambda: zk.connected, "the client to come back")
    equal(zk.client_id[0], session)
    equal(zk.exists(path).owner_session_id, session)
