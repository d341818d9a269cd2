/* SPDX-License-Identifier: MIT */
#include "support/layout3.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/paths.h"

#define NONCE "0123456789abcdef"

enum {
    CLIENT = 32,
    CLAIM = 49,
    MEMBER = 66,
    TEXTS = 32,
    TEXT = 65536,
    ARGS = 600
};

static const char none[] = "";
static long long clock_ms; /* below 0: the server's own */
static int cut_behind;
static const char *outside;

/* ---- texts ---- */

static char *fresh_text(void)
{
    static char texts[TEXTS][TEXT];
    static unsigned next;

    return texts[next++ % TEXTS];
}

long long l3_number(const char *text)
{
    return strtoll(text, NULL, 10);
}

const char *l3_client(const char *claim)
{
    char *text = fresh_text();

    memset(text, claim[0], CLIENT);
    text[CLIENT] = '\0';
    return text;
}

const char *l3_claim(const char *claim)
{
    char *text = fresh_text();

    snprintf(text, TEXT, "%s:%016lld", l3_client(claim), l3_number(claim + 1));
    return text;
}

const char *l3_member(const char *claim)
{
    char *text = fresh_text();

    snprintf(text, TEXT, "%s " NONCE, l3_claim(claim));
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

    if (strncmp(text, L3_JAVA, strlen(L3_JAVA)) == 0) {
        *at += strlen(L3_JAVA);
        return stpcpy(out, "java");
    }
    *out++ = *text;
    *at += 1;
    if (!is_client(text))
        return out;
    *at = text + CLIENT;
    if (text[CLIENT] == ':') {
        *out++ = text[CLAIM - 1];
        *at = text + CLAIM;
        if (strncmp(*at, " " NONCE, MEMBER - CLAIM) == 0)
            *at = text + MEMBER;
    }
    return out;
}

const char *l3_short(const char *text)
{
    char *made = fresh_text(), *out = made;

    while (*text != '\0')
        out = shorten_one(&text, out);
    *out = '\0';
    return made;
}

/* ---- the clock, and the wrapper around a script ---- */

int l3_setup(void **state)
{
    clock_ms = -1;
    cut_behind = 0;
    outside = "0";
    return script_setup(state);
}

void l3_at(long long ms)
{
    clock_ms = ms;
}

long long l3_now(void)
{
    return clock_ms;
}

void l3_cut(int nth)
{
    cut_behind = nth;
}

void l3_know_outsiders(void)
{
    outside = "1";
}

static bool is_their_slice(long long ms)
{
    long long t = (L3_BEGINS_S * 1000 + ms) / 50 % 65521;

    return t * t % 65521 * t % 65521 * 40503 % 65521 < 26208;
}

long long l3_slice(long long ms, bool is_theirs)
{
    while (is_their_slice(ms) != is_theirs)
        ms++;
    return ms;
}

/* What stands before a script: its redis has another clock, or fails behind a write. */
static void write_wrapper(char *text, size_t size)
{
    char now[64] = "nil";

    if (clock_ms >= 0)
        snprintf(now, sizeof(now), "{'%lld', '%lld'}",
                 L3_BEGINS_S + clock_ms / 1000, clock_ms % 1000 * 1000);
    snprintf(
        text, size,
        "local R, left, now = redis, %d, %s "
        "local writes = {HSET=1, HDEL=1, PEXPIRE=1, INCRBY=1, SET=1, RPUSH=1, "
        "LPUSH=1, LPOP=1, LREM=1, LINSERT=1, DEL=1, PUBLISH=1, publish=1} "
        "local function run(how, name, ...) "
        "if name == 'TIME' and now then return now end "
        "local reply = R[how](name, ...) "
        "if writes[name] then left = left - 1 end "
        "if left == 0 and writes[name] then error('CUT') end "
        "return reply end "
        "local redis = {error_reply = R.error_reply, "
        "call = function(...) return run('call', ...) end, "
        "pcall = function(...) return run('pcall', ...) end}\n",
        cut_behind, now);
}

/* ---- scripts ---- */

static void read_script(const char *name, char *text, size_t size)
{
    char path[512];
    FILE *file;
    size_t used;

    snprintf(path, sizeof(path), "%s/lua/layout3/lock/%s.lua", LK_SOURCE_DIR,
             name);
    file = fopen(path, "r");
    assert_non_null(file);
    used = fread(text, 1, size - 1, file);
    text[used] = '\0';
    fclose(file);
}

static const char *key_of(char letter)
{
    switch (letter) {
    case 'N':
        return "n";
    case 'q':
        return L3_LINE;
    case 'r':
        return L3_FENCE;
    default:
        return L3_SIDE;
    }
}

const char *l3_run_keys(script_fixture *f, const char *script,
                        const char *const *keys, size_t count,
                        const char *const *args)
{
    char *body = fresh_text();
    lk__script made = {.name = script, .body = body};
    size_t used;

    write_wrapper(body, TEXT);
    used = strlen(body);
    read_script(script, body + used, TEXT - used);
    return l3_short(script_run_keys(f, &made, keys, count, args));
}

