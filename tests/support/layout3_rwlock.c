/* SPDX-License-Identifier: MIT */
#include "support/layout3_rwlock.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/counting3.h"
#include "support/paths.h"

#define WRITERS "latchkey:{n}:qw"
#define READERS "latchkey:{n}:qr"
#define UPS     "latchkey:{n}:qu"
#define CHANNEL "redisson_rwlock:{n}"
#define NONCE   "0123456789abcdef"
#define ALL     "NwrfxuT"

enum { TEXT = 400, ARGS = 12, SCRIPT = 16384 };

int rw3_setup(void **state)
{
    return c3_setup(state);
}

const char *rw3_claim(const char *claim)
{
    return c3_claim(claim);
}

const char *rw3_timeout_key(const char *claim)
{
    static char texts[4][TEXT];
    static unsigned next;
    char *text = texts[next++ % 4];

    snprintf(text, TEXT, "{n}:%s:rwlock_timeout:1", c3_claim(claim));
    return text;
}

long long rw3_timeout(script_fixture *f, const char *claim)
{
    return script_pttl(f, rw3_timeout_key(claim));
}

static const char *member_of(const char *member)
{
    static char texts[4][TEXT];
    static unsigned next;
    char *text = texts[next++ % 4];
    bool rises = member[strlen(member) - 1] == 'u';

    snprintf(text, TEXT, "%s%c" NONCE, c3_claim(member), rises ? 'u' : ' ');
    return text;
}

/* How long a client or a claim is that begins here; 0: none does. */
static size_t claim_at(const char *text)
{
    if (!isxdigit((unsigned char)text[0]) ||
        strspn(text, (char[]){text[0], '\0'}) != 32)
        return 0;
    return text[32] == ':' ? 49 : 32;
}

/* Claims, and members of 66 bytes, become short: "b1", "b2u". */
static const char *shorten(const char *text)
{
    static char made[32768];
    char *out = made;

    while (*text != '\0') {
        size_t claim = claim_at(text);

        *out++ = *text++;
        if (claim == 0)
            continue;
        if (claim == 49)
            out += sprintf(out, "%d", c3_number(text + 32));
        text += claim - 1;
        if (claim == 49 && *text == 'u')
            *out++ = 'u';
        if (claim == 49 && *text != '\0' && strncmp(text + 1, NONCE, 16) == 0)
            text += 17;
    }
    *out = '\0';
    return made;
}

/* A script with the keys of these letters of ALL, T that of claim. */
static const char *run(script_fixture *f, const char *name, const char *keys,
                       const char *claim, ...)
{
    static char body[SCRIPT];
    const char *args[ARGS], *key[sizeof(ALL)];
    const char *const names[] = {"n",     WRITERS, READERS, C3_FENCE,
                                 C3_SIDE, UPS,     NULL};
    const lk__script script = {.name = name, .body = body};
    char path[TEXT];
    size_t count = 0, used;
    FILE *file;
    va_list list;

    va_start(list, claim);
    do {
        assert_true(count < ARGS);
        args[count] = va_arg(list, const char *);
    } while (args[count++] != NULL);
    va_end(list);
    for (size_t i = 0; keys[i] != '\0'; i++)
        key[i] = keys[i] == 'T' ? rw3_timeout_key(claim)
                                : names[strchr(ALL, keys[i]) - ALL];
    snprintf(path, sizeof(path), "%s/lua/layout3/rwlock/%s.lua", LK_SOURCE_DIR,
             name);
    file = fopen(path, "r");
    assert_non_null(file);
    used = fread(body, 1, sizeof(body) - 1, file);
    body[used] = '\0';
    fclose(file);
    return shorten(script_run_keys(f, &script, key, strlen(keys), args));
}

static const char none[] = "";

const char *rw3_read(script_fixture *f, const char *claim)
{
    return run(f, "acquire_read", "NwrfT", claim, c3_claim(claim), "3000",
               member_of(claim), none, NULL);
}

const char *
rw3_read_beside(script_fixture *f, const char *claim, const char *writer)
{
    char field[TEXT];

    snprintf(field, sizeof(field), "%s:write", c3_claim(writer));
    return run(f, "acquire_read", "NwrfT", claim, c3_claim(claim), "3000",
               member_of(claim), field, NULL);
}

const char *rw3_write(script_fixture *f, const char *claim)
{
    return run(f, "acquire_write", "Nwrf", NULL, c3_claim(claim), "3000",
               member_of(claim), NULL);
}

const char *rw3_up(script_fixture *f, const char *claim)
{
    return run(f, "acquire_up", ALL, claim, c3_claim(claim), "3000",
               member_of(claim), "{n}:", NULL);
}

const char *rw3_close_read(script_fixture *f, const char *claim)
{
    return run(f, "close_read", "NwrfxT", claim, c3_claim(claim),
               "in:", CHANNEL, NULL);
}

const char *
rw3_close_write(script_fixture *f, const char *claim, const char *read)
{
    return run(f, "close_write", "Nwrfx", NULL, c3_claim(claim), "in:", CHANNEL,
               "{n}:", read != NULL ? c3_claim(read) : NULL, NULL);
}

const char *
rw3_keep_read(script_fixture *f, const char *claim, const char *lease)
{
    return run(f, "keep_read", "NfxT", claim, c3_claim(claim), lease, none,
               none, NULL);
}

const char *rw3_keep_write(script_fixture *f, const char *claim,
                           const char *lease, const char *read)
{
    return run(f, "keep_write", "Nfx", NULL, c3_claim(claim), lease, none,
               read != NULL ? c3_claim(read) : NULL, NULL);
}

const char *rw3_touch(script_fixture *f, const char *line, const char *member)
{
    return run(f, "touch", "Nwrfxu", NULL, c3_client(member), "{n}:", CHANNEL,
               "1000", line, member_of(member), NULL);
}

const char *rw3_next(script_fixture *f)
{
    return run(f, "next", "Nwrfxu", NULL, "in:", "{n}:", NULL);
}

const char *rw3_admit(script_fixture *f)
{
    return run(f, "admit", "Nwrfxu", NULL, "in:", "{n}:", NULL);
}

const char *rw3_upgrade(script_fixture *f, const char *old, const char *claim)
{
    char member[TEXT];

    snprintf(member, sizeof(member), "%su" NONCE, c3_claim(claim));
    return run(f, "upgrade", "NwrfxT", old, c3_claim(old), c3_claim(claim),
               member, NULL);
}

const char *rw3_downgrade(script_fixture *f, const char *old, const char *claim)
{
    return run(f, "downgrade", "NwrfT", claim, c3_claim(old), c3_claim(claim),
               NULL);
}

/* ---- what is there ---- */

const char *rw3_fields(script_fixture *f)
{
    return shorten(script_redis(f, "EVAL %s 1 n",
                                "local all = redis.call('HKEYS', KEYS[1]) "
                                "table.sort(all) return all"));
}

const char *rw3_lines(script_fixture *f)
{
    return shorten(script_redis(
        f, "EVAL %s 3 %s %s %s",
        "local all = {} for i = 1, 3 do for _, one in ipairs("
        "redis.call('LRANGE', KEYS[i], 0, -1)) do all[#all + 1] = one end "
        "if i < 3 then all[#all + 1] = '|' end end return all",
        WRITERS, READERS, UPS));
}

void rw3_hear(script_fixture *f, const char *clients)
{
    c3_hear(f, clients);
}

const char *rw3_heard(script_fixture *f)
{
    return shorten(script_heard(f));
}
