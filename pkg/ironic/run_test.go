package ironic_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// running starts Run in a bubble and stops it when the test is over.
func running(t *testing.T, p *ironic.Poller) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
	}
}

// stamps is a View that notes when each poll began.
type stamps struct {
	view
	start  time.Time
	begins []time.Duration
}

func (s *stamps) Begin(now time.Time) ironic.Mark {
	s.begins = append(s.begins, now.Sub(s.start))
	return s.view.Begin(now)
}

// pass lets virtual time go by.
func pass(d time.Duration) { <-time.After(d) }

func seconds(list ...float64) []time.Duration {
	var all []time.Duration
	for _, s := range list {
		all = append(all, time.Duration(s*float64(time.Second)))
	}
	return all
}

func TestRunPollsAtOnceAndThenByInterval(t *testing.T) {
	for _, tt := range []struct {
		jitter float64
		want   []time.Duration
	}{
		{0.5, seconds(0, 10, 20, 30)},
		{0, seconds(0, 9, 18, 27)},
		{0.75, seconds(0, 10.5, 21, 31.5)},
	} {
		synctest.Test(t, func(t *testing.T) {
			v := &stamps{start: time.Now()}
			p := poller(t, &source{all: true}, v, func(o *ironic.PollerOptions) {
				o.Interval, o.Jitter = 10*time.Second, func() float64 { return tt.jitter }
			})
			stop := running(t, p)
			pass(32 * time.Second)
			stop()
			if diff := cmp.Diff(tt.want, v.begins); diff != "" {
				t.Errorf("jitter %v (-want +got):\n%s", tt.jitter, diff)
			}
		})
	}
}

// A shorter pause holds at once.
func TestAnotherPaceHoldsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &stamps{start: time.Now()}
		p := poller(t, &source{all: true}, v, func(o *ironic.PollerOptions) { o.Interval = time.Minute })
		stop := running(t, p)
		pass(10 * time.Second)
		p.Pace(5*time.Second, time.Minute)
		pass(time.Second)
		p.Pace(5*time.Second, time.Minute)
		pass(10 * time.Second)
		stop()
		if diff := cmp.Diff(seconds(0, 10, 15, 20), v.begins); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// While somebody waits for a slot polls come sooner, but take no more than a fifth of the time.
func TestRunHurriesWhileSomebodyWaits(t *testing.T) {
	for took, want := range map[time.Duration][]time.Duration{
		0:               seconds(0, 1, 2, 3, 4, 5, 6, 7),
		time.Second:     seconds(0, 5),
		3 * time.Second: seconds(0), // the pause is never longer than the interval
	} {
		synctest.Test(t, func(t *testing.T) {
			v := &stamps{view: view{hurries: true}, start: time.Now()}
			s := &source{all: true, each: func(context.Context, string) error { pass(took); return nil }}
			stop := running(t, poller(t, s, v, func(o *ironic.PollerOptions) { o.Interval = 10 * time.Second }))
			pass(7 * time.Second)
			stop()
			if diff := cmp.Diff(want, v.begins); diff != "" {
				t.Errorf("polls of %v (-want +got):\n%s", took, diff)
			}
		})
	}
}

// phase is a time in which every request ends with the same error, nil for none; after the last phase all is well.
type phase struct {
	until time.Duration
	err   error
}

func phases(list ...phase) *source {
	start := time.Now()
	return &source{all: true, each: func(context.Context, string) error {
		for _, p := range list {
			if time.Since(start) < p.until {
				return p.err
			}
		}
		return nil
	}}
}

func TestRunEndsPromptly(t *testing.T) {
	for _, when := range []string{"before", "in a request", "in a pause"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			v := &view{}
			s := &source{all: true}
			switch when {
			case "before":
				cancel()
			case "in a request":
				s = &source{each: func(context.Context, string) error { cancel(); return ctx.Err() }}
			case "in a pause":
				go func() { pass(time.Second); cancel() }()
			}
			var log bytes.Buffer
			p := poller(t, s, v, func(o *ironic.PollerOptions) { o.Interval, o.Log = time.Hour, slog.New(slog.NewTextHandler(&log, nil)) })
			start := time.Now()
			if err := p.Run(ctx); err != nil || time.Since(start) > time.Second {
				t.Errorf("%s: %v after %v", when, err, time.Since(start))
			}
			cancel()
			if log.Len() != 0 {
				t.Errorf("%s: an end that was asked for is no news:\n%s", when, log.String())
			}
		})
	}
}

func TestRunLogsChangesAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := phases(
			phase{35 * time.Second, nil},
			phase{135 * time.Second, &ironic.RequestError{Cause: ironic.CauseUnreachable, What: "GET /v1", Err: errors.New("refused")}},
			phase{235 * time.Second, &ironic.RequestError{Cause: ironic.CauseServer, What: "GET /v1", Status: 500}},
		)
		p := poller(t, s, &view{}, func(o *ironic.PollerOptions) {
			o.Interval = 10 * time.Second
			o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}}))
		})
		stop := running(t, p)
		pass(335 * time.Second)
		stop()
		want := strings.Join([]string{
			`level=WARN msg="ironic cannot be read" cause=unreachable error="ironic: GET /v1: unreachable: refused"`,
			`level=WARN msg="ironic cannot be read" cause="server error" error="ironic: GET /v1: server error: 500 Internal Server Error"`,
			`level=INFO msg="ironic can be read again" after=3m20s`,
		}, "\n") + "\n"
		if diff := cmp.Diff(want, log.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
