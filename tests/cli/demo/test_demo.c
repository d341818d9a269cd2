/* SPDX-License-Identifier: MIT */

/* The demo: what it shows is true or it says so, and it leaves nothing. */

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/redis.h"
#include "support/scratch.h"
#include "support/tool.h"
#include "support/wait.h"

enum { END_MS = 60000 };

/* A directory in which the demo makes its own, and so the mark by which its
   processes are known: it stands in their environment. */
typedef struct scene {
    scratch *home;
    char variable[96]; /* TMPDIR=... */
    const char *env[2];
    tool_how how;
} scene;

static int scene_start(void **state)
{
    scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->home = scratch_new();
    assert_non_null(s->home);
    (void)snprintf(s->variable, sizeof(s->variable), "TMPDIR=%s",
                   scratch_path(s->home));
    s->env[0] = s->variable;
    s->how.env = s->env;
    s->how.url = "redis://127.0.0.1:1"; /* not used: it has its own */
    *state = s;
    return 0;
}

static int scene_end(void **state)
{
    scene *s = *state;

    scratch_free(s->home);
    free(s);
    return 0;
}

/* ---- what is left of it ------------------------------------------------- */

/* Finds an entry; "" if there is none. */
static void entry_find(const scene *s, char *name, size_t size)
{
    DIR *directory = opendir(scratch_path(s->home));
    struct dirent *entry;

    assert_non_null(directory);
    name[0] = '\0';
    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.')
            (void)snprintf(name, size, "%s", entry->d_name);
    }
    (void)closedir(directory);
}

static bool has_mark(const char *pid, const char *mark)
{
    char path[300];
    char text[8192];
    ssize_t size;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%s/environ", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    size = fd >= 0 ? read(fd, text, sizeof(text)) : 0;
    if (fd >= 0)
        (void)close(fd);
    return size > 0 && memmem(text, (size_t)size, mark, strlen(mark)) != NULL;
}

static bool is_gone(void *data)
{
    const scene *s = data;
    DIR *processes = opendir("/proc");
    struct dirent *entry;
    char name[256];
    bool is_left = false;

    assert_non_null(processes);
    while ((entry = readdir(processes)) != NULL)
        is_left =
            is_left || (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
                        has_mark(entry->d_name, s->variable));
    (void)closedir(processes);
    entry_find(s, name, sizeof(name));
    return !is_left && name[0] == '\0';
}

static void assert_nothing_is_left(scene *s)
{
    assert_true(wait_until(is_gone, s, 5000));
}

/* ---- runs --------------------------------------------------------------- */

static tool *start(const scene *s)
{
    tool_how how = s->how;
    tool *t;

    how.program = LK_TOOL; /* by its path, as ./dev demo does */
    t = tool_start(&how, "demo", "--quick", NULL);
    tool_wait_out(t, "A worker pool", 10000);
    return t;
}

/* A message of cmocka's ends after a thousand bytes. */
static const char *from_untrue(const char *text)
{
    const char *at = strstr(text, "NOT TRUE");
    size_t size = strlen(text);

    if (at != NULL)
        return at;
    return size > 800 ? text + size - 800 : text;
}

#define TEST(name) CHECK_TEST_OF(name, scene *s, scene_start, scene_end)

TEST(all_that_it_shows_is_true)
{
    tool *t = start(s);

    assert_false(is_gone(s));
    if (tool_wait(t, END_MS) != 0)
        fail_msg("%s\n%s", from_untrue(tool_out(t)), tool_err(t));
    assert_non_null(strstr(tool_out(t), "is killed (kill -9)"));
    assert_non_null(strstr(tool_out(t), "reader "));
    assert_non_null(strstr(tool_out(t), "all 8 have begun"));
    assert_non_null(strstr(tool_out(t), "hand-overs a second"));
    assert_non_null(strstr(tool_out(t), "All 9 statements were true"));
    assert_non_null(strstr(tool_out(t), "Next: " LK_TOOL " help lock\n"));
    assert_null(strchr(tool_out(t), '\033'));
    assert_string_equal(tool_err(t), "");
    tool_free(t);
    assert_nothing_is_left(s);
}

