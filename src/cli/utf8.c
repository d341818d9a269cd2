/* SPDX-License-Identifier: MIT */

#include "cli/utf8.h"

#include <stdint.h>

size_t cli_utf8_length(const char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    uint32_t code;
    size_t length;

    if (at[0] == '\0')
        return 0;
    if (at[0] < 0x80)
        return 1;
    if (at[0] < 0xc2 || at[0] > 0xf4)
        return 0;
    length = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    code = at[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (at[i] & 0x3f);
    }
    if (code < least[length] || code > 0x10ffff ||
        (code >= 0xd800 && code <= 0xdfff))
        return 0;
    return length;
}

bool cli_utf8_is_control(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;

    return at[0] < 0x20 || at[0] == 0x7f ||
           (at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0);
}
