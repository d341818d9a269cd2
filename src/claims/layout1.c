/* SPDX-License-Identifier: MIT */

/*
 * The scripts that lie in lua/ itself: each gets the keys of its kind and the same
 * first arguments. Their heads say what each one answers.
 */

#include "claims/place.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "engine/client.h"

lk__question *lk__first_begin(const lk__place *place, const lk__script *script,
                              const char *owner, const char *more_key)
{
    lk_client *client = place->client;
    const lk__kind *kind = place->kind;
    lk__question *q;

    if (script == NULL)
        return NULL;
    q = lk__question_begin(client, script, 0);
    if (q == NULL)
        return NULL;
    for (size_t i = 0; i < kind->key_count; i++)
        lk__question_key(q, place->keys[i]);
    if (more_key != NULL)
        lk__question_key(q, more_key);
    lk__question_arg(q, lk__arg_text(owner));
    lk__question_arg(q, lk__arg_text(place->channel));
    lk__question_arg(q, lk__arg_number(client->settings.interop ==
                                       LK_INTEROP_REDISSON));
    return q;
}

const lk__protocol lk__protocol_first = {.is_second = false};
