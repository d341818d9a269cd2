/* SPDX-License-Identifier: MIT */

/*
 * The hand-over: processes that all want one name. Each notes how long it took
 * from the moment at which the one before it began to release until it had the
 * lock, and what its client counts. It also looks whether it is alone.
 */

#include <err.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lock_rows.h"
#include "measure.h"
#include "server.h"

enum {
    SAMPLES = 4096, /* of each process: the last ones are kept */
    STEP_NS = 10000000,
    START_STEPS = 6000,
    WARM_UP_NS = 300000000
};

/* One process' part of the shared memory. */
struct member {
    _Alignas(64) atomic_ullong holds; /* a cache line of its own */
    atomic_ullong rechecks, busy_ns;
    unsigned samples[SAMPLES]; /* ns, of hold number i at i % SAMPLES */
};

struct scene {
    unsigned processes;
    uint64_t hold_ns, ns;
    int cpu;
    handover result;

    atomic_uint ready;
    atomic_bool go, failed;
    atomic_uint inside;
    atomic_ullong released_at; /* 0: not yet */
    struct member members[];
};

/* ---- one process ------------------------------------------------------------- */

static void note(struct scene *scene, struct member *member)
{
    unsigned long long at = atomic_exchange(&scene->released_at, 0);
    unsigned long long number = atomic_load(&member->holds);
    uint64_t now = now_ns();

    if (atomic_fetch_add(&scene->inside, 1) != 0)
        atomic_store(&scene->failed, true);
    member->samples[number % SAMPLES] =
        at != 0 && now > at ? (unsigned)(now - at) : 0;
    atomic_store(&member->holds, number + 1);
}

static void hold_once(struct scene *scene, struct member *member,
                      lk_client *client, lk_lock *lock)
{
    lk_hold *hold = lock_take(lock);

    note(scene, member);
    if (scene->hold_ns != 0)
        sleep_ns(scene->hold_ns);
    atomic_store(&member->rechecks, client_stats(client).rechecks);
    atomic_store(&member->busy_ns, own_busy_ns());
    (void)atomic_fetch_sub(&scene->inside, 1);
    atomic_store(&scene->released_at, now_ns());
    lock_give(hold);
}

/* The first acquire of all comes one after the other, before the start. */
_Noreturn static void member_run(struct scene *scene, unsigned index)
{
    lk_client *client = client_open(0);
    lk_lock *lock = lock_open(client, "orders");

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    lock_give(lock_take(lock));
    (void)atomic_fetch_add(&scene->ready, 1);
    while (!atomic_load(&scene->go))
        sleep_ns(STEP_NS);
    for (;;)
        hold_once(scene, &scene->members[index], client, lock);
}

/* ---- all of them --------------------------------------------------------------- */

/* All that is counted, at one moment. */
struct look {
    uint64_t at, calls, server_ns, machine_ns, own_ns, rechecks;
    unsigned long long *holds; /* of each process */
};

static struct look look(struct scene *scene, redisContext *redis)
{
    struct look now = {.calls = server_scripts(redis).calls,
                       .server_ns = server_busy_ns(redis)};

    now.holds = memory_new(scene->processes, sizeof(*now.holds));
    for (unsigned i = 0; i < scene->processes; i++) {
        now.holds[i] = atomic_load(&scene->members[i].holds);
        now.rechecks += atomic_load(&scene->members[i].rechecks);
        now.own_ns += atomic_load(&scene->members[i].busy_ns);
    }
    now.machine_ns = machine_busy_ns();
    now.at = now_ns();
    return now;
}

/* The hand-overs between two looks, as far as they were kept, in us. */
static double *samples_take(const struct scene *scene, const struct look *a,
                            const struct look *b, size_t *ret_count)
{
    double *samples =
        memory_new((size_t)scene->processes * SAMPLES, sizeof(double));
    size_t count = 0;

    for (unsigned i = 0; i < scene->processes; i++) {
        unsigned long long from = a->holds[i];

        if (b->holds[i] - from > SAMPLES)
            from = b->holds[i] - SAMPLES;
        for (; from < b->holds[i]; from++) {
            unsigned ns = scene->members[i].samples[from % SAMPLES];

            if (ns != 0)
                samples[count++] = ns / 1e3;
        }
    }
    *ret_count = count;
    return samples;
}

