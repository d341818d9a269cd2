/* SPDX-License-Identifier: MIT */

#include "cli/connect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/local/local.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/password.h"

/* A try is longer than one attempt to connect, so that it can tell its reason. */
enum { OFFLINE_MS = 5000, TRY_MS = 3000, LEAST_MS = 1000 };

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

/* A user who did not ask for a private server has to know that it is one. */
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

/* Whether a canonical URL's scheme ends so. */
static bool is_of(const char *url, const char *ending)
{
    size_t size = strcspn(url, ":");

    return size > strlen(ending) &&
           strncmp(url + size - strlen(ending), ending, strlen(ending)) == 0;
}

/* What is said of TLS beside the URL, for a URL that asks for it. One that says
   the option or the other has settled the matter: its folder of CAs is all that
   is trusted, and the key of its certificate is its own affair. */
static const struct {
    const char *key, *option, *other;
} tls_settings[] = {{"tls-ca-file", "tls_ca_file", "tls_ca_dir"},
                    {"tls-cert-file", "tls_cert_file", "tls_key_file"},
                    {"tls-key-file", "tls_key_file", "tls_cert_file"}};

enum { TLS_SETTINGS = sizeof(tls_settings) / sizeof(tls_settings[0]) };

/* One of them, unless the URL says it. 0, or has complained. */
static int
tls_set(const cli *c, size_t i, lk_client_options *options, cli_value *value)
{
    int code;

    if (cli_url_option(c, tls_settings[i].option) != NULL ||
        cli_url_option(c, tls_settings[i].other) != NULL)
        return 0;
    code = cli_setting_find(c, tls_settings[i].key, NULL, value);
    if (code != 0 || strcmp(value->from, "default") == 0)
        return code;
    if (lk_client_options_set(options, tls_settings[i].option, value->text) ==
        LK_OK)
        return 0;
    return cli_fail(c, CLI_CONFIG, "%s: %s", value->from, lk_last_error());
}

/* The options borrow the values. 0, or has complained. */
static int tls_fill(const cli *c, lk_client_options *options,
                    cli_value values[TLS_SETTINGS])
{
    char text[LK_URL_DESCRIPTION_SIZE];
    int code = 0;

    if (strncmp(cli_server_words(c, text, sizeof(text)), "rediss",
                strlen("rediss")) != 0)
        return 0;
    for (size_t i = 0; i < TLS_SETTINGS && code == 0; i++)
        code = tls_set(c, i, options, &values[i]);
    return code;
}

/* Whether the URL has a password, which stands in front of the host as ***. */
static bool has_password(const cli *c)
{
    char text[LK_URL_DESCRIPTION_SIZE];
    const char *login = strstr(cli_server_words(c, text, sizeof(text)), "://");
    size_t size;

    if (login == NULL)
        return false;
    login += strlen("://");
    size = strcspn(login, "@/?");
    return login[size] == '@' && size >= strlen(":***") &&
           strncmp(login + size - strlen(":***"), ":***", strlen(":***")) == 0;
}

/* The field borrows the value. 0, or has complained. */
static int password_set(cli *c, cli_password_kind kind, const char **field,
                        cli_value *value)
{
    int code = cli_password_find(c, kind, value);

    if (code != 0 || value->text == NULL)
        return code;
    *field = value->text;
    free(c->passwords_from[kind]);
    c->passwords_from[kind] = strdup(value->from);
    return c->passwords_from[kind] != NULL
               ? 0
               : cli_fail(c, CLI_INTERNAL, "out of memory");
}

/* The private server has no password. 0, or has complained. */
static int passwords_fill(cli *c, lk_client_options *options,
                          cli_value values[CLI_PASSWORDS])
{
    char text[LK_URL_DESCRIPTION_SIZE];
    int code = 0;

    if (!c->is_local && !has_password(c))
        code = password_set(c, CLI_PASSWORD_SERVER, &options->password,
                            &values[CLI_PASSWORD_SERVER]);
    if (code == 0 && cli_url_option(c, "sentinel_password") == NULL &&
        is_of(cli_server_words(c, text, sizeof(text)), "+sentinel"))
        code =
            password_set(c, CLI_PASSWORD_SENTINELS, &options->sentinel_password,
                         &values[CLI_PASSWORD_SENTINELS]);
    return code;
}

static void on_log(lk_log_level level, const char *text, void *data)
{
    static const char *const words[] = {"", "error", "warning", "info",
                                        "debug"};

    const cli *c = data;
    char clean[2048];
    cli_log log;

    if (!c->logs_json)
        (void)fprintf(stderr, "latchkey: %s: %s\n", words[level],
                      cli_clean(clean, sizeof(clean), text));
    else if (cli_log_begin(&log, c, words[level])) {
        cli_json_text(&log.json, "message", text);
        cli_json_null(&log.json, "advice");
        cli_log_end(&log);
    }
}

/* What the command wants, as far as the URL does not say it, and the log. */
static lk_client_options
options_make(const cli *c, const lk_client_options *more)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT};

    if (more != NULL)
        options = *more;
    if (cli_url_option(c, "name") != NULL)
        options.name = NULL;
    if (cli_url_option(c, "offline_ms") != NULL)
        options.offline_ms = 0;
    if (c->verbose) {
        options.log = on_log;
        options.log_data = (void *)(uintptr_t)c;
    }
    if (c->verbose && cli_url_option(c, "log_level") == NULL)
        options.log_level = LK_LOG_INFO;
    return options;
}

int cli_client_of_url(cli *c, const lk_client_options *more,
                      lk_client **ret_client)
{
    lk_client_options options = options_make(c, more);
    cli_value values[TLS_SETTINGS] = {{NULL, NULL}};
    cli_value passwords[CLI_PASSWORDS] = {{NULL, NULL}};
    lk_status status = LK_OK;
    int code = tls_fill(c, &options, values);

    if (code == 0)
        code = passwords_fill(c, &options, passwords);
    if (code == 0)
        status = lk_client_open(ret_client, c->resolved_url, &options);
    for (size_t i = 0; i < CLI_PASSWORDS; i++)
        cli_value_done(&passwords[i]);
    for (size_t i = 0; i < TLS_SETTINGS; i++)
        cli_value_done(&values[i]);
    return code != 0 || status == LK_OK
               ? code
               : cli_fail_url(c, status, c->resolved_from);
}

int cli_client_open(cli *c, const lk_client_options *more,
                    lk_client **ret_client)
{
    int code = cli_url(c);

    if (code == 0 && c->is_local)
        code = start_local(c);
    return code == 0 ? cli_client_of_url(c, more, ret_client) : code;
}

void cli_client_name(char *text, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *program = slash != NULL ? slash + 1 : path;

    (void)snprintf(text, size, "%s", program[0] != '\0' ? program : "latchkey");
    for (char *at = text; *at != '\0'; at++) {
        if (*at < '!' || *at > '~')
            *at = '_';
    }
}
