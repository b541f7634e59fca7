package gate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Each test here fails with a mutant that the others let live (make mutants).

// GW-17: the name of a node of BMO's is namespace~name; any other is nobody's host.
func TestGW17_WhoIsAskedAbout(t *testing.T) {
	for name, want := range map[string]api.Ask{
		"metal3~host-1": {NodeUUID: "u", Namespace: "metal3", Name: "host-1", ConductorGroup: "rack", VirtualMedia: true},
		"metal3~a~b":    {NodeUUID: "u", Namespace: "metal3", Name: "a~b", ConductorGroup: "rack", VirtualMedia: true},
		"host-1":        {NodeUUID: "u", Name: "host-1", ConductorGroup: "rack", VirtualMedia: true},
		"metal3~":       {NodeUUID: "u", Name: "metal3~", ConductorGroup: "rack", VirtualMedia: true},
		"":              {NodeUUID: "u", ConductorGroup: "rack", VirtualMedia: true},
	} {
		if diff := cmp.Diff(want, identity{uuid: "u", name: name, group: "rack", virtualMedia: true}.ask()); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}

func TestTheDirectoryForgetsWhatIsGone(t *testing.T) {
	d := directory{maxAge: time.Minute, known: map[string]entry{}}
	now := time.Now()
	d.put(now, "a", identity{uuid: "u"})
	d.put(now, "b", identity{uuid: "v"})
	if e, ok := d.get(now.Add(time.Minute), "a"); !ok || e.uuid != "u" {
		t.Errorf("%+v, %v", e, ok)
	}
	if d.drop("a"); len(d.known) != 1 || d.known["b"].uuid != "v" {
		t.Errorf("what is gone is kept, or the other is gone: %v", d.known)
	}
}

// GW-4: a no says in seconds when to come again, at least one; python-ironicclient does not bear the header.
func TestGW4_WhenToComeAgain(t *testing.T) {
	g := New(Options{})
	for _, row := range []struct {
		seconds int
		agent   string
		header  string
		text    string
	}{
		{30, "gophercloud/v2", "30", "ask again in 30 s"},
		{0, "gophercloud/v2", "1", "ask again in 1 s"},
		{30, "python-ironicclient", "", "ask again in 30 s"},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPut, "/", nil)
		r.Header.Set("User-Agent", row.agent)
		g.refuse(w, r, api.Answer{Reason: api.ReasonFull, Message: "m", RetryAfterSeconds: row.seconds})
		if w.Code != http.StatusConflict || w.Header().Get("Retry-After") != row.header || !strings.Contains(w.Body.String(), row.text) {
			t.Errorf("%+v: %d %v %s", row, w.Code, w.Header(), w.Body)
		}
	}
	if g.Counts().Refused != 3 {
		t.Errorf("%+v", g.Counts())
	}
	w := httptest.NewRecorder()
	if g.tooLate(w, httptest.NewRequest(http.MethodPut, "/", nil)); w.Header().Get("Retry-After") != strconv.Itoa(5) {
		t.Errorf("%v", w.Header())
	}
}

// A disk that keeps no body is the operator's to know of, once in a while, and costs the host a try only.
func TestABodyThatCannotBeKeptIsLogged(t *testing.T) {
	var log bytes.Buffer
	g := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		w := httptest.NewRecorder()
		g.badBody(w, httptest.NewRequest(http.MethodPut, "/v1/nodes/x/states/provision", nil), errors.New("no space left on device"))
		if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "no space left on device") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	}
	if n := strings.Count(log.String(), "a body cannot be kept"); n != 1 {
		t.Errorf("%d lines: %s", n, log.String())
	}
}

// shownNodes is an Ironic that has these nodes, by the key that it is asked for, and a Decider that hears of them.
type shownNodes struct {
	Decider
	nodes map[string]ironic.Node
	shown ironic.Node // what a document is read as
	err   error
	slow  bool // nothing comes
	heard []ironic.NodeObservation
}

func (s *shownNodes) Node(ctx context.Context, key string) (ironic.Node, bool, error) {
	if s.slow {
		<-ctx.Done()
		return ironic.Node{}, false, ctx.Err()
	}
	n, found := s.nodes[key]
	return n, found, s.err
}
func (s *shownNodes) Shown(io.Reader) (ironic.Node, error)              { return s.shown, nil }
func (*shownNodes) Begin(time.Time) ironic.Mark                         { return ironic.Mark{} }
func (s *shownNodes) ObserveNode(_ time.Time, o ironic.NodeObservation) { s.heard = append(s.heard, o) }

// GW-17: what a fetch shows is heard by the decision, and believed for a while; what is gone is not known any
// more, and another node than the one that was asked for is an error.
func TestGW17_WhatAFetchShows(t *testing.T) {
	s := &shownNodes{nodes: map[string]ironic.Node{
		"u": {UUID: "u", Name: "metal3~a"}, "metal3~a": {UUID: "u", Name: "metal3~a"}, "odd": {UUID: "v", Name: "metal3~b"},
	}}
	now := time.Now()
	g := New(Options{Ironic: s, Decider: s, ListMaxAge: time.Minute, Now: func() time.Time { return now }})
	for _, key := range []string{"u", "metal3~a"} {
		who, found, err := g.fetch(t.Context(), key)
		if want := (identity{uuid: "u", name: "metal3~a"}); who != want || !found || err != nil {
			t.Errorf("%s: %+v, %v, %v", key, who, found, err)
		}
		if e, ok := g.known(key); !ok || e.uuid != "u" {
			t.Errorf("%s: %+v, %v", key, e, ok)
		}
	}
	if _, found, err := g.fetch(t.Context(), "odd"); found || err == nil || !strings.Contains(err.Error(), `asked for the node "odd"`) {
		t.Errorf("%v, %v", found, err)
	}
	delete(s.nodes, "u")
	if who, found, err := g.fetch(t.Context(), "u"); who != (identity{}) || found || err != nil {
		t.Errorf("gone: %+v, %v, %v", who, found, err)
	}
	if e, ok := g.known("u"); ok {
		t.Errorf("gone: %+v is known", e)
	}
	s.err = errors.New("away")
	if _, found, err := g.fetch(t.Context(), "metal3~a"); found || !errors.Is(err, s.err) {
		t.Errorf("away: %v, %v", found, err)
	}
	if len(s.heard) != 3 || !s.heard[0].Found || s.heard[2].Found || s.heard[2].Key != "u" {
		t.Errorf("heard %+v", s.heard)
	}
}
