/* SPDX-License-Identifier: MIT */

/* What a wait for a latch makes of what it is told. */

#include "latch/judge.h"
#include "support/check.h"

/* Generations 10 and 20 were armed; 11 is the gap behind the first. */
enum { NEW = 0, FIRST = 10, GAP = 11, SECOND = 20 };

static const lk__latch_facts unset = {.gen = GAP};
static const lk__latch_facts armed = {.gen = FIRST};
static const lk__latch_facts open = {.open = true,
                                     .gen = FIRST,
                                     .opened = FIRST};

static lk__verdict judge(uint64_t mark, lk__latch_facts facts)
{
    return lk__latch_judge_facts(&mark, &facts);
}

/* The mark after an answer that does not end the wait. */
static uint64_t marked(uint64_t mark, lk__latch_facts facts)
{
    assert_int_equal(lk__latch_judge_facts(&mark, &facts), LK__VERDICT_WAIT);
    return mark;
}

/* ---- the first answer ---- */

CHECK_TEST(a_new_wait_passes_an_open_latch)
{
    assert_int_equal(judge(NEW, open), LK__VERDICT_OK);
}

CHECK_TEST(a_new_wait_notes_what_it_found)
{
    assert_int_equal(marked(NEW, armed), FIRST);
    assert_int_equal(marked(NEW, unset), GAP);
}

/* It opened, or was deleted, before the wait began. */
CHECK_TEST(a_new_wait_has_no_part_in_what_was_before)
{
    const lk__latch_facts reset = {.gen = SECOND, .opened = FIRST};
    const lk__latch_facts again = {.gen = SECOND, .gone = FIRST};
    const lk__latch_facts deleted = {.gen = GAP, .gone = FIRST};

    assert_int_equal(marked(NEW, reset), SECOND);
    assert_int_equal(marked(NEW, again), SECOND);
    assert_int_equal(marked(NEW, deleted), GAP);
}

/* ---- further answers ---- */

CHECK_TEST(it_opened)
{
    assert_int_equal(judge(FIRST, open), LK__VERDICT_OK);
    assert_int_equal(judge(9, open), LK__VERDICT_OK);
}

CHECK_TEST(it_opened_and_was_armed_again)
{
    const lk__latch_facts reset = {.gen = SECOND, .opened = FIRST};

    assert_int_equal(judge(FIRST, reset), LK__VERDICT_OK);
    assert_int_equal(marked(GAP, reset), SECOND);
    assert_int_equal(marked(SECOND, reset), SECOND);
}

CHECK_TEST(it_opened_and_was_deleted)
{
    const lk__latch_facts facts = {.gen = 21, .opened = FIRST, .gone = SECOND};

    assert_int_equal(judge(FIRST, facts), LK__VERDICT_OK);
    assert_int_equal(judge(SECOND, facts), LK__VERDICT_GONE);
}

CHECK_TEST(it_was_armed_anew_before_it_opened)
{
    const lk__latch_facts reset = {.gen = SECOND};

    assert_int_equal(marked(FIRST, reset), SECOND);
}

CHECK_TEST(it_was_deleted)
{
    const lk__latch_facts deleted = {.gen = GAP, .gone = FIRST};
    const lk__latch_facts armed_since = {.gen = SECOND, .gone = FIRST};

    assert_int_equal(judge(FIRST, deleted), LK__VERDICT_GONE);
    assert_int_equal(judge(FIRST, armed_since), LK__VERDICT_GONE);
    assert_int_equal(judge(9, deleted), LK__VERDICT_GONE);
    assert_int_equal(marked(GAP, deleted), GAP);
    assert_int_equal(marked(GAP, armed_since), SECOND);
}

CHECK_TEST(who_waits_for_the_arming_waits_on)
{
    const lk__latch_facts later = {.gen = 31};

    assert_int_equal(marked(GAP, unset), GAP);
    assert_int_equal(marked(GAP, later), GAP);
}

/* ---- a server that lost something ---- */

CHECK_TEST(what_the_server_does_not_know_is_gone)
{
    const lk__latch_facts nothing = {.gen = 31};

    assert_int_equal(judge(FIRST, nothing), LK__VERDICT_GONE);
}

CHECK_TEST(what_is_newer_than_the_server_is_gone)
{
    const lk__latch_facts older = {.gen = FIRST};

    assert_int_equal(judge(SECOND, older), LK__VERDICT_GONE);
    assert_int_equal(judge(SECOND, open), LK__VERDICT_GONE);
}

CHECK_TEST(who_waited_for_the_arming_goes_by_what_is_there)
{
    const lk__latch_facts older = {.gen = FIRST};

    assert_int_equal(marked(21, older), FIRST);
    assert_int_equal(judge(21, open), LK__VERDICT_OK);
}

/* No script answers so. */
CHECK_TEST(facts_that_say_nothing_decide_nothing)
{
    const lk__latch_facts nothing = {.open = false};

    assert_int_equal(marked(NEW, nothing), NEW);
    assert_int_equal(marked(FIRST, nothing), FIRST);
    assert_int_equal(marked(GAP, nothing), GAP);
}
