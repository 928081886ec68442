"""Access control: worlds, digests, addresses, the superuser; who may do what."""

from kazoo.exceptions import AuthFailedError, BadVersionError, InvalidACLError, NoAuthError
from kazoo.protocol.states import KazooState
from kazoo.security import (
    ACL,
    CREATOR_ALL_ACL,
    OPEN_ACL_UNSAFE,
    READ_ACL_UNSAFE,
    Id,
    Permissions,
    make_acl,
    make_digest_acl,
    make_digest_acl_credential,
)

from suite.harness import Events, equal, raises, wait_for


def _alice(t):
    return t.client(auth_data=[("digest", "alice:wonder")])


def _only(permissions):
    return [ACL(permissions, Id("world", "anyone"))]


def default_is_open(t):
    acls, stat = t.zk.get_acls(t.node("a"))
    equal(acls, OPEN_ACL_UNSAFE)
    equal(stat.aversion, 0)


def given_at_creation(t):
    path = t.node("a", acl=READ_ACL_UNSAFE)
    equal(t.zk.get_acls(path)[0], READ_ACL_UNSAFE)
    with raises(NoAuthError):
        t.zk.set(path, b"x")
    equal(t.zk.get(path)[0], b"")


def set_moves_aversion_only(t):
    path = t.node("a")
    before = t.zk.exists(path)
    stat = t.zk.set_acls(path, OPEN_ACL_UNSAFE)
    equal((stat.aversion, stat.version, stat.mzxid), (1, 0, before.mzxid))
    with raises(BadVersionError):
        t.zk.set_acls(path, OPEN_ACL_UNSAFE, version=0)
    t.zk.set_acls(path, OPEN_ACL_UNSAFE, version=1)


def empty_list_refused(t):
    path = t.node("a")
    with raises(InvalidACLError):
        t.zk.set_acls(path, [])


def unknown_scheme_refused(t):
    with raises(InvalidACLError):
        t.node("a", acl=[make_acl("nonsense", "x", all=True)])
    with raises(InvalidACLError):
        t.node("a", acl=[make_acl("world", "bob", all=True)])
    with raises(InvalidACLError):
        t.node("a", acl=[make_acl("ip", "not.an.address", all=True)])


def each_permission_is_its_own(t):
    path = t.node("a", b"x")
    t.node("a/child")
    p = Permissions
    cases = [
        (p.READ, lambda: t.zk.get(path)),
        (p.READ, lambda: t.zk.get_children(path)),
        (p.READ, lambda: t.zk.exists(path)),
        (p.WRITE, lambda: t.zk.set(path, b"y")),
        (p.CREATE, lambda: t.zk.create(path + "/n", sequence=True)),
        (p.DELETE, lambda: t.zk.delete(path + "/child")),
        (p.ADMIN, lambda: t.zk.set_acls(path, OPEN_ACL_UNSAFE)),
    ]
    superuser = t.client(auth_data=[("digest", "super:secret")])
    for permission, action in cases:
        superuser.set_acls(path, _only(p.ALL & ~permission))
        with raises(NoAuthError):
            action()
        superuser.set_acls(path, _only(permission))
        action()


def digest_locks_others_out(t):
    alice = _alice(t)
    path = alice.create(t.path + "/hers", b"secret", acl=[make_digest_acl("alice", "wonder", all=True)])
    equal(alice.get(path)[0], b"secret")
    with raises(NoAuthError):
        t.zk.get(path)
    mallory = t.client(auth_data=[("digest", "alice:wrong")])
    with raises(NoAuthError):
        mallory.get(path)
    t.zk.add_auth("digest", "alice:wonder")
    equal(t.zk.get(path)[0], b"secret")


def creator_becomes_the_identity(t):
    alice = _alice(t)
    path = alice.create(t.path + "/hers", acl=CREATOR_ALL_ACL)
    acls, _ = alice.get_acls(path)
    equal(acls, [ACL(Permissions.ALL, Id("digest", make_digest_acl_credential("alice", "wonder")))])


