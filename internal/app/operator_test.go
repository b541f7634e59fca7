package app

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Where the fake API server has BMO.
const (
	ofBMO       = "/apis/apps/v1/namespaces/metal3/deployments/baremetal-operator-controller-manager"
	bmoSettings = "/api/v1/namespaces/metal3/configmaps/ironic-h4sh"
)

// setObject puts an object to a path.
func (s *apiServer) setObject(path, kind, version string, more object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := object{"kind": kind, "apiVersion": version, "metadata": object{"name": filepath.Base(path), "namespace": "metal3", "uid": "u-1"}}
	for field, value := range more {
		o[field] = value
	}
	s.putLocked(path, o)
}

// putOperator is BMO, with these settings in its ConfigMap, as metal3-dev-env deploys it.
func (s *apiServer) putOperator(settings object) {
	s.setObject(bmoSettings, "ConfigMap", "v1", object{"data": settings})
	s.setObject(ofBMO, "Deployment", "apps/v1", object{"spec": object{"template": object{"spec": object{
		"containers": []any{object{"name": "manager", "envFrom": []any{object{"configMapRef": object{"name": "ironic-h4sh"}}}}},
	}}}})
}

// operatorEvents are the messages of Events on Deployments.
func (s *apiServer) operatorEvents() (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, o := range s.objects {
		about, _ := o["involvedObject"].(object)
		if kindOf(path) == "events" && about["kind"] == "Deployment" {
			text, _ := o["message"].(string)
			texts = append(texts, text)
		}
	}
	return texts
}

// besideOperator is a throttle with a limit in the cluster of s, without an election.
func besideOperator(t *testing.T, s *apiServer, limit int) func(*Options, *fakeironic.Server) {
	t.Helper()
	cluster := inCluster(t, s)
	return func(o *Options, fake *fakeironic.Server) {
		cluster(o, fake)
		o.Config.Kubernetes.Leader.Elect, o.Config.Holdoff.ConfigMap, o.Config.Limits.Total = false, "", limit
		o.Config.Limits.StuckCap = 1
	}
}

func (s *stage) operator() api.Operator {
	s.Helper()
	c := s.app.Status().Cluster
	if c == nil || c.Operator == nil {
		s.Fatalf("no operator in the status: %+v", c)
	}
	return *c.Operator
}

// tooMany are the warnings of the status about workers.
func (s *stage) tooMany() (found []string) {
	for _, w := range s.app.Status().Warnings {
		if strings.Contains(w, "BMO_CONCURRENCY") {
			found = append(found, w)
		}
	}
	return found
}

func TestWorkersOfTheDeploymentAreComparedAndFollowed(t *testing.T) {
	server := newAPIServer()
	server.putOperator(object{"BMO_CONCURRENCY": "32", "PROVISIONING_LIMIT": "25"})
	play(t, besideOperator(t, server, 20), func(s *stage) {
		s.pass(time.Second)
		o := s.operator()
		if o.Workers != 32 || o.Estimated || o.Limit != 25 || o.MayReach != 56 || o.LastError != "" ||
			o.WorkersFrom != "BMO_CONCURRENCY in ConfigMap ironic-h4sh" || o.Deployment != "metal3/baremetal-operator-controller-manager" {
			t.Errorf("%+v", o)
		}
		const want = "BMO_CONCURRENCY=32 is greater than the limit of 20: more workers than slots " +
			"(BMO's Deployment metal3/baremetal-operator-controller-manager, BMO_CONCURRENCY in ConfigMap ironic-h4sh)"
		if got := s.tooMany(); len(got) != 1 || got[0] != want {
			t.Errorf("%q", got)
		}
		s.pass(10 * time.Minute)
		if got := server.operatorEvents(); len(got) != 1 || got[0] != want {
			t.Errorf("Events %q, want one", got)
		}
		if n := s.log.count("level=WARN", "is greater than the limit of 20"); n != 1 {
			t.Errorf("%d lines of the log, want 1", n)
		}

		server.putOperator(object{"BMO_CONCURRENCY": "20"})
		s.pass(time.Minute)
		if got := s.tooMany(); len(got) != 0 || s.operator().Workers != 20 {
			t.Errorf("%q, %+v", got, s.operator())
		}
		server.putOperator(object{"BMO_CONCURRENCY": "21"})
		server.set(server.refused, "events", true)
		s.pass(5 * time.Minute)
		if got := server.operatorEvents(); len(s.tooMany()) != 1 || len(got) != 1 || s.log.count("gets no Event") != 1 {
			t.Errorf("%q, %q", s.tooMany(), got)
		}
		server.set(server.refused, "events", false)
		s.pass(time.Minute)
		if got := server.operatorEvents(); len(got) != 2 {
			t.Errorf("%q", got)
		}
	})
}

