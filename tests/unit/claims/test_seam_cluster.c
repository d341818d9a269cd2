/* SPDX-License-Identifier: MIT */

/*
 * A client on a virtual clock and a cluster that the test plays: which nodes it
 * asks, which it keeps, and where a hold is renewed while its slot moves.
 */

#include <latchkey/latchkey.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/script.h"
#include "base/slot.h"
#include "claims/cluster_private.h"
#include "claims/node.h"
#include "claims/work.h"
#include "engine/client.h"
#include "handle/open.h"
#include "lock_table.h"
#include "rwlock_table.h"
#include "support/call.h"
#include "support/check.h"
#include "support/fake_world.h"

enum {
    SECOND_MS = 1000,
    ADDRESSES = 1200, /* more than there is room for at a time */
    WATCHDOG_MS = 3000,
    LATE_MS = 250,
    HALF = LK__SLOTS / 2
};

/* Hosts that begin with an s are of the URL, and always there. */
static const char url[] = "redis+cluster://s0,s1?failover=fast";

typedef struct scene {
    fake_world *world;
    lk_client *client;
    const char *said[2]; /* the master, by each of the URL's */
    const char *master;  /* and by itself; it is there, */
    const char
        *importer;     /* and this one, if there is one: the slots move to it */
    fake_link *link;   /* the last one to it */
    unsigned connects; /* to the master, */
    unsigned imports;  /* and to the importer */
    uint64_t greeting_ms; /* so slow is it to greet */
    unsigned stayed;      /* questions about what is where it was, and */
    unsigned moved;       /* about what is at the importer, that came there; */
    unsigned unasked;     /* those that came there without ASKING */
    bool knows[2];        /* the script of both, there and at the importer */
    bool is_asking;
    bool denies_asking;
    bool has_all;      /* the importer, of what is sent on to it */
    unsigned warnings; /* that a hold is not renewed */
    const char *other; /* the master of half of all slots, if there is one; */
    bool is_over;      /* it has those of the master, which is not there */
    const char *late;  /* a key with that text: of one the master is late to say
                         that it is at the importer */
    bool is_late;      /* it was asked for it */
    bool has_gone;     /* the slots are the importer's, and it says so */
    bool hash_first;   /* it came alone before the key of a lease did */
} scene;

static scene now;

/* ---- what is played ------------------------------------------------------------- */

static bool is_at(const fake_link *link, const char *host)
{
    return host != NULL && strcmp(link->address.host, host) == 0;
}

static bool is_there(const fake_link *link)
{
    return link->address.host[0] == 's' ||
           (is_at(link, now.master) && !now.is_over) ||
           is_at(link, now.other) || is_at(link, now.importer);
}

static int on_connect(void *data, fake_link *link)
{
    (void)data;
    if (is_at(link, now.master)) {
        now.connects++;
        now.link = link;
    }
    now.imports += is_at(link, now.importer);
    return is_there(link) ? 0 : -ECONNREFUSED;
}

static size_t range_write(char *text, size_t size, unsigned first,
                          unsigned last, const char *host)
{
    return (size_t)snprintf(text, size,
                            "*3\r\n:%u\r\n:%u\r\n*3\r\n$%zu\r\n%s\r\n:6379"
                            "\r\n$1\r\ni\r\n",
                            first, last, strlen(host), host);
}

static void say_map(fake_link *link)
{
    const char *host = link->address.host;
    const char *named = host[0] == 's' ? now.said[host[1] - '0'] : now.master;
    char text[256] = "*2\r\n";
    size_t size = strlen(text);

    size += range_write(text + size, sizeof(text) - size, 0, HALF - 1,
                        now.is_over ? now.other : named);
    (void)range_write(text + size, sizeof(text) - size, HALF, LK__SLOTS - 1,
                      now.other != NULL ? now.other : named);
    fake_say(link, text);
}

