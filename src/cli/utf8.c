/* SPDX-License-Identifier: MIT */

#include "cli/utf8.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* Bytes of a character that begins with this one; 0: none does. */
static size_t length_of(unsigned char first)
{
    if (first < 0x80)
        return first != 0;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

size_t cli_utf8_read(const char *text, uint32_t *ret_code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    size_t length = length_of(at[0]);
    uint32_t code = length > 1 ? at[0] & (0x7fU >> length) : at[0];

    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    if (length == 0 || code < least[length] || code > 0x10ffff ||
        (code >= 0xd800 && code <= 0xdfff))
        return 0;
    if (ret_code != NULL)
        *ret_code = code;
    return length;
}

bool cli_utf8_is_control(uint32_t code)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0, 0x1f},        {0x7f, 0x9f},
                  {0x61c, 0x61c},    /* Arabic letter mark */
                  {0x200e, 0x200f},  /* marks of a direction */
                  {0x2028, 0x202e},  /* ends of lines; embeddings, overrides */
                  {0x2066, 0x2069}}; /* isolates */

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (code >= ranges[i].first && code <= ranges[i].last)
            return true;
    }
    return false;
}

bool cli_utf8_is_plain(const char *text)
{
    while (*text != '\0') {
        uint32_t code = 0;
        const size_t length = cli_utf8_read(text, &code);

        if (length == 0 || cli_utf8_is_control(code))
            return false;
        text += length;
    }
    return true;
}

size_t cli_utf8_show(const char **text, char shown[CLI_UTF8_SHOWN])
{
    uint32_t code = (unsigned char)**text;
    size_t length = cli_utf8_read(*text, &code);
    bool is_byte = length == 0 || code < 0x80;
    int size;

    if (length > 0 && !cli_utf8_is_control(code)) {
        memcpy(shown, *text, length);
        shown[length] = '\0';
        *text += length;
        return length;
    }
    size = snprintf(shown, CLI_UTF8_SHOWN,
                    is_byte ? "\\x%02" PRIx32 : "\\u%04" PRIx32, code);
    *text += length > 0 ? length : 1;
    return (size_t)size;
}

/* ---- columns ------------------------------------------------------------ */

/* The locale of the environment may be one that knows no such characters, and
   other threads keep theirs. What is not known takes one column. */
static int width_of(uint32_t code)
{
    static locale_t characters;
    locale_t before;
    int width;

    if (code < 0x80)
        return 1;
    if (characters == (locale_t)0)
        characters = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (characters == (locale_t)0)
        return 1;
    before = uselocale(characters);
    width = wcwidth((wchar_t)code);
    (void)uselocale(before);
    return width >= 0 ? width : 1;
}

/* One character, or one byte that belongs to none, which takes one column. */
typedef struct one {
    size_t size;
    uint32_t code;
    int width;
} one;

static one one_read(const char *text)
{
    one it = {.size = 1, .code = 0xfffd, .width = 1};
    const size_t length = cli_utf8_read(text, &it.code);

    if (length > 0) {
        it.size = length;
        it.width = width_of(it.code);
    }
    return it;
}

/* Whether two are seen as one: an accent over a letter, a colour of skin, and
   what a joiner joins. */
static bool is_joined(uint32_t before, const one *next)
{
    enum { JOINER = 0x200d, FIRST_SKIN = 0x1f3fb, LAST_SKIN = 0x1f3ff };

    return next->width == 0 || before == JOINER ||
           (next->code >= FIRST_SKIN && next->code <= LAST_SKIN);
}

/* Bytes of what is seen as one character, of a text that is not empty. */
static size_t seen_read(const char *text, int *ret_width)
{
    one it = one_read(text);
    size_t size = it.size;

    *ret_width = it.width;
    while (text[size] != '\0') {
        const uint32_t before = it.code;

        it = one_read(text + size);
        if (!is_joined(before, &it))
            break;
        size += it.size;
        *ret_width += it.width;
    }
    return size;
}

size_t cli_utf8_fit(const char *text, int columns)
{
    const char *at = text;

    while (*at != '\0') {
        int width;
        const size_t size = seen_read(at, &width);

        if (width > columns)
            break;
        columns -= width;
        at += size;
    }
    return (size_t)(at - text);
}

size_t cli_utf8_cut(const char *text, size_t most)
{
    size_t size = 0;

    while (text[size] != '\0') {
        int width;
        const size_t next = seen_read(text + size, &width);

        if (next > most - size)
            break;
        size += next;
    }
    return size;
}

void cli_utf8_finish(char *text)
{
    const size_t size = strlen(text);
    size_t at = size;

    while (at > 0 && ((unsigned char)text[at - 1] & 0xc0) == 0x80)
        at--;
    if (at > 0 && length_of((unsigned char)text[at - 1]) > size - at + 1)
        text[at - 1] = '\0';
}

int cli_utf8_width(const char *text)
{
    int width = 0;

    while (*text != '\0') {
        const one it = one_read(text);

        width += it.width;
        text += it.size;
    }
    return width;
}

const char *cli_utf8_mark(void)
{
    static const char *mark;
    locale_t users;

    if (mark != NULL)
        return mark;
    mark = "~";
    users = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (users == (locale_t)0)
        return mark;
    if (strcmp(nl_langinfo_l(CODESET, users), "UTF-8") == 0)
        mark = "\342\200\246";
    freelocale(users);
    return mark;
}

void cli_utf8_shorten(char *text, int columns)
{
    const char *mark = cli_utf8_mark();
    const size_t size = strlen(mark);
    const int width = cli_utf8_width(text);
    const int most = columns > 1 ? columns : 1;
    const int behind = most / 2;
    const char *tail = text;
    size_t head;

    if (width <= most)
        return;
    head = cli_utf8_fit(text, most - behind - 1);
    tail += cli_utf8_fit(text, width - behind);
    while (cli_utf8_width(tail) >
           behind) { /* a part of a wide one is left over */
        int wide;

        tail += seen_read(tail, &wide);
    }
    (void)memmove(text + head + size, tail, strlen(tail) + 1);
    for (size_t i = 0; i < size; i++)
        text[head + i] = mark[i];
}
