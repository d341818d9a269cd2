/* SPDX-License-Identifier: MIT */

#include "cli/output.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/utf8.h"

/* ---- colours ------------------------------------------------------------ */

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value != NULL && value[0] != '\0';
}

bool cli_color(const cli *c, FILE *to)
{
    const char *terminal = getenv("TERM");
    const char *force = getenv("CLICOLOR_FORCE");

    if (c->color != CLI_COLOR_AUTO)
        return c->color == CLI_COLOR_ALWAYS;
    if (is_set("NO_COLOR"))
        return false;
    if (force != NULL && force[0] != '\0' && strcmp(force, "0") != 0)
        return true;
    return isatty(fileno(to)) != 0 && terminal != NULL &&
           strcmp(terminal, "dumb") != 0;
}

void cli_paint(const cli *c, FILE *to, cli_style style)
{
    static const char *const codes[] =
        {[CLI_PLAIN] = "\033[0m",  [CLI_BOLD] = "\033[1m",
         [CLI_FAINT] = "\033[2m",  [CLI_RED] = "\033[31m",
         [CLI_GREEN] = "\033[32m", [CLI_YELLOW] = "\033[33m"};

    if (cli_color(c, to))
        (void)fputs(codes[style], to);
}

cli cli_painting(const cli *c, FILE *to)
{
    cli painting = *c;

    painting.color = cli_color(c, to) ? CLI_COLOR_ALWAYS : CLI_COLOR_NEVER;
    return painting;
}

