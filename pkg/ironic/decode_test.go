package ironic_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// read returns the nodes that a page shows.
func read(t testing.TB, page string) ([]ironic.Node, error) {
	t.Helper()
	nodes, _, err := client(t, text(page)).Newest(t.Context())
	return nodes, err
}

func one(t *testing.T, row string) ironic.Node {
	t.Helper()
	nodes, err := read(t, `{"nodes": [`+row+`]}`)
	if err != nil || len(nodes) != 1 {
		t.Fatalf("%.80s: %d nodes, %v", row, len(nodes), err)
	}
	return nodes[0]
}

func TestAgentURLCountsOnlyWhenItIsText(t *testing.T) {
	for info, want := range map[string]bool{
		`{"agent_url": "https://[fd00::7]:9999"}`: true,
		`{"x": {}, "agent_url": "http://h:9999"}`: true,
		`{}`:                               false,
		`null`:                             false,
		`[]`:                               false,
		`"agent_url"`:                      false,
		`{"agent_url": null}`:              false,
		`{"agent_url": ""}`:                false,
		`{"agent_url": " \t\n"}`:           false,
		`{"agent_url": 7}`:                 false,
		`{"agent_url": true}`:              false,
		`{"agent_url": ["http://h:9999"]}`: false,
		`{"agent_url": {"url": "x"}}`:      false,
	} {
		if got := one(t, `{"uuid": "u", "driver_internal_info": `+info+`}`).AgentURL; got != want {
			t.Errorf("%s: %v, want %v", info, got, want)
		}
	}
}

