//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// stopsWithin is what the product promises for SIGTERM.
const stopsWithin = 5 * time.Second

// throttle is `ironic-throttle serve` as a process of its own, with a user's
// environment and on free ports. Everything is asked through the command line
// or HTTP.
type throttle struct {
	*testing.T
	process *child.Process
	log     *child.LogBook
	at      struct{ API, Health, Metrics, Gateway string }
}

// settings are scaled down, but not so far that a slow machine looks like an
// outage: a poll each second, and a minute until the view is stale.
func settings(endpoint string, more ...string) []string {
	return append(child.ProductEnvironment("IRONIC_ENDPOINT="+endpoint,
		"MAX_CONCURRENT_PROVISIONING_HOSTS=2",
		"IRONIC_THROTTLE_POLL_INTERVAL=1s",
		"IRONIC_THROTTLE_LEASE_TTL=30s", "IRONIC_THROTTLE_LINGER=4s",
	), more...)
}

// serveThrottle starts the product; it ends with the test at the latest. The
// last of equal variables counts.
func serveThrottle(t *testing.T, environment []string) *throttle {
	t.Helper()
	s := &throttle{T: t}
	s.process, s.log = child.Serve(t, child.Command{Name: binary, Args: []string{"serve"}, Env: environment}, &s.at)
	return s
}

// kill is kill -9.
func (s *throttle) kill() { s.process.Kill() }

// stop is SIGTERM; the end must come in time and be a good one.
func (s *throttle) stop() {
	s.Helper()
	if !s.process.Running() {
		s.Fatalf("ended before SIGTERM: %v", s.process.Err())
	}
	s.process.Stop(stopsWithin) // then kill -9, which is no good end
	if err := s.process.Err(); err != nil {
		s.Errorf("%v, want exit code 0 within %v of SIGTERM", err, stopsWithin)
	}
	if n := s.log.Count("msg=stopped", "clean=true"); n != 1 {
		s.Errorf("%d lines about a clean end, want 1", n)
	}
}

// cli runs another command of the product against this throttle.
func (s *throttle) cli(into any, args ...string) (code int) {
	s.Helper()
	cmd := exec.CommandContext(s.Context(), binary, append(args, "-o", "json")...)
	cmd.Env = []string{"IRONIC_THROTTLE_URL=" + s.at.API}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		s.Fatalf("%v: %v", args, err)
	}
	code = cmd.ProcessState.ExitCode()
	if code > 1 {
		s.Fatalf("%v: exit code %d: %s", args, code, &stderr)
	}
	if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
		s.Fatalf("%v: %v: %s%s", args, err, &stdout, &stderr)
	}
	return code
}

// check asks for a host; the exit code must say what the answer says.
func (s *throttle) check(host string, op api.Op, more ...string) (a api.Answer) {
	s.Helper()
	code := s.cli(&a, append([]string{"check", "metal3/" + host, "--op", string(op)}, more...)...)
	if a.Ready != (code == 0) || a.Ready != a.Reason.Yes() {
		s.Errorf("check %s: exit code %d with %+v", host, code, a)
	}
	return a
}

// says demands an answer now.
func (s *throttle) says(host string, op api.Op, want api.Reason, more ...string) api.Answer {
	s.Helper()
	a := s.check(host, op, more...)
	if a.Reason != want {
		s.Errorf("check %s for %s: %s (%s), want %s; slots %+v", host, op, a.Reason, a.Message, want, a.Slots)
	}
	return a
}

// comesToSay asks until the answer is there. All answers before it must be one
// of meanwhile.
func (s *throttle) comesToSay(host string, op api.Op, want api.Reason, meanwhile ...api.Reason) {
	s.Helper()
	var last api.Answer
	poll(s.T, "answer "+string(want)+" to "+host, func() bool {
		last = s.check(host, op)
		ok := last.Reason == want
		for _, m := range meanwhile {
			ok = ok || last.Reason == m
		}
		if !ok {
			s.Fatalf("check %s for %s: %s (%s), want %s or %s", host, op, last.Reason, last.Message, want, meanwhile)
		}
		return last.Reason == want
	}, func() string { return last.Message })
}

func (s *throttle) status() (st api.Status) {
	s.Helper()
	if code := s.cli(&st, "status"); code != 0 {
		s.Errorf("status: exit code %d", code)
	}
	return st
}

// awaitStatus looks until done, and returns the last look.
func (s *throttle) awaitStatus(what string, done func(api.Status) bool) (st api.Status) {
	s.Helper()
	poll(s.T, what, func() bool {
		st = s.status()
		return done(st)
	}, func() string {
		text, _ := json.Marshal(st)
		return string(text)
	})
	return st
}

// awaitPolls waits for so many complete polls, and failed ones, from now on.
func (s *throttle) awaitPolls(complete, failed int) {
	s.Helper()
	count := func() (int, int) {
		return s.metric(`ironic_throttle_ironic_polls_total{result="complete"}`), s.metric(`ironic_throttle_ironic_polls_total{result="failed"}`)
	}
	good, bad := count()
	poll(s.T, "polls", func() bool {
		nowGood, nowBad := count()
		return nowGood-good >= complete && nowBad-bad >= failed
	}, s.log.String)
}

// get reads one of our pages.
func (s *throttle) get(url string) (int, string) {
	s.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(url)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// health waits for a status of a page of the health listener.
func (s *throttle) health(path string, want int) {
	s.Helper()
	code, body := 0, ""
	poll(s.T, fmt.Sprintf("%s: %d", path, want), func() bool {
		code, body = s.get(s.at.Health + path)
		return code == want
	}, func() string { return fmt.Sprint(code, " ", body) })
}
