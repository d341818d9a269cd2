/* SPDX-License-Identifier: MIT */

/*
 * Acquiring: attempt after attempt, with a pause of random length between two,
 * so that those who split the votes do not meet again and again.
 */

#include <stdio.h>
#include <string.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/wait.h"
#include "engine/cancel.h"
#include "redlock/redlock.h"

#define MS UINT64_C(1000000)

typedef struct bid {
    lk__task task; /* first */
    lk_redlock *redlock;
    lk__token *token; /* of the attempt at hand, kept; NULL: none begun */
    bool pausing;     /* the token's attempt has failed */
    uint64_t limit;   /* of the attempt, or of the pause */
    uint64_t until;   /* of the whole wait */
    bool try_only;
    uint64_t lease_ms;
    bool renews;
    lk_status before; /* of the attempt before, as far as it tells anything */
    lk_cancel *cancel;
    lk__guest guest; /* told when the cancel token's client is woken */
    lk_status status;
    char words[200];
    lk_acquire_cb cb;
    void *data;
    lk__call call;
} bid;

static bid *bid_of(lk__task *task)
{
    return (bid *)(void *)task;
}

static bool bid_end(bid *self, lk_status status)
{
    self->status = status;
    return true;
}

/* ---- one attempt ------------------------------------------------------------- */

static lk_status attempt_begin(bid *self)
{
    const lk_redlock *redlock = self->redlock;
    const lk_redlock_options *options = &redlock->options;
    const lk__token_plan plan = {.count = redlock->count,
                                 .clients = redlock->clients,
                                 .name = redlock->name,
                                 .lease_ms = self->lease_ms,
                                 .renews = self->renews,
                                 .longest_lease_ms = options->longest_lease_ms,
                                 .quarantine_ms =
                                     options->durable
                                         ? 0
                                         : options->longest_lease_ms,
                                 .node_timeout_ms = options->node_timeout_ms};
    lk__token *token = lk__token_new(&plan);

    if (token == NULL) {
        lk__fail(LK_ENOMEM, "%s", lk_status_text(LK_ENOMEM));
        return LK_ENOMEM;
    }
    self->token = token;
    self->pausing = false;
    token->begun_at = lk__token_now(token);
    self->limit = token->begun_at + options->node_timeout_ms * MS;
    if (!self->try_only && self->until < self->limit)
        self->limit = self->until;
    lk__redlock_note(self->redlock, token);
    for (size_t i = 0; i < token->count; i++)
        lk__vote_begin(&token->votes[i]);
    return LK_OK;
}

/* Nobody is waited for any more. One that was away from the start has words for
   that. Under the mutex. */
static void pending_end(lk__token *token)
{
    for (size_t i = 0; i < token->count; i++) {
        lk__vote *vote = &token->votes[i];

        if (vote->answer != LK_REDLOCK_PENDING)
            continue;
        vote->answer = LK_REDLOCK_UNREACHABLE;
        vote->status = LK_EOFFLINE;
        if (vote->words[0] == '\0')
            (void)snprintf(vote->words, sizeof(vote->words),
                           "no answer in time");
    }
}

/* Looks what it has come to; stands by if it is not decided. */
static lk__tally attempt_look(bid *self)
{
    lk__token *token = self->token;
    bool is_over = lk__token_now(token) >= self->limit ||
                   lk__cancel_is_fired(self->cancel);
    lk__tally tally;

    pthread_mutex_lock(&token->mutex);
    tally = token->phase == LK__TOKEN_HELD ? LK__TALLY_WON
                                           : lk__token_judge(token, is_over);
    if (tally == LK__TALLY_OPEN) {
        lk__token_task_add(token, &self->task);
    } else {
        lk__token_task_remove(token, &self->task);
        if (tally != LK__TALLY_WON && is_over)
            pending_end(token);
    }
    pthread_mutex_unlock(&token->mutex);
    return tally;
}

/* What it planted is taken away; what is under way, behind it. */
static void attempt_close(const bid *self)
{
    lk__token *token = self->token;

    pthread_mutex_lock(&token->mutex);
    lk__token_shut(token);
    pthread_mutex_unlock(&token->mutex);
    for (size_t i = 0; i < token->count; i++)
        lk__vote_close(&token->votes[i]);
}

