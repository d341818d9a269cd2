/* SPDX-License-Identifier: MIT */

/*
 * Latches on a server that restarts, forgets, is full, denies, or holds
 * something else under the name; and processes that are killed or stopped.
 */

#include <signal.h>
#include <stdio.h>

#include "support/check.h"
#include "support/latching.h"
#include "support/wait.h"
#include "support/worker.h"

enum { LOOK_MS = 1000, SLACK_MS = 1000, SHORT_MS = 60 };

static void command(locking *f, const char *text)
{
    redisReply *reply = server_command(f->server, text);

    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

/* A thread of this latch's client, the i-th, waits and has had its answer. */
static taker *waits(locking *f, lk_latch *latch, size_t client)
{
    taker *w = locking_take(f, latch, LK_FOREVER, NULL);

    locking_wait_waiting(f->clients[client], 1);
    locking_wait_looked(f->clients[client]);
    return w;
}

static void ends_soon(taker *w, lk_status status)
{
    assert_true(taker_ends(w, (unsigned)wait_limit_ms(LOOK_MS + SLACK_MS)));
    assert_status(taker_join(w), status);
}

/* ---- a server that forgets ----------------------------------------------- */

LOCKS_TEST(a_restart_without_data_is_the_end_of_a_latch)
{
    lk_latch *latch = locking_new(f, lk_latch);
    taker *w;
    uint64_t count;

    latching_arm(latch, 1);
    w = waits(f, latch, 0);
    assert_true(server_restart(f->server));
    ends_soon(w, LK_EGONE);
    assert_status(lk_latch_count(latch, &count), LK_EUNSET);
}

LOCKS_TEST(a_restart_with_data_loses_nothing)
{
    static const char *const args[] = {"--appendonly", "yes", "--appendfsync",
                                       "always", NULL};
    lk_latch *latch, *other;
    taker *w;

    locking_own_server(f, args);
    latch = locking_new(f, lk_latch);
    other = locking_new(f, lk_latch);
    assert_status(lk_latch_arrive(latch, 3, "a"), LK_OK);
    w = waits(f, other, 1);
    assert_true(server_restart(f->server));
    assert_false(taker_ends(w, SHORT_MS));
    assert_status(lk_latch_arrive(latch, 3, "a"), LK_OK);
    assert_int_equal(latching_count(latch), 2);
    latching_down(latch, 2);
    ends_soon(w, LK_OK);
    assert_true(server_restart(f->server));
    assert_status(lk_latch_wait(latch, 0, NULL), LK_OK);
}

LOCKS_TEST(who_waits_for_the_arming_outlives_a_restart)
{
    lk_latch *latch = locking_new(f, lk_latch);
    taker *w = waits(f, latch, 0);

    assert_true(server_restart(f->server));
    assert_false(taker_ends(w, SHORT_MS));
    latching_arm(latch, 1);
    latching_down(latch, 1);
    ends_soon(w, LK_OK);
}

/* Another latch of the name is armed before the waiter can look. */
LOCKS_TEST(what_is_armed_after_a_restart_is_another_latch)
{
    lk_latch *latch = locking_new(f, lk_latch);
    lk_latch *other = locking_new(f, lk_latch);
    taker *w;

    latching_arm(latch, 1);
    w = waits(f, other, 1);
    command(f, "FLUSHALL");
    ends_soon(w, LK_EGONE);
    latching_arm(latch, 1);
    w = waits(f, other, 1);
    latching_down(latch, 1);
    ends_soon(w, LK_OK);
}

/* ---- keys that others delete or replace ---------------------------------- */

LOCKS_TEST(a_record_that_is_deleted_leaves_redissons_latch)
{
    lk_latch *latch = locking_new(f, lk_latch);
    lk_latch *other = locking_new(f, lk_latch);
    taker *w;

    latching_arm(latch, 2);
    w = waits(f, other, 1);
    command(f, "DEL latchkey:{n}:r");
    assert_int_equal(latching_count(latch), 2);
    locking_wait_looked(f->clients[1]);
    assert_false(taker_ends(w, SHORT_MS));
    latching_down(latch, 2);
    ends_soon(w, LK_OK);
}

LOCKS_TEST(a_latch_that_is_deleted_by_hand_is_gone)
{
    lk_latch *latch = locking_new(f, lk_latch);
    taker *w;

    latching_arm(latch, 2);
    w = waits(f, latch, 0);
    command(f, "DEL n latchkey:{n}:r");
    ends_soon(w, LK_EGONE);
}

LOCKS_TEST(lists_that_are_deleted_are_written_again)
{
    lk_latch *latch = locking_new(f, lk_latch);
    taker *w;

    latching_arm(latch, 1);
    w = waits(f, latch, 0);
    command(f, "DEL latchkey:{n}:q latchkey:{n}:m");
    latching_wait_listed(f, 1);
    latching_down(latch, 1);
    ends_soon(w, LK_OK);
}

LOCKS_TEST(a_name_that_becomes_something_else_ends_its_waits)
{
    lk_latch *latch = locking_new(f, lk_latch);
    taker *w;

    latching_arm(latch, 1);
    w = waits(f, latch, 0);
    command(f, "DEL n");
    command(f, "HSET n u:1 1");
    ends_soon(w, LK_ETYPE);
}

/* ---- a full server ------------------------------------------------------- */

LOCKS_TEST(a_full_server_refuses_new_latches_and_nothing_else)
{
    lk_latch *latch = locking_new(f, lk_latch);
    taker *w;
    bool open;

    latching_arm(latch, 4);
    w = waits(f, latch, 0);
    command(f, "CONFIG SET maxmemory 1");
    assert_status(lk_latch_reset(latch, 2), LK_ESERVERMEM);
    assert_status(lk_latch_arrive(latch, 4, "a"), LK_OK);
    assert_status(lk_latch_arrive(latch, 4, "b"), LK_OK);
    assert_status(lk_latch_leave(latch, "b", &open), LK_OK);
    latching_down(latch, 2);
    assert_int_equal(latching_count(latch), 1);
    assert_status(lk_latch_wait(latch, wait_scaled_ms(100), NULL),
                  LK_ETIMEDOUT);
    latching_down(latch, 1);
    ends_soon(w, LK_OK);
    assert_status(lk_latch_delete(latch), LK_OK);
    assert_status(lk_latch_try_set_count(latch, 1), LK_ESERVERMEM);
    assert_status(lk_latch_arrive(latch, 1, "a"), LK_ESERVERMEM);
    command(f, "CONFIG SET maxmemory 0");
}

/* ---- rights -------------------------------------------------------------- */

static lk_latch *latch_with(locking *f, const char *rights)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .user = "some",
                                       .password = "word"};

    char text[512];

    command(f, "ACL SETUSER some reset on >word ~* &* +@all");
    (void)snprintf(text, sizeof(text), "ACL SETUSER some %s", rights);
    command(f, text);
    return locking_of(f, lk_latch, locking_open(f, &options));
}

