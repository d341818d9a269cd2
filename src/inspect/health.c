/* SPDX-License-Identifier: MIT */

/*
 * Asking a server what it is fit for: a few questions at once, the rights one
 * by one, and then round trips, one at a time. Everything that may be denied is
 * asked by itself.
 */

#include <latchkey/inspect.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "claims/node.h"
#include "inspect/facts.h"
#include "inspect/probe.h"
#include "server/reply.h"

#define US UINT64_C(1000)

enum {
    WORDS = 6,
    APART_US = 10000, /* so far apart, one of this host's clocks was set */
    REPEATS = 3
};

/*
 * The rights, by commands that change nothing: the key is not there, and what
 * would make one is told to do so only if it is there. "k" stands for a key of
 * this client's alone, "c" for a channel of its own. No connection has the last
 * id; 0 is no id for Redis 6, which then kills all connections but this one.
 *
 * A lock does not do without what fails. What helps, and what only another
 * primitive needs, is a note.
 */
static const struct {
    lk_check_level level;
    const char *rule;
    const char *loses;
    const char *words[WORDS];
} trials[] = {
    {LK_CHECK_FAIL, "+eval", "nothing works", {"EVAL", "return 1", "0"}},
    {LK_CHECK_FAIL,
     "+evalsha",
     "nothing works",
     {"EVALSHA", "0000000000000000000000000000000000000000", "0"}},
    {LK_CHECK_FAIL, "+time", "nothing works", {"TIME"}},
    {LK_CHECK_FAIL, "+hdel", "nothing works", {"HDEL", "k", "f"}},
    {LK_CHECK_FAIL, "+hmget", "nothing works", {"HMGET", "k", "f"}},
    {LK_CHECK_FAIL, "+zrem", "nothing works", {"ZREM", "k", "m"}},
    {LK_CHECK_FAIL, "+zadd", "nobody can queue", {"ZADD", "k", "XX", "1", "m"}},
    {LK_CHECK_FAIL, "+exists", "nothing works", {"EXISTS", "k"}},
    {LK_CHECK_FAIL, "+del", "nothing can be released", {"DEL", "k"}},
    {LK_CHECK_FAIL,
     "+pexpire",
     "nothing can be acquired",
     {"PEXPIRE", "k", "1"}},
    {LK_CHECK_FAIL, "+pttl", "nothing can be renewed", {"PTTL", "k"}},
    {LK_CHECK_WARN,
     "+publish",
     "a waiter is not told and has to look, once a second",
     {"PUBLISH", "c", ""}},
    {LK_CHECK_WARN,
     "+pubsub|numsub",
     "a waiter is not told and has to look, once a second",
     {"PUBSUB", "NUMSUB", "c"}},
    {LK_CHECK_NOTE,
     "+client|kill",
     "what a broken connection left in doubt is settled slower",
     {"CLIENT", "KILL", "ID", "9223372036854775807"}},
    {LK_CHECK_NOTE,
     "+set",
     "operators do not see who a client is",
     {"SET", "k", "", "XX"}},
    {LK_CHECK_NOTE, "+mget", "operators do not see who holds", {"MGET", "k"}},
    {LK_CHECK_NOTE, "+get", "semaphores and latches do not work", {"GET", "k"}},
    {LK_CHECK_NOTE,
     "+zrange",
     "semaphores do not work",
     {"ZRANGE", "k", "0", "0"}},
    {LK_CHECK_NOTE,
     "+scan",
     "names cannot be listed",
     {"SCAN", "0", "COUNT", "1"}},
};

enum { TRIALS = sizeof(trials) / sizeof(trials[0]) };

struct doctor {
    lk__probe probe; /* first */
    lk__facts facts;
    lk__probing info, fsync, needed, time, ping;
    lk__probing trials[TRIALS];
    uint64_t first_us, first_at; /* the server's clock, and ours then */
    int64_t apart_us;            /* this host's two clocks, then */
    unsigned repeats;
    bool measures; /* the round trips have begun */
    lk_health_cb cb;
    void *data;
};

static struct doctor *doctor_of(lk__probe *probe)
{
    return (struct doctor *)(void *)probe;
}

static uint64_t now_of(const struct doctor *doctor)
{
    return lk__client_now(doctor->probe.call.client);
}

