/* SPDX-License-Identifier: MIT */

/* A read-write lock whose queue has what is no waiter for one. */

#include <string.h>

#include "support/check.h"
#include "support/rw_script.h"
#include "support/strangers.h"

enum { BANDS = 4, CROWD = 40 }; /* more than are looked at in one call */

/* The mode of those who stand in each band. */
static const char *const modes[BANDS] = {"x", "w", "u", "r"};

static void assert_given_to_b(script_fixture *f, const char *stranger, int band)
{
    if (strcmp(rw_held(f), "b:1:write write") != 0)
        fail_msg("%s in band %d: %s holds, %s", stranger, band, rw_held(f),
                 f->answer_text);
    if (strangers_parked(f) != 1)
        fail_msg("%s in band %d: not parked", stranger, band);
}

/* a:1 writes; b:1 waits for that behind the stranger, if there is one. */
static bool begin(script_fixture *f, size_t i, int band, const char **ret)
{
    bool is_there = false;

    server_flush(f->server);
    *ret = stranger_put(f, i, band, modes[band], &is_there);
    if (is_there) {
        rw_spin(f, "a:1", "w");
        rw_acquire(f, "b:1", "w");
    }
    return is_there;
}

static void release_behind(script_fixture *f, int band)
{
    const char *stranger = "";

    for (size_t i = 0; stranger != NULL; i++) {
        if (begin(f, i, band, &stranger)) {
            rw_release(f, "a:1", NULL);
            assert_given_to_b(f, stranger, band);
            assert_like(script_heard(f),
                        "latchkey:in::b grant 0 rwlock b:1 *\n");
        }
    }
}

static void touch_behind(script_fixture *f, int band)
{
    const char *stranger = "";

    for (size_t i = 0; stranger != NULL; i++) {
        if (begin(f, i, band, &stranger)) {
            script_redis(f, "DEL n");
            rw_recheck(f, "b:1");
            assert_given_to_b(f, stranger, band);
        }
    }
}

RW_TEST(a_release_gives_to_a_waiter_of_the_band)
{
    rw_hear(f, "b:1", "x:1", (char *)NULL);
    for (int band = 0; band < BANDS; band++)
        release_behind(f, band);
}

RW_TEST(a_touch_gives_to_a_waiter_of_the_band)
{
    rw_hear(f, "b:1", "x:1", (char *)NULL);
    for (int band = 0; band < BANDS; band++)
        touch_behind(f, band);
}

RW_TEST(behind_a_crowd_of_them_a_writer_gets_its_turn)
{
    rw_hear(f, "b:1", (char *)NULL);
    rw_acquire(f, "a:1", "w");
    strangers_crowd(f, 1, CROWD);
    rw_acquire(f, "b:1", "w");
    assert_like(rw_release(f, "a:1", NULL), "1 2 1 0");
    while (script_item(f, 0) == 1 || script_item(f, 3) == 1)
        assert_like(rw_pass(f), "2 *");
    assert_held(f, "b:1:write write");
    assert_int_equal(strangers_parked(f), CROWD);
}

CHECK_GROUP(script_start_server, script_stop_server)
