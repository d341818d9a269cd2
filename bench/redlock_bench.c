/* SPDX-License-Identifier: MIT */

/*
 * The lock over several servers: an acquire and its release with one, three and
 * five servers that run, with two of five killed and stopped, and how long it
 * takes to be told that three of five are. Beside it the plain token lock, by a
 * bare hiredis connection to one server.
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "measure.h"

enum {
    NODES = 5,
    PAIRS = 2000,
    FAILURES = 20,
    QUICK = 10, /* one in so many */
    START_TRIES = 2000,
    START_LOOK_NS = 5000000,
    SETTLE_NS = 5000000,
    SETTLE_LOOKS = 1000
};

/* ---- servers ----------------------------------------------------------------- */

static struct node {
    char socket[96], url[112];
    pid_t pid; /* 0: killed */
} nodes[NODES];

static char directory[] = "/tmp/latchkey-bench-XXXXXX";

static void nodes_stop(void)
{
    for (int i = 0; i < NODES; i++) {
        if (nodes[i].pid == 0)
            continue;
        (void)kill(nodes[i].pid, SIGKILL);
        (void)waitpid(nodes[i].pid, NULL, 0);
        (void)unlink(nodes[i].socket);
    }
    (void)rmdir(directory);
}

static void node_exec(const struct node *node, pid_t owner)
{
    int null = open("/dev/null", O_RDWR);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != owner || null < 0 || dup2(null, 0) < 0 ||
        dup2(null, 1) < 0)
        _exit(127);
    (void)execlp("redis-server", "redis-server", "--port", "0", "--unixsocket",
                 node->socket, "--save", "", "--appendonly", "no",
                 (char *)NULL);
    _exit(127);
}

static void node_start(struct node *node, int index)
{
    pid_t owner = getpid();

    (void)snprintf(node->socket, sizeof(node->socket), "%s/%d", directory,
                   index);
    (void)snprintf(node->url, sizeof(node->url), "unix:%s/%d", directory,
                   index);
    node->pid = fork();
    if (node->pid == 0)
        node_exec(node, owner);
    for (int i = 0; access(node->socket, F_OK) != 0; i++) {
        if (node->pid < 0 || i == START_TRIES)
            errx(1, "redis-server does not start");
        sleep_ns(START_LOOK_NS);
    }
}

static void nodes_start(void)
{
    if (mkdtemp(directory) == NULL || atexit(nodes_stop) != 0)
        errx(1, "no directory for the servers");
    for (int i = 0; i < NODES; i++)
        node_start(&nodes[i], i);
}

static redisContext *node_connect(int index)
{
    redisContext *redis = redisConnectUnix(nodes[index].socket);

    if (redis == NULL || redis->err != 0)
        errx(1, "cannot connect to server %d", index);
    return redis;
}

static long long ask_integer(redisContext *redis, const char *command)
{
    redisReply *reply = redisCommand(redis, command);
    long long integer;

    if (reply == NULL || reply->type != REDIS_REPLY_INTEGER)
        errx(1, "%s: no number", command);
    integer = reply->integer;
    freeReplyObject(reply);
    return integer;
}

/* How many of the running servers still have the token, once it is quiet. */
static long long left_behind(int from)
{
    long long left = 0;

    for (int look = 0; look < SETTLE_LOOKS; look++) {
        left = 0;
        for (int i = from; i < NODES; i++) {
            redisContext *redis = node_connect(i);

            left += ask_integer(redis, "EXISTS n");
            redisFree(redis);
        }
        if (left == 0)
            break;
        sleep_ns(SETTLE_NS);
    }
    return left;
}

/* ---- the product ---------------------------------------------------------------- */

typedef struct subject {
    lk_client *clients[NODES];
    size_t count;
    lk_redlock *lock;
} subject;

static void must(lk_status status, const char *what)
{
    if (status != LK_OK)
        errx(1, "%s: %s (%s)", what, lk_status_text(status), lk_last_error());
}

static void subject_open(subject *s, size_t count)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT, .durable = 1};

    s->count = count;
    for (size_t i = 0; i < count; i++) {
        must(lk_client_open(&s->clients[i], nodes[i].url, NULL), "client");
        must(lk_client_wait_ready(s->clients[i], 5000), "ready");
    }
    must(lk_redlock_new(&s->lock, s->clients, count, "n", &options), "redlock");
}

static void subject_close(subject *s)
{
    lk_redlock_free(s->lock);
    for (size_t i = 0; i < s->count; i++)
        lk_client_free(s->clients[i]);
}

