/* SPDX-License-Identifier: MIT */

/* What is said about servers of every sort. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "inspect/facts.h"
#include "inspect/report.h"
#include "support/check.h"

static const char good[] =
    "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\n"
    "connected_clients:3\r\nmaxclients:10000\r\nused_memory:1000000\r\n"
    "maxmemory:0\r\nmaxmemory_policy:noeviction\r\nloading:0\r\n"
    "rdb_last_bgsave_status:ok\r\naof_enabled:1\r\n"
    "aof_last_write_status:ok\r\nrole:master\r\nconnected_slaves:0\r\n";

typedef struct bench {
    lk__facts facts;
    lk_health *health;
} bench;

static int setup(void **state)
{
    bench *b = calloc(1, sizeof(*b));

    if (b == NULL)
        return -1;
    b->facts.info = lk__strdup(good);
    b->facts.fsync = lk__strdup("always");
    b->facts.has_clock = true;
    b->facts.rtts_us[0] = 300;
    b->facts.rtts_us[1] = 100;
    b->facts.rtts_us[2] = 200;
    b->facts.rtt_count = 3;
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    bench *b = *state;

    lk_health_free(b->health);
    lk__facts_done(&b->facts);
    free(b);
    return 0;
}

/* Changes a line of INFO; the new one may be longer. */
static void set(bench *b, const char *line, const char *to)
{
    const char *at = strstr(b->facts.info, line);
    size_t size = strlen(b->facts.info) + strlen(to) + 1;
    char *made = lk__alloc(size);

    assert_non_null(at);
    assert_non_null(made);
    snprintf(made, size, "%.*s%s%s", (int)(at - b->facts.info), b->facts.info,
             to, at + strlen(line));
    lk__free(b->facts.info);
    b->facts.info = made;
}

/* The worst that is said under an id; -1: nothing. */
static int level(bench *b, const char *id)
{
    int worst = -1;

    lk_health_free(b->health);
    b->health = lk__health_judge(&b->facts);
    assert_non_null(b->health);
    for (size_t i = 0; i < b->health->count; i++) {
        const lk_check *check = b->health->checks[i];

        assert_true(check->text[0] != '\0');
        if (check->level != LK_CHECK_OK && check->advice[0] == '\0')
            fail_msg("%s does not say what to do", check->id);
        if (strcmp(check->id, id) == 0 && (int)check->level > worst)
            worst = (int)check->level;
    }
    return worst;
}

#define TEST(name) CHECK_TEST_OF(name, bench *b, setup, teardown)

TEST(a_good_server_is_good_in_every_line)
{
    static const char *const ids[] = {"version",     "eviction",    "memory",
                                      "persistence", "replication", "clients",
                                      "latency",     "clock",       "rights"};

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        assert_int_equal(level(b, ids[i]), LK_CHECK_OK);
    assert_int_equal(b->health->count, sizeof(ids) / sizeof(ids[0]));
    assert_string_equal(b->health->version, "7.0.15");
    assert_int_equal(b->health->samples, 3);
    assert_int_equal(b->health->rtt_min_us, 100);
    assert_int_equal(b->health->rtt_median_us, 200);
    assert_int_equal(b->health->rtt_max_us, 300);
}

TEST(an_old_server_or_a_cluster_will_not_do)
{
    set(b, "7.0.15", "5.0.14");
    assert_int_equal(level(b, "version"), LK_CHECK_FAIL);
    set(b, "standalone", "cluster");
    assert_int_equal(level(b, "mode"), LK_CHECK_FAIL);
    set(b, "# Server\r\n", "# Server\r\nvalkey_version:8.0.1\r\n");
    assert_int_equal(level(b, "version"), LK_CHECK_OK);
    assert_string_equal(b->health->version, "8.0.1");
}

TEST(a_server_that_evicts_is_found_out)
{
    set(b, "noeviction", "volatile-lru");
    assert_int_equal(level(b, "eviction"), LK_CHECK_WARN);
    set(b, "maxmemory:0", "maxmemory:100000000");
    assert_int_equal(level(b, "eviction"), LK_CHECK_FAIL);
    assert_int_equal(level(b, "memory"), LK_CHECK_OK);
    set(b, "used_memory:1000000", "used_memory:99000000");
    assert_int_equal(level(b, "memory"), LK_CHECK_WARN);
}

