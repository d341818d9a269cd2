/* SPDX-License-Identifier: MIT */
#include "support/lua_lock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/table.h"

enum { LIFE_MS = 3600000, STONE_MS = 600000, FIELD = 400 };

/* ---- what is common ---- */

static lk__text text_of(const char *text)
{
    return (lk__text){text, strlen(text)};
}

/* See lua_lock_be_near(). */
static bool is_near;

void lua_lock_be_near(bool near)
{
    is_near = near;
}

static lk__text channel(void)
{
    return text_of(is_near ? "+" LUA_LOCK_CHANNEL : LUA_LOCK_CHANNEL);
}

const char *lua_lock_member(const char *claim, char mode)
{
    static char texts[4][FIELD];
    static unsigned next;
    char *text = texts[next++ % 4];
    const lk__member_text member = {
        .claim = text_of(claim),
        .nonce = text_of(LUA_LOCK_NONCE),
        .mode = {&mode, 1},
        .need = 1,
        .lease = 30000,
        .base = text_of("-"),
        .inbox = text_of(is_near ? "s" : "p"),
        .reason = text_of("because"),
    };

    lk__packed_write(&lk__member_text_packed, &member, text, FIELD);
    return text;
}

static const char *run(script_fixture *f, const lk__signature *signature,
                       size_t key_count, const void *args)
{
    return table_run(f, signature, lk__lock_keys, key_count, args);
}

/* ---- scripts ---- */

const char *lua_lock_acquire_with(script_fixture *f, const char *claim,
                                  char mode, char how, int64_t lease)
{
    char own[FIELD];
    const lk__member_text member = {
        .claim = text_of(claim),
        .nonce = text_of(LUA_LOCK_NONCE),
        .mode = {&mode, 1},
        .need = 1,
        .lease = lease,
        .base = text_of("-"),
        .inbox = text_of(is_near ? "s" : "p"),
        .reason = text_of("because"),
    };
    const lk__lock_acquire_args args = {
        .claim = text_of(claim),
        .lease = lease,
        .how = how,
        .interop = f->interop[0],
        .life = LIFE_MS,
        .own = {own, lk__packed_write(&lk__member_text_packed, &member, own,
                                      sizeof(own))},
    };

    return run(f, &lk__lock_acquire,
               how == 's' ? LK__LOCK_ACQUIRE_SPINS : LK__LOCK_ACQUIRE_USUAL,
               &args);
}

const char *lua_lock_acquire(script_fixture *f, const char *claim)
{
    return lua_lock_acquire_with(f, claim, 'l', 'q', 30000);
}

static lk__lock_close_args
close_args(const script_fixture *f, const char *claim, char why)
{
    return (lk__lock_close_args){.why = why,
                                 .claim = text_of(claim),
                                 .channel = channel(),
                                 .interop = f->interop[0],
                                 .life = LIFE_MS};
}

const char *
lua_lock_release(script_fixture *f, const char *claim, int64_t fence)
{
    lk__lock_close_args args = close_args(f, claim, 'r');

    args.fence = fence != 0 ? fence : lua_lock_fence(f);
    return run(f, &lk__lock_close, LK__LOCK_CLOSE_WHOLE, &args);
}

const char *lua_lock_release_alone(script_fixture *f, const char *claim)
{
    lk__lock_close_args args = close_args(f, claim, 'r');

    return run(f, &lk__lock_close, LK__LOCK_CLOSE_ALONE, &args);
}

const char *lua_lock_leave(script_fixture *f, const char *claim, bool stone)
{
    lk__lock_close_args args = close_args(f, claim, 'l');

    args.has_own = true;
    args.own = text_of(lua_lock_member(claim, 'l'));
    args.has_stone = stone;
    args.stone = STONE_MS;
    return run(f, &lk__lock_close, LK__LOCK_CLOSE_WHOLE, &args);
}

const char *lua_lock_force(script_fixture *f, const char *claim)
{
    lk__lock_close_args args = close_args(f, claim, 'f');

    return run(f, &lk__lock_close, LK__LOCK_CLOSE_WHOLE, &args);
}

static const char *
touch(script_fixture *f, const char *first, const char *second, char peek)
{
    const char *end = first != NULL ? strchr(first, ':') : NULL;
    lk__text members[2] = {first != NULL ? text_of(lua_lock_member(first, 'l'))
                                         : text_of(""),
                           second != NULL
                               ? text_of(lua_lock_member(second, 'l'))
                               : text_of("")};
    const lk__lock_touch_args args = {
        .uuid = {first, end != NULL ? (size_t)(end - first) : 0},
        .channel = channel(),
        .interop = f->interop[0],
        .life = LIFE_MS,
        .peek = peek,
        .members = members,
        .members_count = (first != NULL ? 1U : 0U) + (second != NULL ? 1U : 0U),
    };

    return run(f, &lk__lock_touch, LK__LOCK_TOUCH_WHOLE, &args);
}

const char *
lua_lock_touch(script_fixture *f, const char *first, const char *second)
{
    return touch(f, first, second, '0');
}

