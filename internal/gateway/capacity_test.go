package gateway_test

import (
	"bufio"
	"crypto/tls"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const capacityPath = "/v1/nodes?fields=uuid%2Cname%2Cprovision_state%2Cboot_interface"

// playList runs script with a list of all nodes.
func playList(t *testing.T, fake func(*fakeironic.Options), script func(*stage)) {
	t.Helper()
	play(t, options{list: true, fake: fake}, script)
}

// formHeaders are those of a list that are the same in the next one.
var formHeaders = []string{
	"Content-Type", "X-Openstack-Ironic-Api-Version",
	"X-Openstack-Ironic-Api-Minimum-Version", "X-Openstack-Ironic-Api-Maximum-Version",
}

// get is what a client asks that is a BMO but for header, a list of names and values.
func get(path string, header ...string) *http.Request {
	r := newRequest(http.MethodGet, path, "")
	r.Header.Set("Accept", jsonType)
	for i := 0; i+1 < len(header); i += 2 {
		switch name, value := header[i], header[i+1]; {
		case name == "Host":
			r.Host = value
		case value == "":
			r.Header.Del(name)
		default:
			r.Header.Set(name, value)
		}
	}
	return r
}

// same demands that the gateway answers as Ironic itself does, from that cache, "" for
// none.
func (s *stage) same(ask func() *http.Request, cache string) {
	s.Helper()
	got, want := s.do(ask()).ResponseRecorder, s.direct(ask())
	if got.Header().Get(cacheHeader) != cache {
		s.Errorf("%s is answered from %q, want %q", ask().URL, got.Header().Get(cacheHeader), cache)
	}
	s.alike(ask(), got, want)
}

// alike demands two answers that mean the same to a client, to the byte.
func (s *stage) alike(r *http.Request, got, want *httptest.ResponseRecorder) {
	s.Helper()
	if got.Code != want.Code || got.Body.String() != want.Body.String() {
		s.Errorf("%s: got %d %s\nIronic says %d %s", r.URL, got.Code, got.Body, want.Code, want.Body)
	}
	names := formHeaders
	if got.Header().Get(cacheHeader) != "" {
		names = append([]string{"Content-Length"}, names...)
	}
	for _, name := range names {
		if g, w := got.Header().Get(name), want.Header().Get(name); g != w {
			s.Errorf("%s: %s %q, Ironic says %q", r.URL, name, g, w)
		}
	}
}

// fleet is an Ironic with so many nodes, and pages of so many.
func fleet(nodes, page int) func(*fakeironic.Options) {
	return func(o *fakeironic.Options) {
		o.Fleet.Nodes, o.Fleet.Unnamed, o.Fleet.VirtualMedia = nodes, 0.3, 0.3
		o.API.MaxLimit = page
	}
}

// The cached answer is Ironic's own, to the byte, for every page that Ironic itself can
// name, and for every client.
func TestTheListIsIronicsOwn(t *testing.T) {
	for _, page := range []int{3, 7, 8, 1000} {
		playList(t, fleet(7, page), func(s *stage) {
			for _, limit := range []string{"", "&limit=1", "&limit=2", "&limit=3", "&limit=6", "&limit=7", "&limit=8", "&limit=1001", "&limit=999999999"} {
				for _, marker := range []string{"", s.uuids[0], s.uuids[4], s.uuids[6]} {
					path := capacityPath + limit
					if marker != "" {
						path += "&marker=" + marker
					}
					s.same(func() *http.Request { return get(path) }, "nodes")
				}
			}
			for _, minor := range []string{"1.39", "1.46", "1.81"} {
				for _, host := range []string{"gw", "gw:6390", "10.0.0.1:80", "[::1]:6390", "Gateway.example"} {
					s.same(func() *http.Request {
						return get(capacityPath, version, minor, "Openstack-Api-Version", "baremetal "+minor, "Host", host)
					}, "nodes")
				}
			}
		})
	}
	playList(t, fleet(0, 1000), func(s *stage) { s.same(func() *http.Request { return get(capacityPath) }, "nodes") })
}

// Whatever says more, or something else, is Ironic's to answer.
func TestOtherRequestsPassThrough(t *testing.T) {
	playList(t, fleet(3, 1000), func(s *stage) {
		for _, path := range []string{
			"/v1/nodes", "/v1/nodes/detail", "/v1/nodes?fields=uuid", "/v1/nodes?fields=name,uuid,provision_state,boot_interface",
			"/v1/nodes?fields=uuid,name,provision_state,boot_interface,driver", "/v1/nodes/?fields=uuid,name,provision_state,boot_interface",
			"/v1/%6eodes?fields=uuid,name,provision_state,boot_interface", capacityPath + "&limit=0", capacityPath + "&limit=x",
			capacityPath + "&limit=01", capacityPath + "&limit=1&limit=2", capacityPath + "&sort_key=name", capacityPath + "&maintenance=True",
			capacityPath + "&_method=GET", capacityPath + "&marker=", capacityPath + "&marker=00000000-0000-0000-0000-000000000000",
		} {
			s.same(func() *http.Request { return get(path) }, "")
		}
		for _, header := range [][2]string{
			{version, ""}, {version, "1.38"}, {version, "1.82"}, {version, "latest"}, {version, "1.081"}, {version, "2.81"}, {version, " 1.81x"},
			{"Openstack-Api-Version", "baremetal 1.80"}, {"Openstack-Api-Version", "compute 2.1"}, {"Openstack-Api-Version", "baremetal latest"},
			{"X-Auth-Token", "t"}, {"X-Roles", "reader"}, {"X-Forwarded-Host", "other"}, {"Forwarded", "host=other"}, {"Cache-Control", "no-cache"},
			{"Accept", "text/html"}, {"Range", "bytes=0-1"}, {"If-None-Match", "x"},
			{"Host", strings.Repeat("h", 10_000)}, // it would stand in two links of each node
		} {
			got := s.do(get(capacityPath, header[0], header[1]))
			if got.Header().Get(cacheHeader) != "" {
				t.Errorf("%.60q is answered from the cache", header)
			}
		}
		for _, method := range []string{http.MethodHead, http.MethodPost, http.MethodOptions, "get"} {
			r := get(capacityPath)
			r.Method = method
			if got := s.do(r); got.Header().Get(cacheHeader) != "" {
				t.Errorf("%s is answered from the cache", method)
			}
		}
		body := newRequest(http.MethodGet, capacityPath, "{}")
		body.Header.Set(version, "1.81")
		if got := s.do(body); got.Header().Get(cacheHeader) != "" {
			t.Error("a GET with a body is answered from the cache")
		}
	})
}

// States are those of the last poll, membership that of the list.
func TestStatesComeFromPolls(t *testing.T) {
	playList(t, fleet(5, 5), func(s *stage) {
		for n, state := range []ironic.State{ironic.Manageable, ironic.Deploying, ironic.CleanWait, ironic.DeployFailed, ironic.Active, ironic.Available} {
			s.ironic.With(func(now time.Time, w *fakeironic.World) {
				if err := w.SetState(now, s.uuids[n%5], state, false); err != nil {
					t.Fatal(err)
				}
			})
			s.pass(5 * time.Second)
			s.same(func() *http.Request { return get(capacityPath) }, "nodes")
		}
	})
}

// Whom Ironic does not let in gets Ironic's own 401, once a minute whoever it is.
func TestOnlyWhomIronicLetsIn(t *testing.T) {
	locked := func(o *fakeironic.Options) {
		fleet(3, 1000)(o)
		o.API.Username, o.API.Password = "admin", "secret"
	}
	playList(t, locked, func(s *stage) {
		for _, password := range []string{"", "wrong", "secret"} { // the throttle has no credentials of its own here, so it has no list
			s.same(func() *http.Request {
				r := get(capacityPath)
				if password != "" {
					r.SetBasicAuth("admin", password)
				}
				return r
			}, "")
		}
		if got := s.gate.Stats(); got.ListMisses != 3 || got.ListHits != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// What was let in is asked again after a minute, by one row and not by the whole list.
func TestAKnockAMinute(t *testing.T) {
	playList(t, fleet(3, 1000), func(s *stage) {
		before := s.lister.Stats().List.Requests
		for second := range 10 * 60 {
			if s.do(get(capacityPath)); second%5 == 0 {
				s.poll()
			}
			<-time.After(time.Second)
		}
		if n := s.asked(http.MethodGet); n < 9 || n > 10 {
			t.Errorf("%d knocks in ten minutes, want one a minute", n)
		}
		if n := s.lister.Stats().List.Requests - before; n > 15 { // the next one begins before the last one is too old
			t.Errorf("%d pages in ten minutes, want a list in 45 s", n)
		}
		if got := s.gate.Stats(); got.ListHits != 600 || got.Passed != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// A Connection header that names others takes them off on the way: what is answered, and to whom, goes by the request that
// Ironic gets, and such a one is never answered from memory.
func TestWhatConnectionTakesAwayIsSeenByNobody(t *testing.T) {
	for _, name := range []string{version, "Openstack-Api-Version", "Authorization", "accept", "User-Agent", "X-Unknown"} {
		playList(t, fleet(3, 1000), func(s *stage) {
			ask := func() *http.Request {
				r := get(capacityPath, "Openstack-Api-Version", "baremetal 1.81")
				r.SetBasicAuth("admin", "secret")
				return r
			}
			taken, without := ask(), ask()
			taken.Header["Connection"] = []string{"close, " + name, "Keep-Alive"}
			without.Header.Del(name)
			for range 2 {
				got := s.do(taken.Clone(s.Context()))
				if got.Header().Get(cacheHeader) != "" {
					t.Errorf("%s: answered from memory", name)
				}
				s.alike(taken, got.ResponseRecorder, s.direct(without.Clone(s.Context())))
			}
			s.same(ask, "nodes") // what the next one gets is its own
		})
	}
	basic := func(o *fakeironic.Options) { o.API.Username, o.API.Password = "admin", "secret" }
	play(t, options{limit: 1, nodes: 1, fake: basic}, func(s *stage) {
		r := putRequest(s.uuids[0], ironic.TargetActive)
		r.SetBasicAuth("admin", "secret")
		r.Header.Set("Connection", "Authorization")
		s.do(r).want(http.StatusUnauthorized)
		s.occupied(0)
	})
}

// Links of an Ironic with a public endpoint are as it writes them.
func TestPublicEndpoint(t *testing.T) {
	public := func(fake http.Handler) http.Handler { // [api]public_endpoint: links do not follow the Host
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Host, r.TLS = "public:6385", &tls.ConnectionState{}
			fake.ServeHTTP(w, r)
		})
	}
	play(t, options{list: true, fake: fleet(5, 2), behind: public}, func(s *stage) {
		got := s.do(get(capacityPath))
		want := strings.ReplaceAll(s.direct(get(capacityPath)).Body.String(), "http://gateway:6390/", "https://public:6385/")
		if got.Header().Get(cacheHeader) != "nodes" || got.Body.String() != want {
			t.Errorf("%v %s\nwant %s", got.Header(), got.Body, want)
		}
	})
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
	s, end := newStage(f, options{list: true, fake: fleet(5, 3)})
	f.Cleanup(end)
	s.poll()
	f.Fuzz(func(t *testing.T, path, minor, micro, host, accept string) {
		raw := "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nX-OpenStack-Ironic-API-Version: " + minor +
			"\r\nOpenStack-API-Version: " + micro + "\r\nAccept: " + accept + "\r\n\r\n"
		read := func() *http.Request {
			r, _ := http.ReadRequest(bufio.NewReader(strings.NewReader(raw)))
			return r
		}
		if read() == nil {
			return
		}
		s.TB = t
		c := s.call(raw)
		resp, body, err := c.answer(http.MethodGet)
		if err == nil && resp.Header.Get(cacheHeader) != "" {
			got := httptest.NewRecorder()
			maps.Copy(got.Header(), resp.Header)
			got.Code = resp.StatusCode
			got.Body.WriteString(body)
			s.alike(read(), got, s.direct(read()))
		}
	})
}