int cli_columns(FILE *to)
{
    const char *told = getenv("COLUMNS");
    long columns = told != NULL ? strtol(told, NULL, 10) : 0;
    struct winsize size;

    if (columns > 0 && columns < INT_MAX)
        return (int)columns;
    if (ioctl(fileno(to), TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col;
}

int cli_columns_bound(FILE *to)
{
    return isatty(fileno(to)) != 0 || getenv("COLUMNS") != NULL
               ? cli_columns(to)
               : CLI_UNBOUND;
}

/* ---- words -------------------------------------------------------------- */

const char *cli_time_words(char text[CLI_TIME_SIZE], uint64_t ms)
{
    uint64_t s = ms / 1000;
    uint64_t days = s / 86400;

    if (ms < 10000)
        (void)snprintf(text, CLI_TIME_SIZE, "%" PRIu64 ".%02" PRIu64 " s", s,
                       ms % 1000 / 10);
    else if (s < 3600)
        (void)snprintf(text, CLI_TIME_SIZE, "%" PRIu64 ":%02" PRIu64, s / 60,
                       s % 60);
    else if (days == 0)
        (void)snprintf(text, CLI_TIME_SIZE,
                       "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600,
                       s / 60 % 60, s % 60);
    else
        (void)snprintf(text, CLI_TIME_SIZE, "%" PRIu64 "d %" PRIu64 "h", days,
                       s / 3600 % 24);
    return text;
}

void cli_put_date(FILE *to, bool has_day, int64_t unix_ms)
{
    const time_t seconds = (time_t)(unix_ms / 1000);
    struct tm local;
    char text[32] = "?";

    if (localtime_r(&seconds, &local) != NULL)
        (void)strftime(text, sizeof(text),
                       has_day ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &local);
    (void)fputs(text, to);
}

/* Says at the end of what there is room for that there is more. */
static void put_mark(char *to, size_t used, size_t size)
{
    const char *mark = cli_utf8_mark();

    to[used] = '\0';
    used = cli_utf8_cut(to, size - strlen(mark) - 1);
    memcpy(to + used, mark, strlen(mark) + 1);
}

const char *cli_clean(char *to, size_t size, const char *text)
{
    char shown[CLI_UTF8_SHOWN];
    size_t used = 0;

    while (*text != '\0') {
        size_t length = cli_utf8_show(&text, shown);

        if (used + length >= size) {
            put_mark(to, used, size);
            return to;
        }
        memcpy(to + used, shown, length);
        used += length;
    }
    to[used] = '\0';
    return to;
}

const char *cli_clean_part(char *to, size_t size, const char *text, int columns)
{
    char whole[2560]; /* nothing that others write is as long when cleaned */

    (void)cli_clean(whole, sizeof(whole) - CLI_UTF8_SHOWN, text);
    cli_utf8_shorten(whole, columns);
    return cli_clean(to, size, whole);
}

void cli_put_clean(FILE *to, const char *text)
{
    char shown[CLI_UTF8_SHOWN];

    while (*text != '\0') {
        (void)cli_utf8_show(&text, shown);
        (void)fputs(shown, to);
    }
}

/* ---- lines --------------------------------------------------------------- */

enum { CONTINUED = 4 }; /* columns that the rest of a line stands further in */

/* Columns of a word of ours, in which the escape sequences of cli_paint() are. */
static int word_width(const char *word, size_t size)
{
    int width = 0;

    for (size_t i = 0; i < size;) {
        if (word[i] == '\033') {
            while (i < size && word[i] != 'm')
                i++;
            i++;
        } else {
            char one[CLI_UTF8_SHOWN] = "";
            size_t length = cli_utf8_read(word + i, NULL);

            length = length > 0 ? length : 1;
            memcpy(one, word + i, length);
            width += cli_utf8_width(one);
            i += length;
        }
    }
    return width;
}

/* Whether a byte stands between words. */
static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\n';
}

/* Words of one line, or of several that become one. The first word stands at
   column at in any case. */
static void put_words(FILE *to, const char *words, size_t size, int at,
                      int indent, int columns)
{
    const char *const end = words + size;
    bool is_first = true;

    while (words < end) {
        int blanks = 0;
        int word = 0;
        int width;

        while (words + blanks < end && is_blank(words[blanks]))
            blanks++;
        words += blanks;
        while (words + word < end && !is_blank(words[word]))
            word++;
        width = word_width(words, (size_t)word);
        if (is_first || at + blanks + width <= columns) {
            (void)fprintf(to, "%*s%.*s", blanks, "", word, words);
            at += blanks + width;
        } else {
            (void)fprintf(to, "\n%*s%.*s", indent, "", word, words);
            at = indent + width;
        }
        is_first = false;
        words += word;
    }
}

void cli_put_filled(FILE *to, const char *text, int at, int columns)
{
    put_words(to, text, strlen(text), at, at, columns);
    (void)fputc('\n', to);
}

void cli_put_wrapped(FILE *to, const char *text, int columns)
{
    while (*text != '\0') {
        int size = (int)strcspn(text, "\n");

        if (columns == CLI_UNBOUND)
            (void)fprintf(to, "%.*s", size, text);
        else
            put_words(to, text, (size_t)size, 0,
                      (int)strspn(text, " ") + CONTINUED, columns);
        text += size;
        if (*text == '\n')
            (void)fputc(*text++, to);
    }
}

/* ---- the end ------------------------------------------------------------ */

/* Why standard output failed, as far as it is known; 0: it did not, or in the
   middle of a line of ours. */
static int stream_error;

bool cli_flush(void)
{
    if (fflush(stdout) != 0 && stream_error == 0)
        stream_error = errno;
    return stream_error == 0 && ferror(stdout) == 0;
}

/* Whether nobody reads any more. */
static bool is_broken_pipe(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return stream_error == EPIPE ||
           (stream_error == 0 && poll(&out, 1, 0) == 1 &&
            (out.revents & POLLERR) != 0);
}

int cli_finish(int code)
{
    static bool is_finished;
    bool is_good;
    bool is_quiet;

    if (is_finished)
        return code;
    is_finished = true;
    is_good = cli_flush();
    is_quiet = is_good || is_broken_pipe();
    /* What close() says counts: NFS tells of a full disk there. */
    if (close(STDOUT_FILENO) != 0 && errno != EBADF) {
        stream_error = stream_error != 0 ? stream_error : errno;
        is_good = false;
        is_quiet = false;
    }
    if (is_good)
        return code;
    if (!is_quiet)
        (void)fprintf(stderr, "latchkey: standard output: %s\n",
                      stream_error != 0 ? strerror(stream_error)
                                        : "not all of it could be written");
    return code == CLI_OK ? CLI_LOST : code;
}
