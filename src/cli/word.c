/* SPDX-License-Identifier: MIT */

#include "cli/word.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cli_word_find(const char *words, const char *text)
{
    size_t size = strlen(text);
    int index = 0;

    while (size > 0) {
        const char *end = strchr(words, '|');

        if (strncmp(words, text, size) == 0 &&
            (words[size] == '|' || words[size] == '\0'))
            return index;
        if (end == NULL)
            break;
        words = end + 1;
        index++;
    }
    return -1;
}

size_t cli_word_quotable(const char *text, size_t size)
{
    const char *scheme = strstr(text, "://");
    size_t before = scheme != NULL ? (size_t)(scheme - text) + 3 : size;

    return before < size ? before : size;
}

bool cli_word_is_number(const char *text)
{
    return text[strspn(text, "0123456789")] == '\0';
}

static bool is_executable(const char *path)
{
    struct stat found;

    return stat(path, &found) == 0 && S_ISREG(found.st_mode) &&
           access(path, X_OK) == 0;
}

bool cli_word_is_program(const char *text)
{
    const char *at = getenv("PATH");

    if (strchr(text, '/') != NULL)
        return is_executable(text);
    while (at != NULL && *at != '\0') {
        size_t size = strcspn(at, ":");
        char path[4096];

        (void)snprintf(path, sizeof(path), "%.*s/%s", (int)size, at, text);
        if (is_executable(path))
            return true;
        at += size + (at[size] == ':');
    }
    return false;
}

enum { WORD_MAX = 32 };

size_t cli_distance(const char *a, const char *b)
{
    size_t row[WORD_MAX + 1]; /* from what was read of a to each start of b */
    size_t b_size = strlen(b);

    if (b_size > WORD_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= b_size; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t corner = row[0];

        row[0] = i + 1;
        for (size_t j = 1; j <= b_size; j++) {
            size_t changed = corner + (a[i] != b[j - 1]);
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

            corner = row[j];
            row[j] = changed < least ? changed : least;
        }
    }
    return row[b_size];
}

size_t cli_nearness(const char *word)
{
    return strlen(word) > 2 ? 3 : 2;
}
