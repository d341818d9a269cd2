/* SPDX-License-Identifier: MIT */

/*
 * Handles and holds of every primitive that somebody ends while a call of theirs
 * sleeps: another thread, or the callback that tells of a loss. The sanitizer says
 * whether the call touches them after that.
 */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/check.h"
#include "support/stand.h"
#include "support/wait.h"

enum { NOTICE_MS = 86400000 };

/* ---- handles --------------------------------------------------------------------- */

/* A call that sleeps until its server answers. */
typedef struct sleeper {
    pthread_t thread;
    const kind *kind;
    lk_status (*call)(const kind *k, void *handle);
    void *handle;
    lk_status status;
    party *party;
    uint64_t commands; /* before it */
} sleeper;

static lk_status do_acquire(const kind *k, void *handle)
{
    lk_hold *hold = NULL;
    lk_status status = k->acquire(handle, STAND_MS, NULL, &hold);

    return hold != NULL ? lk_hold_release(hold) : status;
}

static lk_status do_ask(const kind *k, void *handle)
{
    return k->ask(handle);
}

static lk_status do_info(const kind *k, void *handle)
{
    lk_info *info = NULL;
    lk_status status = k->info(handle, &info);

    lk_info_free(info);
    return status;
}

static void *sleep_in_call(void *data)
{
    sleeper *s = data;

    s->status = s->call(s->kind, s->handle);
    return NULL;
}

static bool has_asked(void *data)
{
    const sleeper *s = data;

    return party_stats(s->party).commands > s->commands;
}

static void
freed_during(party *p, lk_status (*asks)(const kind *k, void *handle))
{
    sleeper s = {.kind = p->stand->kind, .call = asks, .party = p};

    assert_status(s.kind->make(&s.handle, &p->site, STAND_NAME), LK_OK);
    s.commands = party_stats(p).commands;
    stand_freeze(p->stand);
    assert_int_equal(pthread_create(&s.thread, NULL, sleep_in_call, &s), 0);
    assert_true(wait_until(has_asked, &s, STAND_MS));
    s.kind->free(s.handle);
    stand_thaw(p->stand);
    assert_int_equal(pthread_join(s.thread, NULL), 0);
    assert_status(s.status, LK_OK);
}

/* What a multilock is made of has to live longer than its calls. */
static bool is_one(const kind *k)
{
    return k->acquire != NULL && !k->is_joint;
}

static void a_handle_may_be_freed_during_its_call(stand *s)
{
    party *p = party_near(s, NULL);

    party_shut(p);
    party_open(p);
    freed_during(p, do_acquire);
    if (s->kind->ask != NULL)
        freed_during(p, do_ask);
    if (s->kind->info != NULL)
        freed_during(p, do_info);
}

/* ---- holds that are lost ----------------------------------------------------------- */

static void release_lost(lk_hold *hold, uint64_t remaining_ms, void *data)
{
    (void)remaining_ms;
    assert_status(lk_hold_release(hold), LK_ELOST);
    atomic_store((atomic_bool *)data, true);
}

static bool is_one_with_a_hold(const kind *k)
{
    return is_one(k) && k->has_hold;
}

/* Its server does not answer, so its lease ends in the middle of the call: not before
   it, and the call's own patience ends behind the callback. */
static void a_hold_may_be_released_while_it_is_extended(stand *s)
{
    const lk_client_options impatient = {LK_CLIENT_OPTIONS_INIT,
                                         .command_timeout_ms =
                                             2 * (uint64_t)wait_lease_ms()};
    const lk_acquire_options brief = {LK_ACQUIRE_OPTIONS_INIT,
                                      .lease_ms = wait_lease_ms()};
    party *p = party_near(s, &impatient);
    atomic_bool is_released = false;
    lk_hold *hold = NULL;

    assert_status(s->kind->acquire(p->handle, STAND_MS, &brief, &hold), LK_OK);
    assert_status(lk_hold_on_lost(hold, 0, release_lost, &is_released), LK_OK);
    stand_freeze(s);
    assert_int_not_equal(lk_hold_extend(hold, 30000), LK_OK);
    assert_true(atomic_load(&is_released));
    stand_thaw(s);
    stand_is_clean(s);
}

/* ---- holds that their callback ends --------------------------------------------------- */

typedef lk_status (*call_fn)(lk_hold *hold);

/* A call that meets the callback, and waits for its end. */
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
        m->waited = wait_until(is_waiting, m, STAND_MS);
    m->released = lk_hold_release(hold);
    atomic_store(&m->over, true);
}

static bool is_over(void *data)
{
    return atomic_load(&((meeting *)data)->over);
}

/* Its notice is due at once, so its callback runs while it is held. */
static void end_during(party *p, call_fn ends)
{
    meeting m = {.call = ends};

    party_acquire(p);
    m.hold = p->hold;
    p->hold = NULL;
    assert_status(lk_hold_on_lost(m.hold, NOTICE_MS, meet, &m), LK_OK);
    assert_true(wait_until(is_over, &m, STAND_MS));
    assert_int_equal(pthread_join(m.thread, NULL), 0);
    assert_true(m.waited);
    assert_status(m.released, LK_EPENDING); /* a callback does not wait */
    assert_status(m.status, LK_ELOST);
}

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

/* Either it answers itself, or its callback does. */
static lk_status release_async(lk_hold *hold)
{
    call c = {0};
    lk_status status = lk_hold_release_async(hold, call_on_done, &c);

    return status == LK_OK ? call_wait(&c, NULL) : status;
}

static void a_hold_may_end_while_its_callback_is_waited_for(stand *s)
{
    party *p = party_near(s, NULL);

    end_during(p, take_callback_back);
    end_during(p, set_callback);
    end_during(p, lk_hold_release);
    end_during(p, release_async);
    if (s->kind->import != NULL)
        end_during(p, export_it);
    stand_is_clean(s);
}

int test_meanwhile(void)
{
    const stand_test tests[] = {
        STAND_TEST(a_handle_may_be_freed_during_its_call, is_one),
        STAND_TEST(a_hold_may_be_released_while_it_is_extended,
                   is_one_with_a_hold),
        STAND_TEST(a_hold_may_end_while_its_callback_is_waited_for,
                   stand_is_held),
    };

    return stand_run("meanwhile", tests, sizeof(tests) / sizeof(tests[0]));
}
