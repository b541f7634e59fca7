package parts

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

// stopTimeout is how long all parts together have for their end.
const stopTimeout = 4800 * time.Millisecond

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
func (s *story) until(name string, err error) Part {
	return Part{Name: name, Run: func(ctx context.Context) error {
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
		short := Part{Name: "short", Run: func(context.Context) error { return nil }}
		err := Run(ctx, time.Second, s.until("a", nil), short, s.until("b", nil), s.until("c", nil))
		if diff := cmp.Diff([]string{"c", "b", "a"}, s.told); diff != "" || err != nil {
			t.Errorf("order (-want +got):\n%serror %v", diff, err)
		}
	})
}

func TestOnePartThatFailsEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s story
		broken := errors.New("broken")
		fails := Part{Name: "b", Run: func(context.Context) error {
			<-time.After(time.Minute)
			return broken
		}}
		err := Run(t.Context(), time.Second, s.until("a", errors.New("late")), fails, s.until("c", nil))
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
		slow := func(name string, takes, grace time.Duration) Part {
			return Part{Name: name, Grace: grace, Run: func(ctx context.Context) error {
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
			err := Run(ctx, stopTimeout, slow("decision", 3*time.Second, tc.own), slow("gateway", 4*time.Second, 0))
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
		deaf := Part{Name: "deaf", Run: func(context.Context) error {
			<-release
			return nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun := time.Now()
		err := Run(ctx, stopTimeout, s.until("a", nil), deaf)
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
