/* SPDX-License-Identifier: MIT */

/* A token as a hold; what each function promises is in hold.h. */

#include "claims/hold.h"

#include <inttypes.h>
#include <sys/timerfd.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "redlock/token.h"

#define MS UINT64_C(1000000)

static const lk__token *const_token_of(const lk_hold *hold)
{
    return (const lk__token *)(const void *)hold;
}

static lk__token *token_of(lk_hold *hold)
{
    return (lk__token *)(void *)hold;
}

/* ---- questions --------------------------------------------------------------- */

static lk_status token_forked(const lk__token *token)
{
    return lk__client_check(token->votes[0].client);
}

static lk_status token_check(const lk_hold *hold)
{
    const lk__token *token = const_token_of(hold);
    lk_status status = token_forked(token);

    if (status != LK_OK)
        return status;
    if (token->lost_at != 0 || lk__token_now(token) >= token->deadline)
        return LK_ELOST;
    return LK_OK;
}

/* No number grows over several servers that may each forget. */
static uint64_t token_fence(const lk_hold *hold)
{
    (void)hold;
    return 0;
}

static uint64_t token_remaining_ms(const lk_hold *hold)
{
    const lk__token *token = const_token_of(hold);

    if (token_check(hold) != LK_OK)
        return 0;
    return lk__remaining_ms(lk__token_now(token), token->deadline);
}

static lk_loss token_loss(const lk_hold *hold)
{
    const lk__token *token = const_token_of(hold);

    if (token_check(hold) != LK_ELOST)
        return LK_LOSS_NONE;
    if (token->lost_at != 0)
        return (lk_loss)token->loss;
    return lk__token_time_loss(token);
}

static uint64_t token_lost_for_ms(const lk_hold *hold)
{
    const lk__token *token = const_token_of(hold);
    uint64_t lost_at;

    if (token_check(hold) != LK_ELOST)
        return 0;
    lost_at = token->lost_at;
    return lk__remaining_ms(lost_at != 0 ? lost_at : token->deadline,
                            lk__token_now(token));
}

/* ---- callback and descriptor ---------------------------------------------------- */

/* Takes the callback away, or waits until it has run; not for itself. */
static void callback_clear(lk__token *token)
{
    lk_client *client;
    bool is_running;

    pthread_mutex_lock(&token->mutex);
    token->cb = NULL;
    client = token->posted_on;
    pthread_mutex_unlock(&token->mutex);
    if (client == NULL)
        return;

    lk__client_lock(client);
    lk__client_unpost(client, &token->post);
    is_running = lk__client_runs(client, &token->post); /* by this thread */
    pthread_mutex_lock(&token->mutex);
    if (!is_running)
        token->posted_on = NULL;
    pthread_mutex_unlock(&token->mutex);
    lk__client_leave(client);
}

static void post_lost(lk__token *token)
{
    lk_client *client = token->votes[0].client;

    lk__client_lock(client);
    pthread_mutex_lock(&token->mutex);
    lk__token_post(token, client);
    pthread_mutex_unlock(&token->mutex);
    lk__client_leave(client);
}

/* LK_ELOST: the callback that was cleared has released the token. */
static lk_status
callback_set(lk__token *token, uint64_t notice_ms, lk_lost_cb cb, void *data)
{
    bool is_lost;

    pthread_mutex_lock(&token->mutex);
    if (token->phase == LK__TOKEN_CLOSED) {
        pthread_mutex_unlock(&token->mutex);
        return lk__hold_ended();
    }
    token->cb = cb;
    token->data = data;
    token->notice_ns = notice_ms * MS;
    token->noticed = false;
    is_lost = token->lost_at != 0;
    pthread_mutex_unlock(&token->mutex);
    for (size_t i = 0; i < token->count && !is_lost; i++)
        lk__vote_rearm(&token->votes[i]);
    if (is_lost)
        post_lost(token);
    return LK_OK;
}

static lk_status
token_on_lost(lk_hold *hold, uint64_t notice_ms, lk_lost_cb cb, void *data)
{
    lk__token *token = token_of(hold);
    lk_status status;

    if (notice_ms > LK__TIME_MAX_MS)
        return lk__fail(LK_EINVAL, "notice_ms is out of range");
    status = token_forked(token);
    if (status != LK_OK)
        return status;

    lk__token_keep(token); /* the callback that is waited for may release it */
    callback_clear(token);
    status = callback_set(token, notice_ms, cb, data);
    lk__token_drop(token);
    return status;
}

static int token_fd(lk_hold *hold)
{
    lk__token *token = token_of(hold);
    int fd;

    if (token_forked(token) != LK_OK)
        return -1;
    pthread_mutex_lock(&token->mutex);
    if (token->fd < 0) {
        token->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        lk__token_fd_arm(token);
    }
    fd = token->fd;
    pthread_mutex_unlock(&token->mutex);
    return fd;
}

/* ---- changes --------------------------------------------------------------------- */

