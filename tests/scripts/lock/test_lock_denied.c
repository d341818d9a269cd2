/* SPDX-License-Identifier: MIT */

/*
 * The lock's scripts for a user who lacks a right, or two. Whatever stops a
 * script half-way: no key is left without an end, nobody holds beside another
 * or waits while it holds, and nobody who waits is lost.
 */

#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"

/* Every command that a script of the lock may call; those that write first. */
static const char *const commands[] = {"del",           "hdel",
                                       "hset",          "pexpire",
                                       "set",           "zadd",
                                       "zrem",          "publish",
                                       "exists",        "get",
                                       "hexists",       "hgetall",
                                       "hkeys",         "hlen",
                                       "hmget",         "lindex",
                                       "llen",          "lrange",
                                       "mget",          "pttl",
                                       "pubsub",        "time",
                                       "zcount",        "zmscore",
                                       "zrangebyscore", "zrevrangebyscore",
                                       "zscore"};

enum {
    COMMANDS = sizeof(commands) / sizeof(commands[0]),
    WRITES = 8, /* the first of them */
    TEXT = 256
};

/* Tells what is wrong, or nothing. ARGV: the claims that wait, their members. */
static const char look[] =
    "local wrong, n = '', #ARGV / 2 "
    "for _, key in ipairs(KEYS) do "
    "  if redis.call('PTTL', key) == -1 then "
    "    wrong = wrong .. key .. ' for ever, ' end end "
    "if redis.call('HLEN', KEYS[1]) > 1 then "
    "  wrong = wrong .. 'two owners, ' end "
    "for i = 1, n do "
    "  local holds = redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1 "
    "  local waits = redis.call('ZSCORE', KEYS[3], ARGV[i + n]) "
    "  if holds and waits then "
    "    wrong = wrong .. ARGV[i] .. ' holds and waits, ' end "
    "  if not holds and not waits then "
    "    wrong = wrong .. ARGV[i] .. ' is lost, ' end end "
    "return wrong";

/* ---- what a name may be before ---- */

static void is_unused(script_fixture *f)
{
    (void)f;
}

static void is_held(script_fixture *f)
{
    lua_lock_acquire(f, "a:1");
}

static void one_waits(script_fixture *f)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
}

static void two_wait(script_fixture *f)
{
    one_waits(f);
    lua_lock_acquire(f, "c:1");
}

/* Nobody listens for the first. */
static void one_waits_behind_the_dead(script_fixture *f)
{
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "dead:1");
    lua_lock_acquire(f, "b:1");
}

static void one_waits_for_a_free_name(script_fixture *f)
{
    one_waits(f);
    script_redis(f, "DEL n");
}

static void two_wait_for_a_free_name(script_fixture *f)
{
    two_wait(f);
    script_redis(f, "DEL n");
}

static void redisson_counts(script_fixture *f)
{
    script_redis(f, "SET " LUA_LOCK_TOKEN " 5 PX 60000");
    two_wait(f);
}

static void redisson_waits(script_fixture *f)
{
    two_wait(f);
    script_redis(f, "SET " LUA_LOCK_SPIN " 1 PX 1000000");
}

static void it_is_redissons_turn(script_fixture *f)
{
    redisson_waits(f);
    lua_lock_release(f, "a:1", 0);
}

static void the_record_is_lost(script_fixture *f)
{
    two_wait(f);
    script_redis(f, "DEL " LUA_LOCK_RECORD);
}

typedef struct state {
    const char *name;
    void (*begin)(script_fixture *f);
    int waiters; /* b:1, c:1 */
} situation;

static const situation situations[] = {
    {"unused", is_unused, 0},
    {"held", is_held, 0},
    {"one waits", one_waits, 1},
    {"two wait", two_wait, 2},
    {"one waits behind the dead", one_waits_behind_the_dead, 1},
    {"one waits, free", one_waits_for_a_free_name, 1},
    {"two wait, free", two_wait_for_a_free_name, 2},
    {"Redisson counts", redisson_counts, 2},
    {"Redisson waits", redisson_waits, 2},
    {"Redisson's turn", it_is_redissons_turn, 2},
    {"the record is lost", the_record_is_lost, 2},
};

