/* SPDX-License-Identifier: MIT */

/* A server may forget scripts at any moment: by SCRIPT FLUSH, and from Redis 7.4
   and Valkey 8 on by itself, once it has been sent 500 others by EVAL. */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"

enum { OTHERS = 520, ROUNDS = 3 };

typedef void forgetting(locking *f);

static void flush(locking *f)
{
    free(server_string(f->server, "SCRIPT FLUSH"));
}

/* No two of them are the same. */
static void crowd_out(locking *f)
{
    static int number;

    for (int i = 0; i < OTHERS; i++) {
        char script[32];

        (void)snprintf(script, sizeof(script), "return %d", ++number);
        assert_int_equal(server_integer(f->server, "EVAL %s 0", script),
                         number);
    }
}

/* -1: this server drops none by itself. */
static long long evicted(locking *f)
{
    char *info = server_string(f->server, "INFO all");
    const char *at = strstr(info, "evicted_scripts:");
    long long count = at != NULL ? strtoll(strchr(at, ':') + 1, NULL, 10) : -1;

    free(info);
    return count;
}

/* Taken, waited for, kept, handed over, given back: before each of them the
   server forgets. */
static void
hand_over(locking *f, lk_lock *mine, lk_lock *theirs, forgetting *forget)
{
    lk_hold *hold = locking_hold(mine);
    taker *t;

    forget(f);
    t = locking_take(f, theirs, LK_FOREVER, NULL);
    locking_wait_queued(f, "n", 1);
    forget(f);
    assert_status(lk_hold_extend(hold, 10000), LK_OK);
    forget(f);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(taker_join(t), LK_OK);
    forget(f);
    assert_status(taker_release(t), LK_OK);
    assert_false(locking_exists(f, "n"));
    forget(f);
}

static void play(locking *f, forgetting *forget)
{
    lk_lock *mine = locking_new(f, lk_lock);
    lk_lock *theirs = locking_new(f, lk_lock);

    for (int i = 0; i < ROUNDS; i++)
        hand_over(f, mine, theirs, forget);
}

LOCKS_TEST(scripts_are_flushed_at_any_moment)
{
    play(f, flush);
}

LOCKS_TEST(scripts_are_crowded_out_at_any_moment)
{
    long long before = evicted(f);

    play(f, crowd_out);
    if (before >= 0)
        assert_true(evicted(f) - before > OTHERS);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
