package fakeironic

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// capture is one recorded request and the real answer to it.
type capture struct {
	request *http.Request
	status  string
	header  map[string]string
	body    string
}

func readCapture(t *testing.T, path string) capture {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in, out, ok := strings.Cut(string(raw), "# response\n")
	if !ok {
		t.Fatalf("%s: no response", path)
	}
	in = strings.TrimPrefix(in, "# request\n")
	head, body, _ := strings.Cut(in, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	method, target, _ := strings.Cut(lines[0], " ")
	target, _, _ = strings.Cut(target, " ")
	c := capture{header: map[string]string{}}
	body = strings.Trim(body, "\n")
	if c.request, err = http.NewRequestWithContext(t.Context(), method, "http://127.0.0.1:6385"+target, strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "Host":
			c.request.Host = value
			if value == "127.0.0.1:6485" {
				c.request.URL.Scheme = "https"
			}
		case "Content-Length":
		case "Transfer-Encoding":
			c.request.ContentLength = -1
		default:
			c.request.Header.Set(name, value)
		}
	}
	head, c.body, _ = strings.Cut(out, "\n\n")
	lines = strings.Split(head, "\n")
	c.status = lines[0]
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ": ")
		c.header[http.CanonicalHeaderKey(name)] = value
	}
	c.body = strings.TrimSuffix(c.body, "\n")
	return c
}

// stage is the Ironic that a capture was taken from.
type stage struct {
	t *testing.T
	w *World
}

func (s stage) node(uuid, name string, state ironic.State, more func(*node)) {
	s.t.Helper()
	n := s.w.newNode()
	n.uuid, n.name, n.state = uuid, name, state
	if n.uuid == "" {
		n.uuid = n.draw.UUID()
	}
	a := *s.w.base("", "fake")
	n.attrs = &a
	_, n.locked = stuck[state]
	if more != nil {
		more(n)
	}
	s.w.insert(n)
}

func stamp(text string) int64 {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return at.UnixNano()
}

func ipxe(n *node)     { n.attrs.boot = "ipxe" }
func locked(n *node)   { n.fate.pinned = true }
func deployTo(n *node) { n.target = ironic.Active }

const (
	u900 = "82158cd1-dcf7-47c2-9684-4bd0331046ca"
	u901 = "14a5d2b6-aa05-4e7a-a23f-35d18250f7db"
)

func enrolled(s stage) {
	s.node(u900, "metal3~host-0900", ironic.Enroll, func(n *node) { n.created = stamp("2026-11-21T13:01:46.355091Z") })
}

func cleanFailed(s stage) {
	s.node("75675ad6-1123-46fa-ad6b-ee54a72f1f1c", "metal3~host-0002", ironic.CleanFailed, nil)
	s.node("7863d3ed-0b8b-40ab-b36b-643d3da494b6", "metal3~host-0001", ironic.CleanFailed, ipxe)
	s.node("428350ac-d68d-44f2-a64c-4bfc16f290cf", "metal3~host-0008", ironic.CleanFailed, nil)
	s.node("", "metal3~host-0009", ironic.Manageable, nil)
}

func lastChanged(s stage) {
	cleanFailed(s)
	s.node(u901, "metal3~host-0901", ironic.Manageable, func(n *node) {
		n.provUpdated = stamp("2026-11-21T13:14:59.488127Z")
		n.updated = n.provUpdated
	})
}

func deploying(s stage) {
	s.node("566b2f1f-6ca4-4a94-b479-73eca8e1d508", "metal3~host-0910", ironic.Deploying, func(n *node) {
		deployTo(n)
		n.created, n.updated = stamp("2026-11-21T13:01:46.637189Z"), stamp("2026-11-21T13:16:41.021838Z")
		n.provUpdated = stamp("2026-11-21T13:16:41.020851Z")
	})
	s.node("b0c5f783-48c9-4195-a899-db5f2a1007b2", "metal3~host-0911", ironic.Deploying, ipxe)
	s.node("", "metal3~host-0912", ironic.Available, nil)
	s.w.opt.MaxConcurrentDeploy = 2
}

