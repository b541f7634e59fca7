package gateway_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"
	"github.com/ironic-throttle/ironic-throttle/internal/logging"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// journal keeps the lines of a log.
type journal struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// logger writes everything.
func (j *journal) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Write implements io.Writer.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// lines are those of at least a level, without their time.
func (j *journal) lines(levels ...string) (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		_, line, _ = strings.Cut(strings.TrimSpace(line), " ")
		for _, level := range levels {
			if strings.HasPrefix(line, "level="+level+" ") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// want wants so many lines of a level, each with all of the words.
func (j *journal) want(t *testing.T, level string, count int, words ...string) {
	t.Helper()
	lines := j.lines(level)
	if len(lines) != count {
		t.Errorf("%d lines of %s, want %d:\n%s", len(lines), level, count, strings.Join(lines, "\n"))
	}
	for _, line := range lines {
		for _, word := range words {
			if !strings.Contains(line, word) {
				t.Errorf("%q lacks %q", line, word)
			}
		}
	}
}

// empty forgets what was written.
func (j *journal) empty() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text.Reset()
}

func TestObscureRequestsDoNotFillTheLog(t *testing.T) {
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
	log := &journal{}
	var reader *ironic.Client
	gate := func(o *gateway.Options) {
		o.Log = log.logger()
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
