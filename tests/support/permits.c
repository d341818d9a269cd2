/* SPDX-License-Identifier: MIT */
#include "support/permits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/table.h"

enum { STONE_MS = 600000, FIELD = 400, CLAIMS = 512 };

static const script_layout layout = {
    .count = PERMITS_KEYS,
    .keys =
        {
            [PERMITS_COUNTER] = "",
            [PERMITS_ZSET] = ":timeout",
            [PERMITS_RECORD] = ":r",
            [PERMITS_QUEUE] = ":q",
            [PERMITS_HOLDERS] = ":h",
        },
    .channel = "redisson_sc",
};

/* The members of the claims that have asked in this test. */
static struct asked {
    char claim[24];
    char text[FIELD];
} asked[CLAIMS];
static size_t asked_count;

/* A claim's i-th permit, for a script of the tests: claim and i from ARGV. */
#define PERMIT                                                                 \
    "local hex = redis.sha1hex(ARGV[1] .. ':' .. ARGV[2])"                     \
    " local id = string.gsub(string.sub(hex, 1, 32), '..', function(two)"      \
    " return string.char(tonumber(two, 16)) end)"

static int64_t life_ms;

void permits_set_life(int64_t ms)
{
    life_ms = ms;
}

int permits_setup(void **state)
{
    int status = script_setup(state);

    asked_count = 0;
    life_ms = PERMITS_LIFE_MS;
    if (status == 0)
        script_set_layout(*state, &layout);
    return status;
}

/* ---- members ---- */

static lk__text text_of(const char *text)
{
    return (lk__text){text, strlen(text)};
}

static void member_write(const script_fixture *f, const char *claim, int need,
                         permits_wish wish, char ret[FIELD])
{
    const lk__member_text member = {
        .claim = text_of(claim),
        .nonce = text_of(PERMITS_NONCE),
        .mode = {"p", 1},
        .need = need,
        .lease = wish.lease != 0 ? wish.lease : 30000,
        .base = text_of(f->interop[0] == '1' ? "s" : "-"),
        .inbox = text_of("p"),
        .reason = text_of(wish.reason != NULL ? wish.reason : ""),
    };

    lk__packed_write(&lk__member_text_packed, &member, ret, FIELD);
}

/* What a claim asked for; one that did not ask wants one permit. */
static const char *member_of(const script_fixture *f, const char *claim)
{
    static char text[FIELD];

    for (size_t i = 0; i < asked_count; i++) {
        if (strcmp(asked[i].claim, claim) == 0)
            return asked[i].text;
    }
    member_write(f, claim, 1, (permits_wish){.lease = 0}, text);
    return text;
}

static const char *member_note(const script_fixture *f, const char *claim,
                               int need, permits_wish wish)
{
    size_t i = 0;

    while (i < asked_count && strcmp(asked[i].claim, claim) != 0)
        i++;
    assert_true(i < CLAIMS);
    asked_count += i == asked_count;
    (void)snprintf(asked[i].claim, sizeof(asked[i].claim), "%s", claim);
    member_write(f, claim, need, wish, asked[i].text);
    return asked[i].text;
}

/* ---- the scripts ---- */

static const char *
run(script_fixture *f, const lk__signature *signature, const void *args)
{
    return table_run(f, signature, lk__semaphore_keys, PERMITS_KEYS, args);
}

const char *permits_acquire_with(script_fixture *f, const char *claim, int need,
                                 permits_wish wish)
{
    const lk__semaphore_acquire_args args = {
        .claim = text_of(claim),
        .lease = wish.lease != 0 ? wish.lease : 30000,
        .how = wish.tries ? 't' : 'q',
        .interop = f->interop[0],
        .life = life_ms,
        .number = wish.number,
        .sets = wish.sets != '\0' ? wish.sets : '-',
        .channel = text_of(f->channel),
        .own = text_of(member_note(f, claim, need, wish)),
    };

    return run(f, &lk__semaphore_acquire, &args);
}

const char *permits_acquire(script_fixture *f, const char *claim, int need)
{
    return permits_acquire_with(f, claim, need, (permits_wish){.lease = 0});
}

const char *permits_try(script_fixture *f, const char *claim, int need)
{
    return permits_acquire_with(f, claim, need, (permits_wish){.tries = true});
}

const char *permits_acquire_of(script_fixture *f, const char *claim, int need,
                               int64_t number, char sets)
{
    return permits_acquire_with(f, claim, need,
                                (permits_wish){.number = number, .sets = sets});
}

