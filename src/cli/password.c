/* SPDX-License-Identifier: MIT */

#include "cli/password.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/file.h"

enum { PASSWORD_MAX_BYTES = 1024 }; /* of a file, with the end of its line */

/* In the order in which they count. last: NULL: none. */
static const struct source {
    const char *variable, *setting, *last;
} sources[CLI_PASSWORDS] = {
    [CLI_PASSWORD_SERVER] = {"LATCHKEY_PASSWORD", "password-file",
                             "REDISCLI_AUTH"},
    [CLI_PASSWORD_SENTINELS] = {"LATCHKEY_SENTINEL_PASSWORD",
                                "sentinel-password-file", NULL},
};

/* An empty one stays: it is an error if a password is looked for. */
static bool take(const char *variable, char **ret_password)
{
    char *said = getenv(variable);

    if (said == NULL || said[0] == '\0')
        return true;
    *ret_password = strdup(said);
    explicit_bzero(said, strlen(said));
    (void)unsetenv(variable);
    return *ret_password != NULL;
}

bool cli_password_take(cli *c)
{
    for (size_t i = 0; i < CLI_PASSWORDS; i++) {
        if (!take(sources[i].variable, &c->passwords[i]))
            return false;
    }
    return true;
}

/* Cuts the end of the line, as Unix or as Windows has it. 0, or has
   complained. */
static int check_line(const cli *c, const char *path, char *text)
{
    size_t size = strlen(text);

    if (size > 0 && text[size - 1] == '\n') {
        text[--size] = '\0';
        if (size > 0 && text[size - 1] == '\r')
            text[--size] = '\0';
    }
    if (size == 0)
        return cli_fail(c, CLI_CONFIG,
                        "%s: it is empty\n  write the password into it", path);
    if (memchr(text, '\n', size) != NULL)
        return cli_fail(c, CLI_CONFIG,
                        "%s: it has several lines\n  leave the one with the "
                        "password",
                        path);
    return 0;
}

/* file: its path, and who has named it, whom the value then names. */
static int read_file(const cli *c, const cli_value *file, cli_value *ret_value)
{
    char text[PASSWORD_MAX_BYTES + 1];
    int code =
        cli_file_read(c, file->text, CLI_FILE_SECRET, text, sizeof(text));

    if (code > 0)
        code = cli_fail(c, CLI_CONFIG, "the password file of %s: %s: %s",
                        file->from, file->text, strerror(code));
    else
        code = -code;
    if (code == 0)
        code = check_line(c, file->text, text);
    if (code == 0)
        code = cli_value_set(c, ret_value, text, file->from);
    explicit_bzero(text, sizeof(text));
    return code;
}

static int find_file(const cli *c, const char *setting, cli_value *ret_value)
{
    cli_value file;
    int code = cli_setting_find(c, setting, NULL, &file);

    if (code == 0 && strcmp(file.from, "default") != 0)
        code = read_file(c, &file, ret_value);
    cli_value_done(&file);
    return code;
}

/* What a variable says, if anything has not been said before. */
static int find_variable(const cli *c, const char *name, cli_value *value)
{
    const char *said = NULL;
    int code;

    if (value->text != NULL)
        return 0;
    code = cli_variable(c, name, &said);
    return code == 0 && said != NULL ? cli_value_set(c, value, said, name)
                                     : code;
}

int cli_password_find(const cli *c, cli_password_kind kind,
                      cli_value *ret_value)
{
    const struct source *source = &sources[kind];
    int code;

    memset(ret_value, 0, sizeof(*ret_value));
    if (c->passwords[kind] != NULL)
        return cli_value_set(c, ret_value, c->passwords[kind],
                             source->variable);
    code = find_variable(c, source->variable, ret_value);
    if (code == 0)
        code = find_file(c, source->setting, ret_value);
    if (code == 0)
        code = find_variable(c, source->last, ret_value);
    return code;
}
