/* SPDX-License-Identifier: MIT */
#include "support/server.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/certificates.h"
#include "support/check.h"
#include "support/login.h"
#include "support/redis.h"
#include "support/scratch.h"
#include "support/server_argv.h"
#include "support/socket.h"
#include "support/wait.h"

enum {
    READY_MS = 10000, /* from fork to PING, scaled */
    PORT_TRIES = 5,   /* somebody else may take the port first */
    BUS_ABOVE = 10000 /* the port of a node */
};

/* ---- the process ---- */

static void child_run(const char **argv, pid_t parent)
{
    int null = open("/dev/null", O_RDWR);

    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0)
        _exit(127);
    scratch_child(parent, 3);
    /* execvp() changes neither the array nor the strings. */
    (void)execvp(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

static void forget(server *s)
{
    s->pid = 0;
    s->is_frozen = false;
    redis_drop(s->redis);
}

static bool is_ready_or_dead(void *data)
{
    server *s = data;

    if (waitpid(s->pid, NULL, WNOHANG) != 0) {
        forget(s);
        return true;
    }
    return access(s->socket, F_OK) == 0 && redis_ping(s->redis);
}

static bool launch(server *s)
{
    const char *argv[SERVER_ARGS + 1];
    pid_t parent = getpid();

    if (!server_argv_make(s, argv))
        return false;
    s->pid = fork();
    if (s->pid == 0)
        child_run(argv, parent);
    if (s->pid < 0) {
        s->pid = 0;
        return false;
    }
    if (!wait_until(is_ready_or_dead, s, READY_MS))
        server_kill(s);
    return s->pid != 0;
}

static void explain(const server *s, const char *what)
{
    FILE *log = fopen(s->log, "re");
    char line[256];

    (void)fprintf(stderr, "server: %s; its log:\n", what);
    while (log != NULL && fgets(line, sizeof(line), log) != NULL)
        (void)fputs(line, stderr);
    if (log != NULL)
        (void)fclose(log);
}

static bool has_ended(void *data)
{
    return server_has_ended(data);
}

/* As in a child of what started it: the end is told to nobody but that. */
static bool is_not_told(const server *s)
{
    siginfo_t info;

    return waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) !=
               0 &&
           errno == ECHILD;
}

/* The end of a process is seen later than the end of its connections. */
static void tell_break(void *data)
{
    enum { END_MS = 1000 };
    const server *s = data;

    if (s->pid == 0)
        (void)fprintf(stderr, "server: it has been ended\n");
    else if (is_not_told(s))
        (void)fprintf(stderr, "server: the connection to it broke\n");
    else if (!wait_until(has_ended, data, END_MS))
        explain(s, "it runs, and its connection broke");
}

/* ---- start and stop ---- */

static void extra_free(char **extra)
{
    for (size_t i = 0; extra != NULL && extra[i] != NULL; i++)
        free(extra[i]);
    free(extra);
}

static char **extra_copy(const char *const *args)
{
    size_t n = 0;
    char **copy;

    while (args != NULL && args[n] != NULL)
        n++;
    copy = calloc(n + 1, sizeof(*copy));
    if (copy == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++) {
        copy[i] = strdup(args[i]);
        if (copy[i] == NULL) {
            extra_free(copy);
            return NULL;
        }
    }
    return copy;
}

static void ports_let_go(server *s)
{
    for (size_t i = 0; i < sizeof(s->kept) / sizeof(s->kept[0]); i++) {
        if (s->kept[i] >= 0)
            (void)close(s->kept[i]);
        s->kept[i] = -1;
    }
}

/* From now on nobody else is given them: it may be started again. */
static void ports_keep(server *s)
{
    const uint16_t ports[] = {s->port, s->tls_port};

    for (size_t i = 0; i < 2; i++) {
        if (ports[i] == 0)
            continue;
        s->kept[i] = socket_reserve_tcp(ports[i]);
        if (s->is_node && ports[i] <= UINT16_MAX - BUS_ABOVE)
            s->kept[i + 2] =
                socket_reserve_tcp((uint16_t)(ports[i] + BUS_ABOVE));
    }
}

static void port_set(server *s, uint16_t port)
{
    s->port = port;
    (void)snprintf(s->port_text, sizeof(s->port_text), "%u", port);
    (void)snprintf(s->tcp_url, sizeof(s->tcp_url), "redis://%s127.0.0.1:%u",
                   login_text(), port);
}

