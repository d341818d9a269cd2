/* SPDX-License-Identifier: MIT */

#include "cli/connect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"

int cli_url(cli *c)
{
    cli_value url;
    int code;

    if (c->resolved_url != NULL)
        return 0;
    code = cli_setting_find(c, "url", c->url, &url);
    if (code != 0)
        return code;
    if (url.text == NULL)
        return cli_fail(c, CLI_CONFIG,
                        "no server is configured\n"
                        "  set LATCHKEY_URL, for example to "
                        "redis://127.0.0.1:6379, or say --url");
    c->resolved_url = url.text;
    c->resolved_from = url.from;
    return 0;
}

static void on_log(lk_log_level level, const char *text, void *data)
{
    static const char *const words[] = {"", "error", "warning", "info",
                                        "debug"};

    (void)data;
    (void)fprintf(stderr, "latchkey: %s: %s\n", words[level], text);
}

int cli_client_open(cli *c, const lk_client_options *more,
                    lk_client **ret_client)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT};
    lk_status status;
    int code = cli_url(c);

    if (code != 0)
        return code;
    if (more != NULL)
        options = *more;
    if (c->verbose && options.log == NULL) {
        options.log = on_log;
        options.log_level = LK_LOG_INFO;
    }
    status = lk_client_open(ret_client, c->resolved_url, &options);
    if (status == LK_OK)
        return 0;
    return cli_fail(c, cli_status_exit(status), "the URL of %s: %s",
                    c->resolved_from, lk_last_error());
}
