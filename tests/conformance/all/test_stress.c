/* SPDX-License-Identifier: MIT */

/*
 * Every primitive under load: threads of some processes want the same name, some
 * wait and some give up, connections are cut all the time, and one process is
 * killed. Each writes down what it asks for and what it gets, and the checker of
 * histories judges that: who was in together, fences, leases, permits, counts.
 * LK_LONG=1 in the environment asks for ten times as much.
 */

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/judge.h"
#include "check/log.h"
#include "support/check.h"
#include "support/record.h"
#include "support/scratch.h"
#include "support/stand.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PROCESSES = 3,
    KILLED = 0, /* of them */
    THREADS = 3,
    MEMBERS = (PROCESSES - 1) * THREADS, /* that live to the end */
    TURNS = 900,
    LATCHES = 8,
    CUT_EVERY_MS = 50,
    PATIENCE_MS = 100000,
    EVENTS = 400000,
    PATH = 128,
    MS = 1000000
};

/* What a worker counts. */
enum { COUNT_READY, COUNT_TURNS, COUNT_ODDITIES };

static uint64_t wanted_turns(void)
{
    const char *text = getenv("LK_LONG");
    uint64_t turns = wait_scale() > 1 ? TURNS / 4 : TURNS;

    return text != NULL && strcmp(text, "1") == 0 ? 10 * turns : turns;
}

/* Whose directory the histories are in; of the test that runs. */
static scratch *the_scratch;

static void path_of(unsigned process, char path[PATH])
{
    (void)snprintf(path, PATH, "%s/%u.history", scratch_path(the_scratch),
                   process);
}

/* ---- what is written down ------------------------------------------------------------ */

typedef struct crew {
    worker_shared *shared;
    party *party;
    history_log *log;
    unsigned index, thread;
    uint64_t turns;
    char name[HISTORY_NAME];
    pthread_t id;
} crew;

static history_event event_of(const crew *c, history_call what)
{
    static _Atomic uint64_t operations;
    const kind *k = c->party->stand->kind;
    history_event event = {.phase = HISTORY_INVOKE,
                           .call = (uint8_t)what,
                           .kind = (uint8_t)k->history,
                           .mode = (uint8_t)k->mode,
                           .count = 1,
                           .client = c->index + 1,
                           .owner =
                               (uint64_t)c->index * THREADS + c->thread + 1,
                           .key = history_key(c->name, 0)};

    event.operation =
        (uint64_t)(c->index + 1) << 32 | (atomic_fetch_add(&operations, 1) + 1);
    memcpy(event.name, c->name, sizeof(event.name));
    return event;
}

static void put(const crew *c, history_event *event)
{
    event->at = 0; /* now */
    assert_true(history_log_write(c->log, event));
}

static void ends(const crew *c, history_event event, lk_status status)
{
    event.phase = HISTORY_FAIL;
    if (status == LK_OK)
        event.phase = HISTORY_OK;
    else if (status == LK_EINDOUBT || status == LK_EPENDING)
        event.phase = HISTORY_UNKNOWN;
    event.status = status;
    put(c, &event);
}

static void counts(const crew *c, unsigned counter)
{
    c->shared->counters[c->index][counter]++;
}

/* ---- what is in by turns --------------------------------------------------------------- */

/* Waits without limit, for a moment, or not at all, in turn. */
static int64_t wait_of(uint64_t turn)
{
    static const int64_t waits[] = {LK_FOREVER, 5,          LK_FOREVER,
                                    0,          LK_FOREVER, 50};

    return waits[turn % (sizeof(waits) / sizeof(waits[0]))];
}

/* A wait that was cut off may not know what became of its request in time. */
static bool is_refusal(lk_status status)
{
    return status == LK_EBUSY || status == LK_ETIMEDOUT ||
           status == LK_EINDOUBT || status == LK_EOFFLINE ||
           status == LK_EQUORUM;
}

static void note_in(const crew *c, history_event event, const lk_hold *hold)
{
    uint64_t left_ms = lk_hold_remaining_ms(hold);

    event.phase = HISTORY_OK;
    event.hold = event.operation;
    event.fence = lk_hold_fence(hold);
    event.deadline = left_ms > 0 ? history_now() + left_ms * MS : 0;
    put(c, &event);
    event.phase = HISTORY_EVENT;
    event.call = HISTORY_CHECKED;
    event.operation = 0;
    event.deadline = 0;
    event.at = history_now();
    if (hold != NULL && lk_hold_check(hold) == LK_OK)
        assert_true(history_log_write(c->log, &event));
}

/* Where there is room for some, one in three wants all of it. */
static bool wants_all(const crew *c)
{
    const kind *k = c->party->stand->kind;

    return k->acquire != k->shut && c->turns % 3 == 0;
}

