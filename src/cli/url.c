/* SPDX-License-Identifier: MIT */

/* `latchkey config url`: which server, as it was understood. */

#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/connect.h"
#include "cli/json.h"
#include "cli/see/see.h"
#include "cli/url_words.h"

/* For people: a program reads the URL alone, `url=$(latchkey config url)`. */
static void explain(const cli *c, const char *url)
{
    see_page page;
    FILE *to;

    if (c->quiet || isatty(STDOUT_FILENO) == 0)
        return;
    to = see_page_begin(&page, c, stdout);
    cli_url_words(to, url);
    see_page_end(&page);
}

int cli_url_show(cli *c)
{
    char text[LK_URL_DESCRIPTION_SIZE];
    lk_status status;
    int code = cli_url(c);

    if (code != 0)
        return code;
    status = lk_url_describe(c->resolved_url, text, sizeof(text));
    if (status != LK_OK)
        return cli_fail_url(c, status, c->resolved_from);
    if (c->json) {
        cli_json json = {.to = stdout};

        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "url", text);
        cli_json_text(&json, "from", c->resolved_from);
        cli_json_close(&json, '}');
    } else {
        (void)printf("%s\n", text);
        explain(c, text);
    }
    return CLI_OK;
}