static void text_take(char **text, const redisReply *reply)
{
    lk__free(*text);
    *text = reply != NULL && reply->type == REDIS_REPLY_STRING
                ? lk__strdup(reply->str)
                : NULL;
}

static void info_take(lk__probing *probing, const redisReply *reply)
{
    text_take(&doctor_of(probing->probe)->facts.info, reply);
}

static void fsync_take(lk__probing *probing, const redisReply *reply)
{
    text_take(&doctor_of(probing->probe)->facts.fsync, lk__reply_at(reply, 1));
}

static void needed_take(lk__probing *probing, const redisReply *reply)
{
    text_take(&doctor_of(probing->probe)->facts.needed, lk__reply_at(reply, 1));
}

/* ---- the clock and the round trips ---------------------------------------------- */

static int64_t host_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* What this host's clock is ahead of the one that nobody sets. */
static int64_t apart_us(const struct doctor *doctor)
{
    return host_us() - (int64_t)(now_of(doctor) / US);
}

/* What was measured against a clock that was set meanwhile says nothing of the
   server's. */
static bool was_disturbed(const struct doctor *doctor)
{
    int64_t moved = apart_us(doctor) - doctor->apart_us;

    return moved > APART_US || moved < -APART_US;
}

static void time_send(struct doctor *doctor)
{
    lk__arg args[1] = {lk__arg_text("TIME")};

    lk__probe_send(&doctor->probe, &doctor->time, 1, args);
}

static void ping_send(struct doctor *doctor)
{
    lk__arg args[1] = {lk__arg_text("PING")};

    lk__probe_send(&doctor->probe, &doctor->ping, 1, args);
}

/* Before the round trips, and after them. The server read its clock half a
   round trip ago, more or less. */
static void time_take(lk__probing *probing, const redisReply *reply)
{
    struct doctor *doctor = doctor_of(probing->probe);
    lk__facts *facts = &doctor->facts;
    uint64_t now = now_of(doctor);
    uint64_t half = (now - probing->request.sent_at) / 2;
    uint64_t us = strtoull(lk__reply_text_at(reply, 0), NULL, 10) * 1000000 +
                  strtoull(lk__reply_text_at(reply, 1), NULL, 10);

    if (facts->rtt_count == 0) {
        doctor->first_us = us;
        doctor->first_at = now - half;
        doctor->apart_us = apart_us(doctor);
        ping_send(doctor);
    } else if (was_disturbed(doctor) && doctor->repeats++ < REPEATS) {
        facts->rtt_count = 0;
        time_send(doctor);
    } else if (us != 0 && doctor->first_us != 0) {
        facts->has_clock = true;
        facts->ahead_us = (int64_t)us + (int64_t)(half / US) - host_us();
        facts->gained_us = (int64_t)(us - doctor->first_us) -
                           (int64_t)((now - half - doctor->first_at) / US);
    }
}

/* The first one came behind all the questions and tells nothing. */
static void ping_take(lk__probing *probing, const redisReply *reply)
{
    struct doctor *doctor = doctor_of(probing->probe);
    lk__facts *facts = &doctor->facts;

    (void)reply;
    if (!doctor->measures) {
        doctor->measures = true;
        time_send(doctor);
        return;
    }
    facts->rtts_us[facts->rtt_count++] =
        (now_of(doctor) - probing->request.sent_at) / US;
    if (facts->rtt_count < LK__RTTS)
        ping_send(doctor);
    else
        time_send(doctor);
}

/* ---- the rights ----------------------------------------------------------------- */

static void trial_take(lk__probing *probing, const redisReply *reply)
{
    struct doctor *doctor = doctor_of(probing->probe);
    lk__facts *facts = &doctor->facts;
    size_t i = (size_t)(probing - doctor->trials);

    if (lk__reply_status(reply) != LK_EDENIED ||
        facts->denial_count == LK__DENIALS)
        return;
    facts->denials[facts->denial_count++] =
        (lk__denial){.level = trials[i].level,
                     .command = trials[i].rule,
                     .loses = trials[i].loses,
                     .words = lk__strdup(reply->str)};
}

