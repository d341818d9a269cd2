/* SPDX-License-Identifier: MIT */

/* What an owner may have at once: re-entry, upgrade, downgrade. */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/rwlocking.h"
#include "support/wait.h"

static lk_status
acquire_of(lk_rwlock *lock, kind_id mode, lk_owner *owner, lk_hold **ret_hold)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = owner};

    return rwlocking_acquire(lock, mode, 0, &options, ret_hold);
}

/* ---- re-entry ---- */

LOCKS_TEST(an_owner_enters_again_what_it_holds)
{
    static const kind_id modes[] = {KIND_READ, KIND_UPGRADEABLE, KIND_WRITE};
    lk_client *client = locking_open_calm(f, NULL);
    lk_rwlock *lock = locking_of(f, lk_rwlock, client);

    for (size_t i = 0; i < 3; i++) {
        lk_owner *owner = locking_owner(f, lock);
        lk_hold *first = rwlocking_hold_of(lock, modes[i], owner);
        lk_client_stats before = locking_stats(client);
        lk_hold *again = rwlocking_hold_of(lock, modes[i], owner);

        assert_true(locking_stats(client).commands == before.commands);
        assert_true(lk_hold_fence(first) == lk_hold_fence(again));
        assert_status(lk_hold_release(first), LK_OK);
        assert_int_equal(rwlocking_holders(f), 1);
        assert_status(lk_hold_check(again), LK_OK);
        assert_status(lk_hold_release(again), LK_OK);
        locking_wait_clean(f, "n");
    }
}

LOCKS_TEST(an_upgradeable_reader_reads_again_with_the_same_hold)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *first = rwlocking_hold_of(lock, KIND_UPGRADEABLE, owner);
    lk_hold *again = rwlocking_hold_of(lock, KIND_READ, owner);

    assert_int_equal(rwlocking_holders(f), 1);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(rwlocking_try(f, lock, KIND_UPGRADEABLE), LK_EBUSY);
    assert_status(lk_hold_release(again), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- reading beside the own write ---- */

LOCKS_TEST(an_owner_that_writes_reads_as_well)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock),
              *other = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *write = rwlocking_hold_of(lock, KIND_WRITE, owner);
    lk_hold *read = rwlocking_hold_of(lock, KIND_READ, owner);

    assert_int_equal(rwlocking_holders(f), 2);
    assert_status(rwlocking_try(f, lock, KIND_READ), LK_EBUSY);
    assert_status(rwlocking_try(f, other, KIND_READ), LK_EBUSY);
    assert_status(lk_hold_release(write), LK_OK);
    assert_status(rwlocking_try(f, other, KIND_READ), LK_OK);
    assert_status(rwlocking_try(f, other, KIND_WRITE), LK_EBUSY);
    assert_status(lk_hold_check(read), LK_OK);
    assert_status(lk_hold_release(read), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(the_read_may_end_before_the_write)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock),
              *other = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *write = rwlocking_hold_of(lock, KIND_WRITE, owner);
    lk_hold *read = rwlocking_hold_of(lock, KIND_READ, owner);

    assert_status(lk_hold_release(read), LK_OK);
    assert_status(rwlocking_try(f, other, KIND_READ), LK_EBUSY);
    assert_status(lk_hold_check(write), LK_OK);
    assert_status(lk_hold_release(write), LK_OK);
    assert_status(rwlocking_try(f, other, KIND_WRITE), LK_OK);
    locking_wait_clean(f, "n");
}

/* Redisson tells nobody when a writer goes on as a reader; readers that wait
   would sleep on. */
LOCKS_TEST(a_write_that_ends_above_a_read_lets_readers_in)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *write = rwlocking_hold_of(lock, KIND_WRITE, owner);
    lk_hold *read = rwlocking_hold_of(lock, KIND_READ, owner);
    taker *reader =
        rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_READ, 1);
    taker *writer =
        rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_WRITE, 1);

    assert_status(lk_hold_release(write), LK_OK);
    assert_status(taker_release(reader), LK_OK);
    assert_false(writer->done);
    assert_status(lk_hold_release(read), LK_OK);
    assert_status(taker_release(writer), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- upgrade ---- */

/* It would wait for itself, and for ever. */
LOCKS_TEST(a_plain_reader_is_refused_to_write)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = owner};
    lk_hold *read = rwlocking_hold_of(lock, KIND_READ, owner);
    lk_hold *none = NULL;
    uint64_t begin = wait_now_ms();

    assert_status(lk_rwlock_acquire_write(lock, LK_FOREVER, &options, &none),
                  LK_EUPGRADE);
    assert_status(lk_rwlock_acquire_upgradeable(lock, LK_FOREVER, &options,
                                                &none),
                  LK_EUPGRADE);
    assert_in_range(wait_now_ms() - begin, 0,
                    wait_allowed_ms(wait_scaled_ms(1000)));
    assert_null(none);
    assert_status(lk_hold_check(read), LK_OK);
    assert_status(lk_hold_release(read), LK_OK);
    assert_status(lk_rwlock_acquire_write(lock, 0, &options, &none), LK_OK);
    assert_status(lk_hold_release(none), LK_OK);
}

