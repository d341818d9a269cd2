/* SPDX-License-Identifier: MIT */

/*
 * What our first in line does while others may take the name as well: it hears
 * that the name is open, however that message and the answers of the server
 * cross.
 */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/check.h"
#include "support/redisson.h"
#include "support/scene.h"
#include "support/wait.h"

enum {
    COMMANDS = 0, /* the far client's connections at the proxy */
    INBOX = 1,
    AT_ONCE_MS = 250 /* far less than the second between two looks */
};

static int teardown(void **state)
{
    redissons_free();
    return locking_teardown(state);
}

/* Somebody of Redisson's who listens, so that releases are open ones. */
static void listen_as_redisson(locking *f)
{
    redisson_subscribe(redisson_new(f->server, "job"), REDISSON_LOCK);
}

/* Releases, and returns when the far client's inbox was told of it. */
static void release_openly(locking *f, lk_hold *hold)
{
    uint64_t before = proxy_delivered(f->proxy, INBOX, PROXY_REPLIES);

    assert_status(lk_hold_release(hold), LK_OK);
    assert_soon(proxy_delivered(f->proxy, INBOX, PROXY_REPLIES) > before,
                SCENE_MS);
    locking_pass_time(20); /* until it is read, which cannot be seen */
}

static void it_is_at_once_the_far_clients(locking *f, taker *a)
{
    uint64_t since = wait_now_ms();

    proxy_release(f->proxy, COMMANDS, PROXY_REPLIES);
    assert_true(taker_ends(a, SCENE_MS));
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    assert_status(lk_hold_release(taker_hold(a)), LK_OK);
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, scene_setup, teardown)

/* The answer is the older news: the server gave it while the name was held. */
TEST(an_open_name_is_taken_though_the_queueing_is_answered_later)
{
    lk_hold *hold;
    taker *a;

    scene_far(f, NULL);
    hold = scene_hold(f->near.lock, NULL);
    listen_as_redisson(f);
    proxy_hold(f->proxy, COMMANDS, PROXY_REPLIES);
    a = locking_take(f, f->far.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    release_openly(f, hold);
    it_is_at_once_the_far_clients(f, a);
}

/* The same for a look. */
TEST(an_open_name_is_taken_though_a_look_is_answered_later)
{
    uint64_t before;
    lk_hold *hold;
    taker *a;

    scene_far(f, NULL);
    hold = scene_hold(f->near.lock, NULL);
    listen_as_redisson(f);
    a = locking_take(f, f->far.lock, SCENE_MS, NULL);
    assert_true(scene_becomes(f, SERVER_WAITERS("job"), 1));
    scene_hears(f->far.client, 0); /* that is answered */
    before = proxy_received(f->proxy, COMMANDS, PROXY_REPLIES);
    proxy_hold(f->proxy, COMMANDS, PROXY_REPLIES);
    assert_soon(locking_stats(f->far.client).rechecks == 1, SCENE_MS);
    assert_true(proxy_wait_received(f->proxy, COMMANDS, PROXY_REPLIES,
                                    before + 1, SCENE_MS));
    release_openly(f, hold);
    it_is_at_once_the_far_clients(f, a);
}