static void trial_send(struct doctor *doctor, size_t i, const char *key,
                       const char *channel)
{
    lk__arg args[WORDS];
    size_t count = 0;

    for (; count < WORDS && trials[i].words[count] != NULL; count++) {
        const char *word = trials[i].words[count];

        if (strcmp(word, "k") == 0)
            word = key;
        else if (strcmp(word, "c") == 0)
            word = channel;
        args[count] = lk__arg_text(word);
    }
    doctor->trials[i].take = trial_take;
    lk__probe_send(&doctor->probe, &doctor->trials[i], count, args);
}

/* ---- the call ------------------------------------------------------------------ */

static void
config_send(struct doctor *doctor, lk__probing *probing, const char *key)
{
    lk__arg args[3] = {lk__arg_text("CONFIG"), lk__arg_text("GET"),
                       lk__arg_text(key)};

    lk__probe_send(&doctor->probe, probing, 3, args);
}

static void begin(lk__probe *probe)
{
    struct doctor *doctor = doctor_of(probe);
    const char *id = lk_client_id(probe->call.client);
    const char *tenant = probe->call.client->settings.tenant;
    lk__arg info[1] = {lk__arg_text("INFO")};
    char key[112], channel[112];

    snprintf(key, sizeof(key), "latchkey:client:%s:%s:doctor", tenant, id);
    snprintf(channel, sizeof(channel), "latchkey:in:%s:%s:doctor", tenant, id);
    doctor->info.take = info_take;
    doctor->fsync.take = fsync_take;
    doctor->needed.take = needed_take;
    doctor->time.take = time_take;
    doctor->ping.take = ping_take;
    lk__probe_send(probe, &doctor->info, 1, info);
    config_send(doctor, &doctor->fsync, "appendfsync");
    config_send(doctor, &doctor->needed, "min-replicas-to-write");
    for (size_t i = 0; i < TRIALS; i++)
        trial_send(doctor, i, key, channel);
    ping_send(doctor);
}

static void cleanup(lk__probe *probe)
{
    lk__facts_done(&doctor_of(probe)->facts);
}

static struct doctor *doctor_new(void)
{
    struct doctor *doctor = lk__alloc(sizeof(*doctor));

    if (doctor != NULL) {
        doctor->probe.begin = begin;
        doctor->probe.cleanup = cleanup;
    }
    return doctor;
}

static lk_status doctor_result(struct doctor *doctor, lk_health **ret_health)
{
    lk_client *client = doctor->probe.call.client;
    const lk__address *address = &client->node->address;
    lk__tls *tls = client->settings.tls;
    lk__facts *facts = &doctor->facts;

    lk__client_lock(client);
    facts->has_group = lk__group_see(client->node->group, &facts->group);
    facts->has_tls =
        tls != NULL && address->host != NULL &&
        lk__tls_facts_get(tls, address->host, address->port, &facts->tls);
    lk__client_leave(client);

    facts->now = host_us() / 1000000;
    *ret_health = lk__health_judge(&doctor->facts);
    return *ret_health != NULL ? LK_OK : LK_ENOMEM;
}

lk_status
lk_health_check(lk_client *client, int64_t wait_ms, lk_health **ret_health)
{
    struct doctor *doctor;
    lk_status status;

    if (ret_health == NULL)
        return lk__fail(LK_EINVAL, "ret_health is NULL");
    doctor = doctor_new();
    if (doctor == NULL)
        return LK_ENOMEM;
    status = lk__probe_run(&doctor->probe, client, wait_ms);
    if (status == LK_OK)
        status = doctor_result(doctor, ret_health);
    lk__probe_release(&doctor->probe);
    return status;
}

static void deliver(lk__probe *probe)
{
    struct doctor *doctor = doctor_of(probe);
    lk_status status = probe->call.status;
    lk_health *health = NULL;

    if (status == LK_OK)
        status = doctor_result(doctor, &health);
    doctor->cb(status, health, doctor->data);
}

lk_status lk_health_check_async(lk_client *client, int64_t wait_ms,
                                lk_health_cb cb, void *data)
{
    struct doctor *doctor;

    if (cb == NULL)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    doctor = doctor_new();
    if (doctor == NULL)
        return LK_ENOMEM;
    doctor->probe.deliver = deliver;
    doctor->cb = cb;
    doctor->data = data;
    return lk__probe_run_async(&doctor->probe, client, wait_ms);
}
