/* SPDX-License-Identifier: MIT */

/*
 * What a client believes: messages of another database, of a name that shares
 * Redisson's keys, and of somebody who may publish to the channels of others.
 */

#include <latchkey/latchkey.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/locking.h"
#include "support/wait.h"

/* ---- latches ---- */

static lk_latch *latch_of(lk_client *client, const char *name)
{
    lk_latch *latch = NULL;

    assert_status(lk_latch_new(&latch, client, name, NULL), LK_OK);
    return latch;
}

/* A wait that is listed at the server, and has heard all there was. */
static void latch_wait(locking *f, lk_latch *latch, const char *listed, call *c)
{
    assert_status(lk_latch_wait_async(latch, LK_FOREVER, NULL, call_on_done, c),
                  LK_OK);
    locking_wait_integer(f, 1, "ZCOUNT %s 0 (2533274790395904", listed);
}

/* A client, and what it had counted before something. */
typedef struct counted {
    lk_client *client;
    uint64_t before;
} counted;

static bool has_looked(void *data)
{
    lk_client_stats stats = {.size = sizeof(stats)};
    const counted *looker = data;

    return lk_client_stats_get(looker->client, &stats) == LK_OK &&
           stats.rechecks > looker->before && stats.pending == 0;
}

/* Has looked once more since now: a message before that was heard. */
static void wait_looked(lk_client *client)
{
    counted looker = {client, locking_stats(client).rechecks + 1};

    assert_true(wait_until(has_looked, &looker, 10000));
}

/* The other latch opens, and this one, that is waited for, does not. */
static void opens_alone(locking *f, lk_latch *latch, const char *listed,
                        lk_latch *other, lk_client *waiting)
{
    call c = {0};
    uint64_t count = 0;

    assert_status(lk_latch_try_set_count(latch, 3), LK_OK);
    latch_wait(f, latch, listed, &c);
    wait_looked(waiting);
    assert_status(lk_latch_try_set_count(other, 1), LK_OK);
    assert_status(lk_latch_count_down(other, 1), LK_OK);
    wait_looked(waiting);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_status(lk_latch_count(latch, &count), LK_OK);
    assert_int_equal(count, 3);
    assert_status(lk_latch_count_down(latch, 3), LK_OK);
    assert_status(call_wait(&c, NULL), LK_OK);
    lk_latch_free(latch);
    lk_latch_free(other);
}

LOCKS_TEST(a_latch_of_another_database_opens_nothing)
{
    const lk_client_options second = {LK_CLIENT_OPTIONS_INIT, .db = 1};
    lk_client *waiting = locking_open(f, NULL);

    opens_alone(f, latch_of(waiting, "n"), "latchkey:{n}:q",
                latch_of(locking_open(f, &second), "n"), waiting);
}

LOCKS_TEST(a_latch_whose_name_has_braces_opens_no_other)
{
    lk_client *waiting = locking_open(f, NULL);
    lk_client *other = locking_open(f, NULL);

    opens_alone(f, latch_of(waiting, "n"), "latchkey:{n}:q",
                latch_of(other, "{n}"), waiting);
    opens_alone(f, latch_of(waiting, "{m}"), "latchkey::{m}:q",
                latch_of(other, "m"), waiting);
}

/* ---- locks ---- */

/* A waiter for the one is not given the other. */
LOCKS_TEST(a_lock_whose_name_has_braces_is_handed_to_its_own)
{
    lk_hold *braced =
        locking_hold(locking_lock(f, locking_open(f, NULL), "{n}"));
    lk_hold *plain = locking_hold(locking_new(f, lk_lock));
    lk_client *waiting = locking_open(f, NULL);
    taker *t = locking_take(f, locking_lock(f, waiting, "{n}"), 5000, NULL);

    locking_wait_queued(f, "n", 0);
    locking_wait_integer(f, 1, "ZCOUNT %s 0 +inf", "latchkey::{n}:q");
    assert_status(lk_hold_release(plain), LK_OK);
    wait_looked(waiting);
    assert_false(atomic_load(&t->done));
    assert_false(locking_exists(f, "n"));
    assert_status(lk_hold_check(braced), LK_OK);
    assert_status(lk_hold_release(braced), LK_OK);
    assert_status(taker_release(t), LK_OK);
}

/* ---- forged messages ---- */

/* Of no wait. */
#define NONCE "0123456789abcdef"

/* CLAIM_SIZE: of a claim and its nonce, as they stand in a member. */
enum { CLAIMS = 16, CLAIM_SIZE = 80, TEXT = 256 };

/* One client that waits for all there is; another one holds it. */
typedef struct stage {
    locking *base;
    lk_client *victim, *holder;
    char inbox[64], uuid[40];
    lk_fairlock *fairlocks[2];
    lk_rwlock *rwlocks[2];
    lk_semaphore *semaphores[2];
    lk_plain_semaphore *plains[2];
    lk_siglock *siglocks[2];
    lk_latch *latch;
    lk_leader *leader;
    lk_hold *holds[5];
    call calls[8];
} stage;

