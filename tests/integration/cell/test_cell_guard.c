/* SPDX-License-Identifier: MIT */

/* Guarded writes: the newest holder's, and nobody else's. */

#include <latchkey/fairlock.h>
#include <latchkey/rwlock.h>
#include <latchkey/semaphore.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "support/cells.h"
#include "support/check.h"
#include "support/wait.h"

static lk_status guarded(lk_cell *cell, lk_hold *hold, const char *text)
{
    return lk_cell_write_guarded(cell, hold, LK_CELL_ANY, text, strlen(text),
                                 NULL);
}

LOCKS_TEST(a_holder_writes_as_often_as_it_likes)
{
    lk_client *client = locking_open(f, NULL);
    lk_cell *cell = cells_named(f, client, "n", NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    uint64_t version = 0;

    assert_status(guarded(cell, hold, "one"), LK_OK);
    assert_status(lk_cell_write_guarded(cell, hold, LK_CELL_UNSET, "x", 1,
                                        NULL),
                  LK_ESTALE);
    assert_status(lk_cell_write_guarded(cell, hold, cells_expect(cell, "one"),
                                        "two", 3, &version),
                  LK_OK);
    assert_int_equal(cells_expect(cell, "two"), version);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* The lock of the cell's name, in its slot: the server itself knows that it is
   not held, though the holder cannot. */
LOCKS_TEST(a_hold_that_was_deleted_writes_nothing)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_cell *same = cells_named(f, client, "n", NULL);
    lk_cell *inside = cells_named(f, client, "{n}:total", NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));

    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_status(guarded(same, hold, "x"), LK_ELOST);
    assert_status(guarded(inside, hold, "x"), LK_ELOST);
    cells_expect(same, NULL);
    cells_expect(inside, NULL);
    (void)lk_hold_release(hold);
}

/* In another slot only the fence tells, and it has to be met by a newer one. */
LOCKS_TEST(an_older_holder_writes_nothing_after_a_newer_one)
{
    lk_client *client = locking_open(f, NULL);
    lk_cell *cell = cells_named(f, client, "elsewhere", NULL);
    lk_lock *lock = locking_lock(f, client, "n");
    lk_hold *hold = locking_hold(lock);
    char newest[32];

    assert_status(guarded(cell, hold, "old"), LK_OK);
    (void)snprintf(newest, sizeof(newest), "%" PRIu64, lk_hold_fence(hold) + 1);
    assert_int_equal(server_integer(f->server,
                                    "HSET latchkey:{elsewhere}:k "
                                    "fence %s",
                                    newest),
                     0);
    assert_status(guarded(cell, hold, "too late"), LK_ESTALE);
    assert_non_null(strstr(lk_last_error(), "a newer holder"));
    assert_non_null(strstr(lk_last_error(), newest));
    assert_status(lk_cell_delete(cell, LK_CELL_ANY), LK_OK);
    assert_status(guarded(cell, hold, "too late"), LK_ESTALE);
    cells_expect(cell, NULL);
    assert_status(lk_hold_release(hold), LK_OK);
    hold = locking_hold(lock);
    assert_status(guarded(cell, hold, "new"), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* Nobody is asked about it. */
LOCKS_TEST(a_hold_that_is_known_to_be_lost_is_refused)
{
    lk_client *client = locking_open(f, NULL);
    lk_cell *cell = cells_named(f, client, "elsewhere", NULL);
    lk_hold *hold = locking_hold_for(locking_lock(f, client, "n"), 1000);
    uint64_t commands;

    locking_pass_time(1000);
    assert_status(lk_hold_check(hold), LK_ELOST);
    commands = locking_stats(client).commands;
    assert_status(guarded(cell, hold, "x"), LK_ELOST);
    assert_int_equal(locking_stats(client).commands, commands);
    (void)lk_hold_release(hold);
}

LOCKS_TEST(holds_of_one_holder_alone_may_guard)
{
    lk_client *client = locking_open(f, NULL);
    lk_cell *cell = cells_named(f, client, "{n}:value", NULL);
    lk_fairlock *fair = NULL;
    lk_rwlock *rw = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_fairlock_new(&fair, client, "n", NULL), LK_OK);
    assert_status(lk_fairlock_acquire(fair, (int64_t)wait_limit_ms(5000), NULL,
                                      &hold),
                  LK_OK);
    assert_status(guarded(cell, hold, "fair"), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_fairlock_free(fair);

    assert_status(lk_rwlock_new(&rw, client, "{n}:rw", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_write(rw, (int64_t)wait_limit_ms(5000),
                                          NULL, &hold),
                  LK_OK);
    assert_status(guarded(cell, hold, "writer"), LK_OK);
    assert_int_equal(server_integer(f->server, "DEL {n}:rw"), 1);
    assert_status(guarded(cell, hold, "deleted"), LK_ELOST);
    (void)lk_hold_release(hold);
    lk_rwlock_free(rw);
    cells_expect(cell, "writer");
}

LOCKS_TEST(holds_that_others_have_as_well_are_refused)
{
    lk_client *client = locking_open(f, NULL);
    lk_cell *cell = cells_named(f, client, "n", NULL);
    const lk_semaphore_options one = {LK_SEMAPHORE_OPTIONS_INIT, .permits = 1};
    lk_semaphore *semaphore = NULL;
    lk_rwlock *rw = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_rwlock_new(&rw, client, "rw", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_read(rw, (int64_t)wait_limit_ms(5000), NULL,
                                         &hold),
                  LK_OK);
    assert_status(guarded(cell, hold, "x"), LK_ENOTSUP);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_rwlock_free(rw);

    assert_status(lk_semaphore_new(&semaphore, client, "s", &one), LK_OK);
    assert_status(lk_semaphore_acquire(semaphore, 1,
                                       (int64_t)wait_limit_ms(5000), NULL,
                                       &hold),
                  LK_OK);
    assert_status(guarded(cell, hold, "x"), LK_ENOTSUP);
    assert_non_null(strstr(lk_last_error(), "guard no write"));
    assert_status(lk_hold_release(hold), LK_OK);
    lk_semaphore_free(semaphore);

    assert_status(guarded(cell, NULL, "x"), LK_EINVAL);
    cells_expect(cell, NULL);
}

/* Of another client the fence counts, but its claim cannot be looked for: that
   client may be another server's. */
LOCKS_TEST(a_hold_of_another_client_guards_by_its_fence)
{
    lk_client *client = locking_open_calm(f, NULL);
    lk_cell *cell = locking_new(f, lk_cell);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));

    assert_int_equal(server_integer(f->server, "DEL n"), 1);
    assert_status(guarded(cell, hold, "x"), LK_OK);
    cells_expect(cell, "x");
    assert_int_equal(server_integer(f->server, "HSET latchkey:{n}:k fence "
                                               "9000000000000000"),
                     0);
    assert_status(guarded(cell, hold, "y"), LK_ESTALE);
    (void)lk_hold_release(hold);
}

LOCKS_TEST(a_guarded_write_may_outlive_its_hold)
{
    lk_client *client = locking_open(f, NULL);
    lk_cell *cell = cells_named(f, client, "n", NULL);
    lk_hold *hold = locking_hold(locking_lock(f, client, "n"));
    cell_call c = {0};

    assert_status(lk_cell_write_guarded_async(cell, hold, LK_CELL_ANY, "one", 3,
                                              cell_on_written, &c),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(cell_call_wait(&c, NULL), LK_OK);
    cells_expect(cell, "one");
}

CHECK_GROUP(locking_start_server, locking_stop_server)
