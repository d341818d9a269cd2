/* SPDX-License-Identifier: MIT */

/* Names, the keys made from them, and the bounds of times. */

#include "base/names.h"

#include <latchkey/client.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/mem.h"

static bool is_own(const char *text)
{
    return strncmp(text, LK__KEYS_OWN, strlen(LK__KEYS_OWN)) == 0;
}

/* A lock called as another's record or queue would be written into it. */
lk_status lk__name_check_own(const char *name)
{
    if (!is_own(name))
        return LK_OK;
    return lk__fail(LK_EINVAL,
                    "a name may not begin with \"%s\": the keys "
                    "that do are Latchkey's own",
                    LK__KEYS_OWN);
}

/*
 * Redis hashes what stands between the first '{' of a key and the first '}'
 * after it, unless there is no such pair or nothing between; then the whole
 * key. So `a{b` and `{}a` are hashed whole, and so is every key made from
 * them, each to a slot of its own. `a}b` is hashed whole too, but wrapped it
 * is `{a}b}`, of which only `a` counts.
 */
lk_status lk__name_check_slot(const char *name)
{
    const char *open;
    const char *close;
    size_t size;

    if (name == NULL)
        return lk__fail(LK_EINVAL, "the name is NULL");
    size = strnlen(name, LK__NAME_MAX + 1);
    if (size == 0 || size > LK__NAME_MAX)
        return lk__fail(LK_EINVAL, "the name has to have 1 to %d bytes",
                        LK__NAME_MAX);

    open = strchr(name, '{');
    if (open == NULL && strchr(name, '}') != NULL)
        return lk__fail(LK_EINVAL, "the name has a '}' but no '{'");
    if (open == NULL)
        return LK_OK;

    close = strchr(open, '}');
    if (close == NULL)
        return lk__fail(LK_EINVAL, "the name has a '{' with no '}' after it");
    if (close == open + 1)
        return lk__fail(LK_EINVAL, "the first {} in the name is empty");
    return LK_OK;
}

lk_status lk__name_check(const char *name)
{
    lk_status status = lk__name_check_slot(name);

    return status != LK_OK ? status : lk__name_check_own(name);
}

lk_status lk__owner_check(const char *owner)
{
    if (owner == NULL || owner[0] == '\0')
        return lk__fail(LK_EINVAL, "the owner is NULL or empty");
    return LK_OK;
}

/* ---- ids ---- */

void lk__numbered_write(char ret[LK__NUMBERED_SIZE], const char *client,
                        uint64_t number)
{
    memcpy(ret, client, LK__CLIENT_ID_SIZE);
    ret[LK__CLIENT_ID_SIZE] = ':';
    lk__digits_write_wide(ret + LK__CLIENT_ID_SIZE + 1, LK__CLAIM_DIGITS,
                          number);
}

uint64_t lk__numbered_read(const char *id, const char *client)
{
    uint64_t number = 0;

    if (strlen(id) != LK__NUMBERED_SIZE - 1 ||
        memcmp(id, client, LK__CLIENT_ID_SIZE) != 0 ||
        id[LK__CLIENT_ID_SIZE] != ':')
        return 0;
    for (const char *at = id + LK__CLIENT_ID_SIZE + 1; *at != '\0'; at++) {
        if (*at < '0' || *at > '9')
            return 0;
        number = number * 10 + (uint64_t)(*at - '0');
    }
    return number;
}

/* ---- keys ---- */

/* Bytes that are written into as many as there are room for; what else would
   have been is counted. */
typedef struct writer {
    char *at;
    size_t size, length;
} writer;

static void put_bytes(writer *pen, const char *bytes, size_t count)
{
    if (pen->length + count < pen->size)
        memcpy(pen->at + pen->length, bytes, count);
    else if (pen->length + 1 < pen->size)
        memcpy(pen->at + pen->length, bytes, pen->size - pen->length - 1);
    pen->length += count;
}

static void put(writer *pen, const char *text)
{
    put_bytes(pen, text, strlen(text));
}

static size_t end(const writer *pen)
{
    if (pen->size > 0)
        pen->at[pen->length < pen->size ? pen->length : pen->size - 1] = '\0';
    return pen->length;
}

/* In braces, unless it has a tag of its own. */
static void put_wrapped(writer *pen, const char *name, bool is_tagged)
{
    if (!is_tagged)
        put_bytes(pen, "{", 1);
    put(pen, name);
    if (!is_tagged)
        put_bytes(pen, "}", 1);
}

/* What stands behind the word that a form begins with; NULL: it does not. */
static const char *behind(const char *word, const char *form)
{
    size_t length = strlen(word);

    return strncmp(form, word, length) == 0 ? form + length : NULL;
}

/* How many bytes stand before the word that a form ends with; 0: it does not. */
static size_t before(const char *word, const char *form)
{
    size_t length = strlen(form), ends = strlen(word);

    return length > ends && strcmp(form + length - ends, word) == 0
               ? length - ends
               : 0;
}

