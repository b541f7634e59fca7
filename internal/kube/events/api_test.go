package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
)

// apiServer plays the part of Kubernetes that we write to, in memory: safe in a
// synctest bubble. It takes everything unless fault says otherwise.
type apiServer struct {
	mu      sync.Mutex
	events  []corev1.Event
	patches []string // path and body
	times   []time.Time
	tries   int
	fault   func(r *http.Request) *fault
}

// fault is what is wrong with a request.
type fault struct {
	code       int
	retryAfter string
	hangs      bool
	broken     bool // no connection
}

var errBroken = errors.New("connection refused")

// RoundTrip is http.RoundTripper's.
func (s *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.tries++
	var f *fault
	if s.fault != nil {
		f = s.fault(r)
	}
	s.mu.Unlock()
	switch {
	case f == nil:
	case f.hangs:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case f.broken:
		return nil, errBroken
	}
	w := httptest.NewRecorder()
	s.answer(w, r, f)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// ServeHTTP is http.Handler's.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.answer(w, r, nil) }

func (s *apiServer) answer(w http.ResponseWriter, r *http.Request, f *fault) {
	w.Header().Set("Content-Type", "application/json")
	if f != nil {
		if f.retryAfter != "" { // as API priority and fairness does
			w.Header().Set("Retry-After", f.retryAfter)
			http.Error(w, "Too many requests, please try again later.", f.code)
			return
		}
		w.WriteHeader(f.code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no %d","code":%d}`, f.code, f.code)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/events"):
		var e corev1.Event
		if err := json.Unmarshal(body, &e); err != nil || r.URL.Path != "/api/v1/namespaces/"+e.Namespace+"/events" {
			http.Error(w, "wrong", http.StatusBadRequest)
			return
		}
		s.events, s.times = append(s.events, e), append(s.times, time.Now())
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodPatch && r.Header.Get("Content-Type") == "application/merge-patch+json":
		s.patches = append(s.patches, r.URL.Path+" "+string(body))
	default:
		http.Error(w, "wrong", http.StatusMethodNotAllowed)
		return
	}
	w.Write(body)
}

// told lists what was told since the last time, as "name reason".
func (s *apiServer) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, e := range s.events {
		all = append(all, e.InvolvedObject.Name+" "+e.Reason)
	}
	all = append(all, s.patches...)
	s.events, s.patches = nil, nil
	return all
}

func (s *apiServer) faulty(f func(*http.Request) *fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// always is a fault of all requests.
func always(f fault) func(*http.Request) *fault { return func(*http.Request) *fault { return &f } }

// room is a recorder that runs against an apiServer.
type room struct {
	*Recorder
	t   *testing.T
	api *apiServer
	log *logged
}

// logged is a log that may be read while it is written.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// lines returns what was logged since the last time, by level.
func (l *logged) lines(level string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return strings.Count(l.text.String(), "level="+level+" ")
}

func found(_, name string) (string, bool) { return "uid-" + name, name != "bare" }

// inRoom runs what do does in a bubble, with a recorder that runs.
func inRoom(t *testing.T, o Options, do func(*room)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &room{t: t, api: &apiServer{}, log: &logged{}}
		o.Config = &rest.Config{Host: "http://kube.test", Transport: r.api}
		if o.Find == nil {
			o.Find = found
		}
		o.Log = slog.New(slog.NewTextHandler(r.log, nil))
		var err error
		if r.Recorder, err = New(o); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		defer func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}()
		do(r)
	})
}

// wants compares what was told by now.
func (r *room) wants(want ...string) {
	r.t.Helper()
	synctest.Wait()
	if got := r.api.told(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		r.t.Fatalf("told %q, want %q", got, want)
	}
}

// after lets time pass.
func (r *room) after(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}
