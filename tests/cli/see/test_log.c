/* SPDX-License-Identifier: MIT */

/* `latchkey log`: what `break` has ended. */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/keeper.h"
#include "support/tooling.h"

static pid_t keeper;

static int forget(void **state)
{
    if (keeper != 0)
        keeper_kill(keeper);
    keeper = 0;
    return tooling_teardown(state);
}

static void hold(const char *name)
{
    keeper = keeper_start(&(keeper_how){.url = server_url(redis),
                                        .holds = name,
                                        .reason = "deploy 4.2"});
}

/* Ends the hold of a name, whose holder then ends by itself. */
static void end_hold(const char *name, const char *option)
{
    hold(name);
    assert_tool(&how, 0, NULL, NULL, "break", "--yes", option, name, NULL);
    assert_int_equal(keeper_join(keeper), 0);
    keeper = 0;
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, forget)

TEST(what_was_ended_is_told_with_whose_it_was)
{
    char was[96];

    hold("deploy");
    assert_tool(&how, 0, NULL,
                "latchkey break: revoked; its holder has stopped, or its lease "
                "is over\n",
                "break", "--yes", "deploy", NULL);
    (void)snprintf(was, sizeof(was), ":%d (", (int)keeper);
    assert_int_equal(keeper_join(keeper), 0);
    keeper = 0;
    assert_tool(&how, 0, "  deploy: revoked\n    was  ", "", "log", NULL);
    assert_tool(&how, 0, was, "", "log", "deploy", NULL);
    assert_tool(&how, 0, ": deploy 4.2)\n    by   ", "", "log", NULL);
    assert_tool(&how, 0, "\"what\":\"revoked\"", "", "log", "--json", NULL);
    assert_tool(&how, 0, "\"command\":\"latchkey\"", "", "log", "--json", NULL);
}

TEST(one_that_was_ended_at_once_is_called_so)
{
    end_hold("{a}b", "--now");
    assert_tool(&how, 0, "  {a}b: ended", "", "log", "{a}b", NULL);
    assert_tool(&how, 0, "", "latchkey log: nothing was broken\n", "log", "b",
                NULL);
}

TEST(it_tells_why_if_that_was_said)
{
    char line[140];

    end_hold("deploy", "--why=release 4.3 waits");
    assert_tool(&how, 0, ": deploy 4.2)\n    why  release 4.3 waits\n    by   ",
                "", "log", NULL);
    assert_tool(&how, 0, "deploy 4.2)\",\"host\":", "", "log", "--json", NULL);
    assert_tool(&how, 0, ",\"why\":\"release 4.3 waits\"}", "", "log", "--json",
                NULL);
    end_hold("other", "--now");
    assert_tool(&how, 0, ",\"why\":null}", "", "log", "other", "--json", NULL);
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    assert_tool(&how, 64, "", "--why has to be one line of 120 bytes at most",
                "break", "--yes", "--why", line, "deploy", NULL);
}

/* Of several holds that are revoked one after the other, each once. */
TEST(a_wait_for_the_end_is_noted_once)
{
    end_hold("deploy", "--all");
    assert_int_equal(server_integer(redis, "XLEN latchkey:{deploy}:e"), 1);
}

TEST(what_is_not_ended_is_not_in_it)
{
    hold("deploy");
    assert_tool(&how, 0, NULL, NULL, "break", "--dry-run", "deploy", NULL);
    assert_tool(&how, 0, NULL, NULL, "break", "--dry-run", "--now", "deploy",
                NULL);
    assert_tool(&how, 75, NULL, NULL, "break", "--yes", "--if-owner", "x:1",
                "deploy", NULL);
    assert_int_equal(server_integer(redis, "EXISTS latchkey:{deploy}:e"), 0);
}

TEST(the_last_ones_are_kept_for_a_week)
{
    for (int i = 0; i < LK_EVENTS_KEPT + 8; i++)
        freeReplyObject(
            server_command(redis,
                           "XADD latchkey:{deploy}:e * name deploy what w%d",
                           i));
    end_hold("deploy", "--now");
    assert_int_equal(server_integer(redis, "XLEN latchkey:{deploy}:e"),
                     LK_EVENTS_KEPT);
    assert_in_range(server_integer(redis, "TTL latchkey:{deploy}:e"), 604000,
                    604800);
    assert_tool(&how, 0, "deploy: w9\n    was", NULL, "log", "deploy", NULL);
}

TEST(what_others_wrote_says_nothing_of_another_name)
{
    freeReplyObject(
        server_command(redis,
                       "XADD latchkey:{evil}:e * name deploy what forged"));
    freeReplyObject(server_command(redis, "XADD latchkey:{evil}:e * odd one"));
    freeReplyObject(server_command(redis, "SET latchkey:{text}:e 1"));
    assert_tool(&how, 0, "", "nothing was broken", "log", NULL);
    assert_tool(&how, 0, "", "nothing was broken", "log", "evil", NULL);
    freeReplyObject(
        server_command(redis,
                       "XADD latchkey:{evil}:e * name evil what %s by %s",
                       "\x1b[2J", "h\n12\nprogram\nann\x07"));
    assert_tool(&how, 0, "  evil: \\x1b[2J", "", "log", NULL);
    assert_tool(&how, 0, "    by   h pid 12, user ann\\x07", "", "log", NULL);
    assert_tool(&how, 78, "", "log", "log", "text", NULL);
}

/* A user with rights to the names of one tenant: breaks, and sees its own. */
TEST(a_tenant_sees_what_is_its_own)
{
    char url[96];
    tool_how tenant = {.url = url};
    static const char rights[] =
        "ACL SETUSER ann reset on >a ~orders:* ~latchkey:{orders:* "
        "~latchkey:*:{orders:* ~latchkey:client:* ~redisson_lock_*:{orders:* "
        "&* +@all";

    (void)snprintf(url, sizeof(url), "redis://ann:a@127.0.0.1:%u",
                   (unsigned)server_port(redis));
    freeReplyObject(server_command(redis, rights));
    hold("orders:1");
    assert_tool(&tenant, 0, NULL,
                "latchkey break: revoked; its holder has stopped, or its lease "
                "is over\n",
                "break", "--yes", "orders:1", NULL);
    assert_int_equal(keeper_join(keeper), 0);
    keeper = 0;
    assert_tool(&tenant, 0, "  orders:1: revoked", "", "log", "orders:1", NULL);
    end_hold("stock:1", "--now");
    assert_tool(&tenant, 77, "", "the log cannot be read", "log", "stock:1",
                NULL);
    freeReplyObject(server_command(redis, "ACL DELUSER ann"));
}

TEST(what_cannot_be_noted_is_ended_and_said)
{
    char url[96];
    tool_how poor = {.url = url};

    (void)snprintf(url, sizeof(url), "redis://bob:b@127.0.0.1:%u",
                   (unsigned)server_port(redis));
    freeReplyObject(
        server_command(redis, "ACL SETUSER bob reset on >b ~* &* +@all -xadd"));
    hold("deploy");
    assert_tool(&poor, 0, NULL, "the log may lack it: ", "break", "--yes",
                "deploy", NULL);
    assert_int_equal(keeper_join(keeper), 0);
    keeper = 0;
    assert_int_equal(server_integer(redis, "EXISTS deploy"), 0);
    freeReplyObject(server_command(redis, "ACL DELUSER bob"));
}

CHECK_GROUP(tooling_start, tooling_stop)
