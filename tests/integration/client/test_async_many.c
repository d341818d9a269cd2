/* SPDX-License-Identifier: MIT */

/* Ten thousand waits under way in one client: no thread for each, in order. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum {
    MOST = 10000,
    LONG_MS = 60000,
    WATCHDOG_MS = 600000,
    ROUNDED_MS = 2 /* what two times in whole milliseconds may lack */
};

/* How many there are in this run: fewer under a tool that makes each slow. */
static int many(void)
{
    return (int)(MOST / wait_scale());
}

/* A number behind a word in /proc/self/status. */
static long status_number(const char *word)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long number = -1;

    assert_non_null(file);
    while (number < 0 && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, word, strlen(word)) == 0)
            number = strtol(line + strlen(word) + 1, NULL, 10);
    }
    (void)fclose(file);
    return number;
}

/* A wait takes so much at most; what went before may have left some over. */
static void assert_memory_per_wait(long before_kb, int kb_each)
{
    long grown = status_number("VmRSS:") - before_kb;

    if (grown > (long)wait_scaled_ms((unsigned)(many() * kb_each)))
        fail_msg("%ld kB more", grown); /* scaled: tools take memory, too */
}

/* Many waits and what became of them. */
typedef struct crowd {
    atomic_int ended;
    atomic_int released;
    int failed, lost, out_of_order, stale;
    uint64_t last_fence;
    struct member {
        struct crowd *crowd;
        int number;
        lk_hold *hold;
        uint64_t until; /* so long it lasts, as it was told at the grant */
        int ends;
    } members[MOST];
    lk_lock *locks[MOST];
} crowd;

static crowd *crowd_new(void)
{
    crowd *c = calloc(1, sizeof(*c));

    assert_non_null(c);
    for (int i = 0; i < many(); i++) {
        c->members[i].crowd = c;
        c->members[i].number = i;
    }
    return c;
}

static void note(struct member *m, lk_status status)
{
    crowd *c = m->crowd;

    m->ends++;
    c->failed += status != LK_OK;
    c->out_of_order += m->number != atomic_load(&c->ended);
}

static void assert_each_ended_once(const crowd *c)
{
    assert_int_equal(c->failed, 0);
    for (int i = 0; i < many(); i++)
        assert_int_equal(c->members[i].ends, 1);
}

static bool has_come(void *data)
{
    atomic_int *counter = data;

    return atomic_load(counter) >= many();
}

static void wait_all(atomic_int *counter)
{
    if (!wait_until(has_come, counter, LONG_MS))
        fail_msg("%d of %d", atomic_load(counter), many());
}

/* A client whose calls stand in a queue of ten thousand. */
static lk_client *open_patient(locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms = WATCHDOG_MS,
                                       .watchdog_ms = WATCHDOG_MS};

    return locking_open(f, &options);
}

/* ---- one name each ------------------------------------------------------- */

static void on_taken(lk_status status, lk_hold *hold, void *data)
{
    struct member *m = data;

    note(m, status);
    m->hold = hold;
    m->until = wait_now_ms() + lk_hold_remaining_ms(hold);
    (void)atomic_fetch_add(&m->crowd->ended, 1);
}

static void on_released(lk_status status, void *data)
{
    struct member *m = data;

    m->crowd->lost += status == LK_ELOST;
    m->crowd->failed += status != LK_OK && status != LK_ELOST;
    (void)atomic_fetch_add(&m->crowd->released, 1);
}

static void crowd_acquire(crowd *c, lk_client *client, int64_t wait_ms)
{
    for (int i = 0; i < many(); i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "n%d", i);
        if (c->locks[i] == NULL)
            assert_status(lk_lock_new(&c->locks[i], client, name, NULL), LK_OK);
        assert_status(lk_lock_acquire_async(c->locks[i], wait_ms, NULL,
                                            on_taken, &c->members[i]),
                      LK_OK);
    }
}

static void crowd_release(crowd *c)
{
    for (int i = 0; i < many(); i++)
        assert_status(lk_hold_release_async(c->members[i].hold, on_released,
                                            &c->members[i]),
                      LK_OK);
    wait_all(&c->released);
}

static void crowd_free(crowd *c)
{
    for (int i = 0; i < many(); i++)
        lk_lock_free(c->locks[i]);
    free(c);
}

/* How many of the names have a waiter at the server. */
static long long count_queues(locking *f)
{
    return server_integer(f->server, "EVAL %s 0",
                          "return #redis.call('KEYS', 'latchkey:*:q')");
}

static bool all_queue(void *data)
{
    return count_queues(data) == many();
}

/* Nothing takes a hold away but the end of its lease, where this machine had no time
   for its first renewal. */
