/* SPDX-License-Identifier: MIT */

/* Messages without end, from somebody who may publish: what they have a client ask
   its server stays within a pace, whatever they say. */

#include <latchkey/latchkey.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/flights.h"
#include "support/wait.h"

enum { MESSAGES = 4000, CLAIMS = 64, TEXT = 256 };

/* How often the server has run a script. */
static unsigned long scripts(const locking *f)
{
    static const char *const commands[] = {"cmdstat_eval:calls=",
                                           "cmdstat_evalsha:calls="};
    char *stats = server_string(f->server, "INFO commandstats");
    unsigned long sum = 0;

    for (size_t i = 0; i < 2; i++) {
        const char *at = strstr(stats, commands[i]);

        if (at != NULL)
            sum += strtoul(at + strlen(commands[i]), NULL, 10);
    }
    free(stats);
    return sum;
}

/* ---- the inbox ---- */

/* A client, and what its log has told. */
typedef struct heard {
    lk_client *client;
    char inbox[TEXT];
    atomic_uint lines;
} heard;

static void on_log(lk_log_level level, const char *text, void *data)
{
    heard *h = data;

    (void)level;
    if (strstr(text, "a message of the inbox is not understood") != NULL)
        atomic_fetch_add(&h->lines, 1);
}

/* So many claims of its are over. */
static void heard_open(heard *h, locking *f)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT, .log = on_log,
                                       .log_data = h};
    lk_lock *lock;

    h->client = locking_open_calm(f, &options);
    lock = locking_lock(f, h->client, "n");
    for (int i = 1; i < CLAIMS; i++)
        assert_status(lk_hold_release(locking_hold(lock)), LK_OK);
    (void)snprintf(h->inbox, sizeof(h->inbox), "latchkey:in::%s",
                   lk_client_id(h->client));
}

static void publish(const locking *f, const heard *h, const char *text)
{
    assert_int_equal(server_integer(f->server, "PUBLISH %s %s", h->inbox, text),
                     1);
}

/* What was published before is heard, too. */
static void publish_garbage(const locking *f, heard *h)
{
    publish(f, h, "x");
    assert_soon(atomic_load(&h->lines) > 0, 20000);
}

LOCKS_TEST(forged_grants_have_few_passed_on)
{
    static heard h;
    unsigned long before, sent;
    uint64_t begun;
    char text[TEXT];

    heard_open(&h, f);
    before = scripts(f);
    begun = wait_now_ms();
    for (int i = 0; i < MESSAGES; i++) {
        (void)snprintf(text, sizeof(text),
                       "grant 0 lock %s:%016d 0123456789abcdef 1 %d 0 3000 n",
                       lk_client_id(h.client), 1 + i % CLAIMS, i + 1);
        publish(f, &h, text);
    }
    publish_garbage(f, &h);
    locking_wait_calm(h.client);
    sent = scripts(f) - before;
    /* Ten at once, and ten in a second. */
    assert_in_range(sent, 10, 10 + (wait_now_ms() - begun) / 100 + 1);
}

LOCKS_TEST(garbage_is_logged_once_in_a_second)
{
    static heard h;
    uint64_t begun = wait_now_ms();

    heard_open(&h, f);
    for (int i = 0; i < MESSAGES; i++)
        publish(f, &h, "grant");
    publish_garbage(f, &h);
    assert_in_range(atomic_load(&h.lines), 1,
                    (wait_now_ms() - begun) / 1000 + 1);
}

/* ---- hints ---- */

typedef struct channel {
    const locking *base;
    const char *name;
} channel;

static bool is_subscribed(const channel *c)
{
    redisReply *reply =
        server_command(c->base->server, "PUBSUB NUMSUB %s", c->name);
    bool found = reply->element[1]->integer == 1;

    freeReplyObject(reply);
    return found;
}

/* A client that waits looks ten times at once, and then ten times a second. A look of
   its own it sends each second, too. */
static void flood(const locking *f, const char *name, const char *text)
{
    channel c = {f, name};
    unsigned long before;
    uint64_t begun;

    assert_soon(is_subscribed(&c), 20000);
    before = scripts(f);
    begun = wait_now_ms();
    for (int i = 0; i < MESSAGES; i++)
        assert_int_equal(server_integer(f->server, "PUBLISH %s %s", name, text),
                         1);
    locking_pass_time(500);
    assert_in_range(scripts(f) - before, 0,
                    10 + (wait_now_ms() - begun) / 100 + 1 +
                        (wait_now_ms() - begun) / 1000 + 1);
}

LOCKS_TEST(hints_to_look_at_a_latch_are_paced)
{
    lk_client *client = locking_open(f, NULL);
    lk_latch *latch = locking_of(f, lk_latch, client);
    static call waits;

    assert_status(lk_latch_try_set_count(latch, 1), LK_OK);
    assert_status(lk_latch_wait_async(latch, LK_FOREVER, NULL, call_on_done,
                                      &waits),
                  LK_OK);
    flood(f, "latchkey:{n}:n", "look 0 latch n");
    assert_int_equal(atomic_load(&waits.ends), 0);
    assert_status(lk_latch_count_down(latch, 1), LK_OK);
    assert_status(call_wait(&waits, NULL), LK_OK);
}

LOCKS_TEST(hints_to_look_who_leads_are_paced)
{
    lk_client *client = locking_open(f, NULL);
    lk_leader *leader = locking_of(f, lk_leader, client);
    static call observes;
    lk_hold *office = NULL;

    assert_status(lk_leader_observe_async(leader, 0, LK_FOREVER, NULL,
                                          call_on_info, &observes),
                  LK_OK);
    flood(f, "latchkey:leader:{n}", "x");
    assert_int_equal(atomic_load(&observes.ends), 0);
    assert_status(lk_leader_campaign(leader, 0, NULL, &office), LK_OK);
    assert_status(call_wait(&observes, NULL), LK_OK);
    lk_info_free(observes.info);
    assert_status(lk_leader_resign(leader, office), LK_OK);
}

LOCKS_TEST(hints_to_look_at_a_flight_are_paced)
{
    flyer *leads, *follows;

    flights_engine(f)->held = true;
    leads = flights_lead(f, flights_one(f), flights_engine(f));
    follows = flights_follow(f, flights_one(f), flights_engine(f));
    flood(f, "latchkey:flight-news:{f:k}", "x");
    assert_false(follows->taker->done);
    flights_engine(f)->held = false;
    assert_status(flyer_join(leads), LK_OK);
    assert_status(flyer_join(follows), LK_OK);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
