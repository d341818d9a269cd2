/* SPDX-License-Identifier: MIT */

/*
 * A cluster: what its masters have to do for a pair of acquire and release, for very
 * many holds, for a client that is there, and for a look at all names. Four scenes:
 *
 *   pairs    1, 2 and 3 masters; two processes with 256 loops each that acquire and
 *            release names of their own, spread over all slots
 *   holds    3 masters; one client takes 1,000,000 names and keeps them, while its
 *            watchdog renews
 *   clients  3 masters; 200 clients that are there, and then with a hold and a wait
 *            each, for twenty seconds
 *   walk     3 masters with 100,000 names; what a PING of another client takes while
 *            all of them are listed, and while not; a minute and a half
 *
 * cluster_bench [pairs|holds|clients|walk] [--holds N] [--watchdog MS]
 *
 * Where processors are fewer than servers and clients, the wall clock says little:
 * what counts is the work of each master for one pair.
 */

#include <latchkey/latchkey.h>

#include <err.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cluster_ring.h"
#include "cluster_walk.h"
#include "measure.h"

#define SECOND UINT64_C(1000000000)

enum {
    MASTERS = 3,
    PROCESSES = 2,
    LOOPS = 256,
    HOLDS = 1000000,
    UNDER_WAY = 4096,
    CLIENTS = 200,
    NAMES = 100000, /* that are listed */
    NAMES_MS = 3600000,
    WATCHDOG_MS = 180000, /* of the holds: a third of that between renewals */
    WAIT_MS = 60000,
    PATIENCE_S = 900,
    TICK_NS = 10000000,
    QUICK = 10 /* times less */
};

typedef struct plan plan;

typedef struct scene {
    const char *name;
    void (*fn)(const plan *p);
} scene;

struct plan {
    const char *scene; /* NULL: all */
    unsigned holds;
    uint64_t watchdog_ms;
    const scene *now;
};

typedef struct shared {
    atomic_ullong pairs;
    atomic_uint ready, held;
} shared;

static shared *common;

static void must(lk_status status, const char *what)
{
    if (status != LK_OK)
        errx(1, "%s: %s", what, lk_last_error());
}

static lk_client *client_open(uint64_t watchdog_ms)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = watchdog_ms,
                                       .command_timeout_ms = WAIT_MS};
    lk_client *client = NULL;

    must(lk_client_open(&client, ring_url(), &options), "open");
    return client;
}

static lk_lock *lock_new(lk_client *client, const char *kind, unsigned number)
{
    lk_lock *lock = NULL;
    char name[48];

    (void)snprintf(name, sizeof(name), "%s:%u", kind, number);
    must(lk_lock_new(&lock, client, name, NULL), "lock");
    return lock;
}

static void look(ring_look looks[], unsigned masters)
{
    for (unsigned i = 0; i < masters; i++)
        looks[i] = ring_see(i);
}

static double each(uint64_t all, double count)
{
    return count > 0 ? (double)all / count : 0;
}

/* ---- pairs ------------------------------------------------------------------------ */

static void pair_begin(lk_lock *lock);

static void on_released(lk_status status, void *data)
{
    must(status, "release");
    (void)atomic_fetch_add(&common->pairs, 1);
    pair_begin(data);
}

static void on_held(lk_status status, lk_hold *hold, void *data)
{
    must(status, "acquire");
    must(lk_hold_release_async(hold, on_released, data), "release");
}

static void pair_begin(lk_lock *lock)
{
    must(lk_lock_acquire_async(lock, WAIT_MS, NULL, on_held, lock), "acquire");
}

_Noreturn static void pairs_run(unsigned process)
{
    lk_client *client = client_open(0);

    for (unsigned i = 0; i < LOOPS; i++)
        pair_begin(lock_new(client, "pair", process * LOOPS + i));
    (void)atomic_fetch_add(&common->ready, 1);
    for (;;)
        (void)pause();
}

