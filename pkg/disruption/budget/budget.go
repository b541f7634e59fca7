// Package budget reads budgets, which say how many hosts of a pool planned work may take out of service at once and how
// many must stay Ready, and computes how many hosts may still go.
package budget

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"sigs.k8s.io/json"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Budget bounds the hosts of a pool, by Nodes or by MinReady.
type Budget struct {
	// Nodes is how many hosts may be out of service at once: a number, or a percentage of the pool's hosts, rounded up.
	Nodes string `json:"nodes,omitempty"`
	// MinReady is how many hosts must stay Ready: a number or a percentage, as Nodes.
	MinReady string `json:"minReady,omitempty"`
	// Schedule is a cron expression in UTC at which the budget begins to apply, for Duration, such as "8h". Both or none.
	Schedule string `json:"schedule,omitempty"`
	Duration string `json:"duration,omitempty"`
	// Reasons are the reasons for which it counts; none: all.
	Reasons []api.PlanReason `json:"reasons,omitempty"`
}

// List has the budgets of a pool; the smallest counts. A List without Nodes also has Nodes "10%". A List without a
// MinReady that always applies, to all reasons, also has MinReady "1".
type List []Budget

// Bounds of what is read.
const (
	maxList     = 32
	maxText     = 8 << 10
	maxHosts    = 1_000_000
	maxSchedule = 256
	maxDuration = 366 * 24 * time.Hour
)

// Parse reads "10%,3,ready:2" or a JSON list. The error is the rule that text breaks: "must hold 1..32 budgets".
func Parse(text string) (List, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("must not be longer than %d bytes", maxText)
	}
	text = strings.TrimSpace(text)
	var l List
	if strings.HasPrefix(text, "[") {
		strict, err := json.UnmarshalStrict([]byte(text), &l)
		if err = errors.Join(append(strict, err)...); err != nil {
			const rule = "must be a JSON list of budgets with nodes or minReady, schedule, duration and reasons: %.120q"
			return nil, fmt.Errorf(rule, err.Error())
		}
	} else {
		for word := range strings.SplitSeq(text, ",") {
			word = strings.TrimSpace(word)
			if ready, ok := strings.CutPrefix(word, "ready:"); ok {
				l = append(l, Budget{MinReady: ready})
			} else {
				l = append(l, Budget{Nodes: word})
			}
		}
	}
	return l, l.Check()
}

// Check returns the rule that l, or one of its budgets, breaks, as an error.
func (l List) Check() error {
	if len(l) == 0 || len(l) > maxList {
		return fmt.Errorf("must hold 1..%d budgets, not %d", maxList, len(l))
	}
	for _, b := range l {
		if _, err := b.read(); err != nil {
			return err
		}
	}
	return nil
}

// reading is a Budget, read.
type reading struct {
	count    int
	percent  bool
	schedule cron.Schedule // nil: always
	duration time.Duration
}

func (b Budget) read() (r reading, err error) {
	if (b.Nodes == "") == (b.MinReady == "") {
		return r, errors.New("must give each budget nodes or minReady, and not both")
	}
	if r.count, r.percent, err = quota(b.Nodes + b.MinReady); err != nil {
		return r, err
	}
	if (b.Schedule == "") != (b.Duration == "") {
		return r, errors.New("must give a budget schedule and duration, or none of both")
	}
	if b.Schedule != "" {
		if r.schedule, err = schedule(b.Schedule); err != nil {
			const rule = `must give schedules as cron expressions in UTC, such as "0 8 * * 1-5", and %.120q is none: %.120q`
			return r, fmt.Errorf(rule, b.Schedule, err.Error())
		}
		if r.duration, err = time.ParseDuration(b.Duration); err != nil || r.duration <= 0 || r.duration > maxDuration {
			const rule = "must give each budget a duration such as 8h, up to %.0fh, and %.120q is none"
			return r, fmt.Errorf(rule, maxDuration.Hours(), b.Duration)
		}
	}
	for _, reason := range b.Reasons {
		if !slices.Contains(api.PlanReasons(), reason) {
			return r, fmt.Errorf("must name reasons of %v, and %.120q is none", api.PlanReasons(), reason)
		}
	}
	return r, nil
}

func quota(text string) (n int, percent bool, err error) {
	number, percent := strings.CutSuffix(text, "%")
	n, err = strconv.Atoi(number)
	if digits := strings.Trim(number, "0123456789") == ""; err != nil || !digits || n > maxHosts || percent && n > 100 {
		const rule = "must give each budget a whole number 0..%d or a percentage 0%%..100%%, and %.120q is none"
		return 0, false, fmt.Errorf(rule, maxHosts, text)
	}
	return n, percent, nil
}

// schedule reads a cron expression of five fields, or a name such as @daily, in UTC. @every has no times of the day.
func schedule(text string) (cron.Schedule, error) {
	switch {
	case len(text) > maxSchedule:
		return nil, fmt.Errorf("it is longer than %d bytes", maxSchedule)
	case strings.Contains(text, "TZ="):
		return nil, errors.New("it has a time zone")
	case strings.HasPrefix(text, "@every"):
		return nil, errors.New("@every has no times of the day")
	}
	return cron.ParseStandard(text)
}
