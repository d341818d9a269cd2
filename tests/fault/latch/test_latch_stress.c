/* SPDX-License-Identifier: MIT */

/*
 * Latches under load: every latch opens once, not before all that was counted
 * on has happened, and every waiter returns; while connections are cut and
 * members are killed and come again. LK_LONG=1 in the environment asks for ten
 * times the work.
 */

#include <latchkey/latchkey.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "support/check.h"
#include "support/server.h"
#include "support/wait.h"
#include "support/worker.h"

enum {
    PROCESSES = 8,
    SPARES = 3, /* stand in for those that are killed */
    THREADS = 4,
    MEMBERS = PROCESSES * THREADS,
    NAMES = 3,
    RETURNS = 2000, /* of waits, in all */
    CUT_MS = 10,
    DEADLINE_MS = 100000
};

/*
 * Rows of counters. A process has one for the round at which each of its
 * threads arrives, and one for the last that it has passed. In the row of
 * nobody a spare is told whose place it takes, plus 1.
 */
enum { ROW_PASSED = 32, ROW_NOBODY = WORKER_MAX - 1, COUNT_FAILURES = 7 };

static bool is_long(void)
{
    const char *text = getenv("LK_LONG");

    return text != NULL && strcmp(text, "1") == 0;
}

static unsigned rounds(void)
{
    unsigned returns = is_long() ? 10U * RETURNS : RETURNS;

    return returns / MEMBERS + 1;
}

/* ---- members ------------------------------------------------------------- */

typedef struct member {
    worker_shared *shared;
    unsigned process, thread;
    lk_latch **latches;
    pthread_t id;
    char name[32];
} member;

static void note(member *m, bool right)
{
    if (!right)
        m->shared->counters[m->process][COUNT_FAILURES]++;
}

/* Not before all have said that they arrive at this round. */
static bool all_arrive(const member *m, uint64_t round)
{
    for (unsigned i = 0; i < PROCESSES; i++) {
        for (unsigned j = 0; j < THREADS; j++) {
            if (m->shared->counters[i][j] < round)
                return false;
        }
    }
    return true;
}

static lk_status arrive(member *m, lk_latch *latch)
{
    lk_status status;

    do
        status = lk_latch_arrive(latch, MEMBERS, m->name);
    while (status == LK_EINDOUBT || status == LK_EOFFLINE);
    return status;
}

static lk_status await(lk_latch *latch)
{
    lk_status status;

    do
        status = lk_latch_wait(latch, LK_FOREVER, NULL);
    while (status == LK_EOFFLINE);
    return status;
}

/*
 * One round. When it is over, nobody waits for the one before any more, since
 * all have arrived here: its latch is deleted, to be armed again.
 */
static void meet(member *m, uint64_t round)
{
    lk_latch *latch = m->latches[round % NAMES];

    m->shared->counters[m->process][m->thread] = round;
    note(m, arrive(m, latch) == LK_OK);
    note(m, await(latch) == LK_OK);
    note(m, all_arrive(m, round));
    if (m->process == 0 && m->thread == 0 && round > 1) {
        lk_status status = lk_latch_delete(m->latches[(round - 1) % NAMES]);

        while (status == LK_EINDOUBT || status == LK_EOFFLINE)
            status = lk_latch_delete(m->latches[(round - 1) % NAMES]);
        note(m, status == LK_OK || status == LK_EUNSET);
    }
    m->shared->counters[ROW_PASSED + m->process][m->thread] = round;
}

static void *member_run(void *data)
{
    member *m = data;
    uint64_t last = rounds();

    for (uint64_t round =
             m->shared->counters[ROW_PASSED + m->process][m->thread] + 1;
         round <= last; round++)
        meet(m, round);
    return NULL;
}

static int
members_run(worker_shared *shared, unsigned process, lk_latch **latches)
{
    member members[THREADS];
    int failures = 0;

    for (unsigned i = 0; i < THREADS; i++) {
        members[i] = (member){.shared = shared,
                              .process = process,
                              .thread = i,
                              .latches = latches};
        (void)snprintf(members[i].name, sizeof(members[i].name), "m-%u-%u",
                       process, i);
        failures +=
            pthread_create(&members[i].id, NULL, member_run, &members[i]) != 0;
    }
    for (unsigned i = 0; i < THREADS && failures == 0; i++)
        failures += pthread_join(members[i].id, NULL) != 0;
    return failures;
}

static bool is_told(void *data)
{
    return atomic_load((_Atomic uint64_t *)data) != 0;
}

/* Which member's place a worker takes; PROCESSES: nobody's. */
static unsigned place_of(worker_shared *shared, unsigned index)
{
    _Atomic uint64_t *told;

    if (index < PROCESSES)
        return index;
    told = &shared->counters[ROW_NOBODY][index - PROCESSES];
    if (!wait_until(is_told, told, 10 * DEADLINE_MS))
        return PROCESSES;
    return (unsigned)*told - 1;
}

