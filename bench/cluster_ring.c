/* SPDX-License-Identifier: MIT */

/* A private cluster, and what its masters say of themselves. */

#include "cluster_ring.h"

#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"

enum {
    SLOTS = 16384,
    BUS_ABOVE = 10000,
    FIRST_PORT = 21000,
    LAST_PORT = 29000,
    TRIES = 500,
    LOOK_NS = 20000000
};

typedef struct node {
    pid_t pid;
    unsigned port;
    char directory[64];
    redisContext *redis;
} node;

static node nodes[RING_MOST];
static unsigned count;
static pid_t owner;
static char url[256];

/* ---- life ----------------------------------------------------------------------- */

static bool is_free(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool was_bound;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    was_bound =
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0;
    (void)close(fd);
    return was_bound;
}

static unsigned port_find(void)
{
    static unsigned next = FIRST_PORT;

    for (; next < LAST_PORT; next++) {
        if (is_free(next) && is_free(next + BUS_ABOVE))
            return next++;
    }
    errx(1, "no port is free");
}

static void exec_node(const node *n, pid_t parent)
{
    int null = open("/dev/null", O_RDWR);
    char port[8];

    (void)snprintf(port, sizeof(port), "%u", n->port);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || null < 0 || dup2(null, 0) < 0 ||
        dup2(null, 1) < 0)
        _exit(127);
    (void)execlp("redis-server", "redis-server", "--port", port, "--bind",
                 "127.0.0.1", "--dir", n->directory, "--save", "",
                 "--appendonly", "no", "--cluster-enabled", "yes",
                 "--cluster-node-timeout", "15000", "--maxclients", "20000",
                 (char *)NULL);
    _exit(127);
}

static redisContext *node_connect(const node *n)
{
    for (int i = 0; i < TRIES; i++) {
        redisContext *redis = redisConnect("127.0.0.1", (int)n->port);

        if (redis != NULL && redis->err == 0)
            return redis;
        redisFree(redis);
        sleep_ns(LOOK_NS);
    }
    errx(1, "redis-server does not start");
}

static void node_start(node *n)
{
    n->port = port_find();
    (void)snprintf(n->directory, sizeof(n->directory),
                   "/tmp/latchkey-bench-XXXXXX");
    if (mkdtemp(n->directory) == NULL)
        errx(1, "cannot make a directory in /tmp");
    n->pid = fork();
    if (n->pid == 0)
        exec_node(n, owner);
    if (n->pid < 0)
        errx(1, "cannot start a server");
    n->redis = node_connect(n);
}

void ring_stop(void)
{
    char path[96];

    if (getpid() != owner)
        return;
    for (unsigned i = 0; i < count; i++) {
        redisFree(nodes[i].redis);
        child_kill(nodes[i].pid);
        (void)snprintf(path, sizeof(path), "%s/nodes.conf", nodes[i].directory);
        (void)unlink(path);
        (void)rmdir(nodes[i].directory);
    }
    count = 0;
}

/* The text or the status that is answered; the caller's. */
static char *say(redisContext *redis, const char *command)
{
    redisReply *reply = redisCommand(redis, command);
    char *text;

    if (reply == NULL || reply->str == NULL || reply->type == REDIS_REPLY_ERROR)
        errx(1, "%s: %s", command,
             reply != NULL && reply->str != NULL ? reply->str : redis->errstr);
    text = strdup(reply->str);
    freeReplyObject(reply);
    if (text == NULL)
        errx(1, "no memory");
    return text;
}

static void tell(redisContext *redis, const char *command)
{
    free(say(redis, command));
}

static void wait_ok(redisContext *redis)
{
    for (int i = 0; i < TRIES; i++) {
        char *text = say(redis, "CLUSTER INFO");
        bool is_ok = strstr(text, "cluster_state:ok") != NULL;

        free(text);
        if (is_ok)
            return;
        sleep_ns(LOOK_NS);
    }
    errx(1, "the cluster does not come together");
}

static void nodes_meet(void)
{
    char command[64];

    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(command, sizeof(command), "CLUSTER ADDSLOTSRANGE %u %u",
                       SLOTS * i / count, SLOTS * (i + 1) / count - 1);
        tell(nodes[i].redis, command);
        (void)snprintf(command, sizeof(command), "CLUSTER SET-CONFIG-EPOCH %u",
                       i + 1);
        tell(nodes[i].redis, command);
        (void)snprintf(command, sizeof(command), "CLUSTER MEET 127.0.0.1 %u",
                       nodes[i].port);
        if (i > 0)
            tell(nodes[0].redis, command);
    }
    for (unsigned i = 0; i < count; i++)
        wait_ok(nodes[i].redis);
}

void ring_start(unsigned masters)
{
    size_t size;

    if (owner == 0 && atexit(ring_stop) != 0)
        errx(1, "cannot start a cluster");
    owner = getpid();
    for (count = 0; count < masters; count++)
        node_start(&nodes[count]);
    nodes_meet();
    (void)snprintf(url, sizeof(url), "redis+cluster://");
    for (unsigned i = 0; i < count; i++) {
        size = strlen(url);
        (void)snprintf(url + size, sizeof(url) - size, "%s127.0.0.1:%u",
                       i > 0 ? "," : "", nodes[i].port);
    }
}

const char *ring_url(void)
{
    return url;
}

redisContext *ring_connect(unsigned master)
{
    return node_connect(&nodes[master]);
}

/* ---- what they say ----------------------------------------------------------------- */

/* The number behind a word in a line that begins so; 0: there is none. */
static double number(const char *text, const char *line, const char *word)
{
    const char *at = strstr(text, line);

    at = at != NULL ? strstr(at, word) : NULL;
    return at != NULL ? strtod(at + strlen(word), NULL) : 0;
}

static uint64_t whole(const char *text, const char *line, const char *word)
{
    return (uint64_t)number(text, line, word);
}

ring_look ring_see(unsigned master)
{
    char *info = say(nodes[master].redis, "INFO everything");
    char *bus = say(nodes[master].redis, "CLUSTER INFO");
    ring_look look = {
        .at = now_ns(),
        .scripts = whole(info, "cmdstat_evalsha:", "calls=") +
                   whole(info, "cmdstat_eval:", "calls="),
        .script_us = whole(info, "cmdstat_evalsha:", "usec=") +
                     whole(info, "cmdstat_eval:", "usec="),
        .maps = whole(info, "cmdstat_cluster|slots:", "calls="),
        .map_us = whole(info, "cmdstat_cluster|slots:", "usec="),
        .sent = whole(info, "total_net_output_bytes:", ":"),
        .busy_ns = (uint64_t)(1e9 * (number(info, "used_cpu_sys:", ":") +
                                     number(info, "used_cpu_user:", ":"))),
        .memory = whole(info, "used_memory:", ":"),
        .keys = whole(info, "db0:", "keys="),
        .clients = whole(info, "connected_clients:", ":"),
        .bus_messages = whole(bus, "cluster_stats_messages_publish_sent:", ":"),
    };

    free(info);
    free(bus);
    return look;
}

ring_look ring_between(const ring_look *a, const ring_look *b)
{
    ring_look d = *b;

    d.at -= a->at;
    d.scripts -= a->scripts;
    d.script_us -= a->script_us;
    d.maps -= a->maps;
    d.map_us -= a->map_us;
    d.sent -= a->sent;
    d.busy_ns -= a->busy_ns;
    d.bus_messages -= a->bus_messages;
    return d;
}
