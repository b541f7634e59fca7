//go:build e2e

package e2e

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

//go:embed testdata/commands.py
var commandsPy string

// cli runs commands of python-ironicclient, from Debian.
type cli struct {
	*testing.T
	always []string // arguments of every command
	in     io.Writer
	out    *json.Decoder
}

// outcome is what came of a command.
type outcome struct {
	Code     int
	Out, Err string
}

// newCLI starts one that is ready for commands; always are the arguments that say
// where Ironic is, and how to get in.
func newCLI(t *testing.T, program string, always ...string) *cli {
	t.Helper()
	cmd := exec.Command("/usr/bin/python3", "-c", commandsPy, program)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + t.TempDir(), "COLUMNS=200"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	diag := &child.LogBook{}
	cmd.Stderr = diag
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s (is python3-%sclient there? hack/ironic/install.sh): %v\n%s", program, program, err, diag)
		}
	})
	return &cli{t, always, in, json.NewDecoder(bufio.NewReader(out))}
}

// baremetal is python-ironicclient's own program, without keystone.
func baremetal(t *testing.T, url string, more ...string) *cli {
	t.Helper()
	return newCLI(t, "baremetal", append([]string{"--os-auth-type", "none", "--os-endpoint", url, "--max-retries", "0"}, more...)...)
}

// run runs one command, its arguments parted by blanks.
func (c *cli) run(line string) (o outcome) {
	c.Helper()
	text, err := json.Marshal(append(slices.Clone(c.always), strings.Fields(line)...))
	if err == nil {
		_, err = c.in.Write(append(text, '\n'))
	}
	if err == nil {
		err = c.out.Decode(&o)
	}
	if err != nil {
		c.Errorf("%s: %v", line, err)
	}
	return o
}

// commands runs commands on both ways at once, and demands that equal things come
// of them; see step for @ and !!.
func (s *sameness) commands(t *testing.T, direct, through *cli, steps []step) {
	t.Helper()
	for _, st := range steps {
		if st.await != "" {
			s.step(t, st)
			continue
		}
		var want, got outcome
		var both sync.WaitGroup
		both.Go(func() { want = s.direct.command(direct, st.line) })
		both.Go(func() { got = s.through.command(through, st.line) })
		both.Wait()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n(-direct +gateway):\n%.3000s", st.line, diff)
		}
		if testing.Verbose() {
			t.Logf("%d %-80.80s %.90q", want.Code, st.line, want.Err+want.Out)
		}
	}
}

func (s *side) command(c *cli, line string) outcome {
	o := c.run(s.fill(line))
	return outcome{o.Code, s.general(o.Out), s.general(o.Err)}
}

// TestClients lets OpenStack's own client ask one Ironic directly and through the gateway. BMO's library goes
// through it in e2e/bmo.
func TestClients(t *testing.T) {
	t.Parallel()
	l := newLab(t, realironic.Options{})
	g := serveGateway(t, l.ironic, append(soon, roomForAll)...).settled()
	s := newSameness(l, g)
	t.Run("Python", s.python)
	g.shows(nobody)
	g.stop()
	t.Run("PythonWaits", func(t *testing.T) { pythonWaits(l.on(t)) })
}

// python holds that whoever uses OpenStack's own client sees no difference, neither
// in what it prints nor in how it ends.
func (s *sameness) python(t *testing.T) {
	s.commands(t, baremetal(t, s.direct.url), baremetal(t, s.through.url), clientSteps)
}

// pythonWaits holds what a user of the client sees while no slot is free, and
// that a client which tries again by itself gets through as soon as one is.
func pythonWaits(l *lab) {
	l.create("host-1", "")
	taken := realironic.Batch{Count: 1, Prefix: key("taken-"), State: "clean wait", AgentURL: true}
	if err := l.ironic.AddNodes(l.Context(), taken); err != nil {
		l.Fatal(err)
	}
	g := serveGateway(l.T, l.ironic, append(soon, limitOne)...).settled()
	g.shows(map[string]holder{"taken-000001": adopted})

	got := baremetal(l.T, g.url, "--max-retries", "1", "--retry-interval", "1").run("node inspect " + key("host-1"))
	for _, word := range []string{"ironic-throttle", string(api.ReasonFull), "ask again in", "(HTTP 409)", "Attempt 2 of 2"} {
		if !strings.Contains(got.Err, word) {
			l.Errorf("the client says %q, want %q in it", got.Err, word)
		}
	}
	if got.Code != 1 || got.Out != "" {
		l.Errorf("exit code %d, output %q; want 1 and none", got.Code, got.Out)
	}

	patient := baremetal(l.T, g.url, "--max-retries", "60", "--retry-interval", "1")
	done := make(chan outcome, 1)
	go func() { done <- patient.run("node inspect --wait 60 " + key("host-1")) }()
	g.awaitStatus("a host that waits", func(st api.Status) bool { return st.Slots.Total.Waiting == 1 })
	l.query("UPDATE nodes SET provision_state = 'active', driver_internal_info = '{}' WHERE name = '" + key("taken-000001") + "'; SELECT 1;")
	if got := <-done; got.Code != 0 {
		l.Errorf("a patient client: %+v", got)
	}
	g.shows(nobody)
}