/* ---- what a failure means ------------------------------------------------------ */

/* Writes what each server said that did not grant it. Under the mutex. */
static void words_write(bid *self)
{
    const lk__token *token = self->token;
    size_t granted = 0, used;

    for (size_t i = 0; i < token->count; i++)
        granted += token->votes[i].answer == LK_REDLOCK_GRANTED;
    used = (size_t)snprintf(self->words, sizeof(self->words),
                            "%zu of %zu servers granted it%s", granted,
                            token->count,
                            granted < lk__quorum(token->count)
                                ? ""
                                : ", with less than useful_ms left");
    for (size_t i = 0; i < token->count && used < sizeof(self->words); i++) {
        if (token->votes[i].words[0] != '\0')
            used +=
                (size_t)snprintf(self->words + used, sizeof(self->words) - used,
                                 "; node %zu: %s", i, token->votes[i].words);
    }
}

/* How many votes have this status. Under the mutex. */
static size_t votes_with(const lk__token *token, lk_status status)
{
    size_t count = 0;

    for (size_t i = 0; i < token->count; i++)
        count += token->votes[i].status == status;
    return count;
}

/* What most servers refuse with, if it is one thing. Under the mutex. */
static lk_status common_refusal(const lk__token *token)
{
    for (size_t i = 0; i < token->count; i++) {
        const lk__vote *vote = &token->votes[i];

        if (vote->answer == LK_REDLOCK_ERROR &&
            votes_with(token, vote->status) >= lk__quorum(token->count))
            return vote->status;
    }
    return LK_EQUORUM;
}

/* So many servers have no say that too few are left. One without a limit waits for
   those that are away. */
static bool is_hopeless(const bid *self)
{
    const lk__token *token = self->token;
    size_t silent = 0;

    for (size_t i = 0; i < token->count; i++)
        silent += token->votes[i].is_gone ||
                  (token->votes[i].is_away && self->until != LK__NEVER);
    return token->count - silent < lk__quorum(token->count);
}

/* The end of the wait came before the servers had had their time. */
static bool is_cut_short(const bid *self)
{
    const lk__token *token = self->token;

    return self->limit == self->until &&
           self->limit < token->begun_at + token->node_timeout_ns;
}

/* The status of an attempt that failed; whether it is the last. */
static lk_status failure_of(bid *self, lk__tally tally, bool *ret_is_last)
{
    lk__token *token = self->token;
    lk_status status = LK_EBUSY;

    pthread_mutex_lock(&token->mutex);
    words_write(self);
    *ret_is_last = self->try_only;
    if (tally != LK__TALLY_BUSY) {
        status = common_refusal(token);
        if (!lk_status_is_retriable(status) || is_hopeless(self))
            *ret_is_last = true;
        else if (status == LK_EQUORUM && is_cut_short(self))
            status = self->before;
    }
    self->before = status;
    pthread_mutex_unlock(&token->mutex);
    return status;
}

static bool wait_over(bid *self, lk_status status)
{
    if (status == LK_EBUSY && !self->try_only)
        status = LK_ETIMEDOUT;
    return bid_end(self, lk__fail(status, "%s", self->words));
}

/* Pauses, unless this was the end. */
static bool attempt_failed(bid *self, lk__tally tally)
{
    const lk_redlock *redlock = self->redlock;
    uint64_t pause = redlock->options.retry_ms * MS;
    uint64_t now = lk__token_now(self->token);
    bool is_last;
    lk_status status;

    attempt_close(self);
    status = failure_of(self, tally, &is_last);
    if (lk__cancel_is_fired(self->cancel))
        return bid_end(self, lk__fail(LK_ECANCELED, "%s",
                                      lk_status_text(LK_ECANCELED)));
    if (is_last || now >= self->until)
        return wait_over(self, status);
    self->pausing = true;
    self->status = status; /* if the wait ends in the pause */
    self->limit = now + pause / 2 + lk__client_random(self->task.home, pause);
    if (self->limit > self->until)
        self->limit = self->until;
    return false;
}

/* Most servers granted it: is there enough left of it? Else it is given back
   as if too few had. */
