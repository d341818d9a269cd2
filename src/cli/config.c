/* SPDX-License-Identifier: MIT */

#include "cli/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/file.h"
#include "cli/utf8.h"
#include "cli/word.h"

const cli_setting cli_settings[] = {
    {"url",
     "--url",
     {"LATCHKEY_URL", "REDIS_URL"},
     "local:",
     "the server; `latchkey help config` has the forms, local: is a private "
     "one, none forbids it"},
    {"password-file",
     NULL,
     {"LATCHKEY_PASSWORD_FILE", NULL},
     "none",
     "a file with the server's password, where the URL has none and "
     "LATCHKEY_PASSWORD is not set"},
    {"sentinel-password-file",
     NULL,
     {"LATCHKEY_SENTINEL_PASSWORD_FILE", NULL},
     "none",
     "a file with the sentinels' password, where the URL has none and "
     "LATCHKEY_SENTINEL_PASSWORD is not set"},
    {"lease",
     "--lease",
     {"LATCHKEY_LEASE", NULL},
     "watchdog_ms of the URL, else 30s",
     "the time after which others get a name if its holder crashes; for lock, "
     "its variants and hold"},
    {"wait",
     "--wait",
     {"LATCHKEY_WAIT", NULL},
     "without end",
     "the most time that lock, hold and acquire wait without -w and -n"},
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
    {"tls-ca-file",
     NULL,
     {"LATCHKEY_TLS_CA_FILE", NULL},
     "the system's",
     "the CAs that are trusted where the URL says TLS and names none"},
    {"tls-cert-file",
     NULL,
     {"LATCHKEY_TLS_CERT_FILE", NULL},
     "none",
     "the certificate shown to the server there"},
    {"tls-key-file",
     NULL,
     {"LATCHKEY_TLS_KEY_FILE", NULL},
     "in tls-cert-file",
     "the key of that certificate"},
    {NULL, NULL, {NULL, NULL}, NULL, NULL},
};

enum { FILE_MAX_BYTES = 65536, FILE_PATH_SIZE = 4096 };

#define PROFILE_LETTERS                                                        \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._"

/* One setting that is looked for in the files, and what is found there. */
typedef struct search {
    const cli *c;
    const char *key;
    const char *profile; /* NULL: none is chosen */
    cli_value *value;
    bool is_of_profile;               /* the value is */
    bool is_there;                    /* the profile is */
    char profiles[CLI_PROFILES_SIZE]; /* all, see cli_profiles() */
    char denied[FILE_PATH_SIZE];      /* may not be read; empty: none */
} search;

/* Where a line stands. */
typedef struct place {
    const char *path;
    int number;
    char profile[CLI_PROFILE_SIZE]; /* empty: in the file's head */
} place;

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

int cli_value_set(const cli *c, cli_value *value, const char *text,
                  const char *from)
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

/* Keeps the name of a profile that is there. One that has no room is not told
   of. */
static void note_profile(search *s, const char *name)
{
    const size_t used = strlen(s->profiles);

    if (s->profile != NULL && strcmp(name, s->profile) == 0)
        s->is_there = true;
    if (cli_word_find(s->profiles, name) < 0 &&
        used + strlen(name) + 2 <= sizeof(s->profiles))
        (void)snprintf(s->profiles + used, sizeof(s->profiles) - used, "%s%s",
                       used > 0 ? "|" : "", name);
}

/* "[profile NAME]": what follows is of it. 0, or has complained. */
static int read_section(search *s, place *at, char *text)
{
    static const char begin[] = "[profile ";
    const size_t size = strlen(text);
    char *name;

    if (strncmp(text, begin, strlen(begin)) != 0 || text[size - 1] != ']')
        return cli_fail(s->c, CLI_CONFIG, "%s:%d: a section is [profile NAME]",
                        at->path, at->number);
    text[size - 1] = '\0';
    name = trim(text + strlen(begin));
    if (name[0] == '\0' || strlen(name) >= sizeof(at->profile) ||
        name[strspn(name, PROFILE_LETTERS)] != '\0')
        return cli_fail(s->c, CLI_CONFIG,
                        "%s:%d: a profile's name has letters, digits, - . and "
                        "_, %zu at most",
                        at->path, at->number, sizeof(at->profile) - 1);
    (void)snprintf(at->profile, sizeof(at->profile), "%s", name);
    note_profile(s, name);
    return 0;
}

