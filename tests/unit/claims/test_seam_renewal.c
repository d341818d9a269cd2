/* SPDX-License-Identifier: MIT */

/* The client on a virtual clock: renewals that fail. */

#include "support/check.h"
#include "support/played.h"

enum {
    SEEDS = 100,
    LEASE_MS = 1000,
    REFUSED_MS = 800,
    PAUSE_MS = LEASE_MS / 8,
    ANSWER_MS = 10
};

static played *play(uint64_t seed)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms = LEASE_MS};

    return played_new(seed, &options);
}

/* The pauses grow, but never so long that the lease ends in one of them. */
static void a_short_lease_outlives_refusals_nearly_as_long(NO_STATE)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        played *p = play(seed);
        lk_hold *hold = NULL;

        assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
        played_run_ms(p, 100);
        played_renew_so(p, "-ERR not now\r\n");
        played_run_ms(p, REFUSED_MS - 100);
        assert_in_range(p->counts[PLAYED_RENEW], 3, 50);
        played_renew_so(p, NULL);
        played_run_ms(p, PAUSE_MS + 10);
        assert_true(lk_hold_remaining_ms(hold) > LEASE_MS / 2);
        assert_status(lk_hold_release(hold), LK_OK);
        played_free(p);
    }
}

/* Whenever its key went: a renewal is due within a third of the lease, and takes
   no more than its answer. */
static void what_was_deleted_is_lost_within_a_third_of_the_lease(NO_STATE)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        played *p = play(seed);
        lk_hold *hold = NULL;

        assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
        played_run_ms(p, seed * 7);
        p->answers[PLAYED_RENEW] = "*2\r\n:1\r\n*2\r\n:1\r\n:0\r\n";
        p->answers[PLAYED_CONFIRM] = PLAYED_LOST("0");
        assert_status(lk_hold_check(hold), LK_OK);
        played_run_ms(p, LEASE_MS / 3 + ANSWER_MS);
        assert_status(lk_hold_check(hold), LK_ELOST);
        assert_int_equal(lk_hold_loss(hold), LK_LOSS_DELETED);
        assert_status(lk_hold_release(hold), LK_ELOST);
        played_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_lease_outlives_refusals_nearly_as_long),
        cmocka_unit_test(what_was_deleted_is_lost_within_a_third_of_the_lease),
    };

    return cmocka_run_group_tests_name("seam_renewal", tests, NULL, NULL);
}
