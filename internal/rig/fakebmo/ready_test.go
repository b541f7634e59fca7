package fakebmo

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestNotReady: a proxy's 502 is no error of a host as long as nothing else was
// answered: all come back after 30 s. Where Ironic is ready and a request fails,
// it is a reconcile error.
func TestNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 3, workers: 3})
		away := st.fault(fakeironic.Fault{Trouble: fakeironic.Status, Code: http.StatusBadGateway})
		st.run()
		st.pass(5*time.Minute - time.Second)
		if c := st.op.Counts(); c.Gone != 3*10 || c.Errors != 0 || len(st.take()) != 0 {
			t.Errorf("in 5 minutes: %+v, want 30 tries and no errors", c)
		}
		st.ironic.ClearFault(away)
		st.until(api.BMHProvisioned)
		if c := st.op.Counts(); c.Gone != 3*10 || c.Errors != 0 {
			t.Errorf("after it: %+v", c)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		st := newStage(t, setup{hosts: 3, workers: 3})
		st.fault(fakeironic.Fault{Trouble: fakeironic.Status, Code: http.StatusBadGateway, Requests: "node"})
		st.run()
		st.pass(5 * time.Minute)
		if c := st.op.Counts(); c.Gone != 0 || c.Errors < 3*10 {
			t.Errorf("with Ironic ready: %+v, want errors", c)
		}
	})
}

// TestReadinessIsBelieved for 5 s and no longer, however many hosts there are.
func TestReadinessIsBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		client, err := NewClient("http://ironic.test", answer(func(r *http.Request) (int, string) {
			looks++
			return http.StatusOK, "{}"
		}))
		if err != nil {
			t.Fatal(err)
		}
		var y readiness
		for at := range 20 {
			for range 10 {
				if err := y.check(context.Background(), client, 5*time.Second); err != nil {
					t.Error(err)
				}
			}
			if want := 2 * (at/5 + 1); looks != want {
				t.Errorf("after %d s: %d looks, want %d", at, looks, want)
			}
			<-time.After(time.Second)
		}
	})
}

// answer is a transport that answers by itself.
type answer func(r *http.Request) (status int, body string)

// RoundTrip implements http.RoundTripper.
func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := a(r)
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// TestList: what an earlier list said is used again only for the same list.
func TestList(t *testing.T) {
	var l list
	one := []node{{UUID: "1", Name: "a", State: "active"}}
	two := []node{{UUID: "1", Name: "a", State: "deleting"}}
	for _, c := range []struct {
		text string
		want []node
	}{
		{`{"nodes": [{"uuid": "1", "name": "a", "provision_state": "active"}]}`, one},
		{`{"nodes": [{"uuid": "1", "name": "a", "provision_state": "active"}]}`, one},
		{`{"nodes": [{"uuid": "1", "name": "a", "provision_state": "deleting"}]}`, two},
		{`{"nodes": [`, nil},
		{``, nil},
		{`{"nodes": [{"uuid": "1", "name": "a", "provision_state": "deleting"}]}`, two},
		{`{"nodes": []}`, []node{}},
		{`{"nodes": []}`, []node{}},
	} {
		got, err := l.decode([]byte(c.text))
		if diff := cmp.Diff(c.want, got); diff != "" || (err != nil) != (c.want == nil) {
			t.Errorf("%s: %v (-want +got):\n%s", strings.TrimSpace(c.text), err, diff)
		}
	}
}
