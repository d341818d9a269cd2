/* SPDX-License-Identifier: MIT */
#include "support/counting3.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"

#define NONCE " 0123456789abcdef "

enum {
    CLIENT = 32,
    CLAIM = 49,
    MEMBER = 71,
    TEXTS = 64,
    TEXT = 32768,
    ARGS = 100,
    KEYS = 7
};

static long long clock_ms;
static int cut_behind;

/* ---- texts ---- */

static char *fresh_text(void)
{
    static char texts[TEXTS][TEXT];
    static unsigned next;

    return texts[next++ % TEXTS];
}

int c3_number(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

const char *c3_client(const char *claim)
{
    char *text = fresh_text();

    memset(text, claim[0], CLIENT);
    text[CLIENT] = '\0';
    return text;
}

const char *c3_claim(const char *claim)
{
    char *text = fresh_text();

    snprintf(text, TEXT, "%s:%016d", c3_client(claim), c3_number(claim + 1));
    return text;
}

static int need_of(const char *member)
{
    const char *dot = strchr(member, '.');

    return dot != NULL ? c3_number(dot + 1) : 1;
}

const char *c3_member(const char *member)
{
    char *text = fresh_text();

    snprintf(text, TEXT, "%s" NONCE "%04d", c3_claim(member), need_of(member));
    return text;
}

static bool is_client(const char *text)
{
    return isxdigit((unsigned char)text[0]) &&
           strspn(text, (char[]){text[0], '\0'}) == CLIENT;
}

/* Writes one more short form of what stands at *at, and goes on behind it. */
static char *shorten_one(const char **at, char *out)
{
    const char *text = *at;

    *out++ = *text;
    *at += 1;
    if (!is_client(text))
        return out;
    *at = text + CLIENT;
    if (text[CLIENT] != ':')
        return out;
    *out++ = text[CLAIM - 1];
    *at = text + CLAIM;
    if (**at == '\0' || strncmp(*at + 1, &NONCE[1], strlen(NONCE) - 1) != 0)
        return out;
    *at = text + MEMBER;
    return out + sprintf(out, ".%d", c3_number(text + MEMBER - 4));
}

const char *c3_short(const char *text)
{
    char *made = fresh_text(), *out = made;

    while (*text != '\0')
        out = shorten_one(&text, out);
    *out = '\0';
    return made;
}

/* ---- the clock, and what stands around a script ---- */

int c3_setup(void **state)
{
    clock_ms = 0;
    cut_behind = 0;
    return script_setup(state);
}

void c3_at(long long ms)
{
    clock_ms = ms;
}

void c3_cut(int nth)
{
    cut_behind = nth;
}

static bool is_their_slice(long long ms)
{
    long long t = (C3_BEGINS_MS + ms) / 50 % 65521;

    return t * t % 65521 * t % 65521 * 40503 % 65521 < 26208;
}

long long c3_slice(long long ms, bool is_theirs)
{
    while (is_their_slice(ms) != is_theirs)
        ms++;
    return ms;
}

static void write_wrapper(char *text, size_t size)
{
    const long long now = C3_BEGINS_MS + clock_ms;

    snprintf(text, size,
             "local R, left, now = redis, %d, {'%lld', '%lld'} "
             "local reads = {GET=1, TIME=1, EXISTS=1, PTTL=1, LLEN=1, LPOS=1, "
             "LINDEX=1, LRANGE=1, HGET=1, HMGET=1, HEXISTS=1, HRANDFIELD=1, "
             "ZCARD=1, ZSCORE=1, ZRANGE=1, PUBSUB=1} "
             "local function run(how, name, ...) "
             "if name == 'TIME' then return now end "
             "local reply = R[how](name, ...) "
             "if not reads[name] then left = left - 1 end "
             "if left == 0 and not reads[name] then error('CUT') end "
             "return reply end "
             "local redis = {error_reply = R.error_reply, "
             "call = function(...) return run('call', ...) end, "
             "pcall = function(...) return run('pcall', ...) end}\n",
             cut_behind, now / 1000, now % 1000 * 1000);
}

/* ---- scripts ---- */

static void read_script(const char *name, char *text, size_t size)
{
    char path[512];
    FILE *file;
    size_t used;

    snprintf(path, sizeof(path), "%s/lua/layout3/%s.lua", LK_SOURCE_DIR, name);
    file = fopen(path, "r");
    assert_non_null(file);
    used = fread(text, 1, size - 1, file);
    text[used] = '\0';
    fclose(file);
}

static const char *key_of(char letter)
{
    static const char letters[] = "NZqrxma";
    static const char *const keys[KEYS] = {"n",       C3_ZSET, C3_LINE,
                                           C3_FENCE,  C3_SIDE, C3_MEMO,
                                           C3_ARRIVED};
    const char *at = strchr(letters, letter);

    assert_non_null(at);
    return keys[at - letters];
}

const char *c3_run_with(script_fixture *f, const char *script, const char *keys,
                        const char *const *args)
{
    char *body = fresh_text();
    lk__script made = {.name = script, .body = body};
    const char *key[KEYS];
    size_t count = strlen(keys), used;

    assert_true(count <= KEYS);
    for (size_t i = 0; i < count; i++)
        key[i] = key_of(keys[i]);
    write_wrapper(body, TEXT);
    used = strlen(body);
    read_script(script, body + used, TEXT - used);
    return c3_short(script_run_keys(f, &made, key, count, args));
}

const char *c3_run(script_fixture *f, const char *script, const char *keys, ...)
{
    const char *args[ARGS];
    size_t count = 0;
    va_list list;

    va_start(list, keys);
    do {
        assert_true(count < ARGS);
        args[count] = va_arg(list, const char *);
    } while (args[count++] != NULL);
    va_end(list);
    return c3_run_with(f, script, keys, args);
}

/* ---- what is there ---- */

const char *c3_line(script_fixture *f)
{
    return C3_REDIS(f, "LRANGE %s 0 -1", C3_LINE);
}

const char *c3_parked(script_fixture *f)
{
    return C3_REDIS(f, "EVAL %s 1 %s",
                    "local all, list = redis.call('HKEYS', KEYS[1]), {} "
                    "for i = 1, #all do if #all[i] == 72 then "
                    "list[#list + 1] = string.sub(all[i], 2) end end "
                    "table.sort(list) return list",
                    C3_SIDE);
}

void c3_hear(script_fixture *f, const char *clients)
{
    for (; *clients != '\0'; clients++) {
        char inbox[CLIENT + 4];

        snprintf(inbox, sizeof(inbox), "in:%s", c3_client(clients));
        script_listen(f, inbox);
    }
}

const char *c3_heard(script_fixture *f)
{
    return c3_short(script_heard(f));
}

/* ---- the semaphore ---- */

const char *s3_make(script_fixture *f, const char *number)
{
    return c3_run(f, "semaphore/resize", "NZx", number, "x", "0", C3_CHANNEL,
                  NULL);
}

const char *s3_acquire(script_fixture *f, const char *member)
{
    return c3_run(f, "semaphore/acquire", "NZqr", c3_claim(member), "3000",
                  c3_member(member), NULL);
}

const char *s3_acquire_first(script_fixture *f, const char *member)
{
    return c3_run(f, "semaphore/acquire", "NZqr", c3_claim(member), "3000",
                  c3_member(member), "l", NULL);
}

const char *s3_try(script_fixture *f, const char *member)
{
    return c3_run(f, "semaphore/acquire", "NZqr", c3_claim(member), "3000",
                  c3_member(member) + MEMBER - 4, NULL);
}

void s3_permits(const char **args, size_t at, const char *member)
{
    args[at++] = c3_claim(member);
    for (int j = 2; j <= need_of(member); j++) {
        char *permit = fresh_text();

        snprintf(permit, TEXT, "%s:%d", c3_claim(member), j);
        args[at++] = permit;
    }
    args[at] = NULL;
}

const char *s3_close(script_fixture *f, const char *member)
{
    const char *args[ARGS] = {"in:", C3_CHANNEL, "3000"};

    s3_permits(args, 3, member);
    return c3_run_with(f, "semaphore/close", "NZqrx", args);
}

const char *s3_give(script_fixture *f)
{
    return c3_run(f, "semaphore/close", "NZqrx", "in:", C3_CHANNEL, "3000",
                  NULL);
}

const char *s3_touch(script_fixture *f, const char *members)
{
    const char *args[ARGS] = {c3_client(members), C3_CHANNEL, "0", "1000"};
    size_t count = 4;

    while (members != NULL) {
        assert_true(count < ARGS - 1);
        args[count++] = c3_member(members);
        members = strchr(members, ' ');
        members += members != NULL;
    }
    return c3_run_with(f, "semaphore/touch", "NZqrx", args);
}

const char *s3_next(script_fixture *f)
{
    return c3_run(f, "semaphore/next", "NZqrx", C3_CHANNEL, "0", NULL);
}

const char *s3_park(script_fixture *f, const char *client)
{
    return c3_run(f, "semaphore/park", "NZqx", c3_client(client), NULL);
}

const char *s3_keep(script_fixture *f, const char *member, const char *lease)
{
    const char *args[ARGS] = {lease, "0", "7 8 9 because"};

    s3_permits(args, 3, member);
    return c3_run_with(f, "semaphore/keep", "Zrx", args);
}

const char *s3_leave(script_fixture *f, const char *member)
{
    return c3_run(f, "semaphore/leave", "NZqx", c3_member(member), "1", NULL);
}

const char *s3_books(script_fixture *f)
{
    return C3_REDIS(f, "EVAL %s 2 n %s",
                    "return (redis.call('GET', KEYS[1]) or 'none') .. ' ' .. "
                    "redis.call('ZCARD', KEYS[2])",
                    C3_ZSET);
}
