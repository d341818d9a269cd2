/* SPDX-License-Identifier: MIT */

#include "cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

const cli_setting cli_settings[] = {
    {"url",
     "--url",
     {"LATCHKEY_URL", "REDIS_URL"},
     "local:",
     "the server; `latchkey help url` has the forms, local: is a private "
     "one, none forbids it"},
    {"server-program",
     NULL,
     {"LATCHKEY_SERVER_PROGRAM", NULL},
     "redis-server",
     "what `local:` starts"},
    {"server-directory",
     NULL,
     {"LATCHKEY_SERVER_DIRECTORY", NULL},
     "~/.local/state/latchkey",
     "where `local:` lives; ~ is the home that the user database has"},
    {NULL, NULL, {NULL, NULL}, NULL, NULL},
};

enum { FILE_MAX_BYTES = 65536, FILE_PATH_SIZE = 4096 };

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
    cli_value_done(value);
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
    char from[FILE_PATH_SIZE + 16];
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
    return value_set(c, value, trim(equals + 1), from);
}

/* Whoever can write to the file chooses the server, and what program is run as
   it. 0, or has complained. */
static int check_trust(const cli *c, const char *path, int fd)
{
    struct stat s;

    if (fstat(fd, &s) != 0)
        return cli_fail(c, CLI_CONFIG, "%s: %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode))
        return cli_fail(c, CLI_CONFIG, "%s: it is not a regular file", path);
    if (s.st_uid != geteuid() && s.st_uid != 0)
        return cli_fail(c, CLI_CONFIG,
                        "%s: it belongs to user %u, neither to you nor to root"
                        "\n  give it to one of them with chown, or set "
                        "LATCHKEY_CONFIG to another file",
                        path, (unsigned)s.st_uid);
    if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return cli_fail(c, CLI_CONFIG,
                        "%s: others may write to it\n  chmod go-w %s", path,
                        path);
    return 0;
}

/* Reads all of a file, as text of FILE_MAX_BYTES at most. 0, or has
   complained. */
static int read_text(const cli *c, const char *path, int fd, char *text)
{
    size_t used = 0;
    ssize_t size;

    do {
        size = read(fd, text + used, FILE_MAX_BYTES + 1 - used);
        used += size > 0 ? (size_t)size : 0;
    } while (size > 0 || (size < 0 && errno == EINTR));
    if (size < 0)
        return cli_fail(c, CLI_CONFIG, "%s: %s", path, strerror(errno));
    if (used > FILE_MAX_BYTES)
        return cli_fail(c, CLI_CONFIG, "%s: it is larger than %d bytes", path,
                        FILE_MAX_BYTES);
    if (memchr(text, '\0', used) != NULL)
        return cli_fail(c, CLI_CONFIG, "%s: it is not text", path);
    text[used] = '\0';
    return 0;
}

/* The last line about key counts. 0, or has complained. */
static int read_lines(const cli *c, const char *path, char *text,
                      const char *key, cli_value *value)
{
    char *rest = text;
    char *line;
    int code = 0;

    for (int number = 1; code == 0 && (line = strsep(&rest, "\n")) != NULL;
         number++)
        code = read_line(c, path, number, line, key, value);
    return code;
}

/* Looks for key in a file. It is opened without waiting: a pipe would keep the
   tool until somebody writes to it. 0, an errno if it cannot be opened, or an
   exit code, negative, having complained. */
static int
file_find(const cli *c, const char *path, const char *key, cli_value *value)
{
    static char text[FILE_MAX_BYTES + 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int code;

    if (fd < 0)
        return errno;
    code = check_trust(c, path, fd);
    if (code == 0)
        code = read_text(c, path, fd, text);
    if (code == 0)
        code = read_lines(c, path, text, key, value);
    explicit_bzero(text, sizeof(text)); /* a URL may hold a password */
    (void)close(fd);
    return -code;
}

/* A file that need not be there. One that may not be read is somebody else's
   affair as long as something above it says the setting: denied is then its
   path, and what stands below it no longer counts. 0, or has complained. */
static int file_try(const cli *c, const char *path, const char *key,
                    cli_value *value, char denied[FILE_PATH_SIZE])
{
    int result = file_find(c, path, key, value);

    if (result <= 0)
        return -result;
    if (result == ENOENT || result == ENOTDIR)
        return 0;
    if (result != EACCES)
        return cli_fail(c, CLI_CONFIG, "%s: %s", path, strerror(result));
    cli_value_done(value);
    (void)snprintf(denied, FILE_PATH_SIZE, "%s", path);
    return 0;
}

/* What a variable says. NULL: it is not set. An empty one is an error: most
   often it was made of another one that is not set, and to pass over it could
   mean another server than was meant. */
static int variable(const cli *c, const char *name, const char **ret_value)
{
    *ret_value = name != NULL ? getenv(name) : NULL;
    if (*ret_value == NULL || (*ret_value)[0] != '\0')
        return 0;
    return cli_fail(c, CLI_USAGE,
                    "%s is set, but empty\n  unset it, or give it a value",
                    name);
}

/* Where the user's file is; empty: nowhere, for want of a home. 0, or has
   complained. */
static int user_file(const cli *c, char path[FILE_PATH_SIZE])
{
    const char *base = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int length = 0;

    path[0] = '\0';
    if (base != NULL && base[0] == '/')
        length = snprintf(path, FILE_PATH_SIZE, "%s/latchkey/config", base);
    else if (home != NULL && home[0] != '\0')
        length =
            snprintf(path, FILE_PATH_SIZE, "%s/.config/latchkey/config", home);
    if (length >= FILE_PATH_SIZE)
        return cli_fail(c, CLI_CONFIG,
                        "the path of the user's file is too long");
    return 0;
}

/* All files are read, whoever counts in the end: one that is not understood is
   never passed over. */
static int files_find(const cli *c, const char *key, cli_value *value,
                      char denied[FILE_PATH_SIZE])
{
    const char *only;
    char path[FILE_PATH_SIZE];
    int code = variable(c, "LATCHKEY_CONFIG", &only);

    if (code != 0)
        return code;
    if (only != NULL) {
        code = file_find(c, only, key, value);
        return code <= 0 ? -code
                         : cli_fail(c, CLI_CONFIG, "LATCHKEY_CONFIG: %s: %s",
                                    only, strerror(code));
    }
    code = file_try(c, "/etc/latchkey/config", key, value, denied);
    if (code == 0)
        code = user_file(c, path);
    if (code == 0 && path[0] != '\0')
        code = file_try(c, path, key, value, denied);
    return code;
}

/* ---- one setting -------------------------------------------------------- */

/* What the environment says takes the place of value. */
static int
variables_find(const cli *c, const cli_setting *setting, cli_value *value)
{
    const char *said = NULL;
    int code = 0;

    for (size_t i = 0; i < 2 && code == 0 && said == NULL; i++) {
        code = variable(c, setting->variables[i], &said);
        if (code == 0 && said != NULL)
            code = value_set(c, value, said, setting->variables[i]);
    }
    return code;
}

int cli_setting_find(const cli *c, const char *key, const char *given,
                     cli_value *ret_value)
{
    const cli_setting *setting = setting_find(key);
    char denied[FILE_PATH_SIZE] = "";
    int code;

    memset(ret_value, 0, sizeof(*ret_value));
    code = files_find(c, key, ret_value, denied);
    if (code == 0 && given != NULL && given[0] == '\0')
        code = cli_fail(c, CLI_USAGE, "%s is empty", setting->option);
    else if (code == 0 && given != NULL)
        code = value_set(c, ret_value, given, setting->option);
    else if (code == 0)
        code = variables_find(c, setting, ret_value);
    if (code == 0 && ret_value->text == NULL && denied[0] != '\0')
        code = cli_fail(c, CLI_CONFIG, "%s: %s", denied, strerror(EACCES));
    else if (code == 0 && ret_value->text == NULL)
        code = value_set(c, ret_value, setting->initial, "default");
    if (code != 0)
        cli_value_done(ret_value);
    return code;
}