/* What the profile that was chosen says beats the head of any file. 0, or has
   complained. */
static int take(search *s, const place *at, const char *text)
{
    const bool is_of_profile = at->profile[0] != '\0';
    char from[FILE_PATH_SIZE + CLI_PROFILE_SIZE + 32];

    if (is_of_profile
            ? s->profile == NULL || strcmp(at->profile, s->profile) != 0
            : s->is_of_profile)
        return 0;
    s->is_of_profile = is_of_profile;
    (void)snprintf(from, sizeof(from), "%s:%d%s%s", at->path, at->number,
                   is_of_profile ? ", profile " : "", at->profile);
    return cli_value_set(s->c, s->value, text, from);
}

/* One line; sets the value if it is about the key. 0, or has complained. */
static int read_line(search *s, place *at, char *line)
{
    char *name = trim(line);
    char *equals = strchr(name, '=');

    if (name[0] == '\0' || name[0] == '#')
        return 0;
    if (name[0] == '[')
        return read_section(s, at, name);
    if (equals == NULL)
        return cli_fail(s->c, CLI_CONFIG, "%s:%d: a line is `key = value`",
                        at->path, at->number);
    *equals = '\0';
    name = trim(name);
    if (setting_find(name) == NULL)
        return cli_fail(s->c, CLI_CONFIG, "%s:%d: there is no setting '%.*s'",
                        at->path, at->number,
                        (int)cli_word_quotable(name, cli_utf8_cut(name, 40)),
                        name);
    return strcmp(name, s->key) == 0 ? take(s, at, trim(equals + 1)) : 0;
}

/* The last line about the key counts. 0, or has complained. */
static int read_lines(search *s, const char *path, char *text)
{
    place at = {.path = path};
    char *rest = text;
    char *line;
    int code = 0;

    while (code == 0 && (line = strsep(&rest, "\n")) != NULL) {
        at.number++;
        code = read_line(s, &at, line);
    }
    return code;
}

/* Looks into a file. 0, an errno if it cannot be opened, or an exit code,
   negative, having complained. */
static int file_find(search *s, const char *path)
{
    static char text[FILE_MAX_BYTES + 1];
    int code = cli_file_read(s->c, path, CLI_FILE_TRUSTED, text, sizeof(text));

    if (code == 0)
        code = -read_lines(s, path, text);
    explicit_bzero(text, sizeof(text)); /* a URL may hold a password */
    return code;
}

/* A file that need not be there. One that may not be read is somebody else's
   affair as long as something above it says the setting: denied is then its
   path, and what stands below it no longer counts. 0, or has complained. */
static int file_try(search *s, const char *path)
{
    int result = file_find(s, path);

    if (result <= 0)
        return -result;
    if (result == ENOENT || result == ENOTDIR)
        return 0;
    if (result != EACCES)
        return cli_fail(s->c, CLI_CONFIG, "%s: %s", path, strerror(result));
    cli_value_done(s->value);
    s->is_of_profile = false;
    (void)snprintf(s->denied, sizeof(s->denied), "%s", path);
    return 0;
}

int cli_variable(const cli *c, const char *name, const char **ret_value)
{
    *ret_value = name != NULL ? getenv(name) : NULL;
    if (*ret_value == NULL || (*ret_value)[0] != '\0')
        return 0;
    return cli_fail(c, CLI_USAGE,
                    "%s is set, but empty\n  unset it, or give it a value",
                    name);
}

