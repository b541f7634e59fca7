package ways

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const (
	module = "github.com/ironic-throttle/ironic-throttle/"
	pause  = 200 * time.Millisecond // no request to Ironic for so long: the poll is over
)

// site is the throttle in a process of its own, and the Ironic that it reads, in ours.
type site struct {
	t      *testing.T
	ironic *fakeironic.Server
	nodes  []string     // UUIDs of the hosts
	last   atomic.Int64 // when Ironic answered last
	in     io.Writer
	out    *bufio.Scanner
	log    *child.LogBook

	api, gateway string // URLs
}

// build builds the throttle with counters in all packages of ours.
func build(t *testing.T) string {
	binary := filepath.Join(t.TempDir(), "throttle")
	command := exec.CommandContext(t.Context(), "go", "build", "-cover", "-covermode=atomic",
		"-coverpkg="+module+"internal/...,"+module+"pkg/...", "-o", binary, "./cmd")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// newSite starts both, and returns when hosts get slots. The test ends them.
func newSite(t *testing.T, binary string, environment ...string) *site {
	s := &site{t: t, log: &child.LogBook{}}
	options := fakeironic.DefaultOptions()
	options.Fleet.Nodes, options.Fleet.Namespaces = limit+rounds, 1
	world, err := fakeironic.NewWorld(options, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s.nodes = world.Idents()
	s.ironic = fakeironic.NewServer(world, time.Now)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ironic.ServeHTTP(w, r)
		s.last.Store(time.Now().UnixNano())
	}))
	t.Cleanup(server.Close)
	s.start(binary, append(environment, "IRONIC_ENDPOINT="+server.URL+"/v1"))
	child.Await(t, 50*time.Millisecond, time.Minute, "end of the settle", func() bool {
		answer := s.send(http.MethodPost, s.api+"/v1/isready", `{"name":"any","op":"provision","dryRun":true}`, http.StatusOK)
		return !strings.Contains(answer, `"starting"`)
	}, s.log.Tail)
	return s
}

func (s *site) start(binary string, environment []string) {
	throttle := exec.CommandContext(context.WithoutCancel(s.t.Context()), binary) // it ends with its stdin
	throttle.Env = child.ProductEnvironment(append(environment, "GOCOVERDIR="+s.t.TempDir(),
		fmt.Sprintf("MAX_CONCURRENT_PROVISIONING_HOSTS=%d", limit), "IRONIC_THROTTLE_POLL_INTERVAL=5s",
		"IRONIC_THROTTLE_LINGER=1s")...)
	throttle.Stderr = s.log
	in, errIn := throttle.StdinPipe()
	out, errOut := throttle.StdoutPipe()
	if err := errors.Join(errIn, errOut, throttle.Start()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = in.Close()
		if err := throttle.Wait(); err != nil {
			s.t.Errorf("%v\n%s", err, s.log.Tail())
		}
	})
	s.in, s.out = in, bufio.NewScanner(out)
	s.api, s.gateway, _ = strings.Cut(s.command("urls"), " ")
}

// command gives the throttle a command, and returns its answer.
func (s *site) command(c string) string {
	if _, err := fmt.Fprintln(s.in, c); err != nil || !s.out.Scan() {
		s.t.Fatalf("%s: %v\n%s", c, err, s.log.Tail())
	}
	return s.out.Text()
}

// read returns the functions of the product that ran, of counters in dir.
func (s *site) read(dir string) functions {
	out, err := exec.CommandContext(s.t.Context(), "go", "tool", "covdata", "func", "-i="+dir).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
	ran := functions{}
	for _, m := range regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(module)+`(\S+):\s+\S+\s+(\S+)%$`).FindAllStringSubmatch(string(out), -1) {
		if m[2] != "0.0" && !strings.HasPrefix(m[1], "internal/rig/") {
			ran[m[1]] = true
		}
	}
	return ran
}

// quiet returns when the next poll is over.
func (s *site) quiet() {
	begun := time.Now().UnixNano()
	child.Await(s.t, 10*time.Millisecond, 20*time.Second, "poll", func() bool {
		last := s.last.Load()
		return last > begun && time.Since(time.Unix(0, last)) > pause
	}, s.log.Tail)
}

// change lets Ironic show another state of a host.
func (s *site) change(host int, state ironic.State) {
	s.ironic.With(func(now time.Time, world *fakeironic.World) {
		if err := world.SetState(now, s.nodes[host], state, true); err != nil {
			s.t.Fatal(err)
		}
	})
}

// occupied are the slots that hosts have.
func (s *site) occupied() string {
	answer := s.send(http.MethodGet, s.api+"/v1/status", "", http.StatusOK)
	return regexp.MustCompile(`"total":\{[^}]*"occupied":\d+`).FindString(answer)
}

// send sends a request, demands the status, and returns the answer.
func (s *site) send(method, url, body string, want int) string {
	r, err := http.NewRequestWithContext(s.t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-OpenStack-Ironic-API-Version", "1.81")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != want {
		s.t.Fatalf("%s %s: %v, %s %s, want %d", method, url, err, response.Status, answer, want)
	}
	return string(answer)
}
