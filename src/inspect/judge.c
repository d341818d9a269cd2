/* SPDX-License-Identifier: MIT */

/* What the facts about a server mean for programs that lock on it. */

#include "inspect/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "inspect/facts.h"
#include "inspect/report.h"

enum { CHECKS = 64, TEXT = LK__REPORT_TEXT, VALUE = LK__REPORT_VALUE };

void lk__facts_done(lk__facts *facts)
{
    lk__free(facts->info);
    lk__free(facts->fsync);
    lk__free(facts->needed);
    lk__free(facts->cluster);
    lk__free(facts->nodes);
    lk__free(facts->coverage);
    lk__free(facts->migration);
    lk__free(facts->timeout);
    for (size_t i = 0; i < facts->denial_count; i++)
        lk__free(facts->denials[i].words);
}

/* A value of INFO. */
static bool
value_get(const lk__facts *facts, const char *key, char value[VALUE])
{
    return lk__info_value(facts->info, key, value);
}

static uint64_t number_get(const lk__facts *facts, const char *key)
{
    char value[VALUE];

    return value_get(facts, key, value) ? strtoull(value, NULL, 10) : 0;
}

static bool is_value(const lk__facts *facts, const char *key, const char *text)
{
    char value[VALUE];

    return value_get(facts, key, value) && strcmp(value, text) == 0;
}

/* ---- what INFO tells ------------------------------------------------------------- */

