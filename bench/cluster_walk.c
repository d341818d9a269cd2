/* SPDX-License-Identifier: MIT */
#include "cluster_walk.h"

#include <latchkey/latchkey.h>

#include <err.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include "cluster_ring.h"
#include "measure.h"
#include "pings.h"
#include "server.h"

enum {
    TURNS = 16,
    LIST_WAIT_MS = 30000,
    TICK_NS = 1000000,
    SETTLE_NS = 50000000
};

#define MOST_NS UINT64_C(80000000000) /* for all turns; later none begins */

/* What is said to the process that lists, and what it says. */
typedef struct told {
    atomic_bool wanted, is_idle;
    atomic_ullong lists, ns, busy_ns;
} told;

enum { ALONE, COMPUTING, LISTING, SORTS };

typedef struct walk {
    unsigned masters, names;
    redisContext *to[RING_MOST];
    told *told;
    pings sorts[SORTS];
} walk;

/* ---- who works beside it ------------------------------------------------------------ */

static void list_once(const walk *w, lk_client *client)
{
    uint64_t begin = now_ns();
    lk_listing *listing;

    if (lk_list(client, LIST_WAIT_MS, NULL, &listing) != LK_OK)
        errx(1, "list: %s", lk_last_error());
    if (listing->count != w->names || listing->missing[0] != '\0')
        errx(1, "%zu names were listed: %s", listing->count, listing->missing);
    lk_listing_free(listing);
    (void)atomic_fetch_add(&w->told->ns, now_ns() - begin);
    (void)atomic_fetch_add(&w->told->lists, 1);
}

/* While it is wanted. */
static void list_forever(const walk *w)
{
    lk_client *client;

    if (lk_client_open(&client, ring_url(), NULL) != LK_OK ||
        lk_client_wait_ready(client, LIST_WAIT_MS) != LK_OK)
        errx(1, "client: %s", lk_last_error());
    for (;;) {
        bool wanted = atomic_load(&w->told->wanted);

        atomic_store(&w->told->busy_ns, own_busy_ns());
        atomic_store(&w->told->is_idle, !wanted);
        if (wanted)
            list_once(w, client);
        else
            sleep_ns(TICK_NS);
    }
}

static void compute_forever(const walk *w)
{
    volatile unsigned number = w->names;

    for (;;)
        number = number * 3 + 1;
}

/* Until it is killed; fn does not return. */
static pid_t process_start(void (*fn)(const walk *w), const walk *w)
{
    pid_t parent = getpid(), pid;

    (void)fflush(stdout);
    pid = fork();
    if (pid < 0)
        err(1, "fork");
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            fn(w);
        _exit(1);
    }
    return pid;
}

/* ---- turns ---------------------------------------------------------------------------- */

static void turn_computing(walk *w, unsigned turn)
{
    pid_t pid = process_start(compute_forever, w);

    sleep_ns(SETTLE_NS);
    pings_turn(&w->sorts[COMPUTING], w->to, w->masters, turn);
    child_kill(pid);
}

/* The last list of the turn comes to its end behind it. */
static void turn_listing(walk *w, unsigned turn)
{
    atomic_store(&w->told->is_idle, false);
    atomic_store(&w->told->wanted, true);
    sleep_ns(SETTLE_NS);
    pings_turn(&w->sorts[LISTING], w->to, w->masters, turn);
    atomic_store(&w->told->wanted, false);
    while (!atomic_load(&w->told->is_idle))
        sleep_ns(TICK_NS);
}

/* Of this process, its children and the masters. */
static uint64_t busy_ns(const walk *w)
{
    uint64_t ns = own_busy_ns() + atomic_load(&w->told->busy_ns);

    for (unsigned i = 0; i < w->masters; i++)
        ns += server_busy_ns(w->to[i]);
    return ns;
}

/* One of each; returns how many processors others used. */
static double turns_take(walk *w, unsigned turn)
{
    uint64_t begin = now_ns(), machine = machine_busy_ns();
    uint64_t known = busy_ns(w);

    pings_turn(&w->sorts[ALONE], w->to, w->masters, turn);
    turn_computing(w, turn);
    turn_listing(w, turn);
    return foreign_part(machine_busy_ns() - machine, busy_ns(w) - known, 0,
                        now_ns() - begin);
}

