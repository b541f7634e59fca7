package gateway_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// poweringOn is an Ironic whose BMCs take their time: its document of a node is the old one
// until then, and says what is to come where told is set.
type poweringOn struct {
	next  http.RoundTripper
	until *time.Time
	told  string
}

func (p poweringOn) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(r)
	switch {
	case err != nil:
	case strings.HasSuffix(r.URL.Path, "/states/power"):
		*p.until = time.Now().Add(5 * time.Second)
	case strings.Contains(r.URL.RawQuery, "power_state"):
		text := `{"power_state": "power on", "target_power_state": null}`
		if time.Now().Before(*p.until) {
			text = fmt.Sprintf(`{"power_state": "power off", "target_power_state": %s}`, p.told)
		}
		resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
		resp.Header.Del("Content-Length")
	}
	return resp, err
}

// What Ironic has only accepted it does later, and no poll sees it.
func TestGW18_PowerThatIsSwitchedLater(t *testing.T) {
	for _, told := range []string{`null`, `"power on"`} {
		for _, through := range []bool{true, false} {
			if !through && told == "null" {
				continue // nobody can know
			}
			synctest.Test(t, func(t *testing.T) {
				var until time.Time
				l := full(t, labOptions{gate: func(o *gateway.Options) {
					o.Transport = poweringOn{o.Transport, &until, told}
				}})
				defer l.close()
				l.refuse(1)
				l.poll()
				path := "/v1/nodes/" + l.uuids[1] + "?fields=power_state,target_power_state"
				on := named(newRequest(http.MethodPut, "/v1/nodes/"+l.uuids[1]+"/states/power", `{"target": "power on"}`))
				if through {
					if got := l.do(on); got.Code != http.StatusAccepted {
						t.Fatalf("%d %s", got.Code, got.Body)
					}
				} else {
					until = time.Now().Add(5 * time.Second)
				}
				for range 60 {
					got := l.do(read(path))
					if !time.Now().Before(until) && strings.Contains(got.Body.String(), "power off") {
						t.Fatalf("target %s, %v after it was switched: %s from %q", told, time.Since(until), got.Body, got.Header().Get(cacheHeader))
					}
					l.pass(3 * time.Second)
					l.poll()
					l.refuse(1)
					l.do(get("/v1/nodes/" + l.uuids[2])) // the client is let in
				}
				if got := l.from(path); got != "host" {
					t.Error("nothing is kept ever again")
				}
			})
		}
	}
}

// A change that no probe ever showed, as more came after it than one shows.
func TestGW18_ChangesThatAreTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := full(t, labOptions{fake: func(o *fakeironic.Options) { o.Fleet.Nodes, o.ConductorSkew = 60, 0 }})
		defer l.close()
		l.refuse(1)
		l.poll()
		set := func(state ironic.State, uuids ...string) {
			l.with(func(now time.Time, w *fakeironic.World) error {
				var errs []error
				for _, uuid := range uuids {
					errs = append(errs, w.SetState(now, uuid, state, false))
				}
				return errors.Join(errs...)
			})
		}
		round := func() {
			l.pass(4 * time.Second)
			l.poll()
			l.refuse(1)
			l.do(get("/v1/nodes/" + l.uuids[2])) // the client is let in
		}
		round()
		path := "/v1/nodes/" + l.uuids[1]
		l.do(read(path))
		if got := l.from(path); got != "host" {
			t.Fatalf("answered from %q before anything has happened", got)
		}
		set(ironic.Manageable, l.uuids[1])
		l.pass(time.Second)
		for _, state := range []ironic.State{ironic.Manageable, ironic.Available, ironic.Manageable} {
			set(state, l.uuids[10:35]...)
			round()
			if got := l.do(read(path)); !strings.Contains(got.Body.String(), "manageable") {
				t.Fatalf("%s from %q", got.Body, got.Header().Get(cacheHeader))
			}
		}
		for range 60 { // until a probe reaches back to the one before
			round()
		}
		l.do(read(path))
		if got := l.from(path); got != "host" {
			t.Errorf("answered from %q when all is calm", got)
		}
	})
}
