/* SPDX-License-Identifier: MIT */

/* What goes wrong, in words that say what to do. */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cause.h"
#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/connect.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/utf8.h"
#include "cli/word.h"

/* Keeps what a terminal would obey out of a message, whoever wrote that part of
   it. A newline is one of ours, where words of advice follow, or is shown. */
static void put_message(char *to, size_t size, const char *text)
{
    char shown[CLI_UTF8_SHOWN];
    size_t used = 0;

    while (*text != '\0' && used + CLI_UTF8_SHOWN < size) {
        if (strncmp(text, "\n  ", 3) == 0) {
            to[used++] = *text++;
        } else {
            size_t length = cli_utf8_show(&text, shown);

            memcpy(to + used, shown, length);
            used += length;
        }
    }
    to[used] = '\0';
}

/* What the tool itself writes in the place of one. */
static bool stands_for_password(const char *text, size_t size)
{
    static const char *const words[] = {"", "***", "PASSWORD"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i]) == size && memcmp(text, words[i], size) == 0)
            return true;
    }
    return false;
}

/* Takes out what may be a password: of each URL what is between :// and its last @. A
   user may have put one in any place, and the message quotes it. */
static void hide_passwords(char *text)
{
    char *from = text;

    while ((from = strstr(from, "://")) != NULL) {
        size_t size = strcspn(from += 3, " \t\n");
        size_t user = strcspn(from, ":") + 1;

        while (size > 0 && from[size - 1] != '@')
            size--;
        if (size > 0 && (user >= size ||
                         !stands_for_password(from + user, size - 1 - user)))
            memmove(from, from + size - 1, strlen(from + size - 1) + 1);
    }
}

/* In one write, so that lines of several processes do not mix. */
static void put_line(const char *text)
{
    char *whole = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&whole, &size);

    if (to == NULL) {
        (void)fprintf(stderr, "%s\n", text);
        return;
    }
    cli_put_wrapped(to, text, cli_columns_bound(stderr));
    (void)fputc('\n', to);
    if (fclose(to) == 0)
        (void)fwrite(whole, 1, size, stderr);
    free(whole);
}

/* ---- as JSON ------------------------------------------------------------ */

bool cli_log_begin(cli_log *log, const cli *c, const char *level)
{
    log->text = NULL;
    log->json = (cli_json){.to = open_memstream(&log->text, &log->size)};
    if (log->json.to == NULL)
        return false;
    cli_json_open(&log->json, NULL, '{');
    cli_json_number(&log->json, "unix_ms", cli_unix_ms());
    cli_json_text(&log->json, "level", level);
    cli_json_words(&log->json, "command",
                   c->command != NULL ? c->command->name : NULL);
    return true;
}

void cli_log_end(cli_log *log)
{
    cli_json_close(&log->json, '}');
    if (fclose(log->json.to) == 0)
        (void)fwrite(log->text, 1, log->size, stderr);
    free(log->text);
}

/* What to do about it stands in lines of its own. */
static void put_json(const cli *c, const char *level, char *text)
{
    char *advice = strstr(text, "\n  ");
    cli_log log;

    if (advice != NULL)
        *advice = '\0';
    if (!cli_log_begin(&log, c, level))
        return;
    cli_json_text(&log.json, "message", text);
    cli_json_words(&log.json, "advice", advice != NULL ? advice + 3 : NULL);
    cli_log_end(&log);
}

__attribute__((format(printf, 3, 0))) static void
say(const cli *c, const char *level, const char *format, va_list arguments)
{
    char text[2048];
    char safe[4096]; /* a pipe takes as much in one piece */
    int used = c->logs_json
                   ? 0
                   : snprintf(text, sizeof(text),
                              "latchkey%s%s: ", c->command != NULL ? " " : "",
                              c->command != NULL ? c->command->name : "");

    (void)vsnprintf(text + used, sizeof(text) - (size_t)used, format,
                    arguments);
    hide_passwords(text);
    (void)cli_flush(); /* where both go to one place, they stand in order */
    if (c->logs_json) {
        put_json(c, level, text);
        return;
    }
    put_message(safe, sizeof(safe) - 1, text);
    put_line(safe);
}

