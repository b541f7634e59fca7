package ironic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	gocmp "github.com/google/go-cmp/cmp"
)

// fields are the fields of a JSON object as encoding/json reads them, the last of each
// name; none when it is no object.
func fields(raw json.RawMessage) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(raw, &all)
	return all
}

// jsonText is a JSON string as encoding/json reads it; "" for anything else.
func jsonText(raw json.RawMessage, limit int) string {
	var s any
	_ = json.Unmarshal(raw, &s)
	text, _ := s.(string)
	return cut(text, limit)
}

// plainNode reads a row the plain way: all of it first, and then what we need.
func plainNode(raw json.RawMessage) (Node, bool) {
	row := fields(raw)
	info, image := fields(row["driver_internal_info"]), fields(row["instance_info"])
	text := func(name string) string { return jsonText(row[name], maxTextLen) }
	n := Node{
		UUID: jsonText(row["uuid"], maxKeyLen+1), Name: text("name"), State: State(text("provision_state")),
		TargetState: State(text("target_provision_state")), ProvisionUpdatedAt: text("provision_updated_at"),
		AgentURL:       strings.TrimSpace(jsonText(info["agent_url"], maxTextLen)) != "",
		AgentHeartbeat: jsonText(info["agent_last_heartbeat"], maxTextLen),
		Locked:         row["reservation"] != nil && string(row["reservation"]) != "null",
		ConductorGroup: text("conductor_group"), BootInterface: text("boot_interface"),
		Maintenance: string(row["maintenance"]) == "true", Fault: text("fault"),
		LastError: jsonText(row["last_error"], maxErrorLen), InstanceUUID: text("instance_uuid"),
		Image: withoutSecrets(cmp.Or(jsonText(image["image_os_hash_value"], maxTextLen),
			jsonText(image["image_checksum"], maxTextLen), jsonText(image["image_source"], maxTextLen))),
	}
	return n, strings.TrimSpace(n.UUID) != "" && len(n.UUID) <= maxKeyLen
}

// plainPage reads a whole list the plain way.
func plainPage(data []byte) (page, error) {
	if !json.Valid(data) {
		return page{}, errors.New("no JSON")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); t != json.Delim('{') {
		return page{}, cmp.Or(err, errors.New("no object"))
	}
	var p page
	found := false
	for dec.More() {
		name, _ := dec.Token()
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return page{}, err
		}
		switch name {
		case "next":
			p.more = jsonText(value, maxTextLen) != ""
		case "nodes":
			found = true
			var rows []json.RawMessage
			if json.Unmarshal(value, &rows) != nil || rows == nil {
				return page{}, errors.New("no list")
			}
			for _, row := range rows {
				p.rows++
				n, ok := plainNode(row)
				if !ok {
					p.skipped++
					continue
				}
				p.nodes, p.last = append(p.nodes, n), n.UUID
			}
		}
	}
	if !found {
		return page{}, errors.New("no list")
	}
	return p, nil
}

// sameAsPlain compares the three decodings of an answer with the plain one.
func sameAsPlain(t *testing.T, data []byte) {
	t.Helper()
	want, wantErr := plainPage(data)
	var in io.Reader = bytes.NewReader(data)
	if len(data) < 4<<10 {
		in = iotest.OneByteReader(in) // values that come in pieces
	}
	got, err := decodePage(in, alone())
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("error %v, the plain way %v", err, wantErr)
	}
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(page{}, list{})); diff != "" {
		t.Fatalf("page (-plain +streamed):\n%s", diff)
	}

	r := newRoll()
	l, err := decodeList(bytes.NewReader(data), r.row)
	if (err == nil) != (wantErr == nil) || l != want.list {
		t.Fatalf("catalog: %+v, %v; the plain way %+v, %v", l, err, want.list, wantErr)
	}
	if err == nil {
		c := r.done(0)
		last := map[string]Entry{} // of a node that comes twice
		for _, n := range want.nodes {
			i, ok := c.Find(n.UUID)
			if !ok {
				t.Fatalf("%q is not in the catalog", n.UUID)
			}
			last[c.At(i).UUID] = Entry{
				UUID: c.At(i).UUID, Name: n.Name, State: n.State, BootInterface: n.BootInterface, ConductorGroup: n.ConductorGroup,
			}
		}
		if len(last) != c.Len() {
			t.Fatalf("%d nodes in the catalog, want %d", c.Len(), len(last))
		}
		for _, e := range entries(c) {
			if diff := gocmp.Diff(last[e.UUID], e); diff != "" {
				t.Fatalf("entry (-plain +catalog):\n%s", diff)
			}
		}
	}

	node, ok := plainNode(data)
	if n, err := decodeNode(bytes.NewReader(data)); (err == nil) != (ok && json.Valid(data)) {
		t.Fatalf("node: %v, the plain way %v", err, ok)
	} else if err == nil && n != node {
		t.Fatalf("node %+v, the plain way %+v", n, node)
	}
}