static server *server_new(const char *const *extra_args)
{
    server *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    memset(s->kept, 0xff, sizeof(s->kept)); /* -1 */
    s->extra = extra_copy(extra_args);
    s->home = scratch_new();
    if (s->extra == NULL || s->home == NULL)
        goto fail;
    (void)snprintf(s->socket, sizeof(s->socket), "%s/redis.sock",
                   scratch_path(s->home));
    (void)snprintf(s->log, sizeof(s->log), "%s/log", scratch_path(s->home));
    (void)snprintf(s->url, sizeof(s->url), "unix:%s%s%s",
                   login_text()[0] != '\0' ? "//" : "", login_text(),
                   s->socket);
    port_set(s, 0);
    s->redis = redis_new(s->socket);
    if (s->redis == NULL)
        goto fail;
    redis_on_break(s->redis, tell_break, s);
    return s;

fail:
    server_stop(s);
    return NULL;
}

static bool tls_everywhere(void)
{
    return getenv("LK_TEST_TLS") != NULL;
}

/* The URLs are then those of TLS, if all tests run so. */
static bool tls_set(server *s)
{
    if (certificates_folder() == NULL)
        return false;
    s->tls_port =
        s->is_node ? socket_free_port_pair(BUS_ABOVE) : socket_free_port();
    (void)snprintf(s->tls_port_text, sizeof(s->tls_port_text), "%u",
                   s->tls_port);
    (void)certificates_path(s->tls_cert, "server.crt");
    (void)certificates_path(s->tls_key, "server.key");
    (void)certificates_path(s->tls_ca, "ca.crt");
    if (!tls_everywhere())
        return true;
    (void)snprintf(s->url, sizeof(s->url), "rediss://%s127.0.0.1:%u",
                   login_text(), s->tls_port);
    (void)snprintf(s->tcp_url, sizeof(s->tcp_url), "%s", s->url);
    return setenv("SSL_CERT_FILE", s->tls_ca, 1) == 0;
}

/* NULL, or one that answers: s, which is given back otherwise. */
static server *start_new(server *s, bool is_tcp, bool is_tls)
{
    int tries = is_tcp || is_tls ? PORT_TRIES : 1;

    if (s == NULL) {
        (void)fprintf(stderr, "server: %s\n", strerror(errno));
        return NULL;
    }
    for (int i = 0; i < tries; i++) {
        if (is_tcp)
            port_set(s, s->is_node ? socket_free_port_pair(BUS_ABOVE)
                                   : socket_free_port());
        if (is_tls && !tls_set(s))
            break;
        ports_let_go(s);
        ports_keep(s);
        if (launch(s))
            return s;
    }
    explain(s, "does not start");
    server_stop(s);
    return NULL;
}

static server *start(const char *const *extra_args, bool is_tcp, bool is_tls)
{
    return start_new(server_new(extra_args), is_tcp, is_tls);
}

static bool config_write(server *s, const char *config)
{
    FILE *file;
    bool written;

    (void)snprintf(s->config, sizeof(s->config), "%s/sentinel.conf",
                   scratch_path(s->home));
    file = fopen(s->config, "we");
    if (file == NULL)
        return false;
    written = fputs(config, file) >= 0;
    return fclose(file) == 0 && written;
}

static server *start_sentinel(const char *config, bool is_tls)
{
    server *s = server_new(NULL);

    if (s != NULL && !config_write(s, config)) {
        server_stop(s);
        s = NULL;
    }
    return start_new(s, true, is_tls);
}

server *server_start_sentinel(const char *config)
{
    return start_sentinel(config, false);
}

server *server_start_sentinel_tls(const char *config)
{
    return start_sentinel(config, true);
}

server *server_start(const char *const *extra_args)
{
    return start(extra_args, false, tls_everywhere());
}

server *server_start_tcp(const char *const *extra_args)
{
    return start(extra_args, true, tls_everywhere());
}

server *server_start_tls(const char *const *extra_args)
{
    return start(extra_args, true, true);
}

static server *start_node(const char *const *extra_args, bool is_tls)
{
    server *s = server_new(extra_args);

    if (s != NULL)
        s->is_node = true;
    return start_new(s, true, is_tls);
}

server *server_start_node(const char *const *extra_args)
{
    return start_node(extra_args, tls_everywhere());
}

