/* SPDX-License-Identifier: MIT */

/*
 * A client on a virtual clock, with three sentinels and two servers that the test
 * plays: when it asks, what it makes of messages, and when nobody waits any more.
 */

#include <latchkey/latchkey.h>

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "claims/group.h"
#include "claims/node.h"
#include "engine/client.h"
#include "handle/open.h"
#include "support/check.h"
#include "support/fake_world.h"

enum {
    SENTINELS = 3,
    LONG_MS = 60000,
    SECOND_MS = 1000,
    TIMES = 10,
    LINKS = 64
};

static const char url[] = "redis+sentinel://s0,s1,s2/m?sentinel_user=u&"
                          "sentinel_password=p";

typedef struct played_sentinel {
    const char *named; /* host of the master; NULL: it knows no such name */
    const char *address_answer;   /* instead of that; NULL: that */
    const char *master_answer;    /* NULL: that it is denied */
    const char *auth_answer;      /* NULL: it is welcome */
    const char *subscribe_answer; /* NULL: it may listen */
    int connect_answer;
    uint64_t answer_ns; /* an address takes so long */
    unsigned questions, subscribes, connects;
    fake_link *ear;
} played_sentinel;

typedef struct scene {
    fake_world *world;
    lk_client *client;
    lk_lock *lock;
    played_sentinel sentinels[SENTINELS];
    unsigned to_old, to_next; /* streams to the servers, */
    int server_answer;        /* and whether they are taken */
} scene;

static scene now;

/* ---- what is played ------------------------------------------------------------- */

/* NULL: it is a server's. */
static played_sentinel *sentinel_of(const fake_link *link)
{
    const char *host = link->address.host;

    return host[0] == 's' ? &now.sentinels[host[1] - '0'] : NULL;
}

static int on_connect(void *data, fake_link *link)
{
    played_sentinel *sentinel = sentinel_of(link);

    (void)data;
    if (sentinel != NULL) {
        sentinel->connects++;
        return sentinel->connect_answer;
    }
    now.to_old += strcmp(link->address.host, "old") == 0;
    now.to_next += strcmp(link->address.host, "next") == 0;
    return now.server_answer;
}

static void say_address(const played_sentinel *sentinel, fake_link *link)
{
    char text[64];

    if (sentinel->address_answer != NULL)
        (void)snprintf(text, sizeof(text), "%s", sentinel->address_answer);
    else if (sentinel->named == NULL)
        (void)snprintf(text, sizeof(text), "*-1\r\n");
    else
        (void)snprintf(text, sizeof(text), "*2\r\n$%zu\r\n%s\r\n$4\r\n6379\r\n",
                       strlen(sentinel->named), sentinel->named);
    fake_say_in(link, sentinel->answer_ns, text);
}

static void
play_sentinel(played_sentinel *sentinel, fake_link *link, const char **argv)
{
    if (strcmp(argv[0], "AUTH") == 0) {
        fake_say(link, sentinel->auth_answer != NULL ? sentinel->auth_answer
                                                     : "+OK\r\n");
    } else if (strcmp(argv[0], "SUBSCRIBE") == 0) {
        sentinel->subscribes++;
        sentinel->ear = link;
        fake_say(link, sentinel->subscribe_answer != NULL
                           ? sentinel->subscribe_answer
                           : "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r"
                             "\n:1\r\n");
    } else if (strcmp(argv[0], "SENTINEL") == 0 &&
               strcmp(argv[1], "MASTER") == 0) {
        fake_say(link, sentinel->master_answer != NULL ? sentinel->master_answer
                                                       : "-NOPERM no\r\n");
    } else if (strcmp(argv[0], "SENTINEL") == 0) {
        sentinel->questions++;
        say_address(sentinel, link);
    } else {
        fake_say(link, "-NOPERM no\r\n"); /* PING as well */
    }
}

static void play_server(fake_link *link, int argc, const char **argv)
{
    static const char info[] = "run_id:1\r\nrole:master\r\nmaster_replid:2\r\n";
    char text[128];

    (void)snprintf(text, sizeof(text), "$%zu\r\n%s\r\n", strlen(info), info);
    if (strcmp(argv[0], "INFO") == 0)
        fake_say(link, text);
    else if (argc > 1 &&
             (strcmp(argv[1], "ID") == 0 || strcmp(argv[1], "KILL") == 0))
        fake_say(link, ":1\r\n");
    else
        fake_say(link, "+OK\r\n");
}

static void on_command(void *data, fake_link *link, int argc, const char **argv,
                       const size_t *sizes)
{
    played_sentinel *sentinel = sentinel_of(link);

    (void)data;
    (void)sizes;
    if (sentinel != NULL)
        play_sentinel(sentinel, link, argv);
    else
        play_server(link, argc, argv);
}

