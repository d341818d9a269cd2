/* SPDX-License-Identifier: MIT */

/* SHA-1 (FIPS 180-4), for the names of scripts. */

#include <stdio.h>
#include <string.h>

#include "server/memory.h"

static uint32_t rotate(uint32_t word, unsigned by)
{
    return word << by | word >> (32 - by);
}

static uint32_t mix(unsigned round, const uint32_t h[5])
{
    if (round < 20)
        return ((h[1] & h[2]) | (~h[1] & h[3])) + UINT32_C(0x5a827999);
    if (round < 40)
        return (h[1] ^ h[2] ^ h[3]) + UINT32_C(0x6ed9eba1);
    if (round < 60)
        return ((h[1] & h[2]) | (h[1] & h[3]) | (h[2] & h[3])) +
               UINT32_C(0x8f1bbcdc);
    return (h[1] ^ h[2] ^ h[3]) + UINT32_C(0xca62c1d6);
}

static void block(uint32_t state[5], const unsigned char *bytes)
{
    uint32_t words[80], h[5];

    for (unsigned i = 0; i < 16; i++) {
        const unsigned char *at = bytes + (size_t)4 * i;

        words[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 |
                   (uint32_t)at[2] << 8 | at[3];
    }
    for (unsigned i = 16; i < 80; i++)
        words[i] =
            rotate(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16],
                   1);
    memcpy(h, state, sizeof(h));
    for (unsigned i = 0; i < 80; i++) {
        uint32_t next = rotate(h[0], 5) + mix(i, h) + h[4] + words[i];

        h[4] = h[3];
        h[3] = h[2];
        h[2] = rotate(h[1], 30);
        h[1] = h[0];
        h[0] = next;
    }
    for (unsigned i = 0; i < 5; i++)
        state[i] += h[i];
}

/* The bytes behind the last whole block, the padding and the length. */
static void last_blocks(uint32_t state[5], const unsigned char *rest,
                        size_t size, uint64_t bits)
{
    unsigned char bytes[128] = {0};
    size_t end = size < 56 ? 64 : 128;

    if (size > 0)
        memcpy(bytes, rest, size);
    bytes[size] = 0x80;
    for (size_t i = 0; i < 8; i++)
        bytes[end - 1 - i] = (unsigned char)(bits >> 8 * i);
    for (size_t i = 0; i < end; i += 64)
        block(state, bytes + i);
}

void sim_sha1(char *digest, sim_str str)
{
    uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                         0xc3d2e1f0};
    const unsigned char *bytes = (const unsigned char *)str.bytes;
    size_t done = 0;

    for (; done + 64 <= str.size; done += 64)
        block(state, bytes + done);
    last_blocks(state, bytes + done, str.size - done, (uint64_t)str.size * 8);
    for (unsigned i = 0; i < 5; i++)
        snprintf(digest + (size_t)8 * i, 9, "%08x", (unsigned)state[i]);
}