LOCKS_TEST(an_upgradeable_reader_writes_when_the_others_have_left)
{
    lk_rwlock *lock = locking_calm(f, lk_rwlock);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .owner = locking_owner(f, lock)};
    lk_hold *base = rwlocking_hold_of(lock, KIND_UPGRADEABLE, options.owner);
    lk_hold *reader = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ);
    taker *longer =
        rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_WRITE, 1);
    taker *upgrade = rwlocking_take(f, lock, KIND_WRITE, LK_FOREVER, &options);

    rwlocking_wait_upgrades(f, 1);
    assert_status(rwlocking_try(f, f->handles[2], KIND_READ), LK_EBUSY);
    assert_status(lk_hold_release(reader), LK_OK);
    assert_status(taker_join(upgrade), LK_OK);
    assert_false(longer->done);
    assert_true(lk_hold_fence(upgrade->hold) > lk_hold_fence(base));
    assert_status(lk_hold_check(base), LK_OK);
    assert_status(taker_release(upgrade), LK_OK);
    assert_status(rwlocking_try(f, f->handles[2], KIND_READ), LK_EBUSY);
    assert_status(lk_hold_release(base), LK_OK);
    assert_status(taker_release(longer), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(there_is_one_upgradeable_reader)
{
    lk_hold *first =
        rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_UPGRADEABLE);
    taker *second =
        rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_UPGRADEABLE, 1);

    assert_status(rwlocking_try(f, f->handles[0], KIND_UPGRADEABLE), LK_EBUSY);
    assert_status(rwlocking_try(f, f->handles[0], KIND_READ), LK_OK);
    assert_false(second->done);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(taker_release(second), LK_OK);
    locking_wait_clean(f, "n");
}

/* Two who both wait to upgrade would wait for each other. */
/* Others may have written before it came in. */
LOCKS_TEST(an_upgrade_whose_base_ends_is_refused)
{
    lk_hold *reader = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ),
            *base;
    lk_rwlock *lock = locking_calm(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT, .owner = owner,
                                      .lease_ms = wait_lease_ms()};
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = owner};
    taker *upgrade;

    assert_status(rwlocking_acquire(lock, KIND_UPGRADEABLE, 0, &lease, &base),
                  LK_OK);
    upgrade = rwlocking_take(f, lock, KIND_WRITE, LK_FOREVER, &options);
    assert_status(taker_join(upgrade), LK_ELOST);
    assert_status(lk_hold_check(base), LK_ELOST);
    assert_status(lk_hold_release(base), LK_ELOST);
    assert_status(lk_hold_release(reader), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(an_upgrade_that_is_given_up_lets_the_readers_in)
{
    lk_rwlock *lock = locking_calm(f, lk_rwlock);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .owner = locking_owner(f, lock)};
    lk_hold *base = rwlocking_hold_of(lock, KIND_UPGRADEABLE, options.owner);
    lk_hold *reader = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_READ);
    taker *upgrade =
        rwlocking_take(f, lock, KIND_WRITE, wait_scaled_ms(1000), &options);
    taker *late;

    rwlocking_wait_upgrades(f, 1);
    late = rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_READ, 1);
    assert_status(taker_join(upgrade), LK_ETIMEDOUT);
    assert_status(taker_release(late), LK_OK);
    assert_status(lk_hold_release(reader), LK_OK);
    assert_status(lk_hold_release(base), LK_OK);
    locking_wait_clean(f, "n");
}

/* ---- downgrade ---- */

