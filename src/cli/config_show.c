/* SPDX-License-Identifier: MIT */

/* `latchkey config`: what is set, and who says so. */

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/json.h"
#include "cli/password.h"
#include "cli/see/see.h"
#include "cli/view.h"

typedef struct choices {
    bool explains;
} choices;

static const cli_option options[] = {
    {CLI_FLAG, 0, "explain", offsetof(choices, explains), NULL,
     "tell where each value came from", 0},
    {.kind = CLI_END},
};

/* A URL may hold a password: nothing of one that is not understood is shown. */
static const char *
show_text(const cli_setting *setting, const char *text, char *room, size_t size)
{
    if (strcmp(setting->key, "url") != 0 || strcmp(text, "local:") == 0 ||
        strcmp(text, "none") == 0)
        return text;
    return lk_url_describe(text, room, size) == LK_OK
               ? room
               : "(not understood: see `latchkey config url`)";
}

/* What is told of a setting. */
typedef struct told {
    const char *key, *value, *from, *help;
} told;

static const cli_field fields[] = {
    {"key", CLI_UNIT_STRING, offsetof(told, key), 0},
    {"value", CLI_UNIT_STRING, offsetof(told, value), 1},
    {"from", CLI_UNIT_STRING, offsetof(told, from), 1},
    {"help", CLI_UNIT_STRING, offsetof(told, help), 0},
    {.key = NULL},
};

static void put(const cli *c, cli_json *json, const cli_setting *setting,
                const char *text, const char *from, bool explains)
{
    const told t = {setting->key, text, from, setting->help};
    see_page page;
    FILE *to;

    if (c->json) {
        cli_json_record(json, setting->key, fields, 1, &t);
        return;
    }
    cli_put_view(stdout, "{key} = {value}\n", fields, &t);
    if (!explains)
        return;
    to = see_page_begin(&page, c, stdout);
    cli_put_view(to, "    from {from}\n    {help}\n", fields, &t);
    see_page_end(&page);
}

static int
show(const cli *c, cli_json *json, const cli_setting *setting, bool explains)
{
    char room[LK_URL_DESCRIPTION_SIZE];
    const char *given = strcmp(setting->key, "url") == 0 ? c->url : NULL;
    cli_value value;
    int code = cli_setting_find(c, setting->key, given, &value);

    if (code != 0)
        return code;
    put(c, json, setting, show_text(setting, value.text, room, sizeof(room)),
        value.from, explains);
    cli_value_done(&value);
    return 0;
}

/* What is no setting, since a file cannot say it. */
static int show_profile(const cli *c, cli_json *json, bool explains)
{
    static const cli_setting profile =
        {.key = "profile", .help = "the section of the files that is chosen"};
    const char *name;
    const char *from;
    int code = cli_profile(c, &name, &from);

    if (code == 0)
        put(c, json, &profile, name != NULL ? name : "none",
            name != NULL ? from : "default", explains);
    return code;
}

/* Nor is a password: a file of settings may be for everybody to read. */
static int show_password(const cli *c, cli_password_kind kind, cli_json *json,
                         bool explains)
{
    static const cli_setting passwords[CLI_PASSWORDS] =
        {[CLI_PASSWORD_SERVER] = {.key = "password",
                                  .help =
                                      "of the server, where the URL has none"},
         [CLI_PASSWORD_SENTINELS] = {.key = "sentinel-password",
                                     .help = "of the sentinels, where the URL "
                                             "has none"}};
    cli_value value;
    int code = cli_password_find(c, kind, &value);

    if (code != 0)
        return code;
    put(c, json, &passwords[kind], value.text != NULL ? "***" : "none",
        value.text != NULL ? value.from : "default", explains);
    cli_value_done(&value);
    return 0;
}

static int run(cli *c, int argc, char **argv)
{
    choices chosen = {false};
    cli_json json = {.to = stdout};
    cli_args args;
    int code = 0;

    cli_parse(c, argc, argv, &chosen, &args);
    if (args.operand_count == 1 && strcmp(args.operands[0], "url") != 0)
        cli_usage(c, "`config url` shows the server alone, `config` all");
    if (args.operand_count == 1)
        return cli_url_show(c);
    if (c->json)
        cli_json_open(&json, NULL, '{');
    for (const cli_setting *setting = cli_settings;
         code == 0 && setting->key != NULL; setting++)
        code = show(c, &json, setting, chosen.explains);
    if (code == 0)
        code = show_profile(c, &json, chosen.explains);
    for (int i = 0; code == 0 && i < CLI_PASSWORDS; i++)
        code = show_password(c, (cli_password_kind)i, &json, chosen.explains);
    if (c->json) {
        cli_json_close(&json, '}');
    }
    return code;
}

const cli_command cli_command_config = {
    .name = "config",
    .group = CLI_SETUP,
    .summary = "show the settings in use, and where each comes from",
    .examples = "  latchkey config --explain\n"
                "  latchkey config url              the server, without its "
                "password",
    .usage = "[--explain] [url]",
    .about =
        "For each setting the first of these counts: its option, its\n"
        "environment variables, the profile that --profile or\n"
        "LATCHKEY_PROFILE chooses, the user's file, the system's file, the\n"
        "default. A file has to be yours or root's, and nobody else may\n"
        "write to it. Passwords are not shown.\n"
        "\n"
        "`config url` shows how the URL is understood that every command\n"
        "would use, in one spelling; on a terminal also what it means, unless\n"
        "--quiet says not to. It talks to nobody.\n"
        "\n"
        "  redis://host                     port 6379, database 0\n"
        "  redis://host:6380/2              another port and database\n"
        "  redis://:PASSWORD@host           with a password\n"
        "  redis://USER:PASSWORD@host       with an ACL user\n"
        "  unix:/run/redis.sock?db=2        a unix socket\n"
        "  redis://host?offline_ms=10s      with an option\n"
        "  rediss://host                    with TLS: the server's\n"
        "                                   certificate has to be for host\n"
        "  rediss://host?tls_ca_file=FILE   and from a CA in this file\n"
        "  ...&tls_cert_file=FILE           with a certificate of our own;\n"
        "                                   tls_key_file=FILE has its key\n"
        "  redis+sentinel://s1,s2,s3/NAME   the master NAME, as a majority of\n"
        "                                   these sentinels names it;\n"
        "                                   host:port, and a database behind\n"
        "                                   NAME, /2, where need be\n"
        "  rediss+sentinel://s1,s2,s3/NAME  the same with TLS to all of them\n"
        "  ...?sentinel_user=USER           a user of the sentinels;\n"
        "                                   sentinel_password=PASSWORD\n"
        "  redis+cluster://n1,n2,n3         the cluster of these nodes\n"
        "  rediss+cluster://n1,n2,n3        the same with TLS to all of them\n"
        "  local:                           the private server\n"
        "\n"
        "Where the URL has no password, it is LATCHKEY_PASSWORD's, else that\n"
        "of the file which LATCHKEY_PASSWORD_FILE or the setting\n"
        "`password-file` names, else REDISCLI_AUTH's. A user goes with it:\n"
        "redis://USER:@host. The sentinels' comes from the URL, else from\n"
        "LATCHKEY_SENTINEL_PASSWORD, else from the file which\n"
        "LATCHKEY_SENTINEL_PASSWORD_FILE or `sentinel-password-file` names.\n"
        "\n"
        "share/doc/latchkey/tls.md has the rest of TLS, sentinel.md that of\n"
        "Sentinel, cluster.md that of Redis Cluster.",
    .options = options,
    .operands_max = 1,
    .run = run,
};