/* Without what holds it, everybody works at once. */
TEST(what_is_not_true_is_said)
{
    tool *t = start(s);
    char name[256];
    char path[400];
    redis *server;

    entry_find(s, name, sizeof(name));
    (void)snprintf(path, sizeof(path), "%s/%s/socket", scratch_path(s->home),
                   name);
    server = redis_new(path);
    while (strstr(tool_out(t), "NOT TRUE") == NULL && redis_ping(server))
        freeReplyObject(redis_vcommand(server, "FLUSHALL", (va_list){0}));
    redis_free(server);
    assert_int_equal(tool_wait(t, END_MS), 70);
    assert_non_null(strstr(tool_out(t), "NOT TRUE  never more than 4 at once"));
    assert_non_null(strstr(tool_out(t), "statements were NOT true"));
    tool_free(t);
    assert_nothing_is_left(s);
}

/* ---- its end ------------------------------------------------------------ */

TEST(a_picture_on_a_terminal_ends_at_ctrl_c)
{
    tool *t;

    s->how.has_terminal = true;
    t = start(s);
    tool_wait_out(t, "\033[14A  worker 1 ", 10000);
    tool_type(t, "\003");
    assert_int_equal(tool_wait(t, END_MS), 130);
    tool_free(t);
    assert_nothing_is_left(s);
}

TEST(a_killed_one_leaves_nothing)
{
    tool *t = start(s);

    assert_int_equal(kill(tool_pid(t), SIGKILL), 0);
    assert_int_equal(tool_wait(t, END_MS), 128 + SIGKILL);
    tool_free(t);
    assert_nothing_is_left(s);
}

/* Reads what comes until text has come. */
static void read_until(int fd, char *to, size_t size, const char *text)
{
    size_t used = 0;

    to[0] = '\0';
    while (strstr(to, text) == NULL) {
        ssize_t more = read(fd, to + used, size - used - 1);

        if (more <= 0)
            fail_msg("no '%s' in: %s", text, to);
        used += (size_t)more;
        to[used] = '\0';
    }
}

TEST(as_json_it_ends_when_nobody_reads_it)
{
    char text[4096];
    int ends[2];
    tool *t;

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    s->how.out = ends[1];
    t = tool_start(&s->how, "demo", "--quick", "--json", NULL);
    (void)close(ends[1]);
    read_until(ends[0], text, sizeof(text),
               ",\"scene\":\"A worker pool\",\"statement\":\"never more than 4 "
               "at once (most: 4)\",\"is_true\":true}\n");
    (void)close(ends[0]);
    assert_int_equal(strncmp(text, "{\"ms\":", 6), 0);
    assert_non_null(strstr(text, ",\"event\":\"worker "));
    assert_int_equal(tool_wait(t, END_MS), 74);
    tool_free(t);
    assert_nothing_is_left(s);
}

/* ---- no server ---------------------------------------------------------- */

TEST(without_a_server_it_says_what_to_do)
{
    static const char *const programs[][2] =
        {{"LATCHKEY_SERVER_PROGRAM=/nowhere/redis-server",
          "there is no /nowhere/redis-server here, and the demo starts one of "
          "its own\n  install it (Debian: apt-get install redis-tools)"},
         {"LATCHKEY_SERVER_PROGRAM=false", "false did not start"},
         {"LATCHKEY_SERVER_PROGRAM=/proc/version", "Permission denied"}};

    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        const char *env[] = {s->variable, programs[i][0], NULL};

        s->how.env = env;
        assert_tool(&s->how, 69, "", programs[i][1], "demo", NULL);
        assert_nothing_is_left(s);
    }
}
