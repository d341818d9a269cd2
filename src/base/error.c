/* SPDX-License-Identifier: MIT */

/* The last failure's words, one buffer for each thread. */

#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_SIZE = 256 };

static _Thread_local char words[WORDS_SIZE];

void lk__error_clear(void)
{
    words[0] = '\0';
}

/* The size without what is left of a character at the end, where it was cut. */
static size_t whole(const char *text, size_t size)
{
    size_t at = size;
    unsigned char first;
    size_t length;

    while (at > 0 && ((unsigned char)text[at - 1] & 0xc0) == 0x80)
        at--;
    if (at == 0)
        return size;
    first = (unsigned char)text[at - 1];
    length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    return length > size - at + 1 ? at - 1 : size;
}

void lk__error_set(const char *text)
{
    size_t size = 0;

    if (text == NULL)
        text = "";
    for (; size < WORDS_SIZE - 1 && text[size] != '\0'; size++) {
        unsigned char byte = (unsigned char)text[size];

        words[size] = byte < 0x20 || byte == 0x7f ? '?' : text[size];
    }
    words[whole(words, size)] = '\0';
}

lk_status lk__fail(lk_status status, const char *format, ...)
{
    char text[WORDS_SIZE]; /* an argument may be the old words */
    int saved = errno;
    va_list args;

    va_start(args, format);
    if (vsnprintf(text, sizeof(text), format, args) < 0)
        text[0] = '\0';
    va_end(args);
    lk__error_set(text);
    errno = saved;
    return status;
}

const char *lk_last_error(void)
{
    return words;
}
