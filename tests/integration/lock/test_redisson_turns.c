/* SPDX-License-Identifier: MIT */

/*
 * Processes with Latchkey and processes with Redisson, played by stand-ins, on
 * one name at the same time: who gets how much of it, and how long either side
 * goes without. A contest lasts for 1500 grants; LK_LONG=1 in the environment
 * asks for 10000.
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "support/server.h"
#include "support/standin.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    THREADS = 4, /* of ours: so many processes, or one with so many */
    THEIRS = 4,
    HOLD_MS = 1,
    PAUSE_US = 600, /* at most, between two turns of one of theirs */
    SHORT_GRANTS = 1500,
    LONG_GRANTS = 10000,
    LEAST_GRANTS = 500, /* where a tool makes all slow */
    UNSEEN_GRANTS = 50, /* more than who begins gets before ours wait in line */
    DROUGHT_MS = 2000,  /* nobody goes without for longer; scaled */
    SHARE_PERCENT = 25, /* of the time, the least of each side */
    PLAY_MS = 60000,
    END_MS = 10000
};

/* What a worker counts; the last three are kept by the first of each side: for
   how long the name was that side's, from its grant to the next of anybody. */
enum {
    COUNT_READY,
    COUNT_GRANTS,
    COUNT_FAILURES,
    COUNT_LAST_MS,
    COUNT_DROUGHT_MS,
    COUNT_HAD_US
};

/* What is counted in the place of a worker that there is not: when the name was
   granted last, and to which side. */
enum { NAME = WORKER_MAX - 1, NAME_SINCE_US = 0, NAME_SIDE };

typedef enum rival { /* the stand-ins', and besides */
                     RIVAL_LOCK = STANDIN_LOCK,
                     RIVAL_FENCED = STANDIN_FENCED,
                     RIVAL_SPIN = STANDIN_SPIN,
                     RIVAL_FAIR = STANDIN_FAIR,
                     RIVAL_OUR_SPIN /* Latchkey's own clients that spin */
} rival;

typedef struct contest {
    server *server;
    lk_interop interop;
    rival rival;
    unsigned ours; /* processes; the workers with a smaller index */
    bool is_met;   /* ours find it in the hands of one of theirs */
} contest;

static uint64_t length_grants(void)
{
    const char *text = getenv("LK_LONG");
    bool is_long = text != NULL && strcmp(text, "1") == 0;
    double grants = (is_long ? LONG_GRANTS : SHORT_GRANTS) / wait_scale();

    return grants < LEAST_GRANTS ? LEAST_GRANTS : (uint64_t)grants;
}

/* ---- the workers ---- */

/* Nobody else counts for this side meanwhile: it has the lock. */
static void drought_note(worker_shared *shared, unsigned first, uint64_t now)
{
    _Atomic uint64_t *counters = shared->counters[first];
    uint64_t last = atomic_exchange(&counters[COUNT_LAST_MS], now);

    if (last != 0 && now - last > counters[COUNT_DROUGHT_MS])
        counters[COUNT_DROUGHT_MS] = now - last;
}

static uint64_t now_us(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Nobody else is granted it meanwhile. */
static void time_note(worker_shared *shared, unsigned first)
{
    _Atomic uint64_t *name = shared->counters[NAME];
    uint64_t now = now_us();

    if (name[NAME_SINCE_US] != 0)
        shared->counters[name[NAME_SIDE]][COUNT_HAD_US] +=
            now - name[NAME_SINCE_US];
    name[NAME_SINCE_US] = now;
    name[NAME_SIDE] = first;
}

static void sleep_us(long us)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

/* first: of its side. who: another number for each. fence: 0, none. */
static void hold(worker_shared *shared, unsigned index, unsigned first,
                 unsigned who, uint64_t fence)
{
    record *r = &shared->records[0];

    (void)record_enter(r, who, fence);
    shared->counters[index][COUNT_GRANTS]++;
    drought_note(shared, first, wait_now_ms());
    time_note(shared, first);
    sleep_us(HOLD_MS * 1000L);
    (void)record_leave(r, who);
}

typedef struct player {
    worker_shared *shared;
    lk_lock *lock;
    unsigned index, first;
    unsigned count;      /* of workers */
    atomic_uint threads; /* of this process that have begun */
    long pause_us;
} player;

static bool are_ready(void *data)
{
    const player *p = data;

    for (unsigned i = 0; i < p->count; i++) {
        if (p->shared->counters[i][COUNT_READY] == 0)
            return false;
    }
    return true;
}

/* All begin at once, however long it takes to get ready. */
static bool begin(player *p)
{
    p->shared->counters[p->index][COUNT_READY] = 1;
    return wait_until(are_ready, p, END_MS);
}

static void our_turn(player *p, unsigned who)
{
    worker_shared *shared = p->shared;
    lk_hold *held;

    if (lk_lock_acquire(p->lock, LK_FOREVER, NULL, &held) != LK_OK) {
        shared->counters[p->index][COUNT_FAILURES]++;
        return;
    }
    hold(shared, p->index, p->first, who, lk_hold_fence(held));
    if (lk_hold_release(held) != LK_OK)
        shared->counters[p->index][COUNT_FAILURES]++;
}

static void *our_turns(void *data)
{
    player *p = data;
    unsigned who = p->index + WORKER_MAX * atomic_fetch_add(&p->threads, 1);
    unsigned seed = who;

    while (!atomic_load(&p->shared->is_over)) {
        our_turn(p, who);
        if (p->pause_us > 0)
            sleep_us(rand_r(&seed) % p->pause_us);
    }
    return NULL;
}

static bool our_threads(player *p, unsigned count)
{
    pthread_t threads[THREADS];
    unsigned begun = 0;

    while (begun < count &&
           pthread_create(&threads[begun], NULL, our_turns, p) == 0)
        begun++;
    for (unsigned i = 0; i < begun; i++)
        (void)pthread_join(threads[i], NULL);
    return begun == count;
}

static int ours_run(player *p, const contest *c, unsigned threads,
                    lk_lock_strategy strategy)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .interop = c->interop};
    const lk_lock_options how = {LK_LOCK_OPTIONS_INIT, .strategy = strategy};
    lk_client *client;

    if (lk_client_open(&client, server_url(c->server), &options) != LK_OK ||
        lk_client_wait_ready(client, END_MS) != LK_OK ||
        lk_lock_new(&p->lock, client, "job", &how) != LK_OK || !begin(p) ||
        !our_threads(p, threads))
        return 1;
    lk_lock_free(p->lock);
    if (lk_client_shutdown(client, 5000) != LK_OK)
        return 1;
    lk_client_free(client);
    return 0;
}

