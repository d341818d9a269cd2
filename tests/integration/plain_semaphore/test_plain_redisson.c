/* SPDX-License-Identifier: MIT */

/* The bare counter beside Java services that use it as RSemaphore. */

#include <stdlib.h>

#include "support/call.h"
#include "support/check.h"
#include "support/plain.h"
#include "support/plain_redisson.h"
#include "support/wait.h"

enum { SOON_MS = 10000, CROWD = 4, ROUNDS = 60 };

static int64_t free_of(lk_plain_semaphore *semaphore)
{
    int64_t count = -999;

    assert_status(lk_plain_semaphore_count(semaphore, &count), LK_OK);
    return count;
}

/* ---- one counter ------------------------------------------------------------------ */

static void both_sides_count_the_same(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_of_new_client(f);
    jsem *java = jsem_new(f->base->server);
    int64_t taken = 0;

    assert_true(jsem_set(java, 10));
    assert_status(lk_plain_semaphore_try_set(semaphore, 3, 0), LK_EALREADY);
    plain_take(semaphore, 4, 0);
    assert_true(jsem_try(java, 6));
    assert_false(jsem_try(java, 1));
    assert_status(lk_plain_semaphore_acquire(semaphore, 1, 0, NULL), LK_EBUSY);
    jsem_release(java, 2);
    assert_int_equal(free_of(semaphore), 2);
    plain_give(semaphore, 3);
    assert_int_equal(jsem_drain(java), 5);
    jsem_add(java, 7);
    assert_status(lk_plain_semaphore_drain(semaphore, &taken), LK_OK);
    assert_int_equal(taken, 7);
    jsem_add(java, -2);
    assert_int_equal(free_of(semaphore), -2);
    assert_status(lk_plain_semaphore_delete(semaphore), LK_OK);
    assert_true(jsem_set(java, 1));
    jsem_free(java);
}

/* ---- a Java thread waits: for messages alone ------------------------------------------ */

typedef struct jthread {
    pthread_t id;
    jsem *java;
    long long permits;
    atomic_int result; /* 1: got them, -1: not in time */
} jthread;

static void *jthread_run(void *data)
{
    jthread *t = data;

    atomic_store(&t->result,
                 jsem_acquire(t->java, t->permits, wait_scaled_ms(SOON_MS))
                     ? 1
                     : -1);
    return NULL;
}

/* Waits until it listens, so that what is free afterwards it hears of. */
static jthread *jthread_start(plain *f, long long permits)
{
    jthread *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    t->java = jsem_new(f->base->server);
    t->permits = permits;
    assert_int_equal(pthread_create(&t->id, NULL, jthread_run, t), 0);
    locking_wait_integer(f->base, 1,
                         "EVAL return(redis.call('pubsub','numsub',KEYS[1])[2])"
                         " 1 %s",
                         "redisson_sc:{n}");
    return t;
}

static void jthread_end(jthread *t)
{
    assert_int_equal(pthread_join(t->id, NULL), 0);
    assert_int_equal(t->result, 1);
    jsem_free(t->java);
    free(t);
}

static void a_java_thread_hears_of_every_permit(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_of_new_client(f);
    jthread *t = jthread_start(f, 2);

    assert_status(lk_plain_semaphore_try_set(semaphore, 2, 0), LK_OK);
    jthread_end(t);
    t = jthread_start(f, 2);
    plain_give(semaphore, 1);
    plain_give(semaphore, 1);
    jthread_end(t);
    t = jthread_start(f, 2);
    assert_status(lk_plain_semaphore_add(semaphore, 2), LK_OK);
    jthread_end(t);
    assert_int_equal(free_of(semaphore), 0);
}

/* ---- a C program waits ------------------------------------------------------------------- */

static lk_plain_semaphore *of_mixed_fleet(plain *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .interop = LK_INTEROP_REDISSON};

    return plain_of(f, locking_open(f->base, &options));
}

/* Nobody tells it of Java's release: it looks about once a second. */
static void a_java_release_is_seen_within_a_second(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 0);
    jsem *java = jsem_new(f->base->server);
    plain_taker *t = plain_queue_up(f, semaphore, 1, 1);
    uint64_t begin = wait_now_ms();

    jsem_release(java, 1);
    jsem_free(java);
    assert_status(plain_join(t), LK_OK);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(1000 + wait_scaled_ms(2000)));
}

