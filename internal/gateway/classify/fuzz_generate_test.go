package classify_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// draft is a request that is nearly a provisioning one, before it is written down.
type draft struct {
	method, path, query string
	fields              []string
	body                string
	chunked             bool
}

// near draws requests around the ways in which Ironic can be asked to provision.
var near = rapid.Custom(func(t *rapid.T) []byte {
	d := draft{method: pick(t, "method", methodsTried)}
	node := pick(t, "node", nodesTried)
	target := pick(t, "target", targetsTried)
	shape := pick(t, "shape", shapes)
	d.path = strings.NewReplacer("<node>", node, "<target>", target).Replace(shape)
	if sometimes(t, 3) {
		d.query = drawQuery(t, node, target)
	}
	d.drawBody(t, node, target)
	for range rapid.IntRange(0, 2).Draw(t, "mutations") {
		d.path = mutate(t, d.path)
	}
	for range rapid.IntRange(0, 2).Draw(t, "fields") {
		d.fields = append(d.fields, pick(t, "field", fieldsTried))
	}
	raw := d.bytes()
	if sometimes(t, 12) && len(raw) > 0 {
		at := rapid.IntRange(0, len(raw)-1).Draw(t, "at")
		raw[at] = rapid.Byte().Draw(t, "byte")
	}
	return raw
})

// pick draws one of the words; the first ones most often.
func pick(t *rapid.T, what string, words []string) string {
	return rapid.SampledFrom(words).Draw(t, what)
}

// sometimes is true once in n times.
func sometimes(t *rapid.T, n int) bool { return rapid.IntRange(0, n-1).Draw(t, "one of") == n-1 }

var (
	methodsTried = []string{
		"PUT", "PUT", "PUT", "PUT", "PUT", "put", "pUt", "GET", "HEAD", "POST", "PATCH", "DELETE", "OPTIONS", "TRACE",
		"PROVISION", "provision", "PROVISION", "POST_PROVISION", "_ROUTE", "FOO", "CONNECT",
	}
	nodesTried = []string{
		"1be26c0b-03f2-4d2e-ae87-c02d7f33c123", "host-1", "metal3~host.1", "provision", "states", "v1", "nodes", "abort", "_x", "__class__",
	}
	targetsTried = []string{
		"active", "inspect", "provide", "clean", "rebuild", "abort", "abort", "manage", "adopt", "unhold", "deleted", "service", "foo", "ABORT",
	}
	shapes = []string{
		"/v1/nodes/<node>/states/provision", "/v1/nodes/<node>/states/provision", "/v1/nodes/<node>/states/provision",
		"/nodes/<node>/states/provision", "/v1/nodes/<node>/states/provision/<target>", "/v1/nodes/<node>/states/provision/<target>/drive",
		"/v1/nodes/<node>/states", "/v1/nodes/<node>/states/<target>", "/v1/nodes/<node>/<target>/states/provision",
		"/v1/nodes/states/provision/<node>/<target>", "/v1/nodes/states/provision", "/v1/chassis/c/nodes/<node>/states/provision",
		"/v1/chassis/<node>/nodes/<target>/states/provision", "/v1/chassis/<node>/nodes/states/provision/<target>",
		"/v1/chassis/nodes/<node>/states/provision", "/v1/_check_version/__self__/nodes/<node>/states/provision",
		"/__class__/x/nodes/<node>/states/provision", "//v1/nodes/<node>/states/provision", "http://h/v1/nodes/<node>/states/provision",
		"/v1/nodes/<node>/states/power", "/v1/nodes/<node>", "/v1/nodes/<node>/vendor_passthru/provision",
	}
	fieldsTried = []string{
		"Content-Type: application/json", "Content-Type: text/plain", "Content_Type: application/json", "Connection: content-type",
		"Connection: close", "Connection: keep-alive, Content-Type", "Transfer_Encoding: chunked", "Transfer-Encoding: identity",
		"Content-Encoding: gzip", "Content-Encoding: ", "Expect: 100-continue", "X-HTTP-Method-Override: PUT", "Content_Length: 3",
		"Upgrade: h2c", "Trailer: X", "X-Forwarded-Prefix: /x", "Script_Name: /v1", "Te: trailers", "Content-Length: 5", "X: y\r\n z",
	}
	typesTried = []string{
		"application/json", "application/json", "application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8",
		"Application/JSON", "application/json ; charset=utf-8", "application/json; x=\"; charset=utf-7\"", "application/json; charset=utf-7",
		"application/json; charset=utf-8; charset=utf-7", "application/json; charset*=utf-8''utf-7", "application/json; charset=us-ascii",
		"application/javascript", "application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=utf-8",
		"multipart/form-data; boundary=B", "text/plain", "", "application/vnd.api+json", "application/json, text/plain", "json",
	}
	keysTried = []string{
		"target", "target", "target", `t\u0061rget`, "Target", "target ", "node_ident", "configdrive", "clean_steps", "_method", "x", "ta\\/rget",
	}
)

