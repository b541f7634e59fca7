package hosts

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// fleet is an API server of many hosts with some 20 kB of hardware details each, over a
// socket. It makes them as it writes them, so that a test measures the directory and not
// the server. All are at revision, which tells the lists apart.
type fleet struct {
	hosts    int
	revision atomic.Int64
	relist   chan struct{} // ends the watch, which is too old then
	filler   string
}

func newFleet(hosts int) *fleet {
	nic := `{"ip":"192.0.2.17","mac":"00:5c:52:31:3a:9c","model":"0x8086 0x1572","name":"ens1f0np0","pxe":true,"speedGbps":25},`
	return &fleet{hosts: hosts, relist: make(chan struct{}), filler: strings.TrimSuffix(strings.Repeat(nic, 20_000/len(nic)), ",")}
}

func (f *fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	q := r.URL.Query()
	if q.Has("watch") {
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-f.relist:
			fmt.Fprintf(w, `{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410}}`)
		}
		return
	}
	limit, _ := strconv.Atoi(q.Get("limit"))
	from, _ := strconv.Atoi(q.Get("continue"))
	to, next := min(from+limit, f.hosts), ""
	if to < f.hosts {
		next = strconv.Itoa(to)
	}
	fmt.Fprint(w, `{"items":[`)
	for i := from; i < to; i++ {
		if i > from {
			fmt.Fprint(w, ",")
		}
		f.write(w, i)
	}
	fmt.Fprintf(w, `],"kind":"BareMetalHostList","metadata":{"continue":%q,"resourceVersion":"77"}}`, next)
}

func (f *fleet) write(w http.ResponseWriter, i int) {
	fmt.Fprintf(w, `{"metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}"},"name":"rack-%05d-server","namespace":"tenant-%02d",`+
		`"resourceVersion":"7","uid":"aaaaaaaa-0000-4000-8000-%012d"},"spec":{"bmc":{"address":"redfish-virtualmedia://192.0.2.%d/redfish/v1/Systems/1","credentialsName":"bmc-%05d"},`+
		`"image":{"url":"http://images.example.org/node-%d.raw","checksum":"sha256:00"}},"status":{"errorCount":0,"hardware":{"nics":[`, i, i%40, i, i%250, i, f.revision.Load())
	fmt.Fprint(w, f.filler)
	fmt.Fprintf(w, `]},"provisioning":{"ID":"bbbbbbbb-0000-4000-8000-%012d","state":"provisioned"},"triedCredentials":{"credentialsVersion":"1%05d"}}}`, i, i)
}

func heapObjects() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

func heapLive() int64 {
	runtime.GC()
	runtime.GC()
	return heapObjects()
}

// watched is a directory of a fleet, measured.
type watched struct {
	dir      *Directory
	told     chan struct{} // when Changed has told of all hosts once more
	n        int
	peak     atomic.Int64
	baseline int64
	end      func()
}

