/* Members of the ensemble are killed one after the other and come back: what a client was told stays true. */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

/* Connections that are lost under each test. */
enum { MOVES = 2, SECONDS_MAX = 30 };

static int moves(void) {
    return state_count((struct events *)zoo_get_context(zk), ZOO_CONNECTING_STATE);
}

static bool lost(int code) {
    return code == ZCONNECTIONLOSS || code == ZOPERATIONTIMEOUT;
}

/* Asks again what may be asked twice. */
static struct Stat stat_through(const char *path) {
    struct Stat stat;
    for (int code; (code = zoo_exists(zk, path, 0, &stat)) != ZOK;) CHECK(lost(code));
    return stat;
}

static int value_of(const char *path) {
    char data[16];
    int length, code;
    do length = sizeof data - 1, code = zoo_get(zk, path, 0, data, &length, NULL);
    while (lost(code));
    OK(code);
    data[length] = 0;
    return atoi(data);
}

/* Writes once whatever happens: what a lost connection leaves unknown, the version tells. */
static void write_once(zhandle_t *handle, const char *path, int version) {
    char data[16];
    int length = snprintf(data, sizeof data, "%d", version + 1);
    for (int code; (code = zoo_set(handle, path, data, length, version)) != ZOK;) {
        CHECK(lost(code) || code == ZBADVERSION);
        struct Stat stat = stat_through(path);
        if (stat.version == version + 1) break;
        EQUAL(stat.version, version);
    }
    EQUAL(value_of(path), version + 1);
}

static void session_ephemerals_and_writes_stay(void) {
    long long session = zoo_client_id(zk)->client_id, deadline = now_ms() + SECONDS_MAX * 1000;
    char path[PATH_MAX_LENGTH], ephemeral[PATH_MAX_LENGTH];
    snprintf(path, sizeof path, "%s", at("a"));
    make(path, "0", ZOO_PERSISTENT);
    snprintf(ephemeral, sizeof ephemeral, "%s", at("e"));
    make(ephemeral, "", ZOO_EPHEMERAL);
    for (int version = 0; moves() < MOVES || version < 100; version++) {
        CHECK(now_ms() < deadline);
        write_once(zk, path, version);
        EQUAL(stat_through(ephemeral).ephemeralOwner, session);
        EQUAL(stat_through(path).version, version + 1);
    }
    EQUAL(zoo_client_id(zk)->client_id, session);
}

enum { NODES_MAX = 100000 };

static void sequences_have_no_doubles_and_no_losses(void) {
    static bool made[NODES_MAX];
    long long deadline = now_ms() + SECONDS_MAX * 1000;
    int count = 0;
    while (moves() < MOVES || count < 200) {
        CHECK(now_ms() < deadline);
        char path[PATH_MAX_LENGTH];
        int code = zoo_create(zk, at("n-"), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_SEQUENTIAL, path, sizeof path);
        CHECK(code == ZOK || lost(code));
        if (code != ZOK) continue;
        int number = atoi(path + strlen(path) - 10);
        CHECK(number < NODES_MAX && !made[number]);
        made[number] = true;
        count++;
    }
    struct String_vector children;
    for (int code; (code = zoo_get_children(zk, root, 0, &children)) != ZOK;) CHECK(lost(code));
    for (int n = 0; n < children.count; n++) made[atoi(children.data[n] + 2)] = false;
    for (int n = 0; n < NODES_MAX; n++) CHECK(!made[n]);
}

static void watches_hear_of_each_change(void) {
    zhandle_t *other = client();
    char path[PATH_MAX_LENGTH];
    snprintf(path, sizeof path, "%s", at("a"));
    make(path, "0", ZOO_PERSISTENT);
    long long deadline = now_ms() + SECONDS_MAX * 1000;
    for (int version = 0; moves() < MOVES || version < 50; version++) {
        CHECK(now_ms() < deadline);
        struct events *events = events_new();
        struct Stat stat = {.version = -1};
        AWAIT("what was written", zoo_wexists(zk, path, events_told, events, &stat) == ZOK && stat.version == version);
        write_once(other, path, version);
        AWAIT("the news", changes_so_far(events) > 0);
    }
}

const struct test death_tests[] = {
    {"session_ephemerals_and_writes_stay", session_ephemerals_and_writes_stay},
    {"sequences_have_no_doubles_and_no_losses", sequences_have_no_doubles_and_no_losses},
    {"watches_hear_of_each_change", watches_hear_of_each_change},
    {NULL, NULL},
};
