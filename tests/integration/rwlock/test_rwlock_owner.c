/* SPDX-License-Identifier: MIT */

/* What an owner may have at once: re-entry, upgrade, downgrade. */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/rwlocking.h"
#include "support/wait.h"

static lk_status
acquire_of(lk_rwlock *lock, rw_mode mode, lk_owner *owner, lk_hold **ret_hold)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = owner};

    return rwlocking_acquire(lock, mode, 0, &options, ret_hold);
}

/* ---- re-entry ---- */

RWLOCK_TEST(an_owner_enters_again_what_it_holds)
{
    static const rw_mode modes[] = {RW_READ, RW_UPGRADEABLE, RW_WRITE};
    lk_client *client = locking_open_calm(f->base, NULL);
    lk_rwlock *lock = rwlocking_lock(f, client);

    for (size_t i = 0; i < 3; i++) {
        lk_owner *owner = rwlocking_owner(f, lock);
        lk_hold *first = rwlocking_hold_of(lock, modes[i], owner);
        lk_client_stats before = locking_stats(client);
        lk_hold *again = rwlocking_hold_of(lock, modes[i], owner);

        assert_true(locking_stats(client).commands == before.commands);
        assert_true(lk_hold_fence(first) == lk_hold_fence(again));
        assert_status(lk_hold_release(first), LK_OK);
        assert_int_equal(rwlocking_holders(f), 1);
        assert_status(lk_hold_check(again), LK_OK);
        assert_status(lk_hold_release(again), LK_OK);
        rwlocking_assert_clean(f);
    }
}

RWLOCK_TEST(an_upgradeable_reader_reads_again_with_the_same_hold)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *first = rwlocking_hold_of(lock, RW_UPGRADEABLE, owner);
    lk_hold *again = rwlocking_hold_of(lock, RW_READ, owner);

    assert_int_equal(rwlocking_holders(f), 1);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(rwlocking_try(f, lock, RW_UPGRADEABLE), LK_EBUSY);
    assert_status(lk_hold_release(again), LK_OK);
    rwlocking_assert_clean(f);
}

/* ---- reading beside the own write ---- */

RWLOCK_TEST(an_owner_that_writes_reads_as_well)
{
    lk_rwlock *lock = rwlocking_new(f), *other = rwlocking_new(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *write = rwlocking_hold_of(lock, RW_WRITE, owner);
    lk_hold *read = rwlocking_hold_of(lock, RW_READ, owner);

    assert_int_equal(rwlocking_holders(f), 2);
    assert_status(rwlocking_try(f, lock, RW_READ), LK_EBUSY);
    assert_status(rwlocking_try(f, other, RW_READ), LK_EBUSY);
    assert_status(lk_hold_release(write), LK_OK);
    assert_status(rwlocking_try(f, other, RW_READ), LK_OK);
    assert_status(rwlocking_try(f, other, RW_WRITE), LK_EBUSY);
    assert_status(lk_hold_check(read), LK_OK);
    assert_status(lk_hold_release(read), LK_OK);
    rwlocking_assert_clean(f);
}

RWLOCK_TEST(the_read_may_end_before_the_write)
{
    lk_rwlock *lock = rwlocking_new(f), *other = rwlocking_new(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *write = rwlocking_hold_of(lock, RW_WRITE, owner);
    lk_hold *read = rwlocking_hold_of(lock, RW_READ, owner);

    assert_status(lk_hold_release(read), LK_OK);
    assert_status(rwlocking_try(f, other, RW_READ), LK_EBUSY);
    assert_status(lk_hold_check(write), LK_OK);
    assert_status(lk_hold_release(write), LK_OK);
    assert_status(rwlocking_try(f, other, RW_WRITE), LK_OK);
    rwlocking_assert_clean(f);
}

/* Redisson tells nobody when a writer goes on as a reader; readers that wait
   would sleep on. */
RWLOCK_TEST(a_write_that_ends_above_a_read_lets_readers_in)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *write = rwlocking_hold_of(lock, RW_WRITE, owner);
    lk_hold *read = rwlocking_hold_of(lock, RW_READ, owner);
    taker *reader = rwlocking_queue_up(f, rwlocking_calm(f), RW_READ, 1);
    taker *writer = rwlocking_queue_up(f, rwlocking_calm(f), RW_WRITE, 1);

    assert_status(lk_hold_release(write), LK_OK);
    assert_status(taker_release(reader), LK_OK);
    assert_false(writer->done);
    assert_status(lk_hold_release(read), LK_OK);
    assert_status(taker_release(writer), LK_OK);
    rwlocking_assert_clean(f);
}

/* ---- upgrade ---- */

/* It would wait for itself, and for ever. */
RWLOCK_TEST(a_plain_reader_is_refused_to_write)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = owner};
    lk_hold *read = rwlocking_hold_of(lock, RW_READ, owner);
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

