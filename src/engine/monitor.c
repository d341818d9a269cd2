/* SPDX-License-Identifier: MIT */

/* The monitor: who enters and leaves, and the callbacks that are run outside. */

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/error.h"
#include "engine/call.h"
#include "engine/client.h"
#include "engine/watch.h"

/* Callbacks that run one after the other send together: so many, and as long as
   they are quick. On the loop these are all, before it looks at what has come
   meanwhile: where each asks for the next one, they would keep it from every
   answer. */
enum { BATCH = 32, BATCH_MS = 1 };

/* ---- the door ---------------------------------------------------------------- */

lk_status lk__client_check(const lk_client *client)
{
    if (client == NULL)
        return lk__fail(LK_EINVAL, "the handle is NULL");
    if (client->fork_generation != lk__fork_generation())
        return lk__fail(LK_EFORKED, "%s", lk_status_text(LK_EFORKED));
    return LK_OK;
}

/* A thread that is canceled must not leave the monitor locked, nor its wait to
   nobody: no call is a cancellation point. */
static void monitor_lock(lk_client *client)
{
    int was;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was);
    pthread_mutex_lock(&client->mutex);
    client->cancel_state = was;
}

static lk__call *woken_take(lk_client *client)
{
    lk__call *first = client->first_woken;

    client->first_woken = NULL;
    client->last_woken = &client->first_woken;
    return first;
}

static void monitor_unlock(lk_client *client)
{
    lk__call *woken = woken_take(client);
    int was = client->cancel_state;

    pthread_mutex_unlock(&client->mutex);
    lk__calls_wake(client, woken);
    (void)pthread_setcancelstate(was, &was);
}

/* The callback that runs may itself wait for a caller that is to be woken. Others
   enter meanwhile, and leave what is theirs. */
static void post_wait(lk_client *client)
{
    int was = client->cancel_state;

    lk__calls_wake(client, woken_take(client));
    pthread_cond_wait(&client->post_done, &client->mutex);
    client->cancel_state = was;
}

/*
 * A callback may fork, and the child come back from it. Monitor and loop are the
 * parent's: another thread of that may have had the mutex. So the child enters
 * neither: a thread of the loop ends, one in a call returns to its program, and
 * finds the door open on the way.
 */
static bool is_in_child(const lk_client *client)
{
    if (client->fork_generation == lk__fork_generation())
        return false;
    if (client->world->class->is_loop(client->world))
        lk__fork_end_thread();
    return true;
}

void lk__client_lock(lk_client *client)
{
    if (!is_in_child(client))
        monitor_lock(client);
}

bool lk__client_is_busy(lk_client *client)
{
    if (pthread_mutex_trylock(&client->mutex) != 0)
        return true;
    pthread_mutex_unlock(&client->mutex);
    return false;
}

lk_status lk__client_enter(lk_client *client)
{
    lk_status status = lk__client_check(client);

    if (status != LK_OK)
        return status;
    lk__client_lock(client);
    if (client->state == LK__CLIENT_OPEN)
        return LK_OK;
    monitor_unlock(client);
    return lk__fail(LK_ECLOSED, "the client was shut down");
}

bool lk__client_is_callback(const lk_client *client)
{
    return client->world->class->is_loop(client->world) ||
           (client->posts.running != NULL &&
            pthread_equal(client->posts.runner, pthread_self()));
}

lk_status lk__client_enter_blocking(lk_client *client)
{
    lk_status status = lk__client_enter(client);

    if (status == LK_OK && lk__client_is_callback(client)) {
        monitor_unlock(client);
        return lk__fail(LK_ECALLBACK, "a callback may not block its own loop");
    }
    if (status == LK_OK)
        lk__client_ref(client);
    return status;
}

void lk__client_leave_blocking(lk_client *client)
{
    lk__client_leave(client);
    lk__client_unref(client);
}

static void leave(lk_client *client, bool sends)
{
    uint64_t at;

    if (is_in_child(client))
        return;
    client->upper->settle(client);
    if (client->first_watch != NULL)
        lk__watches_look(client);
    if (sends && client->corks == 0)
        client->upper->send(client);
    if (lk__alarms_rearm(&client->alarms, &at))
        client->world->class->set_timer(client->world, at);
    monitor_unlock(client);
}

/* Whether what they have asked for is not to stay any longer. */
static bool batch_is_over(const lk_client *client, const lk__posts *posts)
{
    return posts->run % BATCH == 0 ||
           lk__client_now(client) >=
               posts->sent_at + BATCH_MS * UINT64_C(1000000);
}

static bool batch_look(const lk_client *client, lk__posts *posts)
{
    bool is_over = batch_is_over(client, posts);

    posts->run++;
    if (is_over)
        posts->sent_at = lk__client_now(client);
    return is_over;
}

/* Runs what is due, unlocked; most of them at most. False: it is outside the
   monitor, in a child of fork(). */
