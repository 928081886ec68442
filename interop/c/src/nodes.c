/* Single operations on nodes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "harness.h"

static int try_create(const char *path, int mode) {
    return zoo_create(zk, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, mode, NULL, 0);
}

static void create_and_stat(void) {
    SAME(node("a", "four"), at("a"));
    struct Stat stat = stat_of(at("a"));
    EQUAL(stat.dataLength, 4);
    EQUAL(stat.version + stat.cversion + stat.aversion + stat.numChildren, 0);
    EQUAL(stat.mzxid, stat.czxid);
    EQUAL(stat.pzxid, stat.czxid);
    EQUAL(stat.mtime, stat.ctime);
    CHECK(llabs(stat.ctime / 1000 - time(NULL)) < 60);
    SAME(data_of(at("a")), "four");
}

static void create_with_stat(void) {
    struct Stat stat;
    char path[PATH_MAX_LENGTH];
    OK(zoo_create2(zk, at("a"), "x", 1, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, path, sizeof path, &stat));
    SAME(path, at("a"));
    EQUAL(stat.ephemeralOwner, zoo_client_id(zk)->client_id);
    EQUAL(stat.czxid, stat_of(path).czxid);
}

static void create_refused(void) {
    node("a", "");
    EQUAL(try_create(at("a"), ZOO_PERSISTENT), ZNODEEXISTS);
    EQUAL(try_create(at("none/a"), ZOO_PERSISTENT), ZNONODE);
    EQUAL(try_create(at("bad/"), ZOO_PERSISTENT), ZBADARGUMENTS);
    OK(try_create(at("e"), ZOO_EPHEMERAL));
    EQUAL(try_create(at("e/a"), ZOO_PERSISTENT), ZNOCHILDRENFOREPHEMERALS);
}

static void sequences(void) {
    SAME(create(zk, at("n-"), "", ZOO_PERSISTENT_SEQUENTIAL), at("n-0000000000"));
    SAME(create(zk, at("n-"), "", ZOO_EPHEMERAL_SEQUENTIAL), at("n-0000000001"));
    node("plain", "");
    OK(zoo_delete(zk, at("plain"), -1));
    SAME(create(zk, at(""), "", ZOO_PERSISTENT_SEQUENTIAL), at("0000000003"));
}

static void containers_and_ttls(void) {
    OK(try_create(at("c"), ZOO_CONTAINER));
    EQUAL(stat_of(at("c")).ephemeralOwner, 0);
    char path[PATH_MAX_LENGTH];
    OK(zoo_create_ttl(zk, at("t"), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_WITH_TTL, 3600000, path, sizeof path));
    EQUAL(stat_of(at("t")).ephemeralOwner, 0);
    struct Stat stat;
    OK(zoo_create2_ttl(zk, at("t-"), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_SEQUENTIAL_WITH_TTL, 3600000, path,
                       sizeof path, &stat));
    SAME(path, at("t-0000000002"));
}

static void containers_and_ttls_end(void) {
    skip_without("containerCheck", "the server looks for containers once a minute");
    OK(try_create(at("c"), ZOO_CONTAINER));
    node("c/child", "");
    OK(zoo_delete(zk, at("c/child"), -1));
    OK(zoo_create_ttl(zk, at("t"), "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT_WITH_TTL, 200, NULL, 0));
    AWAIT("the container's end", gone(at("c")));
    AWAIT("the TTL node's end", gone(at("t")));
}

static void ephemeral_leaves_with_its_session(void) {
    zhandle_t *other = client();
    create(other, at("e"), "", ZOO_EPHEMERAL);
    EQUAL(stat_of(at("e")).ephemeralOwner, zoo_client_id(other)->client_id);
    OK(zookeeper_close(other));
    CHECK(gone(at("e")));
}

static void set(void) {
    node("a", "old");
    struct Stat stat;
    OK(zoo_set2(zk, at("a"), "newer", 5, 0, &stat));
    EQUAL(stat.version, 1);
    CHECK(stat.mzxid > stat.czxid);
    EQUAL(zoo_set(zk, at("a"), "", 0, 0), ZBADVERSION);
    OK(zoo_set(zk, at("a"), "newest", 6, -1));
    EQUAL(zoo_set(zk, at("none"), "", 0, -1), ZNONODE);
    SAME(data_of(at("a")), "newest");
}

static void null_is_not_empty(void) {
    node("empty", "");
    node("null", NULL);
    SAME(data_of(at("empty")), "");
    SAME(data_of(at("null")), "(null)");
    OK(zoo_set(zk, at("empty"), NULL, -1, -1));
    OK(zoo_set(zk, at("null"), "", 0, -1));
    SAME(data_of(at("empty")), "(null)");
    SAME(data_of(at("null")), "");
}

static void delete(void) {
    node("a", "");
    node("a/b", "");
    EQUAL(zoo_delete(zk, at("a"), -1), ZNOTEMPTY);
    EQUAL(zoo_delete(zk, at("a/b"), 4), ZBADVERSION);
    OK(zoo_delete(zk, at("a/b"), 0));
    OK(zoo_delete(zk, at("a"), -1));
    EQUAL(zoo_delete(zk, at("a"), -1), ZNONODE);
    EQUAL(zoo_delete(zk, "/zookeeper", -1), ZBADARGUMENTS);
    EQUAL(zoo_delete(zk, "/zookeeper/config", -1), ZBADARGUMENTS);
}

static void reads_of_nothing(void) {
    struct Stat stat;
    char buffer[8];
    int length = sizeof buffer;
    struct String_vector children;
    struct ACL_vector acl;
    EQUAL(zoo_exists(zk, at("none"), 0, &stat), ZNONODE);
    EQUAL(zoo_get(zk, at("none"), 0, buffer, &length, &stat), ZNONODE);
    EQUAL(zoo_get_children(zk, at("none"), 0, &children), ZNONODE);
    EQUAL(zoo_get_children2(zk, at("none"), 0, &children, &stat), ZNONODE);
    EQUAL(zoo_get_acl(zk, at("none"), &acl, &stat), ZNONODE);
}

static void children(void) {
    node("b", "");
    node("a", "");
    node("a/deeper", "");
    struct String_vector children;
    struct Stat stat;
    OK(zoo_get_children2(zk, root, 0, &children, &stat));
    EQUAL(children.count, 2);
    EQUAL(stat.numChildren, 2);
    EQUAL(stat.cversion, 2);
    CHECK(strcmp(children.data[0], children.data[1]) != 0);
    deallocate_String_vector(&children);
    OK(zoo_delete(zk, at("b"), -1));
    EQUAL(stat_of(root).cversion, 3);
    EQUAL(children_count(root), 1);
}

static void big_value(void) {
    int size = 1000000;
    char *value = malloc(size), *read = malloc(size);
    for (int n = 0; n < size; n++) value[n] = (char)(n * 31);
    OK(zoo_create(zk, at("big"), value, size, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0));
    int length = size;
    OK(zoo_get(zk, at("big"), 0, read, &length, NULL));
    EQUAL(length, size);
    OK(memcmp(read, value, size));
    length = 10;
    struct Stat stat;
    OK(zoo_get(zk, at("big"), 0, read, &length, &stat));
    EQUAL(length, 10);
    EQUAL(stat.dataLength, size);
}

static void unicode_names(void) {
    const char *names[] = {"käse", "中文", "a b", "%2F"};
    for (int n = 0; n < 4; n++) SAME(data_of(node(names[n], names[n])), names[n]);
    EQUAL(children_count(root), 4);
}

static void chroot_is_the_root(void) {
    char address[PATH_MAX_LENGTH];
    snprintf(address, sizeof address, "%s%.400s", server, root);
    zhandle_t *inside = client_at(address, 10000, events_new());
    SAME(create(inside, "/a", "x", ZOO_PERSISTENT), "/a");
    SAME(create(inside, "/n-", "", ZOO_PERSISTENT_SEQUENTIAL), "/n-0000000001");
    SAME(data_of(at("a")), "x");
    OK(zookeeper_close(inside));
}

static void configuration(void) {
    char buffer[4096];
    int length = sizeof buffer;
    struct Stat stat;
    OK(zoo_getconfig(zk, 0, buffer, &length, &stat));
    EQUAL(length < 0 ? 0 : length, stat.dataLength);
    length = sizeof buffer;
    CHECK(zoo_reconfig(zk, "server.9=127.0.0.1:1:2;3", NULL, NULL, -1, buffer, &length, &stat) != ZOK);
}

static void four_letter_words(void) {
    char answer[65536], session[40];
    four_letter_word("ruok", answer, sizeof answer);
    SAME(answer, "imok");
    four_letter_word("srvr", answer, sizeof answer);
    CHECK(strstr(answer, "\nMode: "));
    four_letter_word("cons", answer, sizeof answer);
    snprintf(session, sizeof session, "sid=0x%llx,", (long long)zoo_client_id(zk)->client_id);
    CHECK(strstr(answer, session));
}

const struct test node_tests[] = {
    {"create_and_stat", create_and_stat},
    {"create_with_stat", create_with_stat},
    {"create_refused", create_refused},
    {"sequences", sequences},
    {"containers_and_ttls", containers_and_ttls},
    {"containers_and_ttls_end", containers_and_ttls_end},
    {"ephemeral_leaves_with_its_session", ephemeral_leaves_with_its_session},
    {"set", set},
    {"null_is_not_empty", null_is_not_empty},
    {"delete", delete},
    {"reads_of_nothing", reads_of_nothing},
    {"children", children},
    {"big_value", big_value},
    {"unicode_names", unicode_names},
    {"chroot_is_the_root", chroot_is_the_root},
    {"configuration", configuration},
    {"four_letter_words", four_letter_words},
    {NULL, NULL},
};
