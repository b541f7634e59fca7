package operator

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Workers are BMO's reconcile workers: so many hosts it works on at once.
type Workers struct {
	Count int // 0: not known
	// From says where BMO has the number from.
	From string
	// Estimated: nothing says the number, it is BMO's own rule with our machine's CPUs.
	Estimated bool
}

// BMO's own defaults.
const (
	leastWorkers = 2 // without BMO_CONCURRENCY, however few CPUs there are
	mostWorkers  = 8 // … and however many
	defaultLimit = 20
)

// workers are found as BMO does: the flag, the variable, the CPUs.
func (c container) workers(ctx context.Context, cpus int) (Workers, error) {
	if text, ok := c.flag("controller-concurrency"); ok {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return Workers{}, fmt.Errorf("--controller-concurrency=%q: BMO does not start with that", cut(text))
		}
		if n > 0 {
			return Workers{Count: n, From: "--controller-concurrency"}, nil
		}
	}
	v, err := c.variable(ctx, "BMO_CONCURRENCY", nil)
	if err != nil {
		return Workers{}, err
	}
	if v.from != "" {
		n, err := strconv.Atoi(v.text)
		if err != nil {
			return Workers{}, fmt.Errorf("BMO_CONCURRENCY=%q (%s): BMO does not start with that", cut(v.text), v.from)
		}
		if n > 0 {
			return Workers{Count: n, From: "BMO_CONCURRENCY in " + v.from}, nil
		}
	}
	n := max(leastWorkers, min(cpus, mostWorkers))
	return Workers{Count: n, From: fmt.Sprintf("BMO's own rule for %d CPUs", cpus), Estimated: true}, nil
}

// limit is BMO's own, PROVISIONING_LIMIT.
func (c container) limit(ctx context.Context) (int, error) {
	v, err := c.variable(ctx, "PROVISIONING_LIMIT", nil)
	if err != nil || v.text == "" {
		return defaultLimit, err
	}
	n, err := strconv.Atoi(v.text)
	if err != nil {
		return 0, fmt.Errorf("PROVISIONING_LIMIT=%q (%s): BMO does not start with that", cut(v.text), v.from)
	}
	return n, nil
}

// flag returns the last value of a flag among the container's command and arguments, as
// Go's package flag reads it.
func (c container) flag(name string) (text string, ok bool) {
	all := slices.Concat(c.Command, c.Args)
	for i, arg := range all {
		word, value, assigned := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		switch {
		case !strings.HasPrefix(arg, "-") || strings.TrimPrefix(word, "-") != name:
		case assigned:
			text, ok = value, true
		case i+1 < len(all):
			text, ok = all[i+1], true
		}
	}
	return text, ok
}
