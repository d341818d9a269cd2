/* SPDX-License-Identifier: MIT */

/* The memory of a list of names; see listing.h. */

#include "inspect/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIND(type, entry)                                                      \
    ((type *)(void *)((char *)(entry)-offsetof(type, link)))

lk__names *lk__names_new(void)
{
    return lk__alloc(sizeof(lk__names));
}

void lk__names_free(lk__names *names)
{
    lk__lister_client *client;

    if (names == NULL)
        return;
    for (size_t i = 0; i < names->count; i++) {
        lk__free(names->all[i]->owner);
        lk__free(names->all[i]->reason);
        lk__free(names->all[i]);
    }
    while ((client = names->first_client) != NULL) {
        names->first_client = client->next;
        lk__free(client->text);
        lk__free(client);
    }
    lk__table_done(&names->by_name);
    lk__table_done(&names->clients);
    lk__free(names->all);
    lk__free(names->entries);
    lk__free(names->missing);
    lk__free(names);
}

void lk_listing_free(lk_listing *listing)
{
    lk__names_free((lk__names *)(void *)listing);
}

/* ---- names ------------------------------------------------------------------ */

static bool make_room(lk__names *names)
{
    size_t room = names->room == 0 ? 256 : names->room * 2;
    lk__lister_name **all;

    if (names->count < names->room)
        return true;
    all = lk__realloc(names->all, room * sizeof(lk__lister_name *));
    if (all == NULL)
        return false;
    names->all = all;
    names->room = room;
    return true;
}

static lk__lister_name *
find(const lk__names *names, const char *name, uint64_t hash)
{
    for (lk__entry *at = lk__table_find(&names->by_name, hash); at != NULL;
         at = lk__table_find_next(at)) {
        lk__lister_name *found = FIND(lk__lister_name, at);

        if (strcmp(found->name, name) == 0)
            return found;
    }
    return NULL;
}

lk__lister_name *lk__names_get(lk__names *names, const char *name, size_t size,
                               uint64_t limit, bool *ret_full)
{
    lk__lister_name *made = lk__alloc(sizeof(*made) + size + 1);
    lk__lister_name *found;
    uint64_t hash;

    *ret_full = false;
    if (made == NULL)
        return NULL;
    memcpy(made->name, name, size);
    hash = lk__table_hash(made->name);
    found = find(names, made->name, hash);
    if (found == NULL && names->count >= limit)
        *ret_full = true;
    if (found != NULL || *ret_full || !make_room(names) ||
        !lk__table_add(&names->by_name, &made->link, hash)) {
        lk__free(made);
        return found;
    }
    made->entry.name = made->name;
    names->all[names->count++] = made;
    return made;
}

/* ---- clients ---------------------------------------------------------------- */

lk__lister_client *
lk__names_client(lk__names *names, const char *owner, bool *ret_is_new)
{
    lk__lister_client *client;
    char id[LK__CLIENT_ID_SIZE + 1];
    uint64_t hash;

    snprintf(id, sizeof(id), "%s", owner);
    hash = lk__table_hash(id);
    *ret_is_new = false;
    for (lk__entry *at = lk__table_find(&names->clients, hash); at != NULL;
         at = lk__table_find_next(at)) {
        client = FIND(lk__lister_client, at);
        if (strcmp(client->id, id) == 0)
            return client;
    }

    client = lk__alloc(sizeof(*client));
    if (client == NULL)
        return NULL;
    memcpy(client->id, id, sizeof(id));
    if (!lk__table_add(&names->clients, &client->link, hash)) {
        lk__free(client);
        return NULL;
    }
    client->next = names->first_client;
    names->first_client = client;
    *ret_is_new = true;
    return client;
}

/* ---- the end ----------------------------------------------------------------- */

static void party_finish(lk__lister_name *name)
{
    lk_party *party = &name->party;
    const lk__record *record =
        name->client != NULL && name->client->text != NULL
            ? &name->client->record
            : NULL;

    party->owner = name->owner;
    party->reason = name->reason != NULL ? name->reason : "";
    party->host = record != NULL ? record->host : "";
    party->pid = record != NULL ? strtoull(record->pid, NULL, 10) : 0;
    party->command = record != NULL ? record->command : "";
    party->user = record != NULL ? record->user : "";
    party->name = record != NULL ? record->name : "";
    party->near = record != NULL && name->client->is_near;
    party->waits_for = "";
    name->entry.holder = party;
}

lk_status lk__names_finish(lk__names *names, char *missing)
{
    lk_listing *listing = &names->listing;

    names->missing = missing;
    listing->missing = missing;

    names->entries = lk__alloc((names->count + 1) * sizeof(const lk_entry *));
    if (names->entries == NULL)
        return LK_ENOMEM;
    listing->entries = names->entries;
    for (size_t i = 0; i < names->count; i++) {
        if (!names->all[i]->is_used)
            continue;
        if (names->all[i]->owner != NULL)
            party_finish(names->all[i]);
        names->entries[listing->count++] = &names->all[i]->entry;
    }
    return LK_OK;
}
