package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway"

	"github.com/ironic-throttle/ironic-throttle/internal/inventory"
)

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
	l := newLab(t, labOptions{start: day, fake: fleet(5, 2), gate: func(o *gateway.Options) { o.Transport = publicly{o.Transport} }})
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

// A page of 1,000 rows takes well below a millisecond.
func BenchmarkCapacityList(b *testing.B) {
	l := newLab(b, labOptions{start: day, fake: fleet(1000, 1000)})
	defer l.close()
	l.poll()
	b.ReportAllocs()
	for b.Loop() {
		got := l.do(get(capacityPath))
		if got.Header().Get(cacheHeader) != "nodes" {
			b.Fatalf("%d %.200s", got.Code, got.Body)
		}
		b.SetBytes(int64(got.Body.Len()))
	}
}

var _ gateway.Nodes = (*inventory.Inventory)(nil)
