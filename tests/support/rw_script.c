/* SPDX-License-Identifier: MIT */
#include "support/rw_script.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/lua_lock.h"
#include "support/lua_rwlock.h"

enum { TEXT_SIZE = 8192, FIELDS = 512, ASKS = 256, CLAIM_SIZE = 64 };

static const script_layout layout = {.count = 1,
                                     .keys = {[KEY_LOCK] = ""},
                                     .channel = "redisson_rwlock"};

/* What each claim asked for last: its member is made of that. */
struct asked {
    char claim[CLAIM_SIZE];
    lua_rwlock_ask ask;
};

static struct asked all_asked[ASKS];
static size_t asked_count;
static char the_order;

int rw_setup(void **state)
{
    int result = script_setup(state);

    the_order = '0';
    asked_count = 0;
    if (result == 0)
        script_set_layout(*state, &layout);
    return result;
}

void rw_set_order(const char *order)
{
    the_order = order[0];
}

/* The claim's, or that of a reader. */
static const lua_rwlock_ask *ask_of(const char *claim)
{
    static const lua_rwlock_ask reads = {.mode = 'r'};

    for (size_t i = 0; i < asked_count; i++) {
        if (strcmp(all_asked[i].claim, claim) == 0)
            return &all_asked[i].ask;
    }
    return &reads;
}

static void keep_in_mind(const char *claim, lua_rwlock_ask ask)
{
    size_t at = 0;

    while (at < asked_count && strcmp(all_asked[at].claim, claim) != 0)
        at++;
    assert_true(at < ASKS);
    snprintf(all_asked[at].claim, CLAIM_SIZE, "%s", claim);
    all_asked[at].ask = ask;
    asked_count += at == asked_count;
}

/* ---- coming in ---- */

const char *
rw_acquire_as(script_fixture *f, const char *claim, lua_rwlock_ask ask)
{
    ask.order = the_order;
    keep_in_mind(claim, ask);
    return lua_rwlock_acquire_with(f, claim, ask);
}

const char *rw_acquire(script_fixture *f, const char *claim, const char *mode)
{
    return rw_acquire_as(f, claim, (lua_rwlock_ask){.mode = mode[0]});
}

const char *rw_try(script_fixture *f, const char *claim, const char *mode)
{
    return rw_acquire_as(f, claim,
                         (lua_rwlock_ask){.mode = mode[0], .how = 't'});
}

const char *rw_acquire_on(script_fixture *f, const char *claim,
                          const char *mode, const char *base)
{
    lua_rwlock_ask ask = {.mode = mode[0]};

    if (mode[0] == 'w')
        ask = (lua_rwlock_ask){.mode = 'x', .base = base};
    else
        ask.writes = base;
    return rw_acquire_as(f, claim, ask);
}

const char *rw_acquire_for(script_fixture *f, const char *claim,
                           const char *mode, int64_t lease)
{
    return rw_acquire_as(f, claim,
                         (lua_rwlock_ask){.mode = mode[0], .lease = lease});
}

const char *rw_spin(script_fixture *f, const char *claim, const char *mode)
{
    return rw_acquire_as(f, claim,
                         (lua_rwlock_ask){.mode = mode[0], .how = 's'});
}

const char *rw_recheck(script_fixture *f, const char *claim)
{
    return lua_rwlock_touch_as(f, claim, *ask_of(claim));
}

/* ---- holding ---- */

const char *rw_fence(script_fixture *f, const char *claim)
{
    static char fence[32];
    char packed[512];
    lk__record_text record;

    snprintf(packed, sizeof(packed), "%s",
             script_redis(f, "HGET " LUA_RWLOCK_HOLDERS " %s", claim));
    if (strcmp(packed, "nil") != 0) {
        snprintf(fence, sizeof(fence), "%.*s", (int)strcspn(packed, " "),
                 packed);
        return fence;
    }
    snprintf(fence, sizeof(fence), "%" PRId64,
             lua_lock_record(f, &record) ? record.fence : 0);
    return fence;
}