static const fake_server player = {.on_connect = on_connect,
                                   .on_command = on_command};

/* ---- the scene ------------------------------------------------------------------ */

static void run_ms(uint64_t ms)
{
    fake_world_run_for(now.world, ms * FAKE_MS);
}

static int setup(NO_STATE)
{
    now = (scene){.world = fake_world_new(7, &player, NULL)};
    for (size_t i = 0; i < SENTINELS; i++)
        now.sentinels[i].named = "old";
    return 0;
}

static void open_client(void)
{
    assert_status(lk__client_open_in(&now.client, &now.world->process.base, url,
                                     NULL),
                  LK_OK);
    assert_status(lk_lock_new(&now.lock, now.client, "n", NULL), LK_OK);
}

static int teardown(NO_STATE)
{
    lk_lock_free(now.lock);
    lk_client_free(now.client);
    fake_world_free(now.world);
    return 0;
}

/* Ready, and in the midst between two questions. */
static void open_and_settle(void)
{
    open_client();
    assert_status(lk_client_wait_ready(now.client, LONG_MS), LK_OK);
    run_ms(3 * SECOND_MS + SECOND_MS / 2);
    for (size_t i = 0; i < SENTINELS; i++)
        now.sentinels[i].questions = 0;
}

static void assert_questions(unsigned a, unsigned b, unsigned c)
{
    assert_int_equal(now.sentinels[0].questions, a);
    assert_int_equal(now.sentinels[1].questions, b);
    assert_int_equal(now.sentinels[2].questions, c);
}

static void tell(size_t sentinel, const char *channel, const char *text)
{
    char message[512];

    (void)snprintf(message, sizeof(message),
                   "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                   strlen(channel), channel, strlen(text), text);
    fake_say(now.sentinels[sentinel].ear, message);
}

static const char switched[] = "m old 6379 next 6379";

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, setup, teardown)

/* ---- what is heard --------------------------------------------------------------- */

TEST(all_are_asked_once_one_tells_of_another_master)
{
    open_and_settle();
    for (size_t i = 1; i < SENTINELS; i++)
        now.sentinels[i].named = "next";
    tell(1, "+switch-master", switched);
    run_ms(10);
    assert_questions(1, 1, 1);
    assert_int_equal(now.to_next, 1);
}

TEST(a_message_by_itself_changes_nothing)
{
    open_and_settle();
    for (size_t i = 0; i < SENTINELS; i++)
        tell(i, "+switch-master", switched);
    run_ms(SECOND_MS);
    assert_int_equal(now.to_next, 0);
    assert_status(lk_client_wait_ready(now.client, 0), LK_OK);
}

TEST(what_is_not_about_this_master_is_not_heeded)
{
    open_and_settle();
    tell(0, "+switch-master", "m2 old 6379 next 6379");
    tell(0, "+switch-master", "M old 6379 next 6379");
    tell(0, "+switch-master", "m");
    tell(0, "+switch-master", "");
    tell(0, "+sdown", switched);
    fake_say(now.sentinels[0].ear,
             "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n:1\r\n");
    fake_say(now.sentinels[0].ear, "*2\r\n$7\r\nmessage\r\n$1\r\nm\r\n");
    run_ms(100);
    assert_questions(0, 0, 0);
    tell(0, "+switch-master", switched); /* it is still listened to */
    run_ms(100);
    assert_questions(1, 1, 1);
}

TEST(many_messages_are_few_questions)
{
    open_and_settle();
    for (int i = 0; i < 900; i++) {
        tell((size_t)i % SENTINELS, "+switch-master", switched);
        run_ms(1);
    }
    for (size_t i = 0; i < SENTINELS; i++)
        assert_in_range(now.sentinels[i].questions, 10, 900 / 50 + 1);
}

/* Its answer may be of the time before the message. */
TEST(one_that_is_being_asked_is_asked_again)
{
    open_and_settle();
    now.sentinels[0].answer_ns = 200 * FAKE_MS;
    tell(1, "+switch-master", switched);
    run_ms(10);
    assert_questions(1, 1, 1);
    tell(1, "+switch-master", switched);
    run_ms(100);
    assert_questions(1, 2, 2);
    run_ms(150);
    assert_questions(2, 2, 2);
}

TEST(one_that_denies_it_is_asked_all_the_same)
{
    for (size_t i = 0; i < SENTINELS; i++)
        now.sentinels[i].subscribe_answer = "-NOPERM no\r\n";
    open_and_settle();
    run_ms(TIMES * (uint64_t)SECOND_MS);
    assert_questions(TIMES, TIMES, TIMES);
    for (size_t i = 0; i < SENTINELS; i++)
        assert_int_equal(now.sentinels[i].subscribes, 1);
}