/* Of a form that says where the name stands. */
static bool write_placed(writer *pen, const char *form, const char *name)
{
    size_t prefix = before("{*}", form);

    if (prefix > 0) {
        put_bytes(pen, form, prefix);
        put_wrapped(pen, name, false);
        return true;
    }
    prefix = before("*", form);
    put_bytes(pen, form, prefix);
    if (prefix > 0)
        put(pen, name);
    return prefix > 0;
}

/* Of one that does not: the name stands behind it. */
static void
write_prefixed(writer *pen, const char *form, const char *name, bool is_tagged)
{
    put(pen, form);
    put(pen, is_tagged && is_own(form) ? "::" : ":");
    put_wrapped(pen, name, is_tagged);
}

size_t lk__key_write(const char *form, const char *name, char *ret, size_t size)
{
    writer pen = {.size = size};
    bool is_tagged = strchr(name, '{') != NULL;
    const char *rest = behind("{N}", form);

    pen.at = ret;
    if (strcmp(form, "N") == 0) {
        put(&pen, name);
    } else if (rest != NULL) {
        put_wrapped(&pen, name, is_tagged);
        put(&pen, rest);
    } else if (form[0] == ':') {
        put(&pen, is_tagged ? LK__KEYS_OWN ":" : LK__KEYS_OWN);
        put_wrapped(&pen, name, is_tagged);
        put(&pen, form);
    } else if (!write_placed(&pen, form, name)) {
        write_prefixed(&pen, form, name, is_tagged);
    }
    return end(&pen);
}

/* Takes off the braces that put_wrapped() has put around a name. */
static void unwrap(const char **name, size_t *size)
{
    const char *inner = *name + 1;

    if (*size > 2 && (*name)[0] == '{' && (*name)[*size - 1] == '}' &&
        memchr(inner, '{', *size - 2) == NULL &&
        memchr(inner, '}', *size - 2) == NULL) {
        *name = inner;
        *size -= 2;
    }
}

/* The key begins with first, ends with last, and has something between. */
static bool
is_between(const char *first, const char *last, const char *key, size_t size)
{
    size_t begins = strlen(first), ends = strlen(last);

    return size > begins + ends && memcmp(key, first, begins) == 0 &&
           memcmp(key + size - ends, last, ends) == 0;
}

/* Of a key of the library's own, what stands before the name; NULL: it is none. */
static const char *own_before(const char *form, const char *key, size_t size)
{
    if (is_between(LK__KEYS_OWN ":", form, key, size))
        return LK__KEYS_OWN ":";
    return is_between(LK__KEYS_OWN "{", form, key, size) ? LK__KEYS_OWN : NULL;
}

bool lk__key_read(const char *form, const char **key, size_t *size)
{
    bool is_ours = form[0] == ':';
    const char *first = is_ours ? own_before(form, *key, *size) : "";
    const char *last = is_ours ? form : behind("{N}", form);

    if (first == NULL || last == NULL || !is_between(first, last, *key, *size))
        return false;
    *key += strlen(first);
    *size -= strlen(first) + strlen(last);
    if (strcmp(first, LK__KEYS_OWN ":") != 0)
        unwrap(key, size);
    return true;
}

char *lk__key_make(const char *form, const char *name)
{
    size_t size = lk__key_write(form, name, NULL, 0) + 1;
    char *key = lk__alloc(size);

    if (key != NULL)
        lk__key_write(form, name, key, size);
    return key;
}

bool lk__key_is_of_claim(const char *form)
{
    return behind("<claim>", form) != NULL;
}

void lk__key_write_of_claim(char key[LK__CLAIM_KEY_SIZE], const char *form,
                            const char *name, const char *claim)
{
    const char *rest = behind("<claim>", form);

    snprintf(key, LK__CLAIM_KEY_SIZE,
             strchr(name, '{') != NULL ? "%s:%s%s" : "{%s}:%s%s", name, claim,
             rest);
}

lk_status lk__wait_check(int64_t wait_ms)
{
    /* As unsigned, what is negative is beyond the limit. */
    if (wait_ms == LK_FOREVER || (uint64_t)wait_ms <= LK__TIME_MAX_MS)
        return LK_OK;
    return lk__fail(LK_EINVAL,
                    "wait_ms is %" PRId64
                    "; it has to be LK_FOREVER or 0 to %" PRIu64,
                    wait_ms, LK__TIME_MAX_MS);
}

lk_status lk__lease_check(uint64_t lease_ms)
{
    if (lease_ms >= 1 && lease_ms <= LK__TIME_MAX_MS)
        return LK_OK;
    return lk__fail(LK_EINVAL,
                    "a lease of %" PRIu64
                    " ms was given; it has to be 1 to %" PRIu64 " ms",
                    lease_ms, LK__TIME_MAX_MS);
}
