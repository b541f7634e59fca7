package hosts_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stage is a directory of a cluster, in a bubble.
type stage struct {
	*testing.T
	*cluster
	*hosts.Directory

	told sync.Map // what Changed has told, by namespace/name
	tale []string // the same as a text
	log  strings.Builder
}

// play runs the script in a bubble, with a directory that was started.
func play(t *testing.T, namespaces []string, prepare func(*cluster), script func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		prepare(c)
		s := start(t, c, namespaces)
		synctest.Wait()
		script(s)
	})
}

// start runs a directory until the test ends.
func start(t *testing.T, c *cluster, namespaces []string) *stage {
	t.Helper()
	s := &stage{T: t, cluster: c}
	var err error
	s.Directory, err = hosts.New(hosts.Options{
		Config:     &rest.Config{Host: "http://kube", Transport: c},
		Namespaces: namespaces, Changed: s.changed, Log: slog.New(slog.NewTextHandler(&s.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Directory.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *stage) changed(old, now *hosts.Host) {
	switch {
	case old == nil:
		s.tell("+", now)
	case now == nil:
		s.tell("-", old)
	default:
		s.tell("~", now)
	}
	var was any
	if old != nil {
		was, _ = s.told.LoadAndDelete(old.Namespace + "/" + old.Name)
		if was != *old {
			s.Errorf("told that %+v was, and before that %+v", *old, was)
		}
	}
	if now != nil {
		if _, had := s.told.Swap(now.Namespace+"/"+now.Name, *now); had {
			s.Errorf("%+v appears twice", *now)
		}
		if got, ok := s.ByName(now.Namespace, now.Name); !ok || got != *now {
			s.Errorf("told of %+v, the directory shows %+v", *now, got)
		}
	}
}

func (s *stage) tell(sign string, h *hosts.Host) {
	s.tale = append(s.tale, sign+h.Namespace+"/"+h.Name)
}

// news is what was told since the last call, sorted.
func (s *stage) news() string {
	synctest.Wait()
	defer func() { s.tale = nil }()
	slices.Sort(s.tale)
	return strings.Join(s.tale, " ")
}

// pass lets time pass.
func (s *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// is compares the status; fault is a part of the last error, "" for none.
func (s *stage) is(synced bool, hosts int, fault string) {
	s.Helper()
	synctest.Wait()
	st := s.Status()
	if st.Synced != synced || st.Hosts != hosts {
		s.Errorf("synced %v with %d hosts, want %v with %d", st.Synced, st.Hosts, synced, hosts)
	}
	if (fault == "") != (st.LastError == "") || !strings.Contains(st.LastError, fault) || st.BrokenSince.IsZero() != (fault == "") {
		s.Errorf("last error %q since %v, want %q", st.LastError, st.BrokenSince, fault)
	}
}

// says compares the lines of the log since the last call.
func (s *stage) says(want ...string) {
	s.Helper()
	synctest.Wait()
	got := slices.Collect(strings.Lines(s.log.String()))
	s.log.Reset()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = strings.Contains(got[i], want[i])
	}
	if !ok {
		s.Errorf("the log says\n%s, want %q", strings.Join(got, ""), want)
	}
}
