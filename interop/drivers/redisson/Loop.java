// SPDX-License-Identifier: MIT

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.File;
import java.io.FileWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/** The mode that contends. System.nanoTime() is CLOCK_MONOTONIC on Linux. */
final class Loop {
    private final RedissonClient client;
    private final Map<String, String> how = new HashMap<>();
    private final AtomicLong grants = new AtomicLong();
    private final AtomicLong violations = new AtomicLong();
    private final AtomicLong refused = new AtomicLong();
    private final File witness;
    private BufferedWriter log;
    private long end;

    Loop(RedissonClient client, String[] args) {
        this.client = client;
        for (int i = 2; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            how.put(pair[0], pair[1]);
        }
        witness = new File(how.getOrDefault("witness", "/tmp"));
    }

    private long number(String key, long otherwise) {
        String text = how.get(key);

        return text == null ? otherwise : Long.parseLong(text);
    }

    int run(BufferedReader in) throws Exception {
        String[] kinds = how.getOrDefault("kind", "lock").split(",");
        Thread[] threads = new Thread[(int) number("threads", 1)];

        log = new BufferedWriter(new FileWriter(how.get("log")));
        if (in.readLine() == null) {
            return 2;
        }
        end = System.nanoTime() + TimeUnit.SECONDS.toNanos(number("seconds", 5));
        for (int i = 0; i < threads.length; i++) {
            int index = i;
            threads[i] = new Thread(() -> contend(kinds[index % kinds.length], index));
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        log.close();
        Driver.say("done " + grants + " " + violations + " " + refused);
        return 0;
    }

    private void contend(String kind, int index) {
        Random random = new Random(index);
        long pauseUs = number("pause_us", 0);

        while (System.nanoTime() - end < 0) {
            try {
                turn(kind, index);
            } catch (Exception e) {
                refused.incrementAndGet();
            }
            if (pauseUs > 0) {
                LockSupport.parkNanos(1000 * (long) (random.nextDouble() * pauseUs));
            }
        }
    }

    /** Takes it; the fence, or null: refused. How to give it back is left in back. */
    private Long take(String kind, Runnable[] back) throws Exception {
        String name = how.getOrDefault("name", "interop");
        long waitMs = number("wait_ms", -1);
        long leaseMs = number("lease_ms", 0);

        if (kind.equals("semaphore")) {
            RSemaphore semaphore = client.getSemaphore(name);
            back[0] = semaphore::release;
            if (waitMs < 0) {
                semaphore.acquire();
                return 0L;
            }
            return semaphore.tryAcquire(1, waitMs, TimeUnit.MILLISECONDS) ? 0L : null;
        }
        if (kind.equals("permits")) {
            RPermitExpirableSemaphore semaphore = client.getPermitExpirableSemaphore(name);
            long lease = leaseMs == 0 ? 30000 : leaseMs;
            String id = waitMs < 0
                ? semaphore.acquire(lease, TimeUnit.MILLISECONDS)
                : semaphore.tryAcquire(waitMs, lease, TimeUnit.MILLISECONDS);
            back[0] = () -> semaphore.release(id);
            return id == null ? null : 0L;
        }
        RLock lock = Locks.of(client, kind, name);
        long fence = Locks.acquire(lock, waitMs, leaseMs);
        back[0] = lock::unlock;
        return fence < 0 ? null : fence;
    }

    private void turn(String kind, int index) throws Exception {
        Runnable[] back = new Runnable[1];
        long asked = System.nanoTime();
        Long fence = take(kind, back);
        long got = System.nanoTime();

        if (fence == null) {
            refused.incrementAndGet();
            return;
        }
        Path mark = mark(kind, index);
        if (!enter(kind, mark)) {
            violations.incrementAndGet();
        }
        long holdUs = number("hold_us", 0);
        if (holdUs > 0) {
            TimeUnit.MICROSECONDS.sleep(holdUs);
        }
        Files.deleteIfExists(mark);
        long gave = System.nanoTime();
        try {
            back[0].run();
        } catch (RuntimeException e) {
            refused.incrementAndGet();
        }
        grants.incrementAndGet();
        write((isExclusive(kind) ? "exclusive" : "shared") + " " + asked + " " + got + " " + gave
            + " " + fence + " " + index);
    }

    private synchronized void write(String line) throws IOException {
        log.write(line);
        log.newLine();
    }

    // ---- the witness ----

    private static boolean isPermit(String kind) {
        return kind.equals("semaphore") || kind.equals("permits");
    }

    private static boolean isExclusive(String kind) {
        return !kind.equals("read") && !isPermit(kind);
    }

    private Path mark(String kind, int index) {
        String tail = "." + ProcessHandle.current().pid() + "." + index;
        String name = isExclusive(kind) ? "w" : (isPermit(kind) ? "p" : "r") + tail;

        return witness.toPath().resolve(name);
    }

    private long filesWith(String letter) {
        String[] names = witness.list((dir, name) -> name.startsWith(letter));

        return names == null ? 0 : names.length;
    }

    /** Returns whether nobody is inside who must not be. */
    private boolean enter(String kind, Path mark) {
        try {
            Files.createFile(mark);
        } catch (IOException e) {
            return false;
        }
        if (isExclusive(kind)) {
            return filesWith("r") == 0;
        }
        if (isPermit(kind)) {
            return filesWith("p") <= number("permits", 1);
        }
        return filesWith("w") == 0;
    }
}
