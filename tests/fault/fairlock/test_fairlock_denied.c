/* SPDX-License-Identifier: MIT */

/*
 * A server that is full, or denies a right, while many wait for one fair lock.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/fairline.h"

/* ---- a server that is full ------------------------------------------------- */

static void a_full_server_still_serves_who_waits(void **state)
{
    fairline *l = *state;
    lk_hold *hold;
    lk_hold *none = NULL;

    fairline_far(l, NULL);
    hold = fairline_hold(l->near, NULL);
    for (int i = 0; i < 6; i++)
        (void)fairline_queue(l, i % 2 == 0 ? l->far : l->third);
    scene_command(l->scene, "CONFIG SET maxmemory 1");
    assert_status(lk_fairlock_acquire(l->near, 1000, NULL, &none), LK_OK);
    assert_status(lk_hold_release(none), LK_OK); /* it is the holder's */
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 0);
    none = NULL;
    assert_status(lk_fairlock_acquire(l->near, 1000, NULL, &none),
                  LK_ESERVERMEM);
    assert_null(none);
    scene_command(l->scene, "CONFIG SET maxmemory 0");
    scene_is_clean(l->scene);
}

/* ---- a right that is missing ----------------------------------------------- */

/* The far client, as a user with all rights but this one. */
static void far_without(fairline *l, const char *right)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word"};
    redisReply *reply;

    scene_command(l->scene, "ACL SETUSER far on >word ~* &* +@all");
    reply = server_command(l->scene->server, "ACL SETUSER far %s", right);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    fairline_open_far(l, &options);
}

/* Nobody is told, so each finds out by looking; the order is the same. */
static void waits_are_served_in_order(fairline *l)
{
    lk_hold *hold = fairline_hold(l->far, NULL);

    for (int i = 0; i < 3; i++)
        (void)fairline_queue(l, i % 2 == 0 ? l->far : l->third);
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 0);
    scene_is_clean(l->scene);
}

static void without_publish_waits_are_served_in_order(void **state)
{
    far_without(*state, "-publish");
    waits_are_served_in_order(*state);
}

static void without_pubsub_waits_are_served_in_order(void **state)
{
    far_without(*state, "-pubsub");
    waits_are_served_in_order(*state);
}

static void without_kill_waits_are_served_in_order(void **state)
{
    fairline *l = *state;

    far_without(l, "-client|kill");
    waits_are_served_in_order(l);
}

/* Without an inbox it has no place in line: it tries, about once a second. */
static void without_subscribe_it_is_had_by_looking(void **state)
{
    fairline *l = *state;
    uint64_t commands;
    lk_hold *hold;
    call *wait;

    far_without(l, "-subscribe");
    hold = fairline_hold(l->near, NULL);
    commands = scene_stats(l->scene->far).commands;
    wait = fairline_begin(l, l->far, NULL);
    scene_hears(l->scene->far, 1); /* it is refused a place */
    assert_true(scene_stats(l->scene->far).commands > commands);
    assert_int_equal(fairline_queued(l), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(fairline_granted(wait)), LK_OK);
    scene_is_clean(l->scene);
}

static void a_right_that_is_taken_away_ends_the_waits(void **state)
{
    fairline *l = *state;
    lk_hold *hold;

    far_without(l, "+ping");
    hold = fairline_hold(l->near, NULL);
    fairline_queue_many(l, l->far, 3);
    (void)fairline_queue(l, l->third);
    scene_command(l->scene, "ACL SETUSER far -hexists");
    for (int i = 0; i < 3; i++)
        assert_status(call_wait(l->waits[i], NULL), LK_EDENIED);
    scene_command(l->scene, "ACL SETUSER far +hexists");
    assert_true(fairline_becomes_queued(l, 1));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(l, 3);
    scene_is_clean(l->scene);
}

/* ---- the rights of the manual ---------------------------------------------- */

/* The lock's page, from its rights on to their end. Free it. */
static char *rights_of_the_manual(void)
{
    char *page = calloc(1, 65536);
    FILE *file = fopen(LK_SOURCE_DIR "/docs/lock.md", "r");
    char *begin, *end;

    assert_non_null(page);
    assert_non_null(file);
    assert_in_range(fread(page, 1, 65535, file), 1, 65534);
    assert_int_equal(fclose(file), 0);
    begin = strstr(page, "ACL SETUSER app");
    assert_non_null(begin);
    end = strstr(begin, "```");
    assert_non_null(end);
    *end = '\0';
    memmove(page, begin, strlen(begin) + 1);
    return page;
}

/* The page's are for names that begin with "orders:"; here, with "job". */
static void rename_in(char *rights)
{
    for (char *at = rights; (at = strstr(at, "orders:")) != NULL;) {
        at[0] = 'j';
        at[1] = 'o';
        at[2] = 'b';
        memmove(at + 3, at + 7, strlen(at + 7) + 1);
    }
}

static void set_rights(fairline *l)
{
    char *rights = rights_of_the_manual();
    redisContext *redis = redisConnectUnix(server_socket(l->scene->server));
    redisReply *reply;
    const char *words[128];
    int count = 0;
    char *rest = NULL;

    rename_in(rights);
    for (char *word = strtok_r(rights, " \n", &rest);
         word != NULL && count < 128; word = strtok_r(NULL, " \n", &rest))
        words[count++] = word;
    reply = redisCommandArgv(redis, count, words, NULL);
    assert_non_null(reply);
    assert_string_equal(reply->str, "OK");
    freeReplyObject(reply);
    redisFree(redis);
    free(rights);
}

/* Whatever a fair lock's scripts do, the lock's may do. */
static void the_rights_of_the_locks_page_are_enough(void **state)
{
    const lk_client_options user = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                    .password = "secret"};
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    fairline *l = *state;
    lk_info *info = NULL;
    lk_hold *hold;
    call *canceled;

    set_rights(l);
    fairline_open_far(l, &user);
    hold = fairline_hold(l->far, NULL);
    assert_status(lk_cancel_new(&options.cancel, l->scene->far), LK_OK);
    canceled = fairline_begin(l, l->far, &options);
    assert_true(fairline_becomes_queued(l, 1));
    fairline_queue_many(l, l->far, 3);
    scene_looks(l->scene->far, 1);
    lk_cancel_fire(options.cancel);
    assert_status(call_wait(canceled, NULL), LK_ECANCELED);
    assert_status(lk_fairlock_info(l->far, &info), LK_OK);
    assert_int_equal(info->waiter_count, 3);
    lk_info_free(info);
    assert_status(lk_fairlock_force_release(l->far), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
    fairline_serve(l, 1);
    scene_is_clean(l->scene);
    lk_cancel_free(options.cancel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAIRLINE_TEST(a_full_server_still_serves_who_waits),
        FAIRLINE_TEST(without_publish_waits_are_served_in_order),
        FAIRLINE_TEST(without_pubsub_waits_are_served_in_order),
        FAIRLINE_TEST(without_kill_waits_are_served_in_order),
        FAIRLINE_TEST(without_subscribe_it_is_had_by_looking),
        FAIRLINE_TEST(a_right_that_is_taken_away_ends_the_waits),
        FAIRLINE_TEST(the_rights_of_the_locks_page_are_enough),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
