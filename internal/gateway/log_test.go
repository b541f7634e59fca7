package gateway_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/logging"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// Nothing in the log for clients that break off, or that Ironic says no to.
func TestClientsAreNoMatterForTheLog(t *testing.T) {
	log := &journal{}
	basic := func(o *fakeironic.Options) { o.API.Username, o.API.Password = "admin", "secret" }
	play(t, options{limit: 1, nodes: 1, fake: basic, gate: func(o *gateway.Options) { o.Log = log.logger() }}, func(s *stage) {
		s.put(0, ironic.TargetActive).want(http.StatusUnauthorized)
		s.do(newRequest(http.MethodGet, "/v1/nodes", "")).want(http.StatusUnauthorized)
		s.fault(fakeironic.Fault{Trouble: fakeironic.Slow, Delay: time.Minute})
		for _, r := range []*http.Request{newRequest(http.MethodGet, "/v1/nodes", ""), putRequest(s.uuids[0], ironic.TargetActive)} {
			r, cancel := canceled(r)
			time.AfterFunc(time.Second, cancel)
			s.do(r)
		}
		for _, level := range []string{"ERROR", "WARN", "INFO"} {
			log.want(t, level, 0)
		}
	})
}

// Each names its node: somebody may have to look at it.
func TestGW6_AnUnknownOutcomeIsALineOfTheLog(t *testing.T) {
	for name, trouble := range map[string]fakeironic.Fault{
		"cut":      {Trouble: fakeironic.CutAfter, Requests: "put"},
		"500":      {Trouble: fakeironic.Status, Code: 500, Requests: "put"},
		"time-out": {Trouble: fakeironic.SlowAfter, Delay: time.Hour, Requests: "put"},
	} {
		t.Run(name, func(t *testing.T) {
			log := &journal{}
			play(t, options{limit: 9, nodes: 3, gate: func(o *gateway.Options) { o.Log = log.logger() }}, func(s *stage) {
				restore := s.fault(trouble)
				for n := range 3 {
					log.empty()
					s.do(newRequest(http.MethodGet, "/v1/nodes", "")).want(http.StatusOK)
					s.poll()
					s.put(n, ironic.TargetActive)
					said := 0
					for _, line := range log.lines("WARN") {
						if strings.Contains(line, "it is not known what became of") {
							said++
							if !strings.Contains(line, "node="+s.uuids[n]) || !strings.Contains(line, "target=active") {
								t.Error(line)
							}
						}
					}
					if said != 1 {
						t.Errorf("said %d times: %q", said, log.lines("WARN"))
					}
				}
				restore()
				log.empty()
				s.put(0, "nothing") // an answer of Ironic, whatever it is
				log.want(t, "WARN", 0)
			})
		})
	}
}

func TestGW7_ObscureRequestsDoNotFillTheLog(t *testing.T) {
	log := &journal{}
	play(t, options{limit: 1, nodes: 1, gate: func(o *gateway.Options) { o.Log = log.logger() }}, func(s *stage) {
		storm := func() {
			for range 50 {
				s.do(newRequest(http.MethodPut, "/v1/nodes/states/provision?node_ident="+s.uuids[0]+"&target=active", "")).want(http.StatusBadRequest)
			}
		}
		storm()
		log.want(t, "WARN", 1, "path=/v1/nodes/states/provision", "refused=true", "before=0")
		<-time.After(logging.Gap - time.Nanosecond)
		storm()
		log.want(t, "WARN", 1)
		log.empty()
		<-time.After(time.Nanosecond)
		storm()
		log.want(t, "WARN", 1, "before=99")
		if got := s.gate.Stats().Obscure; got != 150 {
			t.Errorf("%d counted", got)
		}
	})
}

// Secrets are neither in the log, at any level, nor in what clients are told.
func TestSecretsAreToldNobody(t *testing.T) {
	const theirs, ours = "their-password", "our-password"
	basic := base64.StdEncoding.EncodeToString([]byte("admin:" + theirs))
	own := base64.StdEncoding.EncodeToString([]byte("throttle:" + ours))
	log := &journal{}
	gate := func(o *gateway.Options) {
		o.Log = log.logger()
		client, err := ironic.NewClient(ironic.Settings{Endpoint: "http://throttle:" + ours + "@ironic", Transport: o.Transport})
		if err != nil {
			t.Fatal(err)
		}
		o.Ironic = client
	}
	play(t, options{limit: 1, nodes: 2, gate: gate}, func(s *stage) {
		secret := []string{theirs, ours, basic, own, "their-token"}
		told := 0
		ask := func(what string) {
			for _, r := range []*http.Request{
				newRequest(http.MethodGet, "/v1/nodes", ""), putRequest(s.uuids[0], ironic.TargetAbort), putRequest(s.uuids[1], ironic.TargetActive),
				newRequest(http.MethodPut, "/v1/nodes/states/provision", "{}"), putRequest("nobody", ironic.TargetActive),
				newRequest(http.MethodPut, "/v1/nodes/"+s.uuids[1]+"/states/provision", strings.Repeat("x", 2<<20)),
			} {
				r.SetBasicAuth("admin", theirs)
				r.Header.Set("X-Auth-Token", "their-token")
				got := s.do(r)
				for _, word := range secret {
					if text := got.Body.String() + fmt.Sprint(got.Header()); strings.Contains(text, word) {
						t.Errorf("%s: the client is told %q: %s", what, word, text)
					}
				}
				told++
			}
			s.poll()
		}
		ask("as always")
		for _, f := range []fakeironic.Fault{
			{Trouble: fakeironic.Refuse}, {Trouble: fakeironic.Half}, {Trouble: fakeironic.Torn},
			{Trouble: fakeironic.CutAfter}, {Trouble: fakeironic.Status, Code: 401}, {Trouble: fakeironic.Status, Code: 500},
			{Trouble: fakeironic.Status, Code: 404, Requests: "node"}, {Trouble: fakeironic.Slow, Delay: 2 * time.Minute},
			{Trouble: fakeironic.Status, Code: 401, Requests: "node"},
		} {
			restore := s.fault(f)
			ask(string(f.Trouble))
			<-time.After(accessMaxAge)
			ask(string(f.Trouble) + ", long ago let in")
			restore()
		}
		s.wire.away.Store(true)
		ask("Ironic is away")
		if told < 100 || len(log.lines("DEBUG", "INFO", "WARN", "ERROR")) < 10 {
			t.Errorf("%d answers, %q", told, log.lines("DEBUG", "INFO", "WARN", "ERROR"))
		}
		for _, line := range log.lines("DEBUG", "INFO", "WARN", "ERROR") {
			for _, word := range secret {
				if strings.Contains(line, word) {
					t.Errorf("the log tells %q: %s", word, line)
				}
			}
		}
	})
}