static bool attempt_won(bid *self)
{
    const lk_hold *hold = (const lk_hold *)(const void *)self->token;

    if (lk_hold_check(hold) == LK_OK &&
        lk_hold_remaining_ms(hold) >= self->redlock->options.useful_ms &&
        !lk__cancel_is_fired(self->cancel))
        return bid_end(self, LK_OK);
    return attempt_failed(self, LK__TALLY_ABSENT);
}

/* ---- the whole ------------------------------------------------------------------- */

/* True: the pause is over, and so may be the wait. */
static bool pause_look(bid *self, bool *ret_ended)
{
    uint64_t now = lk__token_now(self->token);

    *ret_ended = true;
    if (lk__cancel_is_fired(self->cancel))
        return bid_end(self, lk__fail(LK_ECANCELED, "%s",
                                      lk_status_text(LK_ECANCELED)));
    if (now >= self->until)
        return wait_over(self, self->status);
    *ret_ended = false;
    return now >= self->limit;
}

static void token_forget(bid *self)
{
    if (self->token != NULL)
        lk__token_drop(self->token);
    self->token = NULL;
}

/* True: there is an attempt to look at. False: a pause, or the end. */
static bool bid_has_attempt(bid *self, bool *ret_ended)
{
    if (self->token != NULL && !self->pausing)
        return true;
    if (self->token != NULL && !pause_look(self, ret_ended))
        return false;
    if (*ret_ended)
        return false;
    token_forget(self);
    self->status = attempt_begin(self);
    *ret_ended = self->status != LK_OK;
    return !*ret_ended;
}

static bool bid_advance(lk__task *task)
{
    bid *self = bid_of(task);
    bool ended = false;

    while (!ended && bid_has_attempt(self, &ended)) {
        lk__tally tally = attempt_look(self);

        if (tally == LK__TALLY_OPEN)
            break;
        ended = tally == LK__TALLY_WON ? attempt_won(self)
                                       : attempt_failed(self, tally);
    }
    task->due = self->limit;
    return ended;
}

/* The cancel token's client was woken, perhaps for another token. */
static void on_wake(lk__guest *guest)
{
    bid *self = LK__CONTAINER_OF(guest, bid, guest);

    if (lk__cancel_is_fired(self->cancel))
        lk__task_wake(&self->task, lk__cancel_client(self->cancel));
}

static void cancel_listen(bid *self)
{
    lk_client *client;

    if (self->cancel == NULL)
        return;
    client = lk__cancel_client(self->cancel);
    self->guest.tell = on_wake;
    lk__client_lock(client);
    lk__guest_add(&client->first_waker, &self->guest);
    lk__client_leave(client);
}

static void cancel_unlisten(bid *self)
{
    lk_client *client;

    if (self->cancel == NULL)
        return;
    client = lk__cancel_client(self->cancel);
    lk__client_lock(client);
    lk__guest_remove(&self->guest);
    lk__client_leave(client);
}

/* ---- checks ------------------------------------------------------------------------ */

static lk_status options_take(const lk_redlock *redlock,
                              const lk_acquire_options *given,
                              lk_acquire_options *options)
{
    lk_status status = lk__options_copy(options, sizeof(*options), given);
    bool is_ours = options->cancel == NULL;

    if (status != LK_OK)
        return status;
    if (options->owner != NULL)
        return lk__fail(LK_EINVAL, "a redlock has no owners: it is not "
                                   "re-entered");
    if (options->replicas != 0 || options->replica_ms != 0)
        return lk__fail(LK_EINVAL, "replicas are one server's, and a redlock "
                                   "has several");
    for (size_t i = 0; i < redlock->count && !is_ours; i++)
        is_ours = lk__cancel_client(options->cancel) == redlock->clients[i];
    if (!is_ours)
        return lk__fail(LK_EINVAL, "the cancel token is another client's");
    if (options->lease_ms > redlock->options.longest_lease_ms)
        return lk__fail(LK_EINVAL, "longer than longest_lease_ms: a server "
                                   "that restarts would not abstain for as "
                                   "long");
    if (options->lease_ms != 0 &&
        options->lease_ms <= redlock->options.node_timeout_ms)
        return lk__fail(LK_EINVAL, "the lease is not longer than "
                                   "node_timeout_ms");
    if (options->lease_ms != 0)
        return lk__redlock_check_useful(&redlock->options, options->lease_ms);
    return LK_OK;
}