static void shares_take(struct scene *scene, const struct look *a,
                        const struct look *b, double total)
{
    double mean = total / scene->processes;

    scene->result.smallest = total;
    for (unsigned i = 0; i < scene->processes; i++) {
        double share = (double)(b->holds[i] - a->holds[i]) / mean;

        if (share < scene->result.smallest)
            scene->result.smallest = share;
        if (share > scene->result.largest)
            scene->result.largest = share;
    }
}

static void
conclude(struct scene *scene, const struct look *a, const struct look *b)
{
    handover *result = &scene->result;
    double seconds = (double)(b->at - a->at) / 1e9;
    double total = 0;
    size_t count;
    double *samples = samples_take(scene, a, b, &count);

    for (unsigned i = 0; i < scene->processes; i++)
        total += (double)(b->holds[i] - a->holds[i]);
    if (total == 0)
        errx(1, "nothing was acquired");
    result->per_s = total / seconds;
    result->rechecks = (double)(b->rechecks - a->rechecks) / total;
    result->commands = (double)(b->calls - a->calls) / total - result->rechecks;
    result->server_us = (double)(b->server_ns - a->server_ns) / total / 1e3;
    result->foreign =
        foreign_part(b->machine_ns - a->machine_ns, b->own_ns - a->own_ns,
                     b->server_ns - a->server_ns, b->at - a->at);
    result->p50_us = quantile(samples, count, 0.5);
    result->p99_us = quantile(samples, count, 0.99);
    shares_take(scene, a, b, total);
    free(samples);
    free(a->holds);
    free(b->holds);
}

static pid_t *members_start(struct scene *scene)
{
    pid_t *pids = memory_new(scene->processes, sizeof(*pids));

    for (unsigned i = 0; i < scene->processes; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            errx(1, "cannot fork");
        if (pids[i] == 0)
            member_run(scene, i);
    }
    for (int i = 0; atomic_load(&scene->ready) < scene->processes; i++) {
        if (i == START_STEPS || waitpid(-1, NULL, WNOHANG) > 0)
            errx(1, "a process did not start");
        sleep_ns(STEP_NS);
    }
    return pids;
}

static void members_kill(const struct scene *scene, pid_t *pids)
{
    for (unsigned i = 0; i < scene->processes; i++)
        (void)kill(pids[i], SIGKILL);
    for (unsigned i = 0; i < scene->processes; i++)
        (void)waitpid(pids[i], NULL, 0);
    free(pids);
}

static void run(void *data)
{
    struct scene *scene = data;
    redisContext *redis;
    struct look begin, end;
    pid_t *pids;

    pin(0, scene->cpu);
    redis = server_connect();
    server_do(redis, "FLUSHALL");
    pids = members_start(scene);
    atomic_store(&scene->go, true);
    sleep_ns(WARM_UP_NS);
    begin = look(scene, redis);
    sleep_ns(scene->ns);
    end = look(scene, redis);
    members_kill(scene, pids);
    conclude(scene, &begin, &end);
    if (atomic_load(&scene->failed))
        errx(1, "two processes were inside at once");
}

handover
handover_measure(unsigned processes, uint64_t hold_ns, place at, uint64_t ns)
{
    size_t size = sizeof(struct scene) + processes * sizeof(struct member);
    struct scene *scene = shared_new(size);
    handover result;

    scene->processes = processes;
    scene->hold_ns = hold_ns;
    scene->cpu = place_take(at);
    scene->ns = ns;
    wait_for_quiet();
    run_apart(run, scene);
    result = scene->result;
    shared_free(scene, size);
    return result;
}
