/* zoo_multi: all or nothing, with exact results. */
#include "harness.h"

static void create_op(zoo_op_t *op, const char *path, int mode, char *buffer) {
    zoo_create_op_init(op, path, "new", 3, &ZOO_OPEN_ACL_UNSAFE, mode, buffer, buffer ? PATH_MAX_LENGTH : 0);
}

static void every_kind(void) {
    node("a", "old");
    zoo_op_t ops[5];
    zoo_op_result_t results[5];
    char created[PATH_MAX_LENGTH], numbered[PATH_MAX_LENGTH];
    struct Stat stat;
    create_op(&ops[0], at("b"), ZOO_PERSISTENT, created);
    zoo_check_op_init(&ops[1], at("a"), 0);
    zoo_set_op_init(&ops[2], at("a"), "newer", 5, 0, &stat);
    zoo_delete_op_init(&ops[3], at("b"), -1);
    create_op(&ops[4], at("n-"), ZOO_EPHEMERAL_SEQUENTIAL, numbered);
    OK(zoo_multi(zk, 5, ops, results));
    for (int n = 0; n < 5; n++) OK(results[n].err);
    SAME(created, at("b"));
    SAME(numbered, at("n-0000000002"));
    EQUAL(stat.version, 1);
    SAME(data_of(at("a")), "newer");
    EQUAL(stat_of(numbered).czxid, stat.mzxid);
}

static void failure_undoes_everything(void) {
    node("a", "old");
    zoo_op_t ops[4];
    zoo_op_result_t results[4];
    create_op(&ops[0], at("b"), ZOO_PERSISTENT, NULL);
    zoo_set_op_init(&ops[1], at("a"), "new", 3, -1, NULL);
    zoo_check_op_init(&ops[2], at("a"), 7);
    zoo_delete_op_init(&ops[3], at("a"), -1);
    EQUAL(zoo_multi(zk, 4, ops, results), ZBADVERSION);
    EQUAL(results[0].err, ZOK);
    EQUAL(results[1].err, ZOK);
    EQUAL(results[2].err, ZBADVERSION);
    EQUAL(results[3].err, ZRUNTIMEINCONSISTENCY);
    SAME(data_of(at("a")), "old");
    CHECK(gone(at("b")));
}

static void failures_by_kind(void) {
    node("a", "");
    node("a/b", "");
    zoo_op_t op;
    zoo_op_result_t result;
    create_op(&op, at("a"), ZOO_PERSISTENT, NULL);
    EQUAL(zoo_multi(zk, 1, &op, &result), ZNODEEXISTS);
    create_op(&op, at("none/a"), ZOO_PERSISTENT, NULL);
    EQUAL(zoo_multi(zk, 1, &op, &result), ZNONODE);
    zoo_delete_op_init(&op, at("a"), -1);
    EQUAL(zoo_multi(zk, 1, &op, &result), ZNOTEMPTY);
    zoo_set_op_init(&op, at("a"), "", 0, 5, NULL);
    EQUAL(zoo_multi(zk, 1, &op, &result), ZBADVERSION);
    zoo_check_op_init(&op, at("none"), 0);
    EQUAL(zoo_multi(zk, 1, &op, &result), ZNONODE);
}

static void failure_uses_no_sequence_number(void) {
    zoo_op_t ops[2];
    zoo_op_result_t results[2];
    for (int n = 0; n < 3; n++) {
        create_op(&ops[0], at("n-"), ZOO_PERSISTENT_SEQUENTIAL, NULL);
        zoo_check_op_init(&ops[1], at("none"), 0);
        EQUAL(zoo_multi(zk, 2, ops, results), ZNONODE);
    }
    SAME(create(zk, at("n-"), "", ZOO_PERSISTENT_SEQUENTIAL), at("n-0000000000"));
}

static void later_see_earlier(void) {
    zoo_op_t ops[4];
    zoo_op_result_t results[4];
    create_op(&ops[0], at("a"), ZOO_PERSISTENT, NULL);
    create_op(&ops[1], at("a/b"), ZOO_PERSISTENT, NULL);
    zoo_delete_op_init(&ops[2], at("a/b"), 0);
    zoo_delete_op_init(&ops[3], at("a"), 0);
    OK(zoo_multi(zk, 4, ops, results));
    EQUAL(children_count(root), 0);
}

const struct test transaction_tests[] = {
    {"every_kind", every_kind},
    {"failure_undoes_everything", failure_undoes_everything},
    {"failures_by_kind", failures_by_kind},
    {"failure_uses_no_sequence_number", failure_uses_no_sequence_number},
    {"later_see_earlier", later_see_earlier},
    {NULL, NULL},
};
