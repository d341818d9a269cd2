/* SPDX-License-Identifier: MIT */

/* The token: what all of its votes make together. See token.h. */

#include "redlock/token.h"

#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/container.h"
#include "base/deadline.h"
#include "base/mem.h"

#define MS UINT64_C(1000000)

enum { STILL_PART = 4 }; /* of the lease: so late a loop stood still */

/* ---- life ------------------------------------------------------------------ */

/* False: the system has no random numbers. */
static bool id_make(lk__token *token, lk_client *client)
{
    unsigned char bytes[16];

    if (!client->world->class->random(client->world, bytes, sizeof(bytes)))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++)
        (void)snprintf(token->id + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

static void run_lost(lk__post *post);

/* The votes hold on to their clients from here on. */
static void votes_init(lk__token *token, lk_client *const *clients)
{
    for (size_t i = 0; i < token->count; i++) {
        token->votes[i].token = token;
        token->votes[i].client = lk__client_ref(clients[i]);
        token->votes[i].renew_at = LK__NEVER;
        token->votes[i].end = LK__VOTE_FREE;
    }
}

lk__token *lk__token_new(const lk__token_plan *plan)
{
    lk__token *token =
        lk__alloc(sizeof(*token) + plan->count * sizeof(*token->votes));
    lk_status status;

    if (token == NULL)
        return NULL;
    token->class = &lk__token_hold_class;
    token->refs = 1;
    token->keepers = 1;
    token->count = plan->count;
    token->lease_ms = plan->lease_ms;
    token->renews = plan->renews;
    token->longest_lease_ms = plan->longest_lease_ms;
    token->quarantine_ns = plan->quarantine_ms * MS;
    token->node_timeout_ns = plan->node_timeout_ms * MS;
    token->post.run = run_lost;
    token->fd = -1;
    pthread_mutex_init(&token->mutex, NULL);
    status = id_make(token, plan->clients[0]) ? LK_OK : LK_ENOMEM;
    votes_init(token, plan->clients);
    token->name = lk__strdup(plan->name);
    for (size_t i = 0; i < token->count && status == LK_OK; i++)
        status = token->name == NULL ? LK_ENOMEM
                                     : lk__vote_prepare(&token->votes[i]);
    if (status == LK_OK)
        return token;
    for (size_t i = 0; i < token->count; i++)
        lk__vote_discard(&token->votes[i]);
    lk__token_drop(token);
    return NULL;
}

void lk__token_ref(lk__token *token)
{
    token->refs++;
}

void lk__token_unref(lk__token *token)
{
    if (--token->refs > 0)
        return;
    pthread_mutex_destroy(&token->mutex);
    lk__free(token->name);
    lk__free(token);
}

lk__token *lk__token_keep(lk__token *token)
{
    token->keepers++;
    return token;
}

void lk__token_drop(lk__token *token)
{
    if (--token->keepers > 0)
        return;
    for (size_t i = 0; i < token->count; i++)
        lk__client_unref(token->votes[i].client);
    lk__token_unref(token);
}

uint64_t lk__token_now(const lk__token *token)
{
    return lk__client_now(token->votes[0].client);
}

/* ---- votes together -------------------------------------------------------- */

static void tally_fill(const lk__token *token, bool is_over,
                       lk__tally_vote tally[LK_REDLOCK_NODES_MAX])
{
    for (size_t i = 0; i < token->count; i++) {
        const lk__vote *vote = &token->votes[i];

        tally[i].server = vote->server;
        tally[i].until = vote->until;
        tally[i].is_busy = vote->answer == LK_REDLOCK_BUSY;
        tally[i].is_pending = vote->answer == LK_REDLOCK_PENDING && !is_over;
        tally[i].is_slow = vote->is_slow;
    }
}

lk__tally lk__token_judge(lk__token *token, bool is_over)
{
    lk__tally_vote tally[LK_REDLOCK_NODES_MAX];

    tally_fill(token, is_over, tally);
    return lk__tally_judge(token->count, tally);
}

static uint64_t until_of(const lk__token *token)
{
    lk__tally_vote tally[LK_REDLOCK_NODES_MAX];

    tally_fill(token, true, tally);
    return lk__tally_until(token->count, tally);
}

uint64_t lk__token_until_since(const lk__token *token, uint64_t since)
{
    lk__tally_vote tally[LK_REDLOCK_NODES_MAX];

    tally_fill(token, true, tally);
    for (size_t i = 0; i < token->count; i++) {
        if (token->votes[i].seen_at < since)
            tally[i].until = 0;
    }
    return lk__tally_until(token->count, tally);
}

/* ---- the end of validity ----------------------------------------------------- */

/* Readable from the deadline on, whatever this process is busy with. */
void lk__token_fd_arm(const lk__token *token)
{
    struct itimerspec when = {0};
    uint64_t at = token->lost_at != 0 ? 1 : token->deadline;

    if (token->fd < 0)
        return;
    if (at == 0)
        at = 1; /* 0 would disarm it */
    when.it_value.tv_sec = (time_t)(at / (1000 * MS));
    when.it_value.tv_nsec = (long)(at % (1000 * MS));
    timerfd_settime(token->fd, TFD_TIMER_ABSTIME, &when, NULL);
}

lk_loss lk__token_time_loss(const lk__token *token)
{
    uint64_t deadline = token->deadline;

    if (!token->renews)
        return LK_LOSS_EXPIRED;
    return deadline != 0 && lk__token_now(token) >
                                deadline + token->lease_ms * MS / STILL_PART
               ? LK_LOSS_STOPPED
               : LK_LOSS_UNREACHABLE;
}

/* Time has passed, or the votes went, which is more to the point. */
static lk_loss loss_of(const lk__token *token)
{
    size_t standing = 0;

    for (size_t i = 0; i < token->count; i++)
        standing += token->votes[i].until != 0;
    if (standing < lk__quorum(token->count))
        return token->last_loss;
    return lk__token_time_loss(token);
}

static void lose(lk__token *token, uint64_t now, lk_client *client)
{
    uint64_t deadline = token->deadline;

    atomic_store(&token->loss, (int)loss_of(token));
    atomic_store(&token->lost_at,
                 deadline != 0 && deadline < now ? deadline : now);
    lk__token_fd_arm(token);
    lk__token_post(token, client);
}

static void deadline_move(lk__token *token, uint64_t deadline)
{
    if (deadline > token->deadline)
        token->noticed = false;
    atomic_store(&token->deadline, deadline);
    lk__token_fd_arm(token);
}

/* An answer that comes after the deadline does not bring the hold back. */
static void look_at_hold(lk__token *token, lk_client *client)
{
    uint64_t now = lk__client_now(client);
    uint64_t deadline = until_of(token);

    if (token->lost_at != 0)
        return;
    if (now < token->deadline && deadline != token->deadline)
        deadline_move(token, deadline);
    if (now >= token->deadline) {
        lose(token, now, client);
    } else if (token->notice_ns != 0 && !token->noticed &&
               now + token->notice_ns >= token->deadline) {
        token->noticed = true;
        lk__token_post(token, client);
    }
}

void lk__token_look(lk__token *token, lk_client *client)
{
    if (token->phase == LK__TOKEN_SEEKING &&
        lk__token_judge(token, false) == LK__TALLY_WON) {
        token->phase = LK__TOKEN_HELD;
        atomic_store(&token->deadline, until_of(token));
    }
    if (token->phase == LK__TOKEN_HELD)
        look_at_hold(token, client);
    /* A task that is woken ends under the mutex, and so after this. */
    for (lk__task *task = token->first_task; task != NULL; task = task->next)
        lk__task_wake(task, client);
}

void lk__token_shut(lk__token *token)
{
    token->phase = LK__TOKEN_CLOSED;
    token->cb = NULL;
    if (token->fd >= 0)
        close(token->fd);
    token->fd = -1;
}

uint64_t lk__token_next_look(const lk__token *token)
{
    uint64_t deadline = token->deadline;

    if (token->phase == LK__TOKEN_CLOSED || token->lost_at != 0)
        return LK__NEVER;
    if (token->phase == LK__TOKEN_SEEKING)
        return lk__deadline_ns(token->begun_at, token->lease_ms);
    if (token->cb == NULL || token->notice_ns == 0 || token->noticed)
        return deadline;
    return deadline > token->notice_ns ? deadline - token->notice_ns : 0;
}

/* ---- tasks ------------------------------------------------------------------ */

void lk__token_task_add(lk__token *token, lk__task *task)
{
    if (task->listed)
        return;
    task->listed = true;
    task->next = token->first_task;
    token->first_task = task;
}

void lk__token_task_remove(lk__token *token, lk__task *task)
{
    lk__task **at = &token->first_task;

    if (!task->listed)
        return;
    while (*at != task)
        at = &(*at)->next;
    *at = task->next;
    task->listed = false;
}

/* ---- the callback -------------------------------------------------------------- */

/* One at a time, on whichever client's loop it was first due. */
void lk__token_post(lk__token *token, lk_client *client)
{
    if (token->cb == NULL)
        return;
    if (token->posted_on != NULL) {
        token->post_again = true;
        return;
    }
    token->posted_on = client;
    token->post_again = false;
    lk__client_post(client, &token->post);
}

static bool take_callback(lk__token *token, lk_lost_cb *ret_cb, void **ret_data)
{
    pthread_mutex_lock(&token->mutex);
    *ret_cb = token->cb;
    *ret_data = token->data;
    token->post_again = false;
    pthread_mutex_unlock(&token->mutex);
    return *ret_cb != NULL;
}

/* True: nothing happened while the callback ran. */
static bool post_over(lk__token *token)
{
    bool again;

    pthread_mutex_lock(&token->mutex);
    again = token->post_again && token->cb != NULL;
    if (!again)
        token->posted_on = NULL;
    pthread_mutex_unlock(&token->mutex);
    return !again;
}

static void run_lost(lk__post *post)
{
    lk__token *token = LK__CONTAINER_OF(post, lk__token, post);
    lk_lost_cb cb;
    void *data;

    lk__token_keep(token); /* the callback may release it */
    do {
        if (take_callback(token, &cb, &data))
            cb((lk_hold *)(void *)token,
               lk_hold_remaining_ms((lk_hold *)(void *)token), data);
    } while (!post_over(token));
    lk__token_drop(token);
}
