package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// screen is a Stderr that can be read while it is written to.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
	seen func(text string) // called after each write
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.text.Write(p)
	if s.seen != nil {
		s.seen(s.text.String())
	}
	return n, err
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestStorm_throttle: over real sockets the limit holds to the last host, and
// hosts that fail at first get there too, whichever way they ask.
func TestStorm_throttle(t *testing.T) {
	t.Parallel()
	for _, via := range []Via{ViaCheck, ViaGateway} {
		t.Run(string(via), func(t *testing.T) {
			t.Parallel()
			testStorm(t, via)
		})
	}
}

func testStorm(t *testing.T, via Via) {
	o := DefaultOptions()
	o.Hosts, o.Limit, o.Failing, o.Speed, o.Via = 10, 3, 0.1, maxSpeed, via
	var out, progress screen
	sum, err := Run(t.Context(), o, Output{Stdout: &out, Stderr: &progress, JSON: true})
	if err != nil {
		t.Fatal(err)
	}
	// Whether all slots are used is played in virtual time: here it would be the machine's.
	if sum.Exceeded() || sum.PeakWorking == 0 || sum.OverLimitSeconds != 0 {
		t.Errorf("peak %d, limit 3", sum.PeakWorking)
	}
	if sum.Provisioned != 10 || sum.Failed != 0 || sum.Unfinished() != "" {
		t.Errorf("%d of 10 provisioned, %d given up, unfinished: %s", sum.Provisioned, sum.Failed, sum.Unfinished())
	}
	if sum.FailingSlotShare <= 0 || sum.Asks == 0 || sum.IronicListRequests == 0 || sum.MeanWaitSeconds <= 0 {
		t.Errorf("%+v", sum)
	}
	var again Summary
	if err := json.Unmarshal([]byte(out.String()), &again); err != nil || again != sum {
		t.Errorf("printed %s: %v", out.String(), err)
	}
	if sum.Via != via || sum.Asks > sum.IronicRequests {
		t.Errorf("%+v", sum)
	}
	for _, want := range []string{"throttle: http://127.0.0.1:", "via " + string(via), "/3  working "} {
		if !strings.Contains(progress.String(), want) {
			t.Errorf("%q is not in\n%s", want, progress.String())
		}
	}
	if strings.Contains(progress.String(), "gateway:  http://127.0.0.1:") != (via == ViaGateway) {
		t.Errorf("whether there is a gateway is not in\n%s", progress.String())
	}
}

// TestStorm_adaptive: the throttle begins below the ceiling, and says so.
func TestStorm_adaptive(t *testing.T) {
	t.Parallel()
	o := DefaultOptions()
	o.Hosts, o.Limit, o.LimitMode, o.Failing, o.Speed, o.Via = 4, 100, "adaptive", 0, maxSpeed, ViaCheck
	var out, progress screen
	sum, err := Run(t.Context(), o, Output{Stdout: &out, Stderr: &progress})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Exceeded() || sum.Provisioned != 4 || sum.LimitMode != "adaptive" || sum.LimitAtEnd < 1 || sum.LimitAtEnd >= 100 {
		t.Errorf("%+v", sum)
	}
	for shown, want := range map[*screen]string{
		&out: fmt.Sprintf("adaptive, at the end %d\n", sum.LimitAtEnd), &progress: fmt.Sprintf("/%d  working ", sum.LimitAtEnd),
	} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("%q is not in\n%s", want, shown.String())
		}
	}
}

