package app

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logBook is a log that a test reads.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// count counts the lines that contain all words, in their order.
func (b *logBook) count(words ...string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	return len(regexp.MustCompile(strings.Join(words, ".*")+".*\n").FindAllString(b.text.String(), -1))
}

// stage is an App that runs in a bubble, on an Ironic in memory, without
// listeners.
type stage struct {
	*testing.T
	app  *App
	log  *logBook
	stop func()
}

// play runs script in a bubble, with an App that change has prepared. The App
// ends with it.
func play(t *testing.T, change func(*Options, *fakeironic.Server), script func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, change)
		s.run()
		defer s.stop()
		script(s)
	})
}

// newStage makes an App that does not run yet.
func newStage(t *testing.T, change func(*Options, *fakeironic.Server)) *stage {
	t.Helper()
	o := fakeironic.DefaultOptions()
	o.Fleet.Nodes = 10
	world, err := fakeironic.NewWorld(o, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s, ironic := &stage{T: t, log: &logBook{}}, fakeironic.NewServer(world, time.Now)
	opts := Options{Config: config.Default(), Log: slog.New(slog.NewTextHandler(s.log, nil)), Version: "v1", Transport: ironic.Transport()}
	opts.Config.Ironic.Endpoint = "http://ironic/v1"
	opts.Config.Listen = config.Listen{}
	if change != nil {
		change(&opts, ironic)
	}
	if s.app, err = New(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	if s.app.cluster != nil {
		s.app.cluster.Config.ContentType = "application/json" // as apiServer speaks it
	}
	return s
}

// run runs the App until stop is called.
func (s *stage) run() {
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan error, 1)
	go func() { done <- s.app.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		begun := time.Now()
		cancel()
		if err := <-done; err != nil {
			s.Errorf("Run: %v", err)
		}
		if took := time.Since(begun); took > 5*time.Second {
			s.Errorf("Run took %v to end", took)
		}
	})
}

// pass lets virtual time go by.
func (s *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// ask asks for a host by the HTTP handler.
func (s *stage) ask(name string) api.Answer {
	s.Helper()
	a, err := s.post(name)
	if err != nil {
		s.Fatal(err)
	}
	return a
}

func (s *stage) post(name string) (a api.Answer, err error) {
	body := fmt.Sprintf(`{"namespace":"ns-01","name":%q,"op":"provision"}`, name)
	r := httptest.NewRequest(http.MethodPost, "/v1/isready", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.app.server.API().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return a, fmt.Errorf("%s: %d %s", name, w.Code, w.Body)
	}
	return a, json.Unmarshal(w.Body.Bytes(), &a)
}

// says demands an answer.
func (s *stage) says(name string, want api.Reason) {
	s.Helper()
	if a := s.ask(name); a.Reason != want {
		s.Errorf("%s: %s (%s), want %s", name, a.Reason, a.Message, want)
	}
}

// expect demands n lines of the log that contain all words.
func (s *stage) expect(n int, words ...string) {
	s.Helper()
	if got := s.log.count(words...); got != n {
		s.Errorf("%d lines say %q, want %d", got, words, n)
	}
}
