/* SPDX-License-Identifier: MIT */

/*
 * How long a write hold of the read-write lock lasts where a read of the same
 * owner keeps the hash for longer, and what is left of it after a downgrade.
 */

#include <stdlib.h>

#include "support/check.h"
#include "support/rw_script.h"

static long long number(const char *text)
{
    return strtoll(text, NULL, 10);
}

static long long lease_of(script_fixture *f, const char *claim)
{
    return number(script_redis(f, "PTTL %s", rw_timeout(f, claim)));
}

static long long lease_of_hash(script_fixture *f)
{
    return number(script_redis(f, "PTTL n"));
}

/* For a lease in ms, beside a hold of the same owner; queues if need be. */
static const char *acquire_on(script_fixture *f, const char *claim,
                              const char *mode, const char *lease,
                              const char *base)
{
    return rw_acquire_with(f, claim, mode, lease, "1", "in", "", "0", base);
}

/* ---- beside the owner's read ---- */

static void a_write_above_a_read_has_its_own_lease(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "u:1", "u");
    assert_like(acquire_on(f, "u:2", "w", "500", "u:1"), "1 * 500 *");
    assert_in_range(lease_of(f, "u:2"), 1, 500);
    assert_in_range(lease_of_hash(f), 29000, 30000);
    assert_like(acquire_on(f, "u:2", "w", "500", "u:1"), "1 *");
    assert_in_range(script_item(f, 2), 0, 500);
}

static void a_read_beside_a_write_does_not_prolong_that(void **state)
{
    script_fixture *f = *state;

    rw_acquire_for(f, "u:1", "w", "5000");
    acquire_on(f, "u:2", "r", "60000", "u:1");
    assert_in_range(lease_of(f, "u:1"), 4000, 5000);
    assert_in_range(lease_of_hash(f), 59000, 60000);
    acquire_on(f, "u:3", "r", "90000", "u:1");
    assert_in_range(lease_of(f, "u:1"), 4000, 5000);
}

static void a_writer_alone_has_no_key_of_its_own(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "w:1", "w");
    assert_like(script_redis(f, "EXISTS %s", rw_timeout(f, "w:1")), "0");
}

static void its_key_goes_with_the_write(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "u:1", "u");
    acquire_on(f, "u:2", "w", "30000", "u:1");
    assert_like(rw_release(f, "u:2", NULL), "1 0 0");
    assert_like(script_redis(f, "EXISTS %s", rw_timeout(f, "u:2")), "0");
    acquire_on(f, "u:3", "w", "30000", "u:1");
    rw_release(f, "u:1", NULL);
    assert_like(rw_release(f, "u:3", NULL), "1 0 0");
    assert_like(script_redis(f, "EXISTS %s", rw_timeout(f, "u:3")), "0");
    assert_held(f, "");
}

static void a_renewal_lengthens_the_write_above_a_read(void **state)
{
    script_fixture *f = *state;

    rw_acquire_for(f, "u:1", "u", "60000");
    acquire_on(f, "u:2", "w", "5000", "u:1");
    assert_like(rw_renew(f, "u:2", NULL, "20000"), "");
    assert_in_range(lease_of(f, "u:2"), 19000, 20000);
    assert_like(rw_renew(f, "u:2", NULL, "90000"), "");
    assert_in_range(lease_of(f, "u:2"), 89000, 90000);
    assert_in_range(lease_of_hash(f), 89000, 90000);
}

static void the_end_of_the_read_leaves_the_write_its_lease(void **state)
{
    script_fixture *f = *state;

    rw_acquire_for(f, "u:1", "u", "60000");
    acquire_on(f, "u:2", "w", "5000", "u:1");
    rw_release(f, "u:1", NULL);
    assert_held(f, "u:2:write write");
    assert_in_range(lease_of_hash(f), 4000, 5000);
}

/* ---- its end ---- */

/* u:2, whose lease has run out, above u:1. */
static void lapse(script_fixture *f)
{
    rw_acquire(f, "u:1", "u");
    acquire_on(f, "u:2", "w", "30000", "u:1");
    rw_kill(f, "u:2");
}

static void a_write_that_ran_out_above_a_read_lets_readers_in(void **state)
{
    script_fixture *f = *state;

    lapse(f);
    assert_like(rw_state(f), "1");
    assert_like(rw_info(f), "(u:1 1 * u) 0 ()");
    assert_like(rw_try(f, "w:1", "w"), "2 *");
    assert_like(rw_try(f, "r:1", "r"), "1 *");
    assert_held(f, "r:1 u:1 read");
}

static void a_write_that_ran_out_above_a_read_is_lost(void **state)
{
    script_fixture *f = *state;

    lapse(f);
    assert_like(rw_renew(f, "u:2", NULL, "30000"), "1 0");
    assert_like(rw_confirm(f, "u:2", NULL, "30000"), "0 *");
    assert_like(rw_downgrade(f, "u:2", NULL, "30000"), "0 *");
    assert_like(rw_recheck(f, "u:2"), "3");
    assert_like(rw_release(f, "u:2", NULL), "0 *");
    assert_like(script_redis(f, "EXISTS %s", rw_timeout(f, "u:2")), "0");
}

