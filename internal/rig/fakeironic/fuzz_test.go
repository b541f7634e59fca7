package fakeironic

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// FuzzRequest: whatever comes in, there is an answer, it is JSON, and errors
// have one of Ironic's forms.
func FuzzRequest(f *testing.F) {
	for _, seed := range [][4]string{
		{"GET", "/v1/nodes?fields=uuid,name&limit=1", "1.81", ""},
		{"GET", "/v1/nodes?sort_key=provision_updated_at&sort_dir=desc&marker=" + u900, "latest", ""},
		{"GET", "/nodes/a/states", "1.1", ""},
		{"PUT", "/v1/nodes/a/states/provision", "1.81", `{"target":"active","configdrive":{"user_data":"x"}}`},
		{"PUT", "/v1/nodes/a/states//provision/active/x", "1.81", `[1,"a",null,{"b":[true]}]`},
		{"PUT", "/v1/nodes/a/states/power", "1.81", `{"target":"power on","timeout":"3"}`},
		{"PATCH", "/v1/nodes/a", "1.81", `[{"op":"add","path":"/extra/a/b","value":{"c":1}},{"op":"remove","path":"/name"}]`},
		{"POST", "/v1/nodes", "1.81", `{"driver":"fake-hardware","name":"x","extra":{"\u00e9":"\ud83d\ude00"}}`},
		{"POST", "/v1/ports", "1.81", `{"node_uuid":"` + u900 + `","address":"52:54:00:00:00:01"}`},
		{"DELETE", "/v1/nodes/a", "1.82", ""},
		{"GET", "/v1/../v1//nodes/.json", "9.9.9", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Fuzz(func(t *testing.T, method, target, version, body string) {
		at, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			t.Skip()
		}
		server := serve(t, nil, func(s stage) { s.node(u900, "a", ironic.Available, nil) })
		r, err := http.NewRequestWithContext(t.Context(), method, "http://ironic/", strings.NewReader(body))
		if err != nil {
			t.Skip()
		}
		r.URL.Path, r.URL.RawQuery = at.Path, at.RawQuery
		r.Header.Set(headerVersion, version)
		r.Header.Set("Content-Type", "application/json")
		response, err := server.Transport().RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 0 && !json.Valid(raw) {
			t.Fatalf("%d with no JSON: %s", response.StatusCode, raw)
		}
		if response.StatusCode >= 400 && len(raw) > 0 {
			checkErrorForm(t, raw)
		}
	})
}

func checkErrorForm(t *testing.T, raw []byte) {
	t.Helper()
	var outer struct {
		Message string `json:"error_message"`
	}
	var inner map[string]any
	if json.Unmarshal(raw, &outer) != nil || json.Unmarshal([]byte(outer.Message), &inner) != nil {
		t.Fatalf("not Ironic's form: %s", raw)
	}
	_, one := inner["faultstring"]
	_, two := inner["description"]
	if one == two {
		t.Fatalf("neither of the two inner forms: %s", raw)
	}
}

// TestManyAtOnce is for the race detector: everything that a server offers, from
// several goroutines.
func TestManyAtOnce(t *testing.T) {
	w := newWorld(t, fixed(func(o *Options) { o.Fleet.Nodes, o.Speed = 50, 1e6 }))
	server := NewServer(w, time.Now)
	ids := w.Idents()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := range 40 {
				id := ids[(worker*7+i)%len(ids)]
				ask(t, server, "PUT", "/v1/nodes/"+id+"/states/provision", `{"target":"active"}`, 81)
				ask(t, server, "GET", "/v1/nodes/detail?limit=5", "", 81)
				fault, err := server.AddFault(Fault{Trouble: Status, Code: 500, Path: "/nowhere"})
				if err != nil || !server.ClearFault(fault) {
					t.Errorf("fault %d: %v", fault, err)
				}
				server.With(func(now time.Time, w *World) { w.SetProvision(now, id, ironic.TargetDeleted) })
				_ = server.Truth()
			}
		})
	}
	all.Wait()
	if got := server.Truth(); got.Requests.All != 8*40*3 {
		t.Errorf("%d requests counted, made %d", got.Requests.All, 8*40*3)
	}
}
