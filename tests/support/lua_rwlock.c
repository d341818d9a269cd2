/* SPDX-License-Identifier: MIT */
#include "support/lua_rwlock.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/table.h"

enum { LIFE_MS = 3600000, STONE_MS = 600000, FIELD = 400 };

static lk__text text_of(const char *text)
{
    return (lk__text){text, strlen(text)};
}

static int64_t lease_of(lua_rwlock_ask ask)
{
    return ask.lease != 0 ? ask.lease : 30000;
}

static const char *member_of(const char *claim, lua_rwlock_ask ask)
{
    static char text[FIELD];
    const lk__member_text member = {
        .claim = text_of(claim),
        .nonce = text_of("0123456789abcdef"),
        .mode = {&ask.mode, 1},
        .need = 1,
        .lease = lease_of(ask),
        .base = text_of(ask.base != NULL ? ask.base : "-"),
        .inbox = text_of("p"),
        .reason = text_of(ask.reason != NULL ? ask.reason : "because"),
    };

    lk__packed_write(&lk__member_text_packed, &member, text, sizeof(text));
    return text;
}

const char *lua_rwlock_timeout(const char *claim)
{
    static char key[FIELD];

    snprintf(key, sizeof(key), "{n}:%s:rwlock_timeout:1", claim);
    return key;
}

static const char *run(script_fixture *f, const lk__signature *signature,
                       size_t key_count, const char *claim, const void *args)
{
    return table_run_for(f, signature, lk__rwlock_keys, key_count, &claim,
                         args);
}

const char *lua_rwlock_acquire_with(script_fixture *f, const char *claim,
                                    lua_rwlock_ask ask)
{
    const lk__rwlock_acquire_args args = {
        .claim = text_of(claim),
        .lease = lease_of(ask),
        .how = ask.how != 0 ? ask.how : 'q',
        .interop = f->interop[0],
        .life = LIFE_MS,
        .order = ask.order != 0 ? ask.order : '0',
        .writes = text_of(ask.writes != NULL ? ask.writes : ""),
        .channel = text_of(LUA_RWLOCK_CHANNEL),
        .own = text_of(member_of(claim, ask)),
    };

    return run(f, &lk__rwlock_acquire, LK__RWLOCK_ACQUIRE_WHOLE, claim, &args);
}

const char *lua_rwlock_acquire(script_fixture *f, const char *claim, char mode)
{
    return lua_rwlock_acquire_with(f, claim, (lua_rwlock_ask){.mode = mode});
}

static lk__rwlock_close_args
close_args(const script_fixture *f, const char *claim, char why)
{
    return (lk__rwlock_close_args){.why = why,
                                   .claim = text_of(claim),
                                   .channel = text_of(LUA_RWLOCK_CHANNEL),
                                   .interop = f->interop[0],
                                   .life = LIFE_MS};
}

const char *
lua_rwlock_release(script_fixture *f, const char *claim, int64_t fence)
{
    lk__rwlock_close_args args = close_args(f, claim, 'r');

    args.fence = fence;
    return run(f, &lk__rwlock_close, LK__RWLOCK_CLOSE_WHOLE, claim, &args);
}

const char *lua_rwlock_release_alone(script_fixture *f, const char *claim)
{
    lk__rwlock_close_args args = close_args(f, claim, 'r');

    return run(f, &lk__rwlock_close, LK__RWLOCK_CLOSE_ALONE, NULL, &args);
}

const char *
lua_rwlock_leave(script_fixture *f, const char *claim, char mode, bool stone)
{
    return lua_rwlock_leave_as(f, claim, (lua_rwlock_ask){.mode = mode}, stone);
}

const char *lua_rwlock_leave_as(script_fixture *f, const char *claim,
                                lua_rwlock_ask ask, bool stone)
{
    lk__rwlock_close_args args = close_args(f, claim, 'l');

    args.has_own = true;
    args.own = text_of(member_of(claim, ask));
    args.has_stone = stone;
    args.stone = STONE_MS;
    return run(f, &lk__rwlock_close, LK__RWLOCK_CLOSE_WHOLE, claim, &args);
}

const char *lua_rwlock_touch(script_fixture *f, const char *claim, char mode)
{
    return lua_rwlock_touch_as(f, claim, (lua_rwlock_ask){.mode = mode});
}