static void want_all(const kind *k, history_event *event)
{
    event->count = k->mode == HISTORY_PERMITS ? KIND_PERMITS : 1;
    if (k->history == HISTORY_RWLOCK)
        event->mode = HISTORY_WRITER;
}

static void leave(const crew *c, uint64_t id, lk_hold *hold)
{
    history_event event =
        event_of(c, hold != NULL ? HISTORY_RELEASE : HISTORY_GIVE);
    const kind *k = c->party->stand->kind;
    lk_status status;

    if (wants_all(c))
        want_all(k, &event);
    event.hold = hold != NULL ? id : 0;
    put(c, &event);
    do
        status = (wants_all(c) ? k->open : k->release)(c->party->handle, hold);
    while (hold == NULL && status == LK_EOFFLINE); /* nothing was sent */
    ends(c, event, status);
}

static void take_turn(const crew *c)
{
    const kind *k = c->party->stand->kind;
    history_event event = event_of(c, HISTORY_ACQUIRE);
    int64_t wait_ms = wait_of(c->turns);
    lk_hold *hold = NULL;
    lk_status status;

    if (wants_all(c))
        want_all(k, &event);
    event.lease_ms = k->has_hold ? c->party->site.lease_ms : 0;
    event.flags = k->has_hold ? HISTORY_RENEWED : 0;
    put(c, &event);
    status = (wants_all(c) ? k->shut : k->acquire)(c->party->handle, wait_ms,
                                                   NULL, &hold);
    if (status != LK_OK) {
        ends(c, event, status);
        if (wait_ms == LK_FOREVER || !is_refusal(status))
            counts(c, COUNT_ODDITIES);
        stand_pass_ms(1);
        return;
    }
    note_in(c, event, hold);
    record_stay(c->turns);
    counts(c, COUNT_TURNS);
    leave(c, event.operation, hold);
}

/* ---- what is counted down ----------------------------------------------------------------- */

static lk_status latch_call(lk_latch *latch, history_call what)
{
    if (what == HISTORY_ARM)
        return lk_latch_try_set_count(latch, MEMBERS);
    if (what == HISTORY_COUNT)
        return lk_latch_count_down(latch, 1);
    return lk_latch_wait(latch, LK_FOREVER, NULL);
}

static void latch_does(const crew *c, lk_latch *latch, history_call what)
{
    history_event event = event_of(c, what);
    lk_status status;

    if (what == HISTORY_ARM)
        event.count = MEMBERS;
    put(c, &event);
    do
        status = latch_call(latch, what);
    while (status == LK_EOFFLINE); /* nothing was sent */
    ends(c, event, status);
    if (status != LK_OK && status != LK_EALREADY && status != LK_EPENDING &&
        status != LK_EINDOUBT)
        counts(c, COUNT_ODDITIES);
}

/* A latch for each turn: it opens when all that live have counted. One that is to
   be killed waits, and counts nothing. */
static void latch_turn(crew *c)
{
    lk_latch *latch = NULL;

    (void)snprintf(c->name, sizeof(c->name), "n%llu",
                   (unsigned long long)c->turns);
    assert_status(lk_latch_new(&latch, c->party->site.clients[0], c->name,
                               NULL),
                  LK_OK);
    latch_does(c, latch, HISTORY_ARM);
    if (c->index != KILLED)
        latch_does(c, latch, HISTORY_COUNT);
    latch_does(c, latch, HISTORY_ACQUIRE);
    counts(c, COUNT_TURNS);
    lk_latch_free(latch);
}

/* All have to take part in a turn: so many, whenever that is. */
static bool is_last(const crew *c)
{
    if (c->party->stand->kind->history == HISTORY_LATCH)
        return c->turns >= wanted_turns() / MEMBERS;
    return atomic_load(&c->shared->is_over);
}

static void *crew_run(void *data)
{
    crew *c = data;

    for (; !is_last(c); c->turns++) {
        if (c->party->stand->kind->history == HISTORY_LATCH)
            latch_turn(c);
        else
            take_turn(c);
    }
    return NULL;
}

/* ---- workers --------------------------------------------------------------------------------- */

