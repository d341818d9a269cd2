/* SPDX-License-Identifier: MIT */

/* Channels and what they are called. */

#include "claims/channel.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/slot.h"
#include "claims/node.h"
#include "shared_table.h"

/* Takes the name, which may be NULL, and what is to stand behind it. */
static bool
take(lk__channel *channel, char *name, const char *rest, unsigned slot)
{
    size_t size = name == NULL ? 0 : strlen(name) + strlen(rest) + 2;

    channel->text = name == NULL ? NULL : lk__alloc(size);
    if (channel->text != NULL) {
        snprintf(channel->text, size, "+%s%s", name, rest);
        channel->is_inside =
            lk__slot_of(channel->text + 1, strlen(channel->text) - 1) == slot;
    }
    lk__free(name);
    return channel->text != NULL;
}

bool lk__channel_make(lk__channel *channel, const char *form, const char *name,
                      unsigned slot)
{
    return take(channel, lk__key_make(form, name), "", slot);
}

bool lk__channel_make_inbox(lk__channel *channel, const char *name,
                            unsigned slot, const char *client_id)
{
    char rest[80];

    snprintf(rest, sizeof(rest), ":%s", client_id);
    return take(channel, lk__key_make(LK__FORM_INBOX_HERE, name), rest, slot);
}

void lk__channel_done(lk__channel *channel)
{
    lk__free(channel->text);
    channel->text = NULL;
}

const char *lk__channel_name(const lk__channel *channel)
{
    return channel->text + 1;
}

bool lk__channel_is_sharded(const lk__channel *channel,
                            const struct lk__node *node)
{
    return channel->is_inside && lk__node_has_shards(node);
}

const char *
lk__channel_told(const lk__channel *channel, const struct lk__node *node)
{
    return channel->text + (lk__channel_is_sharded(channel, node) ? 0 : 1);
}

bool lk__channel_is_inbox(const char *name, const char *client_id)
{
    static const char before[] = LK__FORM_INBOX_HERE ":";
    size_t size = strlen(name), tail = strlen(client_id);
    size_t length = sizeof(before) - 1;

    return size > tail + length && strcmp(name + size - tail, client_id) == 0 &&
           memcmp(name + size - tail - length, before, length) == 0;
}
