#include "harness.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SKIPPED = 2, TEST_SECONDS_MAX = 40, ATTEMPTS_MAX = 5, SERVERS_MAX = 9 };

zhandle_t *zk;
char root[PATH_MAX_LENGTH];
const char *server;
/* What one client wrote another reads at once only at the same server, so all try them in the same order, beginning
 * with one that answers. */
const char *servers;
/* A file that grows with every death: members of an ensemble die one after the other meanwhile, and clients know all of
 * them. Null when nobody dies. */
static const char *toll;
static int reason_pipe = STDERR_FILENO;

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vdprintf(reason_pipe, format, arguments);
    va_end(arguments);
    _exit(1);
}

void skip(const char *reason) {
    dprintf(reason_pipe, "%s", reason);
    _exit(SKIPPED);
}

void skip_without(const char *extra, const char *reason) {
    const char *extras = getenv("ZK_EXTRAS");
    if (!extras || !strstr(extras, extra)) skip(reason);
}

long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

void pause_briefly(void) {
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

struct events *events_new(void) {
    struct events *events = calloc(1, sizeof *events);
    pthread_mutex_init(&events->lock, NULL);
    return events;
}

void events_told(zhandle_t *handle, int type, int state, const char *path, void *context) {
    struct events *events = context ? context : (struct events *)zoo_get_context(handle);
    pthread_mutex_lock(&events->lock);
    if (type == ZOO_SESSION_EVENT) {
        if (events->states_count < EVENTS_MAX) events->states[events->states_count++] = state;
    } else if (events->changes_count < EVENTS_MAX) {
        if (asprintf(&events->changes[events->changes_count], "%d %s", type, path) > 0) events->changes_count++;
    }
    pthread_mutex_unlock(&events->lock);
}

int changes_so_far(struct events *events) {
    pthread_mutex_lock(&events->lock);
    int count = events->changes_count;
    pthread_mutex_unlock(&events->lock);
    return count;
}

int state_count(struct events *events, int state) {
    pthread_mutex_lock(&events->lock);
    int count = 0;
    for (int n = 0; n < events->states_count; n++) count += events->states[n] == state;
    pthread_mutex_unlock(&events->lock);
    return count;
}

void expect_change(struct events *events, int n, int type, const char *path) {
    char expected[PATH_MAX_LENGTH + 16];
    snprintf(expected, sizeof expected, "%d %s", type, path);
    AWAIT(expected, changes_so_far(events) > n);
    SAME(events->changes[n], expected);
}

zhandle_t *client_at(const char *address, int timeout_ms, struct events *events) {
    if (address == server) address = servers;
    zhandle_t *handle = zookeeper_init(address, events_told, timeout_ms, NULL, events, 0);
    CHECK(handle != NULL);
    AWAIT("a connection", zoo_state(handle) == ZOO_CONNECTED_STATE);
    return handle;
}

zhandle_t *client(void) {
    return client_at(server, 10000, events_new());
}

struct authentication {
    volatile bool done;
    volatile int code;
};

static void authenticated(int code, const void *context) {
    struct authentication *authentication = (struct authentication *)context;
    authentication->code = code;
    authentication->done = true;
}

void add_auth(zhandle_t *handle, const char *user) {
    static struct authentication authentication;
    authentication.done = false;
    OK(zoo_add_auth(handle, "digest", user, (int)strlen(user), authenticated, &authentication));
    AWAIT("authentication", authentication.done);
    OK(authentication.code);
}

zhandle_t *client_as(const char *user) {
    zhandle_t *handle = client();
    add_auth(handle, user);
    return handle;
}

static char *scratch(void) {
    static char buffers[64][PATH_MAX_LENGTH];
    static int next;
    return buffers[next++ % 64];
}

const char *at(const char *name) {
    char *path = scratch();
    snprintf(path, PATH_MAX_LENGTH, "%.400s/%s", root, name);
    return path;
}

const char *create(zhandle_t *handle, const char *path, const char *data, int mode) {
    char *created = scratch();
    OK(zoo_create(handle, path, data, data ? (int)strlen(data) : -1, &ZOO_OPEN_ACL_UNSAFE, mode, created,
                  PATH_MAX_LENGTH));
    return created;
}

const char *node(const char *name, const char *data) {
    return create(zk, at(name), data, ZOO_PERSISTENT);
}

bool gone(const char *path) {
    return zoo_exists(zk, path, 0, NULL) == ZNONODE;
}

const char *data_of(const char *path) {
    char *data = scratch();
    int length = PATH_MAX_LENGTH - 1;
    OK(zoo_get(zk, path, 0, data, &length, NULL));
    if (length < 0) return "(null)";
    data[length] = 0;
    return data;
}

struct Stat stat_of(const char *path) {
    struct Stat stat;
    OK(zoo_exists(zk, path, 0, &stat));
    return stat;
}

int children_count(const char *path) {
    struct String_vector children;
    OK(zoo_get_children(zk, path, 0, &children));
    int count = children.count;
    deallocate_String_vector(&children);
    return count;
}

static int drive(const char *verb) {
    const char *executable = getenv("ZK_CONTROL");
    if (!executable) skip("ZK_CONTROL is not set");
    char command[PATH_MAX_LENGTH];
    snprintf(command, sizeof command, "'%s' %s >&2", executable, verb);
    return system(command);
}

void control(const char *verb) {
    OK(drive(verb));
}

void four_letter_word(const char *word, char *answer, size_t size) {
    int stream = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(strrchr(server, ':') + 1)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    OK(connect(stream, (struct sockaddr *)&address, sizeof address));
    EQUAL(write(stream, word, 4), 4);
    size_t length = 0;
    for (ssize_t got = 1; got > 0 && length + 1 < size; length += got > 0 ? got : 0)
        got = read(stream, answer + length, size - 1 - length);
    answer[length] = 0;
    close(stream);
}

static bool answers(const char *address) {
    int stream = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(atoi(strrchr(address, ':') + 1)),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    bool connected = connect(stream, (struct sockaddr *)&there, sizeof there) == 0;
    close(stream);
    return connected;
}

static void order_servers(void) {
    static char ordered[PATH_MAX_LENGTH], copy[PATH_MAX_LENGTH];
    servers = server;
    if (!toll) return;
    snprintf(copy, sizeof copy, "%s", getenv("ZK_SERVERS"));
    char *all[SERVERS_MAX], *rest = copy;
    int count = 0;
    for (char *one; count < SERVERS_MAX && (one = strsep(&rest, ","));) all[count++] = one;
    bool answering[SERVERS_MAX];
    for (int n = 0; n < count; n++) answering[n] = answers(all[n]);
    size_t length = 0;
    for (int round = 1; round >= 0; round--)
        for (int n = 0; n < count; n++)
            if (answering[n] == round)
                length += snprintf(ordered + length, sizeof ordered - length, "%s%s", length ? "," : "", all[n]);
    servers = ordered;
}

static long long deaths(void) {
    struct stat stat_of_toll;
    return toll && stat(toll, &stat_of_toll) == 0 ? stat_of_toll.st_size : 0;
}

int held_start(const char *path, FILE **output) {
    int pipes[2];
    OK(pipe(pipes));
    pid_t pid = fork();
    if (pid == 0) {
        dup2(pipes[1], STDOUT_FILENO);
        execl("/proc/self/exe", "suite", "held", path, NULL);
        _exit(127);
    }
    close(pipes[1]);
    *output = fdopen(pipes[0], "r");
    return pid;
}

void held_main(const char *path) {
    struct events *events = events_new();
    zhandle_t *handle = client_at(server, 1000, events);
    create(handle, path, "", ZOO_EPHEMERAL);
    printf("ready\n");
    fflush(stdout);
    AWAIT("expiry", state_count(events, ZOO_EXPIRED_SESSION_STATE));
    printf("expired\n");
}

void make(const char *path, const char *data, int mode) {
    int code;
    do code = zoo_create(zk, path, data, (int)strlen(data), &ZOO_OPEN_ACL_UNSAFE, mode, NULL, 0);
    while (toll && (code == ZCONNECTIONLOSS || code == ZOPERATIONTIMEOUT));
    CHECK(code == ZOK || code == ZNODEEXISTS);
}

static void prepare(const char *name) {
    zk = client();
    for (const char *slash = name; slash; slash = strchr(slash + 1, '.')) {
        const char *end = strchr(slash + 1, '.');
        snprintf(root, sizeof root, "/c/%.*s", (int)(end ? end - name : (long)strlen(name)), name);
        for (char *dot = root; (dot = strchr(dot, '.'));) *dot = '/';
        make("/c", "", ZOO_PERSISTENT);
        make(root, "", ZOO_PERSISTENT);
    }
}

/* Runs one test in a child; its status, and why it failed. */
static int attempt(const char *name, void (*body)(void), char *reason, size_t size) {
    int pipes[2];
    /* Closed on exec, so that a server started by a test does not keep it open. */
    if (pipe2(pipes, O_CLOEXEC) != 0) return 1;
    order_servers();
    pid_t pid = fork();
    if (pid == 0) {
        reason_pipe = pipes[1];
        alarm(TEST_SECONDS_MAX);
        prepare(name);
        body();
        zookeeper_close(zk);
        _exit(0);
    }
    close(pipes[1]);
    int status;
    waitpid(pid, &status, 0);
    ssize_t length = read(pipes[0], reason, size - 1);
    reason[length > 0 ? length : 0] = 0;
    close(pipes[0]);
    for (char *c = reason; *c; c++)
        if (*c == '\n') *c = ' ';
    if (WIFSIGNALED(status)) snprintf(reason, size, "%s", strsignal(WTERMSIG(status)));
    return WIFSIGNALED(status) ? 1 : WEXITSTATUS(status);
}

/* It may have left the server down, which is not the next one's fault. */
static void raise_server(void) {
    if (getenv("ZK_CONTROL")) drive("resume"), drive("start");
}

/* A test that fails while a member dies is played again, at a path of its own: it is about something else. What must hold
 * through deaths is told in the group `deaths`, which is played once. False when it failed. */
static bool report(const char *name, void (*body)(void)) {
    long long started = now_ms();
    char reason[1024], path[160];
    int status = 1;
    for (int number = 0; number < ATTEMPTS_MAX; number++) {
        long long before = deaths();
        snprintf(path, sizeof path, number ? "%s.again%d" : "%s", name, number);
        status = attempt(path, body, reason, sizeof reason);
        if (status == 0 || status == SKIPPED) break;
        /* Returns when a death that is under way is over, and counted. */
        raise_server();
        if (deaths() == before || strncmp(name, "deaths.", 7) == 0) break;
        printf("# %s met a death: %s\n", name, reason);
    }
    if (status == 0)
        printf("ok %s\n", name);
    else
        printf("%s %s - %s\n", status == SKIPPED ? "skip" : "not ok", name, reason);
    if (now_ms() - started > 4000) printf("# %s took %lld ms\n", name, now_ms() - started);
    fflush(stdout);
    return status == 0 || status == SKIPPED;
}

static bool selected(const char *name, int words, char **word) {
    for (int n = 0; n < words; n++)
        if (strstr(name, word[n])) return true;
    return words == 0;
}

static const struct test no_tests[] = {{NULL, NULL}};

int main(int arguments, char **argument) {
    server = getenv("ZK_CONNECT") ? getenv("ZK_CONNECT") : "127.0.0.1:2181";
    toll = getenv("ZK_DEATHS");
    zoo_deterministic_conn_order(toll != NULL);
    order_servers();
    zoo_set_debug_level(getenv("ZK_DEBUG") ? ZOO_LOG_LEVEL_INFO : (ZooLogLevel)0);
    if (arguments == 3 && strcmp(argument[1], "held") == 0) {
        held_main(argument[2]);
        return 0;
    }
    const struct { const char *name; const struct test *tests; } groups[] = {
        {"nodes", node_tests}, {"transactions", transaction_tests}, {"acl", acl_tests}, {"watches", watch_tests},
        {"async", async_tests}, {"recipes", recipe_tests}, {"sessions", session_tests}, {"outage", outage_tests},
        {"deaths", toll ? death_tests : no_tests},
    };
    bool passed = true;
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++) {
        for (const struct test *test = groups[g].tests; test->name; test++) {
            char name[128];
            snprintf(name, sizeof name, "%s.%s", groups[g].name, test->name);
            if (!selected(name, arguments - 1, argument + 1)) continue;
            passed &= report(name, test->body);
        }
    }
    return passed ? 0 : 1;
}
