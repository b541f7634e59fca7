package app

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// story collects what parts do, in order.
type story struct {
	mu   sync.Mutex
	told []string
}

func (s *story) tell(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, text)
}

// until is a part that runs until its end and returns err.
func (s *story) until(name string, err error) part {
	return part{name: name, run: func(ctx context.Context) error {
		<-ctx.Done()
		s.tell(name)
		return err
	}}
}

func TestPartsEndInTheOppositeOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s story
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, cancel)
		short := part{name: "short", run: func(context.Context) error { return nil }}
		err := runParts(ctx, []part{s.until("a", nil), short, s.until("b", nil), s.until("c", nil)}, time.Second)
		if diff := cmp.Diff([]string{"c", "b", "a"}, s.told); diff != "" || err != nil {
			t.Errorf("order (-want +got):\n%serror %v", diff, err)
		}
	})
}

func TestOnePartThatFailsEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s story
		broken := errors.New("broken")
		fails := part{name: "b", run: func(context.Context) error {
			<-time.After(time.Minute)
			return broken
		}}
		err := runParts(t.Context(), []part{s.until("a", errors.New("late")), fails, s.until("c", nil)}, time.Second)
		if diff := cmp.Diff([]string{"c", "a"}, s.told); diff != "" {
			t.Errorf("order (-want +got):\n%s", diff)
		}
		if !errors.Is(err, broken) || err.Error() != "b: broken\na: late" {
			t.Errorf("error %q", err)
		}
	})
}

// What has a grace of its own has it, whatever those before it took.
func TestAPartHasItsOwnTimeToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(name string, takes, grace time.Duration) part {
			return part{name: name, grace: grace, run: func(ctx context.Context) error {
				<-ctx.Done()
				<-time.After(takes)
				return nil
			}}
		}
		for _, tc := range []struct {
			own  time.Duration
			want string
		}{{0, "decision: did not end in time"}, {2 * time.Second, "decision: did not end in time"}, {4 * time.Second, ""}} {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := runParts(ctx, []part{slow("decision", 3*time.Second, tc.own), slow("gateway", 4*time.Second, 0)}, stopTimeout)
			if (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
				t.Errorf("with %v of its own: %v, want %q", tc.own, err, tc.want)
			}
			<-time.After(time.Minute)
		}
	})
}

func TestAPartThatDoesNotEndIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s story
		release := make(chan struct{})
		deaf := part{name: "deaf", run: func(context.Context) error {
			<-release
			return nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun := time.Now()
		err := runParts(ctx, []part{s.until("a", nil), deaf}, stopTimeout)
		if err == nil || !strings.Contains(err.Error(), "deaf: did not end in time") {
			t.Errorf("error %v", err)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("the end took %v", took)
		}
		close(release)
		synctest.Wait()
	})
}
