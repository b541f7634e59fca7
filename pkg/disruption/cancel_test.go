package disruption

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// counted is a context that is cancelled when it was asked so many times.
type counted struct {
	context.Context
	left, asked int
}

func (c *counted) Err() error {
	if c.asked++; c.asked > c.left {
		return context.Canceled
	}
	return nil
}

// TestLargeStatesEndWithTheirContext: each pod and each anti-affinity that is read looks at it.
func TestLargeStatesEndWithTheirContext(t *testing.T) {
	const n = 20
	l := newLab(t, n)
	for i := range n {
		l.pod(i, 1)
		waits := l.pod(i, 1)
		waits.Node = ""
		waits.Labels = map[string]string{"app": fmt.Sprint(i)}
		fitAvoids("zone", func(a *corev1.PodAffinityTerm) { a.LabelSelector.MatchLabels = waits.Labels })(waits)
	}
	asked := func(left int) (int, error) {
		ctx := &counted{Context: t.Context(), left: left}
		err := newPlanner(&l.s, l.c, l.now).build(ctx)
		return ctx.asked, err
	}
	all, err := asked(1 << 30)
	// Pods and their classes are read, waiting pods get a place, and terms are spread.
	if want := 2*n + n + n + n; err != nil || all < want {
		t.Fatalf("the context is asked %d times, want %d at least: %v", all, want, err)
	}
	for left := range all {
		if got, err := asked(left); !errors.Is(err, context.Canceled) || got != left+1 {
			t.Fatalf("cancelled at look %d: %d looks, %v", left, got, err)
		}
	}
}

// TestAPlanOfTheFarFutureIsRefused: its times could not be written.
func TestAPlanOfTheFarFutureIsRefused(t *testing.T) {
	l := newLab(t, 1)
	_, err := Plan(t.Context(), &l.s, l.c, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
	wantsField(t, err, "now")
	if _, err := Plan(t.Context(), &l.s, l.c, time.Date(maxYear, 12, 31, 23, 59, 59, 0, time.UTC)); err != nil {
		t.Error(err)
	}
}
