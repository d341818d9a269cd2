/* SPDX-License-Identifier: MIT */

/*
 * Every primitive out of memory: each call with the n-th allocation failing, for
 * each n until there is none left to fail. A call does what it should, or says that
 * there is no memory; whoever believes in a hold has it; and nothing is left behind.
 * What leaks or crashes is seen by the builds with sanitizers and by Valgrind.
 */

#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/scarce.h"
#include "support/wait.h"

enum { ENDS_MS = 1800, STEP = 3 };

static bool is_for(size_t i, const kind *k)
{
    return scarce_calls[i].is_for == NULL || scarce_calls[i].is_for(k);
}

static void an_allocation_that_fails_is_told_or_made_up_for(stand *s)
{
    scarce st = scarce_on(s);

    for (size_t i = 0; i < scarce_count; i++) {
        st.act = scarce_calls[i].act;
        if (is_for(i, s->kind))
            memory_fails_each(scarce_calls[i].word, scarce_play,
                              scarce_assert_free, &st);
    }
    if (s->kind->shut != NULL)
        stand_is_clean(s);
}

/* The words of the failure before are not those of this one. */
static void without_memory_a_call_says_so(stand *s)
{
    scarce st = scarce_on(s);

    for (size_t i = 0; i < scarce_count; i++) {
        if (!is_for(i, s->kind))
            continue;
        assert_einval(lk_hold_check(NULL), "NULL");
        memory_fails_from(1);
        assert_status(scarce_calls[i].act(&st), LK_ENOMEM);
        (void)memory_lasts();
        assert_non_null(strstr(lk_last_error(), "memory"));
        scarce_assert_free(&st, LK_ENOMEM);
    }
}

/* LK_EQUORUM: what LK_EOFFLINE is of one server. */
static bool is_told_of_a_shortage(lk_status status)
{
    return status == LK_ENOMEM || status == LK_EOFFLINE ||
           status == LK_EQUORUM || status == LK_EINDOUBT ||
           status == LK_EBUSY || status == LK_OK;
}

/* From some point on there is none, whatever a client does. */
static void without_memory_every_call_ends_in_time(stand *s)
{
    static const lk_client_options hasty = {LK_CLIENT_OPTIONS_INIT,
                                            .connect_timeout_ms = 1000,
                                            .command_timeout_ms = 300,
                                            .offline_ms = 100};
    const scarce_life brief = {.options = &hasty, .shutdown_ms = 1000};
    scarce st = scarce_on(s);
    int n = 1 - STEP;

    do {
        uint64_t begin = wait_now_ms();
        lk_status status;

        memory_fails_from(n += STEP);
        status = scarce_live(&st, &brief);
        (void)memory_lasts();
        assert_in_range(wait_now_ms() - begin, 0,
                        wait_allowed_ms(ENDS_MS * s->kind->servers +
                                        wait_scaled_ms(STAND_SLACK_MS)));
        if (!is_told_of_a_shortage(status))
            fail_msg("%d: %s", n, lk_status_name(status));
    } while (memory_was_short(n));
    assert_in_range(n, 10, MEMORY_MOST - 1);
}

static bool is_renewed(void *data)
{
    const party *p = data;

    return lk_hold_remaining_ms(p->hold) > p->site.lease_ms * 3 / 4;
}

/* The watchdog cannot renew once, and makes up for it. */
static void a_hold_outlives_a_shortage(stand *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .watchdog_ms =
                                           2 * (uint64_t)wait_lease_ms()};
    party *p = party_near(s, &options);
    bool was_renewed;

    party_acquire(p);
    memory_fails_from(1);
    stand_pass_ms(p->site.lease_ms * 5 / 12);
    was_renewed = is_renewed(p);
    (void)memory_lasts();
    assert_false(was_renewed);
    assert_true(wait_until(is_renewed, p, STAND_MS));
    party_assert_in(p);
    party_release(p);
    stand_is_clean(s);
}

int test_memory(void)
{
    const stand_test tests[] = {
        STAND_TEST(an_allocation_that_fails_is_told_or_made_up_for,
                   stand_is_any),
        STAND_TEST(without_memory_a_call_says_so, stand_is_any),
        STAND_TEST(without_memory_every_call_ends_in_time, stand_is_any),
        STAND_TEST(a_hold_outlives_a_shortage, stand_is_held),
    };

    return stand_run("memory", tests, sizeof(tests) / sizeof(tests[0]));
}
