/* SPDX-License-Identifier: MIT */
#include "server/shape.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "server/reply.h"

/* As far as the scripts tell numbers apart. */
#define NUMBER_MAX ((INT64_C(1) << 53) - 1)

/* ---- arguments ---- */

static bool is_given(const lk__arg_value *value, const char *args)
{
    return value->given == LK__NOT_GIVEN ||
           *(const bool *)(args + value->given);
}

static size_t each_count(const lk__args_shape *shape, const char *args)
{
    return shape->each == LK__NOT_GIVEN
               ? 0
               : *(const size_t *)(args + shape->each_count);
}

/* An option behind one that is missing is missing, too. */
static size_t single_count(const lk__args_shape *shape, const char *args)
{
    size_t n = 0;

    while (n < shape->count && is_given(&shape->values[n], args))
        n++;
    return n;
}

size_t lk__args_count(const lk__args_shape *shape, const void *args)
{
    return single_count(shape, args) + each_count(shape, args);
}

static lk__arg arg_of(const lk__arg_value *value, const char *at)
{
    if (value->type == LK__VALUE_TEXT) {
        const lk__text *text = (const lk__text *)at;

        return (lk__arg){.bytes = text->bytes, .size = text->size};
    }
    if (value->type == LK__VALUE_WORD) {
        const char *letter = strchr(value->letters, *at);

        assert(*at != '\0' && letter != NULL);
        return (lk__arg){.bytes = letter, .size = 1};
    }
    return (lk__arg){.number = *(const int64_t *)at};
}

void lk__args_write(const lk__args_shape *shape, const void *args,
                    lk__arg *ret_args)
{
    const char *from = args;
    size_t singles = single_count(shape, from);
    size_t repeats = each_count(shape, from);
    const lk__text *texts =
        repeats > 0 ? *(const lk__text *const *)(from + shape->each) : NULL;

    for (size_t i = 0; i < singles; i++)
        ret_args[i] = arg_of(&shape->values[i], from + shape->values[i].offset);
    for (size_t i = 0; i < repeats; i++)
        ret_args[singles + i] =
            (lk__arg){.bytes = texts[i].bytes, .size = texts[i].size};
}

/* ---- answers ---- */

static bool take_number(const redisReply *item, int64_t lowest, int64_t highest,
                        int64_t *ret)
{
    if (item->type != REDIS_REPLY_INTEGER || item->integer < lowest ||
        item->integer > highest)
        return false;
    *ret = item->integer;
    return true;
}

static bool take_text(const redisReply *item, lk__text *ret)
{
    if (item->type != REDIS_REPLY_STRING)
        return false;
    *ret = (lk__text){item->str, item->len};
    return true;
}

static bool
take_values(const lk__shape *shape, redisReply *const *items, char *ret);

static bool take_list(const lk__shape *group, const redisReply *item, char *ret)
{
    if (item->type != REDIS_REPLY_ARRAY || item->elements % group->count != 0)
        return false;
    for (size_t i = 0; i < item->elements; i += group->count)
        if (!take_values(group, item->element + i, NULL))
            return false;
    if (ret != NULL)
        *(lk__list *)ret = (lk__list){item, group};
    return true;
}

/* at NULL: the value is only looked at. */
static bool take_value(const lk__value *value, const redisReply *item, char *at)
{
    int64_t lowest = value->type == LK__VALUE_SIGNED ? -NUMBER_MAX : 0;
    int64_t highest = value->type == LK__VALUE_FLAG ? 1 : NUMBER_MAX;
    int64_t number = 0;
    lk__text text;

    if (value->type == LK__VALUE_LIST)
        return take_list(value->group, item, at);
    if (value->type == LK__VALUE_TEXT) {
        if (!take_text(item, &text))
            return false;
        if (at != NULL)
            *(lk__text *)at = text;
        return true;
    }
    if (!take_number(item, lowest, highest, &number))
        return false;
    if (at != NULL && value->type == LK__VALUE_FLAG)
        *(bool *)at = number == 1;
    else if (at != NULL)
        *(int64_t *)at = number;
    return true;
}

