/* SPDX-License-Identifier: MIT */

/*
 * What a reply means. Errors are told apart by their first word. Before it
 * servers up to Redis 6 put where a script was:
 *
 *   @user_script: 12: -OOM command not allowed ...
 *   ERR Error running script (call to f_0a..): @user_script:12: WRONGTYPE ...
 */

#include "server/reply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    lk_status status;
} errors[] = {
    {"LKTYPE", LK_ETYPE},         {"WRONGTYPE", LK_ETYPE},
    {"LKRANGE", LK_ERANGE},       {"LKLAYOUT", LK_EMISMATCH},
    {"OOM", LK_ESERVERMEM},       {"NOPERM", LK_EDENIED},
    {"NOAUTH", LK_EAUTH},         {"WRONGPASS", LK_EAUTH},
    {"READONLY", LK_EREADONLY},   {"LOADING", LK_ELOADING},
    {"MASTERDOWN", LK_EREADONLY},
};

static bool begins_with_word(const char *text, const char *word)
{
    size_t size = strlen(word);

    return strncmp(text, word, size) == 0 &&
           (text[size] == ' ' || text[size] == '\0');
}

/* Behind one "@user_script:12: ", at which text begins; NULL: at another. */
static const char *behind_place(const char *text)
{
    static const char place[] = "@user_script:";

    if (strncmp(text, place, sizeof(place) - 1) != 0)
        return NULL;
    text += sizeof(place) - 1;
    text += strspn(text, " ");
    text += strspn(text, "0123456789");
    return strncmp(text, ": ", 2) == 0 ? text + 2 : NULL;
}

/* Where the words of an error begin: behind what says where a script was. */
static const char *first_word(const char *text)
{
    static const char running[] = "ERR Error running script (call to ";
    const char *at = text, *next;

    if (strncmp(text, running, sizeof(running) - 1) == 0)
        at = strstr(text, "): ");
    if (at == NULL)
        return text;
    if (at != text)
        at += 3;
    while ((next = behind_place(at)) != NULL)
        at = next;
    return *at == '-' ? at + 1 : at;
}

static bool is_error(const redisReply *reply)
{
    return reply != NULL && reply->type == REDIS_REPLY_ERROR;
}

bool lk__reply_is_error(const redisReply *reply, const char *words)
{
    return is_error(reply) && begins_with_word(first_word(reply->str), words);
}

const char *lk__reply_words(const redisReply *reply)
{
    const char *words;

    if (!is_error(reply) || reply->str[0] == '\0')
        return NULL;
    /* The code of our own scripts tells the client a status, and a user nothing. */
    words = first_word(reply->str);
    if (strncmp(words, "LK", 2) == 0 && strchr(words, ' ') != NULL)
        return strchr(words, ' ') + 1;
    return reply->str;
}

/* How a script is told NOPERM: by Redis up to 7.0, and by later servers. */
static bool is_denied(const char *words)
{
    return strstr(words, "user executing the script can't") != NULL ||
           strstr(words, "ACL failure in script: ") != NULL;
}

lk_status lk__reply_status(const redisReply *reply)
{
    const char *words;

    if (reply == NULL)
        return LK_EPROTO;
    if (reply->type != REDIS_REPLY_ERROR)
        return LK_OK;

    words = first_word(reply->str);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (begins_with_word(words, errors[i].word))
            return errors[i].status;
    }
    if (is_denied(words))
        return LK_EDENIED;
    if (strstr(words, "invalid password") != NULL ||
        strstr(words, "without any password configured") != NULL)
        return LK_EAUTH;
    return LK_ESERVER;
}

bool lk__reply_is_passing(const redisReply *reply)
{
    static const char *const refusals[] = {"BUSY", "MISCONF", "NOREPLICAS",
                                           "TRYAGAIN", "CLUSTERDOWN"};

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        if (lk__reply_is_error(reply, refusals[i]))
            return true;
    }
    return false;
}

bool lk__reply_is_noscript(const redisReply *reply)
{
    return lk__reply_is_error(reply, "NOSCRIPT");
}

bool lk__reply_is_void(const redisReply *reply)
{
    return lk__reply_is_error(reply, "LKVOID");
}

bool lk__reply_is_text(const redisReply *reply, const char *word)
{
    return reply != NULL &&
           (reply->type == REDIS_REPLY_STRING ||
            reply->type == REDIS_REPLY_STATUS) &&
           reply->len == strlen(word) &&
           memcmp(reply->str, word, reply->len) == 0;
}

/* What stands behind a NUL would be overlooked. */
static bool is_whole(const redisReply *reply)
{
    return strlen(reply->str) == reply->len;
}

bool lk__reply_is_lines(const redisReply *reply)
{
    return reply != NULL && reply->type == REDIS_REPLY_STRING &&
           is_whole(reply);
}

const redisReply *lk__reply_at(const redisReply *reply, size_t i)
{
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY ||
        i >= reply->elements)
        return NULL;
    return reply->element[i];
}

/* Decimal text, and nothing else. */
static bool text_read(const redisReply *reply, int64_t *ret_number)
{
    const char *digits = reply->str + (reply->str[0] == '-');
    char *end;

    if (*digits < '0' || *digits > '9')
        return false;
    errno = 0;
    *ret_number = strtoll(reply->str, &end, 10);
    return errno == 0 && end == reply->str + reply->len;
}

static bool number_read(const redisReply *reply, int64_t *ret_number)
{
    if (reply == NULL)
        return false;
    if (reply->type == REDIS_REPLY_STRING)
        return text_read(reply, ret_number);
    *ret_number = reply->integer;
    return reply->type == REDIS_REPLY_INTEGER;
}

int64_t lk__reply_integer_at(const redisReply *reply, size_t i, int64_t missing)
{
    int64_t number;

    return number_read(lk__reply_at(reply, i), &number) ? number : missing;
}

const char *lk__reply_text_at(const redisReply *reply, size_t i)
{
    const redisReply *at = lk__reply_at(reply, i);

    if (at == NULL ||
        (at->type != REDIS_REPLY_STRING && at->type != REDIS_REPLY_STATUS) ||
        !is_whole(at))
        return "";
    return at->str;
}
