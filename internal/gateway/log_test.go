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

// logged wants so many lines of the log with all these words.
func (s *stage) logged(count int, words ...string) {
	s.Helper()
	if lines := s.log.Lines(words...); len(lines) != count {
		s.Errorf("%d lines with %q, want %d:\n%s", len(lines), words, count, s.log.Tail())
	}
}

func TestObscureRequestsDoNotFillTheLog(t *testing.T) {
	play(t, options{limit: 1, nodes: 1}, func(s *stage) {
		storm := func() {
			for range 50 {
				s.do(newRequest(http.MethodPut, "/v1/nodes/states/provision?node_ident="+s.uuids[0]+"&target=active", "")).want(http.StatusBadRequest)
			}
		}
		storm()
		s.logged(1, "level=WARN", "path=/v1/nodes/states/provision", "refused=true", "before=0")
		<-time.After(logging.Gap - time.Nanosecond)
		storm()
		s.logged(1, "level=WARN")
		<-time.After(time.Nanosecond)
		storm()
		s.logged(2, "level=WARN")
		s.logged(1, "level=WARN", "before=99")
		if got, puts := s.gate.Stats().Obscure, s.asked(http.MethodPut); got != 150 || puts != 0 {
			t.Errorf("%d counted, %d sent", got, puts)
		}
	})
}

// Secrets are neither in the log, at any level, nor in what clients are told.
func TestSecretsAreToldNobody(t *testing.T) {
	const theirs, ours = "their-password", "our-password"
	basic := base64.StdEncoding.EncodeToString([]byte("admin:" + theirs))
	own := base64.StdEncoding.EncodeToString([]byte("throttle:" + ours))
	var reader *ironic.Client
	gate := func(o *gateway.Options) {
		var err error
		reader, err = ironic.NewClient(ironic.Settings{Endpoint: "http://throttle:" + ours + "@ironic", Transport: o.Transport})
		if err != nil {
			t.Fatal(err)
		}
		o.Ironic = reader
	}
	play(t, options{limit: 1, nodes: 2, gate: gate}, func(s *stage) {
		defer reader.Close()
		secret := []string{theirs, ours, basic, own, "their-token"}
		told := 0
		ask := func(what string) {
			for _, r := range []*http.Request{
				newRequest(http.MethodGet, "/v1/nodes", ""), putRequest(s.uuids[0], ironic.TargetAbort), putRequest(s.uuids[1], ironic.TargetActive),
				newRequest(http.MethodPut, "/v1/nodes/states/provision", "{}"), putRequest("nobody", ironic.TargetActive),
				newRequest(http.MethodPut, "/v1/nodes/"+s.uuids[1]+"/states/provision", strings.Repeat("x", 2*maxBody)),
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
		if told < 100 || len(s.log.Lines()) < 10 {
			t.Errorf("%d answers, %q", told, s.log.Lines())
		}
		for _, word := range secret {
			s.logged(0, word)
		}
	})
}
