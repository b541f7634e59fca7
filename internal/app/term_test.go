package app

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Holds that cannot be read let nobody start, say so, and do not stand in the way of the
// end.
func TestBO16_HoldsThatCannotBeReadYet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const text = `{"apiVersion": "v1", "kind": "Config", "current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Default()
	c.Ironic.Endpoint, c.Listen = "http://127.0.0.1:1", config.Listen{}
	c.Kubernetes.On, c.Kubernetes.Kubeconfig, c.Kubernetes.Identity, c.Kubernetes.Leader.Elect = true, file, "a", true
	c.Holdoff.ConfigMap = "holds"
	a, err := New(t.Context(), Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	if a.standby() == "" || a.mayStart() {
		t.Error("it decides before it knows the holds")
	}
	ask := api.Ask{Namespace: "n", Name: "h", Op: api.OpNone}
	if answer := a.decider().IsReady(time.Now(), ask); answer.Ready {
		t.Errorf("%+v", answer)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
}