static pid_t process_start(unsigned number)
{
    pid_t parent = getpid(), pid;

    (void)fflush(stdout);
    pid = fork();
    if (pid < 0)
        errx(1, "no process");
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            pairs_run(number);
        _exit(1);
    }
    return pid;
}

static void pairs_row(unsigned master, const ring_look *d, double pairs)
{
    printf("  master %u: %7.0f pairs, %4.2f scripts and %5.3f maps a pair, "
           "%5.1f us in scripts, %5.1f us of its processor, %5.3f messages "
           "on the bus\n",
           master, pairs, each(d->scripts, pairs), each(d->maps, pairs),
           each(d->script_us, pairs), each(d->busy_ns, pairs) / 1e3,
           each(d->bus_messages, pairs));
}

/* Two scripts make a pair, wherever it is. */
static void pairs_report(unsigned masters, const ring_look *before,
                         const ring_look *after, unsigned long long pairs)
{
    ring_look d[RING_MOST] = {{.at = 0}};
    uint64_t scripts = 0, busy = 0, most = 0;

    for (unsigned i = 0; i < masters; i++) {
        d[i] = ring_between(&before[i], &after[i]);
        scripts += d[i].scripts;
        busy += d[i].busy_ns;
        most = d[i].busy_ns > most ? d[i].busy_ns : most;
    }
    printf("%u masters: %.0f pairs/s; a pair is %.2f scripts and %.1f us of "
           "all masters' processors, %.1f us of the busiest one's\n",
           masters, (double)pairs * 1e9 / (double)d[0].at,
           each(scripts, (double)pairs), each(busy, (double)pairs) / 1e3,
           each(most, (double)pairs) / 1e3);
    for (unsigned i = 0; i < masters; i++)
        pairs_row(i + 1, &d[i],
                  (double)pairs * each(d[i].scripts, (double)scripts));
}

static void pairs_of(unsigned masters)
{
    ring_look before[RING_MOST], after[RING_MOST];
    unsigned long long pairs;
    pid_t pids[PROCESSES];

    ring_start(masters);
    atomic_store(&common->ready, 0);
    for (unsigned i = 0; i < PROCESSES; i++)
        pids[i] = process_start(i);
    while (atomic_load(&common->ready) < PROCESSES)
        sleep_ns(TICK_NS);
    sleep_ns(scaled_ns(5 * SECOND));
    look(before, masters);
    pairs = atomic_load(&common->pairs);
    sleep_ns(scaled_ns(20 * SECOND));
    pairs = atomic_load(&common->pairs) - pairs;
    look(after, masters);
    for (unsigned i = 0; i < PROCESSES; i++)
        child_kill(pids[i]);
    pairs_report(masters, before, after, pairs);
    ring_stop();
}

static void pairs(const plan *p)
{
    (void)p;
    for (unsigned masters = 1; masters <= MASTERS; masters++)
        pairs_of(masters);
}

/* ---- holds ------------------------------------------------------------------------ */

static void on_kept(lk_status status, lk_hold *hold, void *data)
{
    (void)hold; /* until the process ends */
    (void)data;
    must(status, "acquire");
    (void)atomic_fetch_add(&common->held, 1);
}

/* lease_ms 0: they are renewed. */
static void keep(lk_client *client, unsigned holds, uint64_t lease_ms)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = lease_ms};
    uint64_t until = now_ns() + PATIENCE_S * SECOND;
    unsigned asked = 0;

    while (atomic_load(&common->held) < holds) {
        while (asked < holds &&
               asked - atomic_load(&common->held) < UNDER_WAY) {
            lk_lock *lock = lock_new(client, "kept", asked++);

            must(lk_lock_acquire_async(lock, LK_FOREVER, &options, on_kept,
                                       NULL),
                 "acquire");
            lk_lock_free(lock);
        }
        if (now_ns() > until)
            errx(1, "%u holds in %d s, and no more", atomic_load(&common->held),
                 PATIENCE_S);
        sleep_ns(TICK_NS / 10);
    }
}

