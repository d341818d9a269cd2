/* SPDX-License-Identifier: MIT */

/* The words of errors, as the servers in use say them. */

#include <stdio.h>
#include <string.h>

#include "server/reply.h"
#include "support/check.h"

static redisReply error(const char *text)
{
    static char words[256];
    redisReply reply = {.type = REDIS_REPLY_ERROR,
                        .len = strlen(text),
                        .str = words};

    assert_true(strlen(text) < sizeof(words));
    memcpy(words, text, strlen(text) + 1);
    return reply;
}

static lk_status status_of(const char *words)
{
    redisReply reply = error(words);

    return lk__reply_status(&reply);
}

static bool is_passing(const char *words)
{
    redisReply reply = error(words);

    return lk__reply_is_passing(&reply);
}

CHECK_TEST(redis_7_says_the_word_first)
{
    assert_status(status_of("OOM command not allowed when used memory > "
                            "'maxmemory'. script: 0a, on @user_script:12."),
                  LK_ESERVERMEM);
    assert_status(status_of("READONLY You can't write against a read only "
                            "replica."),
                  LK_EREADONLY);
    assert_status(status_of("WRONGTYPE"), LK_ETYPE);
}

CHECK_TEST(redis_6_says_first_where_a_script_was)
{
    assert_status(status_of("@user_script: 12: -READONLY You can't write "
                            "against a read only replica."),
                  LK_EREADONLY);
    assert_status(status_of("@user_script: 7: -OOM command not allowed when "
                            "used memory > 'maxmemory'."),
                  LK_ESERVERMEM);
}

CHECK_TEST(redis_6_says_first_which_script_failed)
{
    assert_status(status_of("ERR Error running script (call to f_0a): "
                            "@user_script:12: WRONGTYPE Operation against a "
                            "key holding the wrong kind of value "),
                  LK_ETYPE);
    assert_status(status_of("ERR Error running script (call to f_0a): "
                            "@user_script:12: @user_script: 12: -READONLY "
                            "You can't write against a read only replica. "),
                  LK_EREADONLY);
    assert_status(status_of("ERR Error running script (call to f_0a): "
                            "@user_script:3: user_script:3: attempt to index "
                            "a nil value"),
                  LK_ESERVER);
}

CHECK_TEST(each_server_denies_in_its_own_words)
{
    assert_status(status_of("NOPERM this user has no permissions to run the "
                            "'eval' command or its subcommand"),
                  LK_EDENIED);
    assert_status(status_of("@user_script: 12: The user executing the script "
                            "can't run this command or subcommand"),
                  LK_EDENIED);
    assert_status(status_of("ERR The user executing the script can't access "
                            "at least one of the keys mentioned in the "
                            "command arguments script: 0a"),
                  LK_EDENIED);
    assert_status(status_of("ERR ACL failure in script: User lk has no "
                            "permissions to run the 'pexpire' command "
                            "script: 0a, on @user_script:12."),
                  LK_EDENIED);
}

CHECK_TEST(a_word_elsewhere_means_nothing)
{
    assert_status(status_of("ERR unknown command -OOM"), LK_ESERVER);
    assert_status(status_of("@user_script: 1: ERR no -READONLY here"),
                  LK_ESERVER);
    assert_status(status_of("@user_script"), LK_ESERVER);
    assert_status(status_of("ERR Error running script (call to f_0a) OOM"),
                  LK_ESERVER);
    assert_status(status_of("OOMPH"), LK_ESERVER);
}

/* Of a script of ours, which begins with a word for the client alone. */
CHECK_TEST(a_user_is_told_no_code)
{
    static const char called[] =
        "ERR Error running script (call to f_0a): "
        "@user_script:12: LKTYPE the key is not a lock";
    const char *const errors[] = {
        "LKTYPE the key is not a lock",
        "@user_script: 12: -LKTYPE the key is not a lock",
        called,
    };

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        redisReply reply = error(errors[i]);

        assert_status(lk__reply_status(&reply), LK_ETYPE);
        assert_string_equal(lk__reply_words(&reply), "the key is not a lock");
    }
}

