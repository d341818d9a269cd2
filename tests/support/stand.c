/* SPDX-License-Identifier: MIT */
#include "support/stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"
#include "support/wait.h"

enum {
    READY_MS = 5000,
    COMMAND_MS = 20000, /* on a machine without time an answer takes seconds */
    LEASE_MS = 300000,  /* longer than a machine stands still */
    NODE_MS = 400,
    NODE_SHARE = 4 /* of a lease at most */
};

/* ---- set-up ---------------------------------------------------------------------- */

static server *the_servers[KIND_SERVERS];

static bool server_is_ready(server **s)
{
    if (*s == NULL)
        *s = server_start(NULL);
    if (*s == NULL || (server_pid(*s) == 0 && !server_restart(*s)))
        return false;
    server_flush(*s);
    freeReplyObject(server_command(*s, "CONFIG SET maxmemory 0"));
    return true;
}

int stand_setup(void **state)
{
    const kind *k = *state;
    stand *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return -1;
    s->kind = k;
    *state = s;
    for (unsigned i = 0; i < k->servers; i++) {
        if (!server_is_ready(&the_servers[i]))
            return -1;
        s->servers[i] = the_servers[i];
    }
    return 0;
}

/* A test that failed may have left a hold, or somebody who waits. */
static void party_free(party *p)
{
    const kind *k = p->stand->kind;

    for (unsigned i = 0; i < k->servers; i++)
        (void)lk_client_shutdown(p->site.clients[i], 0);
    (void)lk_hold_release(p->hold);
    (void)lk_hold_release(p->call.hold);
    k->free(p->handle);
    for (unsigned i = 0; i < k->servers; i++)
        lk_client_free(p->site.clients[i]);
    free(p);
}

void party_end(party *p)
{
    stand *s = p->stand;
    unsigned i = 0;

    while (s->parties[i] != p)
        i++;
    s->parties[i] = s->parties[--s->party_count];
    party_free(p);
}

int stand_teardown(void **state)
{
    stand *s = *state;

    for (unsigned i = 0; i < s->kind->servers; i++) {
        if (s->proxies[i] != NULL)
            proxy_heal(s->proxies[i]);
        if (server_is_frozen(s->servers[i]))
            server_thaw(s->servers[i]);
    }
    for (unsigned i = 0; i < s->party_count; i++)
        party_free(s->parties[i]);
    for (unsigned i = 0; i < s->kind->servers; i++)
        proxy_stop(s->proxies[i]);
    free(s);
    return 0;
}

int stand_stop_servers(void **state)
{
    (void)state;
    for (unsigned i = 0; i < KIND_SERVERS; i++) {
        server_stop(the_servers[i]);
        the_servers[i] = NULL;
    }
    return 0;
}

/* ---- parties --------------------------------------------------------------------- */

static const char *url_of(stand *s, unsigned i, bool is_far)
{
    if (!is_far)
        return server_url(s->servers[i]);
    if (s->proxies[i] == NULL)
        s->proxies[i] = proxy_start(server_socket(s->servers[i]));
    assert_non_null(s->proxies[i]);
    return proxy_url(s->proxies[i]);
}

lk_client_stats party_stats(const party *p)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(p->site.clients[0], &stats), LK_OK);
    return stats;
}

static bool is_calm(void *data)
{
    return party_stats(data).pending == 0;
}

static void
open_clients(party *p, bool is_far, const lk_client_options *options)
{
    lk_client_options patient = {LK_CLIENT_OPTIONS_INIT};

    if (options != NULL)
        patient = *options;
    if (patient.command_timeout_ms == 0)
        patient.command_timeout_ms = COMMAND_MS;
    if (patient.watchdog_ms == 0)
        patient.watchdog_ms = LEASE_MS;
    p->site.lease_ms = patient.watchdog_ms;
    p->site.answer_ms = wait_limit_ms(NODE_MS);
    if (p->site.answer_ms > p->site.lease_ms / NODE_SHARE)
        p->site.answer_ms = p->site.lease_ms / NODE_SHARE;
    for (unsigned i = 0; i < p->stand->kind->servers; i++) {
        lk_client **client = &p->site.clients[i];

        assert_status(lk_client_open(client, url_of(p->stand, i, is_far),
                                     &patient),
                      LK_OK);
        assert_status(lk_client_wait_ready(*client,
                                           (int64_t)wait_limit_ms(READY_MS)),
                      LK_OK);
    }
}

