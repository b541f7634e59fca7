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
	return part{name, func(ctx context.Context) error {
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
		short := part{"short", func(context.Context) error { return nil }}
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
		fails := part{"b", func(context.Context) error {
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

func TestAPartThatDoesNotEndIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s story
		release := make(chan struct{})
		deaf := part{"deaf", func(context.Context) error {
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
