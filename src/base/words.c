/* SPDX-License-Identifier: MIT */

/* Lines of words, as in messages of the inbox and in exported holds. */

#include "base/words.h"

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

bool lk__word_count(const char *word, uint64_t most, uint64_t *ret_count)
{
    if (strcmp(word, "0") != 0)
        return lk__word_number(word, most, ret_count);
    *ret_count = 0;
    return true;
}

bool lk__word_number(const char *word, uint64_t most, uint64_t *ret_number)
{
    uint64_t number = 0;

    if (*word == '\0' || *word == '0')
        return false;
    for (; *word != '\0'; word++) {
        uint64_t digit = (uint64_t)(unsigned char)*word - '0';

        if (digit > 9 || digit > most || number > (most - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *ret_number = number;
    return true;
}