/* Whoever comes first prepares a name. */
static void prepare(const kind *k, void *handle)
{
    lk_status status = k->prepare != NULL ? k->prepare(handle) : LK_OK;

    if (status != LK_EALREADY)
        assert_status(status, LK_OK);
}

static party *party_new(stand *s, bool is_far, const lk_client_options *options)
{
    party *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    assert_true(s->party_count < STAND_PARTIES);
    p->stand = s;
    p->dispatches = options != NULL && options->dispatch != 0;
    s->parties[s->party_count++] = p;
    open_clients(p, is_far, options);
    assert_status(s->kind->make(&p->handle, &p->site, STAND_NAME), LK_OK);
    prepare(s->kind, p->handle);
    return p;
}

#define ELSEWHERE "elsewhere"

/* A name of this process alone: somebody may have the other one. */
static void use_once(party *p)
{
    const kind *k = p->stand->kind;
    void *elsewhere = NULL;
    char name[32];

    (void)snprintf(name, sizeof(name), ELSEWHERE "%d", (int)getpid());
    assert_status(k->make(&elsewhere, &p->site, name), LK_OK);
    prepare(k, elsewhere);
    assert_status(kind_visit(k, elsewhere, STAND_MS), LK_OK);
    k->free(elsewhere);
    assert_true(wait_until(is_calm, p, STAND_MS));
}

party *party_near(stand *s, const lk_client_options *options)
{
    party *p = party_new(s, false, options);

    use_once(p);
    return p;
}

party *party_far(stand *s, const lk_client_options *options)
{
    party *p = party_new(s, true, options);

    use_once(p);
    return p;
}

void party_acquire(party *p)
{
    assert_status(p->stand->kind->acquire(p->handle,
                                          (int64_t)wait_limit_ms(STAND_MS),
                                          NULL, &p->hold),
                  LK_OK);
}

void party_shut(party *p)
{
    assert_status(p->stand->kind->shut(p->handle,
                                       (int64_t)wait_limit_ms(STAND_MS), NULL,
                                       &p->hold),
                  LK_OK);
}

void party_release(party *p)
{
    lk_hold *hold = p->hold;

    p->hold = NULL;
    assert_status(p->stand->kind->release(p->handle, hold), LK_OK);
}

void party_open(party *p)
{
    lk_hold *hold = p->hold;

    p->hold = NULL;
    assert_status(p->stand->kind->open(p->handle, hold), LK_OK);
}

void party_begin(party *p, int64_t wait_ms, const lk_acquire_options *options)
{
    p->call = (call){0};
    p->replies = party_stats(p).replies;
    p->began_at = wait_now_ms();
    assert_status(p->stand->kind->acquire_async(p->handle, wait_ms, options,
                                                call_on_acquire, &p->call),
                  LK_OK);
}

static bool is_asked(void *data)
{
    const party *p = data;
    lk_client_stats stats = party_stats(p);

    return stats.replies > p->replies &&
           (stats.pending == 0 || !p->stand->kind->is_queued);
}

void party_asked(party *p)
{
    assert_true(wait_until(is_asked, p, STAND_MS));
}

void party_waits(party *p)
{
    party_asked(p);
    assert_false(party_has_ended(p));
}

void party_queue(party *p)
{
    party_begin(p, LK_FOREVER, NULL);
    party_waits(p);
}

bool party_has_ended(party *p)
{
    return atomic_load(&p->call.ends) > 0;
}

void party_dispatch(party *p)
{
    for (unsigned i = 0; p->dispatches && i < p->stand->kind->servers; i++)
        assert_status(lk_client_dispatch(p->site.clients[i]), LK_OK);
}

static bool has_ended(void *data)
{
    party_dispatch(data);
    return party_has_ended(data);
}

lk_status party_ends(party *p)
{
    assert_true(wait_until(has_ended, p, STAND_MS));
    p->hold = p->call.hold;
    p->call.hold = NULL;
    return p->call.status;
}

void party_gets_in(party *p, uint64_t since, uint64_t most_ms)
{
    assert_status(party_ends(p), LK_OK);
    assert_in_range(wait_now_ms() - since, 0,
                    wait_allowed_ms(most_ms + wait_scaled_ms(STAND_SLACK_MS)));
    party_assert_in(p);
    party_release(p);
}

void party_assert_in(party *p)
{
    if (p->stand->kind->has_hold)
        assert_status(lk_hold_check(p->hold), LK_OK);
    else
        assert_null(p->hold);
}

