/* SPDX-License-Identifier: MIT */

/* `latchkey doctor`, `stat` and `metrics`: sums and checks of a server. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/seeing.h"

#define JAVA "01234567-89ab-cdef-0123-456789abcdef:71"

enum { LONG_MS = 10000 };

static void doctor_tells_what_is_so_and_what_to_do(void **state)
{
    seeing *f = *state;

    assert_tool(&f->how, 0, "ok      version      Redis ", "", "doctor", "-w",
                "0", NULL);
    assert_tool(&f->how, 0,
                "warn    persistence  no append-only file: a restart forgets "
                "grants, and two may then hold the same until the first finds "
                "out\n                     do: appendonly yes",
                "", "doctor", "-w", "0", NULL);
    assert_tool(&f->how, 0, "ok      clock-step ", "", "doctor", "-w", "0.01",
                NULL);
    assert_tool(&f->how, 0, "ok      name         a lock was taken", "",
                "doctor", "-w", "0", "--name", "probe", NULL);
}

static void doctor_fails_where_locks_would_be_dropped(void **state)
{
    seeing *f = *state;

    freeReplyObject(server_command(f->server, "CONFIG SET maxmemory 100mb"));
    freeReplyObject(
        server_command(f->server, "CONFIG SET maxmemory-policy allkeys-lru"));
    assert_tool(&f->how, 69,
                "FAIL    eviction     maxmemory-policy is allkeys-lru", "",
                "doctor", "-w", "0", NULL);
    assert_tool(&f->how, 69, "do: CONFIG SET maxmemory-policy noeviction", "",
                "doctor", "-q", "-w", "0", NULL);
    assert_tool(&f->how, 69, "\"failed\":true", "", "doctor", "--json", "-w",
                "0", NULL);
}

static void doctor_finds_a_right_that_is_missing(void **state)
{
    seeing *f = *state;
    char url[512];
    tool_how how = {.url = url};

    (void)snprintf(url, sizeof(url), "%s?user=poor&password=p",
                   server_url(f->server));
    freeReplyObject(server_command(
        f->server, "ACL SETUSER poor reset on >p ~* &* +@all -publish -zrem"));
    assert_tool(&how, 69, "warn    rights       +publish is denied", "",
                "doctor", "-w", "0", NULL);
    assert_tool(&how, 69, "FAIL    rights       +zrem is denied", "", "doctor",
                "-w", "0", NULL);
}

static void doctor_tries_a_name(void **state)
{
    seeing *f = *state;
    char url[512];
    tool_how how = {.url = url};

    server_integer(f->server, "HSET busy " JAVA " 1");
    assert_tool(&f->how, 0, "note    name         somebody holds it", "",
                "doctor", "-w", "0", "-n", "busy", NULL);
    (void)snprintf(url, sizeof(url), "%s?user=poor&password=p",
                   server_url(f->server));
    freeReplyObject(
        server_command(f->server,
                       "ACL SETUSER poor reset on >p ~latchkey:* &* +@all"));
    assert_tool(&how, 69, "FAIL    name ", "", "doctor", "-w", "0", "-n",
                "other", NULL);
}

static void stat_counts_by_kind(void **state)
{
    seeing *f = *state;

    seeing_start(f, (keeper_how){.holds = "a"});
    seeing_start(f, (keeper_how){.takes = "sem"});
    server_integer(f->server, "HSET job " JAVA " 1");
    assert_tool(&f->how, 0, "lock                    2        2        2", "",
                "stat", NULL);
    assert_tool(&f->how, 0, "semaphore               1        1        2", "",
                "stat", NULL);
    assert_tool(&f->how, 0, "all                     1        1        1", "",
                "stat", "a", NULL);
}

static void metrics_are_prometheus_text(void **state)
{
    seeing *f = *state;

    seeing_start(f, (keeper_how){.holds = "a\"b"});
    assert_tool(&f->how, 0,
                "# HELP latchkey_held Names that somebody holds.\n"
                "# TYPE latchkey_held gauge\nlatchkey_held{kind=\"lock\"} 1\n"
                "latchkey_held{kind=\"rwlock\"} 0",
                "", "metrics", NULL);
    assert_tool(&f->how, 0, "latchkey_name_waiters{name=\"a\\\"b\"} 0", "",
                "metrics", "--names", NULL);
    assert_tool(&f->how, 0, "latchkey_check{id=\"persistence\"} 2", "",
                "metrics", NULL);
}

/* Each line is a comment or a sample, and each metric is announced once. */
static void metrics_are_well_formed(void **state)
{
    seeing *f = *state;
    tool *t;
    char announced[64] = "";

    seeing_start(f, (keeper_how){.holds = "a"});
    t = tool_start(&f->how, "metrics", "--names", NULL);
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    for (const char *at = tool_out(t); *at != '\0';) {
        size_t size = strcspn(at, "\n");
        size_t word = strcspn(at, "{ ");

        if (strncmp(at, "# TYPE ", 7) == 0) {
            (void)snprintf(announced, sizeof(announced), "%.*s",
                           (int)strcspn(at + 7, " "), at + 7);
        } else if (at[0] != '#') {
            assert_int_equal(word, strlen(announced));
            assert_memory_equal(at, announced, word);
        }
        at += size + 1;
    }
    tool_free(t);
}

static void a_textfile_is_written_in_one_step(void **state)
{
    seeing *f = *state;
    char folder[] = "/tmp/lk-textfile-XXXXXX";
    char path[64], text[4096] = "";
    FILE *file;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/latchkey.prom", folder);
    assert_tool(&f->how, 0, "", "", "metrics", "--textfile", path, NULL);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    assert_non_null(strstr(text, "latchkey_up 1\n"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else is left */
    (void)snprintf(text, sizeof(text),
                   "latchkey metrics: %s: No such file or directory\n", path);
    assert_tool(&f->how, 74, "", text, "metrics", "--textfile", path, NULL);
}

/* What an old file says must not be taken for what is so. */
static void metrics_tell_that_the_server_is_away(void **state)
{
    static const char down[] =
        "# HELP latchkey_up The server could be looked at.\n"
        "# TYPE latchkey_up gauge\nlatchkey_up 0\n";
    seeing *f = *state;
    char path[] = "/tmp/lk-metrics-XXXXXX";
    char text[4096] = "";
    FILE *file;
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    assert_tool(&f->how, 0, "", "", "metrics", "--textfile", path, NULL);
    server_kill(f->server);
    assert_tool(&f->how, 69, down, "cannot be looked at", "metrics", NULL);
    assert_tool(&f->how, 69, "", NULL, "metrics", "--json", NULL);
    assert_tool(&f->how, 69, "", NULL, "metrics", "--textfile", path, NULL);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, down);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SEEING_TEST(doctor_tells_what_is_so_and_what_to_do),
        SEEING_TEST(doctor_fails_where_locks_would_be_dropped),
        SEEING_TEST(doctor_finds_a_right_that_is_missing),
        SEEING_TEST(doctor_tries_a_name),
        SEEING_TEST(stat_counts_by_kind),
        SEEING_TEST(metrics_are_prometheus_text),
        SEEING_TEST(metrics_are_well_formed),
        SEEING_TEST(a_textfile_is_written_in_one_step),
        SEEING_TEST(metrics_tell_that_the_server_is_away),
    };
#undef TEST

    return cmocka_run_group_tests(tests, NULL, NULL);
}