static bool
take_values(const lk__shape *shape, redisReply *const *items, char *ret)
{
    for (size_t i = 0; i < shape->count; i++)
        if (!take_value(&shape->values[i], items[i],
                        ret != NULL ? ret + shape->values[i].offset : NULL))
            return false;
    return true;
}

lk_status lk__answer_read(const lk__answers *answers, const redisReply *reply,
                          void *ret_answer)
{
    lk_status status = lk__reply_status(reply);
    const lk__shape *shape;
    int64_t kind = 0;

    if (status != LK_OK)
        return status;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0 ||
        !take_number(reply->element[0], 1, (int64_t)answers->count, &kind))
        return LK_EPROTO;
    shape = &answers->shapes[kind - 1];
    if (reply->elements != shape->count + 1 ||
        !take_values(shape, reply->element + 1, ret_answer))
        return LK_EPROTO;
    *(int *)ret_answer = (int)kind;
    return LK_OK;
}

size_t lk__list_count(const lk__list *list)
{
    return list->reply->elements / list->group->count;
}

void lk__list_get(const lk__list *list, size_t i, void *ret_group)
{
    bool fits =
        take_values(list->group, list->reply->element + i * list->group->count,
                    ret_group);

    assert(fits && i < lk__list_count(list));
    (void)fits;
}

/* ---- packed texts ---- */

/* Bytes at used of size; those beyond are counted only. */
static size_t
put_bytes(char *ret, size_t size, size_t used, const char *bytes, size_t count)
{
    if (used < size)
        memcpy(ret + used, bytes, count < size - used ? count : size - used);
    return used + count;
}

static size_t put_value(const lk__value *value, const char *at, char *ret,
                        size_t size, size_t used)
{
    char number[LK__DIGITS_SIZE], *end = number + sizeof(number), *begin;

    if (value->type == LK__VALUE_TEXT || value->type == LK__VALUE_REST) {
        const lk__text *text = (const lk__text *)at;

        return put_bytes(ret, size, used, text->bytes, text->size);
    }
    begin = lk__digits_before_signed(end, *(const int64_t *)at);
    return put_bytes(ret, size, used, begin, (size_t)(end - begin));
}

size_t lk__packed_write(const lk__packed *packed, const void *from, char *ret,
                        size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < packed->count; i++) {
        const lk__value *value = &packed->values[i];

        if (i > 0)
            used = put_bytes(ret, size, used, &packed->separator, 1);
        used = put_value(value, (const char *)from + value->offset, ret, size,
                         used);
    }
    if (size > 0)
        ret[used < size ? used : size - 1] = '\0';
    return used;
}

/* A number as the scripts write it: digits, and a sign where it may be. */
static bool get_number(lk__text text, bool is_signed, int64_t *ret)
{
    bool is_negative = is_signed && text.size > 0 && text.bytes[0] == '-';
    int64_t number = 0;
    size_t i = is_negative ? 1 : 0;

    if (i == text.size)
        return false;
    for (; i < text.size; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9')
            return false;
        number = number * 10 + (text.bytes[i] - '0');
        if (number > NUMBER_MAX)
            return false;
    }
    *ret = is_negative ? -number : number;
    return true;
}

static bool get_value(const lk__value *value, lk__text text, char *at)
{
    if (value->type == LK__VALUE_REST ||
        (value->type == LK__VALUE_TEXT && text.size > 0)) {
        *(lk__text *)at = text;
        return true;
    }
    return value->type != LK__VALUE_TEXT &&
           get_number(text, value->type == LK__VALUE_SIGNED, (int64_t *)at);
}

bool lk__packed_read(const lk__packed *packed, lk__text text, void *ret)
{
    for (size_t i = 0; i < packed->count; i++) {
        bool is_last = i + 1 == packed->count;
        const char *end =
            packed->values[i].type == LK__VALUE_REST
                ? NULL
                : memchr(text.bytes, packed->separator, text.size);
        lk__text field = {text.bytes,
                          end != NULL ? (size_t)(end - text.bytes) : text.size};

        if ((end == NULL) != is_last ||
            !get_value(&packed->values[i], field,
                       (char *)ret + packed->values[i].offset))
            return false;
        if (end != NULL)
            text = (lk__text){end + 1, text.size - field.size - 1};
    }
    return true;
}
