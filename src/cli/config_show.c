/* SPDX-License-Identifier: MIT */

/* `latchkey config`: what is set, and who says so. */

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/json.h"
#include "cli/output.h"

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

static void put_plain(const cli_setting *setting, const char *text,
                      const char *from, bool explains)
{
    (void)printf("%s = ", setting->key);
    cli_put_clean(stdout, text);
    (void)fputc('\n', stdout);
    if (!explains)
        return;
    (void)fputs("    from ", stdout);
    cli_put_clean(stdout, from);
    (void)printf("\n    %s\n", setting->help);
}

static void put_json(cli_json *json, const cli_setting *setting,
                     const char *text, const char *from)
{
    cli_json_open(json, setting->key, '{');
    cli_json_text(json, "value", text);
    cli_json_text(json, "from", from);
    cli_json_close(json, '}');
}

static int
show(const cli *c, cli_json *json, const cli_setting *setting, bool explains)
{
    char room[LK_URL_DESCRIPTION_SIZE];
    const char *given = strcmp(setting->key, "url") == 0 ? c->url : NULL;
    const char *text;
    cli_value value;
    int code = cli_setting_find(c, setting->key, given, &value);

    if (code != 0)
        return code;
    text = show_text(setting, value.text, room, sizeof(room));
    if (c->json)
        put_json(json, setting, text, value.from);
    else
        put_plain(setting, text, value.from, explains);
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
    .about = "For each setting the first of these counts: its option, its\n"
             "environment variables, the user's file, the system's file, the\n"
             "default. A file has to be yours or root's, and nobody else may\n"
             "write to it. Passwords are not shown.",
    .options = options,
    .run = run,
};
