/* SPDX-License-Identifier: MIT */

/*
 * What TLS costs: 1, 16 and 128 locks that one client takes and gives back at
 * the same time, over TCP and over TLS in turns, at one server. The last column
 * is the median over the rounds of what one round lost.
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure.h"
#include "server.h"

enum { ROUNDS = 9, QUICK_ROUNDS = 3, LOOPS_MAX = 128, TRANSPORTS = 2 };

#define WARM_UP_NS UINT64_C(200000000)
#define ROUND_NS   UINT64_C(1000000000)

static const unsigned depths[] = {1, 16, 128};

static char folder[64], certificate[128], key[128];
static char urls[TRANSPORTS][320];

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
    unsigned plain = port_find();
    unsigned tls = port_find();

    server_do(redis, "CONFIG SET port %u", plain);
    server_do(redis,
              "CONFIG SET tls-cert-file %s tls-key-file %s tls-ca-cert-file "
              "%s tls-auth-clients no tls-port %u",
              certificate, key, certificate, tls);
    redisFree(redis);
    (void)snprintf(urls[0], sizeof(urls[0]), "redis://127.0.0.1:%u", plain);
    (void)snprintf(urls[1], sizeof(urls[1]),
                   "rediss://127.0.0.1:%u?tls_ca_file=%s", tls, certificate);
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

/* Pairs of acquire and release in a second. */
static double rate(const char *url, unsigned depth)
{
    struct loop loops[LOOPS_MAX];
    atomic_bool over = false;
    atomic_uint running = depth;
    atomic_ullong pairs = 0;
    lk_client *client;
    uint64_t began, first;
    double rate;

    must(lk_client_open(&client, url, NULL), "open");
    must(lk_client_wait_ready(client, 10000), "ready");
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

/* ---- the table ------------------------------------------------------------ */

static void row(unsigned depth)
{
    unsigned rounds = is_quick() ? QUICK_ROUNDS : ROUNDS;
    double rates[TRANSPORTS][ROUNDS], lost[ROUNDS];

    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned i = 0; i < TRANSPORTS; i++) {
            unsigned which = (i + round) % TRANSPORTS;

            rates[which][round] = rate(urls[which], depth);
        }
        lost[round] = 100 * (1 - rates[1][round] / rates[0][round]);
    }
    printf("| %u | %.0f | %.0f | %.1f |\n", depth,
           quantile(rates[0], rounds, 0.5), quantile(rates[1], rounds, 0.5),
           quantile(lost, rounds, 0.5));
    (void)fflush(stdout);
}

int main(void)
{
    server_start();
    certificate_make();
    ports_open();
    printf("| at once | TCP, pairs/s | TLS, pairs/s | slower, %% |\n"
           "|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
        row(depths[i]);
    return EXIT_SUCCESS;
}
