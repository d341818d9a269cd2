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
#include "support/paths.h"

/* ---- a right that is missing ----------------------------------------------- */

/* The far client, as a user with all rights but this one. */
static void far_without(locking *f, const char *right)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "far",
                                       .password = "word"};
    redisReply *reply;

    scene_command(f, "ACL SETUSER far on >word ~* &* +@all");
    reply = server_command(f->server, "ACL SETUSER far %s", right);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
    fairline_open_far(f, &options);
}

/* Nobody is told, so each finds out by looking; the order is the same. */
static void waits_are_served_in_order(locking *f)
{
    lk_hold *hold = fairline_hold(f->far.fairlock, NULL);

    for (int i = 0; i < 3; i++)
        (void)fairline_queue(f,
                             i % 2 == 0 ? f->far.fairlock : f->third.fairlock);
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(f, 0);
    scene_is_clean(f);
}

FAIRLINE_TEST(without_publish_waits_are_served_in_order)
{
    far_without(f, "-publish");
    waits_are_served_in_order(f);
}

FAIRLINE_TEST(without_pubsub_waits_are_served_in_order)
{
    far_without(f, "-pubsub");
    waits_are_served_in_order(f);
}

FAIRLINE_TEST(without_kill_waits_are_served_in_order)
{
    far_without(f, "-client|kill");
    waits_are_served_in_order(f);
}

/* Without an inbox it has no place in line: it tries, about once a second. */
FAIRLINE_TEST(without_subscribe_it_is_had_by_looking)
{
    uint64_t commands;
    lk_hold *hold;
    call *wait;

    far_without(f, "-subscribe");
    hold = fairline_hold(f->near.fairlock, NULL);
    commands = locking_stats(f->far.client).commands;
    wait = fairline_begin(f, f->far.fairlock, NULL);
    scene_hears(f->far.client, 1); /* it is refused a place */
    assert_true(locking_stats(f->far.client).commands > commands);
    assert_int_equal(fairline_queued(f), 0);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_status(lk_hold_release(locking_granted(wait)), LK_OK);
    scene_is_clean(f);
}

FAIRLINE_TEST(a_right_that_is_taken_away_ends_the_waits)
{
    lk_hold *hold;

    far_without(f, "+ping");
    hold = fairline_hold(f->near.fairlock, NULL);
    fairline_queue_many(f, f->far.fairlock, 3);
    (void)fairline_queue(f, f->third.fairlock);
    scene_command(f, "ACL SETUSER far -hexists");
    for (int i = 0; i < 3; i++)
        assert_status(call_wait(&f->calls[i], NULL), LK_EDENIED);
    scene_command(f, "ACL SETUSER far +hexists");
    assert_true(fairline_becomes_queued(f, 1));
    assert_status(lk_hold_release(hold), LK_OK);
    fairline_serve(f, 3);
    scene_is_clean(f);
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

static void set_rights(locking *f)
{
    char *rights = rights_of_the_manual();
    redisContext *redis = redisConnectUnix(server_socket(f->server));
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
FAIRLINE_TEST(the_rights_of_the_locks_page_are_enough)
{
    const lk_client_options user = {LK_CLIENT_OPTIONS_INIT, .user = "app",
                                    .password = "secret"};
    lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT};
    lk_info *info = NULL;
    lk_hold *hold;
    call *canceled;

    set_rights(f);
    fairline_open_far(f, &user);
    hold = fairline_hold(f->far.fairlock, NULL);
    assert_status(lk_cancel_new(&options.cancel, f->far.client), LK_OK);
    canceled = fairline_begin(f, f->far.fairlock, &options);
    assert_true(fairline_becomes_queued(f, 1));
    fairline_queue_many(f, f->far.fairlock, 3);
    scene_looks(f->far.client, 1);
    lk_cancel_fire(options.cancel);
    assert_status(call_wait(canceled, NULL), LK_ECANCELED);
    assert_status(lk_fairlock_info(f->far.fairlock, &info), LK_OK);
    assert_int_equal(info->waiter_count, 3);
    lk_info_free(info);
    assert_status(lk_fairlock_force_release(f->far.fairlock), LK_OK);
    assert_status(lk_hold_release(hold), LK_ELOST);
    fairline_serve(f, 1);
    scene_is_clean(f);
    lk_cancel_free(options.cancel);
}
