package fakeironic

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

func big(b *testing.B) *World {
	o := DefaultOptions()
	o.Fleet.Nodes, o.Fleet.Namespaces, o.MaxConcurrentDeploy = 100_000, 1000, 0
	w, err := NewWorld(o, t0)
	if err != nil {
		b.Fatal(err)
	}
	for _, id := range w.Idents()[:200] {
		w.SetProvision(t0, id, ironic.TargetActive)
	}
	return w
}

func BenchmarkNewWorld100k(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		big(b)
	}
}

// BenchmarkHTTP100k holds what a client pays in a world of 100,000 nodes of
// which 200 work.
func BenchmarkHTTP100k(b *testing.B) {
	server := NewServer(big(b), func() time.Time { return t0 })
	for name, path := range map[string]string{
		"page":      "/v1/nodes?fields=uuid,name,provision_state,boot_interface",
		"detail":    "/v1/nodes/detail",
		"busy":      "/v1/nodes?provision_state=deploying&fields=uuid,name,provision_state,driver_internal_info",
		"none":      "/v1/nodes?provision_state=rescuing",
		"newest":    "/v1/nodes?sort_key=provision_updated_at&sort_dir=desc&limit=20&fields=uuid,provision_state,provision_updated_at",
		"last page": "/v1/nodes?fields=uuid&marker=" + server.world.nodes[98_500].uuid,
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r, _ := http.NewRequestWithContext(b.Context(), "GET", "http://ironic"+path, nil)
				r.Header.Set(headerVersion, "1.81")
				response, err := server.Transport().RoundTrip(r)
				if err != nil || response.StatusCode != 200 {
					b.Fatal(response, err)
				}
				_, _ = io.Copy(io.Discard, response.Body)
			}
		})
	}
}

// BenchmarkStorm plays 20,000 hosts through a whole deployment in virtual time.
func BenchmarkStorm(b *testing.B) {
	for b.Loop() {
		o := DefaultOptions()
		o.Fleet.Nodes, o.MaxConcurrentDeploy = 20_000, 0
		w, err := NewWorld(o, t0)
		if err != nil {
			b.Fatal(err)
		}
		for i, id := range w.Idents() {
			w.SetProvision(t0.Add(time.Duration(i)*time.Second/10), id, ironic.TargetActive)
		}
		if got := w.Truth(t0.Add(24 * time.Hour)); got.Finished != 20_000 {
			b.Fatal(got.Finished)
		}
	}
}
