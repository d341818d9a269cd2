// SPDX-License-Identifier: MIT

import java.util.concurrent.TimeUnit;

import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;

/** Kinds of locks by their words. */
final class Locks {
    /** The lock of this kind, or null: Redisson has no such kind. */
    static RLock of(RedissonClient client, String kind, String name) {
        switch (kind) {
            case "lock":
                return client.getLock(name);
            case "fenced":
                return client.getFencedLock(name);
            case "spin":
                return client.getSpinLock(name);
            case "fair":
                return client.getFairLock(name);
            case "read":
                return client.getReadWriteLock(name).readLock();
            case "write":
                return client.getReadWriteLock(name).writeLock();
            case "multi":
                return multi(client, name.split(","));
            default:
                return null;
        }
    }

    private static RLock multi(RedissonClient client, String[] names) {
        RLock[] members = new RLock[names.length];

        for (int i = 0; i < names.length; i++) {
            members[i] = client.getLock(names[i]);
        }
        return client.getMultiLock(members);
    }

    /** Returns the fence, 0 where there is none, or -1: not in this time. */
    static long acquire(RLock lock, long waitMs, long leaseMs) throws InterruptedException {
        long lease = leaseMs == 0 ? -1 : leaseMs;

        if (lock instanceof RFencedLock) {
            return fenced((RFencedLock) lock, waitMs, lease);
        }
        if (waitMs >= 0) {
            return lock.tryLock(waitMs, lease, TimeUnit.MILLISECONDS) ? 0 : -1;
        }
        lock.lock(lease, TimeUnit.MILLISECONDS);
        return 0;
    }

    private static long fenced(RFencedLock lock, long waitMs, long lease) {
        if (waitMs < 0) {
            return lock.lockAndGetToken(lease, TimeUnit.MILLISECONDS);
        }
        Long token = lock.tryLockAndGetToken(waitMs, lease, TimeUnit.MILLISECONDS);
        return token == null ? -1 : token;
    }

    private Locks() {
    }
}