// What is missing is said once, and changes nothing that is known.
func TestAMissingDeploymentIsSaidOnce(t *testing.T) {
	server := newAPIServer()
	play(t, besideOperator(t, server, 20), func(s *stage) {
		said := func(want int) {
			t.Helper()
			if n := s.log.count("how many workers BMO has cannot be read"); n != want {
				t.Errorf("said %d times, want %d", n, want)
			}
		}
		s.pass(5 * time.Minute)
		said(1)
		if o := s.operator(); o.Workers != 0 || !strings.Contains(o.LastError, "does not exist: create it, or correct IRONIC_THROTTLE_OPERATOR_DEPLOYMENT") {
			t.Errorf("%+v", o)
		}
		s.says("host-1", api.ReasonGranted)
		if server.count("pods") > 0 {
			t.Error("the only replica asks for pods")
		}

		server.putOperator(object{"BMO_CONCURRENCY": "32"})
		s.pass(time.Minute)
		server.set(server.refused, "configmaps", true)
		s.pass(5 * time.Minute)
		said(2)
		if o := s.operator(); o.Workers != 32 || !strings.Contains(o.LastError, "ConfigMap ironic-h4sh: ") || len(s.tooMany()) != 1 {
			t.Errorf("%+v, %q", o, s.tooMany())
		}
		server.set(server.refused, "configmaps", false)
		s.pass(time.Minute)
		if o := s.operator(); o.LastError != "" {
			t.Errorf("%+v", o)
		}
	})
}

// What is set by hand goes before the Deployment, and with the gateway BMO's own limit should be the throttle's.
func TestWarningsOfTheDeployment(t *testing.T) {
	const of = " of BMO's Deployment metal3/baremetal-operator-controller-manager is "
	for _, row := range []struct {
		name, gateway string
		byHand        int // BMO_CONCURRENCY
		bmo           object
		event, warns  string // of the status
	}{
		{"by hand, fewer", "", 8, object{"BMO_CONCURRENCY": "32"}, "", ""},
		{"by hand, more", "", 21, object{"BMO_CONCURRENCY": "8"}, config.TooManyWorkers(21, 20), ""}, // config.Load warns
		{"another limit", "127.0.0.1:6388", 8, object{"PROVISIONING_LIMIT": "100000"}, "", "PROVISIONING_LIMIT" + of + "100000, and the limit is 20: set it to 20 too"},
		{"the same limit", "127.0.0.1:6388", 8, object{"PROVISIONING_LIMIT": "20"}, "", ""},
		{"no limit", "127.0.0.1:6388", 8, object{"PROVISIONING_LIMIT": "x"}, "", ""},
		{"no gateway", "", 8, object{"PROVISIONING_LIMIT": "100000"}, "", ""},
	} {
		server := newAPIServer()
		server.putOperator(row.bmo)
		beside := besideOperator(t, server, 20)
		play(t, func(o *Options, fake *fakeironic.Server) {
			beside(o, fake)
			o.NoListeners, o.Config.Gateway.Listen, o.Config.BMOConcurrency = true, row.gateway, row.byHand
		}, func(s *stage) {
			s.pass(10 * time.Minute)
			if got := strings.Join(server.operatorEvents(), "\n"); got != row.event {
				t.Errorf("%s: Events %q, want %q", row.name, got, row.event)
			}
			if got := strings.Join(s.app.operatorWarnings(), "\n"); !strings.HasPrefix(got, row.warns) || row.warns == "" && got != "" {
				t.Errorf("%s: warnings %q, want %q", row.name, got, row.warns)
			}
		})
	}
}

func TestWorkersThatNobodySetAreEstimated(t *testing.T) {
	server := newAPIServer()
	server.putOperator(object{})
	play(t, besideOperator(t, server, 1), func(s *stage) { // BMO has two at least
		s.pass(time.Second)
		if got := s.tooMany(); len(got) != 1 || !strings.Contains(got[0], "is not set: by BMO's own rule") || !s.operator().Estimated {
			t.Errorf("%q, %+v", got, s.operator())
		}
	})
}

// Nothing is sent to Ironic and nobody starts before it is found; when it moves, who is at work there is not known yet.
func TestNobodyStartsBeforeIronicIsFound(t *testing.T) {
	server := newAPIServer()
	beside := besideOperator(t, server, 20)
	play(t, func(o *Options, fake *fakeironic.Server) {
		beside(o, fake)
		o.Config.Ironic.Endpoint = ""
	}, func(s *stage) {
		const fault = "IRONIC_ENDPOINT is not set, and Ironic is not found by itself: BMO's Deployment metal3/baremetal-operator-controller-manager does not exist"
		s.pass(5 * time.Minute)
		if a := s.ask("host-1"); a.Ready || s.app.IronicStats().Requests() != 0 {
			t.Errorf("%+v, %d requests to Ironic", a, s.app.IronicStats().Requests())
		}
		s.warns(fault)
		if status := s.app.Status(); !strings.Contains(status.Headline, fault) || !strings.Contains(status.View.LastError, fault) {
			t.Errorf("headline %q, last error %q", status.Headline, status.View.LastError)
		}
		server.putOperator(object{"IRONIC_ENDPOINT": "http://ironic/v1/"})
		s.pass(70 * time.Second)
		s.says("host-1", api.ReasonGranted)
		server.putOperator(object{"IRONIC_ENDPOINT": "http://other/v1/"})
		s.pass(15 * time.Second)
		if st := s.app.Status(); st.Settings["ironicEndpoint"] != "http://other:80" {
			t.Errorf("Ironic is at %s", st.Settings["ironicEndpoint"])
		}
		s.says("host-2", api.ReasonStarting)
		s.pass(70 * time.Second)
		s.says("host-2", api.ReasonGranted)
		server.putOperator(object{})
		s.pass(time.Minute)
		s.warns("Ironic is asked as it was found before")
		s.says("host-3", api.ReasonGranted)
	})
}
