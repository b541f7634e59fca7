package server

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const (
	goodAsk = `{"namespace":"metal3","name":"host-1","op":"provision","errorCount":1000000000}`
	uuid    = "3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"
)

// Whatever the decision says is a 200.
func TestIsReadyPassesAskAndAnswer(t *testing.T) {
	for _, reason := range api.Reasons() {
		f := seen()
		f.answer = api.Answer{Ready: reason.Yes(), Reason: reason, RetryAfterSeconds: 60, Slots: api.Slots{Limit: 20}}
		h := made(t, f).api
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

// Every field arrives; the UUID and the group as Ironic spells them, counts within 0..9.
func TestAnAskWithEverything(t *testing.T) {
	f := seen()
	send(t, made(t, f).api, http.MethodPost, "/v1/isready", `{"namespace":"n","name":"h","uid":"u","nodeUUID":"`+strings.ToUpper(uuid)+`",
		"op":"inspect","bmhState":"powering off before delete","errorCount":-1,"provisioningFailCount":10,"specHash":"s","virtualMedia":true,
		"conductorGroup":"G","deleting":true,"planned":true,"dryRun":true}`, jsonType...)
	want := []api.Ask{{
		Namespace: "n", Name: "h", UID: "u", NodeUUID: uuid, Op: api.OpInspect, BMHState: "powering off before delete",
		ProvisioningFailCount: 9, SpecHash: "s", VirtualMedia: true, ConductorGroup: "g", Deleting: true, Planned: true, DryRun: true,
	}}
	if diff := cmp.Diff(want, f.asks); diff != "" {
		t.Error(diff)
	}
	for i := range reflect.TypeFor[api.Ask]().NumField() {
		if name := reflect.TypeFor[api.Ask]().Field(i).Name; reflect.ValueOf(want[0]).Field(i).IsZero() && name != "ErrorCount" {
			t.Errorf("the test has no %s", name)
		}
	}
}

// Wrong input names field, value and rule, and is never decided.
func TestBadAsksAre4xxAndNeverDecided(t *testing.T) {
	of := func(field, value string) string { return `{"op":"none","name":"h","` + field + `":` + value + `}` }
	long := func(field string, n int) string { return of(field, `"`+strings.Repeat("x", n)+`"`) }
	const one = "body: must be one JSON object, and nothing else"
	for _, row := range []struct {
		body  string
		code  int
		field string
		want  string
	}{
		{"", 400, "op", "op: must be one of [inspect prepare"},
		{`[]`, 400, "", one}, {`null`, 400, "", one}, {`{`, 400, "", one}, {`{"op":}`, 400, "", one}, {`{"op":"none"}}`, 400, "", one}, {`{}{}`, 400, "", one},
		{`{"op":"none"}`, 400, "name", "name: must be set where nodeUUID is not"},
		{`{"op":"Provision"}`, 400, "op", `op: "Provision" must be one of`},
		{`{"op":"none","op":"none"}`, 400, "op", "op: is given twice"},
		{`{"Op":"none"}`, 400, "Op", "Op: is not a field here"},
		{`{"op":1}`, 400, "op", "op: must be a string, not number"},
		{of("errorCount", `"1"`), 400, "errorCount", "errorCount: must be a whole number, not string"},
		{of("errorCount", `1.5`), 400, "errorCount", "errorCount: must be a whole number, not number 1.5"},
		{of("dryRun", `null`), 400, "dryRun", "dryRun: must not be null; leave it out"}, {of("errorCount", `null`), 400, "errorCount", "null"},
		{of("deleting", `"yes"`), 400, "deleting", "deleting: must be true or false, not string"},
		{`{"op":"none","name":"a~b"}`, 400, "name", `name: "a~b" may hold letters`},
		{`{"op":"none","name":"a\nb"}`, 400, "name", `name: "a\nb" may hold letters`},
		{of("namespace", `"a~b"`), 400, "namespace", "may hold letters"},
		{of("nodeUUID", `"`+uuid[1:]+`"`), 400, "nodeUUID", "is not a UUID"},
		{of("nodeUUID", `"`+strings.ReplaceAll(uuid, "-", "0")+`"`), 400, "nodeUUID", "is not a UUID"},
		{of("uid", `"\u0001"`), 400, "uid", `uid: "\x01" contains a control`}, {of("uid", "\"\xff\""), 400, "uid", "unreadable"},
		{of("bmhState", `"\u001b[2J"`), 400, "bmhState", "contains a control"},
		{`{"op":"none","name":"` + strings.Repeat("n", 254) + `"}`, 400, "name", `... is longer than 253 bytes`},
		{long("namespace", 64), 400, "namespace", "63"}, {long("conductorGroup", 256), 400, "conductorGroup", "255"},
		{long("specHash", maxAskBody-38), 400, "specHash", "128"}, // the largest body that is read
		{long("specHash", maxAskBody-37), 413, "", "16384"},
	} {
		f := seen()
		e := isError(t, send(t, made(t, f).api, http.MethodPost, "/v1/isready", row.body, jsonType...), row.code, row.field)
		if !strings.Contains(e.Message, row.want) || len(e.Message) > 200 || f.asked() != 0 {
			t.Errorf("%.40s: %s, want %s; decided: %d", row.body, e.Message, row.want, f.asked())
		}
	}
	h := made(t, seen()).api
	isError(t, send(t, h, http.MethodGet, "/v1/isready?op=provision&name=a", ""), http.StatusBadRequest, "query")
	isError(t, send(t, h, http.MethodPost, "/v1/isready?dryRun=true", goodAsk, jsonType...), http.StatusBadRequest, "query")
	for _, kind := range []string{"text/plain", ""} {
		isError(t, send(t, h, http.MethodPost, "/v1/isready", goodAsk, "Content-Type", kind), 415, "")
	}
	r, w := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/isready", iotest.ErrReader(errors.New("reset"))), httptest.NewRecorder()
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(w, r)
	isError(t, w, http.StatusBadRequest, "")
}

func TestAsksWaitAtMostASecondForTheFirstPoll(t *testing.T) {
	for after, want := range map[time.Duration]time.Duration{ // of the first poll
		300 * time.Millisecond: 300 * time.Millisecond, 2 * time.Second: time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := seen()
			f.first = make(chan struct{})
			h := made(t, f).api
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
