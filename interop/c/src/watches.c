/* One-shot watches, also across reconnection. This client has no persistent ones. */
#include <stdio.h>

#include "harness.h"

static void watch_data(zhandle_t *handle, const char *path, struct events *events) {
    char buffer[64];
    int length = sizeof buffer;
    OK(zoo_wget(handle, path, events_told, events, buffer, &length, NULL));
}

static void watch_exists(zhandle_t *handle, const char *path, struct events *events) {
    int code = zoo_wexists(handle, path, events_told, events, NULL);
    CHECK(code == ZOK || code == ZNONODE);
}

static void watch_children(zhandle_t *handle, const char *path, struct events *events) {
    struct String_vector children;
    OK(zoo_wget_children(handle, path, events_told, events, &children));
    deallocate_String_vector(&children);
}

static void data(void) {
    struct events *events = events_new();
    watch_data(zk, node("a", ""), events);
    OK(zoo_set(zk, at("a"), "x", 1, -1));
    expect_change(events, 0, ZOO_CHANGED_EVENT, at("a"));
    watch_data(zk, at("a"), events);
    OK(zoo_delete(zk, at("a"), -1));
    expect_change(events, 1, ZOO_DELETED_EVENT, at("a"));
}

static void exists(void) {
    struct events *events = events_new();
    watch_exists(zk, at("a"), events);
    node("a", "");
    expect_change(events, 0, ZOO_CREATED_EVENT, at("a"));
    watch_exists(zk, at("a"), events);
    OK(zoo_set(zk, at("a"), "x", 1, -1));
    expect_change(events, 1, ZOO_CHANGED_EVENT, at("a"));
}

static void children(void) {
    struct events *events = events_new();
    watch_children(zk, root, events);
    OK(zoo_set(zk, root, "x", 1, -1));
    node("a", "");
    expect_change(events, 0, ZOO_CHILD_EVENT, root);
    watch_children(zk, root, events);
    OK(zoo_delete(zk, at("a"), -1));
    expect_change(events, 1, ZOO_CHILD_EVENT, root);
    watch_children(zk, root, events);
    OK(zoo_delete(zk, root, -1));
    expect_change(events, 2, ZOO_DELETED_EVENT, root);
}

static void global_watcher(void) {
    struct events *events = (struct events *)zoo_get_context(zk);
    char buffer[8];
    int length = sizeof buffer;
    OK(zoo_get(zk, node("a", ""), 1, buffer, &length, NULL));
    OK(zoo_set(zk, at("a"), "x", 1, -1));
    expect_change(events, 0, ZOO_CHANGED_EVENT, at("a"));
}

static void fires_once(void) {
    struct events *first = events_new(), *second = events_new();
    watch_data(zk, node("a", ""), first);
    OK(zoo_set(zk, at("a"), "x", 1, -1));
    watch_data(zk, at("a"), second);
    OK(zoo_set(zk, at("a"), "y", 1, -1));
    expect_change(second, 0, ZOO_CHANGED_EVENT, at("a"));
    EQUAL(changes_so_far(first), 1);
}

static void others_changes(void) {
    struct events *events = events_new(), *parent = events_new();
    zhandle_t *other = client();
    watch_exists(zk, create(other, at("e"), "", ZOO_EPHEMERAL), events);
    watch_children(zk, root, parent);
    OK(zookeeper_close(other));
    expect_change(events, 0, ZOO_DELETED_EVENT, at("e"));
    expect_change(parent, 0, ZOO_CHILD_EVENT, root);
}

static void failed_get_leaves_none(void) {
    struct events *events = events_new(), *real = events_new();
    char buffer[8];
    int length = sizeof buffer;
    EQUAL(zoo_wget(zk, at("a"), events_told, events, buffer, &length, NULL), ZNONODE);
    watch_data(zk, node("a", ""), real);
    OK(zoo_set(zk, at("a"), "x", 1, -1));
    expect_change(real, 0, ZOO_CHANGED_EVENT, at("a"));
    EQUAL(changes_so_far(events), 0);
}

static void removed(void) {
    struct events *gone = events_new(), *kept = events_new();
    node("a", "");
    watch_data(zk, at("a"), gone);
    OK(zoo_remove_watches(zk, at("a"), ZWATCHTYPE_DATA, events_told, gone, 0));
    EQUAL(zoo_remove_watches(zk, at("a"), ZWATCHTYPE_DATA, events_told, gone, 0), ZNOWATCHER);
    watch_data(zk, at("a"), kept);
    OK(zoo_set(zk, at("a"), "x", 1, -1));
    expect_change(kept, 0, ZOO_CHANGED_EVENT, at("a"));
    for (int n = 0; n < changes_so_far(gone); n++) CHECK(gone->changes[n][0] != '3');
}

static void reconnection_tells_what_changed(void) {
    struct proxy *proxy = proxy_start();
    struct events *connection = events_new(), *set = events_new(), *deleted = events_new(), *created = events_new(),
                  *parent = events_new(), *same = events_new();
    zhandle_t *away = client_at(proxy_address(proxy), 10000, connection);
    watch_data(away, node("set", ""), set);
    watch_data(away, node("deleted", ""), deleted);
    watch_data(away, node("same", ""), same);
    watch_exists(away, at("created"), created);
    watch_children(away, node("parent", ""), parent);
    proxy_shut(proxy);
    AWAIT("the loss", zoo_state(away) != ZOO_CONNECTED_STATE);
    OK(zoo_set(zk, at("set"), "x", 1, -1));
    OK(zoo_delete(zk, at("deleted"), -1));
    node("created", "");
    node("parent/child", "");
    proxy_open(proxy);
    expect_change(set, 0, ZOO_CHANGED_EVENT, at("set"));
    expect_change(deleted, 0, ZOO_DELETED_EVENT, at("deleted"));
    expect_change(created, 0, ZOO_CREATED_EVENT, at("created"));
    expect_change(parent, 0, ZOO_CHILD_EVENT, at("parent"));
    EQUAL(changes_so_far(same), 0);
    OK(zoo_set(zk, at("same"), "x", 1, -1));
    expect_change(same, 0, ZOO_CHANGED_EVENT, at("same"));
}

static void thousands(void) {
    struct events *events = events_new();
    char name[32];
    for (int n = 0; n < 1000; n++) {
        snprintf(name, sizeof name, "n%d", n);
        watch_exists(zk, at(name), events);
    }
    zhandle_t *other = client();
    for (int n = 0; n < 1000; n++) {
        snprintf(name, sizeof name, "n%d", n);
        create(other, at(name), "", ZOO_PERSISTENT);
    }
    for (int n = 0; n < 1000; n++) {
        snprintf(name, sizeof name, "n%d", n);
        expect_change(events, n, ZOO_CREATED_EVENT, at(name));
    }
}

const struct test watch_tests[] = {
    {"data", data},
    {"exists", exists},
    {"children", children},
    {"global_watcher", global_watcher},
    {"fires_once", fires_once},
    {"others_changes", others_changes},
    {"failed_get_leaves_none", failed_get_leaves_none},
    {"removed", removed},
    {"reconnection_tells_what_changed", reconnection_tells_what_changed},
    {"thousands", thousands},
    {NULL, NULL},
};
