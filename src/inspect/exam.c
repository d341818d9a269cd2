/* SPDX-License-Identifier: MIT */

/* What one server is fit for; see exam.h. */

#include "inspect/exam.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "claims/node.h"
#include "claims/work.h"
#include "server/reply.h"
#include "shared_table.h"

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
static const struct trial {
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
    /* The rest is for clusters alone. */
    {LK_CHECK_FAIL, "+cluster|slots", "nothing works", {"CLUSTER", "SLOTS"}},
    {LK_CHECK_WARN,
     "+asking",
     "what is held is not renewed while its slot moves",
     {"ASKING"}},
    {LK_CHECK_WARN,
     "+spublish",
     "a waiter is not told and has to look, once a second",
     {"SPUBLISH", "c", ""}},
    {LK_CHECK_WARN,
     "+pubsub|shardnumsub",
     "a waiter is not told and has to look, once a second",
     {"PUBSUB", "SHARDNUMSUB", "c"}},
    {LK_CHECK_NOTE,
     "+cluster|nodes",
     "names cannot be listed",
     {"CLUSTER", "NODES"}},
};

enum { CLUSTER_TRIALS = 5 };

_Static_assert(sizeof(trials) / sizeof(trials[0]) == LK__EXAM_TRIALS,
               "each trial has its question");

static uint64_t now_of(const struct lk__exam *exam)
{
    return lk__client_now(exam->probe->call.client);
}

/* ---- questions ----------------------------------------------------------------- */

static void one_over(struct lk__exam *exam)
{
    if (--exam->left == 0 && !exam->probe->call.done)
        exam->over(exam);
}

static void question_take(lk__probing *probing, const redisReply *reply)
{
    struct lk__exam_question *question =
        (struct lk__exam_question *)(void *)probing;

    question->take(question->exam, question, reply);
    one_over(question->exam);
}

static void question_miss(lk__probing *probing)
{
    struct lk__exam *exam = ((struct lk__exam_question *)(void *)probing)->exam;

    exam->is_missed = true;
    one_over(exam);
}

static void
ask(struct lk__exam *exam, struct lk__exam_question *question, size_t count,
    const lk__arg *args,
    void (*take)(struct lk__exam *exam, struct lk__exam_question *question,
                 const redisReply *reply))
{
    question->exam = exam;
    question->take = take;
    question->probing.take = question_take;
    question->probing.miss = question_miss;
    exam->left++;
    lk__probe_send_to(exam->probe, exam->node, &question->probing, count, args);
}

static void text_take(char **text, const redisReply *reply)
{
    lk__free(*text);
    *text = reply != NULL && reply->type == REDIS_REPLY_STRING
                ? lk__strdup(reply->str)
                : NULL;
}

static void info_take(struct lk__exam *exam, struct lk__exam_question *question,
                      const redisReply *reply)
{
    (void)question;
    text_take(&exam->facts.info, reply);
}

static void fsync_take(struct lk__exam *exam,
                       struct lk__exam_question *question,
                       const redisReply *reply)
{
    (void)question;
    text_take(&exam->facts.fsync, lk__reply_at(reply, 1));
}

static void needed_take(struct lk__exam *exam,
                        struct lk__exam_question *question,
                        const redisReply *reply)
{
    (void)question;
    text_take(&exam->facts.needed, lk__reply_at(reply, 1));
}

static void cluster_take(struct lk__exam *exam,
                         struct lk__exam_question *question,
                         const redisReply *reply)
{
    (void)question;
    text_take(&exam->facts.cluster, reply);
}

static void coverage_take(struct lk__exam *exam,
                          struct lk__exam_question *question,
                          const redisReply *reply)
{
    (void)question;
    text_take(&exam->facts.coverage, lk__reply_at(reply, 1));
}

static void migration_take(struct lk__exam *exam,
                           struct lk__exam_question *question,
                           const redisReply *reply)
{
    (void)question;
    text_take(&exam->facts.migration, lk__reply_at(reply, 1));
}

static void timeout_take(struct lk__exam *exam,
                         struct lk__exam_question *question,
                         const redisReply *reply)
{
    (void)question;
    text_take(&exam->facts.timeout, lk__reply_at(reply, 1));
}

