package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const goodAsk = `{"namespace":"metal3","name":"host-1","op":"provision","errorCount":1000000000}`

// Whatever the decision says is a 200.
func TestIsReadyPassesAskAndAnswer(t *testing.T) {
	for _, reason := range api.Reasons() {
		f := seen()
		f.answer = api.Answer{Ready: reason.Yes(), Reason: reason, RetryAfterSeconds: 60, Slots: api.Slots{Limit: 20}}
		h := made(t, f).API()
		for _, w := range []*httptest.ResponseRecorder{
			send(t, h, http.MethodPost, "/v1/isready", goodAsk, "Content-Type", "application/json; charset=utf-8"),
			send(t, h, http.MethodGet, "/v1/isready", ""),
		} {
			if diff := cmp.Diff(f.answer, decoded[api.Answer](t, w)); diff != "" || w.Code != http.StatusOK {
				t.Errorf("%d\n%s", w.Code, diff)
			}
		}
		if diff := cmp.Diff([]api.Ask{{Namespace: "metal3", Name: "host-1", Op: api.OpProvision, ErrorCount: 9}}, f.asks); diff != "" {
			t.Errorf("asked:\n%s", diff)
		}
	}
}

func TestBadAsksAre4xxAndNeverDecided(t *testing.T) {
	long := func(n int) string { return `{"name":"h","op":"none","specHash":"` + strings.Repeat("x", n) + `"}` }
	for _, row := range []struct {
		body, kind string
		code       int
		field      string
	}{
		{"", "application/json", 400, ""},
		{`{"nam":"h","op":"none"}`, "application/json", 400, "nam"},
		{`{"op":"none"}`, "application/json", 400, "name"},
		{long(maxAskBody - 38), "application/json", 400, "specHash"}, // the largest body that is read
		{long(maxAskBody - 37), "application/json", 413, ""},
		{goodAsk, "text/plain", 415, ""},
		{goodAsk, "", 415, ""},
	} {
		f := seen()
		isError(t, send(t, made(t, f).API(), http.MethodPost, "/v1/isready", row.body, "Content-Type", row.kind), row.code, row.field)
		if f.asked() != 0 {
			t.Errorf("%.40s was decided", row.body)
		}
	}
	f := seen()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/isready", iotest.ErrReader(errors.New("reset")))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	made(t, f).API().ServeHTTP(w, r)
	isError(t, w, http.StatusBadRequest, "")
}

func TestAsksWaitAtMostASecondForTheFirstPoll(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{ // of the first poll
		time.Hour: time.Second, 300 * time.Millisecond: 300 * time.Millisecond, 2 * time.Second: time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := unseen()
			h := made(t, f).API()
			poll := time.AfterFunc(after, func() { close(f.first) })
			defer poll.Stop()
			begun := time.Now()
			if w := send(t, h, http.MethodPost, "/v1/isready", goodAsk, jsonType...); w.Code != http.StatusOK || time.Since(begun) != want {
				t.Errorf("%d after %v, want %v", w.Code, time.Since(begun), want)
			}

			gone, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond) // a yes would hold a slot for nothing
			defer cancel()
			r, asked := httptest.NewRequestWithContext(gone, http.MethodPost, "/v1/isready", strings.NewReader(goodAsk)), f.asked()
			r.Header.Set("Content-Type", "application/json")
			f.first, begun = make(chan struct{}), time.Now()
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable || time.Since(begun) != 100*time.Millisecond || f.asked() != asked {
				t.Errorf("an asker that went away got %d after %v; decided: %t", w.Code, time.Since(begun), f.asked() != asked)
			}
		})
	}
}