static bool runs(const char **argv, const size_t *sizes, const lk__script *s)
{
    return strcmp(argv[1], s->sha1) == 0 ||
           (sizes[1] == s->size && memcmp(argv[1], s->body, s->size) == 0);
}

static void say_elsewhere(fake_link *link, const char *word, const char *host,
                          const char *key, size_t size)
{
    bool is_late = now.late != NULL && strstr(key, now.late) != NULL;
    char text[64];

    (void)snprintf(text, sizeof(text), "-%s %u %s:6379\r\n", word,
                   lk__slot_of(key, size), host);
    fake_say_in(link, is_late ? LATE_MS * FAKE_MS : 0, text);
    if (is_late) {
        now.is_late = true;
        now.late = NULL;
    }
}

/* A script that was refused for its keys was not taken in. */
static void say_renewed(fake_link *link, const char **argv)
{
    bool *knows = &now.knows[is_at(link, now.importer)];

    *knows = *knows || strcmp(argv[0], "EVAL") == 0;
    fake_say(link, *knows ? "*2\r\n:1\r\n*0\r\n"
                          : "-NOSCRIPT No matching script.\r\n");
}

static void say_acquired(fake_link *link, const char *key, size_t size)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "-MOVED %u %s:6379\r\n",
                   lk__slot_of(key, size), now.importer);
    fake_say(link, now.has_gone && !is_at(link, now.importer)
                       ? text
                       : "*4\r\n:1\r\n:1\r\n:3000\r\n:63\r\n");
}

/* While the slot moves all keys but one are at the importer. */
static void play_moving(fake_link *link, const char **argv, const size_t *sizes)
{
    bool is_alone = strcmp(argv[2], "1") == 0;
    bool is_hash = is_alone && strcmp(argv[3], "r") == 0;

    if (is_at(link, now.importer)) {
        now.unasked += !now.is_asking;
        now.moved += is_alone;
    } else {
        now.hash_first |= is_hash && now.moved == 0;
        now.stayed += is_hash;
    }
    if (!is_alone)
        fake_say(link, "-TRYAGAIN several keys\r\n");
    else if (is_at(link, now.importer) && !now.is_asking && !now.has_all)
        say_elsewhere(link, "MOVED", now.master, argv[3], sizes[3]);
    else if (is_at(link, now.importer) || is_hash)
        say_renewed(link, argv);
    else
        say_elsewhere(link, "ASK", now.importer, argv[3], sizes[3]);
}

static void play_script(fake_link *link, const char **argv, const size_t *sizes)
{
    bool renews = runs(argv, sizes, &lk__lock_renew_script) ||
                  runs(argv, sizes, &lk__rwlock_renew_script);

    if (runs(argv, sizes, &lk__lock_acquire_script)) {
        say_acquired(link, argv[3], sizes[3]);
    } else if (now.importer != NULL) {
        play_moving(link, argv, sizes);
    } else if (renews) {
        fake_say(link, "*2\r\n:1\r\n*0\r\n");
    } else if (runs(argv, sizes, &lk__lock_keep_script)) {
        fake_say(link, "*4\r\n:1\r\n:3000\r\n:0\r\n:63\r\n");
    } else if (runs(argv, sizes, &lk__rwlock_keep_script)) {
        fake_say(link, "*4\r\n:1\r\n:3000\r\n:0\r\n:1\r\n");
    } else if (runs(argv, sizes, &lk__rwlock_acquire_script)) {
        fake_say(link, "*3\r\n:1\r\n:1\r\n:3000\r\n");
    } else {
        fake_say(link, "*4\r\n:1\r\n:2\r\n:0\r\n:0\r\n"); /* released */
    }
}

static void say_subscribed(fake_link *link, const char *channel)
{
    char text[160];

    (void)snprintf(text, sizeof(text),
                   "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n",
                   strlen(channel), channel);
    fake_say(link, text);
}

