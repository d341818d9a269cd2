// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// What it puts before a name to have the key, with one key for each lock.
const rueidisPrefix = "rueidislock:0:"

type rueidisLock struct {
	locker  rueidislock.Locker
	name    string
	release context.CancelFunc
}

func newRueidislock(urls []string) (func(string) (lock, error), error) {
	option, err := rueidis.ParseURL(urls[0])
	if err != nil {
		return nil, err
	}
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: option, KeyMajority: 1, KeyValidity: defaultLease(),
		ExtendInterval: defaultLease() / 3, TryNextAfter: longestAnswer(urls)})
	if err != nil {
		return nil, err
	}
	return func(name string) (lock, error) {
		if !strings.HasPrefix(name, rueidisPrefix) {
			return nil, errors.New("not a name of this library: " + name)
		}
		return &rueidisLock{locker: locker, name: name[len(rueidisPrefix):]}, nil
	}, nil
}

// A lease is the deadline of the context, which begins with the call; so a
// wait cannot have one as well.
func (l *rueidisLock) take(wait, lease time.Duration) (bool, error) {
	if wait != 0 && lease != 0 {
		return false, errUnsupported
	}
	if wait != 0 {
		return l.takeLater(wait)
	}
	ctx, end := context.WithCancel(context.Background())
	if lease > 0 {
		ctx, end = context.WithTimeout(context.Background(), lease)
	}
	_, release, err := l.locker.TryWithContext(ctx, l.name)
	return l.taken(release, end, err)
}

func (l *rueidisLock) takeLater(wait time.Duration) (bool, error) {
	ctx, end := context.WithCancel(context.Background())
	var limit *time.Timer
	if wait > 0 {
		limit = time.AfterFunc(wait, end)
	}
	_, release, err := l.locker.WithContext(ctx, l.name)
	if limit != nil && !limit.Stop() && err == nil {
		release()
		err = context.Canceled
	}
	return l.taken(release, end, err)
}

func (l *rueidisLock) taken(release, end context.CancelFunc, err error) (bool, error) {
	if err != nil {
		end()
		if errors.Is(err, rueidislock.ErrNotLocked) || errors.Is(err, context.Canceled) {
			return false, nil
		}
		return false, err
	}
	l.release = func() {
		release()
		end()
	}
	return true, nil
}

// It does not say whether it was lost.
func (l *rueidisLock) give() error {
	l.release()
	return nil
}
