/* SPDX-License-Identifier: MIT */

/* Calls of a latch that are wrong are refused, and say why. */

#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/latching.h"

/* ---- arguments ---- */

LOCKS_TEST(what_is_missing_is_refused)
{
    lk_latch *latch = locking_new(f, lk_latch);
    bool open;
    call c = {0};

    assert_einval(lk_latch_try_set_count(NULL, 1), "NULL");
    assert_einval(lk_latch_count_down(NULL, 1), "NULL");
    assert_einval(lk_latch_arrive(NULL, 1, "m"), "NULL");
    assert_einval(lk_latch_leave(NULL, "m", &open), "NULL");
    assert_einval(lk_latch_reset(NULL, 1), "NULL");
    assert_einval(lk_latch_delete(NULL), "NULL");
    assert_einval(lk_latch_delete_async(NULL, call_on_done, &c), "NULL");
    assert_einval(lk_latch_leave(latch, "m", NULL), "ret_open");
    assert_einval(lk_latch_count(latch, NULL), "ret_count");
}

LOCKS_TEST(an_async_call_needs_a_callback)
{
    lk_latch *latch = locking_new(f, lk_latch);

    assert_einval(lk_latch_try_set_count_async(latch, 1, NULL, NULL),
                  "callback");
    assert_einval(lk_latch_count_down_async(latch, 1, NULL, NULL), "callback");
    assert_einval(lk_latch_arrive_async(latch, 1, "m", NULL, NULL), "callback");
    assert_einval(lk_latch_leave_async(latch, "m", NULL, NULL), "callback");
    assert_einval(lk_latch_reset_async(latch, 1, NULL, NULL), "callback");
    assert_einval(lk_latch_delete_async(latch, NULL, NULL), "callback");
}

LOCKS_TEST(a_count_of_zero_is_refused)
{
    lk_latch *latch = locking_new(f, lk_latch);
    call c = {0};

    assert_einval(lk_latch_try_set_count(latch, 0), "count");
    assert_einval(lk_latch_count_down(latch, 0), "count");
    assert_einval(lk_latch_reset(latch, 0), "count");
    assert_einval(lk_latch_arrive(latch, 0, "m"), "count");
    assert_einval(lk_latch_reset_async(latch, 0, call_on_done, &c), "count");
    assert_int_equal(atomic_load(&c.ends), 0);
}

LOCKS_TEST(a_count_beyond_the_largest_is_refused)
{
    lk_latch *latch = locking_new(f, lk_latch);
    const uint64_t counts[] = {LK_LATCH_COUNT_MAX + 1, INT64_MAX, UINT64_MAX};

    for (size_t i = 0; i < 3; i++) {
        assert_says(lk_latch_try_set_count(latch, counts[i]), LK_ERANGE,
                    "LK_LATCH_COUNT_MAX");
        assert_status(lk_latch_count_down(latch, counts[i]), LK_ERANGE);
        assert_status(lk_latch_reset(latch, counts[i]), LK_ERANGE);
        assert_status(lk_latch_arrive(latch, counts[i], "m"), LK_ERANGE);
    }
}

LOCKS_TEST(a_member_needs_a_name)
{
    lk_latch *latch = locking_new(f, lk_latch);
    char name[202];
    bool open;

    memset(name, 'm', sizeof(name));
    name[201] = '\0';
    assert_einval(lk_latch_arrive(latch, 2, NULL), "name");
    assert_einval(lk_latch_arrive(latch, 2, ""), "name");
    assert_einval(lk_latch_arrive(latch, 2, name), "200");
    assert_einval(lk_latch_leave(latch, NULL, &open), "name");
    assert_einval(lk_latch_leave(latch, "", &open), "name");
    assert_einval(lk_latch_leave(latch, name, &open), "200");
    name[200] = '\0';
    assert_status(lk_latch_arrive(latch, 2, name), LK_OK);
}

/* ---- names that hold something else ---- */

static void all_say(lk_latch *latch, lk_status status)
{
    lk_info *info = NULL;
    uint64_t count;
    bool open;

    assert_status(lk_latch_try_set_count(latch, 1), status);
    assert_status(lk_latch_count_down(latch, 1), status);
    assert_status(lk_latch_arrive(latch, 1, "m"), status);
    assert_status(lk_latch_leave(latch, "m", &open), status);
    assert_status(lk_latch_wait(latch, 0, NULL), status);
    assert_status(lk_latch_wait(latch, LK_FOREVER, NULL), status);
    assert_status(lk_latch_count(latch, &count), status);
    assert_status(lk_latch_reset(latch, 1), status);
    assert_status(lk_latch_delete(latch), status);
    assert_status(lk_latch_info(latch, &info), status);
}

LOCKS_TEST(a_key_of_another_type_is_refused)
{
    lk_latch *latch = locking_new(f, lk_latch);

    freeReplyObject(server_command(f->server, "SET n text"));
    all_say(latch, LK_ETYPE);
    freeReplyObject(server_command(f->server, "DEL n"));
    freeReplyObject(server_command(f->server, "RPUSH n x"));
    all_say(latch, LK_ETYPE);
}

LOCKS_TEST(another_layout_is_refused)
{
    lk_latch *latch = locking_new(f, lk_latch);

    freeReplyObject(server_command(f->server, "SET latchkey:{n}:r x"));
    all_say(latch, LK_EMISMATCH);
}

/* ---- at the wrong time ---- */

LOCKS_TEST(nothing_is_done_after_the_shutdown)
{
    lk_latch *latch = locking_new(f, lk_latch);

    assert_status(lk_client_shutdown(f->clients[0], 1000), LK_OK);
    all_say(latch, LK_ECLOSED);
}

int test_latch_misuse(void)
{
    return check_all(locking_start_server, locking_stop_server);
}
