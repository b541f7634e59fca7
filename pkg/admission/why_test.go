package admission_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/nodes"
)

// Each is told of host b.
var whys = []situation{
	{"unknown", "", ``},
	{"misspelt", "", `ask metal3/bb provision`},
	{"unknown, and the cluster has it", "cluster", `cluster b`},
	{"unknown, and the cluster has no such host", "cluster", ``},
	{"wants nothing", "", `ironic b deploying agent; +5s poll; ironic b active; +5s poll; ask b none`},
	{"found at work", "", `ironic b deploying; +5s poll; +3m poll`},
	{"adopted", "fresh", `ironic b deploying agent; poll; +1m poll`},
	{"foreign", "", `ironic b deploying agent; +5s poll; +2m poll`},
	{"virtual media", "", `ironic b deploying boot=redfish-virtual-media; +5s poll; ask b provision`},
	{"waits for a slot", "limit=1", nobody + `; ask c provision; +1s ask b provision; +1m poll; ask c provision
	ask b provision`},
	{"waits as one that fails", "limit=1", nobody + `; ask b provision errors=4`},
	{"waits, and knows for how long", "limit=1", nobody + strings.Repeat(`
		ironic h deploying; poll; +20m ironic h active; poll; ask h deprovision
		ironic h deleting; poll; +10m ironic h available; poll; ask h provision`, 3) + `; ask c provision
		+1s ask b provision`},
	{"its turn has come", "limit=1", nobody + `; ask b provision; ironic h deploying; +5s poll; ironic h active
	+5s poll`},
	{"others are first", "limit=1", nobody + `; ask c provision; +1s ask b provision
		ironic h deploying; +5s poll; ironic h active; +5s poll`},
	{"failing hosts hold all that they may have", "limit=5", nobody + `; ironic f1..f4 available
	ask f1..f2 provision errors=3
		ask f3..f4 provision; ask c provision; ask b provision errors=3; ironic h deploying; +5s poll
		ironic h active; +5s poll`},
	{"has a slot", "", `ironic b available; ask b provision; +5s poll; +20s poll`},
	{"did not use its slot", "", `
		ironic b available; ask b provision; +4m poll; ask b provision; +4m poll; ask b provision; +2m poll
		ask b provision`},
	{"works", "", `ask b provision; ironic b deploying; +5s poll; +4m poll`},
	{"does not move", "", `ask b provision; ironic b deploying; +5s poll; +90m poll`},
	{"works, and goes on after that", "", `ask b provision; ironic b cleaning; +5s poll; ironic b available; +5s poll`},
	{"failed", "",
		`ask b provision; ironic b deploying; +5s poll; ironic b deploy_failed error=Agent_did_not_call.; +5s poll`},
	{"held, and its slot is not over yet", "holdoff=1h", `
		ask b provision; ironic b deploying; +5s poll; ask b provision; ironic b deploy_failed error=x; +5s poll`},
	{"held", "holdoff=1h", `
		ask b provision; ironic b deploying; +5s poll; ironic b deploy_failed error=Agent_did_not_call.; +5s poll; +1m poll
		ask b provision; +10s ask b provision`},
	{"held, never asked", "holdoff=1h",
		`ironic b deploying agent; +5s poll; ironic b deploy_failed; +5s poll; ironic b deploying agent
		+5s poll; ironic b deploy_failed; +5s poll; +1m poll`},
	{"released", "holdoff=1h", `
		ironic b deploying agent; +5s poll; ironic b deploy_failed error=x; +1m poll; ask b provision; release b`},
	{"its group is paused", "maxfailed=0", nobody + `
		ironic a deploying agent; +5s poll; ironic a deploy_failed error=x; +1m poll; ask b provision; poll
		ask b provision`},
	{"breaker open", "breaker=2", `
		ironic h1..h2 deploying agent; +5s poll; ironic h1..h2 deploy_failed error=No_image; +5s poll; ask b provision`},
	{"breaker open by hand", "", `trip ironic; ask b provision`},
	{"breaker half open", "breaker=2 limit=5", `
		ironic h1..h2 deploying agent; +5s poll; ironic h1..h2 deploy_failed error=x; +5s poll; +15m poll
		ask h3..h4 provision; ask b provision`},
	{"rate", "limit=9 rate=1", nobody + `; +10s poll; ask b provision`},
	{"not shown by Ironic", "group:rack=1", `ask b provision`},
	{"nobody asks", "limit=1", nobody + `; ask b provision; ironic h deploying; +5s poll; +115s poll`},
	{"nobody asks, and a slot is free", "limit=1", nobody + `
		ask b provision; ironic h deploying; +5s poll; ironic h active; +145s poll`},
	{"silent for long", "limit=1", nobody + `; ask b provision; ironic h deploying; +5s poll; +20m poll`},
	{"silent, while others ask", "limit=1", nobody + `; ask b provision; ironic h deploying; +5s poll; +20m poll; ask c provision`},
	{"stale", "limit=1", nobody + `; ask b provision; +5m fail no route to host; ask b provision`},
	{"the start", "fresh", `ask b provision; +10s poll; ask b provision`},
	{"a standby", "", `away; ask b provision`},
	{"planned", "limit=1", nobody + `; ask c provision; ask b provision planned`},
	{"planned from now on, and known by its name alone", "limit=1 cluster", nobody + `
		ask c provision; ask b provision name; cluster b node= planned`},
	{"observe", "observe limit=1", nobody + `; ask b provision`},
}

// nobody works yet, but h has the first slot.
const nobody = `ironic h available; ironic b available; ironic c available; ask h provision`

// The stories of why, with the sentence of the answer, are testdata/why.txt; UPDATE_GOLDEN=1 renews it.
func TestWhyTellsTheStory(t *testing.T) {
	var b strings.Builder
	for _, row := range whys {
		s, err := newStage(row.settings)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.all(strings.ReplaceAll(row.lines, "\n", ";")); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		namespace, name, _ := strings.Cut(nodes.Name("b"), "~")
		w := s.Why(s.now, namespace, name)
		if len(w.Story) == 0 || len(w.Steps) == 0 {
			t.Errorf("%s: story %q, steps %q", row.name, w.Story, w.Steps)
		}
		if again := s.Why(s.now, namespace, name); cmp.Diff(w, again) != "" {
			t.Errorf("%s: to ask why changes it: %s", row.name, cmp.Diff(w, again))
		}
		fmt.Fprintf(&b, "== %s: %s is %s\n", row.name, w.Host, w.Standing)
		for _, line := range w.Story {
			fmt.Fprintln(&b, line)
		}
		for _, line := range w.Steps {
			fmt.Fprintln(&b, "> "+line)
		}
		fmt.Fprintln(&b)
	}
	golden(t, "why.txt", b.String())
}

func TestAHostIsFoundByItsNameAloneAndByItsNode(t *testing.T) {
	s, err := newStage("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.all("ask beta/host-17 provision"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"host-17": "Do you mean beta/host-17? ironic-throttle why beta/host-17.", "other": "See whether the name is right",
	} {
		if got := s.Why(s.now, "", name).Steps[0]; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := s.Why(s.now, "", nodes.UUID("beta/host-17")).Host; got != "beta/host-17" {
		t.Errorf("by the UUID of its node it is %q", got)
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (UPDATE_GOLDEN=1 renews it):\n%s", name, diff)
	}
}