/* It ends when it would have ended as a writer's. */
LOCKS_TEST(a_downgrade_begins_no_new_lease)
{
    enum { LEASE_MS = 60000, PASSED_MS = 300 };
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = LEASE_MS};
    lk_hold *hold;

    assert_status(rwlocking_acquire(lock, KIND_WRITE, 0, &options, &hold),
                  LK_OK);
    locking_pass_time(PASSED_MS);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_in_range(server_integer(f->server, "PTTL n"), 1,
                    LEASE_MS - PASSED_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(a_downgrade_lets_readers_in_and_no_writer)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_hold *hold = rwlocking_hold(f, lock, KIND_WRITE);
    uint64_t fence = lk_hold_fence(hold);
    taker *writer =
        rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_WRITE, 1);
    taker *readers[2];

    for (int i = 0; i < 2; i++)
        readers[i] =
            rwlocking_queue_up(f, locking_calm(f, lk_rwlock), KIND_READ, i + 1);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    for (int i = 0; i < 2; i++)
        assert_status(taker_join(readers[i]), LK_OK);
    assert_true(lk_hold_fence(hold) == fence);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_false(writer->done);
    assert_int_equal(rwlocking_holders(f), 3);
    for (int i = 0; i < 2; i++)
        assert_status(taker_release(readers[i]), LK_OK);
    assert_false(writer->done);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_release(writer), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(who_was_downgraded_is_a_plain_reader)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *hold = rwlocking_hold_of(lock, KIND_WRITE, owner);
    lk_hold *again = NULL;

    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(lk_rwlock_downgrade(hold), LK_EINVAL);
    assert_status(acquire_of(lock, KIND_WRITE, owner, &again), LK_EUPGRADE);
    assert_status(acquire_of(lock, KIND_READ, owner, &again), LK_OK);
    assert_int_equal(rwlocking_holders(f), 1);
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(a_hold_that_was_entered_again_is_turned_with_its_last_handle)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock),
              *other = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *first = rwlocking_hold_of(lock, KIND_WRITE, owner);
    lk_hold *second = rwlocking_hold_of(lock, KIND_WRITE, owner);

    assert_status(lk_rwlock_downgrade(first), LK_OK);
    assert_status(lk_rwlock_downgrade(first), LK_EINVAL);
    assert_status(rwlocking_try(f, other, KIND_READ), LK_EBUSY);
    assert_status(lk_rwlock_downgrade(second), LK_OK);
    assert_status(rwlocking_try(f, other, KIND_READ), LK_OK);
    assert_status(rwlocking_try(f, other, KIND_WRITE), LK_EBUSY);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    locking_wait_clean(f, "n");
}

static bool lets_read(void *data)
{
    locking *f = data;

    return rwlocking_try(f, f->handles[1], KIND_READ) == LK_OK;
}

