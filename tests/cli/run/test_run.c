/* SPDX-License-Identifier: MIT */

/* A command under a lock: what it gets, what it gives, and the exit codes. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 10000 };

/* Somebody who holds n until freed. */
static tool *holder(void)
{
    tool *t = tool_start(&how, "lock", "n", "--", "sh", "-c",
                         "echo held; exec sleep 100", NULL);

    tool_wait_out(t, "held\n", SOON_MS);
    return t;
}

/* Of a tool that runs another one, it is the command of the last. */
TOOLING_TEST(what_runs_in_the_end_is_shown)
{
    tool *t = tool_start(&how, "lock", "n", "--", LK_TOOL, "lock", "m", "--",
                         "sh", "-c", "echo held; exec sleep 100", NULL);

    tool_wait_out(t, "held\n", SOON_MS);
    assert_tool(&how, 0, " (sh), user ", "", "who", "n", NULL);
    assert_tool(&how, 0, " (sh), user ", "", "who", "m", NULL);
}

TOOLING_TEST(the_exit_code_is_the_command_s)
{
    assert_tool(&how, 0, "", "", "lock", "n", "--", "true", NULL);
    assert_tool(&how, 1, "", "", "lock", "n", "--", "false", NULL);
    assert_tool(&how, 75, "", "", "lock", "n", "sh", "-c", "exit 75", NULL);
    assert_tool(&how, 255, "", "", "lock", "n", "sh", "-c", "exit 255", NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

TOOLING_TEST(a_command_ended_by_a_signal_is_128_and_its_number)
{
    assert_tool(&how, 137, "", "", "lock", "n", "-c", "kill -9 $$", NULL);
    assert_tool(&how, 143, "", "", "lock", "n", "-c", "kill -TERM $$", NULL);
    assert_tool(&how, 129, "", "", "lock", "n", "-c", "kill -HUP $$", NULL);
}

TOOLING_TEST(a_command_that_cannot_be_run_is_126_or_127)
{
    assert_tool(&how, 127, "",
                "latchkey lock: no-such-thing: No such file or directory\n"
                "  it stands where the command does, behind NAME, which is "
                "'n'; several names need -- before the command\n",
                "lock", "n", "no-such-thing", NULL);
    assert_tool(&how, 127, "",
                "latchkey lock: echo $HOME: No such file or directory\n"
                "  a line for a shell is run by -c\n",
                "lock", "n", "echo $HOME", NULL);
    assert_tool(&how, 127, "", "a line for a shell is run by -c", "lock", "n",
                "ulimit", NULL);
    assert_tool(&how, 127, "",
                "which is '3'; how many at a time is `latchkey semaphore -p N`",
                "lock", "-n", "3", "no-such-thing", NULL);
    assert_tool(&how, 126, "", "/etc/passwd: Permission denied", "lock", "n",
                "/etc/passwd", NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

/* Nobody has said how many there are: not the same as all of them taken. */
TOOLING_TEST(conflict_exit_code_is_for_what_others_have)
{
    assert_tool(&how, 78, "", "says how many permits there are: -p N",
                "semaphore", "-nq", "-E0", "s", "echo", "ran", NULL);
    assert_tool(&how, 78, "", "-p N", "semaphore", "-n", "-E1", "s", "true",
                NULL);
    assert_tool(&how, 78, "", "-p N", "semaphore", "-w0.2", "s", "true", NULL);
    assert_tool(&how, 0, "", "", "semaphore", "-p1", "s", "true", NULL);
    assert_tool(&how, 0, "", "", "semaphore", "-nq", "-E0", "s", "true", NULL);
    assert_tool(&how, 78, "", "has 1 permits", "semaphore", "-n", "-E0",
                "--count=2", "s", "true", NULL);
    assert_tool(&how, 78, "", "has 1 permits", "acquire", "-n", "-E0", "-l1m",
                "-p2", "s", NULL);
    tool *t = holder();

    assert_tool(&how, 0, "", "held by", "lock", "-n", "-E0", "n", "true", NULL);
    assert_tool(&how, 0, "", "held by", "acquire", "-n", "-E0", "-l1m", "n",
                NULL);
    tool_free(t);
}

TOOLING_TEST(a_wrong_command_line_is_64_and_takes_nothing)
{
    assert_tool(&how, 64, "", "something is missing: lock", "lock", NULL);
    assert_tool(&how, 64, "", "which command?", "lock", "n", NULL);
    assert_tool(&how, 64, "", "which command?", "lock", "n", "--", NULL);
    assert_tool(&how, 64, "", "either -n or -w", "lock", "-n", "-w1", "n",
                "true", NULL);
    assert_tool(&how, 64, "", "either -c LINE or a command", "lock", "-c", "x",
                "n", "true", NULL);
    assert_tool(&how, 64, "", "such as 500ms, 2.5s", "lock", "-w", "soon", "n",
                "true", NULL);
    assert_tool(&how, 64, "", "--lease has to be 1s to 24h", "lock", "--lease",
                "999ms", "n", "true", NULL);
    assert_tool(&how, 64, "", "--on-lost is 'weep'", "lock", "--on-lost=weep",
                "n", "true", NULL);
    assert_tool(&how, 64, "", "-E has to be 0 to 255", "lock", "-E256", "n",
                "true", NULL);
    assert_tool(&how, 64, "", "--status-fd 77 is not open", "lock",
                "--status-fd", "77", "n", "true", NULL);
    assert_tool(&how, 64, "", "the name has a '{'", "lock", "a{b", "true",
                NULL);
    assert_int_equal(server_integer(redis, "EXISTS n"), 0);
}

TOOLING_TEST(one_kind_is_said_and_something_of_it)
{
    static const char *const lines[][6] = {{"-s", "-x", "n", "true"},
                                           {"--fair", "--shared", "n", "true"},
                                           {"--spin", "-e", "n", "true"}};
    const char *line[8];

    for (size_t i = 0; i < 3; i++) {
        tool *t;

        line[0] = "lock";
        memcpy(line + 1, lines[i], sizeof(lines[i]));
        t = tool_start_list(&how, line);
        assert_int_equal(tool_wait(t, SOON_MS), 64);
        assert_non_null(strstr(tool_err(t), "latchkey lock: one of "));
        tool_free(t);
    }
    assert_tool(&how, 64, "", "1 permit at least", "semaphore", "-p0", "n",
                "true", NULL);
    assert_tool(&how, 64, "", "--count has to be 1 to", "semaphore", "-p2",
                "--count=0", "n", "true", NULL);
    assert_tool(&how, 64, "", "1 permit at least", "acquire", "-l1m", "-p0",
                "n", NULL);
    assert_tool(&how, 64, "", "--lease has to be 1s to 24h", "lock", "-l25h",
                "n", "true", NULL);
    assert_int_equal(server_integer(redis, "DBSIZE"), 0);
}

TOOLING_TEST(a_name_may_begin_with_a_dash)
{
    assert_tool(&how, 0, "-x -v\n", "", "lock", "--", "-x", "sh", "-c",
                "echo $LATCHKEY_NAME $0", "-v", NULL);
    assert_tool(&how, 0, "-x\n", "", "lock", tool_limit_of("-w", 500).text,
                "--", "-x", "--", "sh", "-c", "echo $LATCHKEY_NAME", NULL);
    assert_tool(&how, 64, "", "which command?", "lock", "--", "-x", NULL);
    assert_tool(&how, 64, "", "either -n or -w", "lock", "-n", "-w.5", "x",
                "true", NULL);
    assert_tool(&how, 64, "", "it has to be a time", "lock", "-w.", "x", "true",
                NULL);
}

TOOLING_TEST(without_a_server_it_is_69)
{
    const tool_how nowhere = {.url = "unix:/nonexistent/s?offline_ms=100ms"};

    assert_tool(&nowhere, 69, "", "there is no such socket\n  start Redis with",
                "lock", "n", "true", NULL);
    assert_tool(&nowhere, 69, "", NULL, "lock", "-n", "n", "true", NULL);
}

TOOLING_TEST(a_login_that_is_refused_is_77)
{
    char url[160];
    tool_how wrong = {.url = url};

    (void)snprintf(url, sizeof(url), "unix://u:wrong@%s", server_socket(redis));
    assert_tool(&wrong, 77, "", "the password is wrong", "lock", "n", "true",
                NULL);
}

TOOLING_TEST(a_url_that_is_not_understood_is_78)
{
    const tool_how odd = {.url = "gopher://h"};

    assert_tool(&odd, 78, "", "the URL of LATCHKEY_URL", "lock", "n", "true",
                NULL);
}

TOOLING_TEST(what_is_not_obtained_is_75_or_another_code)
{
    tool *t = holder();
    uint64_t before;

    assert_tool(&how, 75, "", "lock 'n' is not obtained", "lock", "-n", "n",
                "echo", "ran", NULL);
    assert_tool(&how, 3, "", NULL, "lock", "-nE3", "n", "echo", "ran", NULL);
    assert_tool(&how, 0, "", NULL, "lock", "-nE", "0", "n", "echo", "ran",
                NULL);
    assert_tool(&how, 1, "", NULL, "lock", "-n", "-E1", "n", "echo", NULL);
    assert_tool(&how, 75, "", "", "lock", "-nq", "n", "echo", "ran", NULL);
    before = wait_now_ms();
    assert_tool(&how, 75, "", NULL, "lock", "-w", "0.3", "n", "echo", "ran",
                NULL);
    assert_true(wait_now_ms() - before >= 300);
    tool_free(t);
}

TOOLING_TEST(the_next_gets_it_when_the_command_ends)
{
    tool *first =
        tool_start(&how, "lock", "n", "-c", "read x; echo done", NULL);
    tool *second;
    int ends[2];
    tool_how fed = how;

    (void)tool_wait(first, SOON_MS); /* its input is empty */
    tool_free(first);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    fed.in = ends[0];
    first = tool_start(&fed, "lock", "n", "-c", "echo begun; read x; echo $x",
                       NULL);
    tool_wait_out(first, "begun\n", SOON_MS);
    second = tool_start(&how, "lock", "n", "echo", "mine", NULL);
    tool_wait_err(second, "waiting for n: position 1 of 1, held by ", SOON_MS);
    assert_string_equal(tool_out(second), "");
    assert_int_equal(write(ends[1], "word\n", 5), 5);
    assert_int_equal(tool_wait(first, SOON_MS), 0);
    assert_string_equal(tool_out(first), "begun\nword\n");
    assert_int_equal(tool_wait(second, SOON_MS), 0);
    assert_string_equal(tool_out(second), "mine\n");
    tool_free(first);
    tool_free(second);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* Redisson writes down neither who it is nor since when it holds. */
TOOLING_TEST(redissons_holder_is_called_that_and_has_no_age)
{
    tool *t;

    server_integer(redis, "HSET n 01234567-89ab-cdef-0123-456789abcdef:71 1");
    server_integer(redis, "PEXPIRE n 600000");
    t = tool_start(&how, "lock", "n", "true", NULL);
    tool_wait_err(t,
                  "held by Redisson's 01234567-89ab-cdef-0123-456789abcdef:71"
                  ", lease ",
                  SOON_MS);
    server_integer(redis, "DEL n");
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    tool_free(t);
}

TOOLING_TEST(the_holder_is_named_to_who_waits)
{
    tool *t = tool_start(&how, "lock", "--why", "deploy 4.2", "n", "--", "sh",
                         "-c", "echo held; exec sleep 100", NULL);
    tool *waiter;

    tool_wait_out(t, "held", SOON_MS);
    waiter = tool_start(&how, "lock", "n", "true", NULL);
    tool_wait_err(waiter, "(sh, user ", SOON_MS);
    tool_wait_err(waiter, ": deploy 4.2) for ", SOON_MS);
    tool_wait_err(waiter, ", lease ", SOON_MS);
    tool_free(waiter);
    tool_free(t);
}

TOOLING_TEST(the_command_knows_what_it_holds)
{
    const char *env[] = {"KEPT=1", "LATCHKEY_FENCE=forged", NULL};
    tool_how more = how;
    tool *t;
    char *fence;
    char line[64];

    more.env = env;
    t = tool_start(&more, "lock", "n", "env", NULL);
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    fence = server_record(redis, "n", SERVER_FENCE);
    assert_non_null(fence);
    (void)snprintf(line, sizeof(line), "LATCHKEY_FENCE=%s\n", fence);
    free(fence);
    assert_non_null(strstr(tool_out(t), "LATCHKEY_NAME=n\n"));
    assert_null(strstr(tool_out(t), "forged"));
    assert_non_null(strstr(tool_out(t), "KEPT=1\n"));
    assert_non_null(strstr(tool_out(t), "LATCHKEY_URL="));
    assert_non_null(strstr(tool_out(t), "LATCHKEY_OWNER="));
    assert_true(tool_wait_number(t, "LATCHKEY_FENCE", SOON_MS) > 0);
    tool_free(t);
}

TOOLING_TEST(the_deadline_is_on_the_clock_since_boot)
{
    tool *t = tool_start(&how, "lock", "--lease", "60", "n", "env", NULL);
    uint64_t now = wait_now_ms();
    uint64_t deadline;

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    deadline = (uint64_t)tool_wait_number(t, "LATCHKEY_DEADLINE", SOON_MS);
    assert_true(deadline > now + 30000 && deadline < now + 61000);
    tool_free(t);
}

/* In milliseconds from now; of the hold under which the tool ran `env`. */
static int64_t deadline_ms(const tool_how *with, const char *option)
{
    uint64_t now = wait_now_ms();
    tool *t = tool_start(with, "lock", option, "n", "env", NULL);
    int64_t deadline;

    assert_int_equal(tool_wait(t, SOON_MS), 0);
    deadline = tool_wait_number(t, "LATCHKEY_DEADLINE", SOON_MS);
    tool_free(t);
    return deadline - (int64_t)now;
}

TOOLING_TEST(what_the_url_says_beats_what_the_tool_assumes)
{
    char url[200];
    char brief[200];
    const tool_how long_lease = {.url = url};
    const tool_how short_lease = {.url = brief};

    (void)snprintf(url, sizeof(url), "%s?watchdog_ms=2h&name=backup",
                   server_url(redis));
    (void)snprintf(brief, sizeof(brief), "%s?watchdog_ms=100ms",
                   server_url(redis));
    assert_true(deadline_ms(&long_lease, "-q") > 3600000);
    assert_true(deadline_ms(&long_lease, "-l60") < 3600000);
    assert_tool(&long_lease, 0, "(backup)", "", "lock", "n", "-c",
                LK_TOOL " who n", NULL);
    assert_tool(&short_lease, 78, "", "LATCHKEY_URL says watchdog_ms=100ms",
                "lock", "n", "true", NULL);
    assert_tool(&short_lease, 0, "", "", "lock", "-l60", "n", "true", NULL);
}

TOOLING_TEST(the_command_inherits_what_it_would_without_the_tool)
{
    static const char program[] = "ls /proc/self/fd | wc -l; "
                                  "grep -E 'Sig(Blk|Ign)' /proc/self/status";
    const tool_how shell = {.program = "sh"};
    tool *without = tool_start(&shell, "-c", program, NULL);
    tool *with = tool_start(&how, "lock", "n", "-c", program, NULL);

    assert_int_equal(tool_wait(without, SOON_MS), 0);
    assert_int_equal(tool_wait(with, SOON_MS), 0);
    assert_string_equal(tool_out(with), tool_out(without));
}

TOOLING_TEST(a_stream_that_is_closed_is_closed_for_the_command)
{
    const tool_how shell = {.url = server_url(redis), .program = "sh"};

    assert_tool(&shell, 0, "closed\n", "", "-c",
                LK_TOOL " lock n sh -c '[ -e /proc/$$/fd/0 ] || echo closed' "
                        "<&-",
                NULL);
    assert_tool(&shell, 1, "", "", "-c",
                LK_TOOL " lock n sh -c '[ -e /proc/$$/fd/1 ]' >&-", NULL);
}

TOOLING_TEST(every_kind_of_lock_can_be_held)
{
    static const char *const kinds[] = {"--fair", "--shared", "--exclusive",
                                        "--spin"};

    for (size_t i = 0; i < 4; i++)
        assert_tool(&how, 5, "", "", "lock", kinds[i], kinds[i] + 2, "-c",
                    "exit 5", NULL);
    assert_tool(&how, 5, "", "", "semaphore", "-p2", "permits", "-c", "exit 5",
                NULL);
}

TOOLING_TEST(a_semaphore_is_resized)
{
    const tool_how *h = &how;

    assert_tool(h, 0, "", "", "semaphore", "-p1", "s", "true", NULL);
    assert_tool(h, 0, "", "", "semaphore", "s", "--resize", "3", NULL);
    assert_tool(h, 0, "", "", "semaphore", "--count=3", "s", "true", NULL);
    assert_tool(h, 0, "{\"name\":\"s\",\"permits\":2}\n", "", "--json",
                "semaphore", "--resize=2", "s", NULL);
    assert_tool(h, 78, "", "has 2 permits", "semaphore", "--count=3", "s",
                "true", NULL);
    assert_tool(h, 64, "", "--resize runs no command", "semaphore",
                "--resize=2", "s", "true", NULL);
    assert_tool(
        h, 0, "",
        "latchkey semaphore: semaphore 'typo' was not there; it is made, "
        "with 2 permits\n",
        "semaphore", "--resize=2", "typo", NULL);
    assert_tool(h, 78, "", "`latchkey semaphore --resize N NAME` changes them",
                "semaphore", "-p5", "s", "true", NULL);
    assert_tool(h, 78, "", "-n is --nonblock, and takes no number", "semaphore",
                "-n", "3", "job", "true", NULL);
}

TOOLING_TEST(a_semaphore_lets_so_many_in)
{
    tool *first = tool_start(&how, "semaphore", "-p2", "s", "-c",
                             "echo in; exec sleep 100", NULL);
    tool *second = tool_start(&how, "semaphore", "-p2", "s", "-c",
                              "echo in; exec sleep 100", NULL);

    tool_wait_out(first, "in\n", SOON_MS);
    tool_wait_out(second, "in\n", SOON_MS);
    assert_tool(&how, 75, "", "semaphore 's' is not obtained", "semaphore",
                "-n", "-p2", "s", "true", NULL);
    assert_tool(&how, 78, "", "use the settings that the others use",
                "semaphore", "-n", "-p3", "s", "true", NULL);
    tool_free(first);
    tool_free(second);
}

/* A line of JSON for each message; of a wait with what it waits for. */
TOOLING_TEST(messages_are_json_where_that_is_said)
{
    tool *t = holder();
    tool *waiter =
        tool_start(&how, "--log-format", "json", "lock", "n", "true", NULL);

    tool_wait_err(waiter, "\n", SOON_MS);
    assert_int_equal(strncmp(tool_err(waiter), "{\"unix_ms\":", 11), 0);
    assert_non_null(strstr(tool_err(waiter),
                           ",\"level\":\"note\",\"command\":\"lock\","
                           "\"message\":\"waiting for n: position 1 of 1, "));
    assert_non_null(strstr(tool_err(waiter),
                           "\"waiting_for\":\"n\",\"position\":1,\"waiting\":1,"
                           "\"holder\":{\"owner\":"));
    tool_free(waiter);
    assert_tool(&how, 75, "", "\"level\":\"note\",\"command\":\"lock\",",
                "--log-format=json", "lock", "-n", "n", "true", NULL);
    tool_free(t);
    assert_tool(&how, 64, "",
                "\"level\":\"error\",\"command\":\"lock\",\"message\":\"either "
                "-n or -w TIME\",\"advice\":null}",
                "lock", "--log-format=json", "-n", "-w1", "m", "true", NULL);
    assert_tool(&how, 127, "",
                "\"message\":\"none: No such file or directory\",\"advice\":",
                "lock", "--log-format=json", "m", "none", NULL);
}

TOOLING_TEST(each_kind_has_a_command)
{
    tool *t = tool_start(&how, "semaphore", "-p3", "--count=2", "s", "-c",
                         "echo in; exec sleep 100", NULL);

    tool_wait_out(t, "in\n", SOON_MS);
    assert_tool(&how, 4, "", "", "semaphore", "-n", "s", "-c", "exit 4", NULL);
    assert_tool(&how, 75, "", NULL, "semaphore", "-n", "--count", "2", "s",
                "true", NULL);
    assert_tool(&how, 64, "", "--count 3 is more than all 2 permits",
                "semaphore", "-p2", "--count=3", "new", "true", NULL);
    assert_tool(&how, 64, "", "--count has to be 1 to 1000", "semaphore",
                "--count=1001", "s", "true", NULL);
    assert_tool(&how, 4, "", "", "read", "rw", "-c",
                LK_TOOL " read -n rw -c 'exit 4'", NULL);
    assert_tool(&how, 75, "", NULL, "write", "rw", "-c",
                LK_TOOL " read -n rw -c 'exit 4'", NULL);
}

TOOLING_TEST(readers_share_and_writers_do_not)
{
    tool *reader =
        tool_start(&how, "read", "rw", "-c", "echo in; exec sleep 100", NULL);

    tool_wait_out(reader, "in\n", SOON_MS);
    assert_tool(&how, 0, "", "", "read", "-n", "rw", "true", NULL);
    assert_tool(&how, 75, "", NULL, "write", "-n", "rw", "true", NULL);
    tool_free(reader);
}

TOOLING_TEST(the_status_line_tells_ours_from_the_command_s)
{
    char text[512] = "";
    int fd = memfd_create("status", 0);
    tool *t;

    assert_int_equal(dup2(fd, 9), 9);
    assert_int_equal(tool_code(&how, "lock", "--status-fd=9", "n", "-c",
                               "exit 75", NULL),
                     75);
    assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
    assert_non_null(strstr(text, "{\"outcome\":\"exited\",\"exit\":75,"
                                 "\"kind\":\"lock\",\"name\":\"n\","
                                 "\"code\":75,\"signal\":null,\"waited_ms\":"));
    t = holder();
    assert_int_equal(ftruncate(fd, 0), 0);
    (void)lseek(fd, 0, SEEK_SET);
    assert_int_equal(tool_code(&how, "lock", "-n", "--status-fd=9", "n", "true",
                               NULL),
                     75);
    memset(text, 0, sizeof(text));
    assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
    assert_non_null(strstr(text, "{\"outcome\":\"not-obtained\",\"exit\":75,"));
    assert_non_null(strstr(text, ",\"code\":null,\"signal\":null,"));
    tool_free(t);
    (void)close(9);
    (void)close(fd);
}

CHECK_GROUP(tooling_start, tooling_stop)
