/* Recipes over the plain calls: a lock, which is an election, a double barrier, a queue, a counter. */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

static int by_number(const void *a, const void *b) {
    const char *left = *(char *const *)a, *right = *(char *const *)b;
    return strcmp(left + strlen(left) - 10, right + strlen(right) - 10);
}

/* The children in the order of their numbers. */
static struct String_vector sorted_children(zhandle_t *handle, const char *path) {
    struct String_vector children;
    OK(zoo_get_children(handle, path, 0, &children));
    qsort(children.data, children.count, sizeof children.data[0], by_number);
    return children;
}

/* Waits behind whoever came before; the lock's node, to be deleted for releasing it. */
static char *acquire(zhandle_t *handle, const char *path) {
    char prefix[PATH_MAX_LENGTH], mine[PATH_MAX_LENGTH];
    snprintf(prefix, sizeof prefix, "%.400s/lock-", path);
    OK(zoo_create(handle, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, mine, sizeof mine));
    for (;;) {
        struct String_vector children = sorted_children(handle, path);
        int place = 0;
        while (strcmp(children.data[place], strrchr(mine, '/') + 1) != 0) place++;
        char before[PATH_MAX_LENGTH] = "";
        if (place > 0) snprintf(before, sizeof before, "%.400s/%s", path, children.data[place - 1]);
        deallocate_String_vector(&children);
        if (!*before) return strdup(mine);
        struct events *events = events_new();
        if (zoo_wexists(handle, before, events_told, events, NULL) == ZOK)
            AWAIT("the one before", changes_so_far(events));
    }
}

static volatile int inside, overlaps, total;

static void *contend(void *argument) {
    zhandle_t *handle = argument;
    for (int n = 0; n < 8; n++) {
        char *lock = acquire(handle, root);
        if (__sync_add_and_fetch(&inside, 1) > 1) overlaps++;
        total++;
        __sync_sub_and_fetch(&inside, 1);
        OK(zoo_delete(handle, lock, -1));
        free(lock);
    }
    return NULL;
}

static void lock_excludes(void) {
    pthread_t threads[5];
    for (int n = 0; n < 5; n++) OK(pthread_create(&threads[n], NULL, contend, client()));
    for (int n = 0; n < 5; n++) OK(pthread_join(threads[n], NULL));
    EQUAL(total, 40);
    EQUAL(overlaps, 0);
}

static volatile bool elected;

static void *stand(void *argument) {
    acquire(argument, root);
    elected = true;
    return NULL;
}

static void election_survives_its_leader(void) {
    zhandle_t *leader = client();
    acquire(leader, root);
    pthread_t heir;
    OK(pthread_create(&heir, NULL, stand, client()));
    AWAIT("the heir's candidacy", children_count(root) == 2);
    CHECK(!elected);
    OK(zookeeper_close(leader));
    OK(pthread_join(heir, NULL));
    CHECK(elected);
}

static void *enter(void *argument) {
    zhandle_t *handle = argument;
    struct events *ready = events_new();
    EQUAL(zoo_wexists(handle, at("ready"), events_told, ready, NULL), ZNONODE);
    char prefix[PATH_MAX_LENGTH];
    snprintf(prefix, sizeof prefix, "%.400s/members/m-", root);
    create(handle, prefix, "", ZOO_EPHEMERAL_SEQUENTIAL);
    struct String_vector children;
    snprintf(prefix, sizeof prefix, "%.400s/members", root);
    OK(zoo_get_children(handle, prefix, 0, &children));
    if (children.count == 3) create(handle, at("ready"), "", ZOO_EPHEMERAL);
    AWAIT("the barrier", changes_so_far(ready));
    __sync_add_and_fetch(&total, 1);
    return NULL;
}

static void double_barrier(void) {
    node("members", "");
    pthread_t threads[3];
    for (int n = 0; n < 3; n++) {
        EQUAL(total, 0);
        OK(pthread_create(&threads[n], NULL, enter, client()));
        AWAIT("the member", children_count(at("members")) > n);
    }
    for (int n = 0; n < 3; n++) OK(pthread_join(threads[n], NULL));
    EQUAL(total, 3);
}

static void *take_all(void *argument) {
    zhandle_t *handle = argument;
    for (bool some = true; some;) {
        struct String_vector children = sorted_children(handle, root);
        some = children.count > 0;
        for (int n = 0; n < children.count; n++) {
            int code = zoo_delete(handle, at(children.data[n]), -1);
            CHECK(code == ZOK || code == ZNONODE);
            if (code == ZOK) __sync_add_and_fetch(&total, 1);
        }
        deallocate_String_vector(&children);
    }
    return NULL;
}

static void queue_gives_each_once(void) {
    for (int n = 0; n < 100; n++) create(zk, at("q-"), "", ZOO_PERSISTENT_SEQUENTIAL);
    pthread_t threads[4];
    for (int n = 0; n < 4; n++) OK(pthread_create(&threads[n], NULL, take_all, client()));
    for (int n = 0; n < 4; n++) OK(pthread_join(threads[n], NULL));
    EQUAL(total, 100);
}

static void *count_up(void *argument) {
    zhandle_t *handle = argument;
    for (int done = 0; done < 20;) {
        char value[16];
        int length = sizeof value - 1;
        struct Stat stat;
        OK(zoo_get(handle, root, 0, value, &length, &stat));
        value[length] = 0;
        length = snprintf(value, sizeof value, "%d", atoi(value) + 1);
        int code = zoo_set(handle, root, value, length, stat.version);
        CHECK(code == ZOK || code == ZBADVERSION);
        done += code == ZOK;
    }
    return NULL;
}

static void counter_adds_up(void) {
    pthread_t threads[5];
    for (int n = 0; n < 5; n++) OK(pthread_create(&threads[n], NULL, count_up, client()));
    for (int n = 0; n < 5; n++) OK(pthread_join(threads[n], NULL));
    SAME(data_of(root), "100");
}

const struct test recipe_tests[] = {
    {"lock_excludes", lock_excludes},
    {"election_survives_its_leader", election_survives_its_leader},
    {"double_barrier", double_barrier},
    {"queue_gives_each_once", queue_gives_each_once},
    {"counter_adds_up", counter_adds_up},
    {NULL, NULL},
};