const char *
permits_touch(script_fixture *f, const char *first, const char *second)
{
    const char *end = first != NULL ? strchr(first, ':') : NULL;
    char own[2][FIELD] = {"", ""};
    lk__text texts[2];
    const lk__semaphore_touch_args args = {
        .uuid = {first, end != NULL ? (size_t)(end - first) : 0},
        .channel = text_of(f->channel),
        .interop = f->interop[0],
        .life = life_ms,
        .members = texts,
        .members_count = (first != NULL ? 1U : 0U) + (second != NULL ? 1U : 0U),
    };

    if (first != NULL)
        (void)snprintf(own[0], FIELD, "%s", member_of(f, first));
    if (second != NULL)
        (void)snprintf(own[1], FIELD, "%s", member_of(f, second));
    texts[0] = text_of(own[0]);
    texts[1] = text_of(own[1]);
    return run(f, &lk__semaphore_touch, &args);
}

const char *permits_look(script_fixture *f, const char *claim)
{
    return permits_touch(f, claim, NULL);
}

const char *permits_pass(script_fixture *f)
{
    return permits_touch(f, NULL, NULL);
}

static lk__semaphore_close_args
close_args(const script_fixture *f, const char *claim, char why)
{
    return (lk__semaphore_close_args){.why = why,
                                      .claim = text_of(claim),
                                      .channel = text_of(f->channel),
                                      .interop = f->interop[0],
                                      .life = life_ms};
}

const char *permits_release(script_fixture *f, const char *claim, int64_t fence)
{
    lk__semaphore_close_args args = close_args(f, claim, 'r');

    args.fence = fence != 0 ? fence : permits_fence(f, claim);
    return run(f, &lk__semaphore_close, &args);
}

const char *permits_leave(script_fixture *f, const char *claim, bool stone)
{
    lk__semaphore_close_args args = close_args(f, claim, 'l');

    args.has_own = true;
    args.own = text_of(member_of(f, claim));
    args.has_stone = stone;
    args.stone = STONE_MS;
    return run(f, &lk__semaphore_close, &args);
}

const char *permits_force(script_fixture *f, const char *owner)
{
    lk__semaphore_close_args args = close_args(f, owner, 'f');

    return run(f, &lk__semaphore_close, &args);
}

const char *
permits_keep(script_fixture *f, const char *claim, int64_t fence, int64_t lease)
{
    const lk__semaphore_keep_args args = {
        .claim = text_of(claim),
        .fence = fence != 0 ? fence : permits_fence(f, claim),
        .lease = lease,
        .life = life_ms,
        .channel = text_of(f->channel),
        .interop = f->interop[0],
    };

    return run(f, &lk__semaphore_keep, &args);
}

const char *permits_renew(script_fixture *f, const char *claim, int64_t lease)
{
    char number[24], share[FIELD];
    lk__member_text member;
    const char *keys[] = {f->keys[PERMITS_ZSET]};
    const char *args[] = {number, f->interop, share, NULL};

    assert_true(lk__packed_read(&lk__member_text_packed,
                                text_of(member_of(f, claim)), &member));
    snprintf(number, sizeof(number), "%" PRId64, lease);
    snprintf(share, sizeof(share), "%" PRId64 " %s", member.need, claim);
    script_run_keys(f, &lk__semaphore_renew_script, keys, 1, args);
    table_check(f, &lk__any_renew_answers);
    return f->answer_text;
}

const char *permits_resize(script_fixture *f, int64_t number)
{
    const lk__semaphore_resize_args args = {
        .number = number,
        .channel = text_of(f->channel),
        .interop = f->interop[0],
        .life = life_ms,
    };

    return run(f, &lk__semaphore_resize, &args);
}

static const char *see(script_fixture *f, char what)
{
    const lk__semaphore_see_args args = {.what = what,
                                         .interop = f->interop[0]};

    return run(f, &lk__semaphore_see, &args);
}

const char *permits_count(script_fixture *f)
{
    return see(f, 'c');
}

const char *permits_info(script_fixture *f)
{
    return see(f, 'i');
}

const char *permits_revoke(script_fixture *f, const char *owner)
{
    const lk__semaphore_revoke_args args = {.claim = text_of(owner)};

    return run(f, &lk__semaphore_revoke, &args);
}

const char *permits_forget(script_fixture *f)
{
    const lk__semaphore_forget_args args = {.channel = text_of(f->channel)};

    return run(f, &lk__semaphore_forget, &args);
}