static void on_command(void *data, fake_link *link, int argc, const char **argv,
                       const size_t *sizes)
{
    static const char info[] = "run_id:1\r\nrole:master\r\nmaster_replid:2\r\n";
    bool was_asking = now.is_asking;
    char text[128];

    (void)data;
    (void)snprintf(text, sizeof(text), "$%zu\r\n%s\r\n", strlen(info), info);
    now.is_asking = strcmp(argv[0], "ASKING") == 0 && !now.denies_asking;
    if (now.denies_asking && strcmp(argv[0], "ASKING") == 0) {
        fake_say(link, "-NOPERM no permissions to run 'asking'\r\n");
    } else if (strcmp(argv[0], "INFO") == 0) {
        fake_say_in(link, now.greeting_ms * FAKE_MS, text);
    } else if (argc > 1 && strcmp(argv[1], "ID") == 0) {
        fake_say(link, ":1\r\n");
    } else if (strcmp(argv[0], "CLUSTER") == 0) {
        say_map(link);
    } else if (strcmp(argv[0], "SUBSCRIBE") == 0) {
        say_subscribed(link, argv[1]);
    } else if (strcmp(argv[0], "GET") == 0) {
        fake_say(link, "$-1\r\n");
    } else if (strncmp(argv[0], "EVAL", 4) == 0) {
        now.is_asking = was_asking;
        play_script(link, argv, sizes);
        now.is_asking = false;
    } else {
        fake_say(link, strcmp(argv[0], "PING") == 0 ? "+PONG\r\n" : "+OK\r\n");
    }
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
    now = (scene){.world = fake_world_new(11, &player, NULL),
                  .master = "m",
                  .said = {"m", "m"}};
    return 0;
}

static void log_take(lk_log_level level, const char *text, void *data)
{
    (void)level;
    (void)data;
    now.warnings += strstr(text, "is not renewed: NOPERM") != NULL;
}

static void open_client(void)
{
    const lk_client_options brief = {LK_CLIENT_OPTIONS_INIT,
                                     .watchdog_ms = WATCHDOG_MS,
                                     .log = log_take};

    assert_status(lk__client_open_in(&now.client, &now.world->process.base, url,
                                     &brief),
                  LK_OK);
}

/* Holds the name n. */
static lk_hold *hold_n(lk_lock **ret_lock)
{
    lk_hold *hold = NULL;

    open_client();
    assert_status(lk_lock_new(ret_lock, now.client, "n", NULL), LK_OK);
    assert_status(lk_lock_acquire(*ret_lock, SECOND_MS, NULL, &hold), LK_OK);
    return hold;
}

static int teardown(NO_STATE)
{
    lk_client_free(now.client);
    fake_world_free(now.world);
    return 0;
}

/* ---- nodes ---------------------------------------------------------------------- */

#define TEST(name) CHECK_TEST_OF(name, NO_STATE, setup, teardown)

/* As in a container system, where each start brings another one. */
TEST(addresses_are_others_for_ever)
{
    char host[16];

    open_client();
    for (unsigned i = 0; i < ADDRESSES; i++) {
        (void)snprintf(host, sizeof(host), "m%u", i);
        now.master = now.said[0] = now.said[1] = host;
        now.connects = 0;
        if (now.link != NULL)
            fake_break(now.link);
        run_ms(SECOND_MS / 2);
        if (now.connects == 0)
            fail_msg("the client does not come to the address %u", i);
    }
}

TEST(every_one_of_the_url_is_asked)
{
    now.said[0] = "dead";
    open_client();
    run_ms(2 * (uint64_t)SECOND_MS);
    assert_in_range(now.connects, 1, 2);
    assert_status(lk_client_wait_ready(now.client, SECOND_MS), LK_OK);
}

/* Another map must not take its time from it. */
TEST(a_master_may_be_slow_to_come)
{
    now.said[0] = "dead";
    now.greeting_ms = 900;
    open_client();
    run_ms(10 * (uint64_t)SECOND_MS);
    assert_status(lk_client_wait_ready(now.client, SECOND_MS), LK_OK);
}

