/* SPDX-License-Identifier: MIT */

/* What somebody who observes an election gets to see. */

#include <stdio.h>

#include "support/check.h"
#include "support/script.h"

extern const lk__script lk__script_leader_look;

static const char *look(script_fixture *f)
{
    const char *const keys[] = {f->keys[KEY_LOCK], f->keys[KEY_STATE]};
    const char *const args[] = {"o:1", f->channel, "0", "30000", "1",
                                "in",  "",         "1", NULL};

    return script_run_keys(f, &lk__script_leader_look, keys, 2, args);
}

static void where_nobody_leads_the_term_is_0(void **state)
{
    script_fixture *f = *state;

    assert_like(look(f), "0 -2 1 0 0 0");
    script_acquire(f, "u:1");
    script_release(f, "u:1", NULL);
    assert_like(look(f), "0 -2 1 0 0 0");
}

static void the_term_is_the_fence_of_who_leads(void **state)
{
    script_fixture *f = *state;
    char expected[64];

    script_acquire(f, "u:1");
    snprintf(expected, sizeof(expected), "0 * 1 0 0 %lld", script_item(f, 1));
    assert_like(look(f), expected);
    assert_in_range(script_item(f, 1), 1, 30000);
}

/* What is on record says nothing of a holder that is not ours. */
static void a_holder_without_a_record_has_no_term(void **state)
{
    script_fixture *f = *state;

    script_acquire(f, "u:1");
    script_redis(f, "DEL %s", f->keys[KEY_LOCK]);
    script_redis(f, "HSET %s java:7 1", f->keys[KEY_LOCK]);
    script_redis(f, "PEXPIRE %s 5000", f->keys[KEY_LOCK]);
    assert_like(look(f), "0 * 1 0 0 0");
}

static void a_look_writes_nothing(void **state)
{
    script_fixture *f = *state;

    look(f);
    assert_like(script_redis(f, "DBSIZE"), "0");
    script_fill_memory(f, true);
    assert_like(look(f), "0 -2 1 0 0 0");
    script_fill_memory(f, false);
}

static void what_is_no_lock_is_refused(void **state)
{
    script_fixture *f = *state;

    script_redis(f, "SET %s 1", f->keys[KEY_LOCK]);
    assert_like(look(f), "!LKTYPE *");
    script_redis(f, "DEL %s", f->keys[KEY_LOCK]);
    script_redis(f, "HSET %s v 2", f->keys[KEY_STATE]);
    assert_like(look(f), "!LKLAYOUT *");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRIPT_TEST(where_nobody_leads_the_term_is_0),
        SCRIPT_TEST(the_term_is_the_fence_of_who_leads),
        SCRIPT_TEST(a_holder_without_a_record_has_no_term),
        SCRIPT_TEST(a_look_writes_nothing),
        SCRIPT_TEST(what_is_no_lock_is_refused),
    };

    return cmocka_run_group_tests_name("leader_look", tests,
                                       script_start_server, script_stop_server);
}
