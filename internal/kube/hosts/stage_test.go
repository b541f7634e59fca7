package hosts

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inMemory calls a handler without a socket, so that it may be used in a bubble. Its
// bodies arrive as they are written.
type inMemory struct{ http.Handler }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	in, out := io.Pipe()
	w := &pipeWriter{out: out, header: http.Header{}, began: make(chan int, 1)}
	ctx := r.Context()
	stop := context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	go func() {
		defer stop()
		err := io.EOF
		defer func() {
			if recover() != nil { // as net/http does with http.ErrAbortHandler
				err = io.ErrUnexpectedEOF
			}
			w.WriteHeader(http.StatusOK)
			out.CloseWithError(err)
		}()
		m.ServeHTTP(w, r)
	}()
	select {
	case code := <-w.began:
		return &http.Response{StatusCode: code, Header: w.header, Body: in, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pipeWriter struct {
	out    *io.PipeWriter
	header http.Header
	once   sync.Once
	began  chan int
}

func (w *pipeWriter) Header() http.Header  { return w.header }
func (w *pipeWriter) Flush()               { w.WriteHeader(http.StatusOK) }
func (w *pipeWriter) WriteHeader(code int) { w.once.Do(func() { w.began <- code }) }
func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(p)
}

// stage is a directory of a cluster, in a bubble.
type stage struct {
	*testing.T
	cluster *cluster
	dir     *Directory
	log     lockedLog
	end     context.CancelFunc
	ended   chan struct{}

	mu      sync.Mutex
	changes []string
}

// play runs the script in a bubble, with a directory of the namespaces that was started.
func play(t *testing.T, namespaces []string, prepare func(*cluster), script func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{T: t, cluster: newCluster(t), ended: make(chan struct{})}
		if prepare != nil {
			prepare(s.cluster)
		}
		var err error
		s.dir, err = New(Options{
			Config:     &rest.Config{Host: "http://kube", Transport: inMemory{s.cluster}},
			Namespaces: namespaces, Changed: s.changed, Log: slog.New(slog.NewTextHandler(&s.log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s.end = cancel
		go func() {
			defer close(s.ended)
			if err := s.dir.Run(ctx); err != nil {
				t.Error(err)
			}
		}()
		s.pass(2 * time.Second) // a watch that ends within one is followed by a list
		script(s)
		cancel()
		<-s.ended
	})
}

func (s *stage) changed(old, now *Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case old == nil:
		s.changes = append(s.changes, "+"+now.Namespace+"/"+now.Name)
		if got, ok := s.dir.ByName(now.Namespace, now.Name); !ok || got != *now {
			s.Errorf("told of %+v, the directory shows %+v", *now, got)
		}
	case now == nil:
		s.changes = append(s.changes, "-"+old.Namespace+"/"+old.Name)
	default:
		s.changes = append(s.changes, "~"+old.Namespace+"/"+old.Name)
		if *old == *now {
			s.Errorf("told of no change: %+v", *now)
		}
	}
}

// told returns what Changed was told since the last call.
func (s *stage) told() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.Join(s.changes, " ")
	s.changes = nil
	return text
}

// pass lets time pass.
func (s *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// says compares the lines of the log since the last call, by level and beginning.
func (s *stage) says(want ...string) {
	s.Helper()
	synctest.Wait()
	got := s.log.take()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(want); i++ {
		level, text, _ := strings.Cut(want[i], " ")
		ok = strings.Contains(got[i], "level="+level+" ") && strings.Contains(got[i], text)
	}
	if !ok {
		s.Errorf("the log says\n%s, want %q", strings.Join(got, ""), want)
	}
}

const anyFault = "*"

// is compares the status; fault is a part of the last error, "" for none.
func (s *stage) is(synced bool, hosts int, fault string) {
	s.Helper()
	synctest.Wait()
	st := s.dir.Status()
	if st.Synced != synced || st.Hosts != hosts {
		s.Errorf("synced %v with %d hosts, want %v with %d", st.Synced, st.Hosts, synced, hosts)
	}
	if (fault == "") != (st.LastError == "") || fault != anyFault && !strings.Contains(st.LastError, fault) || st.BrokenSince.IsZero() != (fault == "") {
		s.Errorf("last error %q since %v, want %q", st.LastError, st.BrokenSince, fault)
	}
	if since := s.dir.BrokenSince(""); !since.Equal(st.BrokenSince) {
		s.Errorf("broken since %v by itself, %v by the status", since, st.BrokenSince)
	}
}

// lockedLog is a log that may be read while it is written.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) take() (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		lines = append(lines, line)
	}
	l.text.Reset()
	return lines
}

func newConfig(host string) *rest.Config { return &rest.Config{Host: host} }

// start runs a directory of c; end stops it and waits.
func start(t testing.TB, c *cluster, namespaces []string, changed func(old, now *Host)) (dir *Directory, end func()) {
	dir, err := New(Options{
		Config:     &rest.Config{Host: "http://kube", Transport: inMemory{c}},
		Namespaces: namespaces, Changed: changed,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- dir.Run(ctx) }()
	return dir, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
