"""SASL, as DIGEST-MD5 with users that the server has in a file."""

from kazoo.exceptions import NoAuthError
from kazoo.protocol.states import KeeperState
from kazoo.security import ACL, Id, Permissions, make_acl

from suite.harness import control, equal, raises, wait_for


def _client(t, user="alice", password="wonder", **options):
    return t.client(sasl_options={"mechanism": "DIGEST-MD5", "username": user, "password": password}, **options)


def the_user_is_an_identity(t):
    alice = _client(t)
    acl = [ACL(Permissions.ALL, Id("sasl", "alice"))]
    path = alice.create(t.path + "/hers", b"secret", acl=acl)
    equal(alice.get(path)[0], b"secret")
    with raises(NoAuthError):
        t.zk.get(path)
    bob = _client(t, "bob", "builder")
    with raises(NoAuthError):
        bob.get(path)
    other_alice = _client(t)
    equal(other_alice.get(path)[0], b"secret")


def the_creator_is_the_user(t):
    alice = _client(t)
    path = alice.create(t.path + "/hers", acl=[make_acl("auth", "", all=True)])
    equal(alice.get_acls(path)[0], [ACL(Permissions.ALL, Id("sasl", "alice"))])


def a_digest_beside_it_counts_too(t):
    alice = _client(t, auth_data=[("digest", "carol:rabbit")])
    path = alice.create(t.path + "/both", acl=[make_acl("auth", "", all=True)])
    schemes = sorted(entry.id.scheme for entry in alice.get_acls(path)[0])
    equal(schemes, ["digest", "sasl"])


def _refused(client):
    states = []
    client.add_listener(lambda _: states.append(client.client_state))
    client.start_async()
    wait_for(lambda: KeeperState.AUTH_FAILED in states, "the client to hear that it may not")
    wait_for(lambda: not client.connected, "the client to give up")


def a_wrong_password_is_refused(t):
    _refused(_client(t, password="guess", start=False))


def an_unknown_user_is_refused(t):
    _refused(_client(t, user="mallory", start=False))


def who_does_not_ask_is_let_in(t):
    equal(t.client().exists("/nothing-here"), None)


def the_identity_comes_back_after_a_restart(t):
    alice = _client(t)
    path = alice.create(t.path + "/hers", b"secret", acl=[make_acl("sasl", "alice", all=True)])
    control("kill")
    control("start")
    wait_for(lambda: alice.connected, "the client to come back")
    equal(alice.retry(alice.get, path)[0], b"secret")
