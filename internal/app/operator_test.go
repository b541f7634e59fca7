package app

import (
	"os"
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
	bmoSecret   = "/api/v1/namespaces/metal3/secrets/ironic-credentials-9c7"
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

// remove takes the object away.
func (s *apiServer) remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, path)
}

// putOperator is BMO, with these settings in its ConfigMap, as metal3-dev-env deploys it.
func (s *apiServer) putOperator(settings object) {
	s.setObject(bmoSettings, "ConfigMap", "v1", object{"data": settings})
	s.setObject(ofBMO, "Deployment", "apps/v1", object{"spec": object{"template": object{"spec": object{
		"containers": []any{object{
			"name": "manager", "envFrom": []any{object{"configMapRef": object{"name": "ironic-h4sh"}}},
			"volumeMounts": []any{object{"name": "ironic-credentials", "mountPath": "/opt/metal3/auth/ironic"}},
		}},
		"volumes": []any{object{"name": "ironic-credentials", "secret": object{"secretName": "ironic-credentials-9c7"}}},
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

func TestLH20_WorkersOfTheDeploymentAreComparedAndFollowed(t *testing.T) {
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

func TestLH20_WorkersThatNobodySetAreEstimated(t *testing.T) {
	server := newAPIServer()
	server.putOperator(object{"IRONIC_ENDPOINT": "http://ironic"})
	play(t, besideOperator(t, server, 1), func(s *stage) { // BMO has two at least
		s.pass(time.Second)
		if o := s.operator(); o.Workers < 2 || o.Workers > 8 || !o.Estimated {
			t.Errorf("%+v", o)
		}
		if got := s.tooMany(); len(got) != 1 || !strings.Contains(got[0], "is not set: by BMO's own rule") || !strings.Contains(got[0], "An estimate") {
			t.Errorf("%q", got)
		}
	})
}

func TestLH20_WorkersSetByHandWin(t *testing.T) {
	server := newAPIServer()
	server.putOperator(object{"BMO_CONCURRENCY": "32"})
	beside := besideOperator(t, server, 20)
	play(t, func(o *Options, fake *fakeironic.Server) {
		beside(o, fake)
		o.Config.BMOConcurrency = 8
	}, func(s *stage) {
		s.pass(time.Second)
		if got := s.tooMany(); len(got) != 0 || len(server.operatorEvents()) != 0 || s.operator().Workers != 32 {
			t.Errorf("%q, %q, %+v", got, server.operatorEvents(), s.operator())
		}
	})
	play(t, func(o *Options, fake *fakeironic.Server) {
		beside(o, fake)
		o.Config.BMOConcurrency = 21 // of which config.Load warns
	}, func(s *stage) {
		s.pass(time.Second)
		if got := server.operatorEvents(); len(s.tooMany()) != 0 || len(got) != 1 || got[0] != config.TooManyWorkers(21, 20) {
			t.Errorf("%q, %q", s.tooMany(), got)
		}
	})
}

// What is missing is said once, and changes nothing that is known.
func TestLH20_AMissingDeploymentIsSaidOnce(t *testing.T) {
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
		if o := s.operator(); o.Workers != 0 || !strings.Contains(o.LastError, "NotFound") {
			t.Errorf("%+v", o)
		}
		s.says("host-1", api.ReasonGranted)

		server.putOperator(object{"BMO_CONCURRENCY": "32"})
		s.pass(time.Minute)
		server.set(server.refused, "configmaps", true)
		s.pass(5 * time.Minute)
		said(2)
		if o := s.operator(); o.Workers != 32 || !strings.Contains(o.LastError, "ConfigMap ironic-h4sh: Forbidden") || len(s.tooMany()) != 1 {
			t.Errorf("%+v, %q", o, s.tooMany())
		}
		server.set(server.refused, "configmaps", false)
		s.pass(time.Minute)
		if o := s.operator(); o.LastError != "" {
			t.Errorf("%+v", o)
		}
	})
}

// findsIronic is a throttle that nobody tells where Ironic is.
func findsIronic(t *testing.T, s *apiServer) func(*Options, *fakeironic.Server) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", "")
	beside := besideOperator(t, s, 20)
	return func(o *Options, fake *fakeironic.Server) {
		beside(o, fake)
		o.Config.Ironic.Endpoint = ""
	}
}

func TestLH44_IronicIsFoundByTheDeployment(t *testing.T) {
	server := newAPIServer()
	server.putOperator(object{"IRONIC_ENDPOINT": "http://ironic/v1/"})
	server.setObject(bmoSecret, "Secret", "v1", object{"data": object{"username": "YWRtaW4=", "password": "c2VzYW1l"}})
	dir := ""
	play(t, findsIronic(t, server), func(s *stage) {
		dir = s.app.files.Dir
		password := func() string {
			text, err := os.ReadFile(filepath.Join(dir, "auth", "ironic", "password"))
			if err != nil {
				t.Error(err)
			}
			return string(text)
		}
		s.pass(70 * time.Second)
		s.says("host-1", api.ReasonGranted)
		st := s.app.Status()
		if st.Settings["ironicEndpoint"] != "http://ironic/v1/" || len(st.Warnings) > 1 || password() != "sesame" { // the watch of hosts is broken here
			t.Errorf("%s, %q", st.Settings["ironicEndpoint"], st.Warnings)
		}
		server.setObject(bmoSecret, "Secret", "v1", object{"data": object{"username": "YWRtaW4=", "password": "bmV3"}})
		s.pass(time.Minute)
		if password() != "new" {
			t.Error("the new password is not there")
		}
		// What cannot be read any more stays.
		server.remove(bmoSecret)
		s.pass(2 * time.Minute)
		s.says("host-2", api.ReasonGranted)
		// Another Ironic is another life.
		s.fault = "names another Ironic than at our start"
		server.putOperator(object{"IRONIC_ENDPOINT": "http://other/v1/"})
		s.pass(time.Minute)
		if n := s.log.count("msg=stopped", "clean=false"); n != 1 {
			t.Errorf("%d ends, want 1", n)
		}
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// Workers and limit have nothing to do with Ironic: what BMO does not understand hides neither new
// credentials nor another URL.
func TestLH44_IronicIsFollowedWhereTheLimitCannotBeRead(t *testing.T) {
	server := newAPIServer()
	server.putOperator(object{"IRONIC_ENDPOINT": "http://ironic/v1/", "PROVISIONING_LIMIT": "x"})
	server.setObject(bmoSecret, "Secret", "v1", object{"data": object{"username": "YWRtaW4=", "password": "c2VzYW1l"}})
	play(t, findsIronic(t, server), func(s *stage) {
		s.pass(70 * time.Second)
		server.setObject(bmoSecret, "Secret", "v1", object{"data": object{"username": "YWRtaW4=", "password": "bmV3"}})
		s.pass(time.Minute)
		text, err := os.ReadFile(filepath.Join(s.app.files.Dir, "auth", "ironic", "password"))
		if o := s.operator(); string(text) != "new" || err != nil || !strings.Contains(o.LastError, "PROVISIONING_LIMIT") {
			t.Errorf("%q, %v, %+v", text, err, o)
		}
		s.fault = "names another Ironic than at our start"
		server.putOperator(object{"IRONIC_ENDPOINT": "http://other/v1/", "PROVISIONING_LIMIT": "x"})
		s.pass(time.Minute)
		if n := s.log.count("msg=stopped", "clean=false"); n != 1 {
			t.Errorf("%d ends, want 1", n)
		}
	})
}

// What cannot be read of BMO's Secrets is said once, and shown until it can be.
func TestLH44_CredentialsThatAreGoneAreSaidOnce(t *testing.T) {
	server := newAPIServer()
	server.putOperator(object{"IRONIC_ENDPOINT": "http://ironic/v1/"})
	credentials := object{"data": object{"username": "YWRtaW4=", "password": "c2VzYW1l"}}
	server.setObject(bmoSecret, "Secret", "v1", credentials)
	play(t, findsIronic(t, server), func(s *stage) {
		said := func(spells, ends int, want string) {
			t.Helper()
			var shown []string
			for _, w := range s.app.Status().Warnings {
				if strings.Contains(w, "BMO's Ironic") {
					shown = append(shown, w)
				}
			}
			if o := s.operator(); want == "" && len(shown)+len(o.LastError) > 0 ||
				want != "" && (len(shown) != 1 || o.LastError != shown[0] || !strings.HasSuffix(shown[0], want)) {
				t.Errorf("shown %q, %+v, want %q", shown, o, want)
			}
			if n, m := s.log.count("level=WARN", "cannot be read again"), s.log.count("BMO's Ironic is read again"); n != spells || m != ends {
				t.Errorf("said %d times, and %d times that it is over; want %d and %d", n, m, spells, ends)
			}
		}
		s.pass(70 * time.Second)
		said(0, 0, "")
		server.remove(bmoSecret)
		s.pass(10 * time.Minute)
		said(1, 0, "secret metal3/ironic-credentials-9c7, which BMO uses for Ironic: NotFound")
		server.set(server.refused, "secrets", true)
		s.pass(time.Minute)
		said(1, 0, "(Role ironic-throttle-operator, as in overlay observe)")
		server.set(server.refused, "secrets", false)
		server.setObject(bmoSecret, "Secret", "v1", credentials)
		s.pass(2 * time.Minute)
		said(1, 1, "")
		server.remove(bmoSecret)
		s.pass(2 * time.Minute)
		said(2, 1, "NotFound")
	})
}

func TestLH44_IronicThatIsNotFoundIsNamed(t *testing.T) {
	server := newAPIServer()
	prepare := findsIronic(t, server)
	fails := func(want string) {
		t.Helper()
		o := Options{Config: config.Default()}
		o.Config.Listen = config.Listen{}
		prepare(&o, nil)
		_, err := New(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), "IRONIC_ENDPOINT is not set, and Ironic is not found by itself: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
			t.Errorf("left over: %v, %v", left, err)
		}
	}
	fails("NotFound")
	server.putOperator(object{"IRONIC_NAME": "ironic"})
	fails("set IRONIC_NAME=ironic and IRONIC_NAMESPACE=metal3 for the throttle too")
	server.putOperator(object{"IRONIC_ENDPOINT": "http://ironic"})
	fails("secret metal3/ironic-credentials-9c7, which BMO uses for Ironic: NotFound")
	server.set(server.refused, "secrets", true)
	fails("secret metal3/ironic-credentials-9c7, which BMO uses for Ironic: Forbidden")
	server.set(server.refused, "secrets", false)
	server.setObject(bmoSecret, "Secret", "v1", object{"data": object{"username": "YWRtaW4=", "password": "c2VzYW1l"}})
	// A fault of the rest takes the credentials along that were found.
	elects := prepare
	prepare = func(o *Options, fake *fakeironic.Server) {
		elects(o, fake)
		o.Config.Listen.Health = "no/address"
	}
	server.putOperator(object{"IRONIC_ENDPOINT": "http://ironic"})
	o := Options{Config: config.Default()}
	prepare(&o, nil)
	_, err := New(t.Context(), o)
	left, unread := os.ReadDir(os.TempDir())
	if err == nil || !strings.Contains(err.Error(), "no/address") || unread != nil || len(left) > 0 {
		t.Errorf("%v; left over: %v, %v", err, left, unread)
	}
	prepare = elects
	server.putOperator(object{"IRONIC_ENDPOINT": "ftp://ironic"})
	o = Options{Config: config.Default()}
	prepare(&o, nil)
	if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "must begin with http") {
		t.Error(err)
	}
}
