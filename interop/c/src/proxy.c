#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

enum { SOCKETS_MAX = 256 };

struct proxy {
    int listener;
    char address[32];
    pthread_mutex_t lock;
    bool shut;
    int count;
    int sockets[SOCKETS_MAX];
};

struct pair {
    int source, sink;
};

static void *pass(void *argument) {
    struct pair pair = *(struct pair *)argument;
    free(argument);
    char bytes[65536];
    for (ssize_t got; (got = read(pair.source, bytes, sizeof bytes)) > 0;)
        if (send(pair.sink, bytes, got, MSG_NOSIGNAL) != got) break;
    shutdown(pair.source, SHUT_RDWR);
    shutdown(pair.sink, SHUT_RDWR);
    return NULL;
}

static void start_pass(int source, int sink) {
    struct pair *pair = malloc(sizeof *pair);
    *pair = (struct pair){source, sink};
    pthread_t thread;
    OK(pthread_create(&thread, NULL, pass, pair));
    pthread_detach(thread);
}

static bool join(struct proxy *proxy, int from) {
    if (proxy->shut || proxy->count + 2 > SOCKETS_MAX) return false;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(strrchr(server, ':') + 1)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int to = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(to, (struct sockaddr *)&address, sizeof address) != 0) {
        close(to);
        return false;
    }
    proxy->sockets[proxy->count++] = from;
    proxy->sockets[proxy->count++] = to;
    start_pass(from, to);
    start_pass(to, from);
    return true;
}

static void *accept_all(void *argument) {
    struct proxy *proxy = argument;
    for (int from; (from = accept(proxy->listener, NULL, NULL)) >= 0;) {
        pthread_mutex_lock(&proxy->lock);
        if (!join(proxy, from)) close(from);
        pthread_mutex_unlock(&proxy->lock);
    }
    return NULL;
}

struct proxy *proxy_start(void) {
    struct proxy *proxy = calloc(1, sizeof *proxy);
    pthread_mutex_init(&proxy->lock, NULL);
    proxy->listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    OK(bind(proxy->listener, (struct sockaddr *)&address, length));
    OK(listen(proxy->listener, 16));
    OK(getsockname(proxy->listener, (struct sockaddr *)&address, &length));
    snprintf(proxy->address, sizeof proxy->address, "127.0.0.1:%d", ntohs(address.sin_port));
    pthread_t thread;
    OK(pthread_create(&thread, NULL, accept_all, proxy));
    return proxy;
}

const char *proxy_address(struct proxy *proxy) {
    return proxy->address;
}

/* Cuts what is open and refuses what comes. */
void proxy_shut(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->lock);
    proxy->shut = true;
    for (int n = 0; n < proxy->count; n++) shutdown(proxy->sockets[n], SHUT_RDWR);
    proxy->count = 0;
    pthread_mutex_unlock(&proxy->lock);
}

void proxy_open(struct proxy *proxy) {
    pthread_mutex_lock(&proxy->lock);
    proxy->shut = false;
    pthread_mutex_unlock(&proxy->lock);
}
