/* SPDX-License-Identifier: MIT */

/* What one costs when nobody else wants it, when all do, and while it is
   waited for. */

#include "cost.h"

#include <latchkey/latchkey.h>

#include <err.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "measure.h"
#include "server.h"
#include "subject.h"

enum { STEP_NS = 10000000, START_STEPS = 6000, MOST_PROCESSES = 256 };

/* ---- alone ------------------------------------------------------------------------ */

cycle cycle_measure(subject_kind kind, uint64_t ns)
{
    redisContext *redis = server_connect();
    uint64_t commands, busy, begin, took;
    uint64_t count = 0;
    cycle result;
    subject s;

    server_do(redis, "FLUSHALL"); /* what was killed while it held */
    s = subject_open(kind, 0, 1);
    subject_once(&s); /* it opens the inbox, and the server has the scripts */
    sleep_ns(STEP_NS);
    commands = subject_commands(&s);
    busy = server_busy_ns(redis);
    begin = now_ns();
    do {
        subject_once(&s);
        count++;
        took = now_ns() - begin;
    } while (took < ns);
    result = (cycle){.per_s = (double)count * 1e9 / (double)took,
                     .server_us = (double)(server_busy_ns(redis) - busy) / 1e3 /
                                  (double)count,
                     .commands = (double)(subject_commands(&s) - commands) /
                                 (double)count};
    subject_close(&s);
    redisFree(redis);
    return result;
}

/* ---- processes --------------------------------------------------------------------- */

/* One process' part of the shared memory. */
struct member {
    _Alignas(64) atomic_ullong holds; /* a cache line of its own */
};

struct group {
    unsigned processes, threads;
    subject_kind kind;
    atomic_uint ready;
    atomic_bool go;
    pid_t pids[MOST_PROCESSES];
    struct member members[MOST_PROCESSES];
};

static struct group *
group_new(unsigned processes, unsigned threads, subject_kind kind)
{
    struct group *group = shared_new(sizeof(*group));

    group->processes = processes;
    group->threads = threads;
    group->kind = kind;
    return group;
}

/* run does not return. */
static void group_start(struct group *group,
                        void (*run)(struct group *group, unsigned index))
{
    for (unsigned i = 0; i < group->processes; i++) {
        pid_t pid = fork();

        if (pid < 0)
            errx(1, "no process");
        if (pid == 0) {
            (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
            run(group, i);
            _exit(1);
        }
        group->pids[i] = pid;
    }
    for (int step = 0; atomic_load(&group->ready) < group->processes; step++) {
        if (step == START_STEPS)
            errx(1, "the processes do not come up");
        sleep_ns(STEP_NS);
    }
}

static void group_end(struct group *group)
{
    for (unsigned i = 0; i < group->processes; i++)
        child_kill(group->pids[i]);
    shared_free(group, sizeof(*group));
}

/* All of a member. */
static void member_ready(struct group *group)
{
    (void)atomic_fetch_add(&group->ready, 1);
    while (!atomic_load(&group->go))
        sleep_ns(STEP_NS);
}

/* ---- a crowd ------------------------------------------------------------------------ */

struct runner {
    const subject *subject;
    struct member *member;
};

static void *runner_run(void *data)
{
    struct runner *r = data;

    for (;;) {
        subject_once(r->subject);
        (void)atomic_fetch_add(&r->member->holds, 1);
    }
    return NULL;
}

static void crowd_run(struct group *group, unsigned index)
{
    subject s = subject_open(group->kind, index, group->processes);
    struct runner r = {&s, &group->members[index]};

    subject_once(&s);
    member_ready(group);
    for (unsigned i = 1; i < group->threads; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, runner_run, &r) != 0)
            errx(1, "no thread");
    }
    (void)runner_run(&r);
}

struct look {
    uint64_t at, calls, busy;
    unsigned long long holds[MOST_PROCESSES];
};

static struct look look(struct group *group, redisContext *redis)
{
    struct look now = {.at = now_ns(),
                       .calls = server_scripts(redis).calls,
                       .busy = server_busy_ns(redis)};