func held901(s stage) { s.node(u901, "metal3~host-0901", ironic.Manageable, locked) }

func plain901(s stage) { lastChanged(s) }

func maintained901(s stage) {
	s.node(u901, "metal3~host-0901", ironic.Available, func(n *node) { n.maintenance = true })
}

func hosts(state ironic.State, names ...string) func(stage) {
	return func(s stage) {
		for _, name := range names {
			s.node("", "metal3~host-"+name, state, nil)
		}
	}
}

func cleaningFull(s stage) {
	s.w.opt.MaxConcurrentClean = 1
	hosts(ironic.Deleting, "0916")(s)
	hosts(ironic.Active, "0917")(s)
	hosts(ironic.Manageable, "0913")(s)
}

func conductorDownWith(killed bool, base func(stage)) func(stage) {
	return func(s stage) {
		base(s)
		if err := s.w.StopConductor(time.Unix(0, s.w.now), 0, time.Hour, killed); err != nil {
			s.t.Fatal(err)
		}
	}
}

func basicAuth(s stage) { s.w.opt.API.Username, s.w.opt.API.Password = "admin", "secret" }

func enrolled29(s stage) {
	s.node("9b49c330-5e1d-4e90-8a3b-47485fd5dcb0", "metal3~host-0001", ironic.Enroll, func(n *node) {
		ipxe(n)
		n.created = stamp("2026-11-21T13:28:48.423288Z")
	})
}

func deploying29(s stage) {
	s.w.opt.MaxConcurrentDeploy = 1
	s.node("adc0c6d1-ee06-49fd-a57c-28c1189ec4ce", "metal3~host-0002", ironic.Deploying, deployTo)
	hosts(ironic.Available, "0003")(s)
}

func listed29(s stage) {
	s.node("67a6c73f-137d-4793-bc2c-290504b98cf3", "metal3~agent-t31", ironic.CleanFailed, func(n *node) {
		n.maintenance, n.power = true, powerOn
	})
	s.node("979d20d3-496f-4435-be3e-c3ed287b1fba", "metal3~insp-9941", ironic.CleanFailed, nil)
	s.node("ee5f167b-50f9-4317-816a-1ecaf84c5cd0", "a", ironic.Enroll, nil)
	s.node("2ef80acc-49ab-4bd0-8e5e-d69f5ef403ce", "b", ironic.Enroll, nil)
}

func nothing(stage) {}

// stages names the Ironic behind each capture, by its number.
var stages = map[string]func(stage){
	"01": nothing, "02": nothing, "03": nothing, "04": cleanFailed, "05": enrolled, "06": enrolled, "07": cleanFailed,
	"08": cleanFailed, "09": nothing, "10": nothing, "11": nothing, "12": cleanFailed, "13": enrolled, "14": nothing,
	"15": enrolled, "16": enrolled, "17": enrolled, "18": enrolled, "19": enrolled, "20": held901, "21": held901, "22": held901,
	"23": maintained901, "24": maintained901, "25": plain901, "27": cleanFailed, "28": plain901, "29": nothing,
	"30": nothing, "31": nothing, "32": nothing, "33": cleanFailed, "34": lastChanged, "35": lastChanged, "37": nothing,
	"38": nothing, "39": cleanFailed, "40": hosts(ironic.Available, "0910"), "41": hosts(ironic.Available, "0911"),
	"42": deploying, "43": deploying, "44": deploying, "45": deploying, "46": deploying,
	"47": hosts(ironic.Active, "0916"), "48": cleaningFull, "49": cleaningFull,
	"50": hosts(ironic.Manageable, "0914"), "51": hosts(ironic.Manageable, "0915"), "52": deploying,
	"54": conductorDownWith(true, cleanFailed), "55": conductorDownWith(true, nothing),
	"58": conductorDownWith(false, nothing), "60": basicAuth, "61": basicAuth, "62": basicAuth, "63": basicAuth, "64": basicAuth,
	"65": basicAuth, "66": basicAuth, "70": nothing, "71": enrolled29, "72": listed29, "73": nothing, "74": nothing,
	"75": listed29, "76": nothing, "77": enrolled29, "78": enrolled29, "79": nothing, "81": listed29,
	"82": hosts(ironic.Available, "0002"), "83": deploying29, "84": deploying29, "87": nothing,
	"53": conductorDownWith(true, hosts(ironic.Available, "0912")), "57": conductorDownWith(true, hosts(ironic.Available, "0912")),
	"85": conductorDownWith(true, hosts(ironic.Available, "0003")), "86": conductorDownWith(true, hosts(ironic.Available, "0003")),
	"88": conductorDownWith(false, hosts(ironic.Available, "0911")), "89": conductorDownWith(false, hosts(ironic.Available, "0910")),
	"90": conductorDownWith(false, nothing), "91": conductorDownWith(false, cleanFailed),
	"93": hosts(ironic.Enroll, "0986"),
}

