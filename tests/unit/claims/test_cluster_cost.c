/* SPDX-License-Identifier: MIT */

/*
 * What it takes a client to ask all masters of a large cluster who serves what, and
 * to judge what they say: the time of its own processor, per answer.
 */

#include <latchkey/latchkey.h>

#include <time.h>

#include "support/check.h"
#include "support/played_cluster.h"
#include "support/wait.h"

enum {
    SQUARE = 9,
    SETTLE_MS = 8000,
    SECONDS = 5,
    SPAN_MS = 1000 * SECONDS,
    FEW = 100,
    TIMES = 3,
    SLOW_LESS = 5, /* where all takes many times as long */
    US = 1000
};

static const lk__events *events; /* the client's */
static uint64_t spent_ns;
static unsigned long calls;

static uint64_t thread_ns(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
on_data(void *user, void *tag, lk__link *link, const char *bytes, size_t size)
{
    uint64_t began = thread_ns();

    events->on_data(user, tag, link, bytes, size);
    spent_ns += thread_ns() - began;
    calls++;
}

/* All that the masters have answered so far. */
static unsigned long answers_of(const played *p, size_t masters)
{
    unsigned long answers = 0;

    for (size_t i = 0; i < masters; i++)
        answers += p->nodes[i].maps;
    return answers;
}

/* Nanoseconds for one answer. */
static double answer_ns(size_t masters)
{
    played *p = played_new_cluster(3, NULL, masters, NULL);
    lk__events timed;
    unsigned long before, answers;
    double ns;

    played_run_ms(p, SETTLE_MS);
    events = p->world->process.events;
    timed = *events;
    timed.on_data = on_data;
    spent_ns = calls = 0;
    before = answers_of(p, masters);
    p->world->process.events = &timed;
    played_run_ms(p, SPAN_MS);
    p->world->process.events = events;
    answers = answers_of(p, masters) - before;
    assert_true(answers >= masters);
    ns = (double)spent_ns / (double)answers;
    print_message("%zu masters: %.0f us an answer, %.2f%% of a processor\n",
                  masters, ns / US, (double)spent_ns / 1e7 / SECONDS);
    played_free(p);
    return ns;
}

/* Each answer is three times as long; the square of that would be too much. */
CHECK_TEST(three_times_the_masters_take_little_more_each)
{
    size_t masters = wait_scale() > 1 ? FEW / SLOW_LESS : FEW;
    double few = answer_ns(masters), many = answer_ns(TIMES * masters);

    assert_true(many < SQUARE * few);
}
