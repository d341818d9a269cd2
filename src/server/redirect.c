/* SPDX-License-Identifier: MIT */

/* Errors of a cluster's nodes: "MOVED 449 10.0.0.1:7000" and others. */

#include "server/redirect.h"

#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "server/reply.h"

static const struct {
    const char *words;
    lk__redirect_kind kind;
} errors[] = {
    {"MOVED", LK__REDIRECT_MOVED},
    {"ASK", LK__REDIRECT_ASK},
    {"TRYAGAIN", LK__REDIRECT_TRYAGAIN},
    {"CLUSTERDOWN", LK__REDIRECT_DOWN},
    {"MASTERDOWN", LK__REDIRECT_MASTERDOWN},
    {"CROSSSLOT", LK__REDIRECT_CROSSSLOT},
    /* Redis 6, Redis 7 and Valkey. */
    {"Lua script attempted to access a non local key", LK__REDIRECT_FOREIGN},
    {"ERR Script attempted to access a non local key", LK__REDIRECT_FOREIGN},
    {"ERR Attempted to access a non local key", LK__REDIRECT_FOREIGN},
};

static lk__redirect_kind kind_of(const redisReply *reply)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (lk__reply_is_error(reply, errors[i].words))
            return errors[i].kind;
    }
    return LK__REDIRECT_NONE;
}

/* Reads digits of a slot, without zeros before them; NULL: there are none. Else
   what follows them. */
static const char *slot_read(const char *text, unsigned *ret_slot)
{
    size_t count = strspn(text, "0123456789");
    unsigned long slot = strtoul(text, NULL, 10);

    if (count == 0 || (count > 1 && text[0] == '0') || slot >= LK__SLOTS)
        return NULL;
    *ret_slot = (unsigned)slot;
    return text + count;
}

/* Reads "word slot host:port". An IPv6 host has no brackets. */
static bool target_read(lk__redirect *redirect, const redisReply *reply,
                        const char *word, const char *asked)
{
    const char *text = reply->str + strlen(word);
    const char *colon = strrchr(reply->str, ':');
    uint64_t port;

    if (strlen(reply->str) != reply->len || *text != ' ' || colon == NULL)
        return false;
    text = slot_read(text + 1, &redirect->slot);
    if (text == NULL || *text != ' ' || colon <= text ||
        !lk__word_number(colon + 1, UINT16_MAX, &port))
        return false;
    text++;
    return lk__endpoint_note(&redirect->to, text, (size_t)(colon - text), port,
                             asked);
}

void lk__redirect_read(lk__redirect *ret_redirect, const redisReply *reply,
                       unsigned slot, const char *asked)
{
    lk__redirect_kind kind = kind_of(reply);

    if ((kind == LK__REDIRECT_MOVED || kind == LK__REDIRECT_ASK) &&
        (!target_read(ret_redirect, reply,
                      kind == LK__REDIRECT_ASK ? "ASK" : "MOVED", asked) ||
         (slot != LK__SLOTS && slot != ret_redirect->slot)))
        kind = LK__REDIRECT_BAD;
    ret_redirect->kind = kind;
}
