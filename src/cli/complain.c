/* SPDX-License-Identifier: MIT */

/* What goes wrong, in words that say what to do. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/output.h"

/* In one write, so that lines of several processes do not mix. */
__attribute__((format(printf, 2, 0))) static void
say(const cli *c, const char *format, va_list arguments)
{
    char text[2048];
    int used = snprintf(text, sizeof(text),
                        "latchkey%s%s: ", c->called != NULL ? " " : "",
                        c->called != NULL ? c->called : "");

    (void)vsnprintf(text + used, sizeof(text) - (size_t)used, format,
                    arguments);
    (void)fprintf(stderr, "%s\n", text);
}

int cli_fail(const cli *c, int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(c, format, arguments);
    va_end(arguments);
    return code;
}

void cli_usage(const cli *c, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(c, format, arguments);
    va_end(arguments);
    if (c->command != NULL)
        (void)fprintf(stderr, "  `latchkey help %s` says more\n",
                      c->command->name);
    else
        (void)fprintf(stderr, "  `latchkey help` says more\n");
    exit(CLI_USAGE);
}

void cli_note(const cli *c, const char *format, ...)
{
    va_list arguments;

    if (c->quiet)
        return;
    va_start(arguments, format);
    say(c, format, arguments);
    va_end(arguments);
}

/* ---- statuses ----------------------------------------------------------- */

static const struct remedy {
    lk_status status;
    int code;
    const char *advice; /* NULL: the words say it all */
} remedies[] = {
    {LK_OK, CLI_OK, NULL},
    {LK_EINVAL, CLI_USAGE, NULL},
    {LK_ERANGE, CLI_USAGE, NULL},
    {LK_EURL, CLI_CONFIG, "docs/url.md has the forms that are understood"},
    {LK_ENOTSUP, CLI_CONFIG, NULL},
    {LK_EMISMATCH, CLI_CONFIG,
     "use the settings that the others use, or "
     "another name"},
    {LK_ETYPE, CLI_CONFIG,
     "use another name, or delete the key if it is of "
     "no use"},
    {LK_EBUSY, CLI_BUSY, NULL},
    {LK_ETIMEDOUT, CLI_BUSY, NULL},
    {LK_ECANCELED, CLI_BUSY, NULL},
    {LK_ECLOSED, CLI_BUSY, NULL},
    {LK_ENOTHELD, CLI_BUSY, NULL},
    {LK_EGONE, CLI_BUSY, NULL},
    {LK_EUNSET, CLI_BUSY, NULL},
    {LK_EALREADY, CLI_BUSY, NULL},
    {LK_EUPGRADE, CLI_BUSY, NULL},
    {LK_ELOST, CLI_LOST, NULL},
    {LK_EINDOUBT, CLI_UNAVAILABLE, "look at the server; then try again"},
    {LK_EOFFLINE, CLI_UNAVAILABLE,
     "start Redis there, set LATCHKEY_URL or --url to where it is, or try "
     "`--url local:`"},
    {LK_ELOADING, CLI_UNAVAILABLE, "wait until it has loaded"},
    {LK_EREADONLY, CLI_UNAVAILABLE, "point the URL at the primary"},
    {LK_ESERVERMEM, CLI_UNAVAILABLE, "raise its maxmemory, or free some"},
    {LK_ESERVER, CLI_UNAVAILABLE, NULL},
    {LK_EPROTO, CLI_UNAVAILABLE, "is it a Redis server that the URL names?"},
    {LK_EAUTH, CLI_DENIED, "check user and password in the URL"},
    {LK_EDENIED, CLI_DENIED,
     "the page of each primitive in docs/ lists the rights that it needs"},
};

static const struct remedy *remedy_find(lk_status status)
{
    for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++) {
        if (remedies[i].status == status)
            return &remedies[i];
    }
    return NULL;
}

int cli_status_exit(lk_status status)
{
    const struct remedy *remedy = remedy_find(status);

    return remedy != NULL ? remedy->code : CLI_INTERNAL;
}

/* Of a script of the library, without the code it is told by. */
const char *cli_error_words(void)
{
    const char *words = lk_last_error();
    size_t size = strspn(words, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    return strncmp(words, "LK", 2) == 0 && words[size] == ' ' ? words + size + 1
                                                              : words;
}

/* Why the server is away, without its address: the caller says the URL. */
static const char *cause_words(void)
{
    static const char between[] = " cannot be reached: ";
    const char *words = cli_error_words();
    const char *at = strstr(words, between);

    return at != NULL ? at + sizeof(between) - 1 : words;
}

int cli_fail_status(const cli *c, lk_status status, const char *what)
{
    const struct remedy *remedy = remedy_find(status);
    const char *advice = remedy != NULL ? remedy->advice : NULL;
    char server[LK_URL_DESCRIPTION_SIZE];
    char name[128];
    bool is_away = status == LK_EOFFLINE;

    (void)cli_clean(name, sizeof(name), what);
    return cli_fail(c, cli_status_exit(status), "%s%s%s%.400s%s%s%s%s", name,
                    strlen(name) < strlen(what) ? "..." : "",
                    what[0] != '\0' ? ": " : "",
                    is_away ? cli_server_words(c, server, sizeof(server)) : "",
                    is_away ? " cannot be reached: " : "",
                    is_away ? cause_words() : cli_error_words(),
                    advice != NULL ? "\n  " : "", advice != NULL ? advice : "");
}