const char *
lua_rwlock_touch_as(script_fixture *f, const char *claim, lua_rwlock_ask ask)
{
    const char *end = claim != NULL ? strchr(claim, ':') : NULL;
    lk__text members[1] = {text_of(claim != NULL ? member_of(claim, ask) : "")};
    const lk__rwlock_touch_args args = {
        .uuid = {claim, end != NULL ? (size_t)(end - claim) : 0},
        .channel = text_of(LUA_RWLOCK_CHANNEL),
        .interop = f->interop[0],
        .life = LIFE_MS,
        .peek = '0',
        .members = members,
        .members_count = claim != NULL ? 1 : 0,
    };

    return run(f, &lk__rwlock_touch, LK__RWLOCK_TOUCH_WHOLE, NULL, &args);
}

const char *lua_rwlock_keep(script_fixture *f, const char *claim, int64_t fence,
                            int64_t lease)
{
    const lk__rwlock_keep_args args = {
        .claim = text_of(claim),
        .fence = fence,
        .lease = lease,
        .life = LIFE_MS,
        .channel = text_of(LUA_RWLOCK_CHANNEL),
        .interop = f->interop[0],
    };

    return run(f, &lk__rwlock_keep, LK__RWLOCK_KEEP_WHOLE, claim, &args);
}

const char *lua_rwlock_downgrade(script_fixture *f, const char *claim,
                                 int64_t fence, int64_t lease)
{
    const lk__rwlock_downgrade_args args = {
        .claim = text_of(claim),
        .fence = fence,
        .lease = lease,
        .channel = text_of(LUA_RWLOCK_CHANNEL),
        .life = LIFE_MS,
    };

    return run(f, &lk__rwlock_downgrade, LK__RWLOCK_DOWNGRADE_WHOLE, claim,
               &args);
}

const char *lua_rwlock_state(script_fixture *f)
{
    return run(f, &lk__rwlock_state, LK__RWLOCK_STATE_WHOLE, NULL, NULL);
}

const char *lua_rwlock_revoke(script_fixture *f, const char *claim)
{
    const lk__rwlock_revoke_args args = {.claim = text_of(claim)};

    return run(f, &lk__rwlock_revoke, LK__RWLOCK_REVOKE_WHOLE, claim, &args);
}

const char *lua_rwlock_force(script_fixture *f, const char *claim)
{
    const lk__rwlock_force_args args = {.claim = text_of(claim),
                                        .channel = text_of(LUA_RWLOCK_CHANNEL)};

    return run(f, &lk__rwlock_force, LK__RWLOCK_FORCE_WHOLE, NULL, &args);
}

const char *lua_rwlock_import(script_fixture *f, const char *claim,
                              int64_t fence, const char *own)
{
    const char *claims[] = {claim, own};
    const lk__rwlock_import_args args = {
        .claim = text_of(claim),
        .fence = fence,
        .lease = 30000,
        .life = LIFE_MS,
        .own = text_of(member_of(own, (lua_rwlock_ask){.mode = '-'})),
    };

    return table_run_for(f, &lk__rwlock_import, lk__rwlock_keys,
                         LK__RWLOCK_IMPORT_WHOLE, claims, &args);
}

const char *lua_rwlock_see(script_fixture *f)
{
    return run(f, &lk__rwlock_see, LK__RWLOCK_SEE_WHOLE, NULL, NULL);
}

const char *lua_rwlock_forget(script_fixture *f)
{
    const lk__rwlock_forget_args args = {.channel =
                                             text_of(LUA_RWLOCK_CHANNEL)};

    return run(f, &lk__rwlock_forget, LK__RWLOCK_FORGET_WHOLE, NULL, &args);
}

const char *lua_rwlock_renew(script_fixture *f, const char *key,
                             const char *claim, int64_t lease)
{
    char number[24];
    const char *args[] = {number, claim, NULL};

    snprintf(number, sizeof(number), "%" PRId64, lease);
    script_run_keys(f, &lk__rwlock_renew_script, &key, 1, args);
    table_check(f, &lk__any_renew_answers);
    return f->answer_text;
}

int64_t lua_rwlock_fence(const script_fixture *f)
{
    return script_item(f, 1);
}

void lua_rwlock_hear(script_fixture *f, ...)
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