// TestStorm_overshoot: the first seconds are enough to see it, or as long as this machine
// needs. Between the list and the PUT of a host lie at least 25 ms, in which every worker
// has listed too: so more than limit hosts pass the present rule.
func TestStorm_overshoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy      Policy
		speed       float64
		least, most int
	}{
		{PolicyBMO, 20, 5, 4 + 8 - 1},
	} {
		t.Run(string(c.policy), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := DefaultOptions()
			o.Hosts, o.Limit, o.Workers, o.Speed, o.Policy = 20, 4, 8, c.speed, c.policy
			var out screen
			progress := screen{seen: func(text string) {
				var peak int
				last := text[max(0, strings.LastIndex(text, "(peak ")):]
				if n, _ := fmt.Sscanf(last, "(peak %d)", &peak); n == 1 && peak >= c.least {
					cancel()
				}
			}}
			sum, err := Run(ctx, o, Output{Stdout: &out, Stderr: &progress})
			if err != nil {
				t.Fatal(err)
			}
			if !sum.Exceeded() || sum.PeakWorking < c.least || sum.PeakWorking > c.most || sum.OverLimitSeconds <= 0 {
				t.Errorf("peak %d, over the limit for %v s; want %d to %d", sum.PeakWorking, sum.OverLimitSeconds, c.least, c.most)
			}
			if !strings.Contains(out.String(), "ABOVE THE LIMIT") {
				t.Errorf("printed\n%s", out.String())
			}
		})
	}
}

// TestInterrupted: an end of the context ends the storm with what there is, also
// on a terminal.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := DefaultOptions()
	o.Hosts, o.Policy = 5, PolicyBMO
	var out screen
	progress := screen{seen: func(text string) {
		if strings.Contains(text, "provisioned") {
			cancel()
		}
	}}
	sum, err := Run(ctx, o, Output{Stdout: &out, Stderr: &progress, Terminal: true})
	if err != nil || sum.Unfinished() != "interrupted" || !strings.Contains(out.String(), "NOT FINISHED") {
		t.Errorf("%v, %+v, printed\n%s", err, sum, out.String())
	}
}

// TestKeep leaves everything running after the summary.
func TestKeep(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := DefaultOptions()
	o.Hosts, o.Tenants, o.Policy, o.Keep, o.Duration = 2, 1, PolicyBMO, true, time.Second
	var out screen
	progress := screen{seen: func(text string) {
		if strings.Contains(text, "everything runs on") {
			cancel()
		}
	}}
	if sum, err := Run(ctx, o, Output{Stdout: &out, Stderr: &progress}); err != nil || sum.Unfinished() != "" || out.String() == "" {
		t.Errorf("%v, %+v, printed\n%s", err, sum, out.String())
	}
}

// TestPatience: a storm that is not going to end says so.
func TestPatience(t *testing.T) {
	if a, b := patience(maxSpeed), patience(1); a < 2*time.Minute || b < 3*time.Hour {
		t.Errorf("%s at the highest speed, %s at that of life", a, b)
	}
	small := DefaultOptions()
	small.Hosts, small.Policy, small.Speed = 5, PolicyBMO, 1 // minutes of work
	s, err := newStage(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	m := newMeter(small, s.fleet, s.look())
	s.begin()
	why := watch(s, m, &lines{to: io.Discard, speed: small.Speed}, 2*sampling)
	if !strings.HasSuffix(why, ": nothing began or ended any more") || summarize(s, m, why).Unfinished() != why {
		t.Errorf("in vain: %q", why)
	}
}

// TestInterruptedEarly: nothing was played, so there is no summary. Until then the
// usual speed was told.
func TestInterruptedEarly(t *testing.T) {
	t.Parallel()
	for via, plays := range map[Via]string{ViaCheck: "one second plays 3m0s", ViaGateway: "one second plays 1m30s"} {
		t.Run(string(via), func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			progress := screen{seen: func(text string) {
				if strings.Contains(text, "throttle: ") {
					cancel()
				}
			}}
			o := DefaultOptions()
			o.Via, o.Speed = via, 0
			var out screen
			_, err := Run(ctx, o, Output{Stdout: &out, Stderr: &progress})
			if err == nil || !strings.Contains(err.Error(), "interrupted") || out.String() != "" {
				t.Errorf("%v, printed %q", err, out.String())
			}
			if !strings.Contains(progress.String(), plays) {
				t.Errorf("%q is not in\n%s", plays, progress.String())
			}
		})
	}
}
