/* Who may do what. */
#include "harness.h"

static int try_create_with(zhandle_t *handle, const char *path, int permissions, char *scheme, char *id) {
    struct ACL acl = {.perms = permissions, .id = {scheme, id}};
    struct ACL_vector list = {1, &acl};
    return zoo_create(handle, path, "x", 1, &list, ZOO_PERSISTENT, NULL, 0);
}

static int try_read(zhandle_t *handle, const char *path) {
    char buffer[8];
    int length = sizeof buffer;
    return zoo_get(handle, path, 0, buffer, &length, NULL);
}

static void set_and_get(void) {
    node("a", "");
    struct ACL_vector list;
    struct Stat stat;
    OK(zoo_get_acl(zk, at("a"), &list, &stat));
    EQUAL(list.count, 1);
    EQUAL(list.data[0].perms, ZOO_PERM_ALL);
    SAME(list.data[0].id.scheme, "world");
    deallocate_ACL_vector(&list);
    OK(zoo_set_acl(zk, at("a"), 0, &ZOO_READ_ACL_UNSAFE));
    EQUAL(stat_of(at("a")).aversion, 1);
    EQUAL(zoo_set(zk, at("a"), "", 0, -1), ZNOAUTH);
    EQUAL(zoo_set_acl(zk, at("a"), -1, &ZOO_OPEN_ACL_UNSAFE), ZNOAUTH);
}

static void versions(void) {
    node("a", "");
    OK(zoo_set_acl(zk, at("a"), -1, &ZOO_OPEN_ACL_UNSAFE));
    EQUAL(zoo_set_acl(zk, at("a"), 0, &ZOO_OPEN_ACL_UNSAFE), ZBADVERSION);
    OK(zoo_set_acl(zk, at("a"), 1, &ZOO_OPEN_ACL_UNSAFE));
}

static void invalid_lists(void) {
    EQUAL(try_create_with(zk, at("a"), ZOO_PERM_ALL, "nonsense", "x"), ZINVALIDACL);
    EQUAL(try_create_with(zk, at("a"), ZOO_PERM_ALL, "world", "bob"), ZINVALIDACL);
    EQUAL(try_create_with(zk, at("a"), ZOO_PERM_ALL, "ip", "1.2"), ZINVALIDACL);
    EQUAL(try_create_with(zk, at("a"), ZOO_PERM_ALL, "auth", ""), ZINVALIDACL);
}

static void digest(void) {
    zhandle_t *alice = client_as("alice:wonder");
    OK(zoo_create(alice, at("hers"), "x", 1, &ZOO_CREATOR_ALL_ACL, ZOO_PERSISTENT, NULL, 0));
    OK(try_read(alice, at("hers")));
    EQUAL(try_read(zk, at("hers")), ZNOAUTH);
    EQUAL(try_read(client_as("alice:guess"), at("hers")), ZNOAUTH);
    add_auth(zk, "alice:wonder");
    OK(try_read(zk, at("hers")));
}

static void addresses(void) {
    OK(try_create_with(zk, at("mine"), ZOO_PERM_ALL, "ip", "127.0.0.0/8"));
    OK(try_read(zk, at("mine")));
    OK(try_create_with(zk, at("theirs"), ZOO_PERM_ALL, "ip", "10.1.2.3"));
    EQUAL(try_read(zk, at("theirs")), ZNOAUTH);
}

static void superuser(void) {
    OK(try_create_with(zk, at("a"), ZOO_PERM_ALL, "ip", "10.1.2.3"));
    EQUAL(try_read(client_as("super:guess"), at("a")), ZNOAUTH);
    OK(try_read(client_as("super:secret"), at("a")));
}

static void each_permission(void) {
    zhandle_t *superuser = client_as("super:secret");
    node("a", "");
    node("a/child", "");
    int all[] = {ZOO_PERM_READ, ZOO_PERM_WRITE, ZOO_PERM_CREATE, ZOO_PERM_DELETE};
    for (int n = 0; n < 4; n++) {
        for (int granted = 0; granted < 2; granted++) {
            struct ACL acl = {.perms = granted ? all[n] : ZOO_PERM_ALL & ~all[n], .id = ZOO_ANYONE_ID_UNSAFE};
            OK(zoo_set_acl(superuser, at("a"), -1, &(struct ACL_vector){1, &acl}));
            int code = all[n] == ZOO_PERM_READ ? try_read(zk, at("a"))
                : all[n] == ZOO_PERM_WRITE ? zoo_set(zk, at("a"), "", 0, -1)
                : all[n] == ZOO_PERM_CREATE ? zoo_create(zk, at("a/n"), "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0)
                                            : zoo_delete(zk, at("a/child"), -1);
            EQUAL(code, granted ? ZOK : ZNOAUTH);
        }
    }
}

static void unknown_scheme(void) {
    struct events *events = events_new();
    zhandle_t *handle = client_at(server, 10000, events);
    OK(zoo_add_auth(handle, "nonsense", "x", 1, NULL, NULL));
    AWAIT("the refusal", state_count(events, ZOO_AUTH_FAILED_STATE));
    EQUAL(zoo_state(handle), ZOO_AUTH_FAILED_STATE);
}

static void identity_survives_reconnection(void) {
    struct proxy *proxy = proxy_start();
    struct events *events = events_new();
    zhandle_t *alice = client_at(proxy_address(proxy), 10000, events);
    add_auth(alice, "alice:wonder");
    OK(zoo_create(alice, at("hers"), "x", 1, &ZOO_CREATOR_ALL_ACL, ZOO_PERSISTENT, NULL, 0));
    proxy_shut(proxy);
    AWAIT("the loss", state_count(events, ZOO_CONNECTING_STATE) || state_count(events, ZOO_NOTCONNECTED_STATE));
    proxy_open(proxy);
    AWAIT("reconnection", state_count(events, ZOO_CONNECTED_STATE) == 2);
    OK(try_read(alice, at("hers")));
}

const struct test acl_tests[] = {
    {"set_and_get", set_and_get},
    {"versions", versions},
    {"invalid_lists", invalid_lists},
    {"digest", digest},
    {"addresses", addresses},
    {"superuser", superuser},
    {"each_permission", each_permission},
    {"unknown_scheme", unknown_scheme},
    {"identity_survives_reconnection", identity_survives_reconnection},
    {NULL, NULL},
};
