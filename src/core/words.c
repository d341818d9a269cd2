/* SPDX-License-Identifier: MIT */

/* Lines of words, as in messages of the inbox and in exported holds. */

#include "core/words.h"

#include <string.h>

size_t lk__words_split(char *text, size_t most, char **words)
{
    size_t count = 0;

    while (count + 1 < most) {
        char *space = strchr(text, ' ');

        words[count++] = text;
        if (space == NULL)
            return count;
        *space = '\0';
        text = space + 1;
    }
    words[count++] = text;
    return count;
}
