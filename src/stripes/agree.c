/* SPDX-License-Identifier: MIT */

/*
 * GET, and if there is nothing SET NX; if somebody was faster, GET again. What
 * is there already is only prolonged, at most once a day, so that comparing
 * does not write. Each may be asked again.
 */

#include "stripes/agree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/ask.h"
#include "claims/cluster.h"
#include "claims/node.h"
#include "server/reply.h"

#define MS UINT64_C(1000000)

enum { FRESH_MS = 60000, DAY_MS = 86400000, LIFE_MS = 7 * DAY_MS };

typedef struct question {
    lk__ask ask; /* first */
    lk__agreement *agreement;
    uint64_t until; /* the caller's */
    enum { READING, SETTING, PROLONGING } step;
    lk_done_cb cb;
    void *data;
} question;

lk__agreement *
lk__agreement_new(lk_client *client, const char *name, uint64_t count)
{
    lk__agreement *agreement = lk__alloc(sizeof(*agreement));

    if (agreement == NULL)
        return NULL;
    agreement->key = lk__key_make("latchkey:stripes", name);
    if (agreement->key == NULL) {
        lk__free(agreement);
        return NULL;
    }
    agreement->refs = 1;
    agreement->count = count;
    agreement->client = lk__client_ref(client);
    return agreement;
}

void lk__agreement_unref(lk__agreement *agreement)
{
    if (--agreement->refs > 0)
        return;
    lk__client_unref(agreement->client);
    lk__free(agreement->key);
    lk__free(agreement);
}

bool lk__agreement_is_fresh(const lk__agreement *agreement)
{
    uint64_t compared_at = agreement->compared_at;

    return compared_at != 0 &&
           lk__client_now(agreement->client) - compared_at < FRESH_MS * MS;
}

/* ---- what is asked ----------------------------------------------------------- */

static lk_status ask_get(question *q)
{
    lk__arg args[2] = {lk__arg_text("GET"), lk__arg_text(q->agreement->key)};

    q->step = READING;
    return lk__ask_command(&q->ask, 2, args);
}

static lk_status ask_set(question *q)
{
    lk__arg args[6] = {lk__arg_text("SET"),
                       lk__arg_text(q->agreement->key),
                       lk__arg_number((int64_t)q->agreement->count),
                       lk__arg_text("NX"),
                       lk__arg_text("PX"),
                       lk__arg_number(LIFE_MS)};

    q->step = SETTING;
    return lk__ask_command(&q->ask, 6, args);
}

static lk_status ask_prolong(question *q)
{
    lk__arg args[3] = {lk__arg_text("PEXPIRE"), lk__arg_text(q->agreement->key),
                       lk__arg_number(LIFE_MS)};

    q->step = PROLONGING;
    return lk__ask_command(&q->ask, 3, args);
}

/* ---- answers ------------------------------------------------------------------- */

static lk_status agreed(question *q)
{
    q->agreement->compared_at = lk__client_now(q->agreement->client);
    return LK_OK;
}

static lk_status prolonged(question *q)
{
    q->agreement->prolonged_at = lk__client_now(q->agreement->client);
    return agreed(q);
}

static bool is_due(const lk__agreement *agreement)
{
    uint64_t at = agreement->prolonged_at;

    return at == 0 || lk__client_now(agreement->client) - at >= DAY_MS * MS;
}

static lk_status compare(question *q, const redisReply *reply, bool *ret_more)
{
    char expected[24];

    if (reply->type == REDIS_REPLY_NIL) {
        *ret_more = true;
        return ask_set(q);
    }
    if (reply->type != REDIS_REPLY_STRING)
        return LK_EPROTO;
    (void)snprintf(expected, sizeof(expected), "%" PRIu64, q->agreement->count);
    if (strcmp(reply->str, expected) != 0)
        return LK_EMISMATCH;
    if (!is_due(q->agreement))
        return agreed(q);
    *ret_more = true;
    return ask_prolong(q);
}

/* Nothing was there to be prolonged any more, or to be set: looks again. */
static lk_status take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    question *q = (question *)(void *)ask;

    *ret_more = false;
    if (q->step == READING)
        return compare(q, reply, ret_more);
    if (reply->type == REDIS_REPLY_STATUS ||
        (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1))
        return prolonged(q);
    *ret_more = true;
    return ask_get(q);
}

/* ---- the calls ------------------------------------------------------------------- */

/* In the monitor; the client has another reference, whoever that is. */
static void cleanup(lk__ask *ask)
{
    lk__agreement_unref(((question *)(void *)ask)->agreement);
}

/* NULL: no memory. Inside the monitor. */
static question *question_new(lk__agreement *agreement, uint64_t until,
                              void (*deliver)(lk__call *call))
{
    question *q = (question *)(void *)lk__ask_new(sizeof(*q), agreement->client,
                                                  NULL, deliver);

    if (q == NULL)
        return NULL;
    q->agreement = agreement;
    agreement->refs++;
    q->ask.cleanup = cleanup;
    q->until = until;
    q->ask.reads = true;
    q->ask.take = take;
    if (ask_get(q) == LK_OK)
        return q;
    lk__ask_release(&q->ask);
    return NULL;
}

/* The words say what is there; the status of a call whose time was over. */
static lk_status status_of(const question *q)
{
    lk_status status = lk__call_status(&q->ask.call);

    if (status == LK_EMISMATCH)
        return lk__fail(status,
                        "%.100s says that there are not %" PRIu64 " stripes",
                        q->agreement->key, q->agreement->count);
    if (status == LK_EOFFLINE &&
        lk__client_now(q->agreement->client) >= q->until)
        return LK_ETIMEDOUT;
    return status;
}

lk_status lk__agree(lk__agreement *agreement, uint64_t until)
{
    question *q = question_new(agreement, until, NULL);
    char words[240];
    lk_status status;

    if (q == NULL)
        return LK_ENOMEM;
    lk__ask_begin_by(&q->ask, q->until);
    if (lk__call_sleep(&q->ask.call, until)) {
        status = status_of(q);
    } else {
        lk__node_words(lk__cluster_node_of(agreement->client, agreement->key,
                                           strlen(agreement->key)),
                       LK_ETIMEDOUT, NULL, words, sizeof(words));
        status = lk__fail(LK_ETIMEDOUT, "%s", words);
    }
    lk__ask_release(&q->ask); /* its alarm ends it if nobody else does */
    return status;
}

static void deliver(lk__call *call)
{
    question *q = (question *)(void *)lk__ask_of_call(call);

    q->cb(status_of(q), q->data);
    lk__ask_finish(&q->ask);
}

lk_status lk__agree_async(lk__agreement *agreement, uint64_t until,
                          lk_done_cb cb, void *data)
{
    question *q = question_new(agreement, until, deliver);

    if (q == NULL)
        return LK_ENOMEM;
    q->ask.call.post.inner = true;
    q->cb = cb;
    q->data = data;
    lk__ask_begin_by(&q->ask, q->until);
    return LK_OK;
}