enum { SITUATIONS = sizeof(situations) / sizeof(situations[0]) };

/* ---- what is done ---- */

static const char *queues(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_acquire(f, "z:1");
}

static const char *tries(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_acquire_with(f, "z:1", 'f', 't', 30000);
}

static const char *spins(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_acquire_with(f, "z:1", 'l', 's', 30000);
}

static const char *releases(script_fixture *f, int64_t fence)
{
    return lua_lock_release(f, "a:1", fence);
}

static const char *releases_alone(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_release_alone(f, "a:1");
}

static const char *leaves(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_leave(f, "a:1", false);
}

static const char *leaves_for_good(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_leave(f, "a:1", true);
}

static const char *forces(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_force(f, "");
}

static const char *the_first_touches(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_touch(f, "b:1", NULL);
}

static const char *another_touches(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_touch(f, "c:1", NULL);
}

static const char *nobody_touches(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_touch(f, NULL, NULL);
}

static const char *keeps(script_fixture *f, int64_t fence)
{
    return lua_lock_keep(f, "a:1", fence, 60000, 10);
}

static const char *imports(script_fixture *f, int64_t fence)
{
    return lua_lock_import(f, "a:1", fence, "z:1");
}

static const char *revokes(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_revoke(f, "a:1");
}

static const char *forgets(script_fixture *f, int64_t fence)
{
    (void)fence;
    return lua_lock_forget(f);
}

typedef struct act {
    const char *name;
    const char *(*run)(script_fixture *f, int64_t fence);
} act;

static const act takes[] = {{"queue", queues}, {"try", tries}, {"spin", spins}};

static const act ends[] = {{"release", releases},
                           {"release alone", releases_alone},
                           {"leave", leaves},
                           {"leave for good", leaves_for_good},
                           {"force", forces}};

static const act touches[] = {{"the first touches", the_first_touches},
                              {"another touches", another_touches},
                              {"nobody touches", nobody_touches}};

static const act changes[] = {{"keep", keeps},
                              {"import", imports},
                              {"revoke", revokes},
                              {"forget", forgets}};

/* ---- each act without each right, or two ---- */

typedef struct trial {
    script_fixture *f;
    const situation *situation;
    const act *act;
    const char *denied[2]; /* the second may be NULL */
} trial;

static bool is_denied(const trial *t, const char *command)
{
    return strcmp(t->denied[0], command) == 0 ||
           (t->denied[1] != NULL && strcmp(t->denied[1], command) == 0);
}

static void fail_trial(const trial *t, const char *words)
{
    fail_msg("%s, %s, without %s and %s: %s: %s", t->situation->name,
             t->act->name, t->denied[0],
             t->denied[1] != NULL ? t->denied[1] : "none", t->f->answer_text,
             words);
}

/* Whoever may neither set an end nor take out what it put in leaves a queue
   without an end, which the next touch gives one. */
static bool may_leave_a_queue(const trial *t)
{
    return is_denied(t, "pexpire") && is_denied(t, "zrem");
}

static void assert_sound(const trial *t)
{
    char b[TEXT], c[TEXT];
    const char *wrong;

    snprintf(b, sizeof(b), "%s", lua_lock_member("b:1", 'l'));
    snprintf(c, sizeof(c), "%s", lua_lock_member("c:1", 'l'));
    if (may_leave_a_queue(t))
        script_redis(t->f, "PEXPIRE " LUA_LOCK_QUEUE " 1000");
    if (t->situation->waiters == 2)
        wrong = script_redis(t->f,
                             "EVAL %s 4 n " LUA_LOCK_RECORD " " LUA_LOCK_QUEUE
                             " " LUA_LOCK_SPIN " b:1 c:1 %s %s",
                             look, b, c);
    else if (t->situation->waiters == 1)
        wrong = script_redis(t->f,
                             "EVAL %s 4 n " LUA_LOCK_RECORD " " LUA_LOCK_QUEUE
                             " " LUA_LOCK_SPIN " b:1 %s",
                             look, b);
    else
        wrong = script_redis(t->f,
                             "EVAL %s 4 n " LUA_LOCK_RECORD " " LUA_LOCK_QUEUE
                             " " LUA_LOCK_SPIN,
                             look);
    if (strcmp(wrong, "\"\"") != 0 && wrong[0] != '\0')
        fail_trial(t, wrong);
}

