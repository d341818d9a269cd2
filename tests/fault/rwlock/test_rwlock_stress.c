/* SPDX-License-Identifier: MIT */

/*
 * The read-write lock under load: processes and threads that read, upgrade,
 * write and downgrade under one name, while processes are killed and
 * connections cut. Shared memory says at every moment who is inside, and until
 * when by its own clock: two writers, or a reader beside a writer, are seen.
 * LK_LONG=1 in the environment asks for ten times the grants.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PROCESSES = 8,
    VICTIMS = 2, /* of these; the last */
    THREADS = 4,
    GRANTS = 4000, /* of all that are not killed */
    WATCHDOG_MS = 3000,
    CUTS = 6,
    DEADLINE_MS = 100000
};

/* Of each process: who is inside, by thread; then what it counts. */
enum {
    SLOT = 0,
    COUNT_READS = THREADS,
    COUNT_WRITES,
    COUNT_FAULTS,
    COUNT_LOST
};

/* Of nobody: what all look at. */
enum { NOBODY = WORKER_MAX - 1, LAST_FENCE = 0, OVERLAPS, FENCE_ERRORS };

/* A slot: until when in ms, and how. 0: not inside. */
enum { READS = 1, WRITES = 2, HOW = 3 };

static bool is_long(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0;
}

static unsigned wanted_grants(void)
{
    return is_long() ? 10 * GRANTS : GRANTS;
}

typedef struct crew {
    worker_shared *shared;
    unsigned index;
    unsigned thread;
    lk_rwlock *lock;
    unsigned seed;
    pthread_t id;
} crew;

/* ---- who is inside ---------------------------------------------------------- */

static uint64_t slot_of(const lk_hold *hold, uint64_t how)
{
    uint64_t now = wait_now_ms();

    return (now + lk_hold_remaining_ms(hold)) << 2 | how;
}

/* Somebody else is inside who must not be, by its own clock: to the
   millisecond, so the last one does not count. */
static bool is_beside(const crew *c, uint64_t how)
{
    for (unsigned i = 0; i < PROCESSES; i++) {
        for (unsigned j = 0; j < THREADS; j++) {
            uint64_t other = c->shared->counters[i][SLOT + j];
            bool conflicts = (other & HOW) != 0 &&
                             (how == WRITES || (other & HOW) == WRITES);

            if ((i != c->index || j != c->thread) && conflicts &&
                other >> 2 > wait_now_ms() + 1)
                return true;
        }
    }
    return false;
}

/* Notes that it is inside; then looks. Of two that do so at once, one at least
   sees the other. */
static void enter(const crew *c, const lk_hold *hold, uint64_t how)
{
    _Atomic uint64_t *nobody = c->shared->counters[NOBODY];

    atomic_store(&c->shared->counters[c->index][SLOT + c->thread],
                 slot_of(hold, how));
    if (is_beside(c, how))
        (void)atomic_fetch_add(&nobody[OVERLAPS], 1);
    if (how == WRITES &&
        atomic_exchange(&nobody[LAST_FENCE], lk_hold_fence(hold)) >=
            lk_hold_fence(hold))
        (void)atomic_fetch_add(&nobody[FENCE_ERRORS], 1);
    (void)atomic_fetch_add(
        &c->shared
             ->counters[c->index][how == WRITES ? COUNT_WRITES : COUNT_READS],
        1);
}

/* As long as it stays, whoever comes in beside it sees it. */
static void stay(const crew *c, unsigned counter)
{
    record_stay(c->shared->counters[c->index][counter]);
}

static void leave(const crew *c)
{
    atomic_store(&c->shared->counters[c->index][SLOT + c->thread], 0);
}

/* ---- what a thread does -------------------------------------------------------- */

static void count(const crew *c, unsigned counter)
{
    (void)atomic_fetch_add(&c->shared->counters[c->index][counter], 1);
}

/* A connection that was cut may leave a release unanswered for a while. */
static void release(const crew *c, lk_hold *hold)
{
    lk_status status = lk_hold_release(hold);

    if (status == LK_ELOST)
        count(c, COUNT_LOST);
    else if (status != LK_OK && status != LK_EINDOUBT && status != LK_EOFFLINE)
        count(c, COUNT_FAULTS);
}

static bool acquired(const crew *c, lk_status status)
{
    if (status != LK_OK && status != LK_ETIMEDOUT && status != LK_EINDOUBT)
        count(c, COUNT_FAULTS);
    return status == LK_OK;
}

static void read_once(const crew *c)
{
    lk_hold *hold;

    if (!acquired(c, lk_rwlock_acquire_read(c->lock, LK_FOREVER, NULL, &hold)))
        return;
    enter(c, hold, READS);
    stay(c, COUNT_READS);
    leave(c);
    release(c, hold);
}

static void write_once(const crew *c, bool downgrades)
{
    lk_hold *hold;

    if (!acquired(c, lk_rwlock_acquire_write(c->lock, LK_FOREVER, NULL, &hold)))
        return;
    enter(c, hold, WRITES);
    stay(c, COUNT_WRITES);
    if (downgrades) {
        leave(c);
        if (lk_rwlock_downgrade(hold) == LK_OK)
            enter(c, hold, READS);
    }
    leave(c);
    release(c, hold);
}