/* A release or an extension. */
typedef struct change {
    lk__task task; /* first */
    lk__token *token;
    lk_status status;
    uint64_t begun_at;
    uint64_t target; /* of an extension: the deadline to be had */
    uint64_t limit;
    bool is_lost; /* of a release: it was lost before */
    lk_done_cb cb;
    void *data;
    lk__call call;
} change;

static change *change_of(lk__task *task)
{
    return (change *)(void *)task;
}

static void change_deliver(lk__call *call)
{
    change *self = LK__CONTAINER_OF(call, change, call);

    if (self->cb != NULL)
        self->cb(call->status, self->data);
    lk__free(self);
}

/* The clients are let go of before the callback, which may free them. */
static void change_finish(lk__task *task)
{
    change *self = change_of(task);
    lk__token *token = self->token;
    lk_client *home = lk__client_ref(task->home);

    lk__task_deliver(&self->call, home, self->status, change_deliver);
    lk__token_drop(token);
    lk__client_unref(home);
}

static void change_init(change *self, lk__token *token, uint64_t limit_ns)
{
    self->token = token;
    self->task.home = token->votes[0].client;
    self->begun_at = lk__token_now(token);
    self->limit = self->begun_at + limit_ns;
    self->task.due = self->limit;
}

/* A call that may wait must not stand on a loop that it waits for. */
static lk_status token_blocking_check(const lk__token *token)
{
    for (size_t i = 0; i < token->count; i++) {
        lk_client *client = token->votes[i].client;
        bool is_callback;

        lk__client_lock(client);
        is_callback = lk__client_is_callback(client);
        lk__client_leave(client);
        if (is_callback)
            return lk__fail(LK_ECALLBACK,
                            "a callback may not block its own loop");
    }
    return LK_OK;
}

/* ---- extend ----------------------------------------------------------------------- */

/* What the extension has come to, under the mutex; true: it is decided. */
static bool extend_is_decided(change *self)
{
    lk__token *token = self->token;

    self->status = LK_OK;
    if (token_check((const lk_hold *)(const void *)token) != LK_OK ||
        token->phase != LK__TOKEN_HELD)
        self->status = lk__fail(LK_ELOST, "lost before most servers agreed");
    else if (lk__token_until_since(token, self->begun_at) >= self->target)
        self->status = LK_OK;
    else if (lk__token_now(token) >= self->limit)
        self->status = lk__fail(LK_EINDOUBT, "too few servers answered; the "
                                             "old deadline stands");
    else
        return false;
    return true;
}

static bool extend_advance(lk__task *task)
{
    change *self = change_of(task);
    lk__token *token = self->token;
    bool is_over;

    pthread_mutex_lock(&token->mutex);
    is_over = extend_is_decided(self);
    if (is_over)
        lk__token_task_remove(token, task);
    else
        lk__token_task_add(token, task);
    pthread_mutex_unlock(&token->mutex);
    return is_over;
}

static lk_status extend_check(lk__token *token, uint64_t lease_ms)
{
    lk_status status = lk__lease_check(lease_ms);

    if (status == LK_OK)
        status = token_forked(token);
    if (status == LK_OK && lease_ms > token->longest_lease_ms)
        status = lk__fail(LK_EINVAL, "longer than longest_lease_ms: a server "
                                     "that restarts would not abstain for as "
                                     "long");
    if (status == LK_OK &&
        token_check((const lk_hold *)(const void *)token) != LK_OK)
        status = lk__fail(LK_ELOST, "it is lost");
    return status;
}

/* LK_OK: enough were asked to make the difference. */
static lk_status extend_send(change *self, uint64_t lease_ms)
{
    lk__token *token = self->token;
    lk_status status = LK_OK;

    self->target = lk__deadline_ns(self->begun_at, lease_ms);
    for (size_t i = 0; i < token->count && status != LK_ENOMEM; i++)
        status = lk__vote_extend(&token->votes[i], lease_ms);
    return status == LK_ENOMEM ? status : LK_OK;
}

static lk_status token_extend(lk_hold *hold, uint64_t lease_ms)
{
    lk__token *token = token_of(hold);
    change self = {.task.advance = extend_advance};
    lk_status status = extend_check(token, lease_ms);

    if (status == LK_OK)
        status = token_blocking_check(token);
    if (status != LK_OK)
        return status;
    /* The hold may be released while this sleeps. */
    change_init(&self, lk__token_keep(token), token->node_timeout_ns);
    status = extend_send(&self, lease_ms);
    if (status == LK_OK) {
        lk__task_run(&self.task);
        status = self.status;
    }
    lk__token_drop(token);
    return status;
}

static lk_status
token_extend_async(lk_hold *hold, uint64_t lease_ms, lk_done_cb cb, void *data)
{
    lk__token *token = token_of(hold);
    lk_status status = extend_check(token, lease_ms);
    change *self;

    if (status == LK_OK && cb == NULL)
        status = lk__fail(LK_EINVAL, "the callback is NULL");
    if (status != LK_OK)
        return status;
    self = lk__alloc(sizeof(*self));
    if (self == NULL)
        return LK_ENOMEM;
    change_init(self, lk__token_keep(token), token->node_timeout_ns);
    self->task.advance = extend_advance;
    self->task.finish = change_finish;
    self->cb = cb;
    self->data = data;
    status = extend_send(self, lease_ms);
    if (status != LK_OK) {
        lk__token_drop(token);
        lk__free(self);
        return status;
    }
    lk__task_begin(&self->task);
    return LK_OK;
}