LOCKS_TEST(who_may_not_publish_opens_it_for_those_who_look)
{
    lk_latch *latch = latch_with(f, "-publish");
    taker *w;

    latching_arm(latch, 1);
    w = waits(f, locking_new(f, lk_latch), 1);
    latching_down(latch, 1);
    ends_soon(w, LK_OK);
    assert_status(lk_latch_reset(latch, 1), LK_OK);
    w = waits(f, locking_new(f, lk_latch), 2);
    assert_status(lk_latch_delete(latch), LK_OK);
    ends_soon(w, LK_EGONE);
}

LOCKS_TEST(who_may_not_hear_redisson_waits_all_the_same)
{
    lk_latch *latch =
        latch_with(f, "resetchannels &latchkey:in:* &latchkey:*:n");
    lk_latch *other = locking_new(f, lk_latch);
    uint64_t opened_at;
    taker *w;

    latching_arm(other, 1);
    w = waits(f, latch, 0);
    locking_wait_calm(f->clients[0]);
    opened_at = wait_now_ms();
    latching_down(other, 1);
    ends_soon(w, LK_OK);
    assert_in_range(wait_now_ms() - opened_at, 0,
                    wait_allowed_ms(wait_scaled_ms(LOOK_MS / 2)));
}

LOCKS_TEST(who_may_not_hear_anything_looks)
{
    lk_latch *latch = latch_with(f, "resetchannels &latchkey:in:*");
    lk_latch *other = locking_new(f, lk_latch);
    taker *w;

    latching_arm(other, 1);
    w = waits(f, latch, 0);
    latching_down(other, 1);
    ends_soon(w, LK_OK);
}

LOCKS_TEST(who_may_not_run_scripts_is_told_so)
{
    lk_latch *latch = latch_with(f, "-eval -evalsha");

    assert_status(lk_latch_try_set_count(latch, 1), LK_EDENIED);
    assert_status(lk_latch_wait(latch, LK_FOREVER, NULL), LK_EDENIED);
}

