//go:build e2e

package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// baremetal runs OpenStack's own client, from Debian.
func (s *site) baremetal(retries int, words ...string) (out string, err error) {
	args := []string{"--os-auth-type", "none", "--os-endpoint", s.throttle.At.Gateway, "--max-retries", fmt.Sprint(retries), "--retry-interval", "1"}
	cmd := exec.CommandContext(s.Context(), "/usr/bin/baremetal", append(args, words...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + s.TempDir()}
	text, err := cmd.CombinedOutput()
	return string(text), err
}

// TestOpenStacksClientWaits: what a user of it sees while no slot is free, and that a client that tries again by itself
// gets through as soon as one is.
func TestOpenStacksClientWaits(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	s.create("host-1", "")
	taken := realironic.Batch{Count: 1, Prefix: key("taken-"), State: "clean wait", AgentURL: true}
	if err := s.ironic.AddNodes(t.Context(), taken); err != nil {
		t.Fatal(err)
	}
	s.serve("MAX_CONCURRENT_PROVISIONING_HOSTS=1")
	s.shows("taken-000001 adopted busy")
	said, err := s.baremetal(1, "node", "inspect", key("host-1"))
	for _, word := range []string{"ironic-throttle", string(api.ReasonFull), "ask again in", "(HTTP 409)", "Attempt 2 of 2"} {
		if err == nil || !strings.Contains(said, word) {
			t.Errorf("the client ends with %v and says %q, want %q in it", err, said, word)
		}
	}
	done := make(chan error, 1)
	go func() {
		out, err := s.baremetal(60, "node", "inspect", "--wait", "60", key("host-1"))
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		done <- err
	}()
	s.throttle.AwaitStatus("a host that waits", func(st api.Status) bool { return st.Slots.Total.Waiting == 1 })
	sql(t, s.ironic, "UPDATE nodes SET provision_state = 'active', driver_internal_info = '{}' WHERE name = '"+key("taken-000001")+"';")
	if err := <-done; err != nil {
		t.Errorf("a patient client: %v", err)
	}
	s.shows()
}
