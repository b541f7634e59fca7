package demo

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// interrupt ends a context when a text appears.
func interrupt(t *testing.T, at func(text string) bool) (context.Context, *screen) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, &screen{seen: func(text string) {
		if at(text) {
			cancel()
		}
	}}
}

// Over real sockets the limit holds to the last host, and hosts that fail at first get there too, in both ways in.
func TestTheLimitHolds(t *testing.T) {
	t.Parallel()
	for _, via := range []string{simulate.ViaCheck, simulate.ViaGateway} {
		t.Run(via, func(t *testing.T) {
			t.Parallel()
			o := DefaultOptions()
			o.Hosts, o.Limit, o.Failing, o.Speed, o.Via = 10, 3, 0.1, maxSpeed, via
			var out, progress screen
			sum, err := Run(t.Context(), o, simulate.Output{Stdout: &out, Stderr: &progress, JSON: true})
			if err != nil {
				t.Fatal(err)
			}
			if sum.Exceeded() || sum.PeakWorking == 0 || sum.OverLimitSeconds != 0 || sum.Provisioned != 10 || sum.Failed != 0 || sum.Interrupted {
				t.Errorf("%+v", sum)
			}
			if sum.IronicListRequests == 0 || sum.MakespanSeconds <= 0 {
				t.Errorf("%+v", sum)
			}
			var again Summary
			if err := json.Unmarshal([]byte(out.String()), &again); err != nil || again != sum {
				t.Errorf("printed %s: %v", out.String(), err)
			}
			for _, want := range []string{"throttle: http://127.0.0.1:", "via " + via, "/3  working ", "provisioned 10/10"} {
				if !strings.Contains(progress.String(), want) {
					t.Errorf("%q is not in\n%s", want, progress.String())
				}
			}
		})
	}
}

// --keep leaves everything running after the summary; an interrupt before the storm has none.
func TestKeptAndInterrupted(t *testing.T) {
	t.Parallel()
	o := DefaultOptions()
	o.Hosts, o.Tenants, o.Failing, o.Keep, o.Speed = 1, 1, 0, true, maxSpeed
	ctx, progress := interrupt(t, func(text string) bool { return strings.Contains(text, "everything runs on") })
	var out screen
	if sum, err := Run(ctx, o, simulate.Output{Stdout: &out, Stderr: progress}); err != nil || sum.Interrupted || out.String() == "" {
		t.Errorf("%v, %+v, printed\n%s", err, sum, out.String())
	}
	ctx, progress = interrupt(t, func(text string) bool { return strings.Contains(text, "throttle: ") })
	if _, err := Run(ctx, DefaultOptions(), simulate.Output{Stdout: io.Discard, Stderr: progress}); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("before the storm: %v", err)
	}
}

func TestWrongOptions(t *testing.T) {
	o := DefaultOptions()
	o.Hosts, o.Workers, o.Speed = 1001, 0, 0.5
	const want = `--hosts 1001: must be at most 1000: simulate plays larger storms
--speed 0.5: must be 1 to 300, or 0 for the usual one
--workers 0: must be 1 to 1024`
	if err := o.Validate(); err == nil || err.Error() != want {
		t.Errorf("%v, want\n%s", err, want)
	}
}