/* What is resident, in bytes. */
static uint64_t own_memory(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    char line[128];
    char *at = line;

    if (file == NULL || fgets(line, sizeof(line), file) == NULL)
        errx(1, "cannot read /proc/self/statm");
    (void)fclose(file);
    (void)strtoull(at, &at, 10);
    return strtoull(at, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void masters_row(const char *what, const ring_look *before,
                        const ring_look *after, unsigned holds)
{
    for (unsigned i = 0; i < MASTERS; i++) {
        ring_look d = ring_between(&before[i], &after[i]);
        double s = (double)d.at / 1e9;
        double here = (double)holds / MASTERS;

        printf("  %s, master %u: %llu keys, %.0f bytes a name, %.0f scripts/s "
               "of %.1f us each, %.1f %% of a processor\n",
               what, i + 1, (unsigned long long)d.keys,
               ((double)after[i].memory - (double)before[i].memory) / here,
               (double)d.scripts / s, each(d.script_us, (double)d.scripts),
               100 * (double)d.busy_ns / (double)d.at);
    }
}

/* A third of the watchdog's time has all of them renewed once. */
static void renew(lk_client *client, unsigned holds, uint64_t watchdog_ms)
{
    ring_look before[MASTERS], after[MASTERS];
    lk_client_stats a = {.size = sizeof(a)}, b = {.size = sizeof(b)};
    uint64_t busy = own_busy_ns(), at = now_ns();

    look(before, MASTERS);
    must(lk_client_stats_get(client, &a), "stats");
    sleep_ns(UINT64_C(1000000) * watchdog_ms / 3 * 2);
    look(after, MASTERS);
    must(lk_client_stats_get(client, &b), "stats");
    at = now_ns() - at;
    printf("  renewals: %.0f/s, %llu holds lost, %llu before; the client used "
           "%.1f %% of a processor\n",
           (double)(b.renewals - a.renewals) * 1e9 / (double)at,
           (unsigned long long)(b.losses - a.losses),
           (unsigned long long)a.losses,
           100 * (double)(own_busy_ns() - busy) / (double)at);
    masters_row("renewing", before, after, holds);
}

static void holds(const plan *p)
{
    const unsigned count = p->holds;
    ring_look before[MASTERS], after[MASTERS];
    lk_client *client;
    uint64_t began, busy, memory;

    ring_start(MASTERS);
    client = client_open(p->watchdog_ms);
    must(lk_client_wait_ready(client, WAIT_MS), "ready");
    look(before, MASTERS);
    memory = own_memory();
    began = now_ns();
    busy = own_busy_ns();
    keep(client, count, 0);
    printf("%u holds of one client in %.1f s, %.1f us of its processor and "
           "%.0f bytes of its memory each\n",
           count, (double)(now_ns() - began) / 1e9,
           each(own_busy_ns() - busy, count) / 1e3,
           each(own_memory() - memory, count));
    look(after, MASTERS);
    masters_row("taking", before, after, count);
    (void)fflush(stdout);
    renew(client, count, p->watchdog_ms);
    ring_stop(); /* nobody gives the holds back */
}

/* ---- clients that are there ---------------------------------------------------------- */

static lk_client *all[CLIENTS];

static void clients_open(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        all[i] = client_open(0);
    for (unsigned i = 0; i < count; i++)
        must(lk_client_wait_ready(all[i], WAIT_MS), "ready");
}

/* One has what all want. */
static void clients_want(unsigned count)
{
    atomic_store(&common->held, 0);
    for (unsigned i = 0; i < count; i++) {
        must(lk_lock_acquire_async(lock_new(all[i], "own", i), LK_FOREVER, NULL,
                                   on_kept, NULL),
             "acquire");
        must(lk_lock_acquire_async(lock_new(all[i], "all", 0), LK_FOREVER, NULL,
                                   on_kept, NULL),
             "acquire");
    }
    while (atomic_load(&common->held) < count + 1)
        sleep_ns(TICK_NS);
}

/* What they cost from now on, and what they have since there were none. */
static void clients_see(const char *what, unsigned count, const ring_look *none,
                        uint64_t memory)
{
    ring_look before[MASTERS], after[MASTERS];
    uint64_t busy;

    sleep_ns(scaled_ns(5 * SECOND));
    look(before, MASTERS);
    busy = own_busy_ns();
    sleep_ns(scaled_ns(20 * SECOND));
    look(after, MASTERS);
    printf("%u clients that %s: %.0f KB of memory each, %.2f %% of a processor "
           "each\n",
           count, what, each(own_memory() - memory, count) / 1024,
           100 *
               each(own_busy_ns() - busy,
                    (double)(after[0].at - before[0].at)) /
               count);
    for (unsigned i = 0; i < MASTERS; i++) {
        ring_look d = ring_between(&before[i], &after[i]);
        double s = (double)d.at / 1e9;

        printf("  master %u: %.2f connections and %.1f KB a client; for each "
               "of them %.2f scripts/s and %.2f CLUSTER SLOTS/s of %.1f us, "
               "%.0f us/s of a processor and %.0f bytes/s sent\n",
               i + 1, each(d.clients - none[i].clients, count),
               each(d.memory - none[i].memory, count) / 1024,
               each(d.scripts, count) / s, each(d.maps, count) / s,
               each(d.map_us, (double)d.maps), each(d.busy_ns, count) / 1e3 / s,
               each(d.sent, count) / s);
    }
}

static void clients(const plan *p)
{
    const unsigned count = is_quick() ? CLIENTS / QUICK : CLIENTS;
    ring_look none[MASTERS];
    uint64_t memory;

    (void)p;
    ring_start(MASTERS);
    look(none, MASTERS);
    memory = own_memory();
    clients_open(count);
    clients_see("do nothing", count, none, memory);
    clients_want(count);
    clients_see("hold and wait", count, none, memory);
    ring_stop();
}

/* ---- a look at all names ---------------------------------------------------------------- */

/* They stay when whoever took them has gone. */
_Noreturn static void names_take(unsigned count)
{
    keep(client_open(0), count, NAMES_MS);
    _exit(0);
}

static void names_make(unsigned count)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        names_take(count);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
        errx(1, "the names could not be taken");
}

static void walk(const plan *p)
{
    const unsigned count = is_quick() ? NAMES / QUICK : NAMES;

    (void)p;
    ring_start(MASTERS);
    atomic_store(&common->held, 0);
    names_make(count);
    wait_for_quiet();
    walk_show(MASTERS, count);
    ring_stop();
}

/* ---- the whole ------------------------------------------------------------------------ */

static void play(void *data)
{
    const plan *p = data;

    p->now->fn(p);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    static const scene scenes[] = {{"pairs", pairs},
                                   {"holds", holds},
                                   {"clients", clients},
                                   {"walk", walk}};
    plan p = {.holds = is_quick() ? HOLDS / QUICK / QUICK : HOLDS,
              .watchdog_ms = is_quick() ? WATCHDOG_MS / QUICK : WATCHDOG_MS};

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--holds") == 0 && i + 1 < argc)
            p.holds = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--watchdog") == 0 && i + 1 < argc)
            p.watchdog_ms = strtoull(argv[++i], NULL, 10);
        else
            p.scene = argv[i];
    }
    common = shared_new(sizeof(*common));
    for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        p.now = &scenes[i];
        if (p.scene != NULL && strcmp(p.scene, scenes[i].name) != 0)
            continue;
        printf("%s\n", scenes[i].name);
        (void)fflush(stdout);
        run_apart(play, &p);
    }
    return 0;
}