RWLOCK_TEST(an_upgradeable_reader_writes_when_the_others_have_left)
{
    lk_rwlock *lock = rwlocking_calm(f);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .owner = rwlocking_owner(f, lock)};
    lk_hold *base = rwlocking_hold_of(lock, RW_UPGRADEABLE, options.owner);
    lk_hold *reader = rwlocking_hold(f, rwlocking_new(f), RW_READ);
    taker *longer = rwlocking_queue_up(f, rwlocking_calm(f), RW_WRITE, 1);
    taker *upgrade = rwlocking_take(f, lock, RW_WRITE, LK_FOREVER, &options);

    rwlocking_wait_upgrades(f, 1);
    assert_status(rwlocking_try(f, f->locks[2], RW_READ), LK_EBUSY);
    assert_status(lk_hold_release(reader), LK_OK);
    assert_status(taker_join(upgrade), LK_OK);
    assert_false(longer->done);
    assert_true(lk_hold_fence(upgrade->hold) > lk_hold_fence(base));
    assert_status(lk_hold_check(base), LK_OK);
    assert_status(taker_release(upgrade), LK_OK);
    assert_status(rwlocking_try(f, f->locks[2], RW_READ), LK_EBUSY);
    assert_status(lk_hold_release(base), LK_OK);
    assert_status(taker_release(longer), LK_OK);
    rwlocking_assert_clean(f);
}

RWLOCK_TEST(there_is_one_upgradeable_reader)
{
    lk_hold *first = rwlocking_hold(f, rwlocking_new(f), RW_UPGRADEABLE);
    taker *second = rwlocking_queue_up(f, rwlocking_calm(f), RW_UPGRADEABLE, 1);

    assert_status(rwlocking_try(f, f->locks[0], RW_UPGRADEABLE), LK_EBUSY);
    assert_status(rwlocking_try(f, f->locks[0], RW_READ), LK_OK);
    assert_false(second->done);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(taker_release(second), LK_OK);
    rwlocking_assert_clean(f);
}

/* Two who both wait to upgrade would wait for each other. */
/* Others may have written before it came in. */
RWLOCK_TEST(an_upgrade_whose_base_ends_is_refused)
{
    lk_hold *reader = rwlocking_hold(f, rwlocking_new(f), RW_READ), *base;
    lk_rwlock *lock = rwlocking_calm(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    const lk_acquire_options lease = {LK_ACQUIRE_OPTIONS_INIT, .owner = owner,
                                      .lease_ms = wait_lease_ms()};
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .owner = owner};
    taker *upgrade;

    assert_status(rwlocking_acquire(lock, RW_UPGRADEABLE, 0, &lease, &base),
                  LK_OK);
    upgrade = rwlocking_take(f, lock, RW_WRITE, LK_FOREVER, &options);
    assert_status(taker_join(upgrade), LK_ELOST);
    assert_status(lk_hold_check(base), LK_ELOST);
    assert_status(lk_hold_release(base), LK_ELOST);
    assert_status(lk_hold_release(reader), LK_OK);
    rwlocking_assert_clean(f);
}

RWLOCK_TEST(an_upgrade_that_is_given_up_lets_the_readers_in)
{
    lk_rwlock *lock = rwlocking_calm(f);
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                  .owner = rwlocking_owner(f, lock)};
    lk_hold *base = rwlocking_hold_of(lock, RW_UPGRADEABLE, options.owner);
    lk_hold *reader = rwlocking_hold(f, rwlocking_new(f), RW_READ);
    taker *upgrade =
        rwlocking_take(f, lock, RW_WRITE, wait_scaled_ms(1000), &options);
    taker *late;

    rwlocking_wait_upgrades(f, 1);
    late = rwlocking_queue_up(f, rwlocking_calm(f), RW_READ, 1);
    assert_status(taker_join(upgrade), LK_ETIMEDOUT);
    assert_status(taker_release(late), LK_OK);
    assert_status(lk_hold_release(reader), LK_OK);
    assert_status(lk_hold_release(base), LK_OK);
    rwlocking_assert_clean(f);
}

/* ---- downgrade ---- */

/* It ends when it would have ended as a writer's. */
RWLOCK_TEST(a_downgrade_begins_no_new_lease)
{
    enum { LEASE_MS = 60000, PASSED_MS = 300 };
    lk_rwlock *lock = rwlocking_new(f);
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .lease_ms = LEASE_MS};
    lk_hold *hold;

    assert_status(rwlocking_acquire(lock, RW_WRITE, 0, &options, &hold), LK_OK);
    locking_pass_time(PASSED_MS);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_in_range(server_integer(f->base->server, "PTTL n"), 1,
                    LEASE_MS - PASSED_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    rwlocking_assert_clean(f);
}

