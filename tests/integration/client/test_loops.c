/* SPDX-License-Identifier: MIT */

/*
 * Clients that end on each other's loops, as those of redlocks do whose last
 * releases end at one time. No loop waits for the end of another.
 */

#include <latchkey/latchkey.h>

#include <dirent.h>

#include "engine/client.h"
#include "support/check.h"
#include "support/wait.h"

enum { ENDED_MS = 10000 };

/* On the loop of one client, the last reference to another is let go of. */
typedef struct ending {
    lk__post post;
    lk_client *other;
    pthread_barrier_t *barrier;
} ending;

static void end_other(lk__post *post)
{
    ending *e = (ending *)(void *)post;

    (void)pthread_barrier_wait(e->barrier);
    lk__client_unref(e->other);
}

static unsigned thread_count(void)
{
    DIR *threads = opendir("/proc/self/task");
    const struct dirent *entry;
    unsigned count = 0;

    assert_non_null(threads);
    while ((entry = readdir(threads)) !=
           NULL) /* NOLINT(concurrency-mt-unsafe) */
        count += entry->d_name[0] != '.';
    (void)closedir(threads);
    return count;
}

static lk_client *client_open(void)
{
    lk_client *client = NULL;

    assert_status(lk_client_open(&client, "unix:///nonexistent/socket", NULL),
                  LK_OK);
    assert_status(lk_client_shutdown(client, 0), LK_OK);
    return client;
}

/* Once a client has been there: a sanitizer's own thread may have come with its. */
static unsigned threads_at_rest(void)
{
    lk_client_free(client_open());
    return thread_count();
}

static void post(lk_client *client, ending *e)
{
    e->post.run = end_other;
    e->post.inner = true;
    lk__client_lock(client);
    lk__client_post(client, &e->post);
    lk__client_leave(client);
}

CHECK_TEST(two_that_end_each_other_both_end)
{
    unsigned before = threads_at_rest();
    lk_client *one = client_open(), *two = client_open();
    static pthread_barrier_t barrier; /* stays: nobody joins the loops */
    ending here = {.other = two, .barrier = &barrier};
    ending there = {.other = one, .barrier = &barrier};

    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    post(one, &here);
    post(two, &there);
    assert_soon(thread_count() <= before, ENDED_MS);
}
