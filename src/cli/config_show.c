/* SPDX-License-Identifier: MIT */

/* `latchkey config`: what is set, and who says so. */

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/password.h"
#include "cli/see/see.h"

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
               : "(not understood: see `latchkey url`)";
}

static void put_plain(const cli *c, const cli_setting *setting,
                      const char *text, const char *from, bool explains)
{
    see_page page;
    FILE *to;

    (void)printf("%s = ", setting->key);
    cli_put_clean(stdout, text);
    (void)fputc('\n', stdout);
    if (!explains)
        return;
    to = see_page_begin(&page, c, stdout);
    (void)fputs("    from ", to);
    cli_put_clean(to, from);
    (void)fprintf(to, "\n    %s\n", setting->help);
    see_page_end(&page);
}

static void put_json(cli_json *json, const cli_setting *setting,
                     const char *text, const char *from)
{
    cli_json_open(json, setting->key, '{');
    cli_json_text(json, "value", text);
    cli_json_text(json, "from", from);
    cli_json_close(json, '}');
}

static void put(const cli *c, cli_json *json, const cli_setting *setting,
                const char *text, const char *from, bool explains)
{
    if (c->json)
        put_json(json, setting, text, from);
    else
        put_plain(c, setting, text, from, explains);
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
        cli_json_line(&json);
    }
    return code;
}

const cli_command cli_command_config = {
    .name = "config",
    .summary = "show what is configured, and who says so",
    .usage = "[--explain]",
    .about =
        "For each setting the first of these counts: its option, its\n"
        "environment variables, the profile that --profile or\n"
        "LATCHKEY_PROFILE chooses, the user's file, the system's file, the\n"
        "default. A file has to be yours or root's, and nobody else may\n"
        "write to it. Passwords are not shown.",
    .options = options,
    .run = run,
};