RWLOCK_TEST(a_downgrade_lets_readers_in_and_no_writer)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_hold *hold = rwlocking_hold(f, lock, RW_WRITE);
    uint64_t fence = lk_hold_fence(hold);
    taker *writer = rwlocking_queue_up(f, rwlocking_calm(f), RW_WRITE, 1);
    taker *readers[2];

    for (int i = 0; i < 2; i++)
        readers[i] = rwlocking_queue_up(f, rwlocking_calm(f), RW_READ, i + 1);
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
    rwlocking_assert_clean(f);
}

RWLOCK_TEST(who_was_downgraded_is_a_plain_reader)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *hold = rwlocking_hold_of(lock, RW_WRITE, owner);
    lk_hold *again = NULL;

    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_status(lk_rwlock_downgrade(hold), LK_EINVAL);
    assert_status(acquire_of(lock, RW_WRITE, owner, &again), LK_EUPGRADE);
    assert_status(acquire_of(lock, RW_READ, owner, &again), LK_OK);
    assert_int_equal(rwlocking_holders(f), 1);
    assert_status(lk_hold_release(again), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    rwlocking_assert_clean(f);
}

RWLOCK_TEST(a_hold_that_was_entered_again_is_turned_with_its_last_handle)
{
    lk_rwlock *lock = rwlocking_new(f), *other = rwlocking_new(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *first = rwlocking_hold_of(lock, RW_WRITE, owner);
    lk_hold *second = rwlocking_hold_of(lock, RW_WRITE, owner);

    assert_status(lk_rwlock_downgrade(first), LK_OK);
    assert_status(lk_rwlock_downgrade(first), LK_EINVAL);
    assert_status(rwlocking_try(f, other, RW_READ), LK_EBUSY);
    assert_status(lk_rwlock_downgrade(second), LK_OK);
    assert_status(rwlocking_try(f, other, RW_READ), LK_OK);
    assert_status(rwlocking_try(f, other, RW_WRITE), LK_EBUSY);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    rwlocking_assert_clean(f);
}

static bool lets_read(void *data)
{
    rwlocking *f = data;

    return rwlocking_try(f, f->locks[1], RW_READ) == LK_OK;
}

/* The last handle that writes may also be released. */
RWLOCK_TEST(a_release_turns_the_handles_that_are_left)
{
    lk_rwlock *lock = rwlocking_new(f), *other = rwlocking_new(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *first = rwlocking_hold_of(lock, RW_WRITE, owner);
    lk_hold *second = rwlocking_hold_of(lock, RW_WRITE, owner);

    assert_status(lk_rwlock_downgrade(first), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    locking_wait_integer(f->base, 0, "HEXISTS n %s:write", "x");
    locking_wait_integer(f->base, 1, "EXISTS %s", "latchkey:{n}:h");
    assert_true(lets_read(f));
    assert_status(rwlocking_try(f, other, RW_WRITE), LK_EBUSY);
    assert_status(lk_hold_release(first), LK_OK);
    rwlocking_assert_clean(f);
}

RWLOCK_TEST(an_upgrade_that_is_downgraded_leaves_its_base)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *base = rwlocking_hold_of(lock, RW_UPGRADEABLE, owner);
    lk_hold *write = rwlocking_hold_of(lock, RW_WRITE, owner);

    assert_status(lk_rwlock_downgrade(write), LK_OK);
    assert_int_equal(rwlocking_holders(f), 2);
    assert_status(lk_hold_release(write), LK_OK);
    write = rwlocking_hold_of(lock, RW_WRITE, owner);
    assert_status(lk_hold_release(write), LK_OK);
    assert_status(lk_hold_release(base), LK_OK);
    rwlocking_assert_clean(f);
}

RWLOCK_TEST(a_fixed_lease_stays_what_it_was)
{
    lk_hold *hold = rwlocking_hold_for(f, rwlocking_new(f), RW_WRITE, 20000);

    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 15000, 20000);
    assert_in_range(locking_pttl(f->base, "n"), 15000, 20000);
    assert_status(lk_hold_release(hold), LK_OK);
}

/* What the reader believes the server keeps. */
RWLOCK_TEST(a_lease_that_was_extended_stays_extended)
{
    lk_hold *hold = rwlocking_hold(f, rwlocking_new(f), RW_WRITE);

    assert_status(lk_hold_extend(hold, 90000), LK_OK);
    assert_status(lk_rwlock_downgrade(hold), LK_OK);
    assert_true(locking_pttl(f->base, "n") >= 60000);
    assert_true(server_integer(f->base->server, "EVAL %s 0",
                               "local claim = redis.call('HKEYS', 'n')[2]\n"
                               "return redis.call('PTTL', '{n}:' .. claim .. "
                               "':rwlock_timeout:1')") >=
                (long long)lk_hold_remaining_ms(hold));
    assert_status(lk_hold_release(hold), LK_OK);
    rwlocking_assert_clean(f);
}

RWLOCK_TEST(what_is_lost_is_not_downgraded)
{
    lk_hold *hold = rwlocking_hold(f, rwlocking_new(f), RW_WRITE);

    freeReplyObject(server_command(f->base->server, "DEL n"));
    assert_status(lk_rwlock_downgrade(hold), LK_ELOST);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_status(lk_rwlock_downgrade(hold), LK_ELOST);
    assert_status(lk_hold_release(hold), LK_ELOST);
}

RWLOCK_TEST(a_downgrade_without_waiting_ends_in_its_callback)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_owner *owner = rwlocking_owner(f, lock);
    lk_hold *first = rwlocking_hold_of(lock, RW_WRITE, owner);
    lk_hold *second = rwlocking_hold_of(lock, RW_WRITE, owner);
    call c[2] = {{0}, {0}};

    assert_status(lk_rwlock_downgrade_async(first, call_on_done, &c[0]), LK_OK);
    assert_status(call_wait(&c[0], NULL), LK_OK);
    assert_status(rwlocking_try(f, lock, RW_READ), LK_EBUSY);
    assert_status(lk_rwlock_downgrade_async(second, call_on_done, &c[1]),
                  LK_OK);
    assert_status(lk_hold_release(first), LK_OK);
    assert_status(call_wait(&c[1], NULL), LK_OK);
    assert_status(rwlocking_try(f, lock, RW_READ), LK_OK);
    assert_status(lk_hold_release(second), LK_OK);
    rwlocking_assert_clean(f);
}

