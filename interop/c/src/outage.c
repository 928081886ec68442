/* The server dies, stops, hangs and comes back. */
#include <stdio.h>

#include "harness.h"

static void restart(const char *how) {
    struct events *events = (struct events *)zoo_get_context(zk);
    int before = state_count(events, ZOO_CONNECTED_STATE);
    control(how);
    AWAIT("the loss", zoo_state(zk) != ZOO_CONNECTED_STATE);
    control("start");
    AWAIT("reconnection", state_count(events, ZOO_CONNECTED_STATE) > before);
    EQUAL(state_count(events, ZOO_EXPIRED_SESSION_STATE), 0);
}

static void same_stat(struct Stat a, struct Stat b) {
    EQUAL(a.czxid, b.czxid);
    EQUAL(a.mzxid, b.mzxid);
    EQUAL(a.pzxid, b.pzxid);
    EQUAL(a.ctime, b.ctime);
    EQUAL(a.mtime, b.mtime);
    EQUAL(a.version, b.version);
    EQUAL(a.ephemeralOwner, b.ephemeralOwner);
}

static void keeps_everything(const char *how) {
    node("plain", "old");
    OK(zoo_set(zk, at("plain"), "new", 3, 0));
    create(zk, at("e"), "x", ZOO_EPHEMERAL);
    create(zk, at("n-"), "", ZOO_PERSISTENT_SEQUENTIAL);
    struct Stat plain = stat_of(at("plain")), ephemeral = stat_of(at("e"));
    restart(how);
    same_stat(stat_of(at("plain")), plain);
    same_stat(stat_of(at("e")), ephemeral);
    SAME(data_of(at("plain")), "new");
    SAME(create(zk, at("n-"), "", ZOO_PERSISTENT_SEQUENTIAL), at("n-0000000003"));
}

static void kill_keeps_everything(void) {
    keeps_everything("kill");
}

static void stop_keeps_everything(void) {
    keeps_everything("stop");
}

enum { WRITES = 4000 };
static volatile int answered, acknowledged_count;
static bool acknowledged[WRITES];

static void on_created(int code, const char *path, const void *number) {
    answered++;
    if (code == ZOK) {
        acknowledged[(intptr_t)number] = true;
        acknowledged_count++;
    }
}

static void kill_loses_nothing_acknowledged(void) {
    char name[16];
    for (int n = 0; n < WRITES; n++) {
        snprintf(name, sizeof name, "n%d", n);
        OK(zoo_acreate(zk, at(name), name, 3, &ZOO_OPEN_ACL_UNSAFE, 0, on_created, (void *)(intptr_t)n));
    }
    AWAIT("some acknowledgements", acknowledged_count > 300);
    control("kill");
    AWAIT("all answers", answered == WRITES);
    control("start");
    AWAIT("reconnection", zoo_state(zk) == ZOO_CONNECTED_STATE);
    int present = children_count(root);
    for (int n = 0; n < WRITES; n++) {
        snprintf(name, sizeof name, "n%d", n);
        CHECK(!acknowledged[n] || n < present);
    }
    snprintf(name, sizeof name, "n%d", present - 1);
    CHECK(!gone(at(name)));
}

static void watches_come_back(void) {
    struct events *events = events_new();
    char buffer[8];
    int length = sizeof buffer;
    OK(zoo_wget(zk, node("a", ""), events_told, events, buffer, &length, NULL));
    restart("kill");
    OK(zoo_set(client(), at("a"), "x", 1, -1));
    expect_change(events, 0, ZOO_CHANGED_EVENT, at("a"));
}

static void absent_sessions_expire(void) {
    struct proxy *proxy = proxy_start();
    create(client_at(proxy_address(proxy), 1000, events_new()), at("e"), "", ZOO_EPHEMERAL);
    proxy_shut(proxy);
    restart("kill");
    AWAIT("the ephemeral's end", gone(at("e")));
}

static void a_pause_is_survived(void) {
    zhandle_t *handle = client_at(server, 1500, events_new());
    control("pause");
    AWAIT("the loss", zoo_state(handle) != ZOO_CONNECTED_STATE);
    control("resume");
    AWAIT("an answer", zoo_exists(client(), root, 0, NULL) == ZOK);
}

const struct test outage_tests[] = {
    {"kill_keeps_everything", kill_keeps_everything},
    {"stop_keeps_everything", stop_keeps_everything},
    {"kill_loses_nothing_acknowledged", kill_loses_nothing_acknowledged},
    {"watches_come_back", watches_come_back},
    {"absent_sessions_expire", absent_sessions_expire},
    {"a_pause_is_survived", a_pause_is_survived},
    {NULL, NULL},
};