static const char *const families[] = {"lock",  "rwlock", "semaphore", "plain",
                                       "latch", "leader", "siglock",   "x"};
static const char *const names[] = {"lock",  "fair", "rw",   "sem", "plain",
                                    "latch", "sig",  "seat", "x"};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void publish(const stage *s, const char *text)
{
    (void)server_integer(s->base->server, "PUBLISH %s %s", s->inbox, text);
}

static void find_inbox(stage *s)
{
    redisReply *reply =
        server_command(s->base->server, SERVER_LINE("lock") " LIMIT 0 1");
    redisReply *found;

    assert_int_equal(reply->elements, 1);
    (void)snprintf(s->uuid, sizeof(s->uuid), "%.32s", reply->element[0]->str);
    freeReplyObject(reply);
    found = server_command(s->base->server, "PUBSUB CHANNELS latchkey:in::%s",
                           s->uuid);
    assert_int_equal(found->elements, 1);
    (void)snprintf(s->inbox, sizeof(s->inbox), "%s", found->element[0]->str);
    freeReplyObject(found);
}

static bool has_voided(void *data)
{
    lk_client_stats stats = {.size = sizeof(stats)};
    const counted *looker = data;

    return lk_client_stats_get(looker->client, &stats) == LK_OK &&
           stats.grants_void > looker->before;
}

/* Everything that was published has been heard: a last message is counted. */
static void wait_heard(const stage *s)
{
    counted looker = {s->victim, locking_stats(s->victim).grants_void};
    char text[TEXT];

    (void)snprintf(text, sizeof(text),
                   "grant 0 lock %s:0000000009000000 " NONCE " 1 5 0 1 x",
                   s->uuid);
    publish(s, text);
    assert_true(wait_until(has_voided, &looker, 10000));
}

static void make(stage *s)
{
    for (int i = 0; i < 2; i++) {
        lk_client *client = i == 0 ? s->holder : s->victim;
        const lk_semaphore_options options = {LK_SEMAPHORE_OPTIONS_INIT,
                                              .permits = 1};

        assert_status(lk_fairlock_new(&s->fairlocks[i], client, "fair", NULL),
                      LK_OK);
        assert_status(lk_rwlock_new(&s->rwlocks[i], client, "rw", NULL), LK_OK);
        assert_status(lk_semaphore_new(&s->semaphores[i], client, "sem",
                                       &options),
                      LK_OK);
        assert_status(lk_plain_semaphore_new(&s->plains[i], client, "plain"),
                      LK_OK);
        assert_status(lk_siglock_new(&s->siglocks[i], client, "sig", NULL),
                      LK_OK);
    }
    s->latch = latch_of(s->victim, "latch");
    assert_status(lk_leader_new(&s->leader, s->victim, "seat", NULL), LK_OK);
}

static void hold_all(stage *s)
{
    s->holds[0] = locking_hold(locking_lock(s->base, s->holder, "lock"));
    assert_status(lk_fairlock_acquire(s->fairlocks[0], 0, NULL, &s->holds[1]),
                  LK_OK);
    assert_status(lk_rwlock_acquire_write(s->rwlocks[0], 0, NULL, &s->holds[2]),
                  LK_OK);
    assert_status(lk_semaphore_acquire(s->semaphores[0], 1, 0, NULL,
                                       &s->holds[3]),
                  LK_OK);
    assert_status(lk_siglock_acquire(s->siglocks[0], 0, NULL, &s->holds[4]),
                  LK_OK);
    assert_status(lk_plain_semaphore_try_set(s->plains[0], 1, 0), LK_OK);
    assert_status(lk_plain_semaphore_acquire(s->plains[0], 1, 0, NULL), LK_OK);
    assert_status(lk_latch_try_set_count(s->latch, 1), LK_OK);
}

