// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	pools "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
)

// ---- redsync ----

type redsyncLock struct {
	maker  *redsync.Redsync
	answer time.Duration
	name   string
	mutex  *redsync.Mutex
}

func newRedsync(urls []string) (func(string) (lock, error), error) {
	var all []pools.Pool
	for _, url := range urls {
		client, err := connect(url, longestAnswer(urls))
		if err != nil {
			return nil, err
		}
		all = append(all, goredis.NewPool(client))
	}
	maker := redsync.New(all...)
	return func(name string) (lock, error) {
		return &redsyncLock{maker: maker, answer: longestAnswer(urls), name: name}, nil
	}, nil
}

func (l *redsyncLock) take(wait, lease time.Duration) (bool, error) {
	if lease == 0 {
		lease = defaultLease()
	}
	// A server that does not answer is waited for no longer than that.
	l.mutex = l.maker.NewMutex(l.name, redsync.WithExpiry(lease),
		redsync.WithTimeoutFactor(l.answer.Seconds()/lease.Seconds()),
		redsync.WithTries(math.MaxInt32))
	if wait == 0 {
		return redsyncAnswer(l.mutex.TryLock())
	}
	ctx, end := waiting(wait)
	defer end()
	return redsyncAnswer(l.mutex.LockContext(ctx))
}

func redsyncAnswer(err error) (bool, error) {
	var taken *redsync.ErrTaken
	if errors.Is(err, redsync.ErrFailed) || errors.As(err, &taken) {
		return false, nil
	}
	return err == nil, err
}

func (l *redsyncLock) give() error {
	ok, err := l.mutex.Unlock()
	if err == nil && !ok {
		return errors.New("not held")
	}
	if ok {
		return nil
	}
	return err
}

// ---- redislock ----

type redislockLock struct {
	client *redislock.Client
	name   string
	held   *redislock.Lock
}

func newRedislock(urls []string) (func(string) (lock, error), error) {
	client, err := connect(urls[0], longestAnswer(urls))
	if err != nil {
		return nil, err
	}
	maker := redislock.New(client)
	return func(name string) (lock, error) {
		return &redislockLock{client: maker, name: name}, nil
	}, nil
}

// Without a deadline of ours its Obtain ends after a lease.
func (l *redislockLock) take(wait, lease time.Duration) (bool, error) {
	if lease == 0 {
		lease = defaultLease()
	}
	if wait < 0 {
		wait = math.MaxInt64 / 2
	}
	options := &redislock.Options{}
	ctx := context.Background()
	if wait > 0 {
		deadline, end := waiting(wait)
		defer end()
		ctx = deadline
		options.RetryStrategy = redislock.LinearBackoff(100 * time.Millisecond)
	}
	held, err := l.client.Obtain(ctx, l.name, lease, options)
	if errors.Is(err, redislock.ErrNotObtained) || errors.Is(err, context.DeadlineExceeded) {
		return false, nil
	}
	if err == nil {
		l.held = held
	}
	return err == nil, err
}

func (l *redislockLock) give() error {
	return l.held.Release(context.Background())
}