/* The scripts call ZMSCORE, which came with 6.2. */
static bool is_old(const char *version)
{
    char *end;
    unsigned long major = strtoul(version, &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;

    return major < 6 || (major == 6 && minor < 2);
}

static void judge_version(lk__report *report, const lk__facts *facts)
{
    bool is_valkey = value_get(facts, "valkey_version", report->version) ||
                     !value_get(facts, "redis_version", report->version);

    if (report->version[0] == '\0')
        lk__report_add(report, "version", LK_CHECK_UNKNOWN,
                       "allow the command INFO",
                       "the server does not tell its version");
    else if (is_valkey)
        lk__report_add(report, "version", LK_CHECK_OK, "", "Valkey %s",
                       report->version);
    else if (is_old(report->version))
        lk__report_add(report, "version", LK_CHECK_FAIL,
                       "Latchkey needs version 6.2 or later", "Redis %s",
                       report->version);
    else
        lk__report_add(report, "version", LK_CHECK_OK, "", "Redis %s",
                       report->version);
    if (!facts->in_cluster && is_value(facts, "redis_mode", "cluster"))
        lk__report_add(report, "mode", LK_CHECK_FAIL,
                       "write redis+cluster:// with the nodes' addresses",
                       "the server is a node of a Redis Cluster");
}

static void judge_eviction(lk__report *report, const lk__facts *facts)
{
    uint64_t most = number_get(facts, "maxmemory");
    uint64_t used = number_get(facts, "used_memory");
    char policy[VALUE];

    if (!value_get(facts, "maxmemory_policy", policy))
        lk__report_add(report, "eviction", LK_CHECK_UNKNOWN,
                       "allow the command INFO",
                       "the server does not tell what it evicts");
    else if (strcmp(policy, "noeviction") == 0)
        lk__report_add(report, "eviction", LK_CHECK_OK, "",
                       "nothing is evicted");
    else
        lk__report_add(
            report, "eviction", most > 0 ? LK_CHECK_FAIL : LK_CHECK_WARN,
            "CONFIG SET maxmemory-policy noeviction, and in redis.conf",
            "maxmemory-policy is %s: %s", policy,
            most > 0 ? "the server may drop locks that are held"
                     : "with a maxmemory the server would drop locks that are "
                       "held");
    if (most > 0 && used > most / 10 * 9)
        lk__report_add(report, "memory", LK_CHECK_WARN,
                       "raise maxmemory; a full server grants nothing",
                       "%" PRIu64 " of %" PRIu64 " MB are used", used >> 20,
                       most >> 20);
    else if (facts->info != NULL)
        lk__report_add(report, "memory", LK_CHECK_OK, "",
                       "%" PRIu64 " MB used, limit %s", used >> 20,
                       most > 0 ? "set" : "none");
}

static void judge_append(lk__report *report, const lk__facts *facts)
{
    if (facts->fsync == NULL)
        lk__report_add(
            report, "persistence", LK_CHECK_NOTE,
            "look at appendfsync yourself: only always keeps every grant",
            "appendonly is on; how often it syncs the server does not tell");
    else if (strcmp(facts->fsync, "always") == 0)
        lk__report_add(report, "persistence", LK_CHECK_OK, "",
                       "every grant is on disk before it is answered");
    else
        lk__report_add(
            report, "persistence", LK_CHECK_NOTE,
            "appendfsync always, or let the resource check the fence",
            "appendfsync is %s: a crash of the machine may forget the last "
            "grants",
            facts->fsync);
    if (is_value(facts, "aof_last_write_status", "err"))
        lk__report_add(report, "persistence", LK_CHECK_FAIL,
                       "see the server's log",
                       "the last write to the append-only file failed");
}

static void judge_persistence(lk__report *report, const lk__facts *facts)
{
    if (facts->info == NULL)
        lk__report_add(report, "persistence", LK_CHECK_UNKNOWN,
                       "allow the command INFO",
                       "the server does not tell whether it keeps its data");
    else if (is_value(facts, "aof_enabled", "1"))
        judge_append(report, facts);
    else
        lk__report_add(
            report, "persistence", LK_CHECK_WARN,
            "appendonly yes with appendfsync always, or let the resource check "
            "the fence",
            "no append-only file: a restart forgets grants, and two may then "
            "hold the same until the first finds out");
    if (is_value(facts, "rdb_last_bgsave_status", "err"))
        lk__report_add(
            report, "persistence", LK_CHECK_WARN,
            "free disk space or memory; with stop-writes-on-bgsave-error the "
            "server refuses every acquire",
            "the last snapshot failed");
    if (is_value(facts, "loading", "1"))
        lk__report_add(report, "persistence", LK_CHECK_WARN, "wait",
                       "the server is loading its data");
}

static void judge_replication(lk__report *report, const lk__facts *facts)
{
    uint64_t replicas = number_get(facts, "connected_slaves");
    bool needs = facts->needed != NULL && strcmp(facts->needed, "0") != 0;

    if (facts->info == NULL)
        lk__report_add(report, "replication", LK_CHECK_UNKNOWN,
                       "allow the command INFO",
                       "the server does not tell its role");
    else if (is_value(facts, "role", "slave"))
        lk__report_add(report, "replication", LK_CHECK_FAIL,
                       "connect to the master",
                       "the server is a replica: nothing can be acquired here");
    else if (replicas == 0 && facts->in_cluster)
        lk__report_add(
            report, "replication", LK_CHECK_WARN,
            "add a replica: without one nobody takes its place when it fails, "
            "and its names wait for it",
            "a master without a replica");
    else if (replicas == 0)
        lk__report_add(report, "replication", LK_CHECK_OK, "",
                       "a master alone");
    else
        lk__report_add(
            report, "replication", LK_CHECK_NOTE,
            "let the resource check the fence where two holders must never "
            "overlap",
            "%" PRIu64 " replicas, asynchronous%s: a failover may forget the "
            "last grants",
            replicas, needs ? ", with min-replicas-to-write" : "");
}

/* What it needs, or would do. A server by itself has a line if it needs any. */
static void judge_needed(lk__report *report, const lk__facts *facts)
{
    const char *needed = facts->needed != NULL ? facts->needed : "";
    bool needs = needed[0] != '\0' && strcmp(needed, "0") != 0;
    uint64_t following = number_get(facts, "min_slaves_good_slaves");
    char value[VALUE];

    if (needs && value_get(facts, "min_slaves_good_slaves", value) &&
        following < strtoull(needed, NULL, 10))
        lk__report_add(
            report, "min-replicas", LK_CHECK_FAIL,
            "start replicas, or lower min-replicas-to-write: every write is "
            "refused, and with it every acquire and renewal",
            "%s replicas have to follow, %" PRIu64 " do", needed, following);
    else if (needs)
        lk__report_add(
            report, "min-replicas", LK_CHECK_OK, "",
            "min-replicas-to-write %s: a master refuses writes once fewer "
            "replicas follow it",
            needed);
    else if (facts->in_cluster && strcmp(needed, "0") == 0)
        lk__report_add(
            report, "min-replicas", LK_CHECK_NOTE,
            "set min-replicas-to-write 1 on every node: then it refuses writes "
            "about a second after its replicas have left it",
            "a master that is cut off takes writes for two or three seconds, "
            "and they are lost");
    else if (facts->has_group && strcmp(needed, "0") == 0)
        lk__report_add(
            report, "min-replicas", LK_CHECK_NOTE,
            "set min-replicas-to-write 1 on every server: then an old master "
            "refuses writes about a second after its replicas have left it, "
            "and a new one until a replica follows",
            "after a failover the old master takes writes for some ten "
            "seconds, and they are lost");
}

static void judge_clients(lk__report *report, const lk__facts *facts)
{
    uint64_t most = number_get(facts, "maxclients");
    uint64_t now = number_get(facts, "connected_clients");

    if (most > 0 && now > most / 10 * 9)
        lk__report_add(
            report, "clients", LK_CHECK_WARN,
            "raise maxclients; a process that cannot connect loses its holds",
            "%" PRIu64 " of %" PRIu64 " connections are in use", now, most);
    else if (facts->info != NULL)
        lk__report_add(report, "clients", LK_CHECK_OK, "",
                       "%" PRIu64 " connection%s", now, now == 1 ? "" : "s");
}

/* ---- what was measured ------------------------------------------------------------- */

static int by_size(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

enum { SLOW_US = 10000, VERY_SLOW_US = 200000 };

static void judge_latency(lk__report *report, lk__facts *facts)
{
    lk_health *health = &report->health;
    lk_check_level level = LK_CHECK_OK;
    const char *advice = "";

    health->samples = facts->rtt_count;
    if (facts->rtt_count == 0)
        return;
    qsort(facts->rtts_us, facts->rtt_count, sizeof(uint64_t), by_size);
    health->rtt_min_us = facts->rtts_us[0];
    health->rtt_median_us = facts->rtts_us[facts->rtt_count / 2];
    health->rtt_max_us = facts->rtts_us[facts->rtt_count - 1];
    if (health->rtt_median_us > SLOW_US) {
        level = LK_CHECK_WARN;
        advice = "every hand-over takes so long: run the server nearer by";
    } else if (health->rtt_max_us > VERY_SLOW_US) {
        level = LK_CHECK_WARN;
        advice = "look for slow commands (SLOWLOG GET), forks and swapping";
    }
    lk__report_add(report, "latency", level, advice,
                   "a round trip takes %.3f ms (%.3f to %.3f)",
                   (double)health->rtt_median_us / 1000,
                   (double)health->rtt_min_us / 1000,
                   (double)health->rtt_max_us / 1000);
}

enum { STEP_US = 50000, FAR_US = 1000000 };

static void judge_clock(lk__report *report, const lk__facts *facts)
{
    int64_t ahead = facts->ahead_us;
    int64_t gained = facts->gained_us;

    report->health.clock_ahead_us = ahead;
    if (!facts->has_clock)
        lk__report_add(report, "clock", LK_CHECK_UNKNOWN,
                       "allow the command TIME",
                       "the server does not tell the time");
    else if (gained > STEP_US || gained < -STEP_US)
        lk__report_add(
            report, "clock", LK_CHECK_FAIL,
            "have the clock slewed, not stepped: a step forward ends leases "
            "early",
            "the server's clock stepped by %+.3f s while it was looked at",
            (double)gained / 1e6);
    else
        lk__report_add(
            report, "clock",
            ahead > FAR_US || ahead < -FAR_US ? LK_CHECK_NOTE : LK_CHECK_OK,
            ahead > FAR_US || ahead < -FAR_US
                ? "set both clocks: a later correction of the server's ends "
                  "leases early, or makes fences stand still"
                : "",
            "the server's clock is %.3f s %s this host's",
            (double)(ahead < 0 ? -ahead : ahead) / 1e6,
            ahead < 0 ? "behind" : "ahead of");
}

enum { DAY_S = 86400, SOON_DAYS = 14 };

/* A client without TLS has no line. */
static void judge_tls(lk__report *report, const lk__facts *facts)
{
    int64_t days = (facts->tls.ends_at - facts->now) / DAY_S;
    time_t at = (time_t)facts->tls.ends_at;
    char date[VALUE] = "";
    struct tm end;

    if (!facts->has_tls)
        return;
    if (facts->tls.ends_at == 0) {
        lk__report_add(report, "tls", LK_CHECK_UNKNOWN,
                       "look at the certificate's end",
                       "%s with %s; when the certificate ends is not known",
                       facts->tls.version, facts->tls.cipher);
        return;
    }
    if (gmtime_r(&at, &end) != NULL)
        (void)strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", &end);
    lk__report_add(
        report, "tls", days < SOON_DAYS ? LK_CHECK_WARN : LK_CHECK_OK,
        days < SOON_DAYS ? "renew the certificate: once it has ended, nobody "
                           "can connect"
                         : "",
        "%s with %s; the server's certificate ends on %s, in %" PRId64 " days",
        facts->tls.version, facts->tls.cipher, date, days);
}

void lk__judge_fast(lk__report *report)
{
    lk__report_add(report, "failover", LK_CHECK_NOTE,
                   "leave failover=fast out of the URL where only one may hold",
                   "around a failover two may hold the same for a while");
}

static void judge_rights(lk__report *report, const lk__facts *facts)
{
    char advice[TEXT];

    if (facts->denial_count == 0)
        lk__report_add(report, "rights", LK_CHECK_OK, "",
                       "the user may do all that was tried");
    for (size_t i = 0; i < facts->denial_count; i++) {
        const lk__denial *denial = &facts->denials[i];

        snprintf(advice, sizeof(advice),
                 "ACL SETUSER <user> %s, with the keys and channels that "
                 "share/doc/latchkey/trust.md names: else %s",
                 denial->command, denial->loses);
        lk__report_add(report, "rights", denial->level, advice,
                       "%s is denied: %s", denial->command,
                       denial->words != NULL ? denial->words : "");
    }
}

lk_health *lk__health_judge(lk__facts *facts)
{
    lk__report *report = lk__report_new(CHECKS);

    if (report == NULL)
        return NULL;
    judge_version(report, facts);
    judge_eviction(report, facts);
    judge_persistence(report, facts);
    judge_replication(report, facts);
    judge_needed(report, facts);
    judge_clients(report, facts);
    judge_latency(report, facts);
    judge_clock(report, facts);
    judge_tls(report, facts);
    lk__judge_sentinels(report, facts);
    /* First: a line for each node that has failed may fill the report. */
    judge_rights(report, facts);
    lk__judge_master(report, facts);
    return &report->health;
}