// left out: 59 is a broken database, 80 a conductor that died without a word.
var leftOut = map[string]bool{"59": true, "80": true}

// TestGolden replays every capture: status, headers and body as the real ones.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/captures/*.http")
	if err != nil || len(files) < 80 {
		t.Fatalf("captures: %d, %v", len(files), err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		setup, ok := stages[name[:2]]
		if leftOut[name[:2]] {
			continue
		}
		if !ok {
			t.Errorf("%s: nobody says what it was taken from", name)
			continue
		}
		t.Run(name, func(t *testing.T) { replay(t, readCapture(t, file), name, setup) })
	}
}

func replay(t *testing.T, c capture, name string, setup func(stage)) {
	o := DefaultOptions()
	o.Conductors, o.API.MaxMinor = 1, 82
	if name[0] >= '7' && name[0] <= '8' && name[:2] < "88" {
		o.API.MaxMinor = 96
	}
	now := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	w, err := NewWorld(o, now)
	if err != nil {
		t.Fatal(err)
	}
	setup(stage{t, w})
	server := NewServer(w, func() time.Time { return now })
	response, err := server.Transport().RoundTrip(c.request)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := "HTTP/1.1 " + response.Status; got != c.status {
		t.Errorf("status %q, real %q", got, c.status)
	}
	compareHeaders(t, response.Header, c)
	// The second Ironic's conductor listened elsewhere; addresses of objects.
	want := strings.NewReplacer("8189", "8089", "0x7f8a7431e0d0", "0x7f8a74574d10", "0x7ff3b0fb0590", "0x7f8a74574d10",
		"0x7fe6f5fd8590", "0x7f8a74574d10").Replace(c.body)
	if bytes.Equal(raw, []byte(want)) {
		return
	}
	if diff := cmp.Diff(decode(t, want), decode(t, string(raw))); diff != "" {
		t.Errorf("body (-real +fake):\n%s", diff)
		return
	}
	t.Errorf("body differs in its bytes only:\nreal %s\nfake %s", want, raw)
}

func compareHeaders(t *testing.T, got http.Header, c capture) {
	t.Helper()
	for name, want := range c.header {
		value := got.Get(name)
		switch name {
		case "Date", "Content-Length":
			continue
		case headerRequestID:
			if len(value) != len(want) {
				t.Errorf("%s %q, real %q", name, value, want)
			}
			continue
		}
		if value != want {
			t.Errorf("%s %q, real %q", name, value, want)
		}
	}
	for name := range got {
		if _, ok := c.header[name]; !ok {
			t.Errorf("%s %q: the real one has none", name, got.Get(name))
		}
	}
}

func decode(t *testing.T, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return text
	}
	return v
}
