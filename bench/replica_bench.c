/* SPDX-License-Identifier: MIT */

/*
 * What it adds to an acquire that a replica must have the hold: a client that
 * takes a free lock and gives it back, with one replica on the same machine,
 * needed or not. Medians of five rounds.
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"
#include "server.h"

enum {
    ROUNDS = 5,
    QUICK_ROUNDS = 3,
    TURNS = 1000,
    LOOK_NS = 10000000,
    LOOKS = 500
};

static char directory[64];
static pid_t replica;

static void must(lk_status status)
{
    if (status != LK_OK)
        errx(1, "%s: %s", lk_status_text(status), lk_last_error());
}

/* ---- the replica ------------------------------------------------------------- */

/* One that was free a moment ago. */
static unsigned port_find(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        err(1, "no port");
    (void)close(fd);
    return ntohs(address.sin_port);
}

static void replica_exec(pid_t parent, unsigned port)
{
    char master[32], path[96];

    (void)snprintf(path, sizeof(path), "%s/redis.sock", directory);
    (void)snprintf(master, sizeof(master), "127.0.0.1 %u", port);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || freopen("/dev/null", "w", stdout) == NULL)
        _exit(127);
    (void)execlp("redis-server", "redis-server", "--port", "0", "--unixsocket",
                 path, "--dir", directory, "--save", "", "--appendonly", "no",
                 "--replicaof", master, (char *)NULL);
    _exit(127);
}

static void replica_stop(void)
{
    static const char *const files[] = {"redis.sock", "dump.rdb"};
    char path[96];

    child_kill(replica);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", directory, files[i]);
        (void)unlink(path);
    }
    (void)rmdir(directory);
}

static long long ask(redisContext *redis, const char *command)
{
    redisReply *reply = redisCommand(redis, command);
    long long answer;

    if (reply == NULL || reply->type != REDIS_REPLY_INTEGER)
        errx(1, "%s: no number", command);
    answer = reply->integer;
    freeReplyObject(reply);
    return answer;
}

/* Returns when it has what is written. */
static void replica_start(void)
{
    redisContext *redis = server_connect();
    unsigned port = port_find();
    pid_t parent = getpid();

    (void)snprintf(directory, sizeof(directory), "/tmp/latchkey-bench-XXXXXX");
    if (mkdtemp(directory) == NULL)
        err(1, "no directory");
    server_do(redis, "CONFIG SET port %u", port);
    server_do(redis, "CONFIG SET repl-diskless-sync-delay 0");
    replica = fork();
    if (replica == 0)
        replica_exec(parent, port);
    if (replica < 0 || atexit(replica_stop) != 0)
        errx(1, "no replica");
    for (int i = 0; i < LOOKS; i++) {
        (void)ask(redis, "INCR probe");
        if (ask(redis, "WAIT 1 10") == 1) {
            redisFree(redis);
            return;
        }
        sleep_ns(LOOK_NS);
    }
    errx(1, "the replica does not come");
}

/* ---- the measurement ------------------------------------------------------------ */

/* The quantiles of an acquire, in us. */
static void
measure(lk_lock *lock, uint64_t replicas, double *ret_p50, double *ret_p99)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .replicas = replicas};
    static double us[TURNS];
    lk_hold *hold;

    for (int i = 0; i < TURNS; i++) {
        uint64_t began = now_ns();

        must(lk_lock_acquire(lock, 0, &options, &hold));
        us[i] = (double)(now_ns() - began) / 1e3;
        must(lk_hold_release(hold));
    }
    *ret_p50 = quantile(us, TURNS, 0.5);
    *ret_p99 = quantile(us, TURNS, 0.99);
}

int main(void)
{
    unsigned rounds = is_quick() ? QUICK_ROUNDS : ROUNDS;
    double p50[2][ROUNDS], p99[2][ROUNDS];
    lk_client *client;
    lk_lock *lock;

    server_start();
    replica_start();
    must(lk_client_open(&client, server_url(), NULL));
    must(lk_lock_new(&lock, client, "orders", NULL));
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned n = 0; n < 2; n++)
            measure(lock, n, &p50[n][round], &p99[n][round]);
    }
    printf("| acquire | p50 us | p99 us |\n|---|---|---|\n");
    for (unsigned n = 0; n < 2; n++)
        printf("| replicas = %u | %.0f | %.0f |\n", n,
               quantile(p50[n], rounds, 0.5), quantile(p99[n], rounds, 0.5));
    lk_lock_free(lock);
    lk_client_free(client);
    return EXIT_SUCCESS;
}
