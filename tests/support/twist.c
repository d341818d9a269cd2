/* SPDX-License-Identifier: MIT */
#include "support/twist.h"

#include <stdio.h>
#include <stdlib.h>

#include <hiredis/hiredis.h>

static const struct {
    const char *word;
    const char *said; /* in its place; NULL: it is another sort of change */
} ways[TWIST_WAYS] = {
    [TWIST_NIL] = {"nil", "$-1\r\n"},
    [TWIST_NIL_ARRAY] = {"no array", "*-1\r\n"},
    [TWIST_EMPTY] = {"an empty text", "$0\r\n\r\n"},
    [TWIST_WORD] = {"a word", "$4\r\n12ab\r\n"},
    [TWIST_STATUS] = {"a status", "+OK\r\n"},
    [TWIST_ERROR] = {"an error", "-ERR within\r\n"},
    [TWIST_EMPTY_ARRAY] = {"an empty array", "*0\r\n"},
    [TWIST_NESTED] = {"arrays in arrays", "*2\r\n*1\r\n:1\r\n*1\r\n*0\r\n"},
    [TWIST_SHORT] = {"too few", NULL},
    [TWIST_CUT] = {"cut", NULL},
    [TWIST_STALL] = {"stalled", NULL},
    [TWIST_DIGITS] = {"a number as text", "$1\r\n1\r\n"},
    [TWIST_ZERO] = {"0", ":0\r\n"},
    [TWIST_ONE] = {"1", ":1\r\n"},
    [TWIST_TWO] = {"2", ":2\r\n"},
    [TWIST_MINUS] = {"-1", ":-1\r\n"},
    [TWIST_MOST] = {"the largest number", ":9223372036854775807\r\n"},
    [TWIST_LARGE] = {"a large number", ":9007199254740991\r\n"},
    [TWIST_LEAST] = {"the smallest number", ":-9223372036854775808\r\n"},
    [TWIST_MISSING] = {"missing", NULL},
    [TWIST_TWICE] = {"twice", NULL},
};

const char *twist_word(twist_way way)
{
    return ways[way].word;
}

bool twist_may_lie(twist_way way)
{
    return way >= TWIST_DIGITS;
}

/* ---- reading -------------------------------------------------------------------- */

/* NULL: it is not one whole answer. */
static redisReply *read_answer(const char *bytes, size_t size)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    if (reader == NULL)
        abort();
    if (redisReaderFeed(reader, bytes, size) != REDIS_OK ||
        redisReaderGetReply(reader, &reply) != REDIS_OK)
        reply = NULL;
    redisReaderFree(reader);
    return reply;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the answer */
static unsigned places_of(const redisReply *reply)
{
    unsigned places = 1;

    for (size_t i = 0; i < reply->elements; i++)
        places += places_of(reply->element[i]);
    return places;
}

unsigned twist_places(const char *bytes, size_t size)
{
    redisReply *reply = read_answer(bytes, size);
    unsigned places = reply != NULL ? places_of(reply) : 0;

    if (reply != NULL)
        freeReplyObject(reply);
    return places;
}

/* ---- saying --------------------------------------------------------------------- */

typedef struct saying {
    FILE *to;
    twist how;
    unsigned place; /* of what is said next */
    bool is_over;   /* nothing more is said */
} saying;

static void say(saying *s, const redisReply *reply);

/* How many elements an array is said to have. */
static size_t count_of(const saying *s, const redisReply *array)
{
    unsigned at = s->place;

    for (size_t i = 0; i < array->elements; i++) {
        if (at == s->how.place && s->how.way == TWIST_SHORT)
            return i;
        if (at == s->how.place && s->how.way == TWIST_MISSING)
            return array->elements - 1;
        if (at == s->how.place && s->how.way == TWIST_TWICE)
            return array->elements + 1;
        at += places_of(array->element[i]);
    }
    return array->elements;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the answer */
static void say_array(saying *s, const redisReply *array)
{
    size_t count = count_of(s, array), said = array->elements;

    if (s->how.way == TWIST_SHORT)
        said = count;
    (void)fprintf(s->to, "*%zu\r\n", count);
    for (size_t i = 0; i < said; i++)
        say(s, array->element[i]);
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the answer */
static void say_as_it_is(saying *s, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ARRAY) {
        say_array(s, reply);
    } else if (reply->type == REDIS_REPLY_INTEGER) {
        (void)fprintf(s->to, ":%lld\r\n", reply->integer);
    } else if (reply->type == REDIS_REPLY_NIL) {
        (void)fputs("$-1\r\n", s->to);
    } else if (reply->type == REDIS_REPLY_STRING) {
        (void)fprintf(s->to, "$%zu\r\n", reply->len);
        (void)fwrite(reply->str, 1, reply->len, s->to);
        (void)fputs("\r\n", s->to);
    } else {
        (void)fprintf(s->to, "%c%s\r\n",
                      reply->type == REDIS_REPLY_ERROR ? '-' : '+', reply->str);
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the answer */
static void say_changed(saying *s, const redisReply *reply)
{
    if (ways[s->how.way].said != NULL) {
        (void)fputs(ways[s->how.way].said, s->to);
    } else if (s->how.way == TWIST_TWICE) {
        say_as_it_is(s, reply);
        say_as_it_is(s, reply);
    } else if (s->how.way != TWIST_MISSING) {
        s->is_over = true;
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as the answer */
static void say(saying *s, const redisReply *reply)
{
    unsigned place = s->place++;

    if (s->is_over)
        return;
    if (place == s->how.place)
        say_changed(s, reply);
    else
        say_as_it_is(s, reply);
}

char *twist_answer(const char *bytes, size_t size, twist how, size_t *ret_size)
{
    redisReply *reply = read_answer(bytes, size);
    char *text = NULL;
    saying s = {.to = open_memstream(&text, ret_size), .how = how};

    if (reply == NULL || s.to == NULL)
        abort();
    say(&s, reply);
    (void)fclose(s.to);
    freeReplyObject(reply);
    return text;
}