static uint64_t acquire_ns(subject *s, lk_hold **ret_hold, lk_status expected)
{
    uint64_t begin = now_ns();
    lk_status status = lk_redlock_acquire(s->lock, 0, NULL, ret_hold);

    if (status != expected)
        errx(1, "acquire: %s (%s)", lk_status_text(status), lk_last_error());
    return now_ns() - begin;
}

/* ---- rows -------------------------------------------------------------------------- */

static size_t scaled(size_t count)
{
    return is_quick() ? count / QUICK : count;
}

static void row(const char *what, double *us, size_t count)
{
    double p50 = quantile(us, count, 0.5), p99 = quantile(us, count, 0.99);

    printf("%-44s %9.0f %9.0f %9.0f\n", what, p50, p99, us[count - 1]);
}

static void measure_pairs(const char *what, subject *s)
{
    size_t count = scaled(PAIRS);
    double *us = memory_new(count, sizeof(*us));

    for (size_t i = 0; i < count; i++) {
        lk_hold *hold = NULL;
        uint64_t begin = now_ns();

        (void)acquire_ns(s, &hold, LK_OK);
        must(lk_hold_release(hold), "release");
        us[i] = (double)(now_ns() - begin) / 1e3;
    }
    row(what, us, count);
    free(us);
}

static void measure_failures(const char *what, subject *s)
{
    size_t count = scaled(FAILURES);
    double *us = memory_new(count, sizeof(*us));

    for (size_t i = 0; i < count; i++) {
        lk_hold *hold = NULL;

        us[i] = (double)acquire_ns(s, &hold, LK_EQUORUM) / 1e3;
    }
    row(what, us, count);
    free(us);
}

static void bare_pair(redisContext *redis)
{
    static const char *const delete_own =
        "if redis.call('get', KEYS[1]) == ARGV[1] then "
        "return redis.call('del', KEYS[1]) else return 0 end";
    redisReply *reply = redisCommand(redis, "SET n token NX PX 30000");

    if (reply == NULL || reply->type != REDIS_REPLY_STATUS)
        errx(1, "the bare lock is not free");
    freeReplyObject(reply);
    reply = redisCommand(redis, "EVAL %s 1 n token", delete_own);
    if (reply == NULL || reply->type != REDIS_REPLY_INTEGER)
        errx(1, "the bare lock is not released");
    freeReplyObject(reply);
}

static void measure_bare(void)
{
    size_t count = scaled(PAIRS);
    double *us = memory_new(count, sizeof(*us));
    redisContext *redis = node_connect(0);

    for (size_t i = 0; i < count; i++) {
        uint64_t begin = now_ns();

        bare_pair(redis);
        us[i] = (double)(now_ns() - begin) / 1e3;
    }
    row("bare token lock, 1 server", us, count);
    redisFree(redis);
    free(us);
}

/* ---- the whole ------------------------------------------------------------------------ */

static void signal_nodes(int count, int signal)
{
    for (int i = 0; i < count; i++)
        (void)kill(nodes[i].pid, signal);
}

static void kill_nodes(int from, int until)
{
    for (int i = from; i < until; i++) {
        (void)kill(nodes[i].pid, SIGKILL);
        (void)waitpid(nodes[i].pid, NULL, 0);
        (void)unlink(nodes[i].socket);
        nodes[i].pid = 0;
    }
}

static void measure_healthy(void)
{
    static const char *const words[] = {"1 server", "3 servers", "5 servers"};
    subject s;

    for (size_t i = 0; i < 3; i++) {
        subject_open(&s, 2 * i + 1);
        measure_pairs(words[i], &s);
        subject_close(&s);
    }
}

static void measure_trouble(void)
{
    subject s;

    subject_open(&s, NODES);
    signal_nodes(2, SIGSTOP);
    measure_pairs("5 servers, 2 stopped", &s);
    signal_nodes(3, SIGSTOP);
    measure_failures("5 servers, 3 stopped: told after", &s);
    signal_nodes(3, SIGCONT);
    printf("tokens left when they ran again: %lld\n", left_behind(0));
    kill_nodes(0, 2);
    measure_pairs("5 servers, 2 killed", &s);
    kill_nodes(2, 3);
    measure_failures("5 servers, 3 killed: told after", &s);
    printf("tokens left on the others: %lld\n", left_behind(3));
    subject_close(&s);
}

int main(void)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    nodes_start();
    printf("%-44s %9s %9s %9s\n", "acquire and release, us", "p50", "p99",
           "most");
    measure_bare();
    measure_healthy();
    measure_trouble();
    return 0;
}