server *server_start_node_tls(const char *const *extra_args)
{
    return start_node(extra_args, true);
}

bool server_lacks_tls(void)
{
    server *s;
    bool starts;

    if (getenv("LK_TEST_SERVER") == NULL)
        return false;
    s = server_start_tls(NULL);
    starts = s != NULL;
    server_stop(s);
    return !starts;
}

void server_stop(server *s)
{
    if (s == NULL)
        return;
    server_kill(s);
    ports_let_go(s);
    redis_free(s->redis);
    scratch_free(s->home);
    extra_free(s->extra);
    free(s);
}

/* ---- what it is ---- */

const char *server_socket(const server *s)
{
    return s->socket;
}

const char *server_url(const server *s)
{
    return s->url;
}

uint16_t server_port(const server *s)
{
    return s->port;
}

const char *server_tcp_url(const server *s)
{
    return s->tcp_url;
}

uint16_t server_tls_port(const server *s)
{
    return s->tls_port;
}

pid_t server_pid(const server *s)
{
    return s->pid;
}

bool server_has_ended(const server *s)
{
    siginfo_t info = {0};
    char what[64];

    if (s->pid == 0 ||
        waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != s->pid)
        return false;
    (void)snprintf(what, sizeof(what), "ended by itself, by %s %d",
                   info.si_code == CLD_EXITED ? "exit" : "signal",
                   info.si_status);
    explain(s, what);
    return true;
}

/* ---- faults ---- */

/* Sends a signal and waits for what it does; the server may be dead by now. */
static void signal_and_see(server *s, int signal, int options)
{
    int status = 0;

    (void)kill(s->pid, signal);
    if (waitpid(s->pid, &status, options) < 0 || WIFEXITED(status) ||
        WIFSIGNALED(status))
        forget(s);
}

void server_freeze(server *s)
{
    if (s->pid == 0 || s->is_frozen)
        return;
    signal_and_see(s, SIGSTOP, WUNTRACED);
    s->is_frozen = s->pid != 0;
}

void server_thaw(server *s)
{
    if (s->pid == 0 || !s->is_frozen)
        return;
    signal_and_see(s, SIGCONT, WCONTINUED);
    s->is_frozen = false;
}

bool server_is_frozen(const server *s)
{
    return s->is_frozen;
}

void server_kill(server *s)
{
    if (s->pid == 0)
        return;
    (void)kill(s->pid, SIGKILL);
    (void)waitpid(s->pid, NULL, 0);
    forget(s);
}

bool server_restart(server *s)
{
    server_kill(s);
    if (launch(s))
        return true;
    explain(s, "does not start");
    return false;
}

/* ---- commands ---- */

void server_reconnect(server *s)
{
    redis_drop(s->redis);
}

redisReply *server_ask(server *s, const char *format, ...)
{
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = redis_vask(s->redis, format, args);
    va_end(args);
    return reply;
}

redisReply *server_command(server *s, const char *format, ...)
{
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = redis_vcommand(s->redis, format, args);
    va_end(args);
    return reply;
}

long long server_integer(server *s, const char *format, ...)
{
    long long integer;
    va_list args;

    va_start(args, format);
    integer = redis_vinteger(s->redis, format, args);
    va_end(args);
    return integer;
}

/* WAIT is about what its own connection has written, and nothing else. */
void server_wait_copied(server *s, const char *key, int replicas)
{
    enum { MOST_MS = 60000 };

    assert_int_equal(server_integer(s, "INCR {%s}probe", key), 1);
    assert_int_equal(server_integer(s, "DEL {%s}probe", key), 1);
    assert_true(server_integer(s, "WAIT %d %d", replicas, MOST_MS) >= replicas);
}

char *server_string(server *s, const char *format, ...)
{
    char *string;
    va_list args;

    va_start(args, format);
    string = redis_vstring(s->redis, format, args);
    va_end(args);
    return string;
}

char *server_record(server *s, const char *name, unsigned field)
{
    char *text = server_string(s, "GET latchkey:{%s}:r", name);
    char *at = text, *end;

    for (; at != NULL && field > 0; field--) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
    }
    if (at != NULL) {
        end = strchr(at, ' ');
        at = strndup(at, end != NULL ? (size_t)(end - at) : strlen(at));
    }
    free(text);
    return at;
}

void server_flush(server *s)
{
    redisReply *reply = server_command(s, "FLUSHALL");

    freeReplyObject(reply);
}