// awkward are answers at the edge of what is JSON, or of what is a list.
var awkward = []string{
	`{"nodes": [{"uuid": "a", "driver_internal_info": {"agent_url": " "}}, null, {"uuid": 1}], "next": "x"}`,
	`{"nodes": [{"uuid": "a", "UUID": "b"}], "nodes": [{"uuid": "c", "uuid": null}], "next": "x", "next": null}`,
	`{"nodes": [{"uuid": "a", "driver_internal_info": {"agent_url": "u"}, "driver_internal_info": null}]}`,
	`{"nodes": [{"uuid": "a", "instance_info": {"image_source": "u", "image_source": 7}}, {"\u0075uid": "\ud800\u00e4\ud83d\ude00"}]}`,
	"{\"nodes\": [{\"uuid\": \"a\xff\", \"name\": \"\xc3\", \"provision_state\": \"\xed\xa0\x80\", \"na\xffme\": 1}]}",
	`{"n\u006fdes": [{"uuid": "A"}, {"uuid": "a", "name": "later"}]}`,
	`{"nodes": [{"uuid": "a", "x": 1e999999, "maintenance": true, "maintenance": "true"}]} ` + "\n\t",
	`{"nodes": [], "x": ` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`,
	`{"nodes": [{"uuid": "a", "name": "` + strings.Repeat(`\u00e4`, maxTextLen) + `"}]}`,
	`{"nodes": [{"uuid": "a"}]}{}`, `{"nodes": [{"uuid": "a"},]}`, `{"nodes": [{"uuid": 01}]}`, `{"nodes": ["\x"]}`, "{\"nodes\": [\"\n\"]}",
	`{"nodes": [{"uuid": "` + strings.Repeat("u", maxKeyLen+1) + `"}, {"uuid": "` + strings.Repeat("v", maxKeyLen) + `"}, {"uuid": " \t"}]}`,
	"\ufeff" + `{"nodes": []}`, `{"nodes": null}`, `{"uuid": "a"}`, `{"uuid": "a", "name": tru}`, `[]`, ``,
}

// FuzzDecodeLikeJSON holds that the streamed decoding finds what encoding/json finds
// (GC-17): in the same answers, and errors in the same.
func FuzzDecodeLikeJSON(f *testing.F) {
	for _, name := range captures(f) {
		f.Add(body(f, name))
	}
	for _, text := range awkward {
		f.Add([]byte(text))
	}
	f.Fuzz(sameAsPlain)
}

// Nesting is bounded, so that no answer can exhaust the stack.
func TestGC17_NestingIsBounded(t *testing.T) {
	for depth, fine := range map[int]bool{9_000: true, 11_000: false, 5_000_000: false} {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		for _, body := range []string{
			`{"nodes": [{"uuid": "a"}], "x": ` + deep + `}`,
			`{"nodes": [{"uuid": "a", "links": ` + deep + `}]}`,
			`{"nodes": [{"uuid": ` + deep + `, "uuid": "a"}]}`,
		} {
			if p, err := decodePage(strings.NewReader(body), alone()); (err == nil) != fine || len(p.nodes) == 1 != fine {
				t.Errorf("depth %d: %d nodes, %v", depth, len(p.nodes), err)
			}
		}
	}
}

// What is not needed must not be held, however long it is.
func TestGC17_AnUnknownListIsNotHeldInMemory(t *testing.T) {
	text := `{"nodes": [{"uuid": "a", "x": ["` + strings.Repeat(strings.Repeat("y", 1000)+`","`, 10_000) + `"]}]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if p, err := decodePage(strings.NewReader(text), alone()); err != nil || len(p.nodes) != 1 {
		t.Fatal(p, err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes that nobody needs took %d", len(text), n)
	}
}
