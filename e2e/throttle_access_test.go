//go:build e2e

package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// secretFiles writes credentials as BMO has them mounted, or writes them anew.
func secretFiles(t *testing.T, root, user, password string) {
	t.Helper()
	dir := filepath.Join(root, "ironic")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string]string{"username": user, "password": password + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestThrottleAccess holds that the product gets in with BMO's variables, and
// what it does as long as it does not.
func TestThrottleAccess(t *testing.T) {
	t.Parallel()
	i := startIronic(t, realironic.Options{BasicAuth: true, TLS: true})
	batch := realironic.Batch{Count: 1, Prefix: "metal3~busy-", State: "clean wait"}
	if err := i.AddNodes(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	busy := map[string]holder{"busy-000001": adopted}
	ca := "IRONIC_CACERT_FILE=" + i.CAFile
	right, wrong := t.TempDir(), t.TempDir()
	secretFiles(t, right, i.User, i.Password)
	secretFiles(t, wrong, i.User, "wrong-"+i.Password)

	// lockedOut waits for some polls in vain.
	lockedOut := func(t *testing.T, cause string, more ...string) *throttle {
		t.Helper()
		s := serveThrottle(t, settings(i.URL, more...))
		s.awaitPolls(0, 3)
		s.says("host-1", api.OpProvision, api.ReasonStarting)
		s.health("/healthz", http.StatusOK)
		s.health("/readyz", http.StatusServiceUnavailable)
		s.told(1, 0)
		if n := s.log.Count(`cause=`, cause); n != 1 {
			s.Errorf("%d lines with the cause %s, want 1", n, cause)
		}
		return s
	}
	// letIn waits for the first yes.
	letIn := func(s *throttle) {
		s.Helper()
		s.comesToSay("host-1", api.OpProvision, api.ReasonGranted, api.ReasonStarting)
		s.health("/readyz", http.StatusOK)
		if got := holders(s.status()); got[key("busy-000001")] != busy["busy-000001"] {
			s.Errorf("shown %v, want the busy node in it", got)
		}
		s.stop()
		if strings.Contains(s.log.String(), i.Password) {
			s.Error("the password is in the log")
		}
	}

	t.Run("Right", func(t *testing.T) {
		s := serveThrottle(t, settings(i.URL, ca, "METAL3_AUTH_ROOT_DIR="+right))
		letIn(s)
		s.told(0, 0)
	})
	t.Run("WrongThenMended", func(t *testing.T) {
		s := lockedOut(t, "unauthorized", ca, "METAL3_AUTH_ROOT_DIR="+wrong)
		secretFiles(t, wrong, i.User, i.Password) // as when a secret is rotated
		letIn(s)
		s.told(1, 1)
	})
}
