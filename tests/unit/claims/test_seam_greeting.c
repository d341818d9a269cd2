/* SPDX-License-Identifier: MIT */

/* What a server may say to a greeting, and what ends it. */

#include <latchkey/latchkey.h>

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "claims/node.h"
#include "engine/client.h"
#include "support/check.h"
#include "support/playing.h"

static lk_status greet_anew(played *p)
{
    played_break(p);
    played_run_ms(p, 50);
    return lk_client_wait_ready(p->client, 500);
}

WAITED_TEST(a_name_and_a_number_may_be_refused)
{
    p->name_answer = p->id_answer = "-NOPERM no permissions\r\n";
    assert_status(greet_anew(p), LK_OK);
}

WAITED_TEST(a_number_that_is_none_is_not_known)
{
    p->id_answer = "$1\r\n7\r\n";
    assert_status(greet_anew(p), LK_OK);
    p->kills = 0;
    assert_status(greet_anew(p), LK_OK);
    assert_int_equal(p->kills, 0);
}

WAITED_TEST(an_answer_of_a_wrong_type_ends_the_greeting)
{
    p->name_answer = "*1\r\n:1\r\n";
    assert_status(greet_anew(p), LK_EPROTO);
    p->name_answer = NULL;
    assert_status(lk_client_wait_ready(p->client, 5000), LK_OK);
}

/* What it is cannot be known then: it could be a replica, or another process
   each time. Whoever calls is told why. */
static void assert_left(played *p, const char *answer, lk_status status)
{
    lk_hold *hold = NULL;

    p->info_answer = answer;
    assert_status(greet_anew(p), status);
    assert_non_null(strstr(lk_last_error(), "'INFO'"));
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), status);
    assert_non_null(strstr(lk_last_error(), "'INFO'"));
}

WAITED_TEST(a_server_that_denies_to_say_what_it_is_is_left)
{
    assert_left(p, "-NOPERM no permissions to run the 'INFO' command\r\n",
                LK_EDENIED);
}

WAITED_TEST(a_server_that_cannot_say_what_it_is_is_left)
{
    assert_left(p, "-ERR unknown command 'INFO'\r\n", LK_ESERVER);
}

WAITED_TEST(one_that_tells_nothing_of_itself_is_served)
{
    lk_hold *hold = NULL;

    p->info_answer = "$9\r\n# Nothing\r\n";
    assert_status(greet_anew(p), LK_OK);
    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
}

WAITED_TEST(one_that_tells_of_itself_in_another_way_is_left)
{
    static const char *const answers[] = {"+role:master\r\n", ":1\r\n",
                                          "$-1\r\n",
                                          "*1\r\n$11\r\nrole:master\r\n"};

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        p->info_answer = answers[i];
        assert_status(greet_anew(p), LK_EPROTO);
        p->info_answer = NULL;
        assert_status(lk_client_wait_ready(p->client, 5000), LK_OK);
        played_run_ms(p, 500); /* of use: the next one is tried at once */
    }
}

/* A key is what stands at the start of a line. */
WAITED_TEST(what_only_looks_like_a_line_of_it_is_none)
{
    static const char text[] = "executable:/srv/run_id:other/uptime_in_seconds:"
                               "9/role:slave\r\nrole:slavery\r\n";
    char answer[sizeof(text) + 32];

    (void)snprintf(answer, sizeof(answer), "$%zu\r\n%s\r\n", strlen(text),
                   text);
    p->info_answer = answer;
    assert_status(greet_anew(p), LK_OK);
    assert_string_equal(p->client->node->command_greeting.run_id, "");
    assert_true(p->client->node->command_greeting.born_at == INT64_MAX);
}

WAITED_TEST(a_line_of_it_may_be_any_but_the_first)
{
    p->info_answer = "$45\r\n# Server\r\nx_run_id:other\r\nrun_id:fedcba9876"
                     "\r\n\r\n";
    assert_status(greet_anew(p), LK_OK);
    assert_string_equal(p->client->node->command_greeting.run_id, "fedcba9876");
}

static void assert_pong(played *p, const char *answer, bool is_left)
{
    unsigned before = p->connects;

    p->ping_answer = answer;
    played_run_ms(p, 3500);
    p->ping_answer = NULL;
    played_run_ms(p, 1000);
    assert_int_equal(p->connects != before, is_left);
    assert_status(lk_client_wait_ready(p->client, 5000), LK_OK);
}

WAITED_TEST(an_idle_connection_takes_what_is_a_pong)
{
    assert_pong(p, "+PONG\r\n", false);
    assert_pong(p, "*2\r\n$4\r\npong\r\n$0\r\n\r\n", false);
    assert_pong(p, "-NOPERM no permissions to run the 'ping' command\r\n",
                false);
}

WAITED_TEST(an_idle_connection_is_left_over_what_is_none)
{
    static const char *const answers[] =
        {":1\r\n", "$4\r\nPONG\r\n",      "$-1\r\n", "+OK\r\n", "+QUEUED\r\n",
         "*0\r\n", "*1\r\n$4\r\nping\r\n"};

    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        assert_pong(p, answers[i], true);
}

/* Its messages would never come. */
WAITED_TEST(an_inbox_that_is_not_subscribed_is_none)
{
    lk_hold *hold = NULL;

    p->subscribe_answer = "+OK\r\n";
    played_break(p);
    p->is_held = true;
    played_run_ms(p, 50);
    p->counts[PLAYED_ACQUIRE] = 0;
    assert_status(lk_lock_acquire(p->lock, 2000, NULL, &hold), LK_ETIMEDOUT);
    assert_int_equal(p->waiter_count, 0);
    p->subscribe_answer = NULL;
    assert_status(lk_lock_acquire(p->lock, 2000, NULL, &hold), LK_ETIMEDOUT);
}

/* Whether what the one before carried can still run is not known then. */
WAITED_TEST(a_kill_that_says_nothing_ends_the_greeting)
{
    p->kill_answer = "+OK\r\n";
    assert_status(greet_anew(p), LK_EPROTO);
    p->kill_answer = NULL;
    assert_status(lk_client_wait_ready(p->client, 5000), LK_OK);
}

WAITED_TEST(a_replica_is_refused)
{
    p->info_answer = "$12\r\nrole:slave\r\n\r\n";
    assert_status(greet_anew(p), LK_EREADONLY);
    assert_non_null(strstr(lk_last_error(), "is a replica"));
}