static lk_client *open_stressed(const server *s)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .user = "stressed", .password = "word"};
    lk_client *client;

    return lk_client_open(&client, server_url(s), &options) == LK_OK ? client
                                                                     : NULL;
}

static int process_run(worker_shared *shared, unsigned index, void *data)
{
    unsigned process = place_of(shared, index);
    lk_latch *latches[NAMES] = {NULL};
    lk_client *client;
    int failures = 0;

    if (process == PROCESSES)
        return 1;
    client = open_stressed(data);
    for (unsigned i = 0; client != NULL && i < NAMES; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "round-%u", i);
        failures += lk_latch_new(&latches[i], client, name, NULL) != LK_OK;
    }
    if (client == NULL || failures > 0)
        return 1;
    failures += members_run(shared, process, latches);
    for (unsigned i = 0; i < NAMES; i++)
        lk_latch_free(latches[i]);
    (void)lk_client_shutdown(client, 5000);
    lk_client_free(client);
    return failures;
}

/* ---- the trouble --------------------------------------------------------- */

static void cut_connections(server *s)
{
    static const char *const kinds[] = {"normal", "pubsub"};
    static unsigned turn;

    freeReplyObject(server_command(s, "CLIENT KILL USER stressed TYPE %s",
                                   kinds[turn++ % 2]));
}

/* The round that the slowest member has passed. */
static uint64_t passed(workers *w)
{
    const worker_shared *shared = workers_shared(w);
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < PROCESSES; i++) {
        for (unsigned j = 0; j < THREADS; j++) {
            uint64_t round = shared->counters[ROW_PASSED + i][j];

            least = round < least ? round : least;
        }
    }
    return least;
}

/* Kills one member, and lets another process take its place. */
static void replace(workers *w, unsigned spare)
{
    workers_kill(w, spare + 1, SIGKILL);
    workers_shared(w)->counters[ROW_NOBODY][spare] = spare + 2;
}

typedef struct trouble {
    server *server;
    workers *workers;
    unsigned replaced;
    uint64_t cut_at;
} trouble;

/* Makes trouble until all have passed the last round. */
static bool make_trouble(void *data)
{
    trouble *t = data;
    uint64_t done = passed(t->workers);

    if (wait_now_ms() > t->cut_at + CUT_MS) {
        cut_connections(t->server);
        t->cut_at = wait_now_ms();
    }
    if (t->replaced < SPARES &&
        done > (t->replaced + 1) * rounds() / (SPARES + 1)) {
        replace(t->workers, t->replaced);
        t->replaced++;
    }
    return done >= rounds();
}

/* ---- what was heard ------------------------------------------------------ */

static redisContext *listen_to_all(const server *s)
{
    redisContext *context = redisConnectUnix(server_socket(s));

    assert_non_null(context);
    freeReplyObject(redisCommand(context, "PSUBSCRIBE latchkey:*:n"));
    return context;
}

/* How many openings were told; each one ends with the reply of the PING. */
static unsigned count_openings(redisContext *context)
{
    unsigned openings = 0;
    bool over = false;

    assert_int_equal(redisAppendCommand(context, "PING"), REDIS_OK);
    while (!over) {
        void *got = NULL;
        redisReply *reply;

        assert_int_equal(redisGetReply(context, &got), REDIS_OK);
        reply = got;
        over = strcmp(reply->element[0]->str, "pong") == 0;
        openings += !over && strncmp(reply->element[3]->str, "opened ", 7) == 0;
        freeReplyObject(reply);
    }
    return openings;
}

/* ---- tests --------------------------------------------------------------- */

static int start_server(void **state)
{
    *state = server_start(NULL);
    if (*state == NULL)
        return 1;
    freeReplyObject(
        server_command(*state, "ACL SETUSER stressed on >word ~* &* +@all"));
    return 0;
}

static int stop_server(void **state)
{
    server_stop(*state);
    return 0;
}

CHECK_TEST_OF(members_meet_whatever_happens, server *s, NULL, NULL)
{
    workers *w = workers_start(PROCESSES + SPARES, process_run, s);
    trouble t = {.server = s, .workers = w, .cut_at = wait_now_ms()};
    redisContext *heard = listen_to_all(s);

    assert_non_null(w);
    if (!wait_until(make_trouble, &t,
                    is_long() ? 10 * DEADLINE_MS : DEADLINE_MS))
        fail_msg("round %llu of %u", (unsigned long long)passed(w), rounds());
    assert_true(workers_wait(w, DEADLINE_MS));
    assert_int_equal(t.replaced, SPARES);
    assert_int_equal(workers_succeeded(w), PROCESSES);
    assert_int_equal(workers_count(w, COUNT_FAILURES), 0);
    assert_int_equal(count_openings(heard), rounds());
    redisFree(heard);
    workers_free(w);
}

CHECK_GROUP(start_server, stop_server)
