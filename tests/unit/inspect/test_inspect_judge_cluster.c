/* SPDX-License-Identifier: MIT */

/* What is said about the masters of a cluster, together. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "inspect/facts.h"
#include "support/check.h"

enum { MASTERS = 5 };

#define SERVER                                                                 \
    "redis_version:7.0.15\r\nredis_mode:cluster\r\nconnected_clients:3\r\n"    \
    "maxclients:10000\r\nused_memory:1000000\r\nmaxmemory:0\r\n"               \
    "maxmemory_policy:noeviction\r\naof_enabled:1\r\nrole:master\r\n"

static const char server[] = SERVER "connected_slaves:1\r\n";
static const char alone[] = SERVER "connected_slaves:0\r\n";

static const char whole[] =
    "cluster_state:ok\r\ncluster_slots_assigned:16384\r\n"
    "cluster_slots_ok:16384\r\ncluster_slots_pfail:0\r\n"
    "cluster_slots_fail:0\r\n";

static const char nodes[] =
    "a 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-8000\n"
    "b 127.0.0.1:7001@17001,host master - 0 1700000000000 2 connected 8001-9\n";

typedef struct bench {
    lk__facts facts[MASTERS];
    lk__facts *all[MASTERS];
    lk_health *health;
} bench;

static void set(char **text, const char *to)
{
    lk__free(*text);
    *text = to != NULL ? lk__strdup(to) : NULL;
}

static int setup(void **state)
{
    bench *b = calloc(1, sizeof(*b));

    if (b == NULL)
        return -1;
    for (size_t i = 0; i < MASTERS; i++) {
        lk__facts *facts = &b->facts[i];

        b->all[i] = facts;
        facts->in_cluster = true;
        facts->offline_ms = 20000;
        facts->has_clock = true;
        facts->rtts_us[0] = 100 * (i + 1);
        facts->rtt_count = 1;
        facts->nodes_ms = 1700000000000;
        (void)snprintf(facts->address, sizeof(facts->address),
                       "10.0.0.%zu:7000", i);
        set(&facts->info, server);
        set(&facts->fsync, "always");
        set(&facts->needed, "1");
        set(&facts->cluster, whole);
        set(&facts->nodes, nodes);
        set(&facts->coverage, "no");
        set(&facts->migration, "yes");
        set(&facts->timeout, "15000");
    }
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    bench *b = *state;

    lk_health_free(b->health);
    for (size_t i = 0; i < MASTERS; i++)
        lk__facts_done(&b->facts[i]);
    free(b);
    return 0;
}

/* The one line of this level under an id, with these words in it; the only one
   that is as bad. */
static const lk_check *
judge(bench *b, const char *id, lk_check_level level, const char *words)
{
    const lk_check *found = NULL;

    lk_health_free(b->health);
    b->health = lk__health_judge_cluster(b->all, MASTERS, "");
    assert_non_null(b->health);
    for (size_t i = 0; i < b->health->count; i++) {
        const lk_check *check = b->health->checks[i];

        if (check->level != LK_CHECK_OK && check->advice[0] == '\0')
            fail_msg("%s does not say what to do", check->id);
        if (strcmp(check->id, id) != 0 || check->level != level)
            continue;
        if (strstr(check->text, words) == NULL || found != NULL)
            fail_msg("%s: %s", id, check->text);
        found = check;
    }
    if (found == NULL)
        fail_msg("nothing of %s that is so bad", id);
    return found;
}

#define TEST(name) CHECK_TEST_OF(name, bench *b, setup, teardown)

TEST(a_cluster_that_is_well_has_one_line_for_each_check)
{
    judge(b, "slots", LK_CHECK_OK, "each master: 16384 slots are served");
    for (size_t i = 0; i < b->health->count; i++) {
        const lk_check *check = b->health->checks[i];

        if (strcmp(check->id, "replication") == 0)
            assert_int_equal(check->level, LK_CHECK_NOTE);
        else
            assert_int_equal(check->level, LK_CHECK_OK);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(b->health->checks[k]->id, check->id);
    }
    judge(b, "masters", LK_CHECK_OK, "5 masters, and all answer");
    judge(b, "latency", LK_CHECK_OK,
          "5 of 5 masters are well; 10.0.0.0:7000: ");
    assert_int_equal(b->health->rtt_median_us, 500);
    assert_string_equal(b->health->version, "7.0.15");
}

TEST(what_is_so_of_some_names_them)
{
    set(&b->facts[2].coverage, "yes");
    judge(b, "coverage", LK_CHECK_NOTE, "10.0.0.2:7000: one slot");
    set(&b->facts[3].coverage, "yes");
    judge(b, "coverage", LK_CHECK_NOTE, "10.0.0.2:7000, 10.0.0.3:7000: one");
    set(&b->facts[0].coverage, "yes");
    set(&b->facts[1].coverage, "yes");
    judge(b, "coverage", LK_CHECK_NOTE,
          "10.0.0.0:7000, 10.0.0.1:7000, 10.0.0.2:7000 and 1 more: one");
    set(&b->facts[4].coverage, "yes");
    judge(b, "coverage", LK_CHECK_NOTE, "each master: one");
}

