/* SPDX-License-Identifier: MIT */

/*
 * What stands at a server whose clock was set back: times that it noted are
 * to come. A test writes them as that clock would have left them.
 */

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

enum { HOUR_MS = 3600000 };

static redisContext *hear(locking *f, const char *channel)
{
    redisContext *ear = redisConnectUnix(server_socket(f->server));
    redisReply *reply = redisCommand(ear, "SUBSCRIBE %s", channel);

    assert_non_null(reply);
    freeReplyObject(reply);
    return ear;
}

/* The name is free since an hour from now, in the turn of those who hear of it
   on Redisson's channel. */
static void leave_open_in_an_hour(locking *f, const char *name)
{
    static const char script[] =
        "local time, text = redis.call('TIME'), redis.call('GET', KEYS[2]) "
        "local turn = string.format('t,%.0f,-1,0,0', time[1] * 1000 + "
        "tonumber(ARGV[1])) "
        "redis.call('SET', KEYS[2], (string.gsub(text, "
        "'^(%S+ %S+ %S+ %S+ %S+) %S+', '%1 ' .. turn, 1)), 'KEEPTTL') "
        "return redis.call('DEL', KEYS[1])";
    char state[64];

    snprintf(state, sizeof(state), "latchkey:{%s}:r", name);
    assert_int_equal(server_integer(f->server, "EVAL %s 2 %s %s %d", script,
                                    name, state, (int)HOUR_MS),
                     1);
}

CHECK_TEST_OF(a_free_lock_is_had_whatever_time_it_was_left_open, locking *f,
              locking_setup, locking_teardown)
{
    redisContext *ear = hear(f, "redisson_lock__channel:{n}");
    lk_hold *hold = locking_hold(locking_calm(f, lk_lock));
    taker *t = locking_take(f, locking_calm(f, lk_lock), 8000, NULL);

    locking_wait_queued(f, "n", 1);
    leave_open_in_an_hour(f, "n");
    assert_status(taker_release(t), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
    redisFree(ear);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
