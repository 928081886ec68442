/* Asynchronous calls: every kind, and many in flight. */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

enum { MANY = 3000 };

/* Filled by the client's completion thread, which keeps the order of replies. */
static volatile int answered;
static int order[2 * MANY + 16];
static int codes[2 * MANY + 16];
static char text[PATH_MAX_LENGTH];
static struct Stat last_stat;

static void note(int code, const void *number) {
    codes[answered] = code;
    order[answered] = (int)(intptr_t)number;
    answered++;
}

static void on_void(int code, const void *number) {
    note(code, number);
}

static void on_string(int code, const char *value, const void *number) {
    if (code == ZOK) snprintf(text, sizeof text, "%s", value);
    note(code, number);
}

static void on_string_stat(int code, const char *value, const struct Stat *stat, const void *number) {
    if (code == ZOK) last_stat = *stat;
    on_string(code, value, number);
}

static void on_stat(int code, const struct Stat *stat, const void *number) {
    if (code == ZOK) last_stat = *stat;
    note(code, number);
}

static void on_data(int code, const char *value, int length, const struct Stat *stat, const void *number) {
    if (code == ZOK) snprintf(text, sizeof text, "%.*s", length < 0 ? 0 : length, value ? value : "");
    note(code, number);
}

static void on_strings(int code, const struct String_vector *names, const void *number) {
    if (code == ZOK) snprintf(text, sizeof text, "%d", names->count);
    note(code, number);
}

static void on_strings_stat(int code, const struct String_vector *names, const struct Stat *stat, const void *number) {
    if (code == ZOK) last_stat = *stat;
    on_strings(code, names, number);
}

static void on_acl(int code, struct ACL_vector *list, struct Stat *stat, const void *number) {
    if (code == ZOK) snprintf(text, sizeof text, "%s", list->data[0].id.scheme);
    note(code, number);
}

/* Waits for one more answer, which must carry this code. */
static void answer(int expected) {
    static int seen;
    AWAIT("an answer", answered > seen);
    EQUAL(codes[seen], expected);
    seen++;
}

static void every_kind(void) {
    OK(zoo_acreate(zk, at("a"), "x", 1, &ZOO_OPEN_ACL_UNSAFE, 0, on_string, NULL));
    answer(ZOK);
    SAME(text, at("a"));
    OK(zoo_acreate2(zk, at("e"), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, on_string_stat, NULL));
    answer(ZOK);
    EQUAL(last_stat.ephemeralOwner, zoo_client_id(zk)->client_id);
    OK(zoo_acreate_ttl(zk, at("t"), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_WITH_TTL, 3600000, on_string, NULL));
    answer(ZOK);
    OK(zoo_acreate(zk, at("a"), "x", 1, &ZOO_OPEN_ACL_UNSAFE, 0, on_string, NULL));
    answer(ZNODEEXISTS);
    OK(zoo_aexists(zk, at("a"), 0, on_stat, NULL));
    answer(ZOK);
    OK(zoo_aexists(zk, at("none"), 0, on_stat, NULL));
    answer(ZNONODE);
    OK(zoo_aget(zk, at("a"), 0, on_data, NULL));
    answer(ZOK);
    SAME(text, "x");
    OK(zoo_aset(zk, at("a"), "y", 1, 0, on_stat, NULL));
    answer(ZOK);
    EQUAL(last_stat.version, 1);
    OK(zoo_aget_children(zk, root, 0, on_strings, NULL));
    answer(ZOK);
    SAME(text, "3");
    OK(zoo_aget_children2(zk, root, 0, on_strings_stat, NULL));
    answer(ZOK);
    EQUAL(last_stat.numChildren, 3);
    OK(zoo_aget_acl(zk, at("a"), on_acl, NULL));
    answer(ZOK);
    SAME(text, "world");
    OK(zoo_aset_acl(zk, at("a"), 0, (struct ACL_vector *)&ZOO_OPEN_ACL_UNSAFE, on_void, NULL));
    answer(ZOK);
    OK(zoo_async(zk, root, on_string, NULL));
    answer(ZOK);
    SAME(text, root);
    OK(zoo_adelete(zk, at("a"), 9, on_void, NULL));
    answer(ZBADVERSION);
    OK(zoo_adelete(zk, at("a"), -1, on_void, NULL));
    answer(ZOK);
    OK(zoo_agetconfig(zk, 0, on_data, NULL));
    answer(ZOK);
    zoo_op_t op;
    zoo_op_result_t result;
    zoo_check_op_init(&op, root, -1);
    OK(zoo_amulti(zk, 1, &op, &result, on_void, NULL));
    answer(ZOK);
}

static void replies_keep_their_order(void) {
    const char *path = strdup(node("a", ""));
    char value[16];
    for (int n = 0; n < MANY; n++) {
        snprintf(value, sizeof value, "%d", n);
        OK(zoo_aset(zk, path, value, (int)strlen(value), n, on_stat, (void *)(intptr_t)(2 * n)));
        OK(zoo_aget(zk, n % 2 ? path : at("none"), 0, on_data, (void *)(intptr_t)(2 * n + 1)));
    }
    AWAIT("all replies", answered == 2 * MANY);
    for (int n = 0; n < 2 * MANY; n++) {
        EQUAL(order[n], n);
        EQUAL(codes[n], n % 4 == 1 ? ZNONODE : ZOK);
    }
    snprintf(value, sizeof value, "%d", MANY - 1);
    SAME(text, value);
}

static void big_values_in_flight(void) {
    enum { SIZE = 500000, COUNT = 20 };
    char *value = calloc(1, SIZE), name[16];
    for (int n = 0; n < COUNT; n++) {
        snprintf(name, sizeof name, "n%d", n);
        memset(value, 'a' + n, SIZE);
        OK(zoo_acreate(zk, at(name), value, SIZE, &ZOO_OPEN_ACL_UNSAFE, 0, on_string, NULL));
    }
    AWAIT("all replies", answered == COUNT);
    for (int n = 0; n < COUNT; n++) OK(codes[n]);
    EQUAL(children_count(root), COUNT);
}

const struct test async_tests[] = {
    {"every_kind", every_kind},
    {"replies_keep_their_order", replies_keep_their_order},
    {"big_values_in_flight", big_values_in_flight},
    {NULL, NULL},
};