static int theirs_run(player *p, const contest *c)
{
    standin *s =
        standin_new((standin_kind)c->rival, server_socket(c->server), "job");
    unsigned seed = p->index;

    if (!begin(p))
        return 1;
    while (!atomic_load(&p->shared->is_over)) {
        (void)standin_lock(s, -1);
        hold(p->shared, p->index, p->first, p->index,
             c->rival == RIVAL_FENCED ? (uint64_t)standin_token(s) : 0);
        if (standin_unlock(s) != 1)
            p->shared->counters[p->index][COUNT_FAILURES]++;
        sleep_us(rand_r(&seed) % p->pause_us);
    }
    standin_free(s);
    return 0;
}

static int run(worker_shared *shared, unsigned index, void *data)
{
    const contest *c = data;
    player p = {.shared = shared, .index = index, .count = c->ours + THEIRS};

    if (index < c->ours)
        return ours_run(&p, c, THREADS / c->ours, LK_QUEUE);
    p.first = c->ours;
    p.pause_us = PAUSE_US;
    return c->rival == RIVAL_OUR_SPIN ? ours_run(&p, c, 1, LK_SPIN)
                                      : theirs_run(&p, c);
}

/* ---- the contest ---- */

static uint64_t grants_of(workers *w, unsigned first, unsigned count)
{
    uint64_t grants = 0;

    for (unsigned i = first; i < first + count; i++)
        grants += workers_shared(w)->counters[i][COUNT_GRANTS];
    return grants;
}

/* The last drought is the one that the end of the contest cut off. */
static uint64_t drought_of(workers *w, unsigned first, uint64_t end)
{
    _Atomic uint64_t *counters = workers_shared(w)->counters[first];
    uint64_t last = counters[COUNT_LAST_MS];

    if (last < end && end - last > counters[COUNT_DROUGHT_MS])
        return end - last;
    return counters[COUNT_DROUGHT_MS];
}

static void is_exclusive(workers *w, const contest *c, uint64_t theirs)
{
    const record *r = &workers_shared(w)->records[0];
    bool have_fences = c->rival == RIVAL_FENCED || c->rival == RIVAL_OUR_SPIN;

    assert_int_equal(workers_count(w, COUNT_FAILURES), 0);
    assert_int_equal(r->overlaps, 0);
    assert_int_equal(r->inside, 0);
    /* Holders without a fence are counted there; nobody else. */
    assert_int_equal(r->fence_errors, have_fences ? 0 : theirs);
}

static void is_shared(workers *w, const contest *c, uint64_t end)
{
    uint64_t ours = grants_of(w, 0, c->ours);
    uint64_t theirs = grants_of(w, c->ours, THEIRS);
    uint64_t had_us = workers_shared(w)->counters[0][COUNT_HAD_US];
    uint64_t percent = had_us * 100 / workers_count(w, COUNT_HAD_US);

    print_message("ours %" PRIu64 " (%" PRIu64 " %%, of the time %" PRIu64
                  " %%), theirs %" PRIu64 "; longest without: %" PRIu64
                  " and %" PRIu64 " ms\n",
                  ours, ours * 100 / (ours + theirs), percent, theirs,
                  drought_of(w, 0, end), drought_of(w, c->ours, end));
    is_exclusive(w, c, theirs);
    assert_in_range(percent, SHARE_PERCENT, 100 - SHARE_PERCENT);
    assert_in_range(drought_of(w, 0, end), 0,
                    wait_allowed_ms(wait_scaled_ms(DROUGHT_MS)));
    assert_in_range(drought_of(w, c->ours, end), 0,
                    wait_allowed_ms(wait_scaled_ms(DROUGHT_MS)));
}

