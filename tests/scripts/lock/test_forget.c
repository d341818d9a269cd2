/* SPDX-License-Identifier: MIT */

/* lock_forget and its like: what is removed of a name that nobody uses, what
   stays, and that nothing is removed of one in use. */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/plain_script.h"
#include "support/script.h"

/* What a script is told that lacks a right, and one that met another type. */
static const char cannot[] = "!DENIED *";
static const char wrong_type[] = "!*WRONGTYPE*";

enum { HOUR_MS = 3600000 };

/* All keys with what is in them, and how long those live that end soon. */
static void dump(script_fixture *f, char text[8192])
{
    (void)snprintf(text, 8192, "%s",
                   script_redis(f, "EVAL %s 0",
                                "local all = redis.call('KEYS', '*') "
                                "table.sort(all) for i, k in ipairs(all) do "
                                "all[i] = k .. ' ' .. redis.sha1hex("
                                "redis.call('DUMP', k)) end return all"));
}

/* Forgetting says so and changes nothing at all. */
static void assert_stays(script_fixture *f, const char *answer)
{
    char before[8192], after[8192];

    dump(f, before);
    assert_like(plain_forget(f), answer);
    dump(f, after);
    assert_string_equal(after, before);
}

/* ---- the plain semaphore ---- */

PLAIN_TEST(a_plain_semaphore_that_is_set_stays)
{
    plain_set(f, "op:1", "3");
    assert_stays(f, "4 3");
    plain_put_dead(f, 2);
    assert_stays(f, "3 1");
}

PLAIN_TEST(a_plain_semaphore_that_was_deleted_is_forgotten)
{
    plain_set(f, "op:1", "3");
    plain_delete(f, "op:2");
    script_fill_memory(f, true);
    assert_like(plain_forget(f), "2");
    script_fill_memory(f, false);
    assert_like(script_redis(f, "DBSIZE"), "2");
    assert_like(script_redis(f, "GET %s", f->keys[KEY_RECORD]), "2- *");
    assert_true(plain_gone(f) > 0);
    assert_in_range(script_key_pttl(f, KEY_RECORD), 1, HOUR_MS);
    assert_like(plain_set(f, "op:1", "5"), "1 0 0 0"); /* it was made before */
    assert_free(f, "nil");
    assert_stays(f, "1");
}

/* They were of the counter that was deleted, not of the next one. */
PLAIN_TEST(permits_of_a_forgotten_counter_do_not_come_back)
{
    plain_set(f, "op:1", "3");
    plain_try(f, "u:1", "2");
    plain_delete(f, "op:2");
    assert_like(plain_forget(f), "2");
    plain_set(f, "op:3", "3");
    assert_like(plain_leave(f, "u:1", "0"), "1 2 *"); /* its answer was lost */
    assert_free(f, "3");

    plain_try(f, "u:2", "1");
    plain_delete(f, "op:4");
    assert_like(plain_forget(f), "2");
    plain_set(f, "op:5", "3");
    plain_leave(f, "u:2", "0");
    assert_free(f, "3");
}

PLAIN_TEST(a_plain_counter_of_others_stays)
{
    script_redis(f, "SET n 4");
    assert_stays(f, "4 4");
    script_redis(f, "DEL n");
    plain_set(f, "op:1", "3");
    plain_delete(f, "op:2");
    script_deny(f, "del");
    assert_stays(f, cannot);
    script_deny(f, NULL);
    script_redis(f, "SET n text");
    assert_stays(f, "!LKTYPE*");
    script_redis(f, "DEL n");
    script_redis(f, "SET %s other", f->keys[KEY_QUEUE]);
    assert_stays(f, wrong_type);
}

CHECK_GROUP(script_start_server, script_stop_server)