/* Enough clients are open, and none of them is waiting for this thread. */
static lk_status clients_enter(const lk_redlock *redlock, bool blocking)
{
    size_t open = 0;

    for (size_t i = 0; i < redlock->count; i++) {
        lk_client *client = redlock->clients[i];
        lk_status status = blocking ? lk__client_enter_blocking(client)
                                    : lk__client_enter(client);

        if (status == LK_OK && blocking)
            lk__client_leave_blocking(client);
        else if (status == LK_OK)
            lk__client_leave(client);
        else if (status != LK_ECLOSED)
            return status;
        open += status == LK_OK;
    }
    if (open < lk__quorum(redlock->count))
        return lk__fail(LK_ECLOSED, "%zu of %zu clients are shut down",
                        redlock->count - open, redlock->count);
    return LK_OK;
}

static lk_status bid_init(bid *self, lk_redlock *redlock, int64_t wait_ms,
                          const lk_acquire_options *options, bool blocking)
{
    lk_acquire_options copy;
    lk_status status = lk__wait_check(wait_ms);

    if (status == LK_OK)
        status = options_take(redlock, options, &copy);
    if (status == LK_OK)
        status = clients_enter(redlock, blocking);
    if (status != LK_OK)
        return status;
    self->redlock = lk__redlock_ref(redlock);
    self->task.advance = bid_advance;
    self->task.home = redlock->clients[0];
    self->try_only = wait_ms == 0;
    self->before = LK_EBUSY;
    self->until = lk__wait_until_ns(lk__client_now(self->task.home), wait_ms);
    self->renews = copy.lease_ms == 0;
    self->lease_ms =
        copy.lease_ms != 0 ? copy.lease_ms : redlock->options.lease_ms;
    self->cancel = copy.cancel;
    cancel_listen(self);
    return LK_OK;
}

/* ---- calls ---------------------------------------------------------------------------- */

lk_status lk_redlock_acquire(lk_redlock *redlock, int64_t wait_ms,
                             const lk_acquire_options *options,
                             lk_hold **ret_hold)
{
    bid self = {.token = NULL};
    lk_status status;

    if (redlock == NULL || ret_hold == NULL)
        return lk__fail(LK_EINVAL, "the handle or ret_hold is NULL");
    status = bid_init(&self, redlock, wait_ms, options, true);
    if (status != LK_OK)
        return status;
    lk__task_run(&self.task);
    cancel_unlisten(&self);
    if (self.status == LK_OK)
        *ret_hold = (lk_hold *)(void *)self.token;
    else
        token_forget(&self);
    lk__redlock_unref(redlock);
    return self.status;
}

static void bid_deliver(lk__call *call)
{
    bid *self = LK__CONTAINER_OF(call, bid, call);

    self->cb(call->status, (lk_hold *)(void *)self->token, self->data);
    lk__free(self);
}

static void bid_finish(lk__task *task)
{
    bid *self = bid_of(task);
    lk_redlock *redlock = self->redlock;
    lk_client *home = lk__client_ref(task->home);

    cancel_unlisten(self);
    if (self->status != LK_OK)
        token_forget(self);
    lk__task_deliver(&self->call, home, self->status, bid_deliver);
    lk__redlock_unref(redlock);
    lk__client_unref(home);
}

lk_status lk_redlock_acquire_async(lk_redlock *redlock, int64_t wait_ms,
                                   const lk_acquire_options *options,
                                   lk_acquire_cb cb, void *data)
{
    lk_status status;
    bid *self;

    if (redlock == NULL || cb == NULL)
        return lk__fail(LK_EINVAL, "the handle or the callback is NULL");
    self = lk__alloc(sizeof(*self));
    if (self == NULL)
        return LK_ENOMEM;
    status = bid_init(self, redlock, wait_ms, options, false);
    if (status != LK_OK) {
        lk__free(self);
        return status;
    }
    self->task.finish = bid_finish;
    self->cb = cb;
    self->data = data;
    lk__task_begin(&self->task);
    return LK_OK;
}
