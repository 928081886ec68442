/* Negotiation, resumption, expiry. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "harness.h"

static void timeouts_are_clamped(void) {
    int asked[] = {100, 4000, 100000}, given[] = {1000, 4000, 10000};
    for (int n = 0; n < 3; n++) EQUAL(zoo_recv_timeout(client_at(server, asked[n], events_new())), given[n]);
}

static void reconnection_keeps_the_session(void) {
    struct proxy *proxy = proxy_start();
    struct events *events = events_new();
    zhandle_t *handle = client_at(proxy_address(proxy), 10000, events);
    clientid_t before = *zoo_client_id(handle);
    create(handle, at("e"), "", ZOO_EPHEMERAL);
    proxy_shut(proxy);
    AWAIT("the loss", zoo_state(handle) != ZOO_CONNECTED_STATE);
    proxy_open(proxy);
    AWAIT("reconnection", zoo_state(handle) == ZOO_CONNECTED_STATE);
    EQUAL(zoo_client_id(handle)->client_id, before.client_id);
    EQUAL(stat_of(at("e")).ephemeralOwner, before.client_id);
    OK(zoo_set(handle, at("e"), "x", 1, -1));
    EQUAL(state_count(events, ZOO_EXPIRED_SESSION_STATE), 0);
}

static zhandle_t *resume(const clientid_t *id, struct events *events) {
    return zookeeper_init(servers, events_told, 10000, id, events, 0);
}

static void resumed_from_another_connection(void) {
    struct proxy *proxy = proxy_start();
    zhandle_t *first = client_at(proxy_address(proxy), 10000, events_new());
    clientid_t id = *zoo_client_id(first);
    create(first, at("e"), "", ZOO_EPHEMERAL);
    proxy_shut(proxy);
    zhandle_t *second = resume(&id, events_new());
    AWAIT("the session", zoo_state(second) == ZOO_CONNECTED_STATE);
    EQUAL(zoo_client_id(second)->client_id, id.client_id);
    OK(zoo_set(second, at("e"), "mine", 4, 0));
    OK(zookeeper_close(second));
    CHECK(gone(at("e")));
}

static void wrong_password_is_expired(void) {
    zhandle_t *owner = client();
    create(owner, at("e"), "", ZOO_EPHEMERAL);
    clientid_t id = *zoo_client_id(owner);
    memset(id.passwd, 1, sizeof id.passwd);
    struct events *events = events_new();
    resume(&id, events);
    AWAIT("the refusal", state_count(events, ZOO_EXPIRED_SESSION_STATE));
    EQUAL(stat_of(at("e")).ephemeralOwner, id.client_id);
}

static void closed_session_is_expired(void) {
    zhandle_t *closed = client();
    clientid_t id = *zoo_client_id(closed);
    OK(zookeeper_close(closed));
    struct events *events = events_new();
    resume(&id, events);
    AWAIT("the refusal", state_count(events, ZOO_EXPIRED_SESSION_STATE));
}

static void expiry_when_cut_off(void) {
    struct proxy *proxy = proxy_start();
    struct events *events = events_new();
    zhandle_t *handle = client_at(proxy_address(proxy), 1000, events);
    create(handle, at("e"), "", ZOO_EPHEMERAL);
    proxy_shut(proxy);
    AWAIT("the ephemeral's end", gone(at("e")));
    proxy_open(proxy);
    AWAIT("the news", state_count(events, ZOO_EXPIRED_SESSION_STATE));
    CHECK(is_unrecoverable(handle));
    EQUAL(zoo_exists(handle, root, 0, NULL), ZINVALIDSTATE);
}

static void expiry_spares_who_pings(void) {
    struct events *events = events_new();
    zhandle_t *idle = client_at(server, 1500, events);
    create(idle, at("idle"), "", ZOO_EPHEMERAL);
    const char *names[] = {"first", "second"};
    for (int n = 0; n < 2; n++) {
        struct proxy *proxy = proxy_start();
        create(client_at(proxy_address(proxy), 1000, events_new()), at(names[n]), "", ZOO_EPHEMERAL);
        proxy_shut(proxy);
        AWAIT("the silent one's end", gone(at(names[n])));
    }
    EQUAL(stat_of(at("idle")).ephemeralOwner, zoo_client_id(idle)->client_id);
    EQUAL(state_count(events, ZOO_CONNECTED_STATE), 1);
}

static void expiry_of_a_stopped_process(void) {
    FILE *output;
    char line[64];
    int pid = held_start(at("e"), &output);
    CHECK(fgets(line, sizeof line, output));
    SAME(line, "ready\n");
    OK(kill(pid, SIGSTOP));
    AWAIT("the ephemeral's end", gone(at("e")));
    OK(kill(pid, SIGCONT));
    CHECK(fgets(line, sizeof line, output));
    SAME(line, "expired\n");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void the_next_server_is_tried(void) {
    struct proxy *proxy = proxy_start();
    char servers[128];
    snprintf(servers, sizeof servers, "%s,%s", proxy_address(proxy), server);
    zoo_deterministic_conn_order(1);
    zhandle_t *handle = client_at(servers, 10000, events_new());
    clientid_t before = *zoo_client_id(handle);
    SAME(zoo_get_current_server(handle), proxy_address(proxy));
    proxy_shut(proxy);
    AWAIT("the other address", zoo_state(handle) == ZOO_CONNECTED_STATE && zoo_exists(handle, root, 0, NULL) == ZOK);
    SAME(zoo_get_current_server(handle), server);
    EQUAL(zoo_client_id(handle)->client_id, before.client_id);
}

const struct test session_tests[] = {
    {"timeouts_are_clamped", timeouts_are_clamped},
    {"reconnection_keeps_the_session", reconnection_keeps_the_session},
    {"resumed_from_another_connection", resumed_from_another_connection},
    {"wrong_password_is_expired", wrong_password_is_expired},
    {"closed_session_is_expired", closed_session_is_expired},
    {"expiry_when_cut_off", expiry_when_cut_off},
    {"expiry_spares_who_pings", expiry_spares_who_pings},
    {"expiry_of_a_stopped_process", expiry_of_a_stopped_process},
    {"the_next_server_is_tried", the_next_server_is_tried},
    {NULL, NULL},
};
