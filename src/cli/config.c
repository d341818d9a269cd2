/* SPDX-License-Identifier: MIT */

#include "cli/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

const cli_setting cli_settings[] = {
    {"url",
     "--url",
     {"LATCHKEY_URL", "REDIS_URL"},
     "local:",
     "the server; docs/url.md has the forms, local: is a private one, none "
     "forbids it"},
    {"server-program",
     NULL,
     {"LATCHKEY_SERVER_PROGRAM", NULL},
     "redis-server",
     "what `local:` starts"},
    {NULL, NULL, {NULL, NULL}, NULL, NULL},
};

enum { LINE_MAX_BYTES = 65536 };

/* ---- values ------------------------------------------------------------- */

void cli_value_done(cli_value *value)
{
    if (value->text != NULL)
        explicit_bzero(value->text, strlen(value->text));
    free(value->text);
    free(value->from);
    value->text = NULL;
    value->from = NULL;
}

static int
value_set(const cli *c, cli_value *value, const char *text, const char *from)
{
    value->text = strdup(text);
    value->from = strdup(from);
    if (value->text != NULL && value->from != NULL)
        return 0;
    cli_value_done(value);
    return cli_fail(c, CLI_INTERNAL, "out of memory");
}

static const cli_setting *setting_find(const char *key)
{
    const cli_setting *setting = cli_settings;

    while (setting->key != NULL && strcmp(setting->key, key) != 0)
        setting++;
    return setting->key != NULL ? setting : NULL;
}

/* ---- files -------------------------------------------------------------- */

static char *trim(char *text)
{
    char *end = text + strlen(text);

    while (end > text && strchr(" \t\r\n", end[-1]) != NULL)
        *--end = '\0';
    return text + strspn(text, " \t");
}

/* One line; sets value if it is about key. 0, or has complained. */
static int read_line(const cli *c, const char *path, int number, char *line,
                     const char *key, cli_value *value)
{
    char from[4096 + 16];
    char *name = trim(line);
    char *equals = strchr(name, '=');

    if (name[0] == '\0' || name[0] == '#')
        return 0;
    if (equals == NULL)
        return cli_fail(c, CLI_CONFIG, "%s:%d: a line is `key = value`", path,
                        number);
    *equals = '\0';
    name = trim(name);
    if (setting_find(name) == NULL)
        return cli_fail(c, CLI_CONFIG, "%s:%d: there is no setting '%.40s'",
                        path, number, name);
    if (strcmp(name, key) != 0)
        return 0;
    (void)snprintf(from, sizeof(from), "%s:%d", path, number);
    cli_value_done(value);
    return value_set(c, value, trim(equals + 1), from);
}

/* Looks for key in a file, which has to be there if it is wanted. The last
   line about it counts. */
static int file_find(const cli *c, const char *path, const char *key,
                     cli_value *value, bool is_wanted)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    int number = 0;
    int code = 0;

    if (file == NULL && !is_wanted && (errno == ENOENT || errno == ENOTDIR))
        return 0;
    if (file == NULL)
        return cli_fail(c, CLI_CONFIG, "%s%s: %s",
                        is_wanted ? "LATCHKEY_CONFIG: " : "", path,
                        strerror(errno));
    while (code == 0 && getline(&line, &room, file) > 0) {
        number++;
        if (strlen(line) > LINE_MAX_BYTES)
            code = cli_fail(c, CLI_CONFIG, "%s:%d: too long", path, number);
        else
            code = read_line(c, path, number, line, key, value);
    }
    if (code == 0 && ferror(file) != 0)
        code = cli_fail(c, CLI_CONFIG, "%s: cannot be read", path);
    if (line != NULL)
        explicit_bzero(line, room);
    free(line);
    (void)fclose(file);
    if (code != 0)
        cli_value_done(value);
    return code;
}

static const char *variable(const char *name)
{
    const char *value = name != NULL ? getenv(name) : NULL;

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Where the user's file is. False: nowhere, for want of a home. */
static bool user_file(char *path, size_t size)
{
    const char *base = variable("XDG_CONFIG_HOME");
    const char *home = variable("HOME");
    int length;

    if (base != NULL && base[0] == '/')
        length = snprintf(path, size, "%s/latchkey/config", base);
    else if (home != NULL)
        length = snprintf(path, size, "%s/.config/latchkey/config", home);
    else
        return false;
    return length > 0 && (size_t)length < size;
}

static int files_find(const cli *c, const char *key, cli_value *value)
{
    const char *only = variable("LATCHKEY_CONFIG");
    char path[4096];
    int code = 0;

    if (only != NULL)
        return file_find(c, only, key, value, true);
    if (user_file(path, sizeof(path)))
        code = file_find(c, path, key, value, false);
    if (code == 0 && value->text == NULL)
        code = file_find(c, "/etc/latchkey/config", key, value, false);
    return code;
}

/* ---- one setting -------------------------------------------------------- */

int cli_setting_find(const cli *c, const char *key, const char *given,
                     cli_value *ret_value)
{
    const cli_setting *setting = setting_find(key);
    int code;

    memset(ret_value, 0, sizeof(*ret_value));
    if (given != NULL)
        return value_set(c, ret_value, given, setting->option);
    for (size_t i = 0; i < 2; i++) {
        const char *said = variable(setting->variables[i]);

        if (said != NULL)
            return value_set(c, ret_value, said, setting->variables[i]);
    }
    code = files_find(c, key, ret_value);
    if (code == 0 && ret_value->text == NULL)
        code = value_set(c, ret_value, setting->initial, "default");
    return code;
}
