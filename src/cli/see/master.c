/* SPDX-License-Identifier: MIT */

/* Where the master is that sentinels name. */

#include <inttypes.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/see/see.h"

static bool get(lk_client *client, lk_master *ret_master)
{
    *ret_master = (lk_master){.size = sizeof(*ret_master)};
    return lk_master_get(client, ret_master) == LK_OK;
}

bool see_master_words(char text[SEE_MASTER_SIZE], lk_client *client)
{
    char name[SEE_MASTER_SIZE / 2], address[SEE_MASTER_SIZE / 4];
    lk_master master;

    if (!get(client, &master))
        return false;
    (void)cli_clean(name, sizeof(name), master.name);
    if (master.address[0] == '\0')
        (void)snprintf(text, SEE_MASTER_SIZE,
                       "master %s: %" PRIu64 " of %" PRIu64
                       " sentinels answer, too few of them name one",
                       name, master.answering, master.sentinels);
    else
        (void)snprintf(text, SEE_MASTER_SIZE,
                       "master %s at %s, named by %" PRIu64 " of %" PRIu64
                       " sentinels",
                       name,
                       cli_clean(address, sizeof(address), master.address),
                       master.naming, master.sentinels);
    return true;
}

void see_put_master(const cli *c, FILE *to, const char *indent,
                    lk_client *client)
{
    char words[SEE_MASTER_SIZE];
    see_page page;
    FILE *on;

    if (!see_master_words(words, client))
        return;
    on = see_page_begin(&page, c, to);
    (void)fprintf(on, "%s%s\n", indent, words);
    see_page_end(&page);
}

void see_json_master(cli_json *json, lk_client *client)
{
    lk_master master;

    if (!get(client, &master)) {
        cli_json_null(json, "master");
        return;
    }
    cli_json_open(json, "master", '{');
    cli_json_text(json, "name", master.name);
    cli_json_words(json, "address", master.address);
    cli_json_count(json, "sentinels", master.sentinels);
    cli_json_count(json, "answering", master.answering);
    cli_json_count(json, "naming", master.naming);
    cli_json_close(json, '}');
}
