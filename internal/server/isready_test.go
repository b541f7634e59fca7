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

func TestIsReadyPassesAskAndAnswer(t *testing.T) {
	f := seen()
	f.answer = api.Answer{Ready: true, Reason: api.ReasonHeldSlot, Message: "already holds a slot", Slots: api.Slots{Limit: 20}}
	w := send(t, made(t, f).API(), http.MethodPost, "/v1/isready", goodAsk, "Content-Type", "application/json; charset=utf-8")
	if diff := cmp.Diff(f.answer, decoded[api.Answer](t, w)); diff != "" || w.Code != http.StatusOK {
		t.Errorf("%d\n%s", w.Code, diff)
	}
	want := []api.Ask{{Namespace: "metal3", Name: "host-1", Op: api.OpProvision, ErrorCount: 9}}
	if diff := cmp.Diff(want, f.asks); diff != "" {
		t.Errorf("asked:\n%s", diff)
	}
}

func TestEveryDenialIsA200(t *testing.T) {
	for _, reason := range api.Reasons() {
		f := seen()
		f.answer = api.Answer{Reason: reason, RetryAfterSeconds: 60}
		h := made(t, f).API()
		for _, w := range []*httptest.ResponseRecorder{
			send(t, h, http.MethodPost, "/v1/isready", goodAsk, jsonType...),
			send(t, h, http.MethodGet, "/v1/isready", ""),
		} {
			if got := decoded[api.Answer](t, w); w.Code != http.StatusOK || got.Ready || got.Reason != reason || got.RetryAfterSeconds != 60 {
				t.Errorf("%s: %d %+v", reason, w.Code, got)
			}
		}
	}
}

func TestBadAsksAre4xxAndNeverDecided(t *testing.T) {
	for _, row := range []struct {
		name, body  string
		contentType string
		code        int
		field       string
	}{
		{"no body", "", "application/json", 400, ""},
		{"no JSON", "x", "application/json", 400, ""},
		{"list", "[]", "application/json", 400, ""},
		{"two objects", goodAsk + goodAsk, "application/json", 400, ""},
		{"unknown field", `{"nam":"h","op":"none"}`, "application/json", 400, "nam"},
		{"field twice", `{"op":"none","op":"provision","name":"h"}`, "application/json", 400, "op"},
		{"wrong type", `{"name":1,"op":"none"}`, "application/json", 400, "name"},
		{"no op", `{"name":"h"}`, "application/json", 400, "op"},
		{"unknown op", `{"name":"h","op":"explode"}`, "application/json", 400, "op"},
		{"nobody", `{"op":"none"}`, "application/json", 400, "name"},
		{"bad UUID", `{"op":"none","nodeUUID":"1"}`, "application/json", 400, "nodeUUID"},
		{"largest body that is read", `{"name":"h","op":"none","specHash":"` + strings.Repeat("x", maxAskBody-38) + `"}`, "application/json", 400, "specHash"},
		{"too large", `{"name":"h","op":"none","specHash":"` + strings.Repeat("x", maxAskBody-37) + `"}`, "application/json", 413, ""},
		{"form", goodAsk, "application/x-www-form-urlencoded", 415, ""},
		{"text", goodAsk, "text/plain", 415, ""},
		{"no type", goodAsk, "", 415, ""},
		{"broken type", goodAsk, "application/json; =", 415, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := seen()
			isError(t, send(t, made(t, f).API(), http.MethodPost, "/v1/isready", row.body, "Content-Type", row.contentType), row.code, row.field)
			if f.asked() != 0 {
				t.Error("was decided")
			}
		})
	}
}

func TestBodyThatBreaksOff(t *testing.T) {
	f := seen()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/isready", iotest.ErrReader(errors.New("reset")))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	made(t, f).API().ServeHTTP(w, r)
	isError(t, w, http.StatusBadRequest, "")
}

func TestAsksWaitAtMostASecondForTheFirstPoll(t *testing.T) {
	for _, row := range []struct {
		name  string
		after time.Duration // of the first poll; 0: never
		want  time.Duration
	}{
		{"never", 0, time.Second}, {"soon", 300 * time.Millisecond, 300 * time.Millisecond}, {"too late", 2 * time.Second, time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := unseen()
				f.answer = api.Answer{Reason: api.ReasonStarting}
				h := made(t, f).API()
				if row.after > 0 {
					time.AfterFunc(row.after, func() { close(f.first) })
				}
				for _, method := range []string{http.MethodPost, http.MethodGet} {
					begun := time.Now()
					w := send(t, h, method, "/v1/isready", goodAsk, jsonType...)
					if got := decoded[api.Answer](t, w); w.Code != http.StatusOK || got.Reason != api.ReasonStarting {
						t.Errorf("%s: %d %+v", method, w.Code, got)
					}
					if took := time.Since(begun); took > row.want || method == http.MethodPost && took != row.want {
						t.Errorf("%s: took %v, want %v", method, took, row.want)
					}
				}
				<-time.After(2 * time.Second) // lets the timer of the row pass
			})
		})
	}
}

func TestAskerThatWentAwayTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := unseen()
		ctx, cancel := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/isready", strings.NewReader(goodAsk))
		r.Header.Set("Content-Type", "application/json")
		time.AfterFunc(100*time.Millisecond, cancel)
		begun := time.Now()
		w := httptest.NewRecorder()
		made(t, f).API().ServeHTTP(w, r)
		if f.asked() != 0 || time.Since(begun) != 100*time.Millisecond || w.Code != http.StatusServiceUnavailable {
			t.Errorf("%d asks, %v, %d", f.asked(), time.Since(begun), w.Code)
		}
	})
}