/* ---- nobody waits in vain ----------------------------------------------------------- */

/* Waits for a lock in vain; returns for how many milliseconds. */
static uint64_t assert_not_taken(lk_status status, const char *words)
{
    uint64_t began = fake_world_now(now.world);
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(now.lock, LONG_MS, NULL, &hold), status);
    assert_non_null(strstr(lk_last_error(), words));
    return (fake_world_now(now.world) - began) / FAKE_MS;
}

static const char unknown[] = "Sentinel's master 'm' cannot be reached: the "
                              "sentinels know no master of that name; write";

TEST(a_name_that_all_do_not_know_ends_waits_at_once)
{
    for (size_t i = 0; i < SENTINELS; i++)
        now.sentinels[i].named = NULL;
    open_client();
    assert_in_range(assert_not_taken(LK_EOFFLINE, unknown), 0, 20);
    run_ms(1); /* what they said in the same moment is heard as well */
    assert_in_range(assert_not_taken(LK_EOFFLINE, unknown), 200, 260);
    assert_status(lk_client_wait_ready(now.client, LONG_MS), LK_EOFFLINE);
}

TEST(the_slowest_one_is_heard_before)
{
    for (size_t i = 0; i < SENTINELS; i++)
        now.sentinels[i].named = NULL;
    now.sentinels[2].answer_ns = 700 * FAKE_MS;
    open_client();
    assert_in_range(assert_not_taken(LK_EOFFLINE, unknown), 700, 720);
}

TEST(one_that_is_dead_is_not_waited_for)
{
    now.sentinels[0].named = now.sentinels[1].named = NULL;
    now.sentinels[2].connect_answer = -ECONNREFUSED;
    open_client();
    assert_in_range(assert_not_taken(LK_EOFFLINE, unknown), 0, 20);
}

/* The two others may be of one mind when they are back. */
TEST(one_alone_ends_no_wait)
{
    now.sentinels[0].named = NULL;
    now.sentinels[1].connect_answer = now.sentinels[2].connect_answer =
        -ECONNREFUSED;
    open_client();
    assert_in_range(assert_not_taken(LK_EOFFLINE, "1 of 3 sentinels"), 60000,
                    60020);
}

TEST(it_goes_on_once_the_name_is_known)
{
    a_name_that_all_do_not_know_ends_waits_at_once(NULL);
    for (size_t i = 0; i < SENTINELS; i++)
        now.sentinels[i].named = "old";
    run_ms(SECOND_MS);
    assert_status(lk_client_wait_ready(now.client, 0), LK_OK);
}

static void come_back(void *data)
{
    (void)data;
    now.server_answer = 0;
}

/* Whoever sets the sentinels up again takes the name away for a moment. */
TEST(a_name_that_was_known_is_waited_for)
{
    open_and_settle();
    for (size_t i = 0; i < SENTINELS; i++)
        now.sentinels[i].named = NULL;
    now.server_answer = -ECONNREFUSED;
    for (unsigned i = 0; i < LINKS; i++) {
        fake_link *link = fake_world_link(now.world, i);

        if (link != NULL && sentinel_of(link) == NULL)
            fake_break(link);
    }
    run_ms(SECOND_MS);
    fake_world_at(now.world, fake_world_now(now.world) + SECOND_MS * FAKE_MS,
                  come_back, NULL);
    assert_status(lk_client_wait_ready(now.client, LONG_MS), LK_OK);
}

TEST(a_refusal_by_most_ends_waits_at_once)
{
    now.sentinels[0].auth_answer = now.sentinels[2].auth_answer =
        "-WRONGPASS invalid username-password pair\r\n";
    open_client();
    assert_in_range(assert_not_taken(LK_EAUTH, "WRONGPASS"), 0, 20);
    assert_status(lk_client_wait_ready(now.client, LONG_MS), LK_EAUTH);
}

/* ---- nonsense ----------------------------------------------------------------------- */

/* A sentinel talks nonsense for a while: its connection is made again each time,
   and the two others are believed. */
static void assert_left(played_sentinel *sentinel)
{
    open_client();
    assert_status(lk_client_wait_ready(now.client, LONG_MS), LK_OK);
    run_ms(SECOND_MS);
    assert_true(sentinel->connects > 3);
    *sentinel = (played_sentinel){.named = "old"};
    run_ms((uint64_t)2 * SECOND_MS);
    sentinel->connects = 0;
    run_ms((uint64_t)3 * SECOND_MS);
    assert_int_equal(sentinel->connects, 0);
}