TEST(a_server_that_forgets_is_found_out)
{
    lk__free(b->facts.fsync);
    b->facts.fsync = lk__strdup("everysec");
    assert_int_equal(level(b, "persistence"), LK_CHECK_NOTE);
    set(b, "aof_last_write_status:ok", "aof_last_write_status:err");
    assert_int_equal(level(b, "persistence"), LK_CHECK_FAIL);
    set(b, "aof_enabled:1", "aof_enabled:0");
    assert_int_equal(level(b, "persistence"), LK_CHECK_WARN);
}

TEST(a_replica_and_replicas_are_told_apart)
{
    set(b, "connected_slaves:0", "connected_slaves:2");
    assert_int_equal(level(b, "replication"), LK_CHECK_NOTE);
    set(b, "role:master", "role:slave");
    assert_int_equal(level(b, "replication"), LK_CHECK_FAIL);
}

TEST(a_server_full_of_clients_is_found_out)
{
    set(b, "connected_clients:3", "connected_clients:9500");
    assert_int_equal(level(b, "clients"), LK_CHECK_WARN);
}

TEST(slow_answers_are_found_out)
{
    b->facts.rtts_us[0] = 900000;
    assert_int_equal(level(b, "latency"), LK_CHECK_WARN);
    b->facts.rtts_us[0] = b->facts.rtts_us[1] = b->facts.rtts_us[2] = 20000;
    assert_int_equal(level(b, "latency"), LK_CHECK_WARN);
}

TEST(a_clock_that_steps_is_found_out)
{
    b->facts.ahead_us = -5000000;
    assert_int_equal(level(b, "clock"), LK_CHECK_NOTE);
    b->facts.gained_us = 3000000;
    assert_int_equal(level(b, "clock"), LK_CHECK_FAIL);
    b->facts.gained_us = -3000000;
    assert_int_equal(level(b, "clock"), LK_CHECK_FAIL);
    b->facts.has_clock = false;
    assert_int_equal(level(b, "clock"), LK_CHECK_UNKNOWN);
}

TEST(a_certificate_that_ends_soon_is_found_out)
{
    assert_int_equal(level(b, "tls"), -1);
    b->facts.has_tls = true;
    b->facts.now = 1800000000;
    assert_int_equal(level(b, "tls"), LK_CHECK_UNKNOWN);
    b->facts.tls.ends_at = b->facts.now + INT64_C(14) * 86400;
    assert_int_equal(level(b, "tls"), LK_CHECK_OK);
    b->facts.tls.ends_at -= 1;
    assert_int_equal(level(b, "tls"), LK_CHECK_WARN);
}

/* What is said first under an id; "" if nothing is. */
static const char *text(bench *b, const char *id)
{
    (void)level(b, id);
    for (size_t i = 0; i < b->health->count; i++) {
        if (strcmp(b->health->checks[i]->id, id) == 0)
            return b->health->checks[i]->text;
    }
    return "";
}

TEST(numbers_read_as_people_write_them)
{
    b->facts.ahead_us = -100;
    assert_string_equal(text(b, "clock"),
                        "the server's clock is 0.000 s behind this host's");
    b->facts.ahead_us = 1500000;
    assert_string_equal(text(b, "clock"),
                        "the server's clock is 1.500 s ahead of this host's");
    assert_string_equal(text(b, "clients"), "3 connections");
    set(b, "connected_clients:3", "connected_clients:1");
    assert_string_equal(text(b, "clients"), "1 connection");
}

TEST(what_is_denied_is_named_with_what_it_costs)
{
    b->facts.denials[0] =
        (lk__denial){LK_CHECK_WARN, "+publish", "nobody is told",
                     lk__strdup("NOPERM no publish")};
    b->facts.denial_count = 1;
    assert_int_equal(level(b, "rights"), LK_CHECK_WARN);
    for (size_t i = 0; i < b->health->count; i++) {
        const lk_check *check = b->health->checks[i];

        if (strcmp(check->id, "rights") != 0)
            continue;
        assert_non_null(strstr(check->text, "NOPERM no publish"));
        assert_non_null(strstr(check->advice, "+publish"));
        assert_non_null(strstr(check->advice, "nobody is told"));
    }
}

