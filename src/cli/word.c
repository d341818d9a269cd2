/* SPDX-License-Identifier: MIT */

#include "cli/word.h"

#include <string.h>

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
