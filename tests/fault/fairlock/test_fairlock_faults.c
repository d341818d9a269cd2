/* SPDX-License-Identifier: MIT */

/*
 * A server that stands still, restarts, forgets its scripts or loses keys,
 * while many wait for one fair lock.
 */

#include <latchkey/latchkey.h>

#include "support/check.h"
#include "support/fairline.h"
#include "support/wait.h"

enum { LOOK_MS = 1000, SLACK_MS = 2000 };

static uint64_t since(uint64_t began)
{
    return wait_now_ms() - began;
}

/* The near client holds; the far one and the third wait in turn. */
static lk_hold *six_wait(fairline *l)
{
    lk_hold *hold;

    fairline_far(l, NULL);
    hold = fairline_hold(l->near, NULL);
    for (int i = 0; i < 6; i++)
        (void)fairline_queue(l, i % 2 == 0 ? l->far : l->third);
    return hold;
}

static void release_it(call *c)
{
    if (c->hold != NULL && lk_hold_release_async(c->hold, NULL, NULL) == LK_OK)
        c->hold = NULL;
}

/* From now on each gives it back at once. */
static void release_at_once(fairline *l)
{
    for (int i = 0; i < l->count; i++)
        l->waits[i]->act = release_it;
}

static void all_have_had_it(fairline *l)
{
    for (int i = 0; i < l->count; i++)
        assert_status(call_wait(l->waits[i], NULL), LK_OK);
    scene_is_clean(l->scene);
}

/* ---- a server that stands still ------------------------------------------ */

static void a_short_pause_of_the_server_changes_no_order(void **state)
{
    fairline *l = *state;
    lk_hold *hold = six_wait(l);

    server_freeze(l->scene->server);
    scene_pass_ms(1000);
    server_thaw(l->scene->server);
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 0);
    scene_is_clean(l->scene);
}

/* Nobody was seen for so long; all are still served, and nothing stays. */
static void after_a_long_pause_of_the_server_all_are_served(void **state)
{
    fairline *l = *state;
    lk_hold *hold = six_wait(l);

    release_at_once(l);
    server_freeze(l->scene->server);
    scene_pass_ms(3500);
    server_thaw(l->scene->server);
    (void)lk_hold_release(hold);
    all_have_had_it(l);
}

/* Nothing that writes is answered for longer than a request may take. */
static void a_wait_outlives_a_server_that_does_not_write(void **state)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .command_timeout_ms =
                                           wait_scaled_ms(500),
                                       .offline_ms = 60000};
    fairline *l = *state;
    lk_hold *hold;
    call c = {0};

    fairline_far(l, &options);
    hold = fairline_hold(l->near, NULL);
    scene_command(l->scene, "CLIENT PAUSE 1500 WRITE");
    assert_status(lk_fairlock_acquire_async(l->far, 60000, NULL,
                                            call_on_acquire, &c),
                  LK_OK);
    assert_true(fairline_becomes_queued(l, 1));
    assert_int_equal(c.ends, 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_int_equal(fairline_queued(l), 0);
    assert_status(lk_hold_release(c.hold), LK_OK);
    scene_is_clean(l->scene);
}

/* ---- a server that forgets ------------------------------------------------ */

/* They queue anew, each client's in the order in which they were begun. */
static void waits_survive_a_restart_without_data(void **state)
{
    enum { WAITS = 20 };
    fairline *l = *state;
    lk_hold *hold;

    fairline_far(l, NULL);
    hold = fairline_hold(l->near, NULL);
    fairline_queue_many(l, l->far, WAITS);
    assert_true(server_restart(l->scene->server));
    fairline_serve(l, 0);
    assert_status(lk_hold_release(hold), LK_ELOST);
    scene_is_clean(l->scene);
}

static void waits_of_many_survive_a_restart_without_data(void **state)
{
    fairline *l = *state;
    lk_hold *hold = six_wait(l);

    release_at_once(l);
    assert_true(server_restart(l->scene->server));
    all_have_had_it(l);
    (void)lk_hold_release(hold);
}

static void places_survive_a_restart_with_data(void **state)
{
    fairline *l = *state;
    lk_hold *hold = six_wait(l);

    scene_command(l->scene, "SAVE");
    assert_true(server_restart(l->scene->server));
    assert_true(scene_connects(l->scene->far, 4));
    assert_true(scene_connects(l->scene->third, 4));
    assert_int_equal(fairline_queued(l), 6);
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 0);
    scene_is_clean(l->scene);
}