/* Where the user's file is; empty: there is no home folder to look in.
   0, or has complained. */
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
static int files_find(search *s)
{
    const char *only;
    char path[FILE_PATH_SIZE];
    int code = cli_variable(s->c, "LATCHKEY_CONFIG", &only);

    if (code != 0)
        return code;
    if (only != NULL) {
        code = file_find(s, only);
        return code <= 0 ? -code
                         : cli_fail(s->c, CLI_CONFIG, "LATCHKEY_CONFIG: %s: %s",
                                    only, strerror(code));
    }
    code = file_try(s, "/etc/latchkey/config");
    if (code == 0)
        code = user_file(s->c, path);
    if (code == 0 && path[0] != '\0')
        code = file_try(s, path);
    return code;
}

/* ---- profiles ----------------------------------------------------------- */

int cli_profile(const cli *c, const char **ret_name, const char **ret_from)
{
    *ret_name = c->profile;
    *ret_from = "--profile";
    if (c->profile != NULL && c->profile[0] == '\0')
        return cli_fail(c, CLI_USAGE, "--profile is empty");
    if (c->profile != NULL)
        return 0;
    *ret_from = "LATCHKEY_PROFILE";
    return cli_variable(c, "LATCHKEY_PROFILE", ret_name);
}

int cli_profiles(const cli *c, char names[CLI_PROFILES_SIZE])
{
    cli_value value = {NULL, NULL};
    search s = {.c = c, .key = "url", .value = &value};
    int code = files_find(&s);

    cli_value_done(&value);
    (void)snprintf(names, CLI_PROFILES_SIZE, "%s", s.profiles);
    return code;
}

/* Another server than the one that was meant is worse than none. 0, or has
   complained. */
static int check_profile(const search *s, const char *from)
{
    if (s->profile == NULL || s->is_there)
        return 0;
    if (s->denied[0] != '\0')
        return cli_fail(s->c, CLI_CONFIG, "%s: %s", s->denied,
                        strerror(EACCES));
    return cli_fail(s->c, CLI_CONFIG,
                    "there is no profile '%.*s', which %s names\n  %s%s",
                    (int)cli_utf8_cut(s->profile, 64), s->profile, from,
                    s->profiles[0] != '\0' ? "there are: "
                                           : "the configuration has none",
                    s->profiles);
}

/* What the files say. 0, or has complained. */
static int search_files(search *s)
{
    const char *from;
    int code = cli_profile(s->c, &s->profile, &from);

    if (code == 0)
        code = files_find(s);
    /* A file that may not be read may have what the profile says. */
    if (s->profile != NULL && s->denied[0] != '\0' && !s->is_of_profile)
        cli_value_done(s->value);
    return code == 0 ? check_profile(s, from) : code;
}

/* ---- one setting -------------------------------------------------------- */

/* What the environment says takes the place of value. */
static int
variables_find(const cli *c, const cli_setting *setting, cli_value *value)
{
    const char *said = NULL;
    int code = 0;

    for (size_t i = 0; i < 2 && code == 0 && said == NULL; i++) {
        code = cli_variable(c, setting->variables[i], &said);
        if (code == 0 && said != NULL)
            code = cli_value_set(c, value, said, setting->variables[i]);
    }
    return code;
}

int cli_setting_find(const cli *c, const char *key, const char *given,
                     cli_value *ret_value)
{
    const cli_setting *setting = setting_find(key);
    search s = {.c = c, .key = key, .value = ret_value};
    int code;

    memset(ret_value, 0, sizeof(*ret_value));
    code = search_files(&s);
    if (code == 0 && given != NULL && given[0] == '\0')
        code = cli_fail(c, CLI_USAGE, "%s is empty", setting->option);
    else if (code == 0 && given != NULL)
        code = cli_value_set(c, ret_value, given, setting->option);
    else if (code == 0)
        code = variables_find(c, setting, ret_value);
    if (code == 0 && ret_value->text == NULL && s.denied[0] != '\0')
        code = cli_fail(c, CLI_CONFIG, "%s: %s", s.denied, strerror(EACCES));
    else if (code == 0 && ret_value->text == NULL)
        code = cli_value_set(c, ret_value, setting->initial, "default");
    if (code != 0)
        cli_value_done(ret_value);
    return code;
}