static int64_t fence_of(script_fixture *f, const char *claim, const char *fence)
{
    return strtoll(fence != NULL ? fence : rw_fence(f, claim), NULL, 10);
}

const char *rw_release(script_fixture *f, const char *claim, const char *fence)
{
    return lua_rwlock_release(f, claim, fence_of(f, claim, fence));
}

const char *rw_confirm(script_fixture *f, const char *claim, const char *fence,
                       int64_t lease)
{
    return lua_rwlock_keep(f, claim, fence_of(f, claim, fence), lease);
}

const char *rw_downgrade(script_fixture *f, const char *claim,
                         const char *fence, int64_t lease)
{
    return lua_rwlock_downgrade(f, claim, fence_of(f, claim, fence), lease);
}

const char *rw_renew(script_fixture *f, const char *claim, int64_t lease)
{
    bool writes = strchr("wx", ask_of(claim)->mode) != NULL;
    const char *const keys[] = {f->keys[KEY_LOCK], lua_rwlock_timeout(claim)};
    char number[24];
    const char *const args[] = {number, claim, writes ? NULL : "-", NULL};

    snprintf(number, sizeof(number), "%" PRId64, lease);
    return script_run_keys(f, &lk__rwlock_renew_script, keys, writes ? 1 : 2,
                           args);
}

void rw_set_fence(script_fixture *f, const char *fence)
{
    char text[TEXT_SIZE];
    const char *old = script_redis(f, "GET " LUA_RWLOCK_RECORD);
    const char *rest = strchr(old + 3, ' ');

    assert_non_null(rest);
    snprintf(text, sizeof(text), "%.3s%s%s", old, fence, rest);
    script_redis(f, "SET " LUA_RWLOCK_RECORD " %s KEEPTTL", text);
}

void rw_kill(script_fixture *f, const char *claim)
{
    assert_like(script_redis(f, "DEL %s", lua_rwlock_timeout(claim)), "1");
}

/* ---- going out ---- */

const char *rw_leave(script_fixture *f, const char *claim, bool stone)
{
    return lua_rwlock_leave_as(f, claim, *ask_of(claim), stone);
}

const char *rw_pass(script_fixture *f)
{
    return lua_rwlock_touch(f, NULL, 'r');
}

/* ---- looking ---- */

static int compare(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

const char *rw_held(script_fixture *f)
{
    static char text[TEXT_SIZE];
    char all[TEXT_SIZE];
    char *fields[FIELDS];
    char *rest = NULL;
    size_t count = 0, used = 0;

    snprintf(all, sizeof(all), "%s",
             script_redis(f, "HKEYS %s", f->keys[KEY_LOCK]));
    for (char *field = strtok_r(all, " ", &rest);
         field != NULL && count < FIELDS; field = strtok_r(NULL, " ", &rest)) {
        if (strcmp(field, "mode") != 0)
            fields[count++] = field;
    }
    qsort(fields, count, sizeof(fields[0]), compare);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ",
                                 fields[i]);
    snprintf(text + used, sizeof(text) - used, "%s",
             script_redis(f, "HGET %s mode", f->keys[KEY_LOCK]));
    if (strcmp(text, "nil") == 0)
        text[0] = '\0';
    return text;
}

const char *rw_waiting(script_fixture *f)
{
    const char *text = script_redis(
        f, "EVAL %s 1 " LUA_RWLOCK_QUEUE,
        "local text = '' for _, at in ipairs({1, 0, 3, 2}) do local found = "
        "redis.call('ZRANGEBYSCORE', KEYS[1], string.format('%.0f', at * "
        "2^48), string.format('(%.0f', (at + 1) * 2^48)) if #found > 0 then "
        "for i = 1, #found do found[i] = string.match(found[i], '^%S+') end "
        "text = text .. (text ~= '' and ' ' or '') .. string.sub('xwur', at + "
        "1, at + 1) .. ': ' .. table.concat(found, ' ') end end return text");

    return strcmp(text, "\"\"") == 0 ? "" : text;
}

