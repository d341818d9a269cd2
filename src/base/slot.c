/* SPDX-License-Identifier: MIT */

/* In which slot of a cluster a key lies. */

#include "base/slot.h"

#include <stdint.h>
#include <string.h>

/* What is hashed of a key. */
static const char *tag_of(const char *key, size_t *size)
{
    const char *open = memchr(key, '{', *size);
    const char *close =
        open != NULL ? memchr(open, '}', *size - (size_t)(open - key)) : NULL;

    if (close == NULL || close == open + 1)
        return key;
    *size = (size_t)(close - open) - 1;
    return open + 1;
}

/* CRC-16 of the polynomial 0x1021, from 0 on, four bits at a time. */
static uint16_t crc16(const char *bytes, size_t size)
{
    static const uint16_t steps[16] = {0x0000, 0x1021, 0x2042, 0x3063,
                                       0x4084, 0x50a5, 0x60c6, 0x70e7,
                                       0x8108, 0x9129, 0xa14a, 0xb16b,
                                       0xc18c, 0xd1ad, 0xe1ce, 0xf1ef};
    uint16_t crc = 0;

    for (size_t i = 0; i < size; i++) {
        unsigned byte = (unsigned char)bytes[i];

        crc = (uint16_t)(crc << 4) ^ steps[(crc >> 12) ^ (byte >> 4)];
        crc = (uint16_t)(crc << 4) ^ steps[(crc >> 12) ^ (byte & 15)];
    }
    return crc;
}

unsigned lk__slot_of(const char *key, size_t size)
{
    const char *tag = tag_of(key, &size);

    return crc16(tag, size) % LK__SLOTS;
}

bool lk__keys_share_slot(const char *a, const char *b)
{
    size_t a_size = strlen(a), b_size = strlen(b);
    const char *a_tag = tag_of(a, &a_size);
    const char *b_tag = tag_of(b, &b_size);

    return a_size == b_size && memcmp(a_tag, b_tag, a_size) == 0;
}
