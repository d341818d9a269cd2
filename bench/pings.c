/* SPDX-License-Identifier: MIT */
#include "pings.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "measure.h"
#include "server.h"

enum { EVERY_NS = 500000 };

#define TURN_NS UINT64_C(1000000000)

pings pings_new(unsigned turns)
{
    size_t room = turns * (TURN_NS / EVERY_NS + 1);

    return (pings){.us = memory_new(room, sizeof(double))};
}

void pings_free(pings *p)
{
    free(p->us);
}

void pings_turn(pings *p, redisContext *const *to, unsigned count,
                unsigned turn)
{
    uint64_t until = now_ns() + TURN_NS;
    size_t most = p->count + TURN_NS / EVERY_NS;

    while (now_ns() < until && p->count < most) {
        uint64_t begin = now_ns();

        server_do(to[p->count % count], "PING");
        p->us[p->count++] = (double)(now_ns() - begin) / 1e3;
        sleep_ns(EVERY_NS);
    }
    p->ends[turn] = p->count;
}

void pings_settle(pings *p, const double *noise, double limit, unsigned turns)
{
    size_t kept = 0;

    for (unsigned i = 0; i < turns; i++) {
        size_t begin = i == 0 ? 0 : p->ends[i - 1];

        for (size_t at = begin; noise[i] <= limit && at < p->ends[i]; at++)
            p->us[kept++] = p->us[at];
    }
    p->count = kept;
}

double pings_at(pings *p, double part)
{
    return quantile(p->us, p->count, part) / 1e3;
}

void pings_show(const char *word, pings *p)
{
    printf("PING %s: %zu, median %.3f ms, p99 %.3f, p99.9 %.3f, worst %.3f\n",
           word, p->count, pings_at(p, 0.5), pings_at(p, 0.99),
           pings_at(p, 0.999), pings_at(p, 1));
}
