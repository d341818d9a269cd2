/* SPDX-License-Identifier: MIT */

/* Claims: their identity, their memory, and which file moves them on. */

#include "claims/claim.h"

#include <string.h>

#include "base/container.h"
#include "base/digits.h"
#include "base/mem.h"
#include "claims/claim_private.h"
#include "claims/hold.h"
#include "claims/node.h"
#include "claims/work.h"

static lk__claim *claim_of_entry(lk__entry *entry)
{
    return LK__CONTAINER_OF(entry, lk__claim, entry);
}

lk__claim *lk__claim_find(const lk_client *client, uint64_t number)
{
    lk__entry *entry = lk__table_find(&client->work->claims, number);

    return entry == NULL ? NULL : claim_of_entry(entry);
}

/* ---- life ---------------------------------------------------------------- */

static void on_alarm(lk__alarm *alarm)
{
    lk__claim *claim = LK__CONTAINER_OF(alarm, lk__claim, alarm);

    switch ((lk__claim_state)claim->state) {
    case LK__CLAIM_WANTED:
    case LK__CLAIM_QUEUED:
    case LK__CLAIM_UNSURE:
        lk__claim_on_seek_alarm(claim);
        break;
    case LK__CLAIM_HELD:
        lk__claim_on_hold_alarm(claim);
        break;
    case LK__CLAIM_RELEASING:
    case LK__CLAIM_PASSING:
    case LK__CLAIM_LEAVING:
        lk__claim_close(claim);
        break;
    case LK__CLAIM_EXPORTED:
        lk__claim_kill(claim);
        break;
    case LK__CLAIM_FOREIGN:
    case LK__CLAIM_LOST:
    case LK__CLAIM_DEAD:
        break;
    }
}

static void place_link_last(lk__claim *claim)
{
    lk__place *place = claim->place;

    claim->next = NULL;
    claim->prev = place->last_claim;
    if (claim->prev != NULL)
        claim->prev->next = claim;
    else
        place->first_claim = claim;
    place->last_claim = claim;
}

static void place_link_first(lk__claim *claim)
{
    lk__place *place = claim->place;

    claim->prev = NULL;
    claim->next = place->first_claim;
    if (claim->next != NULL)
        claim->next->prev = claim;
    else
        place->last_claim = claim;
    place->first_claim = claim;
}

static void place_unlink(lk__claim *claim)
{
    lk__place *place = claim->place;

    if (place->next_visited == claim)
        place->next_visited = claim->next;
    if (claim->prev != NULL)
        claim->prev->next = claim->next;
    else
        place->first_claim = claim->next;
    if (claim->next != NULL)
        claim->next->prev = claim->prev;
    else
        place->last_claim = claim->prev;
    claim->next = claim->prev = NULL;
}

void lk__claim_held_first(lk__claim *claim)
{
    claim->was_held = true;
    place_unlink(claim);
    place_link_first(claim);
}

lk__claim *lk__claim_new_numbered(lk__place *place, uint64_t number)
{
    lk_client *client = place->client;
    lk__claim *claim = lk__alloc(sizeof(*claim));

    if (claim == NULL)
        return NULL;
    if (!lk__table_add(&client->work->claims, &claim->entry, number)) {
        lk__free(claim);
        return NULL;
    }
    claim->nonce = lk__client_random(client, UINT64_MAX);
    claim->refs = 1;
    claim->state = LK__CLAIM_WANTED;
    claim->renew_at = LK__NEVER;
    claim->alarm.fire = on_alarm;
    claim->place = place;
    place->refs++;
    place_link_last(claim);
    return claim;
}

/* False: no memory. */
static bool text_copy(char **ret, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return true;
    *ret = lk__strdup(text);
    return *ret != NULL;
}

const lk__terms *lk__claim_terms(const lk__claim *claim)
{
    static const lk__terms none;

    return claim->extra != NULL ? &claim->extra->terms : &none;
}

lk__extra *lk__claim_extra(lk__claim *claim)
{
    if (claim->extra == NULL)
        claim->extra = lk__alloc(sizeof(*claim->extra));
    return claim->extra;
}

const char *lk__claim_id(const lk__claim *claim)
{
    const lk_client *client = claim->place->client;
    char *text = lk__question_id(&client->work->question);

    _Static_assert((int)LK__NUMBERED_SIZE <= (int)LK__CLAIM_ID_SIZE,
                   "an id has room");
    lk__numbered_write(text, client->id, claim->entry.hash);
    return text;
}

const char *lk__claim_nonce(const lk__claim *claim, char text[LK__NONCE_SIZE])
{
    lk__digits_write_hex(text, claim->nonce);
    return text;
}