    for (unsigned i = 0; i < group->processes; i++)
        now.holds[i] = atomic_load(&group->members[i].holds);
    return now;
}

static crowd
crowd_of(const struct group *group, const struct look *a, const struct look *b)
{
    crowd result = {.smallest = 1e9};
    double total = 0;

    for (unsigned i = 0; i < group->processes; i++)
        total += (double)(b->holds[i] - a->holds[i]);
    if (total == 0)
        errx(1, "nobody had the lock");
    for (unsigned i = 0; i < group->processes; i++) {
        double share =
            (double)(b->holds[i] - a->holds[i]) * group->processes / total;

        result.smallest = share < result.smallest ? share : result.smallest;
        result.largest = share > result.largest ? share : result.largest;
    }
    result.per_s = total * 1e9 / (double)(b->at - a->at);
    result.server_us = (double)(b->busy - a->busy) / 1e3 / total;
    result.commands = (double)(b->calls - a->calls) / total;
    return result;
}

crowd crowd_measure(subject_kind kind, unsigned processes, unsigned threads,
                    uint64_t ns)
{
    redisContext *redis = server_connect();
    struct group *group = group_new(processes, threads, kind);
    struct look before, after;
    crowd result;

    server_do(redis, "FLUSHALL");
    group_start(group, crowd_run);
    atomic_store(&group->go, true);
    sleep_ns(ns / 3);
    before = look(group, redis);
    sleep_ns(ns);
    after = look(group, redis);
    result = crowd_of(group, &before, &after);
    group_end(group);
    redisFree(redis);
    return result;
}

/* ---- a queue -------------------------------------------------------------------------- */

static void on_grant(lk_status status, lk_hold *hold, void *data)
{
    (void)hold;
    (void)data;
    errx(1, "a wait ends: %s", lk_status_text(status));
}

static void queue_run(struct group *group, unsigned index)
{
    subject s = subject_open(SUBJECT_FAIRLOCK, 0, 1);

    (void)index;
    member_ready(group);
    for (unsigned i = 0; i < group->threads; i++) {
        if (lk_fairlock_acquire_async(s.fairlock, LK_FOREVER, NULL, on_grant,
                                      NULL) != LK_OK)
            errx(1, "%s", lk_last_error());
    }
    for (;;)
        (void)pause();
}

static void wait_for_queue(redisContext *redis, unsigned waits)
{
    for (int step = 0; step < START_STEPS; step++) {
        redisReply *reply =
            redisCommand(redis,
                         "ZCOUNT latchkey:{orders}:q 0 (2533274790395904");
        bool there = reply != NULL && reply->integer == (long long)waits;

        freeReplyObject(reply);
        if (there)
            return;
        sleep_ns(STEP_NS);
    }
    errx(1, "not all queue");
}

/* This process holds the lock all the time. */
queue_cost queue_measure(unsigned processes, unsigned waits, uint64_t ns)
{
    redisContext *redis = server_connect();
    struct group *group = group_new(processes, waits, SUBJECT_FAIRLOCK);
    lk_hold *hold = NULL;
    struct look before, after;
    queue_cost result;
    subject s;

    server_do(redis, "FLUSHALL");
    group_start(group, queue_run);
    s = subject_open(SUBJECT_FAIRLOCK, 0, 1);
    if (lk_fairlock_acquire(s.fairlock, 0, NULL, &hold) != LK_OK)
        errx(1, "%s", lk_last_error());
    atomic_store(&group->go, true);
    wait_for_queue(redis, processes * waits);
    sleep_ns(ns / 3); /* until each has looked */
    before = look(group, redis);
    sleep_ns(ns);
    after = look(group, redis);
    result = (queue_cost){.server_percent = 100 *
                                            (double)(after.busy - before.busy) /
                                            (double)(after.at - before.at),
                          .looks = (double)(after.calls - before.calls) * 1e9 /
                                   (double)(after.at - before.at)};
    group_end(group);
    lk_hold_release(hold);
    subject_close(&s);
    redisFree(redis);
    return result;
}
