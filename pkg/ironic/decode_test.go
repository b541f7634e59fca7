package ironic

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readPage returns what a page shows.
func readPage(r io.Reader) (nodes []Node, p page, err error) {
	p, err = decodePage(r, func(n Node) error { nodes = append(nodes, n); return nil })
	return nodes, p, err
}

func one(t *testing.T, row string) Node {
	t.Helper()
	nodes, _, err := readPage(strings.NewReader(`{"nodes": [` + row + `]}`))
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
	if one(t, `{"uuid": "u"}`).AgentURL {
		t.Error("no driver_internal_info: must not count")
	}
}

func TestDecodeKeepsWhatNodeHolds(t *testing.T) {
	got := one(t, `{"uuid": "u", "name": "ns~h", "provision_state": "clean wait", "target_provision_state": "available",
		"provision_updated_at": "2026-11-21T13:16:41+00:00", "driver_internal_info": {"agent_url": "x", "agent_last_heartbeat": "2026-11-21T13:17:00.1"},
		"conductor_group": "rack1", "boot_interface": "redfish-virtual-media", "maintenance": true, "fault": "clean failure",
		"last_error": "it broke", "instance_uuid": "i", "links": [{"href": "x"}], "extra": {"deep": [1, [2, {"a": null}]]}}`)
	want := Node{
		UUID: "u", Name: "ns~h", State: CleanWait, TargetState: Available,
		ProvisionUpdatedAt: "2026-11-21T13:16:41+00:00", AgentURL: true, AgentHeartbeat: "2026-11-21T13:17:00.1",
		ConductorGroup: "rack1", BootInterface: "redfish-virtual-media", Maintenance: true, Fault: "clean failure",
		LastError: "it broke", InstanceUUID: "i",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeToleratesWhatItDoesNotNeed(t *testing.T) {
	huge := strings.Repeat("ä", 1<<18)
	for name, row := range map[string]string{
		"nulls": `{"uuid": "u", "name": null, "provision_state": null, "target_provision_state": null, "driver_internal_info": null,
			"conductor_group": null, "boot_interface": null, "maintenance": null, "fault": null, "last_error": null, "instance_uuid": null}`,
		"wrong types": `{"uuid": "u", "name": 7, "provision_state": ["deploying"], "target_provision_state": {}, "driver_internal_info": 0,
			"conductor_group": false, "boot_interface": [], "maintenance": "true", "fault": 1.5, "last_error": {"a": 1}, "instance_uuid": true}`,
		"unknown fields": `{"uuid": "u", "new_in_2030": {"a": [1, 2, {"b": "` + huge + `"}]}}`,
	} {
		if diff := cmp.Diff(Node{UUID: "u"}, one(t, row)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	n := one(t, `{"uuid": "u", "name": "`+huge+`", "last_error": "`+huge+`"}`)
	if len(n.Name) != maxTextLen || len(n.LastError) != maxErrorLen || strings.Trim(n.LastError, "ä") != "" {
		t.Errorf("huge texts must be cut between characters: name %d, last_error %d bytes", len(n.Name), len(n.LastError))
	}
}

func TestDecodeRefusesWhatIsNoWholeList(t *testing.T) {
	for _, body := range []string{
		``, ` `, `null`, `7`, `[]`, `"nodes"`, `{`, `{}`, `{"next": null}`, `{"Nodes": []}`,
		`{"nodes": null}`, `{"nodes": {}}`, `{"nodes": 7}`, `{"nodes": "x"}`, `{"nodes": [`, `{"nodes": []`, `{"nodes": [{}`,
		`{"nodes": [{"uuid": "a"},]}`, `{"nodes": [{"uuid": "a"} {"uuid": "b"}]}`, `{"nodes": [}]}`, `{"nodes": []]`,
		`{"nodes": []}x`, `{"nodes": []}{}`, `{"next": }`, `{"nodes" []}`, `{nodes: []}`,
		`{"nodes": [{"uuid": "a"}, {}]}`, `{"nodes": [{"uuid": ""}]}`, `{"nodes": [{"uuid": " "}]}`, `{"nodes": [{"uuid": 7}]}`,
		`{"nodes": [{"uuid": null}]}`, `{"nodes": [null]}`, `{"nodes": [3]}`, `{"nodes": ["x"]}`, `{"nodes": [[]]}`,
		`{"nodes": [{"uuid": {}}]}`, `{"nodes": [{"uuid": "` + strings.Repeat("u", maxKeyLen+1) + `"}]}`,
	} {
		if _, p, err := readPage(strings.NewReader(body)); err == nil {
			t.Errorf("%s: got %+v, want an error", body, p)
		}
	}
	for _, body := range []string{``, `{}`, `null`, `[]`, `7`, `{"uuid": ""}`, `{"uuid": "a"`, `{"uuid": "a"} {`, `{"uuid": "a"}7`} {
		if n, err := decodeNode(strings.NewReader(body)); err == nil {
			t.Errorf("%s: got %+v, want an error", body, n)
		}
	}
}

// Nesting is bounded, so that no answer can exhaust the stack.
func TestNestingIsBounded(t *testing.T) {
	for depth, fine := range map[int]bool{9_000: true, 11_000: false, 500_000: false} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		for _, body := range []string{
			`{"nodes": [{"uuid": "a"}], "x": ` + deep + `}`,
			`{"nodes": [{"uuid": "a", "links": ` + deep + `}]}`,
			`{"nodes": [{"uuid": ` + deep + `, "uuid": "a"}]}`,
		} {
			if _, p, err := readPage(strings.NewReader(body)); (err == nil) != fine || (p.rows == 1) != fine {
				t.Errorf("depth %d: %d rows, %v", depth, p.rows, err)
			}
		}
	}
}

// A broken reader must show as such, so that it is told from bad JSON.
func TestDecodePassesTheReadersErrorOn(t *testing.T) {
	broken := errors.New("broken")
	for _, start := range []string{"", `{`, `{"nodes"`, `{"nodes": [`, `{"nodes": [{"uuid": "a"}`, `{"nodes": [], "x": [`, `{"nodes": []`} {
		r := io.MultiReader(strings.NewReader(start), errReader{broken})
		if _, _, err := readPage(r); !errors.Is(err, broken) {
			t.Errorf("after %q: %v", start, err)
		}
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

func TestDecodeCaptures(t *testing.T) {
	for name, rows := range map[string]int{
		"04-list-page-fields": 3, "33-filter-clean-failed-next": 2, "75-v29-filter-next": 2,
		"52-list-busy-deploying": 2, "34-sort-provision_updated_at": 1, "81-v29-list-fields": -1,
	} {
		nodes, p, err := readPage(bytes.NewReader(body(t, name)))
		if err != nil || (rows >= 0 && p.rows != rows) || len(nodes) != p.rows {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	for name, want := range map[string]Node{
		"06-node-full":          {UUID: "82158cd1-dcf7-47c2-9684-4bd0331046ca", Name: "metal3~host-0900", State: Enroll, BootInterface: "fake"},
		"71-v29-node-full":      {UUID: "9b49c330-5e1d-4e90-8a3b-47485fd5dcb0", Name: "metal3~host-0001", State: Enroll, BootInterface: "ipxe"},
		"44-get-node-deploying": {UUID: "566b2f1f-6ca4-4a94-b479-73eca8e1d508", Name: "metal3~host-0910", State: Deploying, TargetState: Active, ProvisionUpdatedAt: "2026-11-21T13:16:41.020851+00:00", Locked: true, BootInterface: "fake"},
	} {
		got, err := decodeNode(bytes.NewReader(body(t, name)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// pageOf writes nodes as Ironic would.
func pageOf(nodes []Node) []byte {
	rows := []map[string]any{}
	for _, n := range nodes {
		info := map[string]any{"agent_last_heartbeat": n.AgentHeartbeat}
		if n.AgentURL {
			info["agent_url"] = "http://h:9999"
		}
		rows = append(rows, map[string]any{
			"uuid": n.UUID, "name": n.Name, "provision_state": n.State, "target_provision_state": n.TargetState,
			"provision_updated_at": n.ProvisionUpdatedAt, "driver_internal_info": info, "conductor_group": n.ConductorGroup,
			"boot_interface": n.BootInterface, "maintenance": n.Maintenance, "fault": n.Fault,
			"last_error": n.LastError, "instance_uuid": n.InstanceUUID,
		})
	}
	b, _ := json.Marshal(map[string]any{"nodes": rows})
	return b
}

// Whatever comes, decoding ends, bounds what it keeps and adds up; and what it has kept is read the same again.
func FuzzDecodePage(f *testing.F) {
	for _, name := range captures(f) {
		f.Add(body(f, name))
	}
	f.Add([]byte(`{"nodes": [{"uuid": "a", "driver_internal_info": {"agent_url": " "}}, null, {"uuid": 1}], "next": "x"}`))
	f.Add([]byte(`{"nodes": [{"uuid": "a", "UUID": "b", "uuid": null}], "nodes": []}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if n, err := decodeNode(bytes.NewReader(data)); err == nil && n.UUID == "" {
			t.Error("a node without a uuid")
		}
		nodes, p, err := readPage(bytes.NewReader(data))
		if err != nil {
			return
		}
		if p.rows != len(nodes) {
			t.Errorf("%d rows, %d nodes", p.rows, len(nodes))
		}
		for _, n := range nodes {
			if strings.TrimSpace(n.UUID) == "" || len(n.UUID) > maxKeyLen || len(n.Name) > maxTextLen || len(n.LastError) > maxErrorLen {
				t.Errorf("unbounded or unusable: %+v", n)
			}
		}
		again, _, err := readPage(bytes.NewReader(pageOf(nodes)))
		if diff := cmp.Diff(nodes, again); err != nil || diff != "" {
			t.Errorf("read again: %v (-first +second):\n%s", err, diff)
		}
	})
}

// Whatever an error body holds, what we quote of it is one short line.
func FuzzFault(f *testing.F) {
	for _, name := range captures(f) {
		f.Add(body(f, name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text := fault(data)
		if len(text) > maxFaultLen || strings.ContainsAny(text, "\r\n\t\x00") {
			t.Errorf("%q", text)
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