static void run_all(crew *first)
{
    crew all[THREADS];

    for (unsigned i = 0; i < THREADS; i++) {
        all[i] = *first;
        all[i].thread = i;
        assert_int_equal(pthread_create(&all[i].id, NULL, crew_run, &all[i]),
                         0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        (void)pthread_join(all[i].id, NULL);
}

static bool all_are_ready(void *data)
{
    worker_shared *shared = data;
    uint64_t ready = 0;

    for (unsigned i = 0; i < PROCESSES; i++)
        ready += atomic_load(&shared->counters[i][COUNT_READY]);
    return ready == PROCESSES;
}

static int worker_run(worker_shared *shared, unsigned index, void *data)
{
    /* What a killed one leaves ends with its lease. */
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = wait_lease_ms(),
                                       .offline_ms = PATIENCE_MS};
    crew first = {.shared = shared, .index = index, .name = STAND_NAME};
    char path[PATH];

    path_of(index + 1, path);
    first.log = history_log_open(path, index + 1, EVENTS);
    assert_non_null(first.log);
    first.party = party_near(data, &options);
    counts(&first, COUNT_READY);
    assert_true(wait_until(all_are_ready, shared, PATIENCE_MS));
    run_all(&first);
    party_end(first.party);
    history_log_close(first.log);
    return 0;
}

/* ---- the test ---------------------------------------------------------------------------------- */

typedef struct goal {
    workers *workers;
    uint64_t turns;
} goal;

static bool is_reached(void *data)
{
    const goal *g = data;

    return workers_count(g->workers, COUNT_TURNS) >= g->turns;
}

static void disturb(stand *s, unsigned round)
{
    for (unsigned i = 0; i < s->kind->servers; i++)
        (void)server_integer(s->servers[i], "CLIENT KILL TYPE %s SKIPME yes",
                             round % 2 == 0 ? "pubsub" : "normal");
    stand_command(s, "SCRIPT FLUSH");
}

/* Cuts connections, and has scripts forgotten, until so many turns were had. */
static void reach(stand *s, workers *w, uint64_t turns)
{
    goal g = {w, turns};

    for (unsigned i = 0; i < PATIENCE_MS / CUT_EVERY_MS; i++) {
        if (wait_until(is_reached, &g, CUT_EVERY_MS))
            return;
        disturb(s, i);
    }
    fail_msg("%llu turns instead of %llu",
             (unsigned long long)workers_count(w, COUNT_TURNS),
             (unsigned long long)turns);
}

/* What a dead one had of a plain semaphore never comes back. */
static bool is_mortal(const kind *k)
{
    return k->history != HISTORY_PLAIN;
}

/* The harness has a history as well: who has died. */
static void kill_one(workers *w)
{
    const history_event died = {.phase = HISTORY_EVENT,
                                .call = HISTORY_DIED,
                                .process = KILLED + 1};
    char path[PATH];
    history_log *log;

    path_of(0, path);
    log = history_log_open(path, PROCESSES + 1, 1);
    assert_non_null(log);
    workers_kill(w, KILLED, SIGKILL);
    assert_true(history_log_write(log, &died));
    history_log_close(log);
}

static void judge(const kind *k)
{
    const unsigned none = is_mortal(k) ? 0 : 1; /* whose history there is not */
    const uint64_t late_ns = wait_limit_ms(2000) * (uint64_t)MS;
    const checker_options options = {.rules = CHECKER_EXCLUSION |
                                              CHECKER_FENCES | CHECKER_COUNTS |
                                              CHECKER_LEASES | CHECKER_FORM,
                                     .late_ns = late_ns,
                                     .told_ns = late_ns,
                                     .granted_ns = late_ns,
                                     .answer_ns = late_ns,
                                     .permits = KIND_PERMITS};
    char paths[PROCESSES + 1][PATH];
    const char *list[PROCESSES + 1];
    judge_result result;

    for (unsigned i = 0; i <= PROCESSES; i++) {
        path_of(i, paths[i]);
        list[i] = paths[i];
    }
    assert_true(judge_files(list + none, PROCESSES + 1 - none, &options, NULL,
                            stderr, &result));
    assert_int_equal(result.violations, 0);
    assert_true(result.by_call[HISTORY_ACQUIRE][HISTORY_OK] > 0);
}

static void nothing_that_is_promised_is_broken(stand *s)
{
    workers *w;

    the_scratch = scratch_new();
    assert_non_null(the_scratch);
    w = workers_start(PROCESSES, worker_run, s);
    assert_non_null(w);
    assert_true(wait_until(all_are_ready, workers_shared(w), PATIENCE_MS));
    reach(s, w, wanted_turns() / 2);
    if (is_mortal(s->kind))
        kill_one(w);
    reach(s, w, wanted_turns());
    workers_end(w);
    assert_true(workers_wait(w, PATIENCE_MS));
    assert_int_equal(workers_exit(w, KILLED),
                     is_mortal(s->kind) ? -SIGKILL : 0);
    for (unsigned i = KILLED + 1; i < PROCESSES; i++)
        assert_int_equal(workers_exit(w, i), 0);
    assert_int_equal(workers_count(w, COUNT_ODDITIES), 0);
    judge(s->kind);
    workers_free(w);
    scratch_free(the_scratch);
    stand_is_clean(s);
}

int test_stress(void)
{
    const stand_test tests[] = {
        STAND_TEST(nothing_that_is_promised_is_broken, NULL),
    };

    return stand_run("stress", tests, sizeof(tests) / sizeof(tests[0]));
}
