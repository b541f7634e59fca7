package hosts_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
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

	told map[string]hosts.Host // what Changed has told, by namespace/name
	tale []string              // the same as a text
	log  strings.Builder
}

// play runs the script in a bubble, with a directory that was started.
func play(t *testing.T, prepare func(*cluster), script func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster()
		prepare(c)
		s := start(t, c, nil)
		synctest.Wait()
		script(s)
	})
}

// start runs a directory until the test ends.
func start(t *testing.T, c *cluster, namespaces []string) *stage {
	t.Helper()
	s := &stage{T: t, cluster: c, told: map[string]hosts.Host{}}
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
	sign, of, was := "~", now, hosts.Host{}
	switch {
	case old == nil:
		sign = "+"
	case now == nil:
		sign, of, was = "-", old, *old
	case *old == *now:
		s.Errorf("told of no change: %+v", *now)
	default:
		was = *old
	}
	key := of.Namespace + "/" + of.Name
	s.tale = append(s.tale, sign+key)
	if s.told[key] != was {
		s.Errorf("told that %+v was, and before that %+v", was, s.told[key])
	}
	if delete(s.told, key); now != nil {
		s.told[key] = *now
		if got, ok := s.ByName(now.Namespace, now.Name); !ok || got != *now {
			s.Errorf("told of %+v, the directory shows %+v", *now, got)
		}
	}
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
	if (fault == "") != (st.LastError == "") || !strings.Contains(st.LastError, fault) || (st.BrokenSince == nil) != (fault == "") {
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
