/* SPDX-License-Identifier: MIT */

/*
 * What a health check says of the server's clock where one of the clocks is set
 * while it is looked at; on a virtual clock, which this host's follows.
 */

#include <latchkey/inspect.h>

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"
#include "support/played.h"

enum { READ_MS = 10000, AT_MS = 15, STEP_US = 89000, SLOW_MS = 120 };

static played *running; /* NULL: the clocks are the system's */
static int64_t host_set_us;

/* In place of the C library's. NOLINTNEXTLINE(readability-*): its names */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    int64_t us;

    if (running == NULL || clock != CLOCK_REALTIME)
        return (int)syscall(SYS_clock_gettime, clock, now);
    us = (int64_t)(fake_world_now(running->world) / 1000) + host_set_us;
    now->tv_sec = us / 1000000;
    now->tv_nsec = us % 1000000 * 1000;
    return 0;
}

static int setup(void **state)
{
    host_set_us = 0;
    running = played_new(1, NULL);
    running->tells_time = true;
    *state = running;
    return 0;
}

static int teardown(void **state)
{
    running = NULL;
    played_free(*state);
    return 0;
}

static void assert_clock(played *p, lk_check_level level)
{
    lk_health *health = NULL;
    bool found = false;

    assert_status(lk_health_check(p->client, READ_MS, &health), LK_OK);
    for (size_t i = 0; i < health->count; i++) {
        if (strcmp(health->checks[i]->id, "clock") != 0)
            continue;
        found = true;
        if (health->checks[i]->level != level)
            fail_msg("%s", health->checks[i]->text);
    }
    assert_true(found);
    lk_health_free(health);
}

static void set_server(void *data)
{
    ((played *)data)->set_us += STEP_US;
}

static void set_host(void *data)
{
    (void)data;
    host_set_us += STEP_US;
}

static void set_both(void *data)
{
    set_server(data);
    set_host(data);
}

static void soon(played *p, void (*set)(void *data))
{
    fake_world_at(p->world, fake_world_now(p->world) + AT_MS * FAKE_MS, set, p);
}

#define TEST(name) CHECK_TEST_OF(name, played *p, setup, teardown)

TEST(clocks_that_nobody_sets_are_right)
{
    assert_clock(p, LK_CHECK_OK);
}

TEST(a_server_whose_clock_is_set_is_found)
{
    soon(p, set_server);
    assert_clock(p, LK_CHECK_FAIL);
}

/* Of one machine, as of the two clocks here. */
TEST(one_clock_of_both_that_is_set_is_measured_again)
{
    soon(p, set_both);
    assert_clock(p, LK_CHECK_OK);
}

TEST(a_host_whose_clock_is_set_says_nothing_of_the_server)
{
    soon(p, set_host);
    assert_clock(p, LK_CHECK_OK);
}

static void slow_answers(void *data)
{
    played_ways(data, 1, SLOW_MS);
}

static void slow_requests(void *data)
{
    played_ways(data, SLOW_MS, 1);
}

/* A network or a process that stands still for a moment moves no clock. */
TEST(an_answer_that_takes_long_says_nothing_of_the_clock)
{
    soon(p, slow_answers);
    assert_clock(p, LK_CHECK_OK);
    played_ways(p, 1, 1);
    soon(p, slow_requests);
    assert_clock(p, LK_CHECK_OK);
}