/* Each of which has a line, as far as there is room. */
TEST(nodes_that_have_failed_do_not_hide_it)
{
    static const char line[] = "id 10.0.0.1:7000@17000 slave,fail - 0 0 1 "
                               "disconnected\n";
    enum { NODES = 100 };
    char *text = lk__alloc(NODES * sizeof(line));

    assert_non_null(text);
    for (size_t i = 0; i < NODES; i++)
        memcpy(text + i * strlen(line), line, sizeof(line));
    b->facts.in_cluster = true;
    b->facts.nodes = text;
    b->facts.denials[0] = (lk__denial){LK_CHECK_WARN, "+publish", "it is lost",
                                       lk__strdup("NOPERM no publish")};
    b->facts.denial_count = 1;
    assert_int_equal(level(b, "bus"), LK_CHECK_WARN);
    assert_int_equal(level(b, "rights"), LK_CHECK_WARN);
}

static void need(bench *b, const char *needed)
{
    lk__free(b->facts.needed);
    b->facts.needed = lk__strdup(needed);
}

TEST(what_min_replicas_to_write_would_do_is_said)
{
    need(b, "0");
    assert_int_equal(level(b, "min-replicas"), -1);
    b->facts.has_group = true;
    assert_int_equal(level(b, "min-replicas"), LK_CHECK_NOTE);
    assert_non_null(strstr(text(b, "min-replicas"), "takes writes"));
    need(b, "1");
    set(b, "connected_slaves:0",
        "connected_slaves:2\r\nmin_slaves_good_slaves:1");
    assert_int_equal(level(b, "min-replicas"), LK_CHECK_OK);
    assert_non_null(strstr(text(b, "min-replicas"), "refuses writes"));
    need(b, "2");
    assert_int_equal(level(b, "min-replicas"), LK_CHECK_FAIL);
    assert_non_null(
        strstr(text(b, "min-replicas"), "2 replicas have to follow, 1 do"));
    b->facts.has_group = false;
    assert_int_equal(level(b, "min-replicas"), LK_CHECK_FAIL);
}

/* Three in the URL, which all name the master. */
static void put_group(bench *b, uint64_t first, uint64_t second)
{
    lk__group_facts *group = &b->facts.group;

    *group = (lk__group_facts){.total = 3,
                               .heard = 3,
                               .named = 3,
                               .listed = 3,
                               .master = "m:6379",
                               .views = {{"s1:26379", true, first},
                                         {"s2:26379", true, second},
                                         {"s3:26379", false, 0}}};
    b->facts.has_group = true;
}

/* Of the last line under that id. */
static const lk_check *last_of(bench *b, const char *id)
{
    const lk_check *last = NULL;

    for (size_t i = 0; i < b->health->count; i++) {
        if (strcmp(b->health->checks[i]->id, id) == 0)
            last = b->health->checks[i];
    }
    assert_non_null(last);
    return last;
}

TEST(a_sentinel_that_does_not_know_the_others_is_named)
{
    put_group(b, 2, 2);
    assert_int_equal(level(b, "sentinel"), LK_CHECK_OK);
    put_group(b, 2, 0);
    assert_int_equal(level(b, "sentinel"), LK_CHECK_WARN);
    assert_string_equal(last_of(b, "sentinel")->text,
                        "the sentinel s2:26379 knows 0 others, and the URL "
                        "names 2 beside it");
    assert_non_null(strstr(last_of(b, "sentinel")->advice,
                           "SENTINEL SENTINELS <master> there"));
    put_group(b, 2, 1);
    assert_int_equal(level(b, "sentinel"), LK_CHECK_WARN);
    assert_string_equal(last_of(b, "sentinel")->text,
                        "the sentinel s2:26379 knows 1 other, and the URL "
                        "names 2 beside it");
    put_group(b, 3, 2);
    assert_int_equal(level(b, "sentinel"), LK_CHECK_WARN);
    assert_string_equal(last_of(b, "sentinel")->text,
                        "the sentinel s1:26379 knows 3 others, and the URL "
                        "names 2 beside it");
    assert_non_null(strstr(last_of(b, "sentinel")->advice,
                           "SENTINEL RESET <master> there"));
    assert_true(strlen(last_of(b, "sentinel")->advice) < LK__REPORT_TEXT - 1);
}

TEST(a_server_that_tells_nothing_is_not_called_good)
{
    lk__free(b->facts.info);
    b->facts.info = NULL;
    assert_int_equal(level(b, "version"), LK_CHECK_UNKNOWN);
    assert_int_equal(level(b, "eviction"), LK_CHECK_UNKNOWN);
    assert_int_equal(level(b, "persistence"), LK_CHECK_UNKNOWN);
    assert_int_equal(level(b, "replication"), LK_CHECK_UNKNOWN);
    assert_int_equal(level(b, "clients"), -1);
}
