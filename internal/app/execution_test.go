package app

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// begunWork is a cluster in which a release has begun, of which nothing else can be read.
type begunWork struct{ http.RoundTripper }

const begunRecord = `{"version":1,"id":"command1","action":"a1","decision":"release","reason":"Empty","pool":"MachineSet metal3/workers",
	"host":"metal3/host-1","hostUID":"u","machineUID":"m","machine":"metal3/m-1","node":"n",
	"started":"2000-01-01T00:00:00Z","step":"leaving","since":"2000-01-01T00:00:00Z"}`

func (b begunWork) RoundTrip(r *http.Request) (*http.Response, error) {
	marked := strings.Contains(r.URL.Query().Get("labelSelector"), "ironic-throttle.metal3.io/command")
	var answer object
	code := http.StatusOK
	const mark = "ironic-throttle.metal3.io/command"
	host := object{"metadata": object{
		"namespace": "metal3", "name": "host-1", "uid": "u", "resourceVersion": "1",
		"labels": object{mark: "command1"}, "annotations": object{mark: begunRecord},
	}}
	switch {
	case strings.HasSuffix(r.URL.Path, "/baremetalhosts/host-1"):
		answer = host
	case marked && strings.HasSuffix(r.URL.Path, "/baremetalhosts"):
		answer = object{"metadata": object{"resourceVersion": "1"}, "items": []object{host}}
	case marked:
		answer = object{"metadata": object{"resourceVersion": "1"}, "items": []object{}}
	case strings.Contains(r.URL.Path, "/machines/"):
		code, answer = http.StatusForbidden, object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": http.StatusForbidden}
	default:
		return b.RoundTripper.RoundTrip(r)
	}
	body, err := json.Marshal(answer)
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, err
}

// TestWhoeverIsOnDutySeesWhatIsBeingCarriedOut: in GET /v1/plan at once, and in the status when it has not gone on
// for long.
func TestWhoeverIsOnDutySeesWhatIsBeingCarriedOut(t *testing.T) {
	server := newAPIServer()
	cluster := inCluster(t, server)
	play(t, func(o *Options, fake *fakeironic.Server) {
		cluster(o, fake)
		o.Config.Disruption.Mode, o.readFleet, o.ClusterTransport = config.DisruptionExecute, fleetOf, begunWork{server}
	}, func(s *stage) {
		s.pass(90 * time.Second)
		w := s.get("/v1/plan")
		var p api.Plan
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusOK || p.Running == nil {
			t.Fatalf("%d %s, %v", w.Code, w.Body, err)
		}
		if r := p.Running; r.ID != "command1" || r.Hosts[0] != "metal3/host-1" || !strings.Contains(r.LastError, "needs another right") {
			t.Errorf("%+v", r)
		}
		if all := strings.Join(s.app.Status().Warnings, "\n"); strings.Contains(all, "planned work") {
			t.Errorf("%s", all)
		}
		s.pass(6 * time.Minute)
		s.warns("planned work has not gone on since")
		s.warns("docs/planned-work.md")
		if all := s.get("/v1/status").Body.String(); !strings.Contains(all, "planned work has not gone on since") {
			t.Errorf("%s", all)
		}
	})
}
