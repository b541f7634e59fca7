package ironic

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// slowSite is a Source of which each list takes a second. It notes when which was asked for.
func slowSite() (*site, map[string][]time.Duration) {
	var mu sync.Mutex
	asked, begun := map[string][]time.Duration{}, time.Now()
	return &site{each: func(ctx context.Context, what string) error {
		if what == "newest" {
			return nil
		}
		mu.Lock()
		asked[what] = append(asked[what], time.Since(begun))
		mu.Unlock()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		return ctx.Err()
	}}, asked
}

// busyAlone is a Source whose polls read no lists but those of work.
type busyAlone struct{ *site }

func (s busyAlone) Flow(ctx context.Context, _ bool) ([]State, error) { return s.site.Flow(ctx, false) }

// A poll of a slow Ironic takes as long as the longest row of lists, not as all of them: what a node passes through is read in
// that order, everything else side by side.
func TestKindsOfWorkAreReadSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, asked := slowSite()
		begun := time.Now()
		if err := poller(t, busyAlone{s}, &view{}, func(o *PollerOptions) { o.AtOnce = 0 }).PollOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("10 lists of a second each took %v, want 3s", took)
		}
		want := map[string][]time.Duration{
			"deleting": seconds(0), "cleaning": seconds(1), "clean wait": seconds(2), "inspecting": seconds(0), "inspect wait": seconds(1),
			"deploying": seconds(0), "wait call-back": seconds(1), "rescuing": seconds(0), "rescue wait": seconds(1), "unrescuing": seconds(2),
		}
		if diff := cmp.Diff(want, asked); diff != "" {
			t.Errorf("when the lists were read (-want +got):\n%s", diff)
		}
	})
}
