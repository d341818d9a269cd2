/* SPDX-License-Identifier: MIT */

/* What keys say about names; see kinds.h. */

#include "inspect/kinds.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "shared_table.h"

const char *lk_kind_text(lk_kind kind)
{
    switch (kind) {
    case LK_KIND_LOCK:
        return "lock";
    case LK_KIND_RWLOCK:
        return "rwlock";
    case LK_KIND_SEMAPHORE:
        return "semaphore";
    case LK_KIND_PLAIN_SEMAPHORE:
        return "plain-semaphore";
    case LK_KIND_LATCH:
        return "latch";
    case LK_KIND_NONE:
    default:
        return "";
    }
}

/* ---- keys -------------------------------------------------------------------- */

static bool begins_with(const char *prefix, const char *key, size_t size)
{
    size_t length = strlen(prefix);

    return size > length && memcmp(key, prefix, length) == 0;
}

static lk__trace trace_of(const char **key, size_t *size)
{
    if (lk__key_read(LK__RECORD_FORM, key, size))
        return LK__TRACE_RECORD;
    if (begins_with(LK__KEYS_OWN, *key, *size) ||
        begins_with("redisson_", *key, *size))
        return LK__TRACE_NONE;
    if (lk__key_read(LK__TIMEOUT_FORM, key, size))
        return LK__TRACE_TIMEOUT;
    return LK__TRACE_NAME;
}

lk__trace lk__trace_of(const char *key, size_t size, const char **ret_name,
                       size_t *ret_size)
{
    lk__trace trace = trace_of(&key, &size);

    if (size > LK__NAME_MAX || memchr(key, '\0', size) != NULL)
        return LK__TRACE_NONE;
    *ret_name = key;
    *ret_size = size;
    return trace;
}

lk_kind lk__kind_of_layout(lk__text layout)
{
    static const struct {
        const char *layout;
        lk_kind kind;
    } all[] = {{LK__FORM_LAYOUT_LOCK, LK_KIND_LOCK},
               {LK__FORM_LAYOUT_RWLOCK, LK_KIND_RWLOCK},
               {LK__FORM_LAYOUT_SEMAPHORE, LK_KIND_SEMAPHORE},
               {LK__FORM_LAYOUT_PLAIN_SEMAPHORE, LK_KIND_PLAIN_SEMAPHORE},
               {LK__FORM_LAYOUT_LATCH, LK_KIND_LATCH}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (layout.size == strlen(all[i].layout) &&
            memcmp(layout.bytes, all[i].layout, layout.size) == 0)
            return all[i].kind;
    return LK_KIND_NONE;
}

/* ---- the hash of a lock ----------------------------------------------------------- */

enum { UUID_SIZE = 36 };

static bool is_uuid(const char *text)
{
    for (int i = 0; i < UUID_SIZE; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (is_dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
            return false;
    }
    return true;
}

static bool is_client_id(const char *text)
{
    for (int i = 0; i < LK__CLIENT_ID_SIZE; i++) {
        if (!isxdigit((unsigned char)text[i]))
            return false;
    }
    return true;
}

/* A claim of the library's, or Redisson's `<uuid>:<thread>`. */
static bool is_owner(const char *text, size_t size)
{
    size_t colon = size > LK__CLIENT_ID_SIZE && text[LK__CLIENT_ID_SIZE] == ':'
                       ? LK__CLIENT_ID_SIZE
                       : UUID_SIZE;

    if (size < colon + 2 || size > colon + 21 || text[colon] != ':' ||
        !(colon == UUID_SIZE ? is_uuid(text) : is_client_id(text)))
        return false;
    for (size_t i = colon + 1; i < size; i++) {
        if (!isdigit((unsigned char)text[i]))
            return false;
    }
    return true;
}

static bool is_text(const redisReply *reply, const char *text)
{
    return reply->type == REDIS_REPLY_STRING && strcmp(reply->str, text) == 0;
}

static bool skip_suffix(const char *suffix, const char *key, size_t *size)
{
    size_t length = strlen(suffix);

    if (*size <= length || memcmp(key + *size - length, suffix, length) != 0)
        return false;
    *size -= length;
    return true;
}

/* False: no lock has such a field. */
static bool
field_read(lk__fields *fields, const redisReply *field, const redisReply *value)
{
    const char *mode = "";
    size_t size = (size_t)field->len;

    if (field->type != REDIS_REPLY_STRING || value->type != REDIS_REPLY_STRING)
        return false;
    if (is_text(field, "mode")) {
        fields->kind = LK_KIND_RWLOCK;
        return is_text(value, "read") || is_text(value, "write");
    }
    if (skip_suffix(":write", field->str, &size))
        mode = "write";
    if (!is_owner(field->str, size))
        return false;
    fields->count++;
    if (fields->owner == NULL || mode[0] != '\0') {
        fields->owner = field->str;
        fields->owner_size = size;
        fields->mode = mode;
        fields->entries = strtoull(value->str, NULL, 10);
    }
    return true;
}

void lk__fields_read(lk__fields *fields, const redisReply *array)
{
    *fields = (lk__fields){.kind = LK_KIND_LOCK, .mode = ""};
    if (array == NULL || array->type != REDIS_REPLY_ARRAY ||
        array->elements < 2) {
        fields->kind = LK_KIND_NONE;
        return;
    }
    for (size_t i = 0; i + 1 < array->elements; i += 2) {
        if (!field_read(fields, array->element[i], array->element[i + 1])) {
            fields->kind = LK_KIND_NONE;
            return;
        }
    }
    if (fields->kind == LK_KIND_RWLOCK && fields->mode[0] == '\0')
        fields->mode = "read";
}

/* ---- patterns ------------------------------------------------------------------- */

/* Matches one character against the set that begins after a '['; returns where
   the pattern goes on. */
static const char *set_match(const char *pattern, char c, bool *ret_matches)
{
    bool inverted = *pattern == '^';
    bool found = false;

    if (inverted)
        pattern++;
    while (*pattern != '\0' && *pattern != ']') {
        char low, high;

        if (*pattern == '\\' && pattern[1] != '\0')
            pattern++;
        low = high = *pattern++;
        if (pattern[0] == '-' && pattern[1] != '\0' && pattern[1] != ']') {
            high = pattern[1];
            pattern += 2;
        }
        if ((c >= low && c <= high) || (c >= high && c <= low))
            found = true;
    }
    *ret_matches = found != inverted;
    return *pattern == ']' ? pattern + 1 : pattern;
}

/* One character; returns where the pattern goes on, NULL: it does not match. */
static const char *one_match(const char *pattern, char c)
{
    bool matches;

    switch (*pattern) {
    case '?':
        return pattern + 1;
    case '[':
        pattern = set_match(pattern + 1, c, &matches);
        return matches ? pattern : NULL;
    case '\\':
        if (pattern[1] != '\0')
            pattern++;
        return *pattern == c ? pattern + 1 : NULL;
    default:
        return *pattern == c ? pattern + 1 : NULL;
    }
}

/* Only the last star is ever gone back to: so it takes no more than the product
   of both lengths. */
bool lk__glob(const char *pattern, const char *text)
{
    const char *star = NULL;
    const char *from = NULL;

    while (*text != '\0') {
        const char *next;

        if (*pattern == '*') {
            star = ++pattern;
            from = text;
            continue;
        }
        next = *pattern != '\0' ? one_match(pattern, *text) : NULL;
        if (next != NULL) {
            pattern = next;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}
