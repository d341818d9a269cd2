/* SPDX-License-Identifier: MIT */

#include "cli/ended.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/see/see.h"

typedef struct ended {
    char revoked[96]; /* the owner, where it is still there, to be given back */
    char by[256];     /* who has ended it; "" where that is not known */
    char now[SEE_HELD_SIZE + 16]; /* who holds the name now; "": not known */
} ended;

/* Whether a text is of this owner, whose id is one of its words. */
static bool is_of(const char *text, const char *owner)
{
    const size_t size = strlen(owner);

    for (const char *at = text; size > 0 && (at = strstr(at, owner)) != NULL;
         at++) {
        if (at > text && at[-1] == ' ' && at[size] == ' ')
            return true;
    }
    return false;
}

/* The last break of this hold counts. */
static void
ask_log(ended *it, lk_client *client, const char *name, const char *text)
{
    lk_events *events;
    char host[96];
    char user[96];

    if (lk_events_get(client, SEE_WAIT_MS, name, &events) != LK_OK)
        return;
    for (size_t i = 0; i < events->count; i++) {
        const lk_event *event = events->entries[i];

        if (is_of(text, event->owner))
            (void)snprintf(it->by, sizeof(it->by), "user %s on %s",
                           cli_clean(user, sizeof(user), event->user),
                           cli_clean(host, sizeof(host), event->host));
    }
    lk_events_free(events);
}

static void tell_holders(ended *it, const lk_info *info, const char *text)
{
    char held[SEE_HELD_SIZE];

    for (size_t i = 0; i < info->holder_count; i++) {
        const lk_party *holder = info->holders[i];

        if (holder->revoked && is_of(text, holder->owner))
            (void)snprintf(it->revoked, sizeof(it->revoked), "%s",
                           holder->owner);
    }
    if (info->holder_count == 0) {
        (void)snprintf(it->now, sizeof(it->now), "; nobody holds it now");
        return;
    }
    see_held_words(held, info, "");
    (void)snprintf(it->now, sizeof(it->now), "; held now by %s", held);
}

static void
ask_holders(ended *it, lk_client *client, const char *name, const char *text)
{
    const lk_info none = {.holder_count = 0};
    lk_kind kind;
    lk_info *info = NULL;
    lk_status status = lk_who(client, name, &kind, &info);

    if (status == LK_OK)
        tell_holders(it, info, text);
    else if (status == LK_ENOTHELD)
        tell_holders(it, &none, text);
    lk_info_free(info);
}

/* Now it has stopped, which is what the server waits for. */
static int give_back(const struct cli *c, lk_client *client, const ended *it,
                     const char *noun, const char *name)
{
    char shown[128];
    lk_status status = lk_break(client, name, it->revoked);

    if (status != LK_OK && status != LK_ENOTHELD)
        return cli_fail_status(c, status, name);
    return cli_fail(c, CLI_LOST,
                    "%s '%s' was revoked by an operator before; it is given "
                    "back now",
                    noun, cli_clean(shown, sizeof(shown), name));
}

int cli_ended_fail(const struct cli *c, lk_client *client, const char *noun,
                   const char *name, const char *text, bool gives_back)
{
    ended it = {.revoked = ""};
    char shown[128];

    ask_log(&it, client, name, text);
    ask_holders(&it, client, name, text);
    if (it.revoked[0] != '\0' && gives_back)
        return give_back(c, client, &it, noun, name);
    (void)cli_clean(shown, sizeof(shown), name);
    if (it.revoked[0] != '\0')
        return cli_fail(c, CLI_LOST,
                        "an operator has revoked this hold of %s '%s'\n"
                        "  `latchkey release` gives it back: others wait for "
                        "that, or for the end of its lease",
                        noun, shown);
    if (it.by[0] != '\0')
        return cli_fail(c, CLI_LOST,
                        "an operator has ended this hold of %s '%s': %s%s",
                        noun, shown, it.by, it.now);
    return cli_fail(c, CLI_LOST,
                    "this hold of %s '%s' has ended: released or renewed "
                    "before, taken over by a program, ended by an operator, or "
                    "its lease is over%s",
                    noun, shown, it.now);
}
