/* SPDX-License-Identifier: MIT */

/* The async forms, and every way in which a wait for permits ends early. */

#include <pthread.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/semaphores.h"
#include "support/wait.h"

enum { LOOP = 0, DISPATCH = 1, MODES = 2 };

/* A call, and what a count answers. */
typedef struct count_call {
    call call; /* first */
    uint64_t permits;
    int64_t free;
} count_call;

static void
on_count(lk_status status, uint64_t permits, int64_t free, void *data)
{
    count_call *c = data;

    c->permits = permits;
    c->free = free;
    call_on_done(status, &c->call);
}

static lk_client *open_mode(locking *f, uint64_t mode)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .dispatch = mode};

    return locking_open(f, &options);
}

static bool is_mine(const call *c)
{
    return pthread_equal(c->thread, pthread_self()) != 0;
}

/* ---- each call ----------------------------------------------------------- */

LOCKS_TEST(each_call_ends_once_and_on_the_right_thread)
{
    for (uint64_t mode = LOOP; mode < MODES; mode++) {
        lk_client *client = open_mode(f, mode);
        lk_semaphore *semaphore = sem_of(f, client, 4);
        call calls[5] = {0};
        count_call counted = {0};

        assert_status(lk_semaphore_acquire_async(semaphore, 2, 0, NULL,
                                                 call_on_acquire, &calls[0]),
                      LK_OK);
        assert_status(call_wait(&calls[0], client), LK_OK);
        assert_status(lk_semaphore_resize_async(semaphore, 3, call_on_done,
                                                &calls[1]),
                      LK_OK);
        assert_status(call_wait(&calls[1], client), LK_OK);
        assert_status(lk_semaphore_count_async(semaphore, on_count, &counted),
                      LK_OK);
        assert_status(call_wait(&counted.call, client), LK_OK);
        assert_int_equal(counted.permits, 3);
        assert_int_equal(counted.free, 1);
        assert_status(lk_semaphore_info_async(semaphore, call_on_info,
                                              &calls[2]),
                      LK_OK);
        assert_status(call_wait(&calls[2], client), LK_OK);
        assert_int_equal(calls[2].info->holders[0]->count, 2);
        assert_status(lk_semaphore_force_release_async(
                          semaphore, calls[2].info->holders[0]->owner,
                          call_on_done, &calls[3]),
                      LK_OK);
        assert_status(call_wait(&calls[3], client), LK_OK);
        assert_status(lk_hold_release_async(calls[0].hold, call_on_done,
                                            &calls[4]),
                      LK_OK);
        assert_status(call_wait(&calls[4], client), LK_ELOST);
        for (int i = 0; i < 5; i++) {
            assert_int_equal(atomic_load(&calls[i].ends), 1);
            assert_int_equal(is_mine(&calls[i]), mode == DISPATCH);
        }
        assert_int_equal(is_mine(&counted.call), mode == DISPATCH);
        lk_info_free(calls[2].info);
        assert_status(lk_semaphore_resize(semaphore, 4), LK_OK);
        sem_assert_clean(f, 4);
    }
}

LOCKS_TEST(a_refusal_is_told_by_the_callback)
{
    lk_semaphore *unset = sem_new(f, 0);
    lk_semaphore *semaphore = sem_new(f, 4);
    lk_semaphore *wrong = sem_new(f, 5);
    lk_hold *hold;
    call calls[3] = {0};
    count_call counted = {0};

    assert_status(lk_semaphore_count_async(unset, on_count, &counted), LK_OK);
    assert_status(call_wait(&counted.call, NULL), LK_EUNSET);
    hold = sem_hold(semaphore, 1);
    assert_status(lk_semaphore_acquire_async(wrong, 1, 0, NULL, call_on_acquire,
                                             &calls[0]),
                  LK_OK);
    assert_status(call_wait(&calls[0], NULL), LK_EMISMATCH);
    assert_null(calls[0].hold);
    assert_status(lk_semaphore_acquire_async(semaphore, 4, 0, NULL,
                                             call_on_acquire, &calls[1]),
                  LK_OK);
    assert_status(call_wait(&calls[1], NULL), LK_EBUSY);
    assert_status(lk_semaphore_acquire_async(semaphore, 5, 0, NULL,
                                             call_on_acquire, &calls[2]),
                  LK_OK);
    assert_status(call_wait(&calls[2], NULL), LK_ERANGE);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* As with a blocking one: what it found is remembered. */
LOCKS_TEST(a_number_that_was_found_right_is_not_compared_again)
{
    lk_semaphore *semaphore = sem_new(f, 4);
    call first = {0};
    call second = {0};

    assert_status(lk_semaphore_acquire_async(semaphore, 1, 0, NULL,
                                             call_on_acquire, &first),
                  LK_OK);
    assert_status(call_wait(&first, NULL), LK_OK);
    assert_status(lk_semaphore_resize(semaphore, 6), LK_OK);
    assert_status(lk_semaphore_acquire_async(semaphore, 5, 0, NULL,
                                             call_on_acquire, &second),
                  LK_OK);
    assert_status(call_wait(&second, NULL), LK_OK);
    assert_status(lk_hold_release(first.hold), LK_OK);
    assert_status(lk_hold_release(second.hold), LK_OK);
}

/* ---- ends ---------------------------------------------------------------- */

LOCKS_TEST(a_shutdown_ends_waits_and_gives_permits_back)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_semaphore *semaphore = sem_of(f, client, 4);
    lk_hold *hold = sem_hold(semaphore, 3);
    taker *t = sem_queue_up(f, semaphore, 4, 1);
    taker *other = sem_queue_up(f, sem_calm(f, 4), 2, 2);
    uint64_t permits;
    int64_t free;

    assert_status(lk_client_shutdown(client, 60000), LK_OK);
    assert_status(taker_join(t), LK_ECLOSED);
    assert_status(taker_join(other), LK_OK);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_CLOSED);
    assert_status(lk_semaphore_count(semaphore, &permits, &free), LK_ECLOSED);
    assert_status(lk_semaphore_resize(semaphore, 5), LK_ECLOSED);
    assert_status(lk_semaphore_force_release(semaphore, NULL), LK_ECLOSED);
    (void)lk_hold_release(hold);
    sem_assert_books(f, 4, 2);
    assert_status(taker_release(other), LK_OK);
    sem_assert_clean(f, 4);
}

int test_semaphore_async(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
