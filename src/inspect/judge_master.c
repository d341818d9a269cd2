/* SPDX-License-Identifier: MIT */

/* What a master of a cluster says of the cluster, and what that means. */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/slot.h"
#include "inspect/judge.h"

enum {
    VALUE = LK__REPORT_VALUE,
    LATE_MS = 1000,          /* a ping on the bus */
    WAITING_BYTES = 1 << 20, /* for a link of it */
    ELECTION_MS = 3000       /* from cluster-node-timeout to a new master */
};

static uint64_t number_get(const lk__facts *facts, const char *key)
{
    char value[VALUE];

    return lk__info_value(facts->cluster, key, value)
               ? strtoull(value, NULL, 10)
               : 0;
}

static void judge_slots(lk__report *report, const lk__facts *facts)
{
    uint64_t ok = number_get(facts, "cluster_slots_ok");
    uint64_t silent = number_get(facts, "cluster_slots_pfail");
    uint64_t lost = number_get(facts, "cluster_slots_fail");
    uint64_t served = number_get(facts, "cluster_slots_assigned");
    char state[VALUE];

    if (!lk__info_value(facts->cluster, "cluster_state", state))
        lk__report_add(report, "slots", LK_CHECK_UNKNOWN,
                       "ACL SETUSER <user> +cluster|info",
                       "whether all slots have a master is not told");
    else if (served < LK__SLOTS)
        lk__report_add(report, "slots", LK_CHECK_FAIL,
                       "give each slot a master: redis-cli --cluster fix",
                       "%" PRIu64 " slots have no master, cluster_state is %s",
                       LK__SLOTS - served, state);
    else if (strcmp(state, "ok") != 0 || lost > 0)
        lk__report_add(report, "slots", LK_CHECK_FAIL,
                       "start the masters that have failed, or make a replica "
                       "of theirs a master: CLUSTER FAILOVER TAKEOVER",
                       "the masters of %" PRIu64 " slots have failed, "
                       "cluster_state is %s",
                       lost, state);
    else if (silent > 0)
        lk__report_add(report, "slots", LK_CHECK_WARN,
                       "see whether these masters are alive, and the network "
                       "between the nodes",
                       "the masters of %" PRIu64
                       " slots do not answer on the bus",
                       silent);
    else
        lk__report_add(report, "slots", LK_CHECK_OK, "",
                       "%" PRIu64 " slots are served", ok);
}

static bool is_yes(const char *text)
{
    return strcmp(text, "yes") == 0;
}

static void judge_settings(lk__report *report, const lk__facts *facts)
{
    uint64_t timeout =
        facts->timeout != NULL ? strtoull(facts->timeout, NULL, 10) : 0;

    if (facts->coverage != NULL && is_yes(facts->coverage))
        lk__report_add(report, "coverage", LK_CHECK_NOTE,
                       "cluster-require-full-coverage no, on every node, if "
                       "the other names are to go on meanwhile",
                       "one slot without a master stops all names of the "
                       "cluster");
    else if (facts->coverage != NULL)
        lk__report_add(report, "coverage", LK_CHECK_OK, "",
                       "a slot without a master stops its own names alone");
    if (facts->migration != NULL && !is_yes(facts->migration))
        lk__report_add(report, "migration", LK_CHECK_NOTE,
                       "cluster-allow-replica-migration yes, or see to it that "
                       "each master keeps a replica",
                       "a master that has lost its replicas gets none of "
                       "another's");
    if (timeout + ELECTION_MS > facts->offline_ms && timeout > 0)
        lk__report_add(report, "offline", LK_CHECK_NOTE,
                       "write ?offline_ms= with more than that into the URL",
                       "a master that fails is replaced after some %" PRIu64
                       " ms (cluster-node-timeout and an election), and those "
                       "who wait give up after %" PRIu64 " ms (offline_ms)",
                       timeout + ELECTION_MS, facts->offline_ms);
    if (facts->is_fast)
        lk__judge_fast(report);
}

