/* SPDX-License-Identifier: MIT */

/* `latchkey doctor --fleet`; see fleet.h. */

#include "cli/see/fleet.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Hosts that were seen: the first of them by name, borrowed of what was asked. */
typedef struct fleet {
    char self[256];
    const char *others[64];
    size_t count;
    bool knows_self;
} fleet;

static void see_host(fleet *f, const char *host)
{
    if (strcmp(host, f->self) == 0 || host[0] == '\0')
        return;
    for (size_t i = 0; i < f->count; i++) {
        if (strcmp(f->others[i], host) == 0)
            return;
    }
    if (f->count < sizeof(f->others) / sizeof(f->others[0]))
        f->others[f->count++] = host;
}

static void see_notes(fleet *f, const lk_events *notes)
{
    for (size_t i = 0; i < notes->count; i++) {
        f->knows_self |= strcmp(notes->entries[i]->host, f->self) == 0;
        see_host(f, notes->entries[i]->host);
    }
}

static void see_holders(fleet *f, const lk_listing *listing)
{
    for (size_t i = 0; i < listing->count; i++) {
        if (listing->entries[i]->holder != NULL)
            see_host(f, listing->entries[i]->holder->host);
    }
}

static void judge(const fleet *f, lk_check *check, char text[SEE_FLEET_SIZE])
{
    size_t used;

    if (f->count == 0) {
        check->level = LK_CHECK_WARN;
        (void)snprintf(text, SEE_FLEET_SIZE, "no other host was seen here");
        check->advice = "run `latchkey doctor --fleet` on another host, and "
                        "here again: hosts that do not see each other use "
                        "different servers";
        return;
    }
    used =
        (size_t)snprintf(text, SEE_FLEET_SIZE, "%zu other host%s: ", f->count,
                         f->count == 1 ? "" : "s");
    for (size_t i = 0; i < f->count && used < SEE_FLEET_SIZE; i++)
        used += (size_t)snprintf(text + used, SEE_FLEET_SIZE - used, "%s%s",
                                 i > 0 ? ", " : "", f->others[i]);
}

lk_status see_fleet_check(const cli *c, lk_client *client, lk_check *check,
                          char text[SEE_FLEET_SIZE])
{
    fleet f = {.count = 0};
    lk_events *notes = NULL;
    lk_listing *listing = NULL;
    lk_status status;

    *check = (lk_check){.id = "fleet", .text = text, .advice = ""};
    if (c->is_local) {
        check->level = LK_CHECK_FAIL;
        check->text = "it is the private server: no other host can use it";
        check->advice = "set LATCHKEY_URL, or url in /etc/latchkey/config";
        return LK_OK;
    }
    if (gethostname(f.self, sizeof(f.self) - 1) != 0)
        return LK_ENOTSUP;
    status = lk_events_get(client, SEE_WAIT_MS, SEE_FLEET_NAME, &notes);
    if (status == LK_OK)
        status = lk_list(client, SEE_WAIT_MS, NULL, &listing);
    if (status == LK_OK) {
        see_notes(&f, notes);
        see_holders(&f, listing);
        judge(&f, check, text);
    }
    /* Once for each host: the server keeps the last few. */
    if (status == LK_OK && !f.knows_self)
        status = lk_event_note(client, SEE_FLEET_NAME, "here",
                               lk_client_id(client), "");
    lk_listing_free(listing);
    lk_events_free(notes);
    return status;
}