static void waits_survive_the_loss_of_all_data(void **state)
{
    fairline *l = *state;
    lk_hold *hold = six_wait(l);
    uint64_t began = wait_now_ms();

    release_at_once(l);
    scene_command(l->scene, "FLUSHALL");
    all_have_had_it(l);
    assert_in_range(since(began), 0, 2 * LOOK_MS + wait_scaled_ms(SLACK_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
}

/* The server forgets them all the time, until a client has noticed. */
static bool has_asked_again(void *data)
{
    scene *sc = data;

    scene_command(sc, "SCRIPT FLUSH");
    return scene_stats(sc->far).scripts_lost > 0;
}

typedef struct looks {
    const scene *scene;
    uint64_t least;
} looks;

static bool has_looked(void *data)
{
    const looks *k = data;

    return scene_stats(k->scene->far).rechecks >= k->least;
}

static void waits_survive_the_loss_of_the_scripts(void **state)
{
    fairline *l = *state;
    lk_hold *hold = six_wait(l);
    looks k;

    assert_true(wait_until(has_asked_again, l->scene, SCENE_MS));
    k = (looks){l->scene, scene_stats(l->scene->far).rechecks + 2};
    assert_true(wait_until(has_looked, &k, SCENE_MS)); /* it goes on */
    assert_int_equal(fairline_queued(l), 6);
    scene_command(l->scene, "SCRIPT FLUSH");
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 0);
    scene_is_clean(l->scene);
}

/* ---- keys in foreign hands ----------------------------------------------- */

static void a_lock_that_is_deleted_goes_to_the_first(void **state)
{
    fairline *l = *state;
    lk_hold *hold = six_wait(l);
    uint64_t began = wait_now_ms();
    lk_hold *next;

    scene_command(l->scene, "DEL job");
    next = fairline_granted(l->waits[0]);
    assert_in_range(since(began), 0, LOOK_MS + wait_scaled_ms(SLACK_MS));
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_status(lk_hold_check(next), LK_OK);
    assert_status(lk_hold_release(next), LK_OK);
    fairline_serve(l, 1);
    scene_is_clean(l->scene);
}

/* Each client queues anew as soon as it looks. */
static void a_queue_that_is_deleted_comes_back(void **state)
{
    fairline *l = *state;
    lk_hold *hold = six_wait(l);

    release_at_once(l);
    scene_command(l->scene, "DEL latchkey:{job}:q");
    assert_true(fairline_becomes_queued(l, 6));
    assert_status(lk_hold_release(hold), LK_OK);
    all_have_had_it(l);
}

static void a_record_that_is_deleted_costs_no_order(void **state)
{
    fairline *l = *state;
    lk_hold *hold = six_wait(l);
    uint64_t fence = lk_hold_fence(hold);
    lk_hold *next;

    scene_command(l->scene, "DEL latchkey:{job}:r");
    (void)lk_hold_release(hold);
    next = fairline_granted(l->waits[0]);
    assert_true(lk_hold_fence(next) > fence);
    assert_status(lk_hold_release(next), LK_OK);
    fairline_serve(l, 1);
    scene_is_clean(l->scene);
}

/* Told, not left waiting for ever for what cannot come. */
static void waits_for_a_key_that_is_no_lock_any_more_end(void **state)
{
    fairline *l = *state;
    lk_hold *hold = six_wait(l);

    scene_command(l->scene, "SET job text");
    for (int i = 0; i < l->count; i++)
        assert_status(call_wait(l->waits[i], NULL), LK_ETYPE);
    assert_status(lk_hold_release(hold), LK_ELOST);
    scene_command(l->scene, "DEL job");
    /* Nobody of them can leave a queue that cannot be read: it is left to
       its end, and nobody is kept from the lock by it. */
    hold = fairline_hold(l->far, NULL);
    assert_status(lk_hold_release(hold), LK_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAIRLINE_TEST(a_short_pause_of_the_server_changes_no_order),
        FAIRLINE_TEST(after_a_long_pause_of_the_server_all_are_served),
        FAIRLINE_TEST(a_wait_outlives_a_server_that_does_not_write),
        FAIRLINE_TEST(waits_survive_a_restart_without_data),
        FAIRLINE_TEST(waits_of_many_survive_a_restart_without_data),
        FAIRLINE_TEST(places_survive_a_restart_with_data),
        FAIRLINE_TEST(waits_survive_the_loss_of_all_data),
        FAIRLINE_TEST(waits_survive_the_loss_of_the_scripts),
        FAIRLINE_TEST(a_lock_that_is_deleted_goes_to_the_first),
        FAIRLINE_TEST(a_queue_that_is_deleted_comes_back),
        FAIRLINE_TEST(a_record_that_is_deleted_costs_no_order),
        FAIRLINE_TEST(waits_for_a_key_that_is_no_lock_any_more_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
