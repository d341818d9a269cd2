#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes throw-away certificates in a folder: a CA, another one, and what
# certificates.h names. What OpenSSL writes is shown if something fails.

set -eu
cd "$1"
exec 3>&2 2>log
trap '[ $? -eq 0 ] || cat log >&3' EXIT

key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'

# authority <name>: a CA, which nobody else trusts.
authority()
{
    # shellcheck disable=SC2086 # several words
    openssl req -x509 $key -days 2 -subj "/CN=$1" -keyout "$1.key" -out "$1.crt"
}

# request <name> <alternative names>: what is to be signed. Behind the names there
# may be lines of other extensions.
request()
{
    printf 'subjectAltName=%s\n' "$2" >"$1.ext"
    # shellcheck disable=SC2086
    openssl req $key -subj "/CN=$1" -keyout "$1.key" -out "$1.csr"
}

# leaf <name> <alternative names> [<CA>]: signed by ca, or by that one
leaf()
{
    request "$1" "$2"
    openssl x509 -req -in "$1.csr" -CA "${3-ca}.crt" -CAkey "${3-ca}.key" -CAcreateserial \
        -days 2 -extfile "$1.ext" -out "$1.crt"
}

# dated <name> <year> <alternative names>: valid in January of that year alone
dated()
{
    request "$1" "$3"
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
        -startdate "$2"0101000000Z -enddate "$2"0201000000Z -extfile "$1.ext" \
        -in "$1.csr" -out "$1.crt"
}

authority ca
authority other
leaf server 'DNS:localhost,IP:127.0.0.1'
leaf named 'DNS:localhost'
dated expired 2020 'DNS:localhost,IP:127.0.0.1'
leaf stranger 'DNS:elsewhere.example,IP:192.0.2.1'
leaf client 'DNS:client.example'
dated stale 2020 'DNS:client.example'
leaf foreign 'DNS:client.example' other
dated unborn 2099 'DNS:client.example'
leaf serving 'DNS:client.example
extendedKeyUsage=serverAuth'
leaf narrow 'DNS:narrow.example
basicConstraints=critical,CA:TRUE
nameConstraints=permitted;DNS:elsewhere.example'
leaf outside 'DNS:client.example' narrow
cat narrow.crt >>outside.crt
mkdir trusted
cp ca.crt trusted/ours.pem
openssl rehash trusted
openssl pkey -in client.key -aes256 -passout pass:hush -out locked.key
cat client.crt client.key >client.pem
