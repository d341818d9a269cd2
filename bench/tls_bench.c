/* SPDX-License-Identifier: MIT */

/*
 * What TLS costs: locks that one client takes and gives back, one by a thread that
 * waits for it, or 1, 16 and 128 at the same time, over TCP and over TLS; and a
 * bare client beside it, at the same server. All four take turns. What is lost is
 * the median over the rounds of what one round lost.
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bare_scripts.h"
#include "measure.h"
#include "server.h"
#include "tls_bare.h"

enum { ROUNDS = 9, QUICK_ROUNDS = 3, LOOPS_MAX = 128, TRANSPORTS = 2 };

/* A machine that others use may give the server no time for a while. */
#define PATIENCE "command_timeout_ms=60000"

static char folder[64], certificate[128], key[128];
static char urls[TRANSPORTS][320];
static unsigned ports[TRANSPORTS];

static void must(lk_status status, const char *what)
{
    if (status != LK_OK)
        errx(1, "%s: %s: %s", what, lk_status_text(status), lk_last_error());
}

/* ---- the server ----------------------------------------------------------- */

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

static void certificate_drop(void)
{
    (void)unlink(certificate);
    (void)unlink(key);
    (void)rmdir(folder);
}

static void openssl_run(void *data)
{
    (void)data;
    if (freopen("/dev/null", "w", stderr) == NULL)
        _exit(127);
    (void)execlp("openssl", "openssl", "req", "-x509", "-newkey", "rsa:2048",
                 "-nodes", "-days", "2", "-subj", "/CN=bench", "-addext",
                 "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
                 certificate, (char *)NULL);
    _exit(127);
}

static void certificate_make(void)
{
    (void)snprintf(folder, sizeof(folder), "/tmp/latchkey-bench-XXXXXX");
    if (mkdtemp(folder) == NULL || atexit(certificate_drop) != 0)
        err(1, "no directory");
    (void)snprintf(certificate, sizeof(certificate), "%s/crt", folder);
    (void)snprintf(key, sizeof(key), "%s/key", folder);
    run_apart(openssl_run, NULL);
}

static void ports_open(void)
{
    redisContext *redis = server_connect();

    ports[0] = port_find();
    ports[1] = port_find();
    scripts_load(redis);
    server_do(redis, "CONFIG SET port %u", ports[0]);
    server_do(redis,
              "CONFIG SET tls-cert-file %s tls-key-file %s tls-ca-cert-file "
              "%s tls-auth-clients no tls-port %u",
              certificate, key, certificate, ports[1]);
    redisFree(redis);
    (void)snprintf(urls[0], sizeof(urls[0]), "redis://127.0.0.1:%u?" PATIENCE,
                   ports[0]);
    (void)snprintf(urls[1], sizeof(urls[1]),
                   "rediss://127.0.0.1:%u?" PATIENCE "&tls_ca_file=%s",
                   ports[1], certificate);
}

/* ---- loops ---------------------------------------------------------------- */

struct loop {
    lk_lock *lock;
    atomic_bool *over;
    atomic_uint *running;
    atomic_ullong *pairs;
};

static void on_held(lk_status status, lk_hold *hold, void *data);

static void loop_turn(struct loop *loop)
{
    if (atomic_load(loop->over))
        (void)atomic_fetch_sub(loop->running, 1);
    else
        must(lk_lock_acquire_async(loop->lock, LK_FOREVER, NULL, on_held, loop),
             "acquire");
}

static void on_released(lk_status status, void *data)
{
    struct loop *loop = data;

    must(status, "release");
    (void)atomic_fetch_add(loop->pairs, 1);
    loop_turn(loop);
}

static void on_held(lk_status status, lk_hold *hold, void *data)
{
    must(status, "acquire");
    must(lk_hold_release_async(hold, on_released, data), "release");
}

static lk_client *client_open(const char *url)
{
    lk_client *client;

    must(lk_client_open(&client, url, NULL), "open");
    must(lk_client_wait_ready(client, 10000), "ready");
    return client;
}

