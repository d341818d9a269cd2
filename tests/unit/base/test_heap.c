/* SPDX-License-Identifier: MIT */

/* Timers in the order of their times. */

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "support/check.h"

CHECK_TEST(an_empty_heap_has_no_first)
{
    lk__heap heap = {NULL};

    assert_null(lk__heap_first(&heap));
    assert_null(lk__heap_take_due(&heap, UINT64_MAX));
}

CHECK_TEST(the_soonest_is_first)
{
    lk__heap heap = {NULL};
    lk__timer a = {.at = 0}, b = {.at = 0}, c = {.at = 0};

    lk__timer_set(&heap, &a, 20);
    lk__timer_set(&heap, &b, 10);
    lk__timer_set(&heap, &c, 30);
    assert_ptr_equal(lk__heap_first(&heap), &b);
}

CHECK_TEST(a_timer_is_taken_when_it_is_due_and_not_before)
{
    lk__heap heap = {NULL};
    lk__timer timer = {.at = 0};

    lk__timer_set(&heap, &timer, 10);
    assert_null(lk__heap_take_due(&heap, 9));
    assert_true(lk__timer_is_set(&timer));
    assert_ptr_equal(lk__heap_take_due(&heap, 10), &timer);
    assert_false(lk__timer_is_set(&timer));
    assert_null(lk__heap_first(&heap));
}

CHECK_TEST(a_timer_set_again_is_moved)
{
    lk__heap heap = {NULL};
    lk__timer a = {.at = 0}, b = {.at = 0};

    lk__timer_set(&heap, &a, 10);
    lk__timer_set(&heap, &b, 20);
    lk__timer_set(&heap, &a, 30);
    assert_ptr_equal(lk__heap_first(&heap), &b);
    lk__timer_set(&heap, &a, 5);
    assert_ptr_equal(lk__heap_first(&heap), &a);
}

CHECK_TEST(clearing_what_is_not_set_does_nothing)
{
    lk__heap heap = {NULL};
    lk__timer a = {.at = 0}, b = {.at = 0};

    lk__timer_set(&heap, &a, 10);
    lk__timer_clear(&heap, &b);
    lk__timer_clear(&heap, &a);
    lk__timer_clear(&heap, &a);
    assert_null(lk__heap_first(&heap));
}

CHECK_TEST(timers_of_one_time_all_come)
{
    lk__heap heap = {NULL};
    lk__timer timers[100];
    int taken = 0;

    memset(timers, 0, sizeof(timers));
    for (int i = 0; i < 100; i++)
        lk__timer_set(&heap, &timers[i], 7);
    while (lk__heap_take_due(&heap, 7) != NULL)
        taken++;
    assert_int_equal(taken, 100);
}

/* ---- against a model ---------------------------------------------------- */

enum { TIMERS = 300, STEPS = 100000 };

/* The model: all timers, of which the least set one is searched for. */
static lk__heap heap;
static lk__timer timers[TIMERS];
static uint64_t times[TIMERS]; /* 0: not set */

static uint64_t model_first(void)
{
    uint64_t first = UINT64_MAX;

    for (size_t i = 0; i < TIMERS; i++) {
        if (times[i] != 0 && times[i] < first)
            first = times[i];
    }
    return first;
}

static void step(unsigned *seed)
{
    size_t i = (size_t)rand_r(seed) % TIMERS;
    lk__timer *taken;

    switch (rand_r(seed) % 4) {
    case 0:
        lk__timer_clear(&heap, &timers[i]);
        times[i] = 0;
        break;
    case 1:
        taken = lk__heap_take_due(&heap, model_first());
        if (taken == NULL)
            break;
        assert_int_equal(taken->at, model_first());
        times[taken - timers] = 0;
        break;
    default:
        times[i] = 1 + (uint64_t)rand_r(seed) % 1000;
        lk__timer_set(&heap, &timers[i], times[i]);
        break;
    }
}

static void check_model(void)
{
    const lk__timer *first = lk__heap_first(&heap);

    assert_int_equal(first == NULL ? UINT64_MAX : first->at, model_first());
    for (size_t i = 0; i < TIMERS; i++)
        assert_int_equal(lk__timer_is_set(&timers[i]), times[i] != 0);
}

CHECK_TEST(any_order_of_calls_agrees_with_a_search)
{
    unsigned seed = 1;
    uint64_t last = 0;

    for (int i = 0; i < STEPS; i++) {
        step(&seed);
        if (i % 16 == 0)
            check_model();
    }
    for (lk__timer *timer; (timer = lk__heap_take_due(&heap, UINT64_MAX));) {
        assert_true(timer->at >= last);
        assert_int_equal(timer->at, times[timer - timers]);
        times[timer - timers] = 0;
        last = timer->at;
    }
    assert_int_equal(model_first(), UINT64_MAX);
}

/* A recursion would need a stack of this depth. */
CHECK_TEST(a_million_timers_need_no_stack)
{
    const size_t count = 1000000;
    lk__timer *many = calloc(count, sizeof(*many));
    lk__heap large = {NULL};
    uint64_t last = 0;

    assert_non_null(many);
    for (size_t i = 0; i < count; i++)
        lk__timer_set(&large, &many[i], count - i);
    for (lk__timer *timer; (timer = lk__heap_take_due(&large, UINT64_MAX));) {
        assert_int_equal(timer->at, last + 1);
        last = timer->at;
    }
    assert_int_equal(last, count);
    free(many);
}
