/* SPDX-License-Identifier: MIT */

/*
 * What a message says to those who wait for a latch, on a virtual clock: an
 * opening of the generation that the server told them of ends their waits, and
 * nothing else does.
 */

#include <latchkey/latch.h>

#include <stdlib.h>

#include "support/check.h"
#include "support/played.h"

#define NEWS     "latchkey:{n}:n"
#define REDISSON "redisson_countdownlatch__channel__{n}"
#define OPENED   "opened 0 latch 1000 0123456789abcdef n"

enum { WAITS = 3, SLOW_MS = 300 };

typedef struct scene {
    played *p;
    lk_latch *latch;
    unsigned begun;
    lk_status ended[WAITS]; /* LK_EBUSY: it waits */
} scene;

static int setup(void **state)
{
    scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->p = played_new(1, NULL);
    assert_status(lk_latch_new(&s->latch, s->p->client, "n", NULL), LK_OK);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    scene *s = *state;

    lk_latch_free(s->latch);
    played_free(s->p);
    free(s);
    return 0;
}

static void on_end(lk_status status, void *data)
{
    *(lk_status *)data = status;
}

static void begin(scene *s)
{
    lk_status *ended = &s->ended[s->begun++];

    *ended = LK_EBUSY;
    assert_status(lk_latch_wait_async(s->latch, LK_FOREVER, NULL, on_end,
                                      ended),
                  LK_OK);
}

/* It waits, was told of the generation 1000, and hears both channels. */
static void begin_told(scene *s)
{
    begin(s);
    played_run_ms(s->p, 20);
    assert_status(s->ended[s->begun - 1], LK_EBUSY);
    s->p->counts[PLAYED_LATCH_LOOK] = 0;
}

/* How many looks came within a few milliseconds. */
static unsigned looks(scene *s)
{
    unsigned before = s->p->counts[PLAYED_LATCH_LOOK];

    played_run_ms(s->p, 5);
    return s->p->counts[PLAYED_LATCH_LOOK] - before;
}

#define TEST(name) CHECK_TEST_OF(name, scene *s, setup, teardown)

TEST(an_opening_ends_the_wait_without_a_word)
{
    begin_told(s);
    played_publish_on(s->p, NEWS, OPENED);
    assert_int_equal(looks(s), 0);
    assert_status(s->ended[0], LK_OK);
    played_run_ms(s->p, 2000);
    assert_int_equal(s->p->counts[PLAYED_LATCH_LOOK], 0);
    assert_int_equal(s->p->counts[PLAYED_LATCH_LEAVE], 0);
}

/* Of another generation, or without its nonce, it is a hint; so are Redisson's
   and whatever has no shape. */
TEST(what_proves_nothing_has_the_waiter_look)
{
    static const char *const texts[][2] = {
        {NEWS, "opened 0 latch 1002 0123456789abcdef n"},
        {NEWS, "opened 0 latch 998 0123456789abcdef n"},
        {NEWS, "opened 0 latch 1000 1123456789abcdef n"},
        {NEWS, "opened 0 latch 1000 0123456789abcde n"},
        {NEWS, "opened 0 latch 1000 - n"},
        {NEWS, "look 0 latch n"},
        {NEWS, "opened"},
        {REDISSON, "0"},
        {REDISSON, "1"},
    };

    begin_told(s);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        played_publish_on(s->p, texts[i][0], texts[i][1]);
        if (looks(s) != 1)
            fail_msg("no look after %s", texts[i][1]);
        assert_status(s->ended[0], LK_EBUSY);
        played_run_ms(s->p, 50);
    }
}

/* Whatever the server tells of it: a gap does not open. */
TEST(nothing_proves_that_a_gap_has_opened)
{
    s->p->answers[PLAYED_LATCH_WAIT] = PLAYED_ARMED("1001", "0123456789abcdef");
    s->p->answers[PLAYED_LATCH_LOOK] = PLAYED_ARMED("1001", "0123456789abcdef");
    begin_told(s);
    played_publish_on(s->p, NEWS, "opened 0 latch 1001 0123456789abcdef n");
    assert_int_equal(looks(s), 1);
    assert_status(s->ended[0], LK_EBUSY);
}

/* Channels know no databases, and no families. */
TEST(what_is_about_another_latch_is_not_heard)
{
    static const char *const texts[] = {
        "opened 1 latch 1000 0123456789abcdef n",
        "opened 0 leader 1000 0123456789abcdef n",
        "opened 0 latch 1000 0123456789abcdef {n}",
        "opened 0 latch 1000 0123456789abcdef m",
        "look 1 latch n",
        "look 0 flight n",
        "look 0 latch m",
    };

    begin_told(s);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        played_publish_on(s->p, NEWS, texts[i]);
        if (looks(s) != 0)
            fail_msg("a look after %s", texts[i]);
        assert_status(s->ended[0], LK_EBUSY);
    }
}

/* It is not known yet what the wait that has just come waits for: that may be
   the next generation. */
TEST(a_wait_that_was_told_nothing_yet_goes_on)
{
    begin_told(s);
    played_ways(s->p, 1, SLOW_MS);
    begin(s);
    played_run_ms(s->p, 5);
    assert_int_equal(s->p->counts[PLAYED_LATCH_LOOK], 1);
    played_ways(s->p, 1, 1);
    s->p->answers[PLAYED_LATCH_LOOK] = PLAYED_ARMED("1004", "1111111111111111");
    played_publish_on(s->p, NEWS, OPENED);
    played_run_ms(s->p, 10);
    assert_status(s->ended[0], LK_OK);
    played_run_ms(s->p, SLOW_MS);
    assert_status(s->ended[1], LK_EBUSY);
    played_run_ms(s->p, 1500);
    assert_status(s->ended[1], LK_EBUSY);
    assert_true(s->p->counts[PLAYED_LATCH_LOOK] > 1);
}

/* Those who came first and those who joined them, once they were told. */
TEST(one_opening_ends_all_waits)
{
    begin_told(s);
    begin_told(s);
    begin_told(s);
    played_publish_on(s->p, NEWS, OPENED);
    assert_int_equal(looks(s), 0);
    for (int i = 0; i < WAITS; i++)
        assert_status(s->ended[i], LK_OK);
}
