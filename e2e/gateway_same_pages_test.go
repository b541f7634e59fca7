//go:build e2e

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
)

// pages holds that who follows next through the gateway stays there, and sees each
// node once, past Ironic's thousand; and that each page is Ironic's own, byte by
// byte.
func (s *sameness) pages(t *testing.T) {
	const count = 2100
	if err := s.ironic.AddNodes(t.Context(), realironic.Batch{Count: count, Prefix: "page~", State: "active"}); err != nil {
		t.Fatal(err)
	}
	want := s.query("SELECT uuid FROM nodes ORDER BY uuid;")
	for _, path := range []string{
		capacityPath, "/v1/nodes", "/v1/nodes?limit=700&fields=uuid&sort_key=name", "/v1/nodes/?limit=5000&fields=uuid",
	} {
		var seen []string
		for next := s.through.url + path; next != ""; {
			rest, ours := strings.CutPrefix(next, s.through.url)
			if !ours {
				t.Fatalf("%s: next leads to %s, round the gateway", path, next)
			}
			head, body := s.page(t, s.through, rest)
			direct, same := s.page(t, s.direct, rest)
			if cache := head.Get("X-Ironic-Throttle-Cache"); path == capacityPath {
				if age, err := strconv.Atoi(head.Get("Age")); cache != "nodes" || err != nil || age < 0 {
					t.Errorf("%s: answered by %q, Age %q; want it from the gateway's list of all nodes", rest, cache, head.Get("Age"))
				}
				head.Del("Age")
				head.Del("X-Ironic-Throttle-Cache")
			}
			if diff := cmp.Diff(direct, head); diff != "" || body != same {
				t.Errorf("%s: %d bytes, direct %d; head (-direct +gateway):\n%s", rest, len(body), len(same), diff)
			}
			var page struct {
				Nodes []struct{ UUID string }
				Next  string
			}
			if err := json.Unmarshal([]byte(body), &page); err != nil {
				t.Fatal(err)
			}
			for _, n := range page.Nodes {
				seen = append(seen, n.UUID)
			}
			next = page.Next
		}
		slices.Sort(seen)
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("%s: nodes over all pages (-database +seen):\n%.2000s", path, diff)
		}
	}
}

// page reads one page as a client of the gateway would write for it.
func (s *sameness) page(t *testing.T, from *side, path string) (http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, from.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = hostOf(s.through.url)
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.82")
	resp, err := s.ironic.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v: %.300s", from.name, path, resp.Status, err, body)
	}
	for _, name := range []string{"Date", "Openstack-Request-Id"} {
		resp.Header.Del(name)
	}
	return resp.Header, string(body)
}