func TestDecodeKeepsWhatNodeHolds(t *testing.T) {
	got := one(t, `{"uuid": "u", "name": "ns~h", "provision_state": "clean wait", "target_provision_state": "available",
		"provision_updated_at": "2026-11-21T13:16:41+00:00", "driver_internal_info": {"agent_url": "x", "agent_last_heartbeat": "2026-11-21T13:17:00.1"},
		"conductor_group": "rack1", "boot_interface": "redfish-virtual-media", "maintenance": true, "fault": "clean failure",
		"last_error": "it broke", "instance_uuid": "i", "reservation": "c", "links": [{"href": "x"}], "extra": {"deep": [1, [2, {"a": null}]]}}`)
	want := ironic.Node{
		UUID: "u", Name: "ns~h", State: ironic.CleanWait, TargetState: ironic.Available,
		ProvisionUpdatedAt: "2026-11-21T13:16:41+00:00", AgentURL: true, AgentHeartbeat: "2026-11-21T13:17:00.1", Locked: true,
		ConductorGroup: "rack1", BootInterface: "redfish-virtual-media", Maintenance: true, Fault: "clean failure",
		LastError: "it broke", InstanceUUID: "i",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeToleratesWhatItDoesNotNeed(t *testing.T) {
	huge := strings.Repeat("ä", 1<<14)
	for name, row := range map[string]string{
		"nulls": `{"uuid": "u", "name": null, "provision_state": null, "target_provision_state": null, "driver_internal_info": null,
			"conductor_group": null, "boot_interface": null, "maintenance": null, "fault": null, "last_error": null, "instance_uuid": null}`,
		"wrong types": `{"uuid": "u", "name": 7, "provision_state": ["deploying"], "target_provision_state": {}, "driver_internal_info": 0,
			"conductor_group": false, "boot_interface": [], "maintenance": "true", "fault": 1.5, "last_error": {"a": 1}, "instance_uuid": true}`,
		"unknown fields": `{"uuid": "u", "new_in_2030": {"a": [1, 2, {"b": "` + huge + `"}]}}`,
	} {
		if diff := cmp.Diff(ironic.Node{UUID: "u"}, one(t, row)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	n := one(t, `{"uuid": "u", "name": "`+huge+`", "last_error": "`+huge+`"}`)
	if len(n.Name) != ironic.MaxTextLen || len(n.LastError) != ironic.MaxErrorLen || strings.Trim(n.LastError, "ä") != "" {
		t.Errorf("huge texts must be cut between characters: name %d, last_error %d bytes", len(n.Name), len(n.LastError))
	}
}

func TestDecodeRefusesWhatIsNoWholeList(t *testing.T) {
	for _, page := range []string{
		``, ` `, `null`, `7`, `[]`, `"nodes"`, `{`, `{}`, `{"next": null}`, `{"Nodes": []}`, `<html>`,
		`{"nodes": null}`, `{"nodes": {}}`, `{"nodes": 7}`, `{"nodes": "x"}`, `{"nodes": [`, `{"nodes": []`, `{"nodes": [{}`,
		`{"nodes": [{"uuid": "a"},]}`, `{"nodes": [{"uuid": "a"} {"uuid": "b"}]}`, `{"nodes": [}]}`, `{"nodes": []]`,
		`{"nodes": []}x`, `{"nodes": []}{}`, `{"next": }`, `{"nodes" []}`, `{nodes: []}`,
		`{"nodes": [{"uuid": "a"}, {}]}`, `{"nodes": [{"uuid": ""}]}`, `{"nodes": [{"uuid": " "}]}`, `{"nodes": [{"uuid": 7}]}`,
		`{"nodes": [{"uuid": null}]}`, `{"nodes": [null]}`, `{"nodes": [3]}`, `{"nodes": ["x"]}`, `{"nodes": [[]]}`,
		`{"nodes": [{"uuid": {}}]}`, `{"nodes": [{"uuid": "` + strings.Repeat("u", ironic.MaxKeyLen+1) + `"}]}`,
	} {
		if nodes, err := read(t, page); ironic.CauseOf(err) != ironic.CauseAnswer || nodes != nil {
			t.Errorf("%s: got %+v, %v; want an error", page, nodes, err)
		}
	}
	for _, alone := range []string{``, `{}`, `null`, `[]`, `7`, `{"uuid": ""}`, `{"uuid": "a"`, `{"uuid": "a"} {`, `{"uuid": "a"}7`} {
		if n, _, err := client(t, text(alone)).Node(t.Context(), "a"); ironic.CauseOf(err) != ironic.CauseAnswer {
			t.Errorf("%s: got %+v, %v; want an error", alone, n, err)
		}
	}
}

// Nesting is bounded, so that no answer can exhaust the stack.
func TestNestingIsBounded(t *testing.T) {
	for depth, fine := range map[int]bool{9_000: true, 11_000: false, 100_000: false} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		for _, page := range []string{
			`{"nodes": [{"uuid": "a"}], "x": ` + deep + `}`,
			`{"nodes": [{"uuid": "a", "links": ` + deep + `}]}`,
			`{"nodes": [{"uuid": ` + deep + `, "uuid": "a"}]}`,
		} {
			if nodes, err := read(t, page); (err == nil) != fine || (len(nodes) == 1) != fine {
				t.Errorf("depth %d: %d nodes, %v", depth, len(nodes), err)
			}
		}
	}
}

// A connection that breaks must show as such, so that it is told from bad JSON.
func TestABrokenConnectionIsNoBadJSON(t *testing.T) {
	broken := errors.New("broken")
	for _, start := range []string{"", `{`, `{"nodes"`, `{"nodes": [`, `{"nodes": [{"uuid": "a"}`, `{"nodes": [], "x": [`, `{"nodes": []`} {
		_, _, err := client(t, says(func() *http.Response {
			resp := reply(http.StatusOK, "")
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(start), errReader{broken}))
			return resp
		})).Newest(t.Context())
		if !errors.Is(err, broken) {
			t.Errorf("after %q: %v", start, err)
		}
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestDecodeCaptures(t *testing.T) {
	for name, rows := range map[string]int{
		"04-list-page-fields": 3, "33-filter-clean-failed-next": 2, "75-v29-filter-next": 2,
		"52-list-busy-deploying": 2, "34-sort-provision_updated_at": 1,
	} {
		if nodes, err := read(t, body(t, name)); err != nil || len(nodes) != rows {
			t.Errorf("%s: %d nodes, %v", name, len(nodes), err)
		}
	}
	for name, want := range map[string]ironic.Node{
		"71-v29-node-full":      {UUID: "9b49c330-5e1d-4e90-8a3b-47485fd5dcb0", Name: "metal3~host-0001", State: ironic.Enroll, BootInterface: "ipxe"},
		"44-get-node-deploying": {UUID: "566b2f1f-6ca4-4a94-b479-73eca8e1d508", Name: "metal3~host-0910", State: ironic.Deploying, TargetState: ironic.Active, ProvisionUpdatedAt: "2026-11-21T13:16:41.020851+00:00", Locked: true, BootInterface: "fake"},
	} {
		got, _, err := client(t, text(body(t, name))).Node(t.Context(), want.UUID)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// Whatever comes, decoding ends and bounds what it keeps.
func FuzzDecodePage(f *testing.F) {
	for _, page := range bodies(f) {
		f.Add(page)
	}
	f.Add(`{"nodes": [{"uuid": "a", "driver_internal_info": {"agent_url": " "}}, null, {"uuid": 1}], "next": "x"}`)
	f.Add(`{"nodes": [{"uuid": "a", "UUID": "b", "uuid": null}], "nodes": []}`)
	f.Fuzz(func(t *testing.T, page string) {
		if n, ok, err := client(t, text(page)).Node(t.Context(), "a"); ok && (err != nil || n.UUID == "") {
			t.Errorf("a node without a uuid, %v", err)
		}
		nodes, err := read(t, page)
		if err != nil && nodes != nil {
			t.Errorf("%v, and %d nodes", err, len(nodes))
		}
		for _, n := range nodes {
			if strings.TrimSpace(n.UUID) == "" || len(n.UUID) > ironic.MaxKeyLen || len(n.Name) > ironic.MaxTextLen || len(n.LastError) > ironic.MaxErrorLen {
				t.Errorf("unbounded or unusable: %+v", n)
			}
		}
	})
}

// A text of Ironic's is shown in logs, terminals and metrics: there is nothing in it that does something there.
func TestTextsAreVisible(t *testing.T) {
	evil := `a\nb\u001b[2J\u009b31m\u202ec` + "\x7f\u0085d\u00e9"
	want := "a b [2J 31m c  dé"
	n := one(t, `{"uuid": "u", "name": "`+evil+`", "conductor_group": "`+evil+`", "driver": "`+evil+`", "last_error": "`+evil+`"}`)
	for name, got := range map[string]string{"name": n.Name, "group": n.ConductorGroup, "error": n.LastError} {
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