TEST(slots_without_a_master_fail)
{
    set(&b->facts[1].cluster, "cluster_state:fail\r\n"
                              "cluster_slots_assigned:16000\r\n");
    judge(b, "slots", LK_CHECK_FAIL, "384 slots have no master");
    set(&b->facts[1].cluster, "cluster_state:fail\r\n"
                              "cluster_slots_assigned:16384\r\n"
                              "cluster_slots_fail:5461\r\n");
    judge(b, "slots", LK_CHECK_FAIL, "the masters of 5461 slots have failed");
    set(&b->facts[1].cluster, "cluster_state:ok\r\n"
                              "cluster_slots_assigned:16384\r\n"
                              "cluster_slots_pfail:5461\r\n");
    judge(b, "slots", LK_CHECK_WARN, "do not answer");
    set(&b->facts[1].cluster, NULL);
    judge(b, "slots", LK_CHECK_UNKNOWN, "is not told");
}

TEST(nodes_that_do_not_hear_each_other_are_named)
{
    set(&b->facts[0].nodes,
        "b 127.0.0.1:7001@17001 master,fail - 0 0 2 connected 1-2\n");
    judge(b, "bus", LK_CHECK_WARN, "the node 127.0.0.1:7001 has failed");
    set(&b->facts[0].nodes,
        "b 127.0.0.1:7001@17001 slave,fail? a 0 0 2 connected\n");
    judge(b, "bus", LK_CHECK_WARN, "127.0.0.1:7001 does not answer");
    set(&b->facts[0].nodes,
        "b 127.0.0.1:7001@17001 master - 0 0 2 disconnected\n");
    judge(b, "bus", LK_CHECK_WARN, "127.0.0.1:7001 does not answer");
    set(&b->facts[0].nodes,
        "b 127.0.0.1:7001@17001 master - 1699999998000 0 2 connected\n");
    judge(b, "bus", LK_CHECK_WARN, "127.0.0.1:7001 has left a ping");
    b->facts[0].ahead_us = -1500000; /* its clock says that it was just sent */
    judge(b, "bus", LK_CHECK_OK, "each master: all nodes answer");
    b->facts[0].ahead_us = 0;
    b->facts[4].bus_waiting = 3 << 20;
    set(&b->facts[0].nodes, nodes);
    judge(b, "bus", LK_CHECK_WARN, "10.0.0.4:7000: 3 MB wait");
}

TEST(settings_that_cost_names_are_told)
{
    set(&b->facts[0].migration, "no");
    judge(b, "migration", LK_CHECK_NOTE, "10.0.0.0:7000: ");
    for (size_t i = 0; i < MASTERS; i++)
        b->facts[i].offline_ms = 5000;
    judge(b, "offline", LK_CHECK_NOTE, "each master: a master that fails");
    set(&b->facts[3].info, alone);
    judge(b, "replication", LK_CHECK_WARN, "10.0.0.3:7000: a master without");
    set(&b->facts[3].needed, "0");
    judge(b, "min-replicas", LK_CHECK_NOTE,
          "10.0.0.3:7000: a master that is cut");
    b->facts[3].is_fast = true;
    judge(b, "failover", LK_CHECK_NOTE, "two may hold");
}

TEST(what_differs_is_told)
{
    set(&b->facts[4].info, "redis_version:6.2.14\r\nrole:master\r\n");
    judge(b, "versions", LK_CHECK_NOTE,
          "10.0.0.0:7000 has version 7.0.15, and 10.0.0.4:7000 has 6.2.14");
    b->facts[1].ahead_us = -40000;
    judge(b, "clocks", LK_CHECK_OK, "ahead of that of 10.0.0.1:7000");
    b->facts[2].ahead_us = 60000;
    judge(b, "clocks", LK_CHECK_NOTE,
          "the clock of 10.0.0.2:7000 is 0.100 s ahead of that of "
          "10.0.0.1:7000");
    assert_int_equal(b->health->clock_ahead_us, 60000);
    b->facts[2].ahead_us = 1200000;
    judge(b, "clocks", LK_CHECK_WARN, "1.240 s");
}

TEST(masters_that_are_away_fail)
{
    b->health = lk__health_judge_cluster(b->all, 1, "10.0.0.9:7000 (refused)");
    assert_non_null(b->health);
    assert_string_equal(b->health->checks[0]->id, "masters");
    assert_int_equal(b->health->checks[0]->level, LK_CHECK_FAIL);
    assert_string_equal(b->health->checks[0]->text,
                        "1 masters answer; not looked at: "
                        "10.0.0.9:7000 (refused)");
    lk_health_free(b->health);
    b->health = lk__health_judge_cluster(b->all, 0, "all");
    assert_int_equal(b->health->count, 1);
    assert_string_equal(b->health->version, "");
}
