/* SPDX-License-Identifier: MIT */

/*
 * What a reply means. Errors are told apart by their first word. Inside a
 * script Redis 6 wraps the error of a command in a sentence, so the words are
 * also looked for after a dash or a space.
 */

#include "core/reply.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    lk_status status;
} errors[] = {
    {"LKTYPE", LK_ETYPE},       {"WRONGTYPE", LK_ETYPE},
    {"LKLAYOUT", LK_EMISMATCH}, {"OOM", LK_ESERVERMEM},
    {"NOPERM", LK_EDENIED},     {"NOAUTH", LK_EAUTH},
    {"WRONGPASS", LK_EAUTH},    {"READONLY", LK_EREADONLY},
    {"LOADING", LK_ELOADING},   {"MASTERDOWN", LK_EREADONLY},
};

static bool begins_with_word(const char *text, const char *word)
{
    size_t size = strlen(word);

    return strncmp(text, word, size) == 0 &&
           (text[size] == ' ' || text[size] == '\0');
}

static bool error_has_word(const char *text, const char *word)
{
    if (begins_with_word(text, word))
        return true;

    for (const char *at = strstr(text, word); at != NULL;
         at = strstr(at + 1, word)) {
        if (at > text && (at[-1] == '-' || at[-1] == ' ') &&
            strncmp(text, "ERR Error running script", 24) == 0)
            return true;
    }
    return false;
}

lk_status lk__reply_status(const redisReply *reply)
{
    if (reply == NULL)
        return LK_EPROTO;
    if (reply->type != REDIS_REPLY_ERROR)
        return LK_OK;

    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (error_has_word(reply->str, errors[i].word))
            return errors[i].status;
    }
    if (strstr(reply->str, "user executing the script can't") != NULL)
        return LK_EDENIED; /* how Redis 7 says NOPERM inside a script */
    if (strstr(reply->str, "invalid password") != NULL ||
        strstr(reply->str, "without any password configured") != NULL)
        return LK_EAUTH;
    return LK_ESERVER;
}

bool lk__reply_is_noscript(const redisReply *reply)
{
    return reply != NULL && reply->type == REDIS_REPLY_ERROR &&
           begins_with_word(reply->str, "NOSCRIPT");
}

bool lk__reply_is_void(const redisReply *reply)
{
    return reply != NULL && reply->type == REDIS_REPLY_ERROR &&
           begins_with_word(reply->str, "LKVOID");
}

bool lk__reply_is_text(const redisReply *reply, const char *word)
{
    return reply != NULL &&
           (reply->type == REDIS_REPLY_STRING ||
            reply->type == REDIS_REPLY_STATUS) &&
           strcmp(reply->str, word) == 0;
}

const redisReply *lk__reply_at(const redisReply *reply, size_t i)
{
    if (reply == NULL || reply->type != REDIS_REPLY_ARRAY ||
        i >= reply->elements)
        return NULL;
    return reply->element[i];
}

int64_t lk__reply_integer_at(const redisReply *reply, size_t i, int64_t missing)
{
    const redisReply *at = lk__reply_at(reply, i);

    if (at == NULL)
        return missing;
    if (at->type == REDIS_REPLY_INTEGER)
        return at->integer;
    if (at->type == REDIS_REPLY_STRING)
        return strtoll(at->str, NULL, 10);
    return missing;
}

const char *lk__reply_text_at(const redisReply *reply, size_t i)
{
    const redisReply *at = lk__reply_at(reply, i);

    if (at == NULL ||
        (at->type != REDIS_REPLY_STRING && at->type != REDIS_REPLY_STATUS))
        return "";
    return at->str;
}
