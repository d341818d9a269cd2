/* SPDX-License-Identifier: MIT */
#include "support/permits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

extern const lk__script lk__script_semaphore_acquire;
extern const lk__script lk__script_semaphore_recheck;
extern const lk__script lk__script_semaphore_touch;
extern const lk__script lk__script_semaphore_confirm;
extern const lk__script lk__script_semaphore_renew;
extern const lk__script lk__script_semaphore_release;
extern const lk__script lk__script_semaphore_leave;
extern const lk__script lk__script_semaphore_pass;
extern const lk__script lk__script_semaphore_resize;
extern const lk__script lk__script_semaphore_force;
extern const lk__script lk__script_semaphore_count;
extern const lk__script lk__script_semaphore_info;

static const script_layout layout = {
    .count = PERMITS_KEYS,
    .keys =
        {
            [PERMITS_COUNTER] = "",
            [PERMITS_STATE] = "latchkey:state",
            [PERMITS_QUEUE] = "latchkey:queue",
            [PERMITS_TICKETS] = "latchkey:tickets",
            [PERMITS_SKIPPED] = "latchkey:skipped",
            [PERMITS_ZSET] = ":timeout",
            [PERMITS_VOID] = "latchkey:void",
            [PERMITS_HOLDERS] = "latchkey:holders",
        },
    .channel = "redisson_sc",
};

/* A claim's i-th permit, for a script of the tests: claim and i from ARGV. */
#define PERMIT                                                                 \
    "local hex = redis.sha1hex(ARGV[1] .. ':' .. ARGV[2])"                     \
    " local id = string.gsub(string.sub(hex, 1, 32), '..', function(two)"      \
    " return string.char(tonumber(two, 16)) end)"

int permits_setup(void **state)
{
    int status = script_setup(state);

    if (status == 0)
        script_set_layout(*state, &layout);
    return status;
}

/* ---- the scripts ---- */

static const char *or_else(const char *text, const char *usual)
{
    return text != NULL ? text : usual;
}

const char *permits_acquire_with(script_fixture *f, const char *claim, int need,
                                 permits_wish wish)
{
    char inbox[128];
    char count[16];

    snprintf(inbox, sizeof(inbox), "in:%s", claim);
    snprintf(count, sizeof(count), "%d", need);
    return script_call(f, &lk__script_semaphore_acquire, claim,
                       or_else(wish.lease, "30000"), or_else(wish.queue, "1"),
                       or_else(wish.inbox, inbox), or_else(wish.reason, ""),
                       or_else(wish.check_void, "0"), "p", count,
                       or_else(wish.number, "0"), or_else(wish.text, ""), NULL);
}

const char *permits_acquire(script_fixture *f, const char *claim, int need)
{
    return permits_acquire_with(f, claim, need, (permits_wish){.lease = NULL});
}

const char *permits_try(script_fixture *f, const char *claim, int need)
{
    return permits_acquire_with(f, claim, need, (permits_wish){.queue = "0"});
}

const char *permits_acquire_of(script_fixture *f, const char *claim, int need,
                               const char *number, const char *text)
{
    return permits_acquire_with(f, claim, need,
                                (permits_wish){.number = number, .text = text});
}

const char *permits_recheck(script_fixture *f, const char *claim)
{
    return script_call(f, &lk__script_semaphore_recheck, claim, "30000", NULL);
}

const char *
permits_touch(script_fixture *f, const char *first, const char *second)
{
    return script_call(f, &lk__script_semaphore_touch, "", first, second, NULL);
}

static const char *
fence_of(script_fixture *f, const char *claim, const char *fence)
{
    return fence != NULL ? fence : permits_fence(f, claim);
}

const char *
permits_release(script_fixture *f, const char *claim, const char *fence)
{
    return script_call(f, &lk__script_semaphore_release, claim,
                       fence_of(f, claim, fence), NULL);
}

const char *permits_confirm(script_fixture *f, const char *claim,
                            const char *fence, const char *lease)
{
    return script_call(f, &lk__script_semaphore_confirm, claim,
                       fence_of(f, claim, fence), lease, "0", NULL);
}

