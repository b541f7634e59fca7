package lead_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/lead"
)

// The label follows the lead, is taken off whoever led before and may be gone, and is written again now and then. A fault
// is said once; an API server that hangs keeps no process from ending.
func TestTheLabel(t *testing.T) {
	for former, want := range map[string]string{"": "-a +a +a -a", "b_0": "-a +a -b +a -b -a", "a_0": "-a +a +a -a", "../b_0": "-a +a +a -a"} {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var asked []string
			var log strings.Builder
			var leading, broken, hangs atomic.Bool
			patch := func(ctx context.Context, _ client.WithWatch, o client.Object, how client.Patch, _ ...client.PatchOption) error {
				text, err := how.Data(o)
				if hangs.Load() {
					<-ctx.Done()
				}
				if err != nil || broken.Load() || hangs.Load() {
					return errors.New("no right")
				}
				mu.Lock()
				defer mu.Unlock()
				sign := "-"
				if strings.Contains(string(text), `"leader"`) {
					sign = "+"
				}
				asked = append(asked, sign+o.GetName())
				return nil
			}
			l := &lead.Label{
				Client:    interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{Patch: patch}),
				Namespace: "metal3", Pod: "a", Leading: leading.Load, Former: func() string { return former },
				Log: slog.New(slog.NewTextHandler(&log, nil)),
			}
			if l.Fault() == nil {
				t.Error("the label is known before it was written")
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); l.Run(ctx) }()
			pass := func(d time.Duration, fault bool) {
				t.Helper()
				<-time.After(d)
				if synctest.Wait(); (l.Fault() != nil) != fault {
					t.Errorf("fault: %v", l.Fault())
				}
			}
			pass(time.Second, false)
			leading.Store(true)
			pass(16*time.Second, false)
			leading.Store(false)
			pass(time.Second, false)
			if got := strings.Join(asked, " "); got != want || log.Len() > 0 {
				t.Errorf("%q: %s, want %s; log %s", former, got, want, &log)
			}
			broken.Store(true)
			pass(time.Hour, true)
			broken.Store(false)
			pass(5*time.Second, false)
			if strings.Count(log.String(), "\n") != 2 {
				t.Errorf("log: %s", &log)
			}
			hangs.Store(true)
			cancel()
			if !within(time.Second, ended) {
				t.Error("the end hangs")
			}
		})
	}
}