const char *permits_import(script_fixture *f, const char *from, int64_t fence,
                           const char *to)
{
    const lk__semaphore_import_args args = {
        .claim = text_of(from),
        .fence = fence,
        .lease = 60000,
        .life = life_ms,
        .own = text_of(member_of(f, to)),
    };

    return run(f, &lk__semaphore_import, &args);
}

/* ---- behind their back ---- */

void permits_set(script_fixture *f, int number)
{
    script_redis(f, "SET %s %d", f->keys[PERMITS_COUNTER], number);
}

int64_t permits_fence(script_fixture *f, const char *claim)
{
    const char *fence =
        script_redis(f, "EVAL %s 1 %s %s 1",
                     PERMIT " local known = redis.call('HGET', KEYS[1], id)"
                            " return known and string.match(known,"
                            " '^%S+ (%d+)') or '0'",
                     f->keys[PERMITS_HOLDERS], claim);

    return strtoll(fence, NULL, 10);
}

/* ---- record and queue ---- */

bool permits_record(script_fixture *f, lk__record_text *ret)
{
    static char text[1024];

    (void)snprintf(text, sizeof(text), "%s",
                   script_redis(f, "GET %s", f->keys[PERMITS_RECORD]));
    return lk__packed_read(&lk__record_text_packed, text_of(text), ret);
}

static void record_put(script_fixture *f, const lk__record_text *record)
{
    char text[1024];

    lk__packed_write(&lk__record_text_packed, record, text, sizeof(text));
    script_redis(f, "SET %s %s PX 3600000", f->keys[PERMITS_RECORD], text);
}

void permits_put_fence(script_fixture *f, int64_t fence)
{
    lk__record_text record;

    assert_true(permits_record(f, &record));
    record.fence = fence;
    record_put(f, &record);
}

void permits_put_turn(script_fixture *f, const char *turn)
{
    lk__record_text record;

    assert_true(permits_record(f, &record));
    record.turn = text_of(turn);
    record_put(f, &record);
}

void permits_put_layout(script_fixture *f, const char *other)
{
    const lk__text none = text_of("-");
    const lk__record_text record = {.layout = text_of(other),
                                    .flag = none,
                                    .turn = none,
                                    .more = none,
                                    .claim = none,
                                    .nonce = none,
                                    .mode = none,
                                    .base = none,
                                    .inbox = none,
                                    .reason = text_of("")};

    record_put(f, &record);
}

char permits_turn(script_fixture *f, long long *since, long long *length)
{
    lk__record_text record;
    lk__turn_text turn;

    if (!permits_record(f, &record) ||
        !lk__packed_read(&lk__turn_text_packed, record.turn, &turn))
        return '-';
    if (since != NULL)
        *since = turn.since;
    if (length != NULL)
        *length = turn.length;
    return turn.side.bytes[0];
}

/* The claims in a band. */
static const char *claims_in(script_fixture *f, int band)
{
    static char text[8192];

    (void)snprintf(
        text, sizeof(text), "%s",
        script_redis(f, "EVAL %s 1 %s %d",
                     "local text, size = '', 2 ^ 48 for _, one in ipairs("
                     "redis.call('ZRANGEBYSCORE', KEYS[1], string.format("
                     "'%.0f', ARGV[1] * size), string.format('(%.0f', "
                     "(ARGV[1] + 1) * size))) do text = text .. "
                     "string.match(one, '^%S+') .. ' ' end "
                     "return string.sub(text, 1, -2)",
                     f->keys[PERMITS_QUEUE], band));
    return strcmp(text, "\"\"") == 0 ? "" : text;
}

const char *permits_waiting(script_fixture *f)
{
    return claims_in(f, 1);
}

const char *permits_parked(script_fixture *f)
{
    return claims_in(f, 8);
}

int64_t permits_ticket(script_fixture *f, const char *claim)
{
    const char *score = script_redis(f, "ZSCORE %s %s", f->keys[PERMITS_QUEUE],
                                     member_of(f, claim));

    return strtoll(score, NULL, 10) < 9LL << 48
               ? strtoll(score, NULL, 10) % (1LL << 48)
               : 0;
}

void permits_age(script_fixture *f, const char *claim, long long ms)
{
    const char *end = strchr(claim, ':');
    long long at = script_now_ms(f) - ms;

    assert_non_null(end);
    script_redis(f, "ZADD %s %lld %s", f->keys[PERMITS_QUEUE],
                 (1LL << 48) + at * 1000 / 16, member_of(f, claim));
    script_redis(f, "ZREM %s %b", f->keys[PERMITS_QUEUE], claim,
                 (size_t)(end - claim));
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
