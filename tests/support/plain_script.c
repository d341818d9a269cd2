/* SPDX-License-Identifier: MIT */
#include "support/plain_script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared_table.h"
#include "support/check.h"
#include "support/table.h"

enum { FIELD = 400 };

#define BAND (1LL << 48)

static const script_layout layout = {
    .count = KEY_LEASES + 1,
    .keys = {[KEY_COUNTER] = "",
             [KEY_RECORD] = ":r",
             [KEY_QUEUE] = ":q",
             [KEY_MEMO] = ":m",
             [KEY_LEASES] = ":timeout"},
    .channel = "redisson_sc",
};

static long long life_ms = PLAIN_LIFE;

int plain_setup(void **state)
{
    int result = script_setup(state);

    if (result == 0)
        script_set_layout(*state, &layout);
    life_ms = PLAIN_LIFE;
    return result;
}

void plain_life(script_fixture *f, long long ms)
{
    (void)f;
    life_ms = ms;
}

static lk__text text_of(const char *text)
{
    return (lk__text){text, strlen(text)};
}

static int64_t number_of(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* ---- members ---- */

static void member_write(char text[FIELD], const char *claim, const char *need,
                         const char *reason)
{
    const lk__member_text member = {
        .claim = text_of(claim),
        .nonce = text_of(PLAIN_NONCE),
        .mode = text_of("c"),
        .need = number_of(need),
        .lease = 30000,
        .base = text_of("-"),
        .inbox = text_of("p"),
        .reason = text_of(reason),
    };

    lk__packed_write(&lk__member_text_packed, &member, text, FIELD);
}

/* As it stands in the queue; one that does not stand there needs 1. */
static void member_of(script_fixture *f, const char *claim, char text[FIELD])
{
    const char *found = script_redis(
        f, "EVAL %s 1 %s %s",
        "if redis.call('TYPE', KEYS[1]).ok ~= 'zset' then return '' end"
        " for _, text in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do"
        " if string.sub(text, 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then"
        " return text end end return ''",
        f->keys[KEY_QUEUE], claim);

    if (strncmp(found, claim, strlen(claim)) == 0)
        snprintf(text, FIELD, "%s", found);
    else
        member_write(text, claim, "1", "");
}

/* ---- acquiring ---- */

const char *plain_acquire_with(script_fixture *f, const char *claim, char how,
                               const char *reason, const char *need,
                               const char *settled)
{
    char own[FIELD];
    lk__plain_semaphore_acquire_args args = {
        .claim = text_of(claim),
        .how = how,
        .interop = f->interop[0],
        .life = life_ms,
        .settled = text_of(settled),
        .channel = text_of(f->channel),
    };

    member_write(own, claim, need, reason);
    args.own = text_of(own);
    return table_run(f, &lk__plain_semaphore_acquire, lk__plain_semaphore_keys,
                     LK__PLAIN_SEMAPHORE_ACQUIRE_WHOLE, &args);
}

const char *
plain_acquire(script_fixture *f, const char *claim, const char *need)
{
    return plain_acquire_with(f, claim, 'q', "", need, "");
}

const char *plain_try(script_fixture *f, const char *claim, const char *need)
{
    return plain_acquire_with(f, claim, 't', "", need, "");
}

static const char *
touch(script_fixture *f, char looks, const char *const *claims, size_t count)
{
    char texts[2][FIELD];
    lk__text members[2];
    const char *first = count > 0 ? claims[0] : "u:1";
    const lk__plain_semaphore_touch_args args = {
        .looks = looks,
        .uuid = {first, strcspn(first, ":")},
        .channel = text_of(f->channel),
        .interop = f->interop[0],
        .life = life_ms,
        .members = members,
        .members_count = count,
    };

    for (size_t i = 0; i < count; i++) {
        member_of(f, claims[i], texts[i]);
        members[i] = text_of(texts[i]);
    }
    return table_run(f, &lk__plain_semaphore_touch, lk__plain_semaphore_keys,
                     LK__PLAIN_SEMAPHORE_TOUCH_WHOLE, &args);
}

const char *plain_recheck(script_fixture *f, const char *claim)
{
    return touch(f, '1', &claim, 1);
}

const char *
plain_touch(script_fixture *f, const char *first, const char *second)
{
    const char *const claims[] = {first, second};

    return touch(f, '0', claims, second != NULL ? 2 : 1);
}

const char *plain_pass(script_fixture *f)
{
    return touch(f, '0', NULL, 0);
}

const char *
plain_leave(script_fixture *f, const char *claim, const char *tombstone_ms)
{
    char own[FIELD];
    lk__plain_semaphore_close_args args = {
        .claim = text_of(claim),
        .channel = text_of(f->channel),
        .settled = text_of(""),
        .has_stone = number_of(tombstone_ms) > 0,
        .stone = number_of(tombstone_ms),
    };

    member_of(f, claim, own);
    args.own = text_of(own);
    return table_run(f, &lk__plain_semaphore_close, lk__plain_semaphore_keys,
                     LK__PLAIN_SEMAPHORE_CLOSE_WHOLE, &args);
}

/* ---- changing ---- */

typedef struct wish {
    char what, must;
    const char *op, *amount, *ttl, *settled;
} wish;

static const char *change(script_fixture *f, const wish *w)
{
    const lk__plain_semaphore_change_args args = {
        .what = w->what,
        .op = text_of(w->op),
        .amount = number_of(w->amount),
        .must = w->must,
        .ttl = number_of(w->ttl),
        .settled = text_of(w->settled),
        .channel = text_of(f->channel),
        .life = life_ms,
    };

    return table_run(f, &lk__plain_semaphore_change, lk__plain_semaphore_keys,
                     LK__PLAIN_SEMAPHORE_CHANGE_WHOLE, &args);
}

const char *plain_release_with(script_fixture *f, const char *op,
                               const char *count, const char *settled)
{
    const wish w = {'a', '1', op, count, "0", settled};

    return change(f, &w);
}

const char *plain_release(script_fixture *f, const char *op, const char *count)
{
    return plain_release_with(f, op, count, "");
}

const char *plain_add(script_fixture *f, const char *op, const char *amount)
{
    const wish w = {'a', '0', op, amount, "0", ""};

    return change(f, &w);
}

const char *plain_set_for(script_fixture *f, const char *op,
                          const char *permits, const char *ttl_ms)
{
    const wish w = {'s', '0', op, permits, ttl_ms, ""};

    return change(f, &w);
}

const char *plain_set(script_fixture *f, const char *op, const char *permits)
{
    return plain_set_for(f, op, permits, "0");
}

const char *plain_drain(script_fixture *f, const char *op)
{
    const wish w = {'d', '0', op, "0", "0", ""};

    return change(f, &w);
}

const char *plain_delete(script_fixture *f, const char *op)
{
    const wish w = {'x', '0', op, "0", "0", ""};

    return change(f, &w);
}

/* ---- asking ---- */

static const char *see(script_fixture *f, char what)
{
    const lk__plain_semaphore_see_args args = {.what = what};

    return table_run(f, &lk__plain_semaphore_see, lk__plain_semaphore_keys,
                     LK__PLAIN_SEMAPHORE_SEE_WHOLE, &args);
}

const char *plain_count(script_fixture *f)
{
    return see(f, 'c');
}

const char *plain_info(script_fixture *f)
{
    return see(f, 'i');
}

const char *plain_forget(script_fixture *f)
{
    const lk__plain_semaphore_forget_args args = {.channel =
                                                      text_of(f->channel)};

    return table_run(f, &lk__plain_semaphore_forget, lk__plain_semaphore_keys,
                     LK__PLAIN_SEMAPHORE_FORGET_WHOLE, &args);
}

/* ---- what there is ---- */

static const char *claims_in(script_fixture *f, int band)
{
    return script_redis(
        f, "EVAL %s 1 %s %lld (%lld",
        "local all = {} for i, text in ipairs(redis.call('ZRANGEBYSCORE',"
        " KEYS[1], ARGV[1], ARGV[2])) do all[i] = string.match(text, '^%S+')"
        " end return all",
        f->keys[KEY_QUEUE], band * BAND, (band + 1) * BAND);
}

const char *plain_queue(script_fixture *f)
{
    return claims_in(f, 1);
}

const char *plain_parked(script_fixture *f)
{
    return claims_in(f, 8);
}

const char *plain_void(script_fixture *f)
{
    return claims_in(f, 9);
}

long long plain_ticket(script_fixture *f, const char *claim)
{
    char text[FIELD];
    long long score;

    member_of(f, claim, text);
    score =
        number_of(script_redis(f, "ZSCORE %s %s", f->keys[KEY_QUEUE], text));
    return score / BAND == 1 ? score % BAND : 0;
}

static void dead_write(char text[FIELD], int number)
{
    char claim[32];

    snprintf(claim, sizeof(claim), "z%d:1", number);
    member_write(text, claim, "1", "");
}

void plain_put_dead(script_fixture *f, int number)
{
    char text[FIELD];

    dead_write(text, number);
    script_redis(f, "ZADD %s %lld %s", f->keys[KEY_QUEUE], BAND + number + 1,
                 text);
}

void plain_drop_dead(script_fixture *f, int number)
{
    char text[FIELD];

    dead_write(text, number);
    script_redis(f, "ZREM %s %s", f->keys[KEY_QUEUE], text);
}

void plain_age(script_fixture *f, const char *claim, long long ms)
{
    long long at = script_now_ms(f) - ms;
    char text[FIELD];

    member_of(f, claim, text);
    script_redis(f, "ZADD %s %lld %s", f->keys[KEY_QUEUE],
                 BAND + at * 1000 / 16, text);
    script_redis(f, "ZREM %s %b", f->keys[KEY_QUEUE], claim,
                 strcspn(claim, ":"));
}

static void record_put(script_fixture *f, const char *kind, const char *more)
{
    char text[FIELD];
    const lk__record_text record = {
        .layout = text_of(kind),
        .flag = text_of("-"),
        .turn = text_of("-"),
        .more = text_of(more),
        .claim = text_of("-"),
        .nonce = text_of("-"),
        .mode = text_of("-"),
        .base = text_of("-"),
        .inbox = text_of("-"),
        .reason = text_of(""),
    };

    lk__packed_write(&lk__record_text_packed, &record, text, FIELD);
    script_redis(f, "SET %s %s PX %d", f->keys[KEY_RECORD], text, PLAIN_LIFE);
}

long long plain_gone(script_fixture *f)
{
    const char *text = script_redis(f, "GET %s", f->keys[KEY_RECORD]);
    lk__record_text record;
    lk__plain_marks_text marks;

    return lk__packed_read(&lk__record_text_packed, text_of(text), &record) &&
                   lk__packed_read(&lk__plain_marks_text_packed, record.more,
                                   &marks)
               ? marks.gone
               : 0;
}

void plain_put_gone(script_fixture *f, long long gone)
{
    char more[32];

    snprintf(more, sizeof(more), "%lld", gone);
    record_put(f, "2c", more);
}

void plain_put_record(script_fixture *f, char letter)
{
    const char kind[] = {'2', letter, '\0'};

    record_put(f, kind, "-");
}

void plain_hear(script_fixture *f, ...)
{
    const char *claim;
    char inbox[128];
    va_list claims;

    va_start(claims, f);
    while ((claim = va_arg(claims, const char *)) != NULL) {
        snprintf(inbox, sizeof(inbox), "latchkey:in::%.*s",
                 (int)strcspn(claim, ":"), claim);
        script_listen(f, inbox);
    }
    va_end(claims);
}

void plain_three_wait(script_fixture *f)
{
    plain_hear(f, "b:2", "c:3", "d:4", (char *)NULL);
    plain_set(f, "a:1", "0");
    plain_acquire(f, "b:2", "2");
    plain_acquire(f, "c:3", "1");
    plain_acquire(f, "d:4", "1");
}