CHECK_TEST(some_refusals_pass)
{
    assert_true(is_passing("BUSY Redis is busy running a script."));
    assert_true(is_passing("MISCONF Redis is configured to save RDB"));
    assert_true(is_passing("@user_script: 12: -MISCONF Redis is configured"));
    assert_true(is_passing("NOREPLICAS Not enough good replicas to write."));
    assert_true(is_passing("TRYAGAIN Multiple keys request during rehashing"));
    assert_true(is_passing("CLUSTERDOWN The cluster is down"));
    assert_false(is_passing("OOM command not allowed"));
    assert_false(is_passing("BUSYKEY Target key name already exists."));
    assert_false(is_passing("NOSCRIPT No matching script."));
    assert_false(lk__reply_is_passing(NULL));
}

/* ---- numbers ------------------------------------------------------------- */

static redisReply text(char *words)
{
    redisReply reply = {.type = REDIS_REPLY_STRING,
                        .len = strlen(words),
                        .str = words};

    return reply;
}

static bool is_number(const char *words)
{
    char copy[32];
    redisReply reply;
    redisReply *elements[] = {&reply};
    redisReply list = {.type = REDIS_REPLY_ARRAY,
                       .elements = 1,
                       .element = elements};

    (void)snprintf(copy, sizeof(copy), "%s", words);
    reply = text(copy);
    return lk__reply_integer_at(&list, 0, 1) ==
           lk__reply_integer_at(&list, 0, 2);
}

CHECK_TEST(decimal_text_is_a_number_and_no_other)
{
    static const char *const others[] = {"",
                                         "-",
                                         "+1",
                                         " 1",
                                         "1 ",
                                         "1.0",
                                         "1e3",
                                         "inf",
                                         "nan",
                                         "0x1",
                                         "9223372036854775808"};

    assert_true(is_number("0"));
    assert_true(is_number("-17"));
    assert_true(is_number("9223372036854775807"));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(is_number(others[i]));
}

CHECK_TEST(what_is_no_number_is_missing)
{
    char number[] = "12", other[] = "12x";
    redisReply good = text(number), bad = text(other);
    redisReply *elements[] = {&good, &bad};
    redisReply list = {.type = REDIS_REPLY_ARRAY,
                       .elements = 2,
                       .element = elements};

    assert_int_equal(lk__reply_integer_at(&list, 0, -1), 12);
    assert_int_equal(lk__reply_integer_at(&list, 1, -1), -1);
    assert_int_equal(lk__reply_integer_at(&list, 2, -1), -1);
}

/* ---- texts --------------------------------------------------------------- */

/* What stands behind a NUL is not overlooked: there is no such text. */
CHECK_TEST(a_text_with_a_nul_in_it_is_none)
{
    char whole[] = "role:master", cut[] = "role:master\0role:slave";
    redisReply good = text(whole), bad = text(cut);
    redisReply *elements[] = {&good, &bad};
    redisReply list = {.type = REDIS_REPLY_ARRAY,
                       .elements = 2,
                       .element = elements};

    bad.len = sizeof(cut) - 1;
    assert_true(lk__reply_is_lines(&good));
    assert_true(lk__reply_is_text(&good, "role:master"));
    assert_string_equal(lk__reply_text_at(&list, 0), "role:master");
    assert_false(lk__reply_is_lines(&bad));
    assert_false(lk__reply_is_text(&bad, "role:master"));
    assert_string_equal(lk__reply_text_at(&list, 1), "");
}

CHECK_TEST(lines_are_a_string)
{
    char words[] = "OK";
    redisReply reply = text(words);

    reply.type = REDIS_REPLY_STATUS;
    assert_false(lk__reply_is_lines(&reply));
    assert_false(lk__reply_is_lines(&(redisReply){.type = REDIS_REPLY_NIL}));
    assert_false(lk__reply_is_lines(NULL));
}
