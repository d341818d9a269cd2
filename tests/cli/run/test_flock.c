/* SPDX-License-Identifier: MIT */

/* What the hands of a flock(1) user write: understood, or told what else. */

#include "support/check.h"
#include "support/tooling.h"

enum { SOON_MS = 10000 };

/* Somebody who has a name so until freed, and for the rest of the lease. */
static tool *holder(const char *option, const char *name)
{
    tool *t = tool_start(&how, "lock", option, name, "--", "sh", "-c",
                         "echo held; exec sleep 100", NULL);

    tool_wait_out(t, "held\n", SOON_MS);
    return t;
}

static void shared_is_beside_shared_and_not_beside_exclusive(NO_STATE)
{
    static const char *const shared[] = {"-s", "--shared", "--read"};
    static const char *const exclusive[] = {"-x", "-e", "--exclusive",
                                            "--write"};
    tool *t = holder("-s", "n");

    for (size_t i = 0; i < 3; i++)
        assert_tool(&how, 0, "", "", "lock", "-n", shared[i], "n", "true",
                    NULL);
    for (size_t i = 0; i < 4; i++)
        assert_tool(&how, 75, "", "write lock 'n' is not obtained", "lock",
                    "-n", exclusive[i], "n", "true", NULL);
    tool_free(t);
    t = holder("-x", "m");
    assert_tool(&how, 75, "", "is not obtained", "lock", "-ns", "m", "true",
                NULL);
    tool_free(t);
}

static void every_word_for_not_to_wait_is_understood(NO_STATE)
{
    static const char *const words[] = {"-n", "--nb", "--nonblock",
                                        "--nonblocking"};
    static const char *const times[] = {"-w", "--wait=", "--timeout="};
    tool *t = holder("-q", "n");

    for (size_t i = 0; i < 4; i++)
        assert_tool(&how, 9, "", "is not obtained", "lock", words[i], "-E", "9",
                    "n", "true", NULL);
    for (size_t i = 0; i < 3; i++)
        assert_tool(&how, 75, "", "is not obtained", "lock",
                    tool_limit_of(times[i], 300).text, "n", "true", NULL);
    tool_free(t);
}

static void what_makes_no_sense_here_says_what_to_write(NO_STATE)
{
    static const char *const words[][3] = {{"-o", "leave out -o: "},
                                           {"--close", "leave out -o: "},
                                           {"-F", "leave out -F: "},
                                           {"--no-fork", "leave out -F: "},
                                           {"--unlock", "latchkey release"}};

    for (size_t i = 0; i < 5; i++)
        assert_tool(&how, 64, "", words[i][1], "lock", words[i][0], "n", "true",
                    NULL);
    assert_int_equal(server_integer(redis, "DBSIZE"), 0);
}

/* The pages, the help and the completion show one word for each. */
static void other_spellings_are_in_no_list(NO_STATE)
{
    assert_tool(NULL, 0, "", "", "__complete", "lock", "--nb", NULL);
    assert_tool(NULL, 0, "", "", "__complete", "lock", "--timeo", NULL);
    assert_tool(NULL, 0, "", "", "__complete", "lock", "--clo", NULL);
    assert_tool(NULL, 64, "", "there is no option --timeot\n  `latchkey help",
                "lock", "--timeot", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TOOLING_TEST(shared_is_beside_shared_and_not_beside_exclusive),
        TOOLING_TEST(every_word_for_not_to_wait_is_understood),
        TOOLING_TEST(what_makes_no_sense_here_says_what_to_write),
        TOOLING_TEST(other_spellings_are_in_no_list),
    };

    return cmocka_run_group_tests(tests, tooling_start, tooling_stop);
}