static void in_a_mixed_fleet_it_is_seen_at_once(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = of_mixed_fleet(f);
    jsem *java = jsem_new(f->base->server);
    uint64_t quickest = UINT64_MAX;

    assert_status(lk_plain_semaphore_try_set(semaphore, 0, 0), LK_OK);
    for (int i = 0; i < 10; i++) {
        plain_taker *t = plain_queue_up(f, semaphore, 1, 1);
        uint64_t begin = wait_now_ms();

        jsem_release(java, 1);
        assert_status(plain_join(t), LK_OK);
        if (wait_now_ms() - begin < quickest)
            quickest = wait_now_ms() - begin;
    }
    jsem_free(java);
    assert_in_range(quickest, 0, wait_scaled_ms(200));
}

/* ---- both ------------------------------------------------------------------------------------ */

typedef struct member {
    pthread_t id;
    lk_plain_semaphore *semaphore;
    jsem *java;
    atomic_int *inside, *most, *failed;
    int rounds;
} member;

static void member_enter(const member *m)
{
    int now = atomic_fetch_add(m->inside, 1) + 1;

    if (now > atomic_load(m->most))
        atomic_store(m->most, now);
    atomic_fetch_sub(m->inside, 1);
}

static void *member_run(void *data)
{
    const member *m = data;

    for (int i = 0; i < m->rounds; i++) {
        bool has =
            m->java != NULL
                ? jsem_acquire(m->java, 1, wait_scaled_ms(SOON_MS))
                : lk_plain_semaphore_acquire(m->semaphore, 1,
                                             (int64_t)wait_scaled_ms(SOON_MS),
                                             NULL) == LK_OK;

        if (!has) {
            atomic_fetch_add(m->failed, 1);
            continue;
        }
        member_enter(m);
        if (m->java != NULL)
            jsem_release(m->java, 1);
        else if (lk_plain_semaphore_release(m->semaphore, 1) != LK_OK)
            atomic_fetch_add(m->failed, 1);
    }
    return NULL;
}

static void both_sides_get_on_and_no_more_are_inside_than_may(void **state)
{
    plain *f = *state;
    atomic_int inside = 0, most = 0, failed = 0;
    member members[2 * CROWD];

    for (int i = 0; i < 2 * CROWD; i++) {
        bool is_java = i % 2 == 1;

        members[i] =
            (member){.semaphore = is_java  ? NULL
                                  : i == 0 ? plain_with(f, 2)
                                           : plain_of_new_client(f),
                     .java = is_java ? jsem_new(f->base->server) : NULL,
                     .inside = &inside,
                     .most = &most,
                     .failed = &failed,
                     .rounds = ROUNDS};
    }
    for (int i = 0; i < 2 * CROWD; i++)
        assert_int_equal(pthread_create(&members[i].id, NULL, member_run,
                                        &members[i]),
                         0);
    for (int i = 0; i < 2 * CROWD; i++) {
        assert_int_equal(pthread_join(members[i].id, NULL), 0);
        jsem_free(members[i].java);
    }
    assert_int_equal(failed, 0);
    assert_in_range(most, 1, 2);
    assert_int_equal(free_of(members[0].semaphore), 2);
    plain_wait_clean(f);
}

/* What a wait that was given up had taken is told to Java as well. */
static void what_is_given_back_by_itself_java_hears_of(void **state)
{
    plain *f = *state;
    lk_plain_semaphore *semaphore = plain_with(f, 0);
    lk_plain_semaphore *other = plain_of_new_client(f);
    lk_cancel *cancel = NULL;
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    call wait = {0};
    jthread *t;

    assert_status(lk_cancel_new(&cancel, f->base->clients[0]), LK_OK);
    options.cancel = cancel;
    assert_status(lk_plain_semaphore_acquire_async(semaphore, 1, LK_FOREVER,
                                                   &options, call_on_done,
                                                   &wait),
                  LK_OK);
    locking_wait_queued(f->base, "n", 1);
    t = jthread_start(f, 1);
    plain_give(other, 1);
    lk_cancel_fire(cancel);
    if (call_wait(&wait, NULL) == LK_OK)
        plain_give(semaphore, 1);
    jthread_end(t);
    assert_int_equal(free_of(semaphore), 0);
    lk_cancel_free(cancel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLAIN_CASE(both_sides_count_the_same),
        PLAIN_CASE(a_java_thread_hears_of_every_permit),
        PLAIN_CASE(a_java_release_is_seen_within_a_second),
        PLAIN_CASE(in_a_mixed_fleet_it_is_seen_at_once),
        PLAIN_CASE(both_sides_get_on_and_no_more_are_inside_than_may),
        PLAIN_CASE(what_is_given_back_by_itself_java_hears_of),
    };

    return cmocka_run_group_tests_name("plain_redisson", tests,
                                       locking_start_server,
                                       locking_stop_server);
}