/* Its write is beside its own read, so only the write is shown. */
static void upgrade_once(const crew *c)
{
    lk_hold *base, *write;

    if (!acquired(c, lk_rwlock_acquire_upgradeable(c->lock, LK_FOREVER, NULL,
                                                   &base)))
        return;
    enter(c, base, READS);
    if (acquired(c, lk_rwlock_acquire_write(c->lock, 2000, NULL, &write))) {
        enter(c, write, WRITES);
        stay(c, COUNT_WRITES);
        leave(c);
        release(c, write);
    }
    leave(c);
    release(c, base);
}

static void *thread_run(void *data)
{
    crew *c = data;
    unsigned grants = wanted_grants() / ((PROCESSES - VICTIMS) * THREADS);

    for (unsigned i = 0; i < grants && !atomic_load(&c->shared->is_over); i++) {
        int choice = rand_r(&c->seed) % 20;

        if (choice < 12)
            read_once(c);
        else if (choice < 18)
            write_once(c, choice == 17);
        else
            upgrade_once(c);
    }
    return NULL;
}

static int threads_run(worker_shared *shared, unsigned index, lk_rwlock *lock)
{
    crew crews[THREADS];
    int failures = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        crews[i] = (crew){.shared = shared,
                          .index = index,
                          .thread = i,
                          .lock = lock,
                          .seed = index * THREADS + i + 1};
        failures +=
            pthread_create(&crews[i].id, NULL, thread_run, &crews[i]) != 0;
    }
    for (unsigned i = 0; i < THREADS && failures == 0; i++)
        failures += pthread_join(crews[i].id, NULL) != 0;
    return failures;
}

struct plan {
    server *server;
    bool some_spin; /* every other process; else all queue */
};

static int process_run(worker_shared *shared, unsigned index, void *data)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                 .watchdog_ms = wait_scaled_ms(WATCHDOG_MS)};
    const struct plan *plan = data;
    const lk_rwlock_options how = {LK_RWLOCK_OPTIONS_INIT,
                                   .strategy = plan->some_spin && index % 2 == 0
                                                   ? LK_SPIN
                                                   : LK_QUEUE};
    lk_client *client;
    lk_rwlock *lock;
    int failures;

    if (lk_client_open(&client, server_url(plan->server), &options) != LK_OK ||
        lk_rwlock_new(&lock, client, "stress", &how) != LK_OK)
        return 1;
    failures = threads_run(shared, index, lock);
    lk_rwlock_free(lock);
    failures += lk_client_shutdown(client, 5000) != LK_OK;
    lk_client_free(client);
    return failures;
}

/* ---- the test --------------------------------------------------------------- */

struct progress {
    workers *w;
    uint64_t grants;
};

static uint64_t grants_of(workers *w)
{
    return workers_count(w, COUNT_READS) + workers_count(w, COUNT_WRITES);
}

static bool has_progressed(void *data)
{
    const struct progress *p = data;

    return grants_of(p->w) >= p->grants;
}

/* Cuts connections again and again, and kills, while they work. */
static void disturb(server *s, workers *w)
{
    for (unsigned i = 1; i <= CUTS; i++) {
        struct progress p = {w, (uint64_t)wanted_grants() * i / (CUTS + 2)};

        if (!wait_until(has_progressed, &p,
                        is_long() ? 10 * DEADLINE_MS : DEADLINE_MS))
            fail_msg("no more than %llu grants",
                     (unsigned long long)grants_of(w));
        if (i % 3 == 0)
            workers_kill(w, PROCESSES - i / 3, SIGKILL);
        freeReplyObject(server_command(s, "CLIENT KILL TYPE %s SKIPME yes",
                                       i % 2 == 0 ? "pubsub" : "normal"));
    }
}

static void run(server *s, bool some_spin)
{
    struct plan plan = {s, some_spin};
    workers *w = workers_start(PROCESSES, process_run, &plan);
    _Atomic uint64_t *nobody;

    assert_non_null(w);
    nobody = workers_shared(w)->counters[NOBODY];
    disturb(s, w);
    assert_true(workers_wait(w, is_long() ? 10 * DEADLINE_MS : DEADLINE_MS));
    assert_int_equal(workers_succeeded(w), PROCESSES - VICTIMS);
    assert_int_equal(nobody[OVERLAPS], 0);
    assert_int_equal(nobody[FENCE_ERRORS], 0);
    assert_int_equal(workers_count(w, COUNT_FAULTS), 0);
    /* A cut lasts less than a lease, and no hold is one. */
    assert_int_equal(workers_count(w, COUNT_LOST), 0);
    print_message("%llu reads, %llu writes\n",
                  (unsigned long long)workers_count(w, COUNT_READS),
                  (unsigned long long)workers_count(w, COUNT_WRITES));
    workers_free(w);

    /* The last of the dead has a lease to live on. */
    freeReplyObject(
        server_command(s, "EVAL %s 0", "return redis.call('DEL', 'stress')"));
    /* But those that nobody heard of for so long that they were passed over. */
    assert_int_equal(
        server_integer(s, "ZCOUNT latchkey:{stress}:q 0 (2251799813685248"), 0);
    assert_true(server_integer(s, "PTTL latchkey:{stress}:r") > 0);
}

static void writers_are_alone_whoever_dies_and_whatever_breaks(void **state)
{
    run(*state, false);
}

static void the_same_with_those_who_spin_among_them(void **state)
{
    run(*state, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_are_alone_whoever_dies_and_whatever_breaks),
        cmocka_unit_test(the_same_with_those_who_spin_among_them),
    };

    return cmocka_run_group_tests_name("rwlock_stress", tests, one_server_start,
                                       one_server_stop);
}