/* ---- what the masters say ------------------------------------------------------------- */

/* What is asked here and not by the lists. */
static bool is_own(const char *name)
{
    return strncmp(name, "info:", 5) == 0 || strncmp(name, "config|", 7) == 0;
}

/* Of all commands the one with the longest p99.9, as the master itself counts. A
   server that does not count says nothing. */
static void slowest_show(redisContext *redis, unsigned master)
{
    static const char line[] = "latency_percentiles_usec_";
    redisReply *reply = redisCommand(redis, "INFO latencystats");
    char slowest[128] = "";
    double most = -1;

    if (reply == NULL || reply->str == NULL)
        errx(1, "INFO: %s", redis->errstr);
    for (const char *at = reply->str; (at = strstr(at, line)) != NULL;) {
        const char *worst;

        at += strlen(line);
        worst = strstr(at, "p99.9=");
        if (worst == NULL || is_own(at) || strtod(worst + 6, NULL) <= most)
            continue;
        most = strtod(worst + 6, NULL);
        (void)snprintf(slowest, sizeof(slowest), "%.*s",
                       (int)strcspn(at, "\r\n"), at);
    }
    printf("  master %u: its longest command, in us: %s\n", master + 1,
           slowest);
    freeReplyObject(reply);
}

static void report(walk *w, unsigned turns, double limit)
{
    unsigned long long lists = atomic_load(&w->told->lists);

    printf("the quieter half of %u turns: others used up to %.2f processors\n",
           turns, limit);
    pings_show("alone", &w->sorts[ALONE]);
    pings_show("beside a process that computes", &w->sorts[COMPUTING]);
    pings_show("beside lists without a pause", &w->sorts[LISTING]);
    printf("p99.9 of the lists above that of computing: %.3f ms, above that of "
           "nothing: %.3f ms\n",
           pings_at(&w->sorts[LISTING], 0.999) -
               pings_at(&w->sorts[COMPUTING], 0.999),
           pings_at(&w->sorts[LISTING], 0.999) -
               pings_at(&w->sorts[ALONE], 0.999));
    printf("%llu lists of %u names, %.0f ms each\n", lists, w->names,
           lists > 0 ? (double)atomic_load(&w->told->ns) / 1e6 / (double)lists
                     : 0);
    for (unsigned i = 0; i < w->masters; i++)
        slowest_show(w->to[i], i);
}

static void walk_open(walk *w)
{
    w->told = shared_new(sizeof(told));
    for (int i = 0; i < SORTS; i++)
        w->sorts[i] = pings_new(TURNS);
    for (unsigned i = 0; i < w->masters; i++) {
        w->to[i] = ring_connect(i);
        server_do(w->to[i], "CONFIG RESETSTAT");
    }
}

static void walk_close(walk *w)
{
    for (unsigned i = 0; i < w->masters; i++)
        redisFree(w->to[i]);
    for (int i = 0; i < SORTS; i++)
        pings_free(&w->sorts[i]);
    shared_free(w->told, sizeof(told));
}

void walk_show(unsigned masters, unsigned names)
{
    walk w = {.masters = masters, .names = names};
    const unsigned most = is_quick() ? TURNS / 10 : TURNS;
    const uint64_t until = now_ns() + MOST_NS;
    unsigned turns = 0;
    double noise[TURNS], sorted[TURNS], limit;
    pid_t lister;

    walk_open(&w);
    lister = process_start(list_forever, &w);
    if (!hurry())
        printf("the PING has no priority: it waits for a processor as well\n");
    for (; turns < most && (turns == 0 || now_ns() < until); turns++)
        sorted[turns] = noise[turns] = turns_take(&w, turns);
    child_kill(lister);
    limit = quantile(sorted, turns, 0.5);
    for (int i = 0; i < SORTS; i++)
        pings_settle(&w.sorts[i], noise, limit, turns);
    report(&w, turns, limit);
    walk_close(&w);
}
