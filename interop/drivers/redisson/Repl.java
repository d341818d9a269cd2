// SPDX-License-Identifier: MIT

import java.io.BufferedReader;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

import org.redisson.api.RExpirable;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;

/**
 * The mode that obeys: an actor is a thread, since Redisson's owner is one, and
 * keeps its lock objects, since they remember the lease.
 */
final class Repl {
    private final RedissonClient client;
    private final Map<String, ExecutorService> actors = new HashMap<>();
    private final ThreadLocal<Map<String, RLock>> locks = ThreadLocal.withInitial(HashMap::new);

    Repl(RedissonClient client) {
        this.client = client;
    }

    int run(BufferedReader in) throws Exception {
        String line;

        while ((line = in.readLine()) != null) {
            String[] words = line.trim().split(" +");
            actors.computeIfAbsent(words[0], name -> Executors.newSingleThreadExecutor())
                .execute(() -> answer(words));
        }
        return 0;
    }

    private void answer(String[] words) {
        String text;

        try {
            text = obey(words[1], Arrays.copyOfRange(words, 2, words.length));
        } catch (Throwable e) {
            text = "error " + e.getClass().getSimpleName() + " "
                + String.valueOf(e.getMessage()).replace('\n', ' ');
        }
        Driver.say(words[0] + " " + text);
    }

    private String obey(String verb, String[] a) throws Exception {
        switch (verb) {
            case "lock": {
                long fence = Locks.acquire(lock(a), Long.parseLong(a[2]), Long.parseLong(a[3]));
                return fence < 0 ? "no" : "ok " + fence;
            }
            case "unlock":
                lock(a).unlock();
                return "ok";
            case "force":
                return said(lock(a).forceUnlock());
            case "locked":
                return "ok " + (lock(a).isLocked() ? 1 : 0);
            case "check":
                return "ok " + (lock(a).isHeldByCurrentThread() ? 1 : 0);
            case "downgrade": {
                RReadWriteLock rw = client.getReadWriteLock(a[0]);
                rw.readLock().lock();
                rw.writeLock().unlock();
                return "ok";
            }
            case "expire":
                return said(((RExpirable) lock(a)).expire(Duration.ofMillis(Long.parseLong(a[2]))));
            case "down":
                client.getCountDownLatch(a[0]).countDown();
                return "ok";
            case "await":
                return await(a[0], Long.parseLong(a[1]));
            default:
                return obeyPermits(verb, a);
        }
    }

    private String await(String name, long waitMs) throws InterruptedException {
        if (waitMs < 0) {
            client.getCountDownLatch(name).await();
            return "ok";
        }
        return said(client.getCountDownLatch(name).await(waitMs, TimeUnit.MILLISECONDS));
    }

    private String obeyPermits(String verb, String[] a) throws Exception {
        boolean leased = a[0].equals("permits");

        switch (verb) {
            case "set":
                return said(set(a[0], a[1], Integer.parseInt(a[2])));
            case "take":
                return leased ? takeLeased(a) : said(takePlain(a));
            case "give":
                if (leased) {
                    client.getPermitExpirableSemaphore(a[1]).release(Arrays.asList(a[2].split(",")));
                } else {
                    client.getSemaphore(a[1]).release(Integer.parseInt(a[2]));
                }
                return "ok";
            case "lease":
                return said(client.getPermitExpirableSemaphore(a[0])
                    .updateLeaseTime(a[1], Long.parseLong(a[2]), TimeUnit.MILLISECONDS));
            case "count":
                return "ok " + count(a[0], a[1]);
            case "add":
                client.getSemaphore(a[1]).addPermits(Integer.parseInt(a[2]));
                return "ok";
            case "drain":
                return "ok " + client.getSemaphore(a[1]).drainPermits();
            case "delete":
                return said(a[0].equals("latch")
                    ? client.getCountDownLatch(a[1]).delete()
                    : client.getSemaphore(a[1]).delete());
            default:
                return "error unsupported";
        }
    }

    private boolean set(String kind, String name, int number) {
        switch (kind) {
            case "permits":
                return client.getPermitExpirableSemaphore(name).trySetPermits(number);
            case "semaphore":
                return client.getSemaphore(name).trySetPermits(number);
            default:
                return client.getCountDownLatch(name).trySetCount(number);
        }
    }

    private long count(String kind, String name) {
        switch (kind) {
            case "permits":
                return client.getPermitExpirableSemaphore(name).availablePermits();
            case "semaphore":
                return client.getSemaphore(name).availablePermits();
            default:
                return client.getCountDownLatch(name).getCount();
        }
    }

    private boolean takePlain(String[] a) throws InterruptedException {
        int number = Integer.parseInt(a[2]);
        long waitMs = Long.parseLong(a[3]);

        if (waitMs < 0) {
            client.getSemaphore(a[1]).acquire(number);
            return true;
        }
        return client.getSemaphore(a[1]).tryAcquire(number, waitMs, TimeUnit.MILLISECONDS);
    }

    private String takeLeased(String[] a) throws InterruptedException {
        RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore(a[1]);
        int number = Integer.parseInt(a[2]);
        long waitMs = Long.parseLong(a[3]);
        long leaseMs = Long.parseLong(a[4]) == 0 ? 30000 : Long.parseLong(a[4]);

        if (number != 1) {
            List<String> ids = waitMs < 0
                ? semaphore.acquire(number, leaseMs, TimeUnit.MILLISECONDS)
                : semaphore.tryAcquire(number, waitMs, leaseMs, TimeUnit.MILLISECONDS);
            return ids.isEmpty() ? "no" : "ok " + String.join(",", ids);
        }
        String id = waitMs < 0
            ? semaphore.acquire(leaseMs, TimeUnit.MILLISECONDS)
            : semaphore.tryAcquire(waitMs, leaseMs, TimeUnit.MILLISECONDS);
        return id == null ? "no" : "ok " + id;
    }

    private RLock lock(String[] a) {
        RLock lock = locks.get().computeIfAbsent(a[0] + " " + a[1],
            key -> Locks.of(client, a[0], a[1]));

        if (lock == null) {
            throw new UnsupportedOperationException("unsupported");
        }
        return lock;
    }

    private static String said(boolean ok) {
        return ok ? "ok" : "no";
    }
}
