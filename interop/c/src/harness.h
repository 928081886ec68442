/* What every test gets. A test runs in a process of its own: it fails by leaving it. */
#ifndef HARNESS_H
#define HARNESS_H

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <zookeeper/zookeeper.h>

#define PATH_MAX_LENGTH 512
#define EVENTS_MAX 4096

struct test {
    const char *name;
    void (*body)(void);
};

/* Ends with an entry without a name. */
extern const struct test node_tests[], transaction_tests[], acl_tests[], watch_tests[], async_tests[],
    recipe_tests[], session_tests[], outage_tests[], death_tests[];

/* This test's client, and its empty node. */
extern zhandle_t *zk;
extern char root[PATH_MAX_LENGTH];
/* One server, and all that clients are given. */
extern const char *server, *servers;

__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);
__attribute__((noreturn)) void skip(const char *reason);
void skip_without(const char *extra, const char *reason);

#define CHECK(condition) \
    do { \
        if (!(condition)) fail("%s:%d: not true: %s", __FILE__, __LINE__, #condition); \
    } while (0)

#define EQUAL(actual, expected) \
    do { \
        long long actual_ = (long long)(actual), expected_ = (long long)(expected); \
        if (actual_ != expected_) \
            fail("%s:%d: %s is %lld, expected %lld", __FILE__, __LINE__, #actual, actual_, expected_); \
    } while (0)

#define OK(call) EQUAL(call, ZOK)

#define SAME(actual, expected) \
    do { \
        if (strcmp(actual, expected) != 0) \
            fail("%s:%d: %s is `%s`, expected `%s`", __FILE__, __LINE__, #actual, actual, expected); \
    } while (0)

#define AWAIT(what, condition) \
    for (long long deadline_ = now_ms() + 15000; !(condition); pause_briefly()) \
        if (now_ms() > deadline_) fail("%s:%d: waited 15 s for %s", __FILE__, __LINE__, what)

long long now_ms(void);
void pause_briefly(void);

/* What a watcher was told: changes as `TYPE PATH`, states by number; one a client or one a watch. */
struct events {
    pthread_mutex_t lock;
    int changes_count;
    char *changes[EVENTS_MAX];
    int states_count;
    int states[EVENTS_MAX];
};

struct events *events_new(void);
void events_told(zhandle_t *handle, int type, int state, const char *path, void *context);
/* Waits for change number `n` (from 0), which must be this. */
void expect_change(struct events *events, int n, int type, const char *path);
int changes_so_far(struct events *events);
/* How often this state was told. */
int state_count(struct events *events, int state);

/* Connected, with a session of its own. Password is that of a session to resume, or null. */
zhandle_t *client(void);
zhandle_t *client_at(const char *address, int timeout_ms, struct events *events);
zhandle_t *client_as(const char *user);
void add_auth(zhandle_t *handle, const char *user);

/* A path below the test's node; a few of them live at a time. */
const char *at(const char *name);
const char *node(const char *name, const char *data);
const char *create(zhandle_t *handle, const char *path, const char *data, int mode);
/* A node, whatever happens; one that is there already is the one of the first try. */
void make(const char *path, const char *data, int mode);
bool gone(const char *path);
/* The node's data as text; null data is `(null)`. */
const char *data_of(const char *path);
struct Stat stat_of(const char *path);
int children_count(const char *path);

void control(const char *verb);
void four_letter_word(const char *word, char *answer, size_t size);

/* A door between a client and the server that can be shut. */
struct proxy;
struct proxy *proxy_start(void);
const char *proxy_address(struct proxy *proxy);
void proxy_shut(struct proxy *proxy);
void proxy_open(struct proxy *proxy);

/* Starts this program again to hold a session with an ephemeral at `path`; its pid, and its output. */
int held_start(const char *path, FILE **output);
void held_main(const char *path);

#endif
