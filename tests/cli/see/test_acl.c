/* SPDX-License-Identifier: MIT */

/*
 * `latchkey doctor --acl`: what it prints is enough for each primitive, says the
 * same as the pages, and lets nobody near other names.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"
#include "support/rights.h"
#include "support/tooling.h"

enum { LONG_MS = 10000 };

static int forget(NO_STATE)
{
    tool_free_all();
    return 0;
}

/* ---- enough ------------------------------------------------------------------ */

/* Every step succeeds, and nothing is asked for in vain but what helps. */
static void play(const rights_scene *scene, const char *rules)
{
    rights_play p;

    rights_open(&p, redis, rules);
    scene->play(&p);
    scene->settle(&p);
    p.name = RIGHTS_BRACED;
    scene->play(&p);
    if (p.step != NULL)
        fail_msg("%s, %s: %s, %s", scene->primitive, p.step,
                 lk_status_name(p.status), p.words);
    rights_leave(&p);
    if (rights_denied(redis, NULL))
        fail_msg("%s was denied something", scene->primitive);
    scene->settle(&p);
    rights_close(&p, redis);
}

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, NULL, forget)

TEST(each_primitive_works_with_its_own_rights)
{
    for (unsigned i = 0; i < rights_scene_count; i++) {
        char *rules = rights_printed(rights_scenes[i].primitive, "app:");

        play(&rights_scenes[i], rules);
        free(rules);
    }
}

TEST(all_of_them_work_with_the_rights_of_all)
{
    char *rules = rights_printed(NULL, "app:");

    for (unsigned i = 0; i < rights_scene_count; i++)
        play(&rights_scenes[i], rules);
    free(rules);
}

static void acquire(rights_play *p, const char *name, lk_status expected)
{
    lk_lock *lock = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_lock_new(&lock, p->a, name, NULL), LK_OK);
    assert_status(lk_lock_acquire(lock, 0, NULL, &hold), expected);
    if (hold != NULL)
        assert_status(lk_hold_release(hold), LK_OK);
    lk_lock_free(lock);
}

/* Of a prefix that has what a pattern may mean otherwise, too. */
TEST(names_begin_with_the_prefix_and_no_others)
{
    char *rules = rights_printed("lock", "a*[b]?:");
    rights_play p;

    rights_open(&p, redis, rules);
    acquire(&p, "a*[b]?:1", LK_OK);
    acquire(&p, "a*[b]?:{eu}:1", LK_OK);
    acquire(&p, "aaab:1", LK_EDENIED);
    acquire(&p, "aa[b]c:1", LK_EDENIED);
    acquire(&p, "a*b?:1", LK_EDENIED);
    acquire(&p, "{a*[b]?:1}", LK_EDENIED);
    rights_leave(&p);
    rights_close(&p, redis);
    free(rules);
}

/* Not even whether it is held. */
TEST(a_lock_of_others_is_out_of_reach)
{
    char *rules = rights_printed(NULL, "app:");
    lk_lock *lock = NULL, *theirs = NULL;
    lk_hold *hold = NULL;
    lk_info *info = NULL;
    rights_play p;

    rights_open(&p, redis, rules);
    assert_status(lk_lock_new(&theirs, p.all, "billing:1", NULL), LK_OK);
    assert_status(lk_lock_acquire(theirs, 0, NULL, &hold), LK_OK);
    acquire(&p, "billing:1", LK_EDENIED);
    assert_status(lk_lock_new(&lock, p.a, "billing:1", NULL), LK_OK);
    assert_status(lk_lock_force_release(lock), LK_EDENIED);
    assert_status(lk_lock_info(lock, &info), LK_EDENIED);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_lock_free(lock);
    lk_lock_free(theirs);
    rights_leave(&p);
    rights_close(&p, redis);
    free(rules);
}

TEST(a_prefix_may_begin_with_a_tag)
{
    char *rules = rights_printed("lock", "{app");
    rights_play p;

    rights_open(&p, redis, rules);
    acquire(&p, "{app}:1", LK_OK);
    acquire(&p, "{app:1}", LK_OK);
    acquire(&p, "app:1", LK_EDENIED);
    rights_leave(&p);
    rights_close(&p, redis);
    free(rules);
}

TEST(without_a_prefix_all_names_are_meant)
{
    char *rules = rights_printed("lock", "");
    rights_play p;

    assert_non_null(strstr(rules, "resetkeys ~* resetchannels &"));
    rights_open(&p, redis, rules);
    acquire(&p, "app:1", LK_OK);
    acquire(&p, "{x}:1", LK_OK);
    rights_leave(&p);
    rights_close(&p, redis);
    free(rules);
}

/* ---- the pages ----------------------------------------------------------------- */

/* A page from its rights on to their end, as one line. Free it. */
static char *rights_of_page(const char *page)
{
    char path[256];
    char *text = calloc(1, 65536), *begin, *finish;
    FILE *file;

    (void)snprintf(path, sizeof(path), LK_SOURCE_DIR "/docs/%s.md", page);
    file = fopen(path, "r");
    assert_non_null(text);
    assert_non_null(file);
    assert_in_range(fread(text, 1, 65535, file), 1, 65534);
    assert_int_equal(fclose(file), 0);
    begin = strstr(text, "resetkeys ");
    assert_non_null(begin);
    finish = strstr(begin, "\n```");
    assert_non_null(finish);
    *finish = '\0';
    memmove(text, begin, strlen(begin) + 1);
    for (char *at = text; (at = strstr(at, "\n  ")) != NULL;) {
        *at = ' ';
        memmove(at + 1, at + 3, strlen(at + 3) + 1);
    }
    return text;
}

