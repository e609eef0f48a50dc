//go:build failpoint

package failpoint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Actions that a rule can have.
const (
	actionKill  = "kill"
	actionStop  = "stop"
	actionError = "error"
	actionDelay = "delay"
)

// rule is the action for some passages of a place.
type rule struct {
	action string
	delay  time.Duration
	first  int  // first passage to which the rule applies, counted from 1
	onward bool // true if the rule also applies to all later passages
}

func (r rule) covers(passage int) bool {
	return passage == r.first || r.onward && passage > r.first
}

// parse returns the rules by the name of their place. A place may have several rules.
func parse(text string) (map[string][]rule, error) {
	rules := make(map[string][]rule)
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, rest, found := strings.Cut(part, "=")
		if !found || name == "" {
			return nil, fmt.Errorf("%q is not name=action", part)
		}
		r, err := parseRule(rest)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		rules[name] = append(rules[name], r)
	}
	return rules, nil
}

// parseRule reads action[(argument)][@passages].
func parseRule(text string) (rule, error) {
	r := rule{first: 1, onward: true}
	text, passages, limited := strings.Cut(text, "@")
	if limited {
		passages, r.onward = strings.CutSuffix(passages, "+")
		n, err := strconv.Atoi(passages)
		if err != nil || n < 1 {
			return rule{}, fmt.Errorf("passages are a number from 1, with or without +, not %q", passages)
		}
		r.first = n
	}
	action, argument, given := strings.Cut(text, "(")
	argument, closed := strings.CutSuffix(argument, ")")
	if given != closed || given != (action == actionDelay) {
		return rule{}, errors.New("delay takes a duration in brackets, the other actions nothing")
	}
	switch r.action = action; action {
	case actionKill, actionStop, actionError:
		return r, nil
	case actionDelay:
		var err error
		r.delay, err = time.ParseDuration(argument)
		return r, err
	}
	return rule{}, fmt.Errorf("the actions are kill, stop, error and delay, not %q", action)
}