void party_loses(party *p)
{
    assert_true(wait_until(hold_is_lost, p->hold, STAND_MS));
    assert_int_not_equal(lk_hold_loss(p->hold), LK_LOSS_NONE);
    assert_status(p->stand->kind->release(p->handle, p->hold), LK_ELOST);
    p->hold = NULL;
}

typedef struct connections {
    const party *party;
    uint64_t least;
} connections;

static bool is_connected(void *data)
{
    const connections *c = data;

    return party_stats(c->party).connects >= c->least;
}

void party_connects(party *p, uint64_t connects)
{
    assert_true(
        wait_until(is_connected, &(connections){p, connects}, STAND_MS));
}

/* ---- the network and the servers ------------------------------------------------------ */

void stand_refuse(stand *s, bool is_on)
{
    for (unsigned i = 0; i < s->kind->servers; i++)
        proxy_refuse(s->proxies[i], is_on);
}

void stand_reset(stand *s)
{
    for (unsigned i = 0; i < s->kind->servers; i++)
        proxy_reset(s->proxies[i], PROXY_ALL);
}

void stand_heal(stand *s)
{
    for (unsigned i = 0; i < s->kind->servers; i++)
        proxy_heal(s->proxies[i]);
}

void stand_command(stand *s, const char *command)
{
    for (unsigned i = 0; i < s->kind->servers; i++) {
        redisReply *reply = server_command(s->servers[i], command);

        assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
        freeReplyObject(reply);
    }
}

void stand_flush(stand *s)
{
    for (unsigned i = 0; i < s->kind->servers; i++)
        server_flush(s->servers[i]);
}

void stand_restart(stand *s)
{
    for (unsigned i = 0; i < s->kind->servers; i++)
        assert_true(server_restart(s->servers[i]));
}

void stand_freeze(stand *s)
{
    for (unsigned i = 0; i < s->kind->servers; i++)
        server_freeze(s->servers[i]);
}

void stand_thaw(stand *s)
{
    for (unsigned i = 0; i < s->kind->servers; i++)
        server_thaw(s->servers[i]);
}

void stand_pass_ms(uint64_t ms)
{
    const struct timespec span = {.tv_sec = (time_t)(ms / 1000),
                                  .tv_nsec = (long)(ms % 1000) * 1000000};

    (void)nanosleep(&span, NULL);
}

/* Counters of permits and an open latch stay. */
static bool stays(const kind *k)
{
    return !k->has_hold || k->room > 1;
}

/* The end of a wait's place in a queue; see SERVER_STANDING(). */
#define WAITS_OF(key) "redis.call('ZCOUNT'," key ",0,'(2251799813685248')"

uint64_t stand_waiting(stand *s)
{
    return (uint64_t)server_integer(
        s->servers[0], "EVAL %s 0",
        "local n=0 for _,key in ipairs(redis.call('KEYS','latchkey:*:q')) do "
        "n=n+" WAITS_OF("key") " end return n");
}

uint64_t stand_clock_ms(stand *s)
{
    return (uint64_t)server_integer(
        s->servers[0], "EVAL %s 0",
        "local t=redis.call('TIME') return t[1]*1000+math.floor(t[2]/1000)");
}

/* The mark of a client that waits is minus the time at which it was heard. */
uint64_t stand_heard(stand *s, uint64_t since_ms)
{
    return (uint64_t)server_integer(
        s->servers[0], "EVAL %s 0 (-%llu",
        "local n=0 for _,key in ipairs(redis.call('KEYS','latchkey:*:q')) do "
        "for _,who in ipairs(redis.call('ZRANGEBYSCORE',key,'-inf',ARGV[1])) "
        "do if who~='gap' and who~='gap0' then n=n+1 end end end return n",
        (unsigned long long)since_ms);
}

static bool nothing_is_left(void *data)
{
    stand *s = data;
    long long immortal = 0;

    for (unsigned i = 0; i < s->kind->servers; i++)
        immortal += server_integer(
            s->servers[i], "EVAL %s 0",
            "local n=0 for _,key in ipairs(redis.call('KEYS','*')) do "
            "if redis.call('PTTL',key)==-1 and not key:find('" ELSEWHERE
            "') then n=n+1 end end return n");
    return stand_waiting(s) == 0 && immortal <= (stays(s->kind) ? 1 : 0);
}

void stand_is_clean(stand *s)
{
    party *last = party_near(s, NULL);

    party_shut(last);
    party_assert_in(last);
    party_open(last);
    assert_true(wait_until(nothing_is_left, s, STAND_MS));
}