static void want_all(stage *s)
{
    call *c = s->calls;

    assert_status(lk_lock_acquire_async(locking_lock(s->base, s->victim,
                                                     "lock"),
                                        LK_FOREVER, NULL, call_on_acquire,
                                        &c[0]),
                  LK_OK);
    assert_status(lk_fairlock_acquire_async(s->fairlocks[1], LK_FOREVER, NULL,
                                            call_on_acquire, &c[1]),
                  LK_OK);
    assert_status(lk_rwlock_acquire_write_async(s->rwlocks[1], LK_FOREVER, NULL,
                                                call_on_acquire, &c[2]),
                  LK_OK);
    assert_status(lk_semaphore_acquire_async(s->semaphores[1], 1, LK_FOREVER,
                                             NULL, call_on_acquire, &c[3]),
                  LK_OK);
    assert_status(lk_siglock_acquire_async(s->siglocks[1], LK_FOREVER, NULL,
                                           call_on_acquire, &c[4]),
                  LK_OK);
    assert_status(lk_plain_semaphore_acquire_async(s->plains[1], 1, LK_FOREVER,
                                                   NULL, call_on_done, &c[5]),
                  LK_OK);
    assert_status(lk_latch_wait_async(s->latch, LK_FOREVER, NULL, call_on_done,
                                      &c[6]),
                  LK_OK);
    assert_status(lk_leader_observe_async(s->leader, 0, LK_FOREVER, NULL,
                                          call_on_info, &c[7]),
                  LK_OK);
    locking_wait_queued(s->base, "lock", 1);
    locking_wait_queued(s->base, "fair", 1);
    locking_wait_queued(s->base, "rw", 1);
    locking_wait_queued(s->base, "sem", 1);
    locking_wait_queued(s->base, "plain", 1);
    locking_wait_queued(s->base, "latch", 1);
    locking_wait_waiting(s->victim, COUNT(s->calls));
}

static stage *stage_new(locking *f)
{
    static stage s;

    memset(&s, 0, sizeof(s));
    s.base = f;
    s.holder = locking_open(f, NULL);
    s.victim = locking_open(f, NULL);
    make(&s);
    hold_all(&s);
    want_all(&s);
    find_inbox(&s);
    return &s;
}

/* Nobody was made to believe anything. */
static void assert_nothing_believed(stage *s)
{
    wait_heard(s);
    for (size_t i = 0; i < COUNT(s->calls); i++)
        assert_int_equal(atomic_load(&s->calls[i].ends), 0);
    for (size_t i = 0; i < COUNT(s->holds); i++)
        assert_status(lk_hold_check(s->holds[i]), LK_OK);
    assert_int_equal(locking_stats(s->victim).holding, 0);
}

/* What is really there is still obtained. */
static void stage_end(stage *s)
{
    lk_leader *leader = NULL;
    lk_hold *office = NULL;

    for (size_t i = 0; i < COUNT(s->holds); i++)
        assert_status(lk_hold_release(s->holds[i]), LK_OK);
    assert_status(lk_plain_semaphore_release(s->plains[0], 1), LK_OK);
    assert_status(lk_latch_count_down(s->latch, 1), LK_OK);
    assert_status(lk_leader_new(&leader, s->holder, "seat", NULL), LK_OK);
    assert_status(lk_leader_campaign(leader, 0, NULL, &office), LK_OK);
    for (size_t i = 0; i < COUNT(s->calls); i++) {
        assert_status(call_wait(&s->calls[i], NULL), LK_OK);
        if (s->calls[i].hold != NULL)
            assert_status(lk_hold_release(s->calls[i].hold), LK_OK);
        lk_info_free(s->calls[i].info);
    }
    assert_status(lk_leader_resign(leader, office), LK_OK);
    lk_leader_free(leader);
    lk_leader_free(s->leader);
    lk_latch_free(s->latch);
    for (int i = 0; i < 2; i++) {
        lk_fairlock_free(s->fairlocks[i]);
        lk_rwlock_free(s->rwlocks[i]);
        lk_semaphore_free(s->semaphores[i]);
        lk_plain_semaphore_free(s->plains[i]);
        lk_siglock_free(s->siglocks[i]);
    }
}

/* With the number of every claim, but without its ticket. */
LOCKS_TEST(forged_messages_are_believed_by_nobody)
{
    stage *s = stage_new(f);
    char text[TEXT];

    for (unsigned claim = 1; claim <= CLAIMS; claim++) {
        for (size_t i = 0; i < COUNT(families) * COUNT(names); i++) {
            const char *family = families[i % COUNT(families)];
            const char *name = names[i / COUNT(families)];

            (void)snprintf(text, sizeof(text),
                           "grant 0 %s %s:%016u " NONCE " 1 5 0 30000 %s",
                           family, s->uuid, claim, name);
            publish(s, text);
            (void)snprintf(text, sizeof(text),
                           "open 0 %s %s:%016u " NONCE " 1 %s", family, s->uuid,
                           claim, name);
            publish(s, text);
            (void)snprintf(text, sizeof(text),
                           "revoked 0 %s %s:%016u " NONCE " 1 %s", family,
                           s->uuid, claim, name);
            publish(s, text);
        }
    }
    assert_nothing_believed(s);
    stage_end(s);
}

/* The claim of a waiter and its ticket, as they stand in its queue; with words:
   so many of its text, the claim and the nonce. */