/* Pairs of acquire and release in a second, begun by callbacks. */
static double loops_rate(const char *url, unsigned depth)
{
    struct loop loops[LOOPS_MAX];
    atomic_bool over = false;
    atomic_uint running = depth;
    atomic_ullong pairs = 0;
    lk_client *client = client_open(url);
    uint64_t began, first;
    double rate;

    for (unsigned i = 0; i < depth; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "loop:%u", i);
        loops[i] =
            (struct loop){.over = &over, .running = &running, .pairs = &pairs};
        must(lk_lock_new(&loops[i].lock, client, name, NULL), "lock");
        loop_turn(&loops[i]);
    }
    sleep_ns(scaled_ns(WARM_UP_NS));
    began = now_ns();
    first = atomic_load(&pairs);
    sleep_ns(scaled_ns(ROUND_NS));
    rate = (double)(atomic_load(&pairs) - first) * 1e9 /
           (double)(now_ns() - began);
    atomic_store(&over, true);
    while (atomic_load(&running) > 0)
        sleep_ns(WARM_UP_NS / 100);
    for (unsigned i = 0; i < depth; i++)
        lk_lock_free(loops[i].lock);
    lk_client_free(client);
    return rate;
}

static uint64_t pairs_until(lk_lock *lock, uint64_t end)
{
    uint64_t pairs = 0;

    for (; now_ns() < end; pairs++) {
        lk_hold *hold;

        must(lk_lock_acquire(lock, LK_FOREVER, NULL, &hold), "acquire");
        must(lk_hold_release(hold), "release");
    }
    return pairs;
}

/* The same by this thread, which waits for each answer. */
static double thread_rate(const char *url)
{
    lk_client *client = client_open(url);
    uint64_t began, pairs;
    lk_lock *lock;
    double rate;

    must(lk_lock_new(&lock, client, "thread", NULL), "lock");
    (void)pairs_until(lock, now_ns() + scaled_ns(WARM_UP_NS));
    began = now_ns();
    pairs = pairs_until(lock, began + scaled_ns(ROUND_NS));
    rate = (double)pairs * 1e9 / (double)(now_ns() - began);
    lk_lock_free(lock);
    lk_client_free(client);
    return rate;
}

/* ---- the table ------------------------------------------------------------ */

/* Two of Latchkey and two of the bare client, without TLS and with it. */
enum { WAYS = 2 * TRANSPORTS };

/* depth 0: one by a thread that waits. */
static double rate(unsigned way, unsigned depth)
{
    unsigned transport = way % TRANSPORTS;

    if (way >= TRANSPORTS)
        return tls_bare_rate(ports[transport],
                             transport == 1 ? certificate : NULL,
                             depth > 0 ? depth : 1);
    return depth > 0 ? loops_rate(urls[transport], depth)
                     : thread_rate(urls[transport]);
}

static void row(const char *name, unsigned depth)
{
    unsigned rounds = is_quick() ? QUICK_ROUNDS : ROUNDS;
    double rates[WAYS][ROUNDS], lost[2][ROUNDS];

    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < WAYS; i++)
            rates[(i + round) % WAYS][round] = rate((i + round) % WAYS, depth);
        for (size_t i = 0; i < 2; i++)
            lost[i][round] =
                100 * (1 - rates[2 * i + 1][round] / rates[2 * i][round]);
    }
    printf("| %s |", name);
    for (size_t i = 0; i < 2; i++)
        printf(" %.0f | %.0f | %.1f |", quantile(rates[2 * i], rounds, 0.5),
               quantile(rates[2 * i + 1], rounds, 0.5),
               quantile(lost[i], rounds, 0.5));
    printf("\n");
    (void)fflush(stdout);
}

int main(void)
{
    server_start();
    certificate_make();
    ports_open();
    printf("| at once | TCP, pairs/s | TLS | slower, %% | bare TCP | bare TLS "
           "| slower, %% |\n"
           "|---|---|---|---|---|---|---|\n");
    row("1, a thread waits", 0);
    row("1", 1);
    row("16", 16);
    row("128", 128);
    return EXIT_SUCCESS;
}