/* The last handle that writes may also be released. */
LOCKS_TEST(a_release_turns_the_handles_that_are_left)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock),
              *other = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *first = rwlocking_hold_of(lock, KIND_WRITE, owner);
    lk_hold *second = rwlocking_hold_of(lock, KIND_WRITE, owner);

    assert_status(lk_rwlock_downgrade(first), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    locking_wait_integer(f, 0, "HEXISTS n %s:write", "x");
    locking_wait_integer(f, 1, "EXISTS %s", "latchkey:{n}:h");
    assert_true(lets_read(f));
    assert_status(rwlocking_try(f, other, KIND_WRITE), LK_EBUSY);
    assert_status(lk_hold_release(first), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(an_upgrade_that_is_downgraded_leaves_its_base)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *base = rwlocking_hold_of(lock, KIND_UPGRADEABLE, owner);
    lk_hold *write = rwlocking_hold_of(lock, KIND_WRITE, owner);

    assert_status(lk_rwlock_downgrade(write), LK_OK);
    assert_int_equal(rwlocking_holders(f), 2);
    assert_status(lk_hold_release(write), LK_OK);
    write = rwlocking_hold_of(lock, KIND_WRITE, owner);
    assert_status(lk_hold_release(write), LK_OK);
    assert_status(lk_hold_release(base), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(a_fixed_lease_stays_what_it_was)
{
    lk_hold *hold =
        rwlocking_hold_for(f, locking_new(f, lk_rwlock), KIND_WRITE, 20000);

    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 15000, 20000);
    assert_in_range(locking_pttl(f, "n"), 15000, 20000);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* What the reader believes the server keeps. */
LOCKS_TEST(a_lease_that_was_extended_stays_extended)
{
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);

    assert_status(lk_hold_extend(hold, 90000), LK_OK);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_true(locking_pttl(f, "n") >= 60000);
    assert_true(server_integer(f->server, "EVAL %s 0",
                               "local claim = redis.call('HKEYS', 'n')[2]\n"
                               "return redis.call('PTTL', '{n}:' .. claim .. "
                               "':rwlock_timeout:1')") >=
                (long long)lk_hold_remaining_ms(hold));
    assert_status(lk_hold_release(hold), LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(what_is_lost_is_not_downgraded)
{
    lk_hold *hold = rwlocking_hold(f, locking_new(f, lk_rwlock), KIND_WRITE);

    freeReplyObject(server_command(f->server, "DEL n"));
    assert_status(lk_rwlock_downgrade(hold), LK_ELOST);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_rwlock_downgrade(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

LOCKS_TEST(a_downgrade_without_waiting_ends_in_its_callback)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_owner *owner = locking_owner(f, lock);
    lk_hold *first = rwlocking_hold_of(lock, KIND_WRITE, owner);
    lk_hold *second = rwlocking_hold_of(lock, KIND_WRITE, owner);
    call c[2] = {{0}, {0}};

    assert_status(lk_rwlock_downgrade_async(first, call_on_done, &c[0]), LK_OK);
    assert_status(call_wait(&c[0], NULL), LK_OK);
    assert_status(rwlocking_try(f, lock, KIND_READ), LK_EBUSY);
    assert_status(lk_rwlock_downgrade_async(second, call_on_done, &c[1]),
                  LK_OK);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(call_wait(&c[1], NULL), LK_OK);
    assert_status(rwlocking_try(f, lock, KIND_READ), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    locking_wait_clean(f, "n");
}

/* The handle may be gone before the answer is there. */
LOCKS_TEST(a_downgrade_may_be_overtaken_by_the_release)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);

    for (int i = 0; i < 20; i++) {
        lk_hold *hold = rwlocking_hold_of(lock, KIND_WRITE, NULL);
        call c = {0};

        assert_status(lk_rwlock_downgrade_async(hold, call_on_done, &c), LK_OK);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_in_range(call_wait(&c, NULL) == LK_OK || c.status == LK_ELOST, 1,
                        1);
        locking_wait_clean(f, "n");
    }
}

/* ---- run, export, import ---- */

static lk_status look(lk_hold *hold, void *data)
{
    lk_status *checked = data;

    *checked = lk_hold_check(hold);
    return LK_ERANGE; /* any of its own */
}

LOCKS_TEST(a_function_runs_under_a_hold)
{
    lk_rwlock *lock = locking_new(f, lk_rwlock);
    lk_status checked = LK_ELOST;

    assert_status(lk_rwlock_run_read(lock, 0, NULL, look, &checked), LK_ERANGE);
    assert_status(checked, LK_OK);
    checked = LK_ELOST;
    assert_status(lk_rwlock_run_write(lock, 0, NULL, look, &checked),
                  LK_ERANGE);
    assert_status(checked, LK_OK);
    locking_wait_clean(f, "n");
}

LOCKS_TEST(what_is_exported_is_imported_as_what_it_was)
{
    static const kind_id modes[] = {KIND_READ, KIND_UPGRADEABLE, KIND_WRITE};
    lk_rwlock *from = locking_new(f, lk_rwlock),
              *to = locking_new(f, lk_rwlock);

    for (size_t i = 0; i < 3; i++) {
        char text[LK_EXPORT_SIZE];
        lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                      .owner = locking_owner(f, to)};
        lk_hold *hold = rwlocking_hold(f, from, modes[i]);
        lk_hold *more = NULL;
        uint64_t fence = lk_hold_fence(hold);

        assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
        assert_status(lk_rwlock_import(to, text, &options, &hold), LK_OK);
        assert_true(lk_hold_fence(hold) > fence);
        assert_status(lk_rwlock_import(from, text, NULL, &more), LK_ELOST);
        assert_null(more);
        assert_status(lk_rwlock_acquire_write(to, 0, &options, &more),
                      modes[i] == KIND_READ ? LK_EUPGRADE : LK_OK);
        if (more != NULL)
            assert_status(lk_hold_release(more), LK_OK);
        assert_status(lk_hold_release(hold), LK_OK);
        locking_wait_clean(f, "n");
    }
}

CHECK_GROUP(locking_start_server, locking_stop_server)
