#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes throw-away certificates in a folder: a CA, another one, and what
# certificates.h names. OpenSSL's words go to a log there.

set -eu
cd "$1"
exec 2>log

key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'

# authority <name>: a CA, which nobody else trusts.
authority()
{
    # shellcheck disable=SC2086 # several words
    openssl req -x509 $key -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.crt"
}

# leaf <name> <days> <alternative names> [<CA>]: signed by ca, or by that one. Behind
# the names there may be lines of other extensions.
leaf()
{
    printf 'subjectAltName=%s\n' "$3" >"$1.ext"
    # shellcheck disable=SC2086
    openssl req $key -subj "/CN=$1" -keyout "$1.key" -out "$1.csr"
    openssl x509 -req -in "$1.csr" -CA "${4-ca}.crt" -CAkey "${4-ca}.key" -CAcreateserial \
        -days "$2" -extfile "$1.ext" -out "$1.crt"
}

# unborn <name>: one that is not valid before the year 2099.
unborn()
{
    # shellcheck disable=SC2086
    openssl req $key -subj "/CN=$1" -keyout "$1.key" -out "$1.csr"
    : >"$1.index"
    cat >"$1.cnf" <<EOF
[ca]
default_ca = it
[it]
database = $1.index
rand_serial = yes
new_certs_dir = .
policy = any
[any]
commonName = supplied
EOF
    openssl ca -batch -notext -config "$1.cnf" -md sha256 -cert ca.crt -keyfile ca.key \
        -startdate 20990101000000Z -enddate 20990201000000Z -in "$1.csr" -out "$1.crt"
}

authority ca
authority other
leaf server 2 'DNS:localhost,IP:127.0.0.1'
leaf named 2 'DNS:localhost'
leaf expired -1 'DNS:localhost,IP:127.0.0.1'
leaf stranger 2 'DNS:elsewhere.example,IP:192.0.2.1'
leaf client 2 'DNS:client.example'
leaf stale -1 'DNS:client.example'
leaf foreign 2 'DNS:client.example' other
unborn unborn
leaf serving 2 'DNS:client.example
extendedKeyUsage=serverAuth'
leaf narrow 2 'DNS:narrow.example
basicConstraints=critical,CA:TRUE
nameConstraints=permitted;DNS:elsewhere.example'
leaf outside 2 'DNS:client.example' narrow
cat narrow.crt >>outside.crt
mkdir trusted
cp ca.crt trusted/ours.pem
openssl rehash trusted
openssl pkey -in client.key -aes256 -passout pass:hush -out locked.key
cat client.crt client.key >client.pem