const char *l3_run_with(script_fixture *f, const char *script, const char *keys,
                        const char *const *args)
{
    const char *key[4];
    size_t count = strlen(keys);

    assert_true(count <= 4);
    for (size_t i = 0; i < count; i++)
        key[i] = key_of(keys[i]);
    return l3_run_keys(f, script, key, count, args);
}

const char *l3_run(script_fixture *f, const char *script, const char *keys, ...)
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
    return l3_run_with(f, script, keys, args);
}

const char *l3_acquire(script_fixture *f, const char *claim)
{
    return l3_run(f, "acquire", "Nqr", l3_member(claim), "60000", NULL);
}

const char *l3_acquire_first(script_fixture *f, const char *claim)
{
    return l3_run(f, "acquire", "Nqr", l3_member(claim), "60000", "l", NULL);
}

const char *l3_try(script_fixture *f, const char *claim)
{
    return l3_run(f, "acquire", "Nqr", l3_claim(claim), "60000", NULL);
}

const char *l3_close(script_fixture *f, const char *claim)
{
    return l3_run(f, "close", "Nqrx", l3_claim(claim), "in:", L3_CHANNEL, NULL);
}

const char *l3_leave(script_fixture *f, const char *claim)
{
    return l3_run(f, "leave", "Nqx", l3_member(claim), "1", NULL);
}

const char *l3_touch(script_fixture *f, const char *claims)
{
    static char members[4][MEMBER + 1];
    const char *args[16] = {l3_client(claims), L3_CHANNEL, L3_FAIR, outside};
    size_t count = 4;

    for (; isdigit((unsigned char)claims[1]); claims += 3) {
        char *member = members[count - 4];

        assert_true(count < 8);
        snprintf(member, MEMBER + 1, "%s", l3_member(claims));
        args[count++] = member;
        if (claims[2] == '\0')
            break;
    }
    return l3_run_with(f, "touch", "Nqrx", args);
}

static const char *
next_as(script_fixture *f, const char *claim, const char *of_try)
{
    return l3_run(f, "next", "Nqrx", l3_client(claim), L3_CHANNEL, L3_FAIR,
                  outside, of_try, NULL);
}

const char *l3_next(script_fixture *f, const char *client)
{
    return next_as(f, client, none);
}

const char *l3_next_try(script_fixture *f, const char *claim)
{
    return next_as(f, claim, l3_claim(claim));
}

const char *l3_park(script_fixture *f, const char *client)
{
    return l3_run(f, "park", "qx", l3_client(client), NULL);
}

const char *l3_give(script_fixture *f)
{
    return l3_run(f, "close", "Nqrx", none, "in:", L3_CHANNEL, NULL);
}

const char *l3_go_on(script_fixture *f, const char *client)
{
    const char *reply = l3_next(f, client);

    if (strcmp(reply, "2") == 0) {
        while (l3_number(l3_park(f, client)) == 64) {
        }
    } else if (strcmp(reply, "1") != 0) {
        return reply;
    }
    do
        reply = l3_give(f);
    while (strcmp(reply, "3") == 0);
    return reply;
}

const char *l3_keep(script_fixture *f, const char *claim, const char *lease)
{
    return l3_run(f, "keep", "Nx", l3_claim(claim), lease, "7 8 9 because",
                  NULL);
}

const char *l3_import(script_fixture *f, const char *from, const char *to)
{
    char inbox[CLIENT + 4];

    snprintf(inbox, sizeof(inbox), "in:%s", l3_client(from));
    return l3_run(f, "import", "Nrx", l3_claim(from), l3_claim(to), inbox,
                  "8 9 because", NULL);
}

/* ---- what is there ---- */

const char *l3_holders(script_fixture *f)
{
    return L3_REDIS(f, "HKEYS n");
}

const char *l3_line(script_fixture *f)
{
    return L3_REDIS(f, "LRANGE %s 0 -1", L3_LINE);
}

const char *l3_parked(script_fixture *f)
{
    return L3_REDIS(f, "EVAL %s 1 %s",
                    "local all, list = redis.call('HKEYS', KEYS[1]), {} "
                    "for i = 1, #all do if #all[i] == 67 then "
                    "list[#list + 1] = string.sub(all[i], 2) end end "
                    "table.sort(list) return list",
                    L3_SIDE);
}

const char *l3_note(script_fixture *f, const char *claim)
{
    char field[MEMBER + 2];

    snprintf(field, sizeof(field), "p%s", l3_member(claim));
    return L3_REDIS(f, "HGET %s %s", L3_SIDE, field);
}

void l3_hear(script_fixture *f, const char *clients)
{
    for (; *clients != '\0'; clients++) {
        char inbox[CLIENT + 4];

        snprintf(inbox, sizeof(inbox), "in:%s", l3_client(clients));
        script_listen(f, inbox);
    }
}

const char *l3_heard(script_fixture *f)
{
    return l3_short(script_heard(f));
}

void l3_two_wait(script_fixture *f)
{
    l3_hear(f, "abc");
    l3_acquire_first(f, "a1");
    l3_acquire(f, "b1");
    l3_acquire(f, "c1");
}
