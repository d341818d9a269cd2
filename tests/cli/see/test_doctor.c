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

SEEING_TEST(doctor_tells_what_is_so_and_what_to_do)
{
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

SEEING_TEST(doctor_fails_where_locks_would_be_dropped)
{
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

SEEING_TEST(doctor_finds_a_right_that_is_missing)
{
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

SEEING_TEST(doctor_tries_a_name)
{
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

/* Notes for another host what the tool has noted for this one. */
static const char note_web_9[] =
    "local k = 'latchkey:{latchkey-fleet}:e' "
    "local note = redis.call('XRANGE', k, '-', '+')[1][2] "
    "for i = 1, #note, 2 do if note[i] == 'by' then "
    "note[i + 1] = note[i + 1]:gsub('^%C*', 'web-9') end end "
    "redis.call('XADD', k, '*', unpack(note)) return 1";

SEEING_TEST(doctor_names_the_other_hosts)
{
    static const char length[] = "XLEN latchkey:{latchkey-fleet}:e";
    const tool_how local = {.url = "local:"};

    assert_tool(&f->how, 0, "warn    fleet        no other host was seen here",
                "", "doctor", "-w", "0", "--fleet", NULL);
    assert_int_equal(server_integer(f->server, length), 1);
    assert_int_equal(server_integer(f->server, "EVAL %s 0", note_web_9), 1);
    assert_tool(&f->how, 0, "ok      fleet        1 other host: web-9", "",
                "doctor", "-w", "0", "--fleet", NULL);
    assert_int_equal(server_integer(f->server, length), 2);
    assert_tool(&f->how, 0, "", "latchkey log: nothing was broken\n", "log",
                NULL);
    assert_tool(&f->how, 0, "{\"events\":[],", "", "log", "--json", NULL);
    assert_tool(&local, 69, "FAIL    fleet        it is the private server",
                NULL, "doctor", "-w", "0", "--fleet", NULL);
    assert_tool(&local, 0, NULL, NULL, "server", "stop", NULL);
}

SEEING_TEST(metrics_count_by_kind)
{
    seeing_start(f, (keeper_how){.holds = "a"});
    seeing_start(f, (keeper_how){.takes = "sem"});
    server_integer(f->server, "HSET job " JAVA " 1");
    assert_tool(&f->how, 0, "latchkey_names{kind=\"lock\"} 2", "", "metrics",
                NULL);
    assert_tool(&f->how, 0, "latchkey_holders{kind=\"semaphore\"} 2", "",
                "metrics", NULL);
    assert_tool(&f->how, 0, "\"all\":{\"names\":1,\"held\":1,\"holders\":1,",
                "", "--json", "metrics", "a", NULL);
}

SEEING_TEST(metrics_are_prometheus_text)
{
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
SEEING_TEST(metrics_are_well_formed)
{
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

SEEING_TEST(a_textfile_is_written_in_one_step)
{
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
SEEING_TEST(metrics_tell_that_the_server_is_away)
{
    static const char down[] =
        "# HELP latchkey_up The server could be looked at.\n"
        "# TYPE latchkey_up gauge\nlatchkey_up 0\n";
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
