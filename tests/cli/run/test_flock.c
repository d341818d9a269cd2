/* SPDX-License-Identifier: MIT */

/* What the hands of a flock(1) user write: understood, or told what else. */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/scratch.h"
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

TOOLING_TEST(shared_is_beside_shared_and_not_beside_exclusive)
{
    static const char *const shared[] = {"-s", "--shared"};
    static const char *const exclusive[] = {"-x", "-e", "--exclusive"};
    tool *t = holder("-s", "n");

    for (size_t i = 0; i < 2; i++)
        assert_tool(&how, 0, "", "", "lock", "-n", shared[i], "n", "true",
                    NULL);
    for (size_t i = 0; i < 3; i++)
        assert_tool(&how, 75, "", "write lock 'n' is not obtained", "lock",
                    "-n", exclusive[i], "n", "true", NULL);
    tool_free(t);
    t = holder("-x", "m");
    assert_tool(&how, 75, "", "is not obtained", "lock", "-ns", "m", "true",
                NULL);
    tool_free(t);
}

/* What was an option, and is another spelling. */
TOOLING_TEST(a_spelling_of_before_names_the_present_one)
{
    static const char *const words[][3] = {
        {"lock", "--flock-compat", "--flock-compat is -E 1"},
        {"lock", "--sem=2", "`latchkey semaphore -p N NAME` now"},
        {"lock", "--read", "--read is -s, --shared"},
        {"lock", "--write", "--write is -x, --exclusive"},
        {"hold", "--sem=2", "--sem N is -p N, --permits N"},
        {"acquire", "--read", "--read is -s, --shared"},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        assert_tool(&how, 64, NULL, words[i][2], words[i][0], words[i][1], "n",
                    NULL);
}

TOOLING_TEST(every_word_for_not_to_wait_is_understood)
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

TOOLING_TEST(what_makes_no_sense_here_says_what_to_write)
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
TOOLING_TEST(other_spellings_are_in_no_list)
{
    assert_tool(NULL, 0, "", "", "__complete", "lock", "--nb", NULL);
    assert_tool(NULL, 0, "", "", "__complete", "lock", "--timeo", NULL);
    assert_tool(NULL, 0, "", "", "__complete", "lock", "--clo", NULL);
    assert_tool(NULL, 64, "", "there is no option --timeot\n  `latchkey help",
                "lock", "--timeot", NULL);
}

/* ---- called as flock ------------------------------------------------------ */

/* A folder with a link to the tool that is called flock, a file, and a place for what is
   said once: that of whoever runs the test stays as it is. */
static scratch *folder;
static char linked[256], file[256], same[256], kept[300];
static const char *const flock_env[] = {kept, NULL};

static int folder_make(NO_STATE)
{
    folder = scratch_new();
    assert_non_null(folder);
    (void)snprintf(linked, sizeof(linked), "%s/flock", scratch_path(folder));
    (void)snprintf(file, sizeof(file), "%s/job", scratch_path(folder));
    (void)snprintf(same, sizeof(same), "%s/./job", scratch_path(folder));
    (void)snprintf(kept, sizeof(kept), "XDG_STATE_HOME=%s/state",
                   scratch_path(folder));
    assert_int_equal(symlink(LK_TOOL, linked), 0);
    return 0;
}

static int folder_end(void **state)
{
    int code = tooling_teardown(state);

    scratch_free(folder);
    return code;
}

CHECK_TEST_OF(its_command_lines_are_flock_s, NO_STATE, folder_make, folder_end)
{
    const tool_how flock = {.program = linked,
                            .url = how.url,
                            .env = flock_env};
    tool *t;

    assert_tool(&flock, 0, "hi\n", NULL, file, "echo", "hi", NULL);
    assert_tool(&flock, 4, "", NULL, "-n", file, "-c", "exit 4", NULL);
    assert_tool(&flock, 0, "", NULL, "-o", "-F", "-x", "--timeout=5", file,
                "true", NULL);
    t = tool_start(&flock, "-s", file, "-c", "echo held; exec sleep 100", NULL);
    tool_wait_out(t, "held\n", SOON_MS);
    assert_tool(&flock, 0, "", NULL, "-s", "--nb", same, "true", NULL);
    assert_tool(&flock, 1, "", "latchkey flock: ", "-n", same, "true", NULL);
    assert_tool(&flock, 1, "", NULL, "-w", "0.1", file, "true", NULL);
    assert_tool(&flock, 9, "", NULL, "-nE9", file, "true", NULL);
    tool_free(t);
    assert_tool(&flock, 64, "", "a shell itself: lines=$(latchkey hold NAME)",
                "9", NULL);
    assert_tool(&flock, 64, "", "`latchkey release`", "-u", "9", NULL);
    assert_tool(&flock, 64, "", "/nonexistent/f: No such file",
                "/nonexistent/f", "true", NULL);
}

/* For each user, below XDG_STATE_HOME where that is set. */
CHECK_TEST_OF(it_says_once_that_it_is_no_flock, NO_STATE, folder_make,
              folder_end)
{
    const tool_how flock = {.program = linked,
                            .url = how.url,
                            .env = flock_env};

    assert_tool(&flock, 0, "", "this is latchkey: the lock is 'flock:", file,
                "true", NULL);
    assert_tool(&flock, 0, "", "", file, "true", NULL);
}

/* The command and the link are one, and the name is the path without links. */
CHECK_TEST_OF(its_name_is_the_path, NO_STATE, folder_make, folder_end)
{
    const tool_how here = {.url = how.url, .env = flock_env};
    char wanted[300];

    (void)snprintf(wanted, sizeof(wanted), "flock:%s\n", file);
    assert_tool(&here, 0, wanted, NULL, "flock", same, "sh", "-c",
                "echo \"$LATCHKEY_NAME\"", NULL);
    assert_int_equal(access(file, F_OK), -1);
    (void)snprintf(wanted, sizeof(wanted), "%s/link", scratch_path(folder));
    assert_int_equal(close(creat(file, 0600)), 0);
    assert_int_equal(symlink("job", wanted), 0);
    assert_tool(&here, 1, "", NULL, "flock", file, LK_TOOL, "-q", "flock", "-n",
                wanted, "true", NULL);
}

CHECK_GROUP(tooling_start, tooling_stop)
