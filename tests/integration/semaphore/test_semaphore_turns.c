/* SPDX-License-Identifier: MIT */

/*
 * Four processes with Latchkey and four with Redisson, played by stand-ins,
 * that want the same permits at the same time: no more are in use than there
 * are, and each side gets its share. Two seconds at least; LK_LONG=1 in the
 * environment asks for eight.
 */

#include <latchkey/latchkey.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "support/jpermits.h"
#include "support/server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PERMITS = 3,
    OURS = 4, /* the workers with a smaller index */
    THEIRS = 4,
    HOLD_MS = 1,
    SHORT_MS = 2000,
    LONG_MS = 8000,
    SHARE_PERCENT = 15, /* the least of each side */
    SLOW_PERCENT = 5,   /* the same where a millisecond's work takes longer */
    LEAST_GRANTS = 200,
    END_MS = 20000
};

enum { COUNT_GRANTS, COUNT_FAILURES, COUNT_TOO_MANY };
enum { NOBODY = WORKER_MAX - 1, IN_USE = WORKER_COUNTERS - 1 };

typedef struct contest {
    server *server;
    lk_interop interop;
} contest;

static unsigned length_ms(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0 ? LONG_MS : SHORT_MS;
}

static void pause_ms(unsigned ms)
{
    const struct timespec time = {.tv_sec = ms / 1000,
                                  .tv_nsec = (long)(ms % 1000) * 1000000L};

    (void)nanosleep(&time, NULL);
}

/* ---- the workers ---- */

static void use(worker_shared *shared, unsigned index, uint64_t count)
{
    _Atomic uint64_t *in_use = &shared->counters[NOBODY][IN_USE];

    if (atomic_fetch_add(in_use, count) + count > PERMITS)
        shared->counters[index][COUNT_TOO_MANY]++;
    shared->counters[index][COUNT_GRANTS]++;
    pause_ms(HOLD_MS);
    (void)atomic_fetch_sub(in_use, count);
}

static int ours_run(worker_shared *shared, unsigned index, const contest *c)
{
    /* What a slow machine takes is no outage. */
    const lk_client_options how = {LK_CLIENT_OPTIONS_INIT,
                                   .interop = c->interop,
                                   .command_timeout_ms = wait_scaled_ms(END_MS),
                                   .offline_ms = wait_scaled_ms(END_MS)};
    const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                          .permits = PERMITS};
    lk_client *client;
    lk_semaphore *semaphore;
    lk_hold *hold;

    if (lk_client_open(&client, server_url(c->server), &how) != LK_OK ||
        lk_semaphore_new(&semaphore, client, "n", &options) != LK_OK)
        return 1;
    while (!atomic_load(&shared->is_over)) {
        if (lk_semaphore_acquire(semaphore, 1, LK_FOREVER, NULL, &hold) !=
            LK_OK) {
            shared->counters[index][COUNT_FAILURES]++;
            continue;
        }
        use(shared, index, 1);
        if (lk_hold_release(hold) != LK_OK)
            shared->counters[index][COUNT_FAILURES]++;
    }
    lk_semaphore_free(semaphore);
    if (lk_client_shutdown(client, 5000) != LK_OK)
        return 1;
    lk_client_free(client);
    return 0;
}

static int theirs_run(worker_shared *shared, unsigned index, const contest *c)
{
    jpermits *java = jpermits_new(c->server);
    jgrant grant;

    (void)jpermits_try_set(java, PERMITS);
    while (!atomic_load(&shared->is_over)) {
        if (!jpermits_acquire(java, 1, 30000, 1000, &grant))
            continue;
        use(shared, index, 1);
        if (!jpermits_release(java, grant.ids[0]))
            shared->counters[index][COUNT_FAILURES]++;
    }
    jpermits_free(java);
    return 0;
}

static int run(worker_shared *shared, unsigned index, void *data)
{
    return index < OURS ? ours_run(shared, index, data)
                        : theirs_run(shared, index, data);
}

/* ---- the contest ---- */

static uint64_t grants_of(workers *w, unsigned first, unsigned count)
{
    uint64_t grants = 0;

    for (unsigned i = first; i < first + count; i++)
        grants += workers_shared(w)->counters[i][COUNT_GRANTS];
    return grants;
}

typedef struct score {
    uint64_t ours, theirs;
} score;

static score score_of(workers *w)
{
    return (score){grants_of(w, 0, OURS), grants_of(w, OURS, THEIRS)};
}

static bool both_are_there(void *w)
{
    const score now = score_of(w);

    return now.ours > 0 && now.theirs > 0;
}

static bool grants_are_enough(void *w)
{
    const score now = score_of(w);

    return now.ours + now.theirs >= LEAST_GRANTS;
}

/* Of what was granted once both sides had begun: processes begin slowly on a busy
   machine. */
static void contest_is_shared(contest c)
{
    workers *w = workers_start(OURS + THEIRS, run, &c);
    unsigned least = wait_scale() > 1 ? SLOW_PERCENT : SHARE_PERCENT;
    score first, last;
    uint64_t ours, theirs, percent;

    assert_non_null(w);
    assert_true(wait_until(both_are_there, w, END_MS));
    first = score_of(w);
    pause_ms(length_ms());
    assert_true(wait_until(grants_are_enough, w, END_MS));
    last = score_of(w);
    workers_end(w);
    assert_true(workers_wait(w, END_MS));
    assert_int_equal(workers_succeeded(w), OURS + THEIRS);
    ours = last.ours - first.ours;
    theirs = last.theirs - first.theirs;
    percent = ours * 100 / (ours + theirs + 1);
    print_message("ours %" PRIu64 " (%" PRIu64 " %%), theirs %" PRIu64 "\n",
                  ours, percent, theirs);
    assert_int_equal(workers_count(w, COUNT_TOO_MANY), 0);
    assert_int_equal(workers_count(w, COUNT_FAILURES), 0);
    assert_in_range(percent, least, 100 - least);
    workers_free(w);
    assert_int_equal(server_integer(c.server, "INCRBY n 0"), PERMITS);
    assert_int_equal(server_integer(c.server, "EXISTS {n}:timeout"), 0);
}

static int flush(void **state)
{
    server_flush(*state);
    return 0;
}

#define TEST(name) CHECK_TEST_OF(name, server *s, flush, NULL)

TEST(redissons_permits_and_ours_are_shared)
{
    contest_is_shared((contest){s, LK_INTEROP_AUTO});
}

TEST(they_are_where_redisson_is_said_to_be_there)
{
    contest_is_shared((contest){s, LK_INTEROP_REDISSON});
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
