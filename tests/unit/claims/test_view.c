/* SPDX-License-Identifier: MIT */

/* Whom a master of a cluster denies that was asked before or after a slot moved. */

#include "base/mem.h"
#include "claims/node.h"
#include "claims/view.h"
#include "support/check.h"

enum { ASKED_AT = 1000, SLOT = 7 };

static lk__node here = {.number = 1}, there = {.number = 2};
static lk__node *owners[LK__SLOTS];
static uint64_t changed_at[LK__SLOTS];

/* Of one that names here for all slots. */
static lk__view *view_new(void)
{
    lk__view *view = lk__view_new(&here);
    lk__slots *slots = lk__alloc(sizeof(*slots));
    lk__node **whom = lk__alloc(sizeof(lk__node *));

    assert_non_null(view);
    assert_non_null(slots);
    assert_non_null(whom);
    *whom = &here;
    for (unsigned slot = 0; slot < LK__SLOTS; slot++) {
        slots->numbers[slot] = 1;
        owners[slot] = &here;
        changed_at[slot] = 0;
    }
    lk__view_take(view, slots, whom, ASKED_AT);
    return view;
}

static bool denies(uint64_t changed, uint64_t from)
{
    lk__view *view = view_new();
    bool is_denied;

    owners[SLOT] = &there;
    changed_at[SLOT] = changed;
    there.belief.from = from;
    lk__view_compare(view, owners, changed_at);
    is_denied = lk__view_denies(view, &there);
    assert_int_equal(lk__view_disagrees(view), is_denied);
    assert_false(lk__view_denies(view, &here));
    lk__view_free(view);
    return is_denied;
}

CHECK_TEST(one_that_was_asked_after_a_move_has_to_know_it)
{
    assert_true(denies(ASKED_AT - 1, 0));
    assert_true(denies(ASKED_AT, 0));
}

CHECK_TEST(one_that_was_asked_before_a_move_says_nothing_of_it)
{
    assert_false(denies(ASKED_AT + 1, 0));
    assert_false(denies(ASKED_AT + 1, LK__NEVER - 1));
}

/* A failover is not taken for a move. */
CHECK_TEST(one_that_was_asked_before_an_election_denies_all_the_same)
{
    assert_true(denies(ASKED_AT + 1, LK__NEVER));
}

/* Whether one that names nobody for a slot denies its owner. */
static bool is_denied_by_nobody(uint64_t from)
{
    lk__view *view = view_new();
    bool is_denied;

    view->slots->numbers[SLOT] = 0;
    here.belief.from = from;
    lk__view_compare(view, owners, changed_at);
    is_denied = lk__view_denies(view, &here);
    lk__view_free(view);
    here.belief.from = 0;
    return is_denied;
}

CHECK_TEST(one_that_names_nobody_has_only_not_elected)
{
    assert_false(is_denied_by_nobody(0));
    assert_false(is_denied_by_nobody(LK__NEVER - 1));
    assert_true(is_denied_by_nobody(LK__NEVER));
}

CHECK_TEST(one_that_has_said_nothing_denies_nobody)
{
    lk__view *view = view_new();

    lk__view_forget(view);
    here.belief.from = LK__NEVER;
    lk__view_compare(view, owners, changed_at);
    assert_false(lk__view_disagrees(view));
    lk__view_free(view);
    here.belief.from = 0;
}