/* ---- release ------------------------------------------------------------------------ */

/*
 * What the release has come to, under the mutex: true: it is decided. Others
 * can have the lock once most servers are free of the token. It was lost
 * before, if too few of them had it still.
 */
static bool release_is_decided(change *self)
{
    const lk__token *token = self->token;
    size_t free_votes = 0, had = 0;

    for (size_t i = 0; i < token->count; i++) {
        const lk__vote *vote = &token->votes[i];

        free_votes += vote->end != LK__VOTE_STANDS;
        had += vote->until != 0 && vote->end != LK__VOTE_WAS_GONE;
    }
    if (!self->is_lost && had < lk__quorum(token->count)) {
        self->status = lk__fail(LK_ELOST, "most servers had it no longer");
        return true;
    }
    if (free_votes >= lk__quorum(token->count))
        return true;
    if (lk__token_now(token) < self->limit)
        return false;
    if (!self->is_lost)
        self->status =
            lk__fail(LK_EPENDING, "too few servers answered; the release goes "
                                  "on in the background");
    return true;
}

static bool release_advance(lk__task *task)
{
    change *self = change_of(task);
    lk__token *token = self->token;
    bool is_over;

    pthread_mutex_lock(&token->mutex);
    is_over = release_is_decided(self);
    if (is_over)
        lk__token_task_remove(token, task);
    else
        lk__token_task_add(token, task);
    pthread_mutex_unlock(&token->mutex);
    return is_over;
}

/* What can be said before any server is asked. */
static void release_look(change *self)
{
    lk__token *token = self->token;
    lk_hold *hold = (lk_hold *)(void *)token;

    self->status = LK_OK;
    if (token_check(hold) == LK_OK)
        return;
    self->is_lost = true;
    self->status =
        lk__fail(LK_ELOST, "lost %" PRIu64 " ms ago", token_lost_for_ms(hold));
}

/* False: the callback that was waited for has released the token; the caller
   has a keeper of its own instead of the handle's. */
static bool release_enter(lk__token *token)
{
    bool stands;

    lk__token_keep(token);
    callback_clear(token);
    pthread_mutex_lock(&token->mutex);
    stands = token->phase != LK__TOKEN_CLOSED;
    pthread_mutex_unlock(&token->mutex);
    if (stands)
        lk__token_drop(token);
    return stands;
}

/* From here on there is no hold; the votes are asked to end. */
static void release_send(change *self)
{
    lk__token *token = self->token;

    if (!release_enter(token)) {
        self->is_lost = true;
        self->status = lk__hold_ended();
        return;
    }
    release_look(self);
    pthread_mutex_lock(&token->mutex);
    lk__token_shut(token);
    pthread_mutex_unlock(&token->mutex);
    for (size_t i = 0; i < token->count; i++)
        lk__vote_close(&token->votes[i]);
}

static lk_status token_release(lk_hold *hold)
{
    lk__token *token = token_of(hold);
    change self = {.task.advance = release_advance};
    lk_status status = token_forked(token);

    if (status != LK_OK)
        return status;
    change_init(&self, token, token->node_timeout_ns);
    release_send(&self);
    if (!self.is_lost && token_blocking_check(token) == LK_OK)
        lk__task_run(&self.task);
    else if (!self.is_lost)
        self.status = lk__fail(LK_EPENDING, "a callback does not wait for it");
    lk__token_drop(token);
    return self.status;
}

static lk_status token_release_async(lk_hold *hold, lk_done_cb cb, void *data)
{
    lk__token *token = token_of(hold);
    lk_status status = token_forked(token);
    change *self;

    if (status != LK_OK)
        return status;
    self = lk__alloc(sizeof(*self));
    if (self == NULL)
        return LK_ENOMEM;
    change_init(self, token, token->node_timeout_ns);
    self->task.advance = release_advance;
    self->task.finish = change_finish;
    self->cb = cb;
    self->data = data;
    release_send(self);
    lk__task_begin(&self->task);
    return LK_OK;
}

static lk_status token_export(lk_hold *hold, char *text, size_t size)
{
    (void)hold;
    if (text != NULL && size > 0)
        text[0] = '\0';
    return lk__fail(LK_ENOTSUP, "a hold of a redlock cannot be exported");
}

const lk__hold_class lk__token_hold_class = {
    .check = token_check,
    .fence = token_fence,
    .remaining_ms = token_remaining_ms,
    .loss = token_loss,
    .lost_for_ms = token_lost_for_ms,
    .on_lost = token_on_lost,
    .fd = token_fd,
    .extend = token_extend,
    .extend_async = token_extend_async,
    .export_to = token_export,
    .release = token_release,
    .release_async = token_release_async,
};
