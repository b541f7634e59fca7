package app

import (
	"encoding/base64"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

// wire leads to an API server until it is cut.
type wire struct {
	*apiServer
	cut atomic.Bool
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.cut.Load() {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return w.apiServer.RoundTrip(r)
}

// limitKept is the limit that the ConfigMap keeps; 0 where there is none.
func (s *apiServer) limitKept() (limit int) {
	s.edit("configmaps", func(o object) {
		data, _ := o["binaryData"].(object)
		text, _ := data["holds.jsonl.gz"].(string)
		value, _ := base64.StdEncoding.DecodeString(text)
		v, _ := store.Unpack(value)
		limit = v.Limits.Pools[""].Limit
	})
	return limit
}

// twoOf plays two replicas at one Ironic, of which the first one leads. cut cuts it off.
func twoOf(t *testing.T, script func(server *apiServer, a, b *stage, cut func())) {
	t.Helper()
	server := newAPIServer()
	cluster := inCluster(t, server)
	synctest.Test(t, func(t *testing.T) {
		o := fakeironic.DefaultOptions()
		crowd(&o)
		world, err := fakeironic.NewWorld(o, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		fake := fakeironic.NewServer(world, time.Now)
		wires := map[string]*wire{}
		as := func(pod string) *stage {
			return newStage(t, fake, func(o *Options, fake *fakeironic.Server) {
				cluster(o, fake)
				limited(config.LimitAdaptive, 40, "")(o, fake)
				wires[pod] = &wire{apiServer: server}
				o.Config.Kubernetes.Identity, o.ClusterTransport = pod, wires[pod]
			})
		}
		a, b := as("a"), as("b") // both before one runs: each sets the logger that a process has one of
		a.run()
		defer a.stop()
		a.pass(5 * time.Second)
		b.run()
		defer b.stop()
		script(server, a, b, func() { wires["a"].cut.Store(true) })
	})
}

// What one leader has found the next one begins with, however the first one ends.
func TestSZ7_TheLimitIsHandedOver(t *testing.T) {
	for _, way := range []string{"ends in order", "is cut off"} {
		t.Run(way, func(t *testing.T) {
			twoOf(t, func(server *apiServer, a, b *stage, cut func()) {
				found := a.learns()
				if found <= 20 || b.limit() != 20 || server.limitKept() != found {
					t.Fatalf("limit %d, of the standby %d, kept %d", found, b.limit(), server.limitKept())
				}
				if way == "is cut off" {
					cut()
					a.fault = "lease"
					a.pass(time.Minute)
				}
				a.stop()
				b.pass(time.Minute)
				if !b.app.mayStart() || b.limit() != found || b.log.count("limits=1") != 1 {
					t.Errorf("it leads: %t, limit %d, want %d", b.app.mayStart(), b.limit(), found)
				}
				b.pass(2 * limitsInterval)
				if kept := server.limitKept(); kept != found || b.limit() != found {
					t.Errorf("limit %d, kept %d, want %d", b.limit(), kept, found)
				}
			})
		})
	}
}