/* Each link of the bus is a list of words and values. */
static void links_take(struct lk__exam *exam,
                       struct lk__exam_question *question,
                       const redisReply *reply)
{
    (void)question;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements;
         i++) {
        const redisReply *link = reply->element[i];

        for (size_t k = 0;
             link->type == REDIS_REPLY_ARRAY && k + 1 < link->elements;
             k += 2) {
            int64_t bytes = lk__reply_integer_at(link, k + 1, 0);

            if (strcmp(lk__reply_text_at(link, k), "send-buffer-used") == 0 &&
                bytes > (int64_t)exam->facts.bus_waiting)
                exam->facts.bus_waiting = (uint64_t)bytes;
        }
    }
}

/* ---- the clock and the round trips ---------------------------------------------- */

static int64_t host_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* What this host's clock is ahead of the one that nobody sets. */
static int64_t apart_us(const struct lk__exam *exam)
{
    return host_us() - (int64_t)(now_of(exam) / US);
}

/* What was measured against a clock that was set meanwhile says nothing of the
   server's. */
static bool was_disturbed(const struct lk__exam *exam)
{
    int64_t moved = apart_us(exam) - exam->apart_us;

    return moved > APART_US || moved < -APART_US;
}

static void nodes_take(struct lk__exam *exam,
                       struct lk__exam_question *question,
                       const redisReply *reply)
{
    (void)question;
    text_take(&exam->facts.nodes, reply);
    exam->facts.nodes_ms = host_us() / 1000;
}

static void time_take(struct lk__exam *exam, struct lk__exam_question *question,
                      const redisReply *reply);
static void ping_take(struct lk__exam *exam, struct lk__exam_question *question,
                      const redisReply *reply);

static void time_send(struct lk__exam *exam)
{
    lk__arg args[1] = {lk__arg_text("TIME")};

    ask(exam, &exam->time, 1, args, time_take);
}

static void ping_send(struct lk__exam *exam)
{
    lk__arg args[1] = {lk__arg_text("PING")};

    ask(exam, &exam->ping, 1, args, ping_take);
}

/* What of a difference does not follow from how long the answers took. */
static int64_t beyond(int64_t difference, int64_t unsure)
{
    if (difference > unsure)
        return difference - unsure;
    return difference < -unsure ? difference + unsure : 0;
}

/* Before the round trips, and after them. The server read its clock half a
   round trip ago, more or less by as much. */
static void time_take(struct lk__exam *exam, struct lk__exam_question *question,
                      const redisReply *reply)
{
    (void)question;
    lk__facts *facts = &exam->facts;
    uint64_t now = now_of(exam);
    uint64_t half = (now - exam->time.probing.request.sent_at) / 2;
    uint64_t us = strtoull(lk__reply_text_at(reply, 0), NULL, 10) * 1000000 +
                  strtoull(lk__reply_text_at(reply, 1), NULL, 10);

    if (facts->rtt_count == 0) {
        exam->first_us = us;
        exam->first_at = now - half;
        exam->unsure_us = (int64_t)(half / US);
        exam->apart_us = apart_us(exam);
        ping_send(exam);
    } else if (was_disturbed(exam) && exam->repeats++ < REPEATS) {
        facts->rtt_count = 0;
        time_send(exam);
    } else if (us != 0 && exam->first_us != 0) {
        facts->has_clock = true;
        facts->ahead_us = (int64_t)us + (int64_t)(half / US) - host_us();
        facts->gained_us =
            beyond((int64_t)(us - exam->first_us) -
                       (int64_t)((now - half - exam->first_at) / US),
                   exam->unsure_us + (int64_t)(half / US));
    }
}

/* The first one came behind all the questions and tells nothing. */
static void ping_take(struct lk__exam *exam, struct lk__exam_question *question,
                      const redisReply *reply)
{
    (void)question;
    lk__facts *facts = &exam->facts;

    (void)reply;
    if (!exam->measures) {
        exam->measures = true;
        time_send(exam);
        return;
    }
    facts->rtts_us[facts->rtt_count++] =
        (now_of(exam) - exam->ping.probing.request.sent_at) / US;
    if (facts->rtt_count < LK__RTTS)
        ping_send(exam);
    else
        time_send(exam);
}

/* ---- the rights ----------------------------------------------------------------- */

