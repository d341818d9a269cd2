/* SPDX-License-Identifier: MIT */

#include "cli/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"
#include "cli/utf8.h"

/* To the start of what was drawn before. */
static void go_back(const cli_line *line, FILE *to)
{
    (void)fputc('\r', to);
    if (line->drawn > 1)
        (void)fprintf(to, "\033[%dA", line->drawn - 1);
}

/* One column is left free: a full line would scroll. */
static char *wrapped(const char *text)
{
    char *whole = NULL;
    size_t size;
    FILE *to = open_memstream(&whole, &size);

    if (to == NULL)
        return NULL;
    cli_put_wrapped(to, text, cli_columns(stderr) - 1);
    if (fclose(to) == 0)
        return whole;
    free(whole);
    return NULL;
}

/* A word that is wider than the terminal is parted here: the lines have to be as
   many as are counted. */
static int put_lines(FILE *to, const char *text)
{
    int columns = cli_columns(stderr) - 1;
    int count = 0;

    while (*text != '\0') {
        size_t size = cli_utf8_fit(text, columns);
        size_t end = strcspn(text, "\n");

        if (size == 0) /* one that is wider than the terminal */
            size = end;
        if (size > end)
            size = end;
        (void)fprintf(to, "%s%.*s\033[K", count > 0 ? "\r\n" : "", (int)size,
                      text);
        text += size;
        text += *text == '\n';
        count++;
    }
    return count;
}

/* In one write, so that nothing flickers. */
void cli_line_draw(cli_line *line, const char *text)
{
    char *lines = wrapped(text);
    char *whole = NULL;
    size_t size;
    FILE *to = lines != NULL ? open_memstream(&whole, &size) : NULL;
    int count;

    if (to == NULL) {
        free(lines);
        return;
    }
    go_back(line, to);
    count = put_lines(to, lines);
    if (count < line->drawn)
        (void)fputs("\033[J", to);
    line->drawn = count;
    if (fclose(to) == 0) {
        (void)cli_flush();
        (void)fwrite(whole, 1, size, stderr);
    }
    free(whole);
    free(lines);
}

void cli_line_clear(cli_line *line)
{
    if (line->drawn > 0) {
        go_back(line, stderr);
        (void)fputs(line->drawn > 1 ? "\033[J" : "\033[K", stderr);
    }
    line->drawn = 0;
}

void cli_line_leave(cli_line *line)
{
    line->drawn = 0;
}