static void who_waits_comes_in_when_it_looks_after_that(void **state)
{
    script_fixture *f = *state;

    rw_acquire(f, "u:1", "u");
    acquire_on(f, "u:2", "w", "30000", "u:1");
    rw_hear(f, "r:1", "r:2", (char *)NULL);
    assert_like(rw_acquire(f, "r:1", "r"), "0 *");
    assert_like(rw_acquire(f, "r:2", "r"), "0 *");
    rw_kill(f, "u:2");
    assert_like(rw_touch(f, "r:2", NULL), "* 0 0 0 *");
    assert_held(f, "r:1 r:2 u:1 read");
}

static void it_may_write_again_after_that(void **state)
{
    script_fixture *f = *state;

    lapse(f);
    assert_like(acquire_on(f, "u:3", "w", "30000", "u:1"), "1 *");
    assert_held(f, "u:1 u:3:write write");
    assert_like(rw_renew(f, "u:2", NULL, "30000"), "1 2");
    assert_like(rw_release(f, "u:3", NULL), "1 0 0");
    assert_held(f, "u:1 read");
}

static void the_base_may_end_after_that(void **state)
{
    script_fixture *f = *state;

    lapse(f);
    assert_like(rw_release(f, "u:1", NULL), "1 0 0");
    assert_held(f, "");
    assert_like(rw_acquire(f, "w:1", "w"), "1 *");
}

/* Nor is it let in because of what is tidied up first. */
static void a_full_server_lets_nobody_in_after_that(void **state)
{
    script_fixture *f = *state;

    lapse(f);
    script_fill_memory(f, true);
    assert_like(rw_try(f, "r:1", "r"), "!OOM *");
    assert_like(rw_renew(f, "u:1", NULL, "60000"), "");
    script_fill_memory(f, false);
    assert_like(rw_try(f, "r:1", "r"), "1 *");
}

/* ---- extension and downgrade ---- */

static void a_downgrade_shortens_no_lease_that_was_extended(void **state)
{
    script_fixture *f = *state;

    rw_acquire_for(f, "w:1", "w", "5000");
    assert_like(rw_confirm(f, "w:1", NULL, "20000"), "1 20000 *");
    assert_like(rw_downgrade(f, "w:1", NULL, "5000"), "1 * 0 0");
    assert_in_range(script_item(f, 1), 19000, 20000);
    assert_in_range(lease_of(f, "w:1"), 19000, 20000);
}

static void a_downgrade_above_a_read_has_what_the_write_had(void **state)
{
    script_fixture *f = *state;

    rw_acquire_for(f, "u:1", "u", "60000");
    acquire_on(f, "u:2", "w", "5000", "u:1");
    rw_confirm(f, "u:2", NULL, "20000");
    assert_like(rw_downgrade(f, "u:2", NULL, "5000"), "1 * 0 0");
    assert_in_range(lease_of(f, "u:2"), 19000, 20000);
    assert_in_range(lease_of_hash(f), 59000, 60000);
}

/* The answer says so long: what a full server keeps of it must not be less. */
static void an_extension_on_a_full_server_outlives_the_own_read(void **state)
{
    script_fixture *f = *state;

    rw_acquire_for(f, "u:1", "w", "5000");
    acquire_on(f, "u:2", "r", "60000", "u:1");
    script_fill_memory(f, true);
    assert_like(rw_confirm(f, "u:1", NULL, "40000"), "1 40000 *");
    assert_like(rw_release(f, "u:2", NULL), "1 0 0");
    assert_held(f, "u:1:write write");
    assert_in_range(lease_of_hash(f), 39000, 40000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        RW_TEST(a_write_above_a_read_has_its_own_lease),
        RW_TEST(a_read_beside_a_write_does_not_prolong_that),
        RW_TEST(a_writer_alone_has_no_key_of_its_own),
        RW_TEST(its_key_goes_with_the_write),
        RW_TEST(a_renewal_lengthens_the_write_above_a_read),
        RW_TEST(the_end_of_the_read_leaves_the_write_its_lease),
        RW_TEST(a_write_that_ran_out_above_a_read_lets_readers_in),
        RW_TEST(a_write_that_ran_out_above_a_read_is_lost),
        RW_TEST(who_waits_comes_in_when_it_looks_after_that),
        RW_TEST(it_may_write_again_after_that),
        RW_TEST(the_base_may_end_after_that),
        RW_TEST(a_full_server_lets_nobody_in_after_that),
        RW_TEST(a_downgrade_shortens_no_lease_that_was_extended),
        RW_TEST(a_downgrade_above_a_read_has_what_the_write_had),
        RW_TEST(an_extension_on_a_full_server_outlives_the_own_read),
    };

    return cmocka_run_group_tests_name("rwlock_write_lease", tests,
                                       script_start_server, script_stop_server);
}
