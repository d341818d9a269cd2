/* SPDX-License-Identifier: MIT */

/* What the questions of all families are made of; see family.h. */

#include "claims/family.h"

#include <string.h>

#include "claims/work.h"
#include "engine/client.h"
#include "shared_table.h"

lk__text lk__text_of(const char *text)
{
    return (lk__text){text, strlen(text)};
}

/* Permits end later for others than for us where those go by their own clocks. */
const char *lk__family_skew(const lk__claim *claim)
{
    return claim->place->kind->counts && lk__family_interop(claim->place) == '1'
               ? "s"
               : "-";
}

/* How it is told of its grant: by PUBLISH to an inbox of its client's tenant, or by
   SPUBLISH to that of its name. */
static lk__text inbox_of(const lk__claim *claim, char text[LK__TENANT_MAX + 1])
{
    const char *tenant = claim->place->client->settings.tenant;
    size_t length = strnlen(tenant, LK__TENANT_MAX);

    text[0] = claim->is_near ? 's' : 'p';
    memcpy(text + 1, tenant, length);
    return (lk__text){text, length + 1};
}

lk__text lk__family_member(lk__question *q, const lk__claim *claim,
                           const char *mode, const char *base)
{
    char inbox[LK__TENANT_MAX + 1], nonce[LK__NONCE_SIZE];
    const lk__extra *extra = claim->extra;
    uint64_t need = lk__claim_terms(claim)->need;
    bool has_reason = extra != NULL && extra->reason != NULL;
    const lk__member_text member = {
        .claim = lk__text_of(lk__claim_id(claim)),
        .nonce = lk__text_of(lk__claim_nonce(claim, nonce)),
        .mode = lk__text_of(mode),
        .need = need > 0 ? (int64_t)need : 1,
        .lease = (int64_t)claim->lease_ms,
        .base = lk__text_of(base),
        .inbox = inbox_of(claim, inbox),
        .reason = lk__text_of(has_reason ? extra->reason : ""),
    };
    char *text = lk__question_text(q, LK__MEMBER_SIZE);

    return (lk__text){text, lk__packed_write(&lk__member_text_packed, &member,
                                             text, LK__MEMBER_SIZE)};
}

lk__text lk__family_channel(const lk__place *place)
{
    return lk__text_of(lk__channel_told(&place->channel, place->node));
}

lk__text lk__family_news(const lk__place *place)
{
    return lk__text_of(
        lk__channel_told(&lk__topic_of(place, LK__TOPIC_OWN)->channel,
                         place->node));
}

char lk__family_interop(const lk__place *place)
{
    return place->client->settings.interop == LK_INTEROP_REDISSON ? '1' : '0';
}

int64_t lk__family_life(const lk__place *place)
{
    return (int64_t)place->client->settings.fence_keep_ms;
}

int64_t lk__family_db(const lk__place *place)
{
    return (int64_t)place->client->settings.db;
}

lk__question *lk__family_begin(const lk__place *place,
                               const lk__signature *signature, size_t room)
{
    return lk__question_begin(place->client, signature->script, room);
}

void lk__family_key(lk__question *q, const lk__place *place, size_t key)
{
    lk__question_key_of(q, place->kind->keys[key], place->name);
}

lk__question *lk__family_fill(lk__question *q, const lk__place *place,
                              const lk__signature *signature, size_t key_count,
                              const void *args)
{
    for (size_t i = 0; i < key_count; i++)
        lk__family_key(q, place, signature->keys[i]);
    lk__question_args(q, signature, args);
    return q;
}