def creator_without_identity_refused(t):
    with raises(InvalidACLError):
        t.node("a", acl=CREATOR_ALL_ACL)


def several_identities_add_up(t):
    both = t.client(auth_data=[("digest", "alice:wonder"), ("digest", "bob:builder")])
    path = both.create(t.path + "/both", acl=CREATOR_ALL_ACL)
    equal(len(both.get_acls(path)[0]), 2)
    for credential in ("alice:wonder", "bob:builder"):
        equal(t.client(auth_data=[("digest", credential)]).get(path)[0], b"")


def duplicates_are_removed(t):
    path = t.node("a", acl=OPEN_ACL_UNSAFE + OPEN_ACL_UNSAFE)
    equal(t.zk.get_acls(path)[0], OPEN_ACL_UNSAFE)


def digest_is_masked_without_admin(t):
    alice = _alice(t)
    readers = [make_digest_acl("alice", "wonder", all=True), make_acl("world", "anyone", read=True)]
    path = alice.create(t.path + "/hers", acl=readers)
    seen = {acl.id.id for acl in t.zk.get_acls(path)[0]}
    equal(seen, {"alice:x", "anyone"})
    assert make_digest_acl_credential("alice", "wonder") in {a.id.id for a in alice.get_acls(path)[0]}


def by_address(t):
    mine = t.node("mine", b"x", acl=[make_acl("ip", "127.0.0.0/8", all=True)])
    equal(t.zk.get(mine)[0], b"x")
    with raises(NoAuthError):
        t.zk.get(t.node("theirs", acl=[make_acl("ip", "10.1.2.3", all=True)]))


def superuser_passes_everything(t):
    path = t.node("a", b"x", acl=[make_acl("ip", "10.1.2.3", all=True)])
    with raises(NoAuthError):
        t.zk.set(path, b"y")
    superuser = t.client(auth_data=[("digest", "super:secret")])
    superuser.set(path, b"y")
    superuser.set_acls(path, OPEN_ACL_UNSAFE)
    equal(t.zk.get(path)[0], b"y")


def wrong_super_password_is_nobody(t):
    path = t.node("a", acl=[make_acl("ip", "10.1.2.3", all=True)])
    pretender = t.client(auth_data=[("digest", "super:guess")])
    with raises(NoAuthError):
        pretender.get(path)


def unknown_auth_scheme_fails(t):
    client = t.client()
    lost = []
    client.add_listener(lambda state: lost.append(state) if state == KazooState.LOST else None)
    try:
        client.add_auth("nonsense", "x:y")
    except AuthFailedError:
        pass
    wait_for(lambda: lost, "the client to be dropped")


def children_do_not_inherit(t):
    path = t.node("a", acl=_only(Permissions.ALL))
    child = t.node("a/b", b"x")
    t.zk.set_acls(path, _only(Permissions.READ))
    t.zk.set(child, b"y")
    equal(t.zk.get(child)[0], b"y")
    with raises(NoAuthError):
        t.zk.delete(child)


def in_a_transaction(t):
    path = t.node("a", acl=READ_ACL_UNSAFE)
    transaction = t.zk.transaction()
    transaction.create(t.path + "/b")
    transaction.set_data(path, b"x")
    results = transaction.commit()
    equal(type(results[1]), NoAuthError)
    equal(t.zk.exists(t.path + "/b"), None)


def default_acl_of_a_client(t):
    alice = t.client(auth_data=[("digest", "alice:wonder")],
                     default_acl=[make_digest_acl("alice", "wonder", all=True)])
    path = alice.create(t.path + "/hers")
    with raises(NoAuthError):
        t.zk.get(path)


def events_are_filtered(t):
    """A watcher who lost the right to read is not told of the change."""
    path = t.node("a")
    blind, open_node = Events(), t.node("open")
    t.zk.get(path, watch=blind)
    alice = _alice(t)
    alice.set_acls(path, [make_digest_acl("alice", "wonder", all=True)])
    alice.set(path, b"secret")
    told = Events()
    t.zk.get(open_node, watch=told)
    alice.set(open_node, b"x")
    told.wait()
    equal(blind.so_far(), [])