func watch20k(t testing.TB, f *fleet) *watched {
	t.Helper()
	server := httptest.NewServer(f)
	w := &watched{told: make(chan struct{})}
	dir, err := New(Options{Config: &rest.Config{Host: server.URL}, Changed: func(_, _ *Host) {
		if w.n++; w.n%50 == 0 {
			w.peak.Store(max(w.peak.Load(), heapObjects()))
		}
		if w.n == f.hosts {
			w.n = 0
			w.told <- struct{}{}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.dir, w.baseline = dir, heapLive()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = dir.Run(ctx)
	}()
	w.end = func() {
		cancel()
		<-ended
		server.CloseClientConnections()
		server.Close()
	}
	return w
}

const mib = 1 << 20

// TestMemory: listing hosts, and listing them anew with every one changed, takes a small
// part of what they are on the wire.
func TestMemory(t *testing.T) {
	f := newFleet(800) // 16 MB
	w := watch20k(t, f)
	defer w.end()
	<-w.told
	if live := heapLive() - w.baseline; live > 2*mib {
		t.Errorf("800 hosts take %d MiB", live/mib)
	}
	f.revision.Add(1)
	f.relist <- struct{}{}
	<-w.told
	if peak := w.peak.Load() - w.baseline; peak > 10*mib {
		t.Errorf("the heap rose by %d MiB while 16 MB were listed", peak/mib)
	}
	if h, ok := w.dir.ByName("tenant-07", "rack-00007-server"); !ok || h.NodeUUID != "bbbbbbbb-0000-4000-8000-000000000007" {
		t.Errorf("%+v, %v", h, ok)
	}
}

// BenchmarkList20000 lists 20,000 hosts of 20 kB anew, all of them changed.
func BenchmarkList20000(b *testing.B) {
	f := newFleet(20_000)
	w := watch20k(b, f)
	defer w.end()
	<-w.told
	first := w.peak.Swap(0) - w.baseline
	live := heapLive() - w.baseline
	for b.Loop() {
		f.revision.Add(1)
		f.relist <- struct{}{}
		<-w.told
	}
	b.ReportMetric(float64(live)/mib, "MiB-kept")
	b.ReportMetric(float64(first)/mib, "MiB-peak-first")
	b.ReportMetric(float64(w.peak.Load()-w.baseline)/mib, "MiB-peak-again")
}

func BenchmarkDecode(b *testing.B) {
	f := newFleet(1)
	rec := httptest.NewRecorder()
	f.write(rec, 0)
	raw := rec.Body.Bytes()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkByNode(b *testing.B) {
	d := newDirectory(b)
	for i := range 20_000 {
		show(d, Host{Namespace: "n", Name: strconv.Itoa(i), NodeUUID: fmt.Sprintf("bbbbbbbb-0000-4000-8000-%012d", i)})
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, ok := d.ByNode("bbbbBBBB-0000-4000-8000-000000000777"); !ok {
				b.Fatal("not there")
			}
		}
	})
}

func show(d *Directory, h Host) { d.set(key{h.Namespace, h.Name}, &h, 1) }

func newDirectory(t testing.TB, namespaces ...string) *Directory {
	t.Helper()
	d, err := New(Options{Config: &rest.Config{Host: "http://kube"}, Namespaces: namespaces})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestAsksDoNotAllocate: they are on the way of every decision.
func TestAsksDoNotAllocate(t *testing.T) {
	broken := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	d := newDirectory(t, "a", "b", "c")
	show(d, Host{Namespace: "n", Name: "x", NodeUUID: nodeOne})
	for i, w := range d.watchers[1:] {
		w.health.trouble.Store(&trouble{since: broken.Add(-time.Duration(i) * time.Minute)})
	}
	if n := testing.AllocsPerRun(100, func() {
		_, byName := d.ByName("n", "x")
		_, byNode := d.ByNode(nodeOne)
		if !byName || !byNode || !d.BrokenSince("").Equal(broken.Add(-time.Minute)) {
			t.Error("not there, or broken since another time")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// A namespace that we may not read says nothing of the hosts of another one.
func TestANamespaceThatIsBrokenMakesNoOtherOld(t *testing.T) {
	broken := time.Date(2026, 11, 22, 1, 2, 3, 0, time.UTC)
	of := func(namespaces ...string) *Directory {
		d := newDirectory(t, namespaces...)
		d.watchers[0].health.trouble.Store(&trouble{since: broken})
		return d
	}
	for _, one := range []struct {
		d    *Directory
		of   string
		want time.Time
	}{
		{of("a", "b"), "a", broken}, {of("a", "b"), "b", time.Time{}}, {of("a", "b"), "", broken},
		{of(), "b", broken}, {of(), "", broken}, {newDirectory(t), "b", time.Time{}},
	} {
		if got := one.d.BrokenSince(one.of); !got.Equal(one.want) {
			t.Errorf("%d watches, namespace %q: %v, want %v", len(one.d.watchers), one.of, got, one.want)
		}
	}
}