func drawQuery(t *rapid.T, node, target string) string {
	var pairs []string
	for range rapid.IntRange(1, 3).Draw(t, "pairs") {
		pairs = append(pairs, pick(t, "pair", []string{
			"target=" + target, "target=" + target, "t%61rget=" + target, "Target=" + target, "target=inspect", "node_ident=" + node,
			"_method=put", "_method=provision", "%5fmethod=put", "configdrive=x", "x=1", "x=%zz", "+target=" + target, "target", "a\xa0b",
			"target=%" + target, "%74%61%72%67%65%74=%61%62%6f%72%74",
		}))
	}
	return strings.Join(pairs, pick(t, "separator", []string{"&", "&", ";", "&;", "&amp;"}))
}

// drawBody draws a body and, mostly, the Content-Type for it.
func (d *draft) drawBody(t *rapid.T, node, target string) {
	kind := pick(t, "type", typesTried)
	switch {
	case sometimes(t, 3):
		if sometimes(t, 2) {
			return
		}
	case strings.Contains(kind, "form-urlencoded") || sometimes(t, 10):
		d.body = drawQuery(t, node, target)
	case strings.Contains(kind, "multipart"):
		d.body = fmt.Sprintf("--B\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n--B--\r\n", "target", target)
	default:
		d.body = drawObject(t, node, target)
	}
	if !sometimes(t, 10) {
		d.fields = append(d.fields, "Content-Type: "+kind)
	}
	d.chunked = sometimes(t, 8)
}

func drawObject(t *rapid.T, node, target string) string {
	var members []string
	for range rapid.IntRange(1, 3).Draw(t, "members") {
		key := pick(t, "key", keysTried)
		value := pick(t, "value", []string{
			fmt.Sprintf("%q", target), fmt.Sprintf("%q", target), fmt.Sprintf("%q", target), `"abort"`, `"inspect"`, `"\u0061bort"`, "null", "1",
			`{"target":"abort"}`, `[{"a":"]}"}]`, `"\""`, "NaN", "-Infinity", fmt.Sprintf("%q", node), `["abort"]`, "tru", `"\ud800"`, "\"\xff\"",
		})
		space := pick(t, "space", []string{"", " ", "\n", "\t\r", "\v"})
		members = append(members, `"`+key+`"`+space+":"+space+value)
	}
	frame := pick(t, "frame", []string{"{%s}", "{%s}", "{%s}", "\ufeff{%s}", "[{%s}]", "{%s} ", "{%s}x", "{%s}{}", " {%s}", "{%s", "{%s,}", "\x00{%s}"})
	text := fmt.Sprintf(frame, strings.Join(members, ","))
	if sometimes(t, 15) {
		text = strings.Replace(text, "{", `{"x":"&target=inspect&",`, 1) // a form too
	}
	if sometimes(t, 15) {
		text = strings.ReplaceAll(text, "target", "t+AGE-rget") // as UTF-7
	}
	return text
}

// mutate changes a path in one place.
func mutate(t *rapid.T, path string) string {
	at := rapid.IntRange(0, len(path)).Draw(t, "place")
	before, after := path[:at], path[at:]
	if after == "" || sometimes(t, 2) {
		return before + pick(t, "insert", []string{
			"/", "//", "/./", "/../", "/x/../", "%2f", "%2F", "%252f", ".json", ".json/", ".xml", ";x", "%00", "%20", "%09", "%0a", "\\", "%5c",
			"#", "%23", "?", "%3f", "%", "%zz", "x", "*", "/v1", "/nodes", "/states", "/provision", "/console", "/__self__", "\xc3\xa9", "%ff",
		}) + after
	}
	c := after[0]
	return before + pick(t, "replace", []string{
		fmt.Sprintf("%%%02x", c), fmt.Sprintf("%%%02X", c), fmt.Sprintf("%%25%02x", c), strings.ToUpper(string(rune(c))), "", "/",
	}) + after[1:]
}

func (d draft) bytes() []byte {
	var b strings.Builder
	b.WriteString(d.method + " " + d.path)
	if d.query != "" {
		b.WriteString("?" + d.query)
	}
	b.WriteString(" HTTP/1.1\r\nHost: ironic.example\r\nX-OpenStack-Ironic-API-Version: 1.82\r\n")
	for _, field := range d.fields {
		b.WriteString(field + "\r\n")
	}
	if d.chunked {
		fmt.Fprintf(&b, "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(d.body), d.body)
	} else {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(d.body), d.body)
	}
	return []byte(b.String())
}

func TestNothingNearAProvisioningRequestGoesRoundTheGate(t *testing.T) {
	w := newPassage(t)
	rapid.Check(t, func(t *rapid.T) {
		raw := near.Draw(t, "request")
		if err := w.law(w.send(raw), raw); err != nil {
			t.Fatalf("%q:\n%v", raw, err)
		}
	})
}

// FuzzConnection gives the gate whatever a client may write.
func FuzzConnection(f *testing.F) {
	for _, s := range spellings(f) {
		f.Add(s.raw)
	}
	for _, raw := range captured(f) {
		f.Add(raw)
	}
	// No path, but Ironic looks behind the first slash.
	f.Add(wireText("PUT", "http:v1/nodes/x/states/provision", `{"target":"active"}`))
	// Decoded three times, by somebody to whom %% is no mistake.
	f.Add(wireText("PUT", "/v1/nodes/x%25%2532fstates/provision", `{"target":"active"}`))
	w := newPassage(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 32<<10 {
			return
		}
		if err := w.law(w.send(raw), raw); err != nil {
			t.Fatalf("%q:\n%v", raw, err)
		}
	})
}