int cli_fail(const cli *c, int code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(c, code != 0 ? "error" : "warning", format, arguments);
    va_end(arguments);
    return code;
}

void cli_usage(const cli *c, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    say(c, "error", format, arguments);
    va_end(arguments);
    if (c->logs_json)
        exit(CLI_USAGE);
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
    say(c, "note", format, arguments);
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
    {LK_ERANGE, CLI_CONFIG, NULL},
    {LK_EURL, CLI_CONFIG, "`latchkey help config` shows the forms"},
    {LK_ENOTSUP, CLI_CONFIG, "`latchkey help config` shows the forms"},
    {LK_EMISMATCH, CLI_CONFIG,
     "use the settings that the others use, or "
     "another name"},
    {LK_ETYPE, CLI_CONFIG, "use another name"},
    {LK_EBUSY, CLI_BUSY, NULL},
    {LK_ETIMEDOUT, CLI_BUSY, NULL},
    {LK_ECANCELED, CLI_BUSY, NULL},
    {LK_ECLOSED, CLI_BUSY, NULL},
    {LK_ENOTHELD, CLI_BUSY, "`latchkey ls` lists the names in use"},
    {LK_EGONE, CLI_BUSY, NULL},
    {LK_EUNSET, CLI_BUSY, NULL},
    {LK_EALREADY, CLI_BUSY, NULL},
    {LK_EUPGRADE, CLI_BUSY, NULL},
    {LK_ELOST, CLI_LOST, NULL},
    {LK_EINDOUBT, CLI_UNAVAILABLE,
     "look at the server's process and log, then try again"},
    {LK_EPENDING, CLI_UNAVAILABLE,
     "look at the server's process and log, and at what has come of it before "
     "you try again"},
    {LK_EOFFLINE, CLI_UNAVAILABLE, "start Redis there, or correct the URL"},
    {LK_ELOADING, CLI_UNAVAILABLE, "wait until it has loaded"},
    {LK_EREADONLY, CLI_UNAVAILABLE, "let the URL name the primary"},
    {LK_ESERVERMEM, CLI_UNAVAILABLE,
     "raise its maxmemory, or delete what nobody needs"},
    {LK_ESERVER, CLI_UNAVAILABLE, NULL},
    {LK_EPROTO, CLI_UNAVAILABLE, "let the URL name a Redis server"},
    {LK_EAUTH, CLI_DENIED,
     "check the user in the URL, and the password there, in "
     "LATCHKEY_PASSWORD or in the password file"},
    {LK_EDENIED, CLI_DENIED,
     "give the user this right; `latchkey doctor --name NAME` finds all"},
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

int cli_conflict_exit(lk_status status, uint64_t chosen)
{
    return status == LK_EBUSY || status == LK_ETIMEDOUT ? (int)chosen
                                                        : CLI_BUSY;
}

/* Of a script of the library, without the code it is told by. What a library
   goes on with in the background ends with the tool. */
const char *cli_error_words(void)
{
    const char *words = lk_last_error();
    size_t size = strspn(words, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

    if (strcmp(words, lk_status_text(LK_EINDOUBT)) == 0 ||
        strcmp(words, lk_status_text(LK_EPENDING)) == 0)
        return "it was sent, but no answer came";
    if (strstr(words, "WRONGTYPE ") != NULL) /* of a command, or of a script */
        return "one of its keys is of another type";
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

/* Where the password that was refused comes from; NULL: the URL, or none. */
static const char *password_from(const cli *c)
{
    return c->passwords_from[cli_cause_is_sentinels(lk_last_error())
                                 ? CLI_PASSWORD_SENTINELS
                                 : CLI_PASSWORD_SERVER];
}

/* Which server was meant is said by somebody: the URL may be wrong. */
static void put_origin(char *text, size_t size, const cli *c, lk_status status)
{
    bool is_of_url =
        status == LK_EOFFLINE || status == LK_EAUTH || status == LK_EPROTO;
    const char *other = status == LK_EAUTH ? password_from(c) : NULL;

    text[0] = '\0';
    if (is_of_url && c->is_local)
        (void)snprintf(text, size, "; it is the private server");
    else if (is_of_url && c->resolved_from != NULL)
        (void)snprintf(text, size, "; the URL comes from %s%s%s",
                       c->resolved_from,
                       other != NULL ? ", the password from " : "",
                       other != NULL ? other : "");
}

/* "redis://h:1/0 cannot be reached: ", where that is what failed. */
static void put_server(char *text, size_t size, lk_status status,
                       const cli_cause *cause, const char *server)
{
    text[0] = '\0';
    if (status == LK_EOFFLINE)
        (void)snprintf(text, size, "%s cannot be reached: ", server);
    else if (cause->words != NULL)
        (void)snprintf(text, size, "%s cannot be used: ", server);
}

/* The library's words say which name it is, quoted. */
static bool is_named(const char *words, const char *name)
{
    char quoted[132];

    (void)snprintf(quoted, sizeof(quoted), "'%s'", name);
    return strstr(words, quoted) != NULL;
}

enum { WORDS_MOST = 400 }; /* bytes, so that there is room for the advice */

/* What was not sent is not done: nothing goes on when the tool has ended. */
static lk_status status_of(lk_status status)
{
    return status == LK_EPENDING && cause_words() != cli_error_words()
               ? LK_EOFFLINE
               : status;
}

int cli_fail_status(const cli *c, lk_status said, const char *what)
{
    lk_status status = status_of(said);
    const struct remedy *remedy = remedy_find(status);
    const char *advice = remedy != NULL ? remedy->advice : NULL;
    const char *words =
        status == LK_EOFFLINE ? cause_words() : cli_error_words();
    char server[LK_URL_DESCRIPTION_SIZE];
    char at[LK_URL_DESCRIPTION_SIZE + 32];
    char origin[256];
    char name[128];
    cli_cause cause =
        cli_cause_find(status, words,
                       cli_server_words(c, server, sizeof(server)));

    (void)cli_clean(name, sizeof(name), what);
    put_origin(origin, sizeof(origin), c, status);
    put_server(at, sizeof(at), status, &cause, server);
    if (cause.advice != NULL)
        advice = cause.advice;
    if (cause.words != NULL)
        words = cause.words;
    if (is_named(words, name))
        name[0] = '\0';
    return cli_fail(c, cli_status_exit(status), "%s%s%s%.*s%s%s%s", name,
                    name[0] != '\0' ? ": " : "", at,
                    (int)cli_utf8_cut(words, WORDS_MOST), words,
                    advice != NULL ? "\n  " : "", advice != NULL ? advice : "",
                    origin);
}

int cli_fail_call(const cli *c, lk_status status, const char *what)
{
    return cli_fail_status(c, status == LK_ETIMEDOUT ? LK_EOFFLINE : status,
                           what);
}

/* The scheme that was meant by the start of a URL; NULL: it cannot be told, or
   stands there. */
static const char *scheme_meant(const char *url)
{
    static const char *const schemes[] = {"redis", "rediss", "valkey",
                                          "valkeys"};
    const char *end = strstr(url, "//");
    const char *near = NULL;
    char word[16];
    size_t distance;

    if (end == NULL || (size_t)(end - url) >= sizeof(word))
        return NULL;
    (void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(url, ":/"), url);
    distance = cli_nearness(word);
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t d = cli_distance(word, schemes[i]);

        if (d < distance) {
            distance = d;
            near = schemes[i];
        }
    }
    return distance == 0 && *(end - 1) == ':' ? NULL : near;
}

int cli_fail_url(const cli *c, lk_status status, const char *from)
{
    const struct remedy *remedy = remedy_find(status);
    bool has_advice = remedy != NULL && remedy->advice != NULL;
    /* What the library does not take of a setting is a wrong setting. */
    int code = status == LK_EINVAL ? CLI_CONFIG : cli_status_exit(status);
    const char *scheme = status == LK_EURL && c->resolved_url != NULL
                             ? scheme_meant(c->resolved_url)
                             : NULL;

    if (scheme != NULL)
        return cli_fail(c, code,
                        "the URL of %s: its scheme is not known\n"
                        "  did you mean %s://?",
                        from, scheme);
    return cli_fail(c, code, "the URL of %s: %s%s%s", from, lk_last_error(),
                    has_advice ? "\n  " : "", has_advice ? remedy->advice : "");
}