/* ---- slots that move ------------------------------------------------------------- */

TEST(a_hold_is_renewed_at_a_master_that_has_no_slot_yet)
{
    lk_lock *lock = NULL;
    lk_hold *hold = hold_n(&lock);

    now.importer = "new";
    run_ms(60 * (uint64_t)WATCHDOG_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(now.moved >= 60);
    assert_int_equal(now.unasked, 0);
    assert_int_equal(now.imports, 1);
    now.importer = NULL;
    run_ms(WATCHDOG_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_lock_free(lock);
}

/* How many masters are known to have denied to renew a hold of theirs. */
static unsigned count_denials(void)
{
    unsigned denials = 0;

    for (const lk__node *node = now.client->work->cluster->nowhere->next;
         node != NULL; node = node->next)
        denials += node->denial[0] != '\0';
    return denials;
}

/* It says so while there is time, and what it lacked when there is none. Of whom
   was asked it is not said: that one has holds of its own. */
TEST(a_hold_that_may_not_follow_its_slot_is_denied)
{
    lk_lock *lock = NULL;
    lk_hold *hold = hold_n(&lock);

    now.denies_asking = true;
    now.importer = "new";
    run_ms(WATCHDOG_MS - SECOND_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(now.warnings, 1);
    assert_int_equal(count_denials(), 1);
    run_ms(WATCHDOG_MS);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DENIED);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_non_null(strstr(lk_last_error(), "to run 'asking'"));
    lk_lock_free(lock);
}

/* Another master has the name since, and has denied nothing. */
TEST(one_that_was_denied_elsewhere_says_no_more)
{
    lk_lock *lock = NULL;
    lk_hold *hold = hold_n(&lock);

    now.denies_asking = true;
    now.importer = "new";
    run_ms(2 * (uint64_t)WATCHDOG_MS);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_DENIED);
    now.importer = NULL;
    now.master = now.said[0] = now.said[1] = "next";
    fake_break(now.link);
    run_ms(10 * (uint64_t)SECOND_MS);
    assert_status(lk_hold_release(hold), LK_ELOST);
    if (strstr(lk_last_error(), "forbids to renew it: ") != NULL)
        fail_msg("it says '%s'", lk_last_error());
    lk_lock_free(lock);
}

/* The slot has come meanwhile: what is denied was not needed. */
TEST(one_that_is_renewed_all_the_same_is_not_denied)
{
    lk_lock *lock = NULL;
    lk_hold *hold = hold_n(&lock);

    now.denies_asking = true;
    now.has_all = true;
    now.importer = "new";
    run_ms(2 * (uint64_t)WATCHDOG_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(now.unasked > 0);
    assert_int_equal(now.warnings, 0);
    now.importer = NULL;
    run_ms(WATCHDOG_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_lock_free(lock);
}

/* The right comes in time. */
TEST(one_that_may_again_is_held)
{
    lk_lock *lock = NULL;
    lk_hold *hold = hold_n(&lock);

    now.denies_asking = true;
    now.importer = "new";
    run_ms(WATCHDOG_MS - SECOND_MS);
    now.denies_asking = false;
    run_ms(WATCHDOG_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    now.world->path->ns[SIM_THERE] = 3600 * (uint64_t)SECOND_MS * FAKE_MS;
    run_ms(2 * (uint64_t)WATCHDOG_MS);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
    assert_status(lk_hold_release(hold), LK_ELOST);
    lk_lock_free(lock);
}

/* One key after the other, each where it is. */
TEST(a_reader_is_renewed_at_both_masters)
{
    lk_rwlock *lock = NULL;
    lk_hold *hold = NULL;

    open_client();
    assert_status(lk_rwlock_new(&lock, now.client, "r", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_read(lock, SECOND_MS, NULL, &hold), LK_OK);
    now.importer = "new";
    run_ms(60 * (uint64_t)WATCHDOG_MS);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_true(now.stayed >= 60);
    assert_in_range(now.moved, now.stayed, now.stayed + 1);
    assert_false(now.hash_first);
    assert_int_equal(now.unasked, 0);
    now.importer = NULL;
    run_ms(WATCHDOG_MS);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_rwlock_free(lock);
}

/* The write has the key of its own lease as well, as its server has said. */
TEST(an_upgrade_is_renewed_at_both_masters)
{
    lk_rwlock *lock = NULL;
    lk_hold *read = NULL, *write = NULL;

    open_client();
    assert_status(lk_rwlock_new(&lock, now.client, "r", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_upgradeable(lock, SECOND_MS, NULL, &read),
                  LK_OK);
    assert_status(lk_rwlock_acquire_write(lock, SECOND_MS, NULL, &write),
                  LK_OK);
    run_ms(WATCHDOG_MS);
    now.importer = "new";
    run_ms(60 * (uint64_t)WATCHDOG_MS);
    assert_status(lk_hold_check(read), LK_OK);
    assert_status(lk_hold_check(write), LK_OK);
    assert_int_equal(now.unasked, 0);
    now.importer = NULL;
    run_ms(WATCHDOG_MS);
    assert_status(lk_hold_release(write), LK_OK);
    assert_status(lk_hold_release(read), LK_OK);
    lk_rwlock_free(lock);
}

/* What keeps the write is not known any more when the server says where the key of
   its lease is. */
TEST(a_slot_may_go_between_two_keys_of_a_hold)
{
    lk_rwlock *lock = NULL;
    lk_lock *other = NULL;
    lk_hold *read = NULL, *write = NULL;
    call got = {.hold = NULL};

    open_client();
    assert_status(lk_rwlock_new(&lock, now.client, "r", NULL), LK_OK);
    assert_status(lk_lock_new(&other, now.client, "{r}", NULL), LK_OK);
    assert_status(lk_rwlock_acquire_upgradeable(lock, SECOND_MS, NULL, &read),
                  LK_OK);
    assert_status(lk_rwlock_acquire_write(lock, SECOND_MS, NULL, &write),
                  LK_OK);
    run_ms(WATCHDOG_MS);
    now.importer = "new";
    now.late = ":0000000000000002:"; /* the second claim: the write */
    while (!now.is_late)
        run_ms(1);
    now.has_gone = true;
    assert_status(lk_lock_acquire_async(other, SECOND_MS, NULL, call_on_acquire,
                                        &got),
                  LK_OK);
    run_ms(SECOND_MS / 2);
    now.importer = NULL;
    run_ms(SECOND_MS);
    assert_status(lk_hold_check(read), LK_OK);
    assert_status(lk_hold_check(write), LK_OK);
    assert_status(call_wait(&got, NULL), LK_OK);
    assert_status(lk_hold_release(got.hold), LK_OK);
    assert_status(lk_hold_release(write), LK_OK);
    assert_status(lk_hold_release(read), LK_OK);
    lk_lock_free(other);
    lk_rwlock_free(lock);
}

/* A question of no lock: how many stripes there are. */
TEST(a_question_goes_with_its_slot)
{
    lk_stripes *stripes = NULL;
    lk_hold *hold = NULL;

    assert_true(lk__slot_of("name2", 5) < HALF);
    now.other = "w";
    open_client();
    run_ms(SECOND_MS);
    assert_status(lk_stripes_new(&stripes, now.client, "name2", NULL), LK_OK);
    fake_break(now.link);
    now.is_over = true;
    assert_status(lk_stripes_acquire(stripes, "k", 5 * (int64_t)SECOND_MS, NULL,
                                     &hold),
                  LK_OK);
    assert_status(lk_hold_release(hold), LK_OK);
    lk_stripes_free(stripes);
}
