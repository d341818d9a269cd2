/* SPDX-License-Identifier: MIT */

/* Errors of a cluster's nodes, as the servers in use say them, and as none may. */

#include <string.h>

#include "server/redirect.h"
#include "support/check.h"

static lk__redirect read_bytes(const char *bytes, size_t size, unsigned slot)
{
    static char words[600];
    redisReply reply = {.type = REDIS_REPLY_ERROR, .len = size, .str = words};
    lk__redirect redirect;

    assert_true(size < sizeof(words));
    memcpy(words, bytes, size);
    words[size] = '\0';
    lk__redirect_read(&redirect, &reply, slot, "asked");
    return redirect;
}

static lk__redirect read_text(const char *text)
{
    return read_bytes(text, strlen(text), LK__SLOTS);
}

static lk__redirect_kind kind_of(const char *text)
{
    return read_text(text).kind;
}

static void assert_to(const char *text, const char *host, unsigned port)
{
    lk__redirect redirect = read_text(text);

    assert_int_equal(redirect.kind, LK__REDIRECT_MOVED);
    assert_int_equal(redirect.slot, 449);
    assert_string_equal(redirect.to.host, host);
    assert_int_equal(redirect.to.port, port);
}

CHECK_TEST(a_slot_is_elsewhere)
{
    assert_to("MOVED 449 10.0.0.1:7000", "10.0.0.1", 7000);
    assert_to("MOVED 449 r-1.cache.example:65535", "r-1.cache.example", 65535);
    assert_to("MOVED 449 2001:db8::7:7000", "2001:db8::7", 7000);
    assert_to("MOVED 449 ::1:7000", "::1", 7000);
}

CHECK_TEST(without_a_host_it_is_the_one_that_was_asked)
{
    assert_to("MOVED 449 :21003", "asked", 21003);
    assert_to("MOVED 449 ?:21003", "asked", 21003);
}

CHECK_TEST(one_request_goes_elsewhere)
{
    lk__redirect redirect = read_text("ASK 0 10.0.0.1:7000");

    assert_int_equal(redirect.kind, LK__REDIRECT_ASK);
    assert_int_equal(redirect.slot, 0);
    assert_string_equal(redirect.to.host, "10.0.0.1");
    assert_int_equal(redirect.to.port, 7000);
}

CHECK_TEST(the_slot_is_the_requests_own)
{
    static const char text[] = "ASK 449 10.0.0.1:7000";

    assert_int_equal(read_bytes(text, strlen(text), 449).kind,
                     LK__REDIRECT_ASK);
    assert_int_equal(read_bytes(text, strlen(text), 450).kind,
                     LK__REDIRECT_BAD);
}

CHECK_TEST(to_nowhere_is_refused)
{
    static const char *const texts[] = {
        "MOVED",
        "ASK ",
        "MOVED 449",
        "MOVED 449 ",
        "MOVED 449:7000",
        "MOVED a:7000",
        "MOVED  449 a:7000",
        "MOVED 0449 a:7000",
        "-MOVED 449 a:7000",
        "@user_script: 1: -MOVED 449 a:7000",
        "MOVED 449  a:7000",
        "MOVED 449 a",
        "MOVED 449 a:",
        "MOVED 449 a:0",
        "MOVED 449 a:07000",
        "MOVED 449 a:65536",
        "MOVED 449 a:18446744073709558616",
        "MOVED 449 a:7000 ",
        "MOVED 449 a:7000 b:7001",
        "MOVED 449 a b:7000",
        "MOVED 449 .example:7000",
        "MOVED 449 %eth0:7000",
        "MOVED 449 \xc3\xa4:7000",
        "MOVED x a:7000",
        "MOVED -1 a:7000",
        "MOVED +1 a:7000",
        "MOVED 16384 a:7000",
        "MOVED 18446744073709551617 a:7000",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (kind_of(texts[i]) != LK__REDIRECT_BAD)
            fail_msg("it was taken: %s", texts[i]);
    }
}

CHECK_TEST(an_address_ends_with_the_answer)
{
    static const char bytes[] = "MOVED 449 a:7000\0b:7001";

    assert_int_equal(read_bytes(bytes, sizeof(bytes) - 1, LK__SLOTS).kind,
                     LK__REDIRECT_BAD);
}

CHECK_TEST(a_host_is_not_too_long)
{
    char text[400] = "MOVED 1 ";

    memset(text + strlen(text), 'h', 255);
    memcpy(text + 8 + 255, ":7000", 6);
    assert_int_equal(kind_of(text), LK__REDIRECT_MOVED);
    memcpy(text + 8 + 255, "h:7000", 7);
    assert_int_equal(kind_of(text), LK__REDIRECT_BAD);
}

CHECK_TEST(nobody_serves_it_now)
{
    assert_int_equal(kind_of("TRYAGAIN Multiple keys request during rehashing "
                             "of slot"),
                     LK__REDIRECT_TRYAGAIN);
    assert_int_equal(kind_of("CLUSTERDOWN Hash slot not served"),
                     LK__REDIRECT_DOWN);
    assert_int_equal(kind_of("CLUSTERDOWN The cluster is down"),
                     LK__REDIRECT_DOWN);
    assert_int_equal(kind_of("MASTERDOWN Link with MASTER is down and "
                             "replica-serve-stale-data is set to 'no'."),
                     LK__REDIRECT_MASTERDOWN);
    assert_int_equal(kind_of("CROSSSLOT Keys in request don't hash to the same "
                             "slot"),
                     LK__REDIRECT_CROSSSLOT);
}

CHECK_TEST(a_script_met_a_key_of_another_node)
{
    /* Redis 6.2, in a script that called and in one that answered the error */
    assert_int_equal(
        kind_of("ERR Error running script (call to f_0a): @user_script:1: "
                "@user_script: 1: Lua script attempted to access a non local "
                "key in a cluster node"),
        LK__REDIRECT_FOREIGN);
    assert_int_equal(kind_of("@user_script: 1: Lua script attempted to access "
                             "a non local key in a cluster node"),
                     LK__REDIRECT_FOREIGN);
    /* Redis 7.0 */
    assert_int_equal(kind_of("ERR Script attempted to access a non local key "
                             "in a cluster node script: 0a, on "
                             "@user_script:1."),
                     LK__REDIRECT_FOREIGN);
    /* Valkey 9.1 */
    assert_int_equal(kind_of("ERR Attempted to access a non local key in a "
                             "cluster node script: on @user_script:1."),
                     LK__REDIRECT_FOREIGN);
}

CHECK_TEST(other_answers_redirect_nobody)
{
    static char words[] = "MOVED 449 10.0.0.1:7000";
    redisReply reply = {.type = REDIS_REPLY_STRING,
                        .len = strlen(words),
                        .str = words};
    lk__redirect redirect;

    lk__redirect_read(&redirect, &reply, LK__SLOTS, "asked");
    assert_int_equal(redirect.kind, LK__REDIRECT_NONE);
    assert_int_equal(kind_of(""), LK__REDIRECT_NONE);
    assert_int_equal(kind_of("MOVEDX 449 a:7000"), LK__REDIRECT_NONE);
    assert_int_equal(kind_of("ERR MOVED 449 a:7000"), LK__REDIRECT_NONE);
    assert_int_equal(kind_of("ASKING"), LK__REDIRECT_NONE);
    assert_int_equal(kind_of("ERR unknown command 'x', with args beginning "
                             "with: 'Script attempted to access a non local "
                             "key'"),
                     LK__REDIRECT_NONE);
}