static void ticket_of(const stage *s, const char *queue, int words, char *claim,
                      char *ticket)
{
    redisReply *reply =
        server_command(s->base->server,
                       "ZRANGEBYSCORE %s 0 +inf WITHSCORES LIMIT 0 1", queue);
    size_t size = 0;

    assert_int_equal(reply->elements, 2);
    for (int i = 0; i < words; i++)
        size += strcspn(reply->element[0]->str + size + (i > 0), " ") + (i > 0);
    (void)snprintf(claim, CLAIM_SIZE, "%.*s", (int)size,
                   reply->element[0]->str);
    (void)snprintf(ticket, 32, "%lld",
                   strtoll(reply->element[1]->str, NULL, 10) % SERVER_BAND);
    freeReplyObject(reply);
}

/* Whoever reads the queue knows the ticket, and the nonce; the rest has to be
   right, too. */
LOCKS_TEST(a_ticket_alone_is_believed_by_nobody)
{
    static const struct {
        const char *queue, *family, *name, *other;
        int words;
    } waits[] = {
        {"latchkey:{lock}:q", "0 lock", "lock", "0 rwlock", 2},
        {"latchkey:{lock}:q", "0 lock", "{lock}", "0 fairlock", 2},
        {"latchkey:{fair}:q", "0 lock", "fair", "0 semaphore", 2},
        {"latchkey:{rw}:q", "0 rwlock", "rw", "0 lock", 2},
        {"latchkey:{sem}:q", "0 semaphore", "sem", "0 lock", 2},
    };
    static const char *const numbers[] = {
        "0 5 5 3000",
        "-1 5 5 3000",
        " 5 5 3000",
        "5 5 3000",
        "%s 0 0 3000",
        "%s 5 4 -3000",
        "%s 5 5 0",
        "%s 5 5 -1",
        "%s 5x 5 3000",
        "%sx 5 5 3000",
        "+%s 5 5 3000",
        "%s 5 5 30.5",
        "0%s 5 5 3000",
        "%s 5 5 99999999999999999999",
        "%s 18446744073709551617 18446744073709551617 3000",
        "%s 9007199254740993 9007199254740993 3000",
    };
    stage *s = stage_new(f);
    char claim[CLAIM_SIZE], ticket[32], with[TEXT / 2], text[TEXT];

    for (size_t i = 0; i < COUNT(waits); i++) {
        ticket_of(s, waits[i].queue, waits[i].words, claim, ticket);
        (void)snprintf(text, sizeof(text), "grant %s %s %s 5 5 3000 other",
                       waits[i].family, claim, ticket);
        publish(s, text);
        (void)snprintf(text, sizeof(text), "grant %s %s %s 5 5 3000 %s",
                       waits[i].other, claim, ticket, waits[i].name);
        publish(s, text);
        (void)snprintf(text, sizeof(text), "grant %s %s %s 5 5 3000",
                       waits[i].family, claim, ticket);
        publish(s, text);
        for (size_t j = 0; j < COUNT(numbers); j++) {
            const char *at = strstr(numbers[j], "%s");

            (void)snprintf(with, sizeof(with), "%.*s%s%s",
                           at == NULL ? 0 : (int)(at - numbers[j]), numbers[j],
                           at == NULL ? "" : ticket,
                           at == NULL ? numbers[j] : at + 2);
            (void)snprintf(text, sizeof(text), "grant %s %s %s %s",
                           waits[i].family, claim, with, waits[i].name);
            publish(s, text);
        }
    }
    assert_nothing_believed(s);
    stage_end(s);
}

/* A grant that is right but for one word. */
LOCKS_TEST(a_grant_of_another_database_or_wait_is_believed_by_nobody)
{
    stage *s = stage_new(f);
    char claim[CLAIM_SIZE], ticket[32], text[TEXT];

    ticket_of(s, "latchkey:{lock}:q", 2, claim, ticket);
    (void)snprintf(text, sizeof(text), "grant 1 lock %s %s 5 0 3000 lock",
                   claim, ticket);
    publish(s, text);
    ticket_of(s, "latchkey:{lock}:q", 1, claim, ticket);
    (void)snprintf(text, sizeof(text),
                   "grant 0 lock %s " NONCE " %s 5 0 3000 lock", claim, ticket);
    publish(s, text);
    assert_nothing_believed(s);
    stage_end(s);
}

/* Every word of it is right. What a counter gives is in the answer alone. */
LOCKS_TEST(a_grant_to_a_waiter_of_a_counter_is_believed_by_nobody)
{
    stage *s = stage_new(f);
    char claim[CLAIM_SIZE], ticket[32], text[TEXT];

    ticket_of(s, "latchkey:{plain}:q", 2, claim, ticket);
    (void)snprintf(text, sizeof(text), "grant 0 plain %s %s 5 0 3000 plain",
                   claim, ticket);
    publish(s, text);
    assert_nothing_believed(s);
    stage_end(s);
}

CHECK_GROUP(locking_start_server, locking_stop_server)