/* ---- the bus --------------------------------------------------------------------- */

/* A line of CLUSTER NODES. */
struct peer {
    char address[VALUE], flags[VALUE], link[VALUE];
    uint64_t ping_ms; /* when the ping was sent that is not answered; 0: none */
};

/* Reads a word, as far as it has room, and passes to the next one of the line. */
static const char *word_read(const char *line, char word[VALUE])
{
    size_t size = strcspn(line, " \r\n");

    snprintf(word, VALUE, "%.*s", (int)size, line);
    return line + size + (line[size] == ' ');
}

/* False: the line has fewer words. */
static bool peer_read(struct peer *peer, const char *line)
{
    char id[VALUE], ping[VALUE], other[VALUE];

    line = word_read(line, id);
    line = word_read(line, peer->address);
    line = word_read(line, peer->flags);
    line = word_read(line, other);
    line = word_read(line, ping);
    line = word_read(line, other);
    line = word_read(line, other);
    (void)word_read(line, peer->link);
    peer->address[strcspn(peer->address, "@")] = '\0';
    peer->ping_ms = strtoull(ping, NULL, 10);
    return peer->link[0] != '\0';
}

static bool has_flag(const struct peer *peer, const char *flag)
{
    const char *at = strstr(peer->flags, flag);
    size_t size = strlen(flag);

    return at != NULL && (at[size] == ',' || at[size] == '\0');
}

static void
judge_peer(lk__report *report, const lk__facts *facts, const struct peer *peer)
{
    int64_t now_ms =
        facts->nodes_ms + (facts->has_clock ? facts->ahead_us / 1000 : 0);
    int64_t late_ms = peer->ping_ms > 0 ? now_ms - (int64_t)peer->ping_ms : 0;

    if (has_flag(peer, "fail"))
        lk__report_add(report, "bus", LK_CHECK_WARN,
                       "start it, or CLUSTER FORGET it on every node",
                       "the node %s has failed", peer->address);
    else if (has_flag(peer, "fail?") || strcmp(peer->link, "connected") != 0)
        lk__report_add(report, "bus", LK_CHECK_WARN,
                       "see whether it is alive, and whether the port of its "
                       "bus is reached: where nodes do not hear each other "
                       "masters are replaced that live",
                       "the node %s does not answer on the bus", peer->address);
    else if (late_ms > LATE_MS)
        lk__report_add(report, "bus", LK_CHECK_WARN,
                       "look for slow commands (SLOWLOG GET), forks and "
                       "swapping there: after cluster-node-timeout it is taken "
                       "for dead",
                       "the node %s has left a ping on the bus unanswered for "
                       "a second or more",
                       peer->address);
}

static void judge_bus(lk__report *report, const lk__facts *facts)
{
    size_t before = report->health.count;
    struct peer peer;

    for (const char *line = facts->nodes; line != NULL && *line != '\0';) {
        if (peer_read(&peer, line) && !has_flag(&peer, "noaddr") &&
            strstr(peer.flags, "myself") == NULL)
            judge_peer(report, facts, &peer);
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    if (facts->bus_waiting > WAITING_BYTES)
        lk__report_add(report, "bus", LK_CHECK_WARN,
                       "see to the network between the nodes, and to plain "
                       "PUBLISH of others, which goes to every node",
                       "%" PRIu64 " MB wait for a link of the bus",
                       facts->bus_waiting >> 20);
    if (facts->nodes != NULL && report->health.count == before)
        lk__report_add(report, "bus", LK_CHECK_OK, "",
                       "all nodes answer on the bus");
}

void lk__judge_master(lk__report *report, const lk__facts *facts)
{
    if (!facts->in_cluster)
        return;
    judge_slots(report, facts);
    judge_bus(report, facts);
    judge_settings(report, facts);
}