TEST(one_that_names_no_address_is_left)
{
    now.sentinels[0].address_answer = "*3\r\n$1\r\na\r\n:1\r\n:2\r\n";
    assert_left(&now.sentinels[0]);
}

TEST(one_that_tells_of_no_master_is_left)
{
    now.sentinels[1].master_answer = "+OK\r\n";
    assert_left(&now.sentinels[1]);
}

TEST(one_that_takes_no_password_and_no_offence_is_left)
{
    now.sentinels[2].auth_answer = ":1\r\n";
    assert_left(&now.sentinels[2]);
}

TEST(one_that_does_not_say_that_it_is_listened_to_is_left)
{
    now.sentinels[0].subscribe_answer = "+OK\r\n";
    assert_left(&now.sentinels[0]);
}

/* ---- where it is, for people -------------------------------------------------------- */

static void
assert_master(const char *address, uint64_t answering, uint64_t naming)
{
    lk_master master = {.size = sizeof(master)};

    assert_status(lk_master_get(now.client, &master), LK_OK);
    assert_string_equal(master.name, "m");
    assert_string_equal(master.address, address);
    assert_int_equal(master.sentinels, SENTINELS);
    assert_int_equal(master.answering, answering);
    assert_int_equal(master.naming, naming);
}

TEST(it_is_told_where_most_say_the_master_is)
{
    open_client();
    assert_master("", 0, 0);
    assert_status(lk_client_wait_ready(now.client, LONG_MS), LK_OK);
    run_ms(SECOND_MS);
    assert_master("old:6379", 3, 3);
    now.sentinels[0].named = now.sentinels[1].named = "fe80::1";
    run_ms(SECOND_MS);
    assert_master("[fe80::1]:6379", 3, 2);
    now.sentinels[1].named = "old";
    now.sentinels[2].named = NULL;
    run_ms(SECOND_MS);
    assert_master("", 3, 0);
}

#define MASTER_KNOWS(size, others)                                             \
    "*2\r\n$19\r\nnum-other-sentinels\r\n$" size "\r\n" others "\r\n"

/* One that denies to say how many it knows has not said that it knows none. */
TEST(it_is_told_how_many_others_each_one_knows)
{
    lk__group_facts facts;

    now.sentinels[0].master_answer = MASTER_KNOWS("1", "2");
    now.sentinels[1].master_answer = MASTER_KNOWS("1", "0");
    open_and_settle();
    assert_true(lk__group_see(now.client->node->group, &facts));
    assert_int_equal(facts.listed, SENTINELS);
    assert_string_equal(facts.views[0].address, "s0:26379");
    assert_true(facts.views[0].tells_others);
    assert_int_equal(facts.views[0].others, 2);
    assert_string_equal(facts.views[1].address, "s1:26379");
    assert_true(facts.views[1].tells_others);
    assert_int_equal(facts.views[1].others, 0);
    assert_false(facts.views[2].tells_others);
    now.sentinels[0].master_answer = MASTER_KNOWS("2", "-1");
    run_ms(2 * (uint64_t)SECOND_MS);
    assert_true(lk__group_see(now.client->node->group, &facts));
    assert_false(facts.views[0].tells_others);
}

TEST(what_one_that_has_gone_knew_is_not_told)
{
    lk__group_facts facts;

    now.sentinels[0].master_answer = MASTER_KNOWS("1", "1");
    now.sentinels[1].master_answer = MASTER_KNOWS("1", "1");
    open_and_settle();
    now.sentinels[1].answer_ns = (uint64_t)LONG_MS * FAKE_MS;
    run_ms(2 * (uint64_t)SECOND_MS);
    assert_true(lk__group_see(now.client->node->group, &facts));
    assert_true(facts.views[1].tells_others);
    run_ms(2 * (uint64_t)SECOND_MS);
    assert_true(lk__group_see(now.client->node->group, &facts));
    assert_true(facts.views[0].tells_others);
    assert_false(facts.views[1].tells_others);
}

/* A place of an older release, and one that is not set. */
TEST(a_smaller_place_gets_its_part)
{
    lk_master master = {.size = offsetof(lk_master, answering), .answering = 7};

    open_and_settle();
    assert_status(lk_master_get(now.client, &master), LK_OK);
    assert_int_equal(master.sentinels, SENTINELS);
    assert_int_equal(master.answering, 7);
    master.size = 0;
    assert_status(lk_master_get(now.client, &master), LK_EINVAL);
    assert_status(lk_master_get(now.client, NULL), LK_EINVAL);
    assert_status(lk_master_get(NULL, &master), LK_EINVAL);
}
