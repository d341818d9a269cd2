/* SPDX-License-Identifier: MIT */

#include "cli/connect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/local.h"
#include "cli/output.h"

enum { OFFLINE_MS = 5000, TRY_MS = 2000, LEAST_MS = 1000 };

static int use_local(cli *c)
{
    cli_local local;
    int code = cli_local_find(c, &local);

    free(c->resolved_url);
    c->resolved_url = code == 0 ? cli_local_url(&local) : NULL;
    if (code == 0 && c->resolved_url == NULL)
        return cli_fail(c, CLI_INTERNAL, "out of memory");
    c->is_local = code == 0;
    return code;
}

int cli_url(cli *c)
{
    cli_value url;
    int code;

    if (c->resolved_url != NULL)
        return 0;
    code = cli_setting_find(c, "url", c->url, &url);
    if (code != 0)
        return code;
    if (strcmp(url.text, "none") == 0) {
        code = cli_fail(c, CLI_CONFIG,
                        "no server is configured, and %s forbids the private "
                        "one\n  set LATCHKEY_URL or --url",
                        url.from);
        cli_value_done(&url);
        return code;
    }
    c->resolved_url = url.text;
    c->resolved_from = url.from;
    return strcmp(url.text, "local:") == 0 ? use_local(c) : 0;
}

/* Who did not ask for a private server has to know that it is one. */
static int start_local(const cli *c)
{
    bool is_default = strcmp(c->resolved_from, "default") == 0;
    bool is_new = false;
    cli_local local;
    int code = cli_local_find(c, &local);

    if (code == 0)
        code = cli_local_start(c, &local, &is_new);
    /* --quiet does not hide that others are not excluded. */
    if (code == 0 && is_default)
        code = cli_fail(c, 0,
                        "no server is configured: using a private one, for "
                        "this user on this machine only: unix:%s",
                        local.socket);
    else if (code == 0 && is_new)
        cli_note(c,
                 "started a private server, for this user on this machine "
                 "only: unix:%s",
                 local.socket);
    return code;
}

const char *cli_server_words(const cli *c, char *text, size_t size)
{
    if (c->resolved_url == NULL ||
        lk_url_describe(c->resolved_url, text, size) != LK_OK)
        (void)snprintf(text, size, "the server");
    return text;
}

/* ---- what the URL says -------------------------------------------------- */

const char *cli_url_option(const cli *c, const char *key)
{
    static char text[LK_URL_DESCRIPTION_SIZE];
    const size_t size = strlen(key);
    char *rest;
    char *one;

    /* A question mark in front of the options is percent-encoded there. */
    rest = strchr(cli_server_words(c, text, sizeof(text)), '?') != NULL
               ? strchr(text, '?') + 1
               : NULL;
    while ((one = strsep(&rest, "&")) != NULL) {
        if (strncmp(one, key, size) == 0 && one[size] == '=')
            return one + size + 1;
    }
    return NULL;
}

int64_t cli_url_ms(const cli *c, const char *key)
{
    const char *said = cli_url_option(c, key);

    return said != NULL ? strtoll(said, NULL, 10) : 0;
}

/* ---- the client --------------------------------------------------------- */

int64_t cli_connect_ms(const cli *c, int64_t wait_ms)
{
    int64_t said = cli_url_ms(c, "offline_ms");
    int64_t limit = said != 0 ? said : OFFLINE_MS;

    if (wait_ms == 0)
        wait_ms = TRY_MS;
    else if (wait_ms > 0 && wait_ms < LEAST_MS)
        wait_ms = LEAST_MS;
    return wait_ms < 0 || wait_ms > limit ? limit : wait_ms;
}

lk_status cli_client_judge(lk_client *client, lk_status status)
{
    lk_status ready;

    if (status != LK_ETIMEDOUT && status != LK_EOFFLINE)
        return status;
    ready = lk_client_wait_ready(client, 0);
    if (ready == LK_OK)
        return status;
    return ready == LK_ETIMEDOUT ? LK_EOFFLINE : ready;
}

static void on_log(lk_log_level level, const char *text, void *data)
{
    static const char *const words[] = {"", "error", "warning", "info",
                                        "debug"};

    char clean[2048];

    (void)data;
    (void)fprintf(stderr, "latchkey: %s: %s\n", words[level],
                  cli_clean(clean, sizeof(clean), text));
}

int cli_client_open(cli *c, const lk_client_options *more,
                    lk_client **ret_client)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT};
    lk_status status;
    int code = cli_url(c);

    if (code == 0 && c->is_local)
        code = start_local(c);
    if (code != 0)
        return code;
    if (more != NULL)
        options = *more;
    if (cli_url_option(c, "name") != NULL)
        options.name = NULL;
    if (cli_url_option(c, "offline_ms") != NULL)
        options.offline_ms = 0;
    if (c->verbose)
        options.log = on_log;
    if (c->verbose && cli_url_option(c, "log_level") == NULL)
        options.log_level = LK_LOG_INFO;
    status = lk_client_open(ret_client, c->resolved_url, &options);
    if (status == LK_OK)
        return 0;
    return cli_fail_url(c, status, c->resolved_from);
}
