/* SPDX-License-Identifier: MIT */
#include "tls_bare.h"

#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bare_scripts.h"
#include "measure.h"
#include "server.h"

enum { BYTES = 64 * 1024 };

typedef struct wire {
    int fd;
    SSL_CTX *context; /* NULL: no TLS */
    SSL *ssl;
    redisReader *reader;
} wire;

/* All commands of a step, as they are sent. */
typedef struct batch {
    char *bytes;
    size_t size;
    unsigned count;
} batch;

/* ---- the socket ----------------------------------------------------------- */

static int dial(unsigned port)
{
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_port = htons((uint16_t)port),
                                        .sin_addr.s_addr =
                                            htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

    if (fd < 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)) != 0)
        err(1, "no connection");
    return fd;
}

/* It reads all that has come at once, as the other side does. */
static void encrypt(wire *w, const char *certificate)
{
    w->context = SSL_CTX_new(TLS_client_method());
    if (w->context == NULL ||
        SSL_CTX_load_verify_file(w->context, certificate) != 1)
        errx(1, "no TLS");
    SSL_CTX_set_verify(w->context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_read_ahead(w->context, 1);
    w->ssl = SSL_new(w->context);
    if (w->ssl == NULL || SSL_set_fd(w->ssl, w->fd) != 1 ||
        SSL_connect(w->ssl) != 1)
        errx(1, "no TLS");
}

static wire wire_open(unsigned port, const char *certificate)
{
    wire w = {.fd = dial(port), .reader = redisReaderCreate()};

    if (w.reader == NULL)
        errx(1, "out of memory");
    if (certificate != NULL)
        encrypt(&w, certificate);
    return w;
}

static void wire_close(wire *w)
{
    SSL_free(w->ssl);
    SSL_CTX_free(w->context);
    redisReaderFree(w->reader);
    (void)close(w->fd);
}

static void wire_write(const wire *w, const batch *b)
{
    bool is_sent;

    if (w->ssl != NULL)
        is_sent = SSL_write(w->ssl, b->bytes, (int)b->size) == (int)b->size;
    else
        is_sent = send(w->fd, b->bytes, b->size, 0) == (ssize_t)b->size;
    if (!is_sent)
        errx(1, "the server has gone");
}

static void wire_read(const wire *w)
{
    static char bytes[BYTES];
    ssize_t size = w->ssl != NULL ? SSL_read(w->ssl, bytes, sizeof(bytes))
                                  : recv(w->fd, bytes, sizeof(bytes), 0);

    if (size <= 0 ||
        redisReaderFeed(w->reader, bytes, (size_t)size) != REDIS_OK)
        errx(1, "the server has gone");
}

/* ---- steps ---------------------------------------------------------------- */

static void batch_add(batch *b, script which, unsigned index)
{
    char *command = NULL, *bytes;
    int size =
        redisFormatCommand(&command,
                           "EVALSHA %s 2 bare:{%u} bare:{%u}:free 30000 %s",
                           script_sha(which), index, index,
                           "6ea25c1f-0d2b-4a7e-9d3c-5f1b7a90c2de:17");

    if (size <= 0)
        errx(1, "out of memory");
    bytes = realloc(b->bytes, b->size + (size_t)size);
    if (bytes == NULL)
        errx(1, "out of memory");
    memcpy(bytes + b->size, command, (size_t)size);
    redisFreeCommand(command);
    b->bytes = bytes;
    b->size += (size_t)size;
    b->count++;
}

static void step(const wire *w, const batch *b)
{
    unsigned answers = 0;

    wire_write(w, b);
    while (answers < b->count) {
        void *reply = NULL;

        if (redisReaderGetReply(w->reader, &reply) != REDIS_OK)
            errx(1, "the server: %s", w->reader->errstr);
        if (reply == NULL) {
            wire_read(w);
            continue;
        }
        if (((redisReply *)reply)->type == REDIS_REPLY_ERROR)
            errx(1, "the server: %s", ((redisReply *)reply)->str);
        freeReplyObject(reply);
        answers++;
    }
}

double tls_bare_rate(unsigned port, const char *certificate, unsigned depth)
{
    wire w = wire_open(port, certificate);
    batch take = {0}, give = {0};
    uint64_t begin = now_ns() + scaled_ns(WARM_UP_NS), now, pairs = 0;

    for (unsigned i = 0; i < depth; i++) {
        batch_add(&take, SCRIPT_HASH, i);
        batch_add(&give, SCRIPT_UNHASH, i);
    }
    while (now_ns() < begin) {
        step(&w, &take);
        step(&w, &give);
    }
    begin = now_ns();
    do {
        step(&w, &take);
        step(&w, &give);
        pairs += depth;
        now = now_ns();
    } while (now - begin < scaled_ns(ROUND_NS));
    free(take.bytes);
    free(give.bytes);
    wire_close(&w);
    return (double)pairs * 1e9 / (double)(now - begin);
}