/* The handle may be gone before the answer is there. */
RWLOCK_TEST(a_downgrade_may_be_overtaken_by_the_release)
{
    lk_rwlock *lock = rwlocking_new(f);

    for (int i = 0; i < 20; i++) {
        lk_hold *hold = rwlocking_hold_of(lock, RW_WRITE, NULL);
        call c = {0};

        assert_status(lk_rwlock_downgrade_async(hold, call_on_done, &c), LK_OK);
        assert_status(lk_hold_release(hold), LK_OK);
        assert_in_range(call_wait(&c, NULL) == LK_OK || c.status == LK_ELOST, 1,
                        1);
        rwlocking_assert_clean(f);
    }
}

/* ---- run, export, import ---- */

static lk_status look(lk_hold *hold, void *data)
{
    lk_status *checked = data;

    *checked = lk_hold_check(hold);
    return LK_ERANGE; /* any of its own */
}

RWLOCK_TEST(a_function_runs_under_a_hold)
{
    lk_rwlock *lock = rwlocking_new(f);
    lk_status checked = LK_ELOST;

    assert_status(lk_rwlock_run_read(lock, 0, NULL, look, &checked), LK_ERANGE);
    assert_status(checked, LK_OK);
    checked = LK_ELOST;
    assert_status(lk_rwlock_run_write(lock, 0, NULL, look, &checked),
                  LK_ERANGE);
    assert_status(checked, LK_OK);
    rwlocking_assert_clean(f);
}

RWLOCK_TEST(what_is_exported_is_imported_as_what_it_was)
{
    static const rw_mode modes[] = {RW_READ, RW_UPGRADEABLE, RW_WRITE};
    lk_rwlock *from = rwlocking_new(f), *to = rwlocking_new(f);

    for (size_t i = 0; i < 3; i++) {
        char text[LK_EXPORT_SIZE];
        lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                      .owner = rwlocking_owner(f, to)};
        lk_hold *hold = rwlocking_hold(f, from, modes[i]);
        lk_hold *more = NULL;
        uint64_t fence = lk_hold_fence(hold);

        assert_status(lk_hold_export(hold, text, sizeof(text)), LK_OK);
        assert_status(lk_rwlock_import(to, text, &options, &hold), LK_OK);
        assert_true(lk_hold_fence(hold) > fence);
        assert_status(lk_rwlock_import(from, text, NULL, &more), LK_ELOST);
        assert_null(more);
        assert_status(lk_rwlock_acquire_write(to, 0, &options, &more),
                      modes[i] == RW_READ ? LK_EUPGRADE : LK_OK);
        if (more != NULL)
            assert_status(lk_hold_release(more), LK_OK);
        assert_status(lk_hold_release(hold), LK_OK);
        rwlocking_assert_clean(f);
    }
}

int main(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