static bool posts_run(lk_client *client, lk__posts *posts, unsigned most)
{
    lk__post *post;

    if (posts->running == NULL)
        posts->run = 0;
    while ((post = posts->first) != NULL && posts->running == NULL &&
           posts->run < most) {
        posts->first = post->next;
        if (posts->first == NULL)
            posts->last = NULL;
        post->queued = false;
        posts->running = post;
        posts->runner = pthread_self();
        leave(client, batch_look(client, posts));
        post->run(post);
        if (is_in_child(client))
            return false;
        lk__client_lock(client);
        posts->running = NULL;
        pthread_cond_broadcast(&client->post_done);
    }
    return true;
}

/* Whether this thread runs one of them, with others right behind it, and what it
   asks for goes out with what those do. */
static bool sends_later(const lk_client *client, const lk__posts *posts)
{
    return posts->running != NULL && posts->first != NULL &&
           pthread_equal(posts->runner, pthread_self()) &&
           !batch_is_over(client, posts);
}

void lk__client_leave(lk_client *client)
{
    leave(client, !sends_later(client, &client->posts) &&
                      !sends_later(client, &client->inner));
}

void lk__client_cork(lk_client *client)
{
    lk__client_lock(client);
    client->corks++;
    lk__client_leave(client);
}

void lk__client_uncork(lk_client *client)
{
    lk__client_lock(client);
    client->corks--;
    lk__client_leave(client);
}

/* ---- callbacks ------------------------------------------------------------------ */

static lk__posts *posts_of(lk_client *client, const lk__post *post)
{
    return post->inner ? &client->inner : &client->posts;
}

/* A counter that is full is readable as it is. */
static void dispatch_wake(const lk_client *client)
{
    static const uint64_t one = 1;
    ssize_t size;

    do
        size = write(client->dispatch_fd, &one, sizeof(one));
    while (size < 0 && errno == EINTR);
}

void lk__client_post(lk_client *client, lk__post *post)
{
    lk__posts *posts = posts_of(client, post);
    bool is_known = posts->first != NULL || posts->running != NULL;

    if (post->queued)
        return;
    post->queued = true;
    post->next = NULL;
    if (posts->first == NULL)
        posts->first = post;
    else
        posts->last->next = post;
    posts->last = post;
    if (is_known)
        return; /* whoever runs them comes to it */
    if (post->inner || client->dispatch_fd < 0)
        client->world->class->wake(client->world);
    else
        dispatch_wake(client);
}

static void post_remove(lk__posts *posts, const lk__post *post)
{
    lk__post *before = NULL;
    lk__post *at = posts->first;

    while (at != post) {
        before = at;
        at = at->next;
    }
    if (before == NULL)
        posts->first = at->next;
    else
        before->next = at->next;
    if (posts->last == at)
        posts->last = before;
    at->queued = false;
}

void lk__client_unpost(lk_client *client, lk__post *post)
{
    lk__posts *posts = posts_of(client, post);

    while (posts->running == post &&
           !pthread_equal(posts->runner, pthread_self()))
        post_wait(client);
    if (post->queued)
        post_remove(posts, post);
}

bool lk__client_runs(const lk_client *client, const lk__post *post)
{
    return client->posts.running == post || client->inner.running == post;
}

/* On the loop, which comes back to the others. */
static void posts_run_some(lk_client *client, lk__posts *posts)
{
    (void)posts_run(client, posts, BATCH); /* in a child it does not return */
    if (posts->first != NULL && posts->running == NULL)
        client->world->class->wake(client->world);
}

void lk__client_on_wake(lk_client *client)
{
    /* Cleared first: a token that is fired meanwhile wakes the loop again. */
    if (atomic_exchange(&client->canceled, false)) {
        client->upper->cancel(client);
        lk__guests_tell(client->first_waker);
    }
    posts_run_some(client, &client->inner);
    if (client->dispatch_fd < 0)
        posts_run_some(client, &client->posts);
}

int lk_client_fd(lk_client *client)
{
    return client == NULL ? -1 : client->dispatch_fd;
}

lk_status lk_client_dispatch(lk_client *client)
{
    uint64_t count;
    lk_status status = lk__client_check(client);

    if (status != LK_OK)
        return status;
    if (client->dispatch_fd < 0)
        return lk__fail(LK_EINVAL, "the client was not opened with dispatch");
    lk__client_ref(client); /* a callback may free it */
    lk__client_lock(client);
    if (read(client->dispatch_fd, &count, sizeof(count)) >= 0 &&
        !posts_run(client, &client->posts, UINT_MAX))
        return lk__client_check(client);
    lk__client_leave(client);
    lk__client_unref(client);
    return LK_OK;
}

void lk__client_finish_posts(lk_client *client)
{
    lk__client_lock(client);
    while (client->inner.first != NULL || client->inner.running != NULL)
        post_wait(client);
    if (posts_run(client, &client->posts, UINT_MAX))
        lk__client_leave(client);
}
