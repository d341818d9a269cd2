// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type settings map[string]string

func (s settings) number(key string, otherwise int64) int64 {
	number, err := strconv.ParseInt(s[key], 10, 64)
	if err != nil {
		return otherwise
	}
	return number
}

// What all threads of a loop share.
type crowd struct {
	how                         settings
	mark                        string
	end                         int64
	mutex                       sync.Mutex
	log                         *bufio.Writer
	grants, violations, refused atomic.Int64
}

// Whether nobody else is inside. All grants are exclusive.
func (c *crowd) enter() bool {
	file, err := os.OpenFile(c.mark, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	return file.Close() == nil
}

func (c *crowd) turn(l lock, index int) {
	wait := time.Duration(c.how.number("wait_ms", -1)) * time.Millisecond
	lease := time.Duration(c.how.number("lease_ms", 0)) * time.Millisecond
	asked := now()
	if ok, err := l.take(wait, lease); !ok || err != nil {
		c.refused.Add(1)
		return
	}
	got := now()
	if !c.enter() {
		c.violations.Add(1)
	}
	time.Sleep(time.Duration(c.how.number("hold_us", 0)) * time.Microsecond)
	_ = os.Remove(c.mark)
	gave := now()
	if l.give() != nil {
		c.refused.Add(1)
	}
	c.grants.Add(1)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	fmt.Fprintf(c.log, "exclusive %d %d %d 0 %d\n", asked, got, gave, index)
}

func (c *crowd) contend(l lock, index int) {
	pause := c.how.number("pause_us", 0)
	for now() < c.end {
		c.turn(l, index)
		if pause > 0 {
			time.Sleep(time.Duration(rand.Int63n(pause)) * time.Microsecond)
		}
	}
}

func loop(open func(string) (lock, error), words []string) error {
	how := settings{}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		how[key] = value
	}
	file, err := os.Create(how["log"])
	if err != nil {
		return err
	}
	c := &crowd{how: how, mark: filepath.Join(how["witness"], "w"), log: bufio.NewWriter(file)}
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	c.end = now() + how.number("seconds", 5)*int64(time.Second)
	var all sync.WaitGroup
	for i := range int(how.number("threads", 1)) {
		l, err := open(how["name"])
		if err != nil {
			return err
		}
		all.Go(func() { c.contend(l, i) })
	}
	all.Wait()
	if err := c.log.Flush(); err != nil {
		return err
	}
	say("done", c.grants.Load(), c.violations.Load(), c.refused.Load())
	return file.Close()
}
