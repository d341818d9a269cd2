/* SPDX-License-Identifier: MIT */

/*
 * Holds that their own callback ends while a call of theirs, in another thread,
 * waits for that callback's end. The sanitizer says whether the call touches
 * them after that.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { SOON_MS = 10000, NOTICE_MS = 86400000 };

/* ---- a call that meets the callback ------------------------------------------- */

typedef lk_status (*call_fn)(lk_hold *hold);

typedef struct meeting {
    call_fn call;
    lk_hold *hold;
    pthread_t thread;
    atomic_int tid; /* of the thread; 0: it has not begun */
    bool waited;    /* the call was seen to wait */
    lk_status released;
    lk_status status; /* the call's */
    atomic_bool over; /* the callback's work is done */
} meeting;

static void *make_call(void *data)
{
    meeting *m = data;

    atomic_store(&m->tid, (int)syscall(SYS_gettid));
    m->status = m->call(m->hold);
    return NULL;
}

/* The thread sleeps until another one wakes it. */
static bool is_waiting(void *data)
{
    meeting *m = data;
    int tid = atomic_load(&m->tid);
    char path[64], line[64] = "";
    FILE *file;

    if (tid == 0)
        return false;
    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    if (fgets(line, sizeof(line), file) == NULL)
        line[0] = '\0'; /* it runs, or has ended */
    (void)fclose(file);
    return line[0] != '\0' && strtol(line, NULL, 10) == SYS_futex;
}

/* For lk_hold_on_lost(). */
static void meet(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    meeting *m = data;

    (void)remaining_ms;
    if (pthread_create(&m->thread, NULL, make_call, m) == 0)
        m->waited = wait_until(is_waiting, m, SOON_MS);
    m->released = lk_hold_release(hold);
    atomic_store(&m->over, true);
}

static bool is_over(void *data)
{
    return atomic_load(&((meeting *)data)->over);
}

/* Its notice is due at once, so its callback runs while it is held. */
static void end_during(lk_hold *hold, call_fn call)
{
    meeting m = {.call = call, .hold = hold};

    assert_status(lk_hold_on_lost(hold, NOTICE_MS, meet, &m), LK_OK);
    assert_true(wait_until(is_over, &m, SOON_MS));
    assert_int_equal(pthread_join(m.thread, NULL), 0);
    assert_true(m.waited);
    assert_status(m.released, LK_EINDOUBT); /* a callback does not wait */
    assert_status(m.status, LK_ELOST);
}

/* ---- the calls ---------------------------------------------------------------- */

static lk_status take_callback_back(lk_hold *hold)
{
    return lk_hold_on_lost(hold, 0, NULL, NULL);
}

static lk_status set_callback(lk_hold *hold)
{
    return lk_hold_on_lost(hold, NOTICE_MS, meet, NULL);
}

static lk_status export_it(lk_hold *hold)
{
    char text[LK_EXPORT_SIZE];

    return lk_hold_export(hold, text, sizeof(text));
}

/* What its callback is told. */
struct told {
    atomic_bool is_told;
    lk_status status;
};

static void on_released(lk_status status, void *data)
{
    struct told *told = data;

    told->status = status;
    atomic_store(&told->is_told, true);
}

static bool is_told(void *data)
{
    return atomic_load(&((struct told *)data)->is_told);
}

/* Either it answers itself, or its callback does. */
static lk_status release_async(lk_hold *hold)
{
    struct told told = {.status = LK_OK};
    lk_status status = lk_hold_release_async(hold, on_released, &told);

    if (status != LK_OK)
        return status;
    return wait_until(is_told, &told, SOON_MS) ? told.status : LK_ETIMEDOUT;
}

static const call_fn every_hold_has[] = {take_callback_back, set_callback,
                                         lk_hold_release, release_async};

enum { EVERY_COUNT = sizeof(every_hold_has) / sizeof(every_hold_has[0]) };

LOCKS_TEST(a_hold_may_end_while_its_callback_is_waited_for)
{
    lk_lock *lock = locking_lock(f, locking_open(f, NULL), "n");

    for (size_t i = 0; i < EVERY_COUNT; i++)
        end_during(locking_hold(lock), every_hold_has[i]);
    end_during(locking_hold(lock), export_it);
}

LOCKS_TEST(a_hold_of_a_multilock_may_end_so)
{
    lk_client *client = locking_open(f, NULL);
    lk_multilock *set = NULL;

    assert_status(lk_multilock_new(&set), LK_OK);
    assert_status(lk_multilock_add_lock(set, locking_lock(f, client, "a")),
                  LK_OK);
    assert_status(lk_multilock_add_lock(set, locking_lock(f, client, "b")),
                  LK_OK);
    for (size_t i = 0; i < EVERY_COUNT; i++) {
        lk_hold *hold = NULL;

        assert_status(lk_multilock_acquire(set, SOON_MS, NULL, &hold), LK_OK);
        end_during(hold, every_hold_has[i]);
    }
    lk_multilock_free(set);
}

LOCKS_TEST(a_hold_of_a_redlock_may_end_so)
{
    const lk_redlock_options options = {LK_REDLOCK_OPTIONS_INIT, .retry_ms = 10,
                                        .durable = 1};
    lk_client *client = locking_open(f, NULL);
    lk_redlock *lock = NULL;

    assert_status(lk_redlock_new(&lock, &client, 1, "n", &options), LK_OK);
    for (size_t i = 0; i < EVERY_COUNT; i++) {
        lk_hold *hold = NULL;

        assert_status(lk_redlock_acquire(lock, SOON_MS, NULL, &hold), LK_OK);
        end_during(hold, every_hold_has[i]);
    }
    lk_redlock_free(lock);
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
