// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"errors"
	"os"
	"strings"
)

// An actor does its requests in order.
type actor struct {
	name     string
	open     func(string) (lock, error)
	locks    map[string]lock
	requests chan []string
}

var errUnsupported = errors.New("unsupported")

func (a *actor) run() {
	for words := range a.requests {
		text, err := a.do(words)
		if err != nil {
			text = "error " + strings.ReplaceAll(err.Error(), "\n", " ")
		}
		say(a.name, text)
	}
}

func (a *actor) lock(name string) (lock, error) {
	if a.locks[name] == nil {
		l, err := a.open(name)
		if err != nil {
			return nil, err
		}
		a.locks[name] = l
	}
	return a.locks[name], nil
}

func (a *actor) do(words []string) (string, error) {
	if len(words) < 3 || words[1] != "token" {
		return "", errUnsupported
	}
	l, err := a.lock(words[2])
	if err != nil {
		return "", err
	}
	switch {
	case words[0] == "lock" && len(words) == 5:
		return ask(l, words[3], words[4])
	case words[0] == "unlock":
		return "ok", l.give()
	}
	return "", errUnsupported
}

func ask(l lock, waitMs, leaseMs string) (string, error) {
	wait, err := milliseconds(waitMs)
	if err != nil {
		return "", err
	}
	lease, err := milliseconds(leaseMs)
	if err != nil {
		return "", err
	}
	ok, err := l.take(wait, lease)
	if !ok {
		return "no", err
	}
	return "ok 0", nil
}

func repl(open func(string) (lock, error)) error {
	actors := map[string]*actor{}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 {
			continue
		}
		a := actors[words[0]]
		if a == nil {
			a = &actor{words[0], open, map[string]lock{}, make(chan []string, 64)}
			actors[words[0]] = a
			go a.run()
		}
		a.requests <- words[1:]
	}
	return lines.Err()
}