const char *rw_parked(script_fixture *f)
{
    return script_redis(f, "ZCOUNT " LUA_RWLOCK_QUEUE
                           " 2251799813685248 (2533274790395904");
}

void rw_hear(script_fixture *f, ...)
{
    char client[CLAIM_SIZE];
    va_list claims;
    const char *claim;

    va_start(claims, f);
    while ((claim = va_arg(claims, const char *)) != NULL) {
        snprintf(client, sizeof(client), "%.*s", (int)strcspn(claim, ":"),
                 claim);
        lua_rwlock_hear(f, client, (char *)NULL);
    }
    va_end(claims);
}

void rw_age(script_fixture *f, const char *claim, long long ms)
{
    assert_like(
        script_redis(
            f, "EVAL %s 1 " LUA_RWLOCK_QUEUE " %s %lld %lld",
            "local count = 0 local found = redis.call('ZRANGEBYSCORE', KEYS[1],"
            " '0', '+inf', 'WITHSCORES') for i = 1, #found, 2 do if "
            "string.find(found[i], ARGV[1] .. ' ', 1, true) == 1 then count = "
            "count + 1 redis.call('ZADD', KEYS[1], string.format('%.0f', "
            "found[i + 1] - ARGV[2] * 62.5), found[i]) end end "
            "redis.call('ZADD', KEYS[1], string.format('%.0f', ARGV[2] - "
            "ARGV[3]), string.match(ARGV[1], '^(.*):')) redis.call('ZADD', "
            "KEYS[1], '-' .. ARGV[3], 'another') return count",
            claim, ms, script_now_ms(f)),
        "1");
}

void rw_turn(script_fixture *f, const char *side, long long ago_ms,
             long long length_ms)
{
    lk__record_text record;
    char turn[128], text[TEXT_SIZE], old[TEXT_SIZE];

    lua_lock_at(f, 0);
    snprintf(old, sizeof(old), "%s", script_redis(f, "GET " LUA_RWLOCK_RECORD));
    if (strcmp(old, "nil") == 0)
        snprintf(old, sizeof(old), "2w 0 0 0 - - - 0 - - - 0 0 - - ");
    assert_true(lk__packed_read(&lk__record_text_packed,
                                (lk__text){old, strlen(old)}, &record));
    snprintf(turn, sizeof(turn), "%s,%lld,%lld,0,0", side,
             lua_lock_now() - ago_ms, length_ms);
    record.turn = (lk__text){turn, strlen(turn)};
    lk__packed_write(&lk__record_text_packed, &record, text, sizeof(text));
    script_redis(f, "SET " LUA_RWLOCK_RECORD " %s PX 3600000", text);
}

long long rw_turn_length(script_fixture *f)
{
    lk__turn_text turn;

    lua_lock_turn(f, &turn);
    return turn.length;
}

char rw_side(script_fixture *f)
{
    lk__turn_text turn;

    lua_lock_turn(f, &turn);
    return turn.side.bytes[0];
}

const char *rw_mark(script_fixture *f, const char *name)
{
    static char text[128];
    lk__record_text record;
    lk__marks_text marks;

    assert_true(lua_lock_record(f, &record));
    assert_true(lk__packed_read(&lk__marks_text_packed, record.more, &marks));
    if (strcmp(name, "wave") == 0)
        snprintf(text, sizeof(text), "%" PRId64, marks.wave);
    else if (strcmp(name, "order") == 0)
        snprintf(text, sizeof(text), "%" PRId64, marks.order);
    else if (strcmp(name, "upgrader") == 0)
        snprintf(text, sizeof(text), "%.*s", (int)marks.upgrader.size,
                 marks.upgrader.bytes);
    else
        snprintf(text, sizeof(text), "%.*s", (int)marks.aside.size,
                 marks.aside.bytes);
    return text;
}