static bool is_long_enough(void *data)
{
    return workers_count(data, COUNT_GRANTS) >= length_grants();
}

static bool is_waited_for(void *data)
{
    redisReply *reply = server_command(data, SERVER_WAITERS("job"));
    bool is_so = reply->type == REDIS_REPLY_INTEGER && reply->integer > 0;

    freeReplyObject(reply);
    return is_so;
}

/* Gives the name back when ours wait for it. NULL is allowed. */
static void met(const contest *c, standin *first)
{
    if (first == NULL)
        return;
    assert_true(wait_until(is_waited_for, c->server, END_MS));
    assert_int_equal(standin_unlock(first), 1);
    standin_free(first);
}

static void contest_is_shared(contest c)
{
    standin *first = NULL;
    workers *w;
    uint64_t end;

    if (c.is_met) {
        first =
            standin_new((standin_kind)c.rival, server_socket(c.server), "job");
        assert_true(standin_try(first));
    }
    w = workers_start(c.ours + THEIRS, run, &c);
    assert_non_null(w);
    met(&c, first);
    assert_true(wait_until(is_long_enough, w, PLAY_MS));
    end = wait_now_ms();
    workers_end(w);
    assert_true(workers_wait(w, END_MS));
    assert_int_equal(workers_succeeded(w), c.ours + THEIRS);
    is_shared(w, &c, end);
    workers_free(w);
}

static int flush(void **state)
{
    server_flush(*state);
    return 0;
}

#define TEST(name) CHECK_TEST_OF(name, server *s, flush, NULL)

/* ---- the tests ---- */

TEST(redissons_lock_and_ours_share_a_name)
{
    contest_is_shared((contest){s, LK_INTEROP_AUTO, RIVAL_LOCK, 4, false});
}

/* A client that has just released, and wants it again, does not come first. */
TEST(redissons_lock_and_one_client_of_ours_share_a_name)
{
    contest_is_shared((contest){s, LK_INTEROP_AUTO, RIVAL_LOCK, 1, false});
}

/* And its tokens and our fences are one row of numbers, whoever begins. */
TEST(redissons_fenced_lock_and_ours_share_a_name)
{
    contest_is_shared(
        (contest){s, LK_INTEROP_REDISSON, RIVAL_FENCED, 4, false});
}

TEST(they_share_it_where_redisson_is_said_to_be_there)
{
    contest_is_shared((contest){s, LK_INTEROP_REDISSON, RIVAL_LOCK, 4, false});
}

TEST(redissons_fair_lock_and_ours_share_a_name)
{
    contest_is_shared((contest){s, LK_INTEROP_AUTO, RIVAL_FAIR, 4, false});
}

TEST(redissons_fair_lock_and_one_client_of_ours_share_a_name)
{
    contest_is_shared((contest){s, LK_INTEROP_AUTO, RIVAL_FAIR, 1, false});
}

TEST(spinners_and_ours_share_a_name_while_the_marker_is_there)
{
    free(server_string(s, "SET latchkey:{job}:s 1"));
    contest_is_shared((contest){s, LK_INTEROP_AUTO, RIVAL_SPIN, 4, false});
}

TEST(spinners_that_nobody_sees_share_it_where_they_are_said_to_be_there)
{
    contest_is_shared((contest){s, LK_INTEROP_REDISSON, RIVAL_SPIN, 4, false});
}

/* Once met, they are taken for there. */
TEST(spinners_that_were_met_share_it_though_nobody_sees_them)
{
    contest_is_shared((contest){s, LK_INTEROP_AUTO, RIVAL_SPIN, 4, true});
}

static bool have_come_in(void *data)
{
    return grants_of(data, THREADS, THEIRS) >= UNSEEN_GRANTS;
}

/* They leave no trace, and while ours hand it over the name is never free. */
TEST(spinners_that_were_never_met_come_in)
{
    contest c = {s, LK_INTEROP_AUTO, RIVAL_SPIN, THREADS, false};
    workers *w = workers_start(c.ours + THEIRS, run, &c);

    assert_non_null(w);
    assert_true(wait_until(have_come_in, w, PLAY_MS));
    workers_end(w);
    assert_true(workers_wait(w, END_MS));
    is_exclusive(w, &c, grants_of(w, c.ours, THEIRS));
    workers_free(w);
}

TEST(those_of_ours_who_spin_and_who_queue_share_a_name)
{
    contest_is_shared((contest){s, LK_INTEROP_AUTO, RIVAL_OUR_SPIN, 4, false});
}

static int start_server(void **state)
{
    *state = server_start(NULL);
    return *state == NULL;
}

static int stop_server(void **state)
{
    server_stop(*state);
    return 0;
}

int main(void)
{
    return check_all(start_server, stop_server);
}
