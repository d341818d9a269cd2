// SPDX-License-Identifier: MIT

// driver LIBRARY repl|loop URL[,URL]... [KEY=VALUE...]: see
// interop/PROTOCOL.md. The libraries are redsync, redislock and rueidislock,
// all of kind token. A thread is a goroutine here. Without LOCK_WATCHDOG_MS a
// lease of 0 is one of 30 s.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sys/unix"
)

// For so long a server's answer is waited for: one of several may be away.
func longestAnswer(urls []string) time.Duration {
	if len(urls) > 1 {
		return 200 * time.Millisecond
	}
	return time.Second
}

// A lock as one thread uses it. take returns false: not in this time.
type lock interface {
	take(wait, lease time.Duration) (bool, error)
	give() error
}

// How a library makes its handle on a name, once it is connected.
type library func(urls []string) (func(name string) (lock, error), error)

var libraries = map[string]library{
	"redsync": newRedsync, "redislock": newRedislock, "rueidislock": newRueidislock}

// The lease of holds that name none.
func defaultLease() time.Duration {
	ms, err := strconv.Atoi(os.Getenv("LOCK_WATCHDOG_MS"))
	if err != nil {
		ms = 30000
	}
	return time.Duration(ms) * time.Millisecond
}

// A context that ends with the wait; negative: never.
func waiting(wait time.Duration) (context.Context, context.CancelFunc) {
	if wait < 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), wait)
}

func connect(url string, answer time.Duration) (*redis.Client, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	options.DialTimeout, options.ReadTimeout, options.MaxRetries = answer, answer, -1
	options.DialerRetries = 1
	client := redis.NewClient(options)
	return client, client.Ping(context.Background()).Err()
}

// CLOCK_MONOTONIC in ns, which processes of one machine share.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err)
	}
	return t.Nano()
}

var output sync.Mutex

func say(words ...any) {
	output.Lock()
	defer output.Unlock()
	fmt.Println(words...)
}

func milliseconds(text string) (time.Duration, error) {
	ms, err := strconv.Atoi(text)
	return time.Duration(ms) * time.Millisecond, err
}

func run(arguments []string) error {
	if len(arguments) < 3 || libraries[arguments[0]] == nil {
		return fmt.Errorf("usage: driver LIBRARY repl|loop URL[,URL]... [KEY=VALUE...]")
	}
	open, err := libraries[arguments[0]](strings.Split(arguments[2], ","))
	if err != nil {
		return err
	}
	say("ready")
	if arguments[1] == "repl" {
		return repl(open)
	}
	return loop(open, arguments[3:])
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
