/* SPDX-License-Identifier: MIT */

/* The example of an event loop, as its reader runs it. */

#include <latchkey/latchkey.h>

#include <signal.h>
#include <string.h>

#include "support/check.h"
#include "support/one_server.h"
#include "support/paths.h"
#include "support/tooling.h"
#include "support/wait.h"

enum { SOON_MS = 20000 };

static tool *epoll_start(void)
{
    const tool_how epoll = {.url = server_url(redis),
                            .program = LK_EXAMPLE_DIR "/epoll"};

    return tool_start(&epoll, NULL);
}

/* Without a word on stderr, and these on stdout. */
static void assert_ends(tool *t, const char *said)
{
    assert_int_equal(tool_wait(t, SOON_MS), 0);
    assert_string_equal(tool_err(t), "");
    assert_string_equal(tool_out(t), said);
}

/* All that it had is there for others. */
static lk_hold *permits_taken(lk_client **ret_client)
{
    const lk_semaphore_options three = {LK_SEMAPHORE_OPTIONS_INIT,
                                        .permits = 3};
    lk_semaphore *pool = NULL;
    lk_hold *hold = NULL;

    assert_status(lk_client_open(ret_client, server_url(redis), NULL), LK_OK);
    assert_status(lk_semaphore_new(&pool, *ret_client, "pool", &three), LK_OK);
    assert_status(lk_semaphore_acquire(pool, 3, SOON_MS, NULL, &hold), LK_OK);
    lk_semaphore_free(pool);
    return hold;
}

static void assert_nothing_is_left(void)
{
    lk_client *client = NULL;

    assert_status(lk_hold_release(permits_taken(&client)), LK_OK);
    lk_client_free(client);
}

TOOLING_TEST(a_job_is_done_under_a_permit)
{
    assert_ends(epoll_start(),
                "permit: success\nheld: success\nended: success\n");
    assert_nothing_is_left();
}

TOOLING_TEST(a_signal_ends_the_job)
{
    tool *t = epoll_start();

    tool_wait_out(t, "permit: success\n", SOON_MS);
    assert_int_equal(kill(tool_pid(t), SIGTERM), 0);
    assert_ends(t, "permit: success\nheld: success\nended: success\n");
    assert_nothing_is_left();
}

TOOLING_TEST(a_signal_ends_the_wait)
{
    lk_client *client = NULL;
    lk_hold *hold = permits_taken(&client);
    tool *t = epoll_start();

    assert_soon(server_integer(redis, SERVER_WAITERS("pool")) == 1, SOON_MS);
    assert_int_equal(kill(tool_pid(t), SIGINT), 0);
    assert_ends(t, "permit: canceled by the caller; not held\n"
                   "ended: success\n");
    assert_int_equal(server_integer(redis, SERVER_WAITERS("pool")), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_client_free(client);
    assert_nothing_is_left();
}

CHECK_GROUP(tooling_start, tooling_stop)
