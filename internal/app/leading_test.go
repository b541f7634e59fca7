package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// readyz is what the probe is told.
func (s *stage) readyz() (int, string) {
	w := httptest.NewRecorder()
	s.app.server.Health().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	return w.Code, w.Body.String()
}

// standsBy demands that asks and the probe are told 503, and why.
func (s *stage) standsBy(why string) {
	s.Helper()
	if _, err := s.post("host-1"); err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), why) {
		s.Errorf("an ask: %v, want 503 and %q", err, why)
	}
	if code, text := s.readyz(); code != 503 || !strings.Contains(text, why) {
		s.Errorf("readyz: %d %s, want 503 and %q", code, text, why)
	}
}

// warns demands a warning in the status.
func (s *stage) warns(words string) {
	s.Helper()
	if all := strings.Join(s.app.Status().Warnings, "\n"); !strings.Contains(all, words) {
		s.Errorf("warnings %q lack %q", all, words)
	}
}

// Nobody decides before the holds are read, the Lease held or not.
func TestNobodyDecidesBeforeTheHoldsAreRead(t *testing.T) {
	server := newAPIServer()
	server.away["configmaps"] = true
	play(t, inCluster(t, server), func(s *stage) {
		s.pass(3 * time.Second)
		if !s.app.elector.Leading() {
			t.Fatal("it does not lead")
		}
		s.standsBy("the holds of failed hosts are being read")
		s.pass(70 * time.Second)
		s.standsBy("no host starts before the holds of failed hosts are read")
		s.warns("no host starts before")
		if now, _ := server.leaders(); now != "" { // Services do not lead to who has not taken over
			t.Errorf("leaders %q", now)
		}
		server.set(server.away, "configmaps", false)
		s.pass(2 * time.Minute)
		s.says("host-1", api.ReasonGranted)
		if now, _ := server.leaders(); now != "a" {
			t.Errorf("leaders %q in the term", now)
		}
	})
}

// The way out of an outage of the API server, also by the config file: mode observe lets everything go on, and says that
// nobody decides. A standby that enforces refuses it all.
func TestObserveNeedsNoAPIServer(t *testing.T) {
	server := newAPIServer()
	server.set(server.away, "", true)
	cluster := inCluster(t, server)
	file, fromFile := fileOf(t, "mode: enforce")
	play(t, func(o *Options, fake *fakeironic.Server) {
		fromFile(o, fake)
		cluster(o, fake)
	}, func(s *stage) {
		s.pass(time.Minute)
		s.standsBy("no replica leads, as far as is known: ")
		observe, enforce := "mode: observe", "mode: enforce"
		file.Store(&observe)
		s.pass(10 * time.Second)
		begun := time.Now()
		if a := s.ask("host-1"); !a.Ready || a.Reason != api.ReasonObserve || !strings.Contains(a.Message, "does not decide") || time.Since(begun) != 0 {
			t.Errorf("%+v after %v", a, time.Since(begun))
		}
		if code, text := s.readyz(); code != 200 || !strings.Contains(text, "observe") || !strings.Contains(text, "no replica leads") {
			t.Errorf("readyz: %d %s", code, text)
		}
		s.warns("this throttle does not decide, and lets everything pass because its mode is observe: no replica leads")
		server.set(server.away, "", false)
		server.set(server.refused, "configmaps", true)
		s.pass(2 * time.Minute)
		s.says("host-1", api.ReasonObserve) // it leads, and has no holds
		if s.app.mayStart() || !s.app.Status().Cluster.Leader.Leads {
			t.Error("it decides without the holds")
		}
		server.set(server.refused, "configmaps", false)
		s.pass(2 * time.Minute)
		if t := s.app.Status().Slots.Total; t.Occupied != 0 || t.Waiting != 0 {
			s.Errorf("left of the time before: %+v", t)
		}
		file.Store(&enforce)
		s.pass(10 * time.Second)
		s.says("host-1", api.ReasonGranted)
	})
}

// TestGatewayAndHoldsKnowWhoLeads: the gateway of a process that does not lead asks Ironic for nothing, and the ledger of
// holds is not written by it.
func TestGatewayAndHoldsKnowWhoLeads(t *testing.T) {
	for mode, want := range map[string]int{"enforce": http.StatusConflict, config.Observe: http.StatusAccepted} {
		server := newAPIServer()
		server.away[""] = true
		cluster := inCluster(t, server)
		play(t, func(o *Options, fake *fakeironic.Server) {
			cluster(o, fake)
			o.NoListeners, o.Config.Gateway.Listen, o.Config.Mode = true, "127.0.0.1:0", mode
		}, func(s *stage) {
			s.pass(time.Second)
			if s.app.holdMap.Leading == nil || s.app.holdMap.Leading() {
				t.Error("the holds may be written by a process that does not lead")
			}
			r := httptest.NewRequest(http.MethodPut, "/v1/nodes/ns-01~host-00001/states/provision", strings.NewReader(`{"target": "active"}`))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
			w := httptest.NewRecorder()
			s.app.gateway.ServeHTTP(w, r)
			if asked := s.app.client.Stats() != (ironic.Stats{}); w.Code != want || asked && mode == "enforce" {
				t.Errorf("%s: %d %s, Ironic was asked %+v", mode, w.Code, w.Body, s.app.client.Stats())
			}
		})
	}
}