static void assert_held_or_ended(const crowd *c)
{
    for (int i = 0; i < many(); i++) {
        const struct member *m = &c->members[i];
        uint64_t lost_for = lk_hold_lost_for_ms(m->hold);

        if (lk_hold_check(m->hold) == LK_OK)
            continue;
        assert_unreachable(lk_hold_loss(m->hold));
        assert_true(wait_now_ms() + ROUNDED_MS >= m->until + lost_for);
    }
}

static void ten_thousand_names_are_waited_for_without_threads(void **state)
{
    locking *f = *state;
    lk_client *holder = open_patient(f);
    lk_client *waiter = open_patient(f);
    crowd *holds = crowd_new(), *waits = crowd_new();
    long threads, kilobytes;
    lk_client_stats stats;

    crowd_acquire(holds, holder, LK_FOREVER);
    wait_all(&holds->ended);
    assert_each_ended_once(holds);
    threads = status_number("Threads:");
    kilobytes = status_number("VmRSS:");

    crowd_acquire(waits, waiter, LK_FOREVER);
    assert_int_equal(locking_stats(waiter).waiting, many());
    assert_true(wait_until(all_queue, f, LONG_MS));
    assert_int_equal(status_number("Threads:"), threads);
    assert_memory_per_wait(kilobytes, 6);
    assert_int_equal(atomic_load(&waits->ended), 0);

    crowd_release(holds);
    assert_int_equal(holds->failed + holds->lost, 0);
    wait_all(&waits->ended);
    assert_each_ended_once(waits);
    stats = locking_stats(waiter);
    assert_int_equal(stats.holding + stats.losses, many());
    assert_held_or_ended(waits);
    crowd_release(waits);
    assert_int_equal(waits->failed, 0);
    assert_int_equal(locking_stats(waiter).holding, 0);
    assert_int_equal(status_number("Threads:"), threads);
    crowd_free(holds);
    crowd_free(waits);
}

/* ---- all on one name -------------------------------------------------------- */

static void on_turn(lk_status status, lk_hold *hold, void *data)
{
    struct member *m = data;
    crowd *c = m->crowd;

    note(m, status);
    if (status == LK_OK) {
        c->stale += lk_hold_fence(hold) <= c->last_fence;
        c->last_fence = lk_hold_fence(hold);
        c->failed += lk_hold_release_async(hold, on_released, m) != LK_OK;
    }
    (void)atomic_fetch_add(&c->ended, 1);
}

static void ten_thousand_waits_for_one_name_end_in_order(void **state)
{
    locking *f = *state;
    lk_client *client = open_patient(f);
    lk_hold *hold = locking_hold(locking_lock(f, locking_open(f, NULL), "n"));
    lk_lock *lock = locking_lock(f, client, "n");
    crowd *c = crowd_new();
    long threads = status_number("Threads:");
    long kilobytes = status_number("VmRSS:");
    uint64_t commands;

    c->last_fence = lk_hold_fence(hold);
    for (int i = 0; i < many(); i++)
        assert_status(lk_lock_acquire_async(lock, LK_FOREVER, NULL, on_turn,
                                            &c->members[i]),
                      LK_OK);
    locking_wait_queued(f, "n", 1);
    assert_int_equal(status_number("Threads:"), threads);
    assert_memory_per_wait(kilobytes, 3);
    commands = locking_stats(client).commands;

    assert_status(lk_hold_release(hold), LK_OK);
    wait_all(&c->released);
    assert_each_ended_once(c);
    assert_int_equal(c->out_of_order, 0);
    assert_int_equal(c->stale, 0);
    assert_in_range(locking_stats(client).commands - commands, 1, many() / 4);
    free(c);
}

static void a_shutdown_ends_ten_thousand_waits_once(void **state)
{
    locking *f = *state;
    lk_hold *hold = locking_hold(locking_lock(f, locking_open(f, NULL), "n"));
    lk_client *client = locking_open(f, NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    crowd *c = crowd_new();
    call end = {0};

    for (int i = 0; i < many(); i++)
        assert_status(lk_lock_acquire_async(lock, LK_FOREVER, NULL, on_taken,
                                            &c->members[i]),
                      LK_OK);
    assert_status(lk_client_shutdown_async(client, 5000, call_on_done, &end),
                  LK_OK);
    assert_status(call_wait(&end, client), LK_OK);
    assert_int_equal(atomic_load(&c->ended), many());
    assert_int_equal(c->failed, many());
    for (int i = 0; i < many(); i++) {
        assert_int_equal(c->members[i].ends, 1);
        assert_null(c->members[i].hold);
    }
    assert_status(lk_hold_release(hold), LK_OK);
    free(c);
}

int test_async_many(void)
{
    const struct CMUnitTest tests[] = {
        LOCKING_TEST(ten_thousand_names_are_waited_for_without_threads),
        LOCKING_TEST(ten_thousand_waits_for_one_name_end_in_order),
        LOCKING_TEST(a_shutdown_ends_ten_thousand_waits_once),
    };

    return cmocka_run_group_tests_name("async_many", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