const char *permits_renew(script_fixture *f, const char *claim,
                          const char *fence, const char *lease)
{
    const char *const keys[] = {f->keys[PERMITS_ZSET], f->keys[PERMITS_HOLDERS],
                                f->keys[PERMITS_VOID]};
    const char *const args[] = {claim, fence_of(f, claim, fence), lease, NULL};

    return script_run_keys(f, &lk__script_semaphore_renew, keys, 3, args);
}

const char *
permits_leave(script_fixture *f, const char *claim, const char *tombstone_ms)
{
    return script_call(f, &lk__script_semaphore_leave, claim, tombstone_ms,
                       NULL);
}

const char *permits_pass(script_fixture *f)
{
    return script_call(f, &lk__script_semaphore_pass, "", NULL);
}

const char *permits_resize(script_fixture *f, const char *number)
{
    return script_call(f, &lk__script_semaphore_resize, "", number, NULL);
}

const char *permits_force(script_fixture *f, const char *owner)
{
    return script_call(f, &lk__script_semaphore_force, owner, NULL);
}

const char *permits_count(script_fixture *f)
{
    return script_call(f, &lk__script_semaphore_count, "", NULL);
}

const char *permits_info(script_fixture *f)
{
    return script_call(f, &lk__script_semaphore_info, "", NULL);
}

/* ---- behind their back ---- */

void permits_set(script_fixture *f, int number)
{
    script_redis(f, "SET %s %d", f->keys[PERMITS_COUNTER], number);
}

const char *permits_fence(script_fixture *f, const char *claim)
{
    return script_redis(f, "EVAL %s 1 %s %s 1",
                        PERMIT " local known = redis.call('HGET', KEYS[1], id)"
                               " return known and string.match(known,"
                               " '^%S+ (%d+)') or '0'",
                        f->keys[PERMITS_HOLDERS], claim);
}

long long permits_left(script_fixture *f, const char *claim, int i)
{
    const char *left =
        script_redis(f, "EVAL %s 1 %s %s %d",
                     PERMIT
                     " local score = redis.call('ZSCORE', KEYS[1], id)"
                     " local now = redis.call('TIME')"
                     " return score and score - now[1] * 1000 - math.floor("
                     "now[2] / 1000) or 0",
                     f->keys[PERMITS_ZSET], claim, i);

    return strtoll(left, NULL, 10);
}

void permits_expire(script_fixture *f, long long ms)
{
    script_redis(f, "EVAL %s 1 %s %lld",
                 "for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do"
                 " redis.call('ZADD', KEYS[1], ARGV[1], id) end",
                 f->keys[PERMITS_ZSET], script_now_ms(f) - ms);
}

void permits_sweep_one(script_fixture *f, const char *claim, int i)
{
    script_redis(f, "EVAL %s 2 %s %s %s %d",
                 PERMIT " redis.call('ZREM', KEYS[1], id)"
                        " redis.call('INCR', KEYS[2])",
                 f->keys[PERMITS_ZSET], f->keys[PERMITS_COUNTER], claim, i);
}

const char *permits_java_take(script_fixture *f, char digit, long long lease_ms)
{
    char id[17];

    memset(id, (int)strtol((char[]){digit, digit, '\0'}, NULL, 16), 16);
    id[16] = '\0';
    script_redis(f, "ZADD %s %lld %s", f->keys[PERMITS_ZSET],
                 script_now_ms(f) + lease_ms, id);
    return script_redis(f, "DECR %s", f->keys[PERMITS_COUNTER]);
}

void permits_java_release(script_fixture *f, char digit)
{
    char id[17];

    memset(id, (int)strtol((char[]){digit, digit, '\0'}, NULL, 16), 16);
    id[16] = '\0';
    script_redis(f, "ZREM %s %s", f->keys[PERMITS_ZSET], id);
    script_redis(f, "INCR %s", f->keys[PERMITS_COUNTER]);
}

void permits_assert_books(script_fixture *f, long long number, long long free,
                          const char *file, int line)
{
    long long left =
        strtoll(script_redis(f, "GET %s", f->keys[PERMITS_COUNTER]), NULL, 10);
    long long taken =
        strtoll(script_redis(f, "ZCARD %s", f->keys[PERMITS_ZSET]), NULL, 10);

    if (left == free && left + taken == number)
        return;
    print_error("%lld free and %lld taken, not %lld of %lld free\n", left,
                taken, free, number);
    _fail(file, line);
}