TEST(the_pages_say_the_same)
{
    static const char *const pages[][2] = {
        {"lock", "orders:"},    {"rwlock", "orders:"},
        {"semaphore", "jobs:"}, {"plain_semaphore", "jobs:"},
        {"latch", "release:"},  {"siglock", "jobs:"},
        {"redlock", "jobs:"},
    };

    for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        char *told = rights_of_page(pages[i][0]);
        char *printed = rights_printed(pages[i][0], pages[i][1]);

        assert_string_equal(told, printed);
        free(told);
        free(printed);
    }
}

/* ---- what the doctor says of them --------------------------------------------- */

/* Nothing that may go wrong. meant: by what it is judged; NULL: a lock. */
static void
assert_fit(const char *primitive, const char *prefix, const char *meant)
{
    char *rules = rights_printed(primitive, prefix);
    char command[4096], url[512];
    tool_how limited = {.url = url};
    tool *t;

    (void)snprintf(command, sizeof(command), "ACL SETUSER exact reset on >p %s",
                   rules);
    freeReplyObject(server_command(redis, command));
    (void)snprintf(url, sizeof(url), "%s?user=exact&password=p",
                   server_url(redis));
    t = tool_start(&limited, "doctor", "--quiet", "--watch", "0",
                   meant != NULL ? "--for" : NULL, meant, NULL);
    assert_int_equal(tool_wait(t, LONG_MS), 0);
    if (strstr(tool_out(t), "rights") != NULL)
        fail_msg("%s: %s", primitive != NULL ? primitive : "all", tool_out(t));
    assert_string_equal(tool_err(t), "");
    tool_free(t);
    free(rules);
}

TEST(the_doctor_misses_no_right_that_is_printed_for_all)
{
    assert_fit(NULL, "", NULL);
    assert_fit(NULL, "app:", NULL);
}

/* Of those primitives that stand on a lock's commands. */
TEST(nor_one_that_is_printed_for_a_lock)
{
    static const char *const primitives[] =
        {"lock",  "fairlock", "rwlock", "semaphore", "plain_semaphore",
         "latch", "leader",   "stripes"};

    for (size_t i = 0; i < sizeof(primitives) / sizeof(primitives[0]); i++)
        assert_fit(primitives[i], "app:", NULL);
}

TEST(nor_one_that_is_printed_for_what_is_meant)
{
    static const char *const primitives[] = {"lock",    "rwlock",   "latch",
                                             "siglock", "cell",     "flight",
                                             "redlock", "semaphore"};

    for (size_t i = 0; i < sizeof(primitives) / sizeof(primitives[0]); i++)
        assert_fit(primitives[i], "app:", primitives[i]);
}

/* A user with the rights of another one. */
TEST(what_is_meant_misses_is_told)
{
    char url[512];
    const tool_how limited = {.url = url};

    freeReplyObject(
        server_command(redis,
                       "ACL SETUSER exact reset on >p ~* &* +@all -set -zadd"));
    (void)snprintf(url, sizeof(url), "%s?user=exact&password=p",
                   server_url(redis));
    assert_tool(&limited, 0, "warn    rights       +set is denied", "",
                "doctor", "--watch=0", "--for", "cell", NULL);
    assert_tool(&limited, 69, "FAIL    rights       +zadd is denied", "",
                "doctor", "--watch=0", "--for", "siglock", NULL);
    assert_tool(NULL, 64, "", "is no primitive", "doctor", "--for", "mutex",
                NULL);
}

/* ---- the output ------------------------------------------------------------------ */

TEST(a_program_reads_the_same)
{
    assert_tool(NULL, 0, "{\"commands\":[", "", "doctor", "--acl", "--for",
                "redlock", "--prefix", "app:", "--json", NULL);
    assert_tool(NULL, 0,
                "\"keys\":[\"app:*\",\"latchkey:client::*\"],\"channels\":[],"
                "\"helpful\":[{\"command\":\"client|setname\",\"without\":",
                "", "doctor", "--acl", "--for", "redlock", "--prefix",
                "app:", "--json", NULL);
}

TEST(what_helps_is_said_beside_it)
{
    assert_tool(NULL, 0, "resetkeys ~app:* ~latchkey:client::* resetchannels ",
                "not needed: +client|kill; without it ", "doctor", "--acl",
                "--for", "redlock", "--prefix", "app:", NULL);
    assert_tool(NULL, 0, NULL, "by `ls`, needs +scan +hscan besides", "doctor",
                "--acl", NULL);
    assert_tool(NULL, 0, NULL, "needs +scan +hscan +cluster|nodes besides",
                "--url", "redis+cluster://127.0.0.1", "doctor", "--acl", NULL);
}

TEST(what_would_be_another_rule_is_refused)
{
    static const char *const prefixes[] = {"a b", "a\n",   "\"",   "latchkey:x",
                                           "l",   "redis", "lock:"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        assert_tool(NULL, 64, "", NULL, "doctor", "--acl", "--prefix",
                    prefixes[i], NULL);
    assert_tool(NULL, 64, "", "is no primitive", "doctor", "--acl", "--for",
                "mutex", NULL);
    assert_tool(NULL, 64, "", "--prefix and --tenant are for --acl", "doctor",
                "--prefix", "a", NULL);
}

CHECK_GROUP(tooling_start, tooling_stop)
