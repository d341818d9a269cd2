/* SPDX-License-Identifier: MIT */

/*
 * What a peer may answer to a TLS handshake, and no server of the tests does:
 * alerts of others than Redis, an old version, and what is not TLS.
 */

#include <latchkey/latchkey.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/certificates.h"
#include "support/check.h"
#include "support/refused.h"
#include "support/socket.h"

/* What a connection keeps is 159 long, and this stands before it there. */
enum { MOST_WORDS = 159 - (sizeof("sentinel 255.255.255.255:65535: ") - 1) };

/* ---- the peer ---------------------------------------------------------------- */

/* Gives the same answer to the first bytes of each connection. */
typedef struct peer {
    const char *bytes;
    size_t size;
    uint16_t port;
    int listener;
    pthread_t thread;
} peer;

/* Ends when the listener is shut down. */
static void *peer_main(void *data)
{
    const peer *p = data;
    char heard[2048];
    int fd;

    while ((fd = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        (void)recv(fd, heard, sizeof(heard), 0);
        (void)send(fd, p->bytes, p->size, MSG_NOSIGNAL);
        (void)shutdown(fd, SHUT_WR);
        while (recv(fd, heard, sizeof(heard), 0) > 0)
            continue;
        (void)close(fd);
    }
    return NULL;
}

static void peer_start(peer *p, const char *bytes, size_t size)
{
    *p = (peer){.bytes = bytes, .size = size};
    p->listener = socket_listen_tcp(&p->port);
    assert_true(p->listener >= 0);
    assert_int_equal(fcntl(p->listener, F_SETFL, 0), 0);
    assert_int_equal(pthread_create(&p->thread, NULL, peer_main, p), 0);
}

static void peer_stop(peer *p)
{
    (void)shutdown(p->listener, SHUT_RDWR);
    (void)pthread_join(p->thread, NULL);
    (void)close(p->listener);
}

/* ---- what the client makes of it ------------------------------------------------ */

static void assert_answered(const char *bytes, size_t size, lk_status status,
                            const char *words)
{
    char url[320], path[128];
    lk_client *client = NULL;
    peer p;

    peer_start(&p, bytes, size);
    (void)snprintf(url, sizeof(url), "rediss://127.0.0.1:%u?tls_ca_file=%s",
                   p.port, certificates_path(path, "ca.crt"));
    assert_status(lk_client_open(&client, url, NULL), LK_OK);
    assert_refused(client, status, words);
    if (status == LK_EAUTH)
        assert_in_range(strlen(lk_last_error()), 1, MOST_WORDS);
    lk_client_free(client);
    peer_stop(&p);
}

/* A record with one fatal alert; its number is the last byte. */
CHECK_TEST(alerts_say_what_to_do)
{
    static const struct {
        const char bytes[8];
        lk_status status;
        const char *words;
    } alerts[] = {
        {"\x15\x03\x03\x00\x02\x02\x28", LK_EAUTH, "has no cipher in common"},
        {"\x15\x03\x03\x00\x02\x02\x2a", LK_EAUTH,
         "its key is too short, or it or the server's CRL is not valid yet"},
        {"\x15\x03\x03\x00\x02\x02\x2b", LK_EAUTH, "is not for clients"},
        {"\x15\x03\x03\x00\x02\x02\x2c", LK_EAUTH, "was revoked"},
        {"\x15\x03\x03\x00\x02\x02\x2d", LK_EAUTH,
         "has expired, or the server's list of revoked ones (CRL) has: renew "
         "that one"},
        {"\x15\x03\x03\x00\x02\x02\x2e", LK_EAUTH, "its log may say why"},
        {"\x15\x03\x03\x00\x02\x02\x30", LK_EAUTH,
         "does not trust the CA of the client's certificate (tls_cert_file), "
         "or "
         "lacks that CA's list of revoked ones (CRL)"},
        {"\x15\x03\x03\x00\x02\x02\x46", LK_ETIMEDOUT, "1.2 is the least"},
        {"\x15\x03\x03\x00\x02\x02\x74", LK_EAUTH, "wants a certificate"},
        {"\x15\x03\x03\x00\x02\x02\x50", LK_ETIMEDOUT, /* of no row */
         "TLS: tlsv1 alert internal error"},
    };

    for (size_t i = 0; i < sizeof(alerts) / sizeof(alerts[0]); i++)
        assert_answered(alerts[i].bytes, 7, alerts[i].status, alerts[i].words);
}

/* As one does that does not know the list of versions that it is sent. */
CHECK_TEST(a_server_that_chooses_1_1_is_refused)
{
    static const char hello[] = "\x16\x03\x02\x00\x2a" /* a handshake record */
                                "\x02\x00\x00\x26\x03\x02" /* a hello of 1.1 */
                                "0123456789abcdef0123456789abcdef"
                                "\x00\x00\x2f\x00"; /* no session, AES-128 */

    assert_answered(hello, sizeof(hello) - 1, LK_ETIMEDOUT,
                    "no version of TLS in common; 1.2 is the least");
}

/* A plain port of Redis says nothing to a handshake, unless it says no to all. */
CHECK_TEST(what_is_not_tls_is_named)
{
    static const char *const texts[] = {
        "-ERR max number of clients reached\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_answered(texts[i], strlen(texts[i]), LK_ETIMEDOUT,
                        "the server's answer is not TLS; perhaps its port is a "
                        "plain one: redis://");
}

int test_tls_words(void)
{
    if (certificates_folder() == NULL)
        return 1;
    return check_all(NULL, NULL);
}
