/* SPDX-License-Identifier: MIT */

/*
 * What our first in line does while others may take the name as well: it hears
 * that the name is open, however that message and the answers of the server
 * cross.
 */

#include <latchkey/latchkey.h>

#include <string.h>

#include "support/check.h"
#include "support/scene.h"
#include "support/standin.h"
#include "support/wait.h"

enum {
    COMMANDS = 0, /* the far client's connections at the proxy */
    INBOX = 1,
    AT_ONCE_MS = 250 /* far less than the second between two looks */
};

static int teardown(void **state)
{
    standins_free();
    return scene_teardown(state);
}

/* Somebody of Redisson's who listens, so that releases are open ones. */
static standin *listener(scene *sc)
{
    standin *java = standin_new(STANDIN_LOCK, server_socket(sc->server), "job");

    standin_subscribe(java);
    return java;
}

typedef struct bytes {
    scene *scene;
    uint64_t before;
} bytes;

static bool has_come(void *data)
{
    const bytes *b = data;

    return proxy_delivered(b->scene->proxy, INBOX, PROXY_REPLIES) > b->before;
}

/* Releases, and returns when the far client's inbox was told of it. */
static void release_openly(scene *sc, lk_hold *hold)
{
    bytes b = {sc, proxy_delivered(sc->proxy, INBOX, PROXY_REPLIES)};

    assert_status(lk_hold_release(hold), LK_OK);
    assert_true(wait_until(has_come, &b, SCENE_MS));
    scene_pass_ms(20); /* until it is read, which cannot be seen */
}

static void it_is_at_once_the_far_clients(scene *sc, attempt *a)
{
    uint64_t since = wait_now_ms();

    proxy_release(sc->proxy, COMMANDS, PROXY_REPLIES);
    assert_true(attempt_has_ended(a, SCENE_MS));
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(wait_scaled_ms(AT_ONCE_MS)));
    assert_status(lk_hold_release(attempt_hold(a)), LK_OK);
}

#define TEST(name) CHECK_TEST_OF(name, scene *sc, scene_setup, teardown)

/* The answer is the older news: the server gave it while the name was held. */
TEST(an_open_name_is_taken_though_the_queueing_is_answered_later)
{
    lk_hold *hold;
    attempt *a;

    scene_far(sc, NULL);
    hold = scene_hold(sc->near_lock, NULL);
    (void)listener(sc);
    proxy_hold(sc->proxy, COMMANDS, PROXY_REPLIES);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    release_openly(sc, hold);
    it_is_at_once_the_far_clients(sc, a);
}

static bool has_looked(void *data)
{
    return scene_stats(data).rechecks == 1;
}

/* The same for a look. */
TEST(an_open_name_is_taken_though_a_look_is_answered_later)
{
    uint64_t before;
    lk_hold *hold;
    attempt *a;

    scene_far(sc, NULL);
    hold = scene_hold(sc->near_lock, NULL);
    (void)listener(sc);
    a = scene_attempt(sc, sc->far_lock, SCENE_MS, NULL);
    assert_true(scene_becomes(sc, SERVER_WAITERS("job"), 1));
    scene_hears(sc->far, 0); /* that is answered */
    before = proxy_received(sc->proxy, COMMANDS, PROXY_REPLIES);
    proxy_hold(sc->proxy, COMMANDS, PROXY_REPLIES);
    assert_true(wait_until(has_looked, sc->far, SCENE_MS));
    assert_true(proxy_wait_received(sc->proxy, COMMANDS, PROXY_REPLIES,
                                    before + 1, SCENE_MS));
    release_openly(sc, hold);
    it_is_at_once_the_far_clients(sc, a);
}

int main(void)
{
    return check_all(NULL, NULL);
}
