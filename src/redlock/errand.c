/* SPDX-License-Identifier: MIT */

/*
 * What a vote asks its server, and how it reads the answers.
 *
 * The first close over a connection has its script ask whether DELIFEQ may be used.
 * Those sent after its answer are that command; see the word deletes in ask.h for
 * what follows when it is refused. It answers the same question as the script.
 */

#include "redlock/errand.h"

#include "claims/family.h"
#include "claims/node.h"
#include "claims/work.h"
#include "redlock_table.h"

lk__errand *lk__errand_of(lk__ask *ask)
{
    return (lk__errand *)(void *)ask;
}

static lk_status read_acquire(lk__errand *errand, const redisReply *reply)
{
    lk__redlock_acquire_answer a;
    lk_status status = lk__answer_read(&lk__redlock_acquire_answers, reply, &a);

    errand->stands = status == LK_OK && a.kind == LK__REDLOCK_ACQUIRE_HELD;
    errand->left_ms = status == LK_OK && !errand->stands ? a.busy.left : 0;
    return status;
}

static lk_status read_keep(lk__errand *errand, const redisReply *reply)
{
    lk__redlock_keep_answer a;
    lk_status status = lk__answer_read(&lk__redlock_keep_answers, reply, &a);

    errand->stands = status == LK_OK && a.kind == LK__REDLOCK_KEEP_KEPT;
    if (status == LK_OK && !errand->stands)
        errand->loss = a.lost.code == 0 ? LK_LOSS_DELETED : LK_LOSS_TAKEN;
    return status;
}

/* What its script has told, for the releases to come. */
static void note_delifeq(const lk__errand *errand, bool may)
{
    if (errand->asks)
        errand->vote->client->node->delifeq =
            may ? LK__DELIFEQ_HAS : LK__DELIFEQ_NOT;
}

/* Of DELIFEQ: how many keys it deleted. */
static lk_status read_short(const redisReply *reply, bool *ret_was)
{
    bool is_understood = reply->type == REDIS_REPLY_INTEGER &&
                         (reply->integer == 0 || reply->integer == 1);

    *ret_was = is_understood && reply->integer == 1;
    return is_understood ? LK_OK : LK_EPROTO;
}

static lk_status
read_script(const lk__errand *errand, const redisReply *reply, bool *ret_was)
{
    lk__redlock_close_answer a;
    lk_status status = lk__answer_read(&lk__redlock_close_answers, reply, &a);

    *ret_was = status == LK_OK && a.closed.was;
    if (status == LK_OK)
        note_delifeq(errand, a.closed.may);
    return status;
}

/* One before this that was not answered may have taken the token away: then it is
   believed to have stood, as the clock says. */
static lk_status read_close(lk__errand *errand, const redisReply *reply)
{
    bool was;
    lk_status status = errand->ask.is_short ? read_short(reply, &was)
                                            : read_script(errand, reply, &was);

    errand->stands = status == LK_OK && (was || errand->ask.doubted);
    return status;
}

static lk_status
errand_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    lk__errand *errand = lk__errand_of(ask);

    *ret_more = false;
    errand->sent_at = ask->request.sent_at;
    if (ask->script == lk__redlock_acquire.script)
        return read_acquire(errand, reply);
    return ask->script == lk__redlock_keep.script ? read_keep(errand, reply)
                                                  : read_close(errand, reply);
}

static void errand_cleanup(lk__ask *ask)
{
    lk__token_unref(lk__errand_of(ask)->vote->token);
}

/* NULL: out of memory. */
static lk__errand *errand_new(lk__vote *vote, const lk__signature *signature,
                              const void *args, void (*ended)(lk__ask *ask))
{
    lk__question *question;
    lk__errand *errand =
        (lk__errand *)(void *)lk__ask_new(sizeof(*errand), vote->client, NULL,
                                          NULL);

    if (errand == NULL)
        return NULL;
    errand->vote = vote;
    errand->ask.take = errand_take;
    errand->ask.ended = ended;
    errand->ask.repeats = true;
    question = lk__question_begin(vote->client, signature->script, 0);
    if (question != NULL) {
        lk__question_key(question, vote->token->name);
        lk__question_args(question, signature, args);
    }
    if (lk__ask_question(&errand->ask, question) != LK_OK) {
        lk__ask_release(&errand->ask);
        return NULL;
    }
    errand->ask.cleanup = errand_cleanup;
    lk__token_ref(vote->token);
    return errand;
}

lk__errand *lk__errand_acquire(lk__vote *vote, void (*ended)(lk__ask *ask))
{
    const lk__token *token = vote->token;
    const lk__redlock_acquire_args args = {.token = lk__text_of(token->id),
                                           .lease = (int64_t)token->lease_ms};
    lk__errand *errand = errand_new(vote, &lk__redlock_acquire, &args, ended);

    if (errand != NULL)
        errand->lease_ms = token->lease_ms;
    return errand;
}

lk__errand *
lk__errand_keep(lk__vote *vote, uint64_t lease_ms, void (*ended)(lk__ask *ask))
{
    const lk__redlock_keep_args args = {.token = lk__text_of(vote->token->id),
                                        .lease = (int64_t)lease_ms};
    lk__errand *errand = errand_new(vote, &lk__redlock_keep, &args, ended);

    if (errand != NULL)
        errand->lease_ms = lease_ms;
    return errand;
}

lk__errand *lk__errand_close(lk__vote *vote, void (*ended)(lk__ask *ask))
{
    bool asks = vote->client->node->delifeq == LK__DELIFEQ_UNKNOWN;
    const lk__redlock_close_args args = {.token = lk__text_of(vote->token->id),
                                         .asks = asks};
    lk__errand *errand = errand_new(vote, &lk__redlock_close, &args, ended);

    if (errand != NULL) {
        errand->asks = asks;
        errand->ask.deletes = true;
    }
    return errand;
}
