// SPDX-License-Identifier: MIT

import java.io.BufferedReader;
import java.io.InputStreamReader;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** The driver of Redisson; interop/PROTOCOL.md says what a driver does. */
public final class Driver {
    private static final String CLUSTER = "redis+cluster://";

    /** The URL is of a node of a cluster, or may end with the number of a database. */
    private static RedissonClient open(String url) {
        Config config = new Config();
        int database = url.lastIndexOf('/');

        // LOCK_WATCHDOG_MS: shorter than Redisson's 30 s, so that a run sees it renew.
        String watchdog = System.getenv("LOCK_WATCHDOG_MS");
        if (watchdog != null) {
            config.setLockWatchdogTimeout(Long.parseLong(watchdog));
        }
        if (url.startsWith(CLUSTER)) {
            config.useClusterServers().addNodeAddress("redis://" + url.substring(CLUSTER.length()));
            return Redisson.create(config);
        }
        config.useSingleServer()
            .setAddress(database > 8 ? url.substring(0, database) : url)
            .setDatabase(database > 8 ? Integer.parseInt(url.substring(database + 1)) : 0)
            .setConnectionMinimumIdleSize(4)
            .setConnectionPoolSize(64);
        return Redisson.create(config);
    }

    public static void main(String[] args) throws Exception {
        if (args.length < 2) {
            System.err.println("usage: Driver repl|loop URL [KEY=VALUE...]");
            System.exit(2);
        }
        RedissonClient client = open(args[1]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        say("ready");
        int code = 1;
        try {
            code = args[0].equals("repl")
                ? new Repl(client).run(in)
                : new Loop(client, args).run(in);
        } catch (Throwable e) {
            e.printStackTrace();
        }
        System.out.flush();
        // The library's threads would go on for a while.
        Runtime.getRuntime().halt(code);
    }

    /** Writes one whole line. */
    static void say(String line) {
        synchronized (System.out) {
            System.out.println(line);
            System.out.flush();
        }
    }

    private Driver() {
    }
}