static bool holds(const trial *t, const char *claim)
{
    return strcmp(script_redis(t->f, "HEXISTS n %s", claim), "1") == 0;
}

static bool waits(const trial *t, const char *claim)
{
    return strcmp(script_redis(t->f, "ZSCORE " LUA_LOCK_QUEUE " %s",
                               lua_lock_member(claim, 'l')),
                  "nil") != 0;
}

typedef void (*check_fn)(const trial *t);

static void try_it(trial *t, check_fn check)
{
    script_fixture *f = t->f;
    int64_t fence;

    t->situation->begin(f);
    fence = lua_lock_fence(f);
    script_deny(f, t->denied[0]);
    if (t->denied[1] != NULL)
        script_redis(f, "ACL SETUSER restricted -%s", t->denied[1]);
    t->act->run(f, fence != 0 ? fence : 1);
    assert_sound(t);
    check(t);
    script_start_over(f);
}

/* Without each right; without any two to write. */
static void try_each(trial *t, check_fn check)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        t->denied[0] = commands[i];
        t->denied[1] = NULL;
        try_it(t, check);
        for (size_t j = i + 1; i < WRITES && j < WRITES; j++) {
            t->denied[1] = commands[j];
            try_it(t, check);
        }
    }
}

static void
try_all(script_fixture *f, const act *acts, size_t count, check_fn check)
{
    trial t = {.f = f};

    lua_lock_hear(f, "a", "b", "c", NULL);
    for (size_t s = 0; s < SITUATIONS; s++) {
        for (size_t a = 0; a < count; a++) {
            t.situation = &situations[s];
            t.act = &acts[a];
            try_each(&t, check);
        }
    }
}

#define TRY_ALL(f, acts, check)                                                \
    try_all(f, acts, sizeof(acts) / sizeof((acts)[0]), check)

/* ---- what the answer says is so ---- */

static void check_taken(const trial *t)
{
    bool is_refused = t->f->answer->type == REDIS_REPLY_ERROR;
    long long kind = is_refused ? 0 : script_item(t->f, 0);

    if (holds(t, "z:1") != (kind == 1))
        fail_trial(t, kind == 1 ? "it does not hold" : "it holds");
    if (waits(t, "z:1") != (kind == 2) && !may_leave_a_queue(t))
        fail_trial(t, kind == 2 ? "it does not wait" : "it waits");
}

SCRIPT_TEST(what_is_not_answered_is_not_taken)
{
    TRY_ALL(f, takes, check_taken);
}

static void check_ended(const trial *t)
{
    bool is_refused = t->f->answer->type == REDIS_REPLY_ERROR;

    if (!is_refused && holds(t, "a:1"))
        fail_trial(t, "it holds");
}

SCRIPT_TEST(what_is_closed_is_not_held)
{
    TRY_ALL(f, ends, check_ended);
}

/* A name that lies free is the first's, or it is told why not. */
static void check_touched(const trial *t)
{
    bool is_free = t->situation->begin == one_waits_for_a_free_name ||
                   t->situation->begin == two_wait_for_a_free_name;

    if (is_free && t->act->run == the_first_touches && !holds(t, "b:1") &&
        t->f->answer->type != REDIS_REPLY_ERROR)
        fail_trial(t, "it waits for a free name");
}

SCRIPT_TEST(a_touch_costs_nobody_the_place)
{
    TRY_ALL(f, touches, check_touched);
}

/* The owner is one of two: the old one, or who imported it. */
static void check_owner(const trial *t)
{
    bool was_held = t->situation->begin != is_unused &&
                    t->situation->begin != one_waits_for_a_free_name &&
                    t->situation->begin != two_wait_for_a_free_name &&
                    t->situation->begin != it_is_redissons_turn;

    if (was_held && holds(t, "a:1") == holds(t, "z:1"))
        fail_trial(t, "none or two of them hold");
}

SCRIPT_TEST(what_keeps_and_changes_leaves_one_owner)
{
    TRY_ALL(f, changes, check_owner);
}

CHECK_GROUP(script_start_server, script_stop_server)