static void trial_take(struct lk__exam *exam,
                       struct lk__exam_question *question,
                       const redisReply *reply)
{
    lk__facts *facts = &exam->facts;
    const struct trial *trial = &trials[question - exam->trials];

    if (lk__reply_status(reply) == LK_EDENIED &&
        facts->denial_count < LK__DENIALS)
        facts->denials[facts->denial_count++] =
            (lk__denial){.level = trial->level,
                         .command = trial->rule,
                         .loses = trial->loses,
                         .words = lk__strdup(reply->str)};
}

static void trial_send(struct lk__exam *exam, size_t i, const char *key,
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
    ask(exam, &exam->trials[i], count, args, trial_take);
}

static void trials_send(struct lk__exam *exam)
{
    const char *id = lk_client_id(exam->probe->call.client);
    size_t count =
        LK__EXAM_TRIALS - (exam->facts.in_cluster ? 0 : CLUSTER_TRIALS);
    const char *tenant = exam->probe->call.client->settings.tenant;
    char key[112], channel[112];

    snprintf(key, sizeof(key), LK__FORM_CLIENT "%s:%s:doctor", tenant, id);
    snprintf(channel, sizeof(channel), LK__FORM_INBOX "%s:%s:doctor", tenant,
             id);
    for (size_t i = 0; i < count; i++)
        trial_send(exam, i, key, channel);
}

/* ---- one server ------------------------------------------------------------------ */

/* Asks a question of up to three words. */
static void
text_ask(struct lk__exam *exam, const char *first, const char *second,
         const char *third,
         void (*take)(struct lk__exam *exam, struct lk__exam_question *question,
                      const redisReply *reply))
{
    const lk__arg args[3] = {lk__arg_text(first),
                             lk__arg_text(second != NULL ? second : ""),
                             lk__arg_text(third != NULL ? third : "")};
    size_t count = third != NULL ? 3 : second != NULL ? 2 : 1;

    ask(exam, &exam->texts[exam->text_count++], count, args, take);
}

void lk__exam_begin(struct lk__exam *exam)
{
    text_ask(exam, "INFO", NULL, NULL, info_take);
    text_ask(exam, "CONFIG", "GET", "appendfsync", fsync_take);
    text_ask(exam, "CONFIG", "GET", "min-replicas-to-write", needed_take);
    if (exam->facts.in_cluster) {
        text_ask(exam, "CLUSTER", "INFO", NULL, cluster_take);
        text_ask(exam, "CLUSTER", "NODES", NULL, nodes_take);
        text_ask(exam, "CLUSTER", "LINKS", NULL, links_take);
        text_ask(exam, "CONFIG", "GET", "cluster-require-full-coverage",
                 coverage_take);
        text_ask(exam, "CONFIG", "GET", "cluster-allow-replica-migration",
                 migration_take);
        text_ask(exam, "CONFIG", "GET", "cluster-node-timeout", timeout_take);
    }
    trials_send(exam);
    ping_send(exam);
}

struct lk__exam *lk__exam_new(lk__probe *probe, lk__node *node)
{
    const lk_client *client = probe->call.client;
    struct lk__exam *exam = lk__alloc(sizeof(*exam));

    if (exam == NULL)
        return NULL;
    exam->probe = probe;
    exam->node = node;
    exam->facts.in_cluster = client->work->cluster != NULL;
    exam->facts.is_fast = client->settings.failover == LK_FAILOVER_FAST;
    exam->facts.offline_ms = client->settings.offline_ms;
    lk__node_address(node, exam->facts.address);
    return exam;
}

void lk__exam_free(struct lk__exam *exam)
{
    lk__facts_done(&exam->facts);
    lk__free(exam);
}

void lk__exam_complete(struct lk__exam *exam)
{
    lk_client *client = exam->probe->call.client;
    const lk__address *address = &exam->node->address;
    lk__tls *tls = client->settings.tls;
    lk__facts *facts = &exam->facts;

    lk__client_lock(client);
    facts->has_group = lk__group_see(client->node->group, &facts->group);
    facts->has_tls =
        tls != NULL && address->host != NULL &&
        lk__tls_facts_get(tls, address->host, address->port, &facts->tls);
    lk__client_leave(client);
    facts->now = host_us() / 1000000;
}