/* The rights that the page names are enough. */
LOCKS_TEST(the_rights_of_the_page_are_enough)
{
    lk_latch *latch = latch_with(
        f, "resetkeys ~n ~latchkey:{n}:* ~latchkey:client:* resetchannels "
           "&latchkey:in:* &latchkey:{n}:n "
           "&redisson_countdownlatch__channel__{n} -@all +auth +ping +select "
           "+client|setname +client|id +client|kill +@hash +@sortedset +get "
           "+mget +set +del +exists +decrby "
           "+persist +pexpire +pexpireat +pttl +eval +evalsha +publish "
           "+subscribe +unsubscribe +pubsub|numsub +time +info");
    lk_info *info;
    taker *w;
    bool open;

    assert_status(lk_latch_arrive(latch, 2, "a"), LK_OK);
    w = waits(f, latch, 0);
    assert_status(lk_latch_leave(latch, "a", &open), LK_OK);
    assert_status(lk_latch_arrive(latch, 2, "a"), LK_OK);
    assert_status(lk_latch_info(latch, &info), LK_OK);
    lk_info_free(info);
    latching_down(latch, 1);
    ends_soon(w, LK_OK);
    assert_status(lk_latch_reset(latch, 2), LK_OK);
    assert_status(lk_latch_delete(latch), LK_OK);
    latching_arm(latching_latch_for(f, f->clients[0], 60000), 1);
    command(f, "DEL n"); /* Redisson counts down */
    assert_int_equal(latching_count(latch), 0);
    assert_status(lk_latch_reset(latch, 1), LK_OK);
    latching_down(latch, 1);
}

/* ---- processes ----------------------------------------------------------- */

/* What a worker tells: that it waits, and how that ended. */
enum { TOLD_WAITS, TOLD_ENDED };

static int waiting_process(worker_shared *shared, unsigned index, void *data)
{
    lk_client *client;
    lk_latch *latch;
    lk_status status;

    if (lk_client_open(&client, server_url(data), NULL) != LK_OK ||
        lk_latch_new(&latch, client, "n", NULL) != LK_OK)
        return 1;
    shared->counters[index][TOLD_WAITS] = 1;
    status = lk_latch_wait(latch, LK_FOREVER, NULL);
    shared->counters[index][TOLD_ENDED] = (uint64_t)-status + 1;
    lk_latch_free(latch);
    lk_client_free(client);
    return 0;
}

static void process_ended(workers *w, unsigned index, lk_status status)
{
    _Atomic uint64_t *ended = &workers_shared(w)->counters[index][TOLD_ENDED];

    assert_soon(atomic_load(ended) != 0, LATCHING_MS);
    assert_status(-(int)(*ended - 1), status);
}

/* It stood still while the latch opened and was armed again. */
LOCKS_TEST(a_stopped_waiter_learns_what_it_missed)
{
    workers *w = workers_start(2, waiting_process, f->server);
    lk_latch *latch;

    assert_non_null(w);
    latch = locking_new(f, lk_latch);
    latching_arm(latch, 1);
    latching_wait_listed(f, 2);
    locking_pass_time(wait_scaled_ms(100)); /* both have their answers */
    workers_kill(w, 0, SIGSTOP);
    workers_kill(w, 1, SIGSTOP);
    latching_down(latch, 1);
    assert_status(lk_latch_reset(latch, 1), LK_OK);
    workers_kill(w, 0, SIGCONT);
    process_ended(w, 0, LK_OK);
    assert_status(lk_latch_delete(latch), LK_OK);
    workers_kill(w, 1, SIGCONT);
    process_ended(w, 1, LK_OK);
    workers_free(w);
}

/* Of those who count, one dies with its call under way: the others go on. */
static int counting_process(worker_shared *shared, unsigned index, void *data)
{
    lk_client *client;
    lk_latch *latch;
    uint64_t counted = 0;

    if (lk_client_open(&client, server_url(data), NULL) != LK_OK ||
        lk_latch_new(&latch, client, "n", NULL) != LK_OK)
        return 1;
    while (!shared->is_over) {
        if (lk_latch_count_down(latch, 1) == LK_OK)
            shared->counters[index][0] = ++counted;
    }
    lk_latch_free(latch);
    lk_client_free(client);
    return 0;
}

LOCKS_TEST(a_killed_counter_leaves_the_count_right)
{
    enum { COUNT = 1000000 };
    workers *w;
    lk_latch *latch;
    uint64_t counted, gone;

    command(f, "SET n 1000000");
    w = workers_start(4, counting_process, f->server);
    assert_non_null(w);
    assert_soon(workers_count(w, 0) > 500, LATCHING_MS);
    workers_kill(w, 0, SIGKILL);
    workers_kill(w, 1, SIGKILL);
    workers_end(w);
    assert_true(workers_wait(w, LATCHING_MS));
    counted = workers_count(w, 0);
    workers_free(w);
    latch = locking_new(f, lk_latch);
    gone = COUNT - latching_count(latch);
    /* What a killed one had under way may have run. */
    assert_in_range(gone, counted, counted + 2);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