/* False: no memory. */
static bool extra_take(lk__claim *claim, const lk__wait *wait)
{
    const lk__terms *terms = &wait->terms;
    bool has_terms = terms->mode != NULL || terms->text != NULL ||
                     terms->need != 0 || terms->number != 0;

    if (!has_terms && wait->reason == NULL && wait->beside[0] == '\0')
        return true;
    if (lk__claim_extra(claim) == NULL)
        return false;
    claim->extra->terms = *terms;
    return text_copy(&claim->extra->reason, wait->reason) &&
           text_copy(&claim->extra->beside, wait->beside);
}

lk__claim *lk__claim_new(lk__place *place, const lk__wait *wait)
{
    lk__claim *claim =
        lk__claim_new_numbered(place, ++place->client->work->last_claim_number);

    if (claim == NULL)
        return NULL;
    claim->seek = lk__alloc(sizeof(*claim->seek));
    if (claim->seek == NULL || !extra_take(claim, wait)) {
        lk__claim_kill(claim);
        return NULL;
    }
    claim->seek->claim = claim;
    claim->seek->bound = LK__NEVER;
    claim->seek->spin = wait->spin;
    claim->lease_ms = wait->lease_ms;
    claim->watchdog = wait->watchdog;
    return claim;
}

void lk__claim_end_seeking(lk__claim *claim)
{
    if (claim->state != LK__CLAIM_HELD || lk__claim_is_looking(claim))
        return;
    lk__free(claim->seek);
    claim->seek = NULL;
}

lk__claim *lk__claim_ref(lk__claim *claim)
{
    claim->refs++;
    return claim;
}

static void extra_free(lk__extra *extra)
{
    if (extra == NULL)
        return;
    lk__free(extra->beside);
    lk__free(extra->reason);
    lk__free(extra);
}

void lk__claim_unref(lk__claim *claim)
{
    lk__place *place = claim->place;

    if (--claim->refs > 0)
        return;
    lk__free(claim->seek);
    lk__free(claim->pass);
    lk__free(claim->close);
    extra_free(claim->extra);
    lk__free(claim);
    lk__place_unref(place);
}

void lk__claim_kill(lk__claim *claim)
{
    lk_client *client = claim->place->client;

    if (claim->state == LK__CLAIM_DEAD)
        return;
    claim->state = LK__CLAIM_DEAD;
    lk__pace_drop(claim);
    lk__pace_done(claim);
    lk__alarm_clear(&client->alarms, &claim->alarm);
    lk__table_remove(&client->work->claims, &claim->entry);
    place_unlink(claim);
    if (claim->place->front == claim)
        claim->place->front = NULL;
    lk__claim_unref(claim);
}

/* ---- moving on ------------------------------------------------------------ */

lk_status lk__claim_send(lk__claim *claim, lk__request *request,
                         const lk__question *question)
{
    lk_status status;

    if (question == NULL)
        return LK_ENOMEM;
    status = lk__question_send(&claim->place->node->command, request, question);
    if (status == LK_OK)
        lk__claim_ref(claim);
    return status;
}

const lk__protocol *lk__claim_protocol(const lk__claim *claim)
{
    return claim->place->kind->protocol;
}

void lk__claim_answered(lk__claim *claim)
{
    lk__claim_unref(claim);
}

void lk__claim_drive(lk__claim *claim)
{
    switch ((lk__claim_state)claim->state) {
    case LK__CLAIM_QUEUED:
        if (claim->line == LK__LINE_OWN)
            lk__touch_later(claim->place, 0);
        else
            lk__claim_seek(claim);
        break;
    case LK__CLAIM_WANTED:
    case LK__CLAIM_UNSURE:
        lk__claim_seek(claim);
        break;
    case LK__CLAIM_RELEASING:
    case LK__CLAIM_PASSING:
    case LK__CLAIM_LEAVING:
        lk__claim_close(claim);
        break;
    case LK__CLAIM_HELD:
        lk__claim_arm(claim);
        break;
    case LK__CLAIM_FOREIGN:
    case LK__CLAIM_EXPORTED:
    case LK__CLAIM_LOST:
    case LK__CLAIM_DEAD:
        break;
    }
}

bool lk__claim_is_looking(const lk__claim *claim)
{
    return claim->seek != NULL && claim->seek->look.busy;
}

bool lk__claim_is_seeking(const lk__claim *claim)
{
    return claim->state == LK__CLAIM_WANTED ||
           claim->state == LK__CLAIM_QUEUED || claim->state == LK__CLAIM_UNSURE;
}

bool lk__claim_is_owned_by(const lk__claim *claim, uint64_t owner)
{
    const lk_hold *hold = claim->first_hold;

    while (hold != NULL && hold->owner != owner)
        hold = hold->next;
    return hold != NULL && lk__claim_is_valid(claim);
}

bool lk__claim_is_valid(const lk__claim *claim)
{
    return claim->state == LK__CLAIM_HELD &&
           lk__claim_is_valid_at(claim, lk__client_now(claim->place->client));
}

bool lk__claim_is_valid_at(const lk__claim *claim, uint64_t now)
{
    return claim->state == LK__CLAIM_HELD && now < lk__claim_deadline(claim);
}
