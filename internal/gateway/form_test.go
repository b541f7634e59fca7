package gateway

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
)

// What real Ironics wrote (21.4.4 and 29.0.5) is what we would write.
func TestGW11_FormOfARealIronic(t *testing.T) {
	for _, name := range []string{"04-list-page-fields.http", "81-v29-list-fields.http"} {
		text, err := os.ReadFile(filepath.Join("..", "fakeironic", "testdata", "captures", name))
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := bytes.Cut(bytes.TrimSpace(text), []byte(`{"nodes": [`))
		body = append([]byte(`{"nodes": [`), body...)
		// Its first row alone is an answer to limit=1.
		first, rest, _ := bytes.Cut(body, []byte(`"rel": "bookmark"}]}`))
		_, next, _ := bytes.Cut(rest, []byte(`"next": "`))
		base, _, _ := strings.Cut(string(next), "/v1/nodes?")
		uuid := string(first[len(`{"nodes": [{"uuid": "`):][:36])
		one := string(first) + `"rel": "bookmark"}]}], "next": "` + base +
			`/v1/nodes?sort_key=id&sort_dir=asc&fields=uuid,name,provision_state,boot_interface&limit=1&marker=` + uuid + `"}`
		f, ok := learnForm(http.Header{"Content-Type": {jsonType}}, []byte(one))
		if !ok || f.base != base {
			t.Errorf("%s: not learnt, base %q: %s", name, f.base, one)
		}
	}
}

func TestGW11_OtherFormsAreNotAnsweredFor(t *testing.T) {
	const good = `{"nodes": [{"uuid": "u", "name": null, "provision_state": "active", "boot_interface": "pxe", "links": [` +
		`{"href": "http://h/v1/nodes/u", "rel": "self"}, {"href": "http://h/nodes/u", "rel": "bookmark"}]}], ` +
		`"next": "http://h/v1/nodes?sort_key=id&sort_dir=asc&fields=uuid,name,provision_state,boot_interface&limit=1&marker=u"}`
	for _, row := range []struct {
		name, old, instead string
		ok                 bool
	}{
		{"as it is", "", "", true},
		{"another base", "http://h/", "https://ironic.example:6385/prefix/", true},
		{"a name", "null", `"metal3~h"`, true},
		{"no spaces", `": "`, `":"`, false},
		{"another order", `"name": null, "provision_state": "active"`, `"provision_state": "active", "name": null`, false},
		{"one more field", `"name": null`, `"name": null, "driver": "ipmi"`, false},
		{"two bases", "http://h/nodes", "http://other/nodes", false},
		{"next leads elsewhere", "http://h/v1/nodes?", "http://other/v1/nodes?", false},
		{"no next", onwards(good, `, "next"`), "}", false},
		{"an escape", "active", `\u0061ctive`, false},
		{"a letter beyond ASCII", "null", `"h\u00f6st"`, false},
		{"no links", onwards(good, `, "links"`), "}]}", false},
		{"no JSON", "{", "", false},
	} {
		body := good
		if row.old != "" {
			body = strings.ReplaceAll(good, row.old, row.instead)
		}
		if _, ok := learnForm(http.Header{}, []byte(body)); ok != row.ok {
			t.Errorf("%s: learnt %t, want %t: %s", row.name, ok, row.ok, body)
		}
	}
	if _, ok := learnForm(http.Header{"Content-Encoding": {"gzip"}}, []byte(good)); ok {
		t.Error("learnt from what is packed")
	}
}

// onwards is text from mark on.
func onwards(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return mark + rest
}

// publicly is an Ironic with [api]public_endpoint: its links do not follow the Host.
type publicly struct{ next http.RoundTripper }

func (p publicly) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	body = bytes.ReplaceAll(body, []byte("http://"+r.Host+"/"), []byte("https://public:6385/"))
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, err
}

// Links of an Ironic with a public endpoint are as it writes them.
func TestGW11_PublicEndpoint(t *testing.T) {
	l := newLab(t, labOptions{start: day, fake: fleet(5, 2), gate: func(o *Options) { o.Transport = publicly{o.Transport} }})
	defer l.close()
	l.poll()
	got := l.do(get(capacityPath))
	want := strings.ReplaceAll(l.direct(get(capacityPath)).Body.String(), "http://gateway:6390/", "https://public:6385/")
	if got.Header().Get(cacheHeader) != "nodes" || got.Body.String() != want {
		t.Errorf("%v %s\nwant %s", got.Header(), got.Body, want)
	}
}

// FuzzCapacityQuery: whatever is answered from the cache, Ironic would have answered so.
func FuzzCapacityQuery(f *testing.F) {
	for _, seed := range []string{
		capacityPath, capacityPath + "&limit=2", capacityPath + "&marker=x", capacityPath + "&sort_key=id&sort_dir=asc&limit=1",
		"/v1/nodes?limit=3&fields=uuid,name,provision_state,boot_interface", capacityPath + "&limit=0", capacityPath + ";limit=2",
	} {
		f.Add(seed, "1.81", "baremetal 1.81", "gateway:6390", jsonType)
	}
	f.Add(capacityPath, "1.39", "", "h", "*/*")
	f.Add(capacityPath, "latest", "compute 1.1", "[::1]", "text/html")
	l := newLab(f, labOptions{start: day, fake: fleet(5, 3)})
	f.Cleanup(l.close)
	l.poll()
	f.Fuzz(func(t *testing.T, path, minor, micro, host, accept string) {
		raw := "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nX-OpenStack-Ironic-API-Version: " + minor +
			"\r\nOpenStack-API-Version: " + micro + "\r\nAccept: " + accept + "\r\n\r\n"
		read := func() *http.Request { return requestOf(raw) }
		if read() == nil {
			return
		}
		if got := l.do(read()); got.Header().Get(cacheHeader) != "" {
			(&lab{tester: t}).alike(read(), got, l.direct(read()))
		}
	})
}

// Writing 1,000 rows takes well below a millisecond.
func BenchmarkCapacityList(b *testing.B) {
	l := newLab(b, labOptions{start: time.Now(), fake: fleet(1000, 1000)})
	defer l.close()
	nodes, err := l.nodes.Get(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	f := form{base: "http://127.0.0.1:6390"}
	p, _ := capacityQuery{}.of(nodes)
	var room []byte
	b.ReportAllocs()
	for b.Loop() {
		room, _ = f.write(room[:0], nodes, p)
	}
	b.SetBytes(int64(len(room)))
}

var _ Nodes = (*inventory.Inventory)(nil)
