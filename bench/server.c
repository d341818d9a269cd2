/* SPDX-License-Identifier: MIT */

/* A private server and questions to it. */

#include "server.h"

#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "measure.h"

enum { START_TRIES = 500, START_LOOK_NS = 10000000 };

static char directory[64];
static char socket_path[96];
static char url[112];
static pid_t pid;   /* the server's */
static pid_t owner; /* who started it */

/* ---- life ---------------------------------------------------------------- */

static void exec_server(pid_t parent)
{
    int null = open("/dev/null", O_RDWR);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || null < 0 || dup2(null, 0) < 0 ||
        dup2(null, 1) < 0)
        _exit(127);
    (void)execlp("redis-server", "redis-server", "--port", "0", "--unixsocket",
                 socket_path, "--dir", directory, "--save", "", "--appendonly",
                 "no", "--daemonize", "no", (char *)NULL);
    _exit(127);
}

/* Whatever ends the program; its children leave the server alone. */
static void server_stop(void)
{
    if (getpid() != owner)
        return;
    child_kill(pid);
    (void)unlink(socket_path);
    (void)rmdir(directory);
}

/* It listens some time after its socket is there. */
static bool is_listening(void)
{
    redisContext *redis = redisConnectUnix(socket_path);
    bool listens = redis != NULL && redis->err == 0;

    redisFree(redis);
    return listens;
}

void server_start(void)
{
    owner = getpid();
    (void)snprintf(directory, sizeof(directory), "/tmp/latchkey-bench-XXXXXX");
    if (mkdtemp(directory) == NULL)
        errx(1, "cannot make a directory in /tmp");
    (void)snprintf(socket_path, sizeof(socket_path), "%s/redis.sock",
                   directory);
    (void)snprintf(url, sizeof(url), "unix:%s", socket_path);
    pid = fork();
    if (pid == 0)
        exec_server(owner);
    if (pid < 0 || atexit(server_stop) != 0)
        errx(1, "cannot start a server");
    for (int i = 0; i < START_TRIES; i++) {
        if (is_listening())
            return;
        sleep_ns(START_LOOK_NS);
    }
    errx(1, "redis-server does not start");
}

const char *server_url(void)
{
    return url;
}

void server_pin(int cpu)
{
    pin((int)pid, cpu);
}

/* ---- questions ------------------------------------------------------------- */

redisContext *server_connect(void)
{
    redisContext *redis = redisConnectUnix(socket_path);

    if (redis == NULL || redis->err != 0)
        errx(1, "cannot connect: %s",
             redis == NULL ? "no memory" : redis->errstr);
    return redis;
}

static redisReply *ask(redisContext *redis, const char *format, va_list args)
{
    redisReply *reply = redisvCommand(redis, format, args);

    if (reply == NULL)
        errx(1, "no answer: %s", redis->errstr);
    if (reply->type == REDIS_REPLY_ERROR)
        errx(1, "refused: %s", reply->str);
    return reply;
}

void server_do(redisContext *redis, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    freeReplyObject(ask(redis, format, args));
    va_end(args);
}

static redisReply *info(redisContext *redis, const char *format, ...)
{
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = ask(redis, format, args);
    va_end(args);
    if (reply->type != REDIS_REPLY_STRING)
        errx(1, "INFO does not answer with a text");
    return reply;
}

static double number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);

    return at == NULL ? 0 : strtod(at + strlen(word), NULL);
}

uint64_t server_busy_ns(redisContext *redis)
{
    redisReply *reply = info(redis, "INFO cpu");
    double s = number_after(reply->str, "used_cpu_sys:") +
               number_after(reply->str, "used_cpu_user:");

    freeReplyObject(reply);
    return (uint64_t)(s * 1e9);
}

uint64_t server_preempted(void)
{
    static const char word[] = "nonvoluntary_ctxt_switches:";
    char path[64], line[256];
    uint64_t count = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    file = fopen(path, "re");
    if (file == NULL)
        errx(1, "cannot read %s", path);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, word, strlen(word)) == 0)
            count = strtoull(line + strlen(word), NULL, 10);
    }
    (void)fclose(file);
    return count;
}

script_stats server_scripts(redisContext *redis)
{
    static const char *const lines[] = {"cmdstat_evalsha:", "cmdstat_eval:"};
    redisReply *reply = info(redis, "INFO commandstats");
    script_stats stats = {.calls = 0};

    for (int i = 0; i < 2; i++) {
        const char *line = strstr(reply->str, lines[i]);

        if (line == NULL)
            continue;
        stats.calls += (uint64_t)number_after(line, "calls=");
        stats.us += (uint64_t)number_after(line, "usec=");
    }
    freeReplyObject(reply);
    return stats;
}