const char *lua_lock_peek(script_fixture *f, const char *claim)
{
    return touch(f, claim, NULL, '1');
}

const char *lua_lock_keep(script_fixture *f, const char *claim, int64_t fence,
                          int64_t lease, int64_t reserve)
{
    const lk__lock_keep_args args = {
        .claim = text_of(claim),
        .fence = fence != 0 ? fence : lua_lock_fence(f),
        .lease = lease,
        .life = LIFE_MS,
        .reserve = reserve,
        .channel = channel(),
        .interop = f->interop[0],
    };

    return run(f, &lk__lock_keep, LK__LOCK_KEEP_WHOLE, &args);
}

const char *lua_lock_renew(script_fixture *f, const char *claim,
                           const char *other, int64_t lease)
{
    char number[24];
    const char *keys[] = {"n", LUA_LOCK_OTHER};
    const char *args[] = {number, claim, other, NULL};

    snprintf(number, sizeof(number), "%" PRId64, lease);
    script_run_keys(f, &lk__lock_renew_script, keys, 2, args);
    table_check(f, &lk__any_renew_answers);
    return f->answer_text;
}

const char *lua_lock_see(script_fixture *f)
{
    return run(f, &lk__lock_see, LK__LOCK_SEE_WHOLE, NULL);
}

const char *lua_lock_import(script_fixture *f, const char *from, int64_t fence,
                            const char *to)
{
    const char *own = lua_lock_member(to, 'l');
    const lk__lock_import_args args = {
        .claim = text_of(from),
        .fence = fence,
        .lease = 60000,
        .life = LIFE_MS,
        .interop = f->interop[0],
        .own = text_of(own),
    };

    return run(f, &lk__lock_import, LK__LOCK_IMPORT_WHOLE, &args);
}

const char *lua_lock_revoke(script_fixture *f, const char *claim)
{
    const lk__lock_revoke_args args = {.claim = text_of(claim)};

    return run(f, &lk__lock_revoke, LK__LOCK_REVOKE_WHOLE, &args);
}

const char *lua_lock_forget(script_fixture *f)
{
    const lk__lock_forget_args args = {.channel = channel()};

    return run(f, &lk__lock_forget, LK__LOCK_FORGET_WHOLE, &args);
}

const char *lua_lock_term(script_fixture *f)
{
    return run(f, &lk__lock_term, LK__LOCK_TERM_WHOLE, NULL);
}

/* ---- what is there ---- */

bool lua_lock_record(script_fixture *f, lk__record_text *ret)
{
    const char *text = script_redis(f, "GET " LUA_LOCK_RECORD);

    return lk__packed_read(&lk__record_text_packed, text_of(text), ret);
}

void lua_lock_turn(script_fixture *f, lk__turn_text *ret)
{
    lk__record_text record;

    assert_true(lua_lock_record(f, &record));
    memset(ret, 0, sizeof(*ret));
    ret->side = text_of("-");
    if (record.turn.size > 1)
        assert_true(lk__packed_read(&lk__turn_text_packed, record.turn, ret));
}

int64_t lua_lock_fence(script_fixture *f)
{
    lk__record_text record;

    return lua_lock_record(f, &record) ? record.fence : 0;
}

/* Times are multiples of step, in us. */
static void shift(script_fixture *f, long long ms, int step)
{
    snprintf(f->stamp, sizeof(f->stamp),
             "local R = redis local redis = setmetatable({call = "
             "function(name, ...) if name ~= 'TIME' then return R.call(name, "
             "...) end local t = R.call('TIME') local us = t[1] * 1000000 + "
             "t[2] + %lld * 1000 us = us - us %% %d return {math.floor(us / "
             "1000000), us %% 1000000} end}, {__index = R}) ",
             ms, step);
}

void lua_lock_shift(script_fixture *f, long long ms)
{
    shift(f, ms, 1);
}

void lua_lock_shift_to_sweep(script_fixture *f, long long ms)
{
    shift(f, ms, 16000);
}

static long long start, at;

long long lua_lock_now(void)
{
    return at;
}

void lua_lock_at(script_fixture *f, long long ms)
{
    if (f->stamp[0] == '\0')
        start = script_now_ms(f);
    at = ms += start;
    snprintf(f->stamp, sizeof(f->stamp),
             "local R = redis local redis = setmetatable({call = "
             "function(name, ...) if name ~= 'TIME' then return R.call(name, "
             "...) end return {%lld, %lld} end}, {__index = R}) ",
             ms / 1000, ms % 1000 * 1000);
}

void lua_lock_hear(script_fixture *f, ...)
{
    va_list clients;
    const char *client;
    char inbox[FIELD];

    va_start(clients, f);
    while ((client = va_arg(clients, const char *)) != NULL) {
        snprintf(inbox, sizeof(inbox), "latchkey:in::%s", client);
        script_listen(f, inbox);
    }
    va_end(clients);
}

void lua_lock_two_wait(script_fixture *f)
{
    lua_lock_hear(f, "b", "c", NULL);
    lua_lock_acquire(f, "a:1");
    lua_lock_acquire(f, "b:1");
    lua_lock_acquire(f, "c:1");
}
