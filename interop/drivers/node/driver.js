// SPDX-License-Identifier: MIT
'use strict';

// driver LIBRARY repl|loop URL[,URL]... [KEY=VALUE...]: see
// interop/PROTOCOL.md. The libraries are redlock and redis-semaphore (its
// Mutex), both of kind `token`. A thread is a chain of promises here. Without
// LOCK_WATCHDOG_MS a lease of 0 is one of 30 s.

const fs = require('fs');
const path = require('path');
const readline = require('readline');
const Redis = require('ioredis');
const Redlock = require('redlock');
const { Mutex } = require('redis-semaphore');

const LEASE_MS = Number(process.env.LOCK_WATCHDOG_MS || 30000);
const ONE_TRY_MS = 1000; // for so long redis-semaphore may take for it
const PREFIX = 'mutex:'; // redis-semaphore puts it before each name

const now = () => process.hrtime.bigint(); // CLOCK_MONOTONIC
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const say = (...words) => fs.writeSync(1, words.join(' ') + '\n');

// ---- the libraries ----

class RedlockToken {
    constructor(servers, name) {
        this.name = name;
        this.redlock = new Redlock(servers, { retryCount: 0 });
        this.redlock.on('clientError', () => {}); // a vote less
    }

    async take(waitMs, leaseMs) {
        const until = Date.now() + (waitMs < 0 ? Infinity : waitMs);

        for (;;) {
            try {
                this.lock = await this.redlock.lock(this.name, leaseMs || LEASE_MS);
                return true;
            } catch (error) {
                if (!(error instanceof Redlock.LockError)) {
                    throw error;
                }
            }
            if (Date.now() >= until) {
                return false;
            }
            await sleep(50 + 100 * Math.random());
        }
    }

    give() {
        return this.lock.unlock();
    }
}

class MutexToken {
    constructor(servers, name) {
        if (!name.startsWith(PREFIX)) {
            throw new Error('not a name of this library: ' + name);
        }
        this.server = servers[0];
        this.name = name.slice(PREFIX.length);
    }

    take(waitMs, leaseMs) {
        this.mutex = new Mutex(this.server, this.name, {
            lockTimeout: leaseMs || LEASE_MS,
            refreshInterval: leaseMs ? 0 : LEASE_MS / 3,
            acquireTimeout: waitMs < 0 ? Infinity : waitMs || ONE_TRY_MS,
            acquireAttemptsLimit: waitMs === 0 ? 1 : Infinity,
            onLockLost: () => {},
        });
        return this.mutex.tryAcquire();
    }

    give() {
        return this.mutex.release(); // says nothing if it was lost
    }
}

const LIBRARIES = { 'node-redlock': RedlockToken, 'redis-semaphore': MutexToken };

// ---- repl ----

class Actor {
    constructor(library, servers, name) {
        Object.assign(this, { library, servers, name });
        this.locks = new Map();
        this.last = Promise.resolve();
    }

    // Does a request when the ones before it are done.
    add(words) {
        this.last = this.last
            .then(() => this.run(...words))
            .catch((error) => 'error ' + String(error.message).replace(/\n/g, ' '))
            .then((answer) => say(this.name, answer));
    }

    async run(verb, kind, name, waitMs, leaseMs) {
        if (kind !== 'token') {
            return 'error unsupported';
        }
        if (!this.locks.has(name)) {
            this.locks.set(name, new this.library(this.servers, name));
        }
        const lock = this.locks.get(name);
        if (verb === 'lock') {
            return (await lock.take(Number(waitMs), Number(leaseMs))) ? 'ok 0' : 'no';
        }
        if (verb === 'unlock') {
            await lock.give();
            return 'ok';
        }
        return 'error unsupported';
    }
}

function repl(library, servers, lines) {
    const actors = new Map();

    lines.on('line', (line) => {
        const [name, ...words] = line.trim().split(/\s+/);

        if (!actors.has(name)) {
            actors.set(name, new Actor(library, servers, name));
        }
        actors.get(name).add(words);
    });
    lines.on('close', () => process.exit(0));
}

// ---- loop ----

class Loop {
    constructor(library, servers, settings) {
        this.library = library;
        this.servers = servers;
        this.how = Object.fromEntries(settings.map((word) => word.split(/=(.*)/s, 2)));
        this.grants = this.violations = this.refused = 0;
        this.log = fs.openSync(this.how.log, 'w');
        this.mark = path.join(this.how.witness, 'w');
    }

    number(key, otherwise) {
        return Number(this.how[key] ?? otherwise);
    }

    // Whether nobody else is inside. All grants are exclusive.
    enter() {
        try {
            fs.closeSync(fs.openSync(this.mark, 'wx'));
        } catch (error) {
            return false;
        }
        return true;
    }

    async turn(lock, index) {
        const asked = now();

        if (!(await lock.take(this.number('wait_ms', -1), this.number('lease_ms', 0)))) {
            this.refused++;
            return;
        }
        const got = now();
        if (!this.enter()) {
            this.violations++;
        }
        await sleep(this.number('hold_us', 0) / 1000);
        fs.rmSync(this.mark, { force: true });
        const gave = now();
        fs.writeSync(this.log, `exclusive ${asked} ${got} ${gave} 0 ${index}\n`);
        this.grants++;
        await lock.give();
    }

    async contend(index, end) {
        const lock = new this.library(this.servers, this.how.name);

        while (now() < end) {
            try {
                await this.turn(lock, index);
            } catch (error) {
                this.refused++;
            }
            await sleep((Math.random() * this.number('pause_us', 0)) / 1000);
        }
    }

    async run() {
        const end = now() + BigInt(this.number('seconds', 5)) * 1000000000n;
        const threads = Array.from({ length: this.number('threads', 1) }, (_, i) =>
            this.contend(i, end)
        );

        await Promise.all(threads);
        fs.closeSync(this.log);
        say('done', this.grants, this.violations, this.refused);
        process.exit(0);
    }
}

// ---- start ----

// A server's answer is waited for less long if it is one of several.
async function connect(url, _, all) {
    const server = new Redis(url, {
        commandTimeout: all.length > 1 ? 200 : 1000,
        enableOfflineQueue: false,
        maxRetriesPerRequest: 0,
        lazyConnect: true,
    });

    server.on('error', () => {}); // told to whoever asks it
    await server.connect();
    return server;
}

async function main() {
    const [name, mode, urls, ...settings] = process.argv.slice(2);
    const servers = await Promise.all(urls.split(',').map(connect));
    const lines = readline.createInterface({ input: process.stdin });

    say('ready');
    if (mode === 'repl') {
        repl(LIBRARIES[name], servers, lines);
    } else {
        const loop = new Loop(LIBRARIES[name], servers, settings);
        lines.once('line', () => loop.run());
    }
}

main();
