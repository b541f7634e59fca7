package fleet

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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/json"
)

// bigCluster is an API server of 20 pods a host, of some 10 kB each, and hosts of 20 kB. It makes
// what it writes as it writes it, so that a test measures the Reader and not the server.
type bigCluster struct {
	t       testing.TB
	hosts   int
	filler  string // hardware details
	managed string // managedFields of a pod
	pod     corev1.Pod
	peak    atomic.Int64
}

const podsPerHost = 20

func newBigCluster(t testing.TB, hosts int) *bigCluster {
	nic := `{"ip":"192.0.2.17","mac":"00:5c:52:31:3a:9c","model":"0x8086 0x1572","name":"ens1f0np0","pxe":true,"speedGbps":25},`
	b := &bigCluster{t: t, hosts: hosts, filler: strings.TrimSuffix(strings.Repeat(nic, 20_000/len(nic)), ",")}
	b.managed = `{"f:spec":{` + strings.TrimSuffix(strings.Repeat(`"f:containers":{"k:{\"name\":\"app\"}":{}},`, 150), ",") + `}}`
	text := `{"metadata":{"labels":{"app":"web","tier":"front"}},"spec":{"priority":10,"tolerations":[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
		"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"web"}}}]}},
		"containers":[{"name":"app","image":"registry.example.org/team/app:1.2.3","env":[{"name":"A","value":"b"}],"resources":{"requests":{"cpu":"250m","memory":"512Mi"}}}]},
		"status":{"phase":"Running","startTime":"2026-11-24T01:00:00Z","conditions":[{"type":"Ready","status":"True"}]}}`
	if err := json.UnmarshalCaseSensitivePreserveInts([]byte(text), &b.pod); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bigCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.peak.Store(max(b.peak.Load(), heapObjects()))
	total, write := b.hosts, b.host
	switch path := r.URL.Path; {
	case strings.Count(path, "/") == 3 && strings.HasPrefix(path, "/apis/"):
		fmt.Fprintf(w, `{"kind":"APIResourceList","resources":[{"name":"baremetalhosts"},{"name":"machines"},{"name":"metal3machines"}]}`)
		return
	case path == podsPath:
		b.pods(w, r)
		return
	case path == nodesPath:
		write = b.node
	case strings.HasSuffix(path, "/machines"):
		write = b.machine
	case strings.HasSuffix(path, "/metal3machines"):
		write = b.metal3
	case path != hostsPath:
		total = 0
	}
	from, to, next := b.page(r, total)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"kind":"NodeList","apiVersion":"v1","items":[`)
	for i := from; i < to; i++ {
		if i > from {
			fmt.Fprint(w, ",")
		}
		write(w, i)
	}
	fmt.Fprintf(w, `],"metadata":{"continue":%q}}`, next)
}

func (b *bigCluster) page(r *http.Request, total int) (from, to int, next string) {
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ = strconv.Atoi(r.URL.Query().Get("continue"))
	if to = min(from+limit, total); to < total {
		next = strconv.Itoa(to)
	}
	return from, to, next
}

func (b *bigCluster) host(w http.ResponseWriter, i int) {
	fmt.Fprint(w, strings.TrimSuffix(named(plainHost, fmt.Sprintf("host-%05d", i)), "}}"), `,"hardware":{"nics":[`, b.filler, `]}}}`)
}

func (b *bigCluster) node(w http.ResponseWriter, i int) {
	name := fmt.Sprintf("host-%05d", i)
	fmt.Fprint(w, named(readyNode, "node-"+name, "PROVIDER", "metal3://metal3/"+name+"/m3-"+name))
}

func (b *bigCluster) machine(w http.ResponseWriter, i int) {
	fmt.Fprint(w, named(`{"metadata":{"name":"machine-NAME","namespace":"metal3"},"spec":{"infrastructureRef":{"kind":"Metal3Machine","name":"m3-NAME"}},"status":{"nodeRef":{"name":"node-NAME"}}}`, fmt.Sprintf("host-%05d", i)))
}

func (b *bigCluster) metal3(w http.ResponseWriter, i int) {
	fmt.Fprint(w, named(`{"metadata":{"name":"m3-NAME","namespace":"metal3","annotations":{"metal3.io/BareMetalHost":"metal3/NAME"}}}`, fmt.Sprintf("host-%05d", i)))
}

// pods are written as a real API server does: as protobuf.
func (b *bigCluster) pods(w http.ResponseWriter, r *http.Request) {
	from, to, next := b.page(r, b.hosts*podsPerHost)
	list := corev1.PodList{ListMeta: metav1.ListMeta{Continue: next}}
	controller := true
	for i := from; i < to; i++ {
		p := b.pod
		p.Namespace, p.Name = fmt.Sprintf("team-%02d", i%50), fmt.Sprintf("web-%04d-7d4b9c5f6d-%05d", i/40, i)
		p.UID = types.UID(fmt.Sprintf("aaaaaaaa-0000-4000-8000-%012d", i))
		p.Spec.NodeName = fmt.Sprintf("node-host-%05d", i%b.hosts)
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: fmt.Sprintf("web-%04d-7d4b9c5f6d", i/40), Controller: &controller}}
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubelet", FieldsV1: &metav1.FieldsV1{Raw: []byte(b.managed)}}}
		list.Items = append(list.Items, p)
	}
	w.Header().Set("Content-Type", k8sruntime.ContentTypeProtobuf)
	list.Kind, list.APIVersion = "PodList", "v1"
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(&list, w); err != nil {
		b.t.Error(err)
	}
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

const mib = 1 << 20

// readBig reads a cluster, and tells how much the heap holds of it and how high it rose.
func readBig(t testing.TB, hosts int) (kept, peak int64) {
	t.Helper()
	b := newBigCluster(t, hosts)
	server := httptest.NewServer(b)
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	r, err := New(&rest.Config{Host: server.URL, Transport: transport}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	before := heapLive()
	b.peak.Store(before)
	s, err := r.Read(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	after := max(b.peak.Load(), heapObjects())
	kept = heapLive() - before
	if len(s.Pods) != hosts*podsPerHost || len(s.Nodes) != hosts || len(s.Hosts) != hosts {
		t.Fatalf("%d pods, %d nodes, %d hosts", len(s.Pods), len(s.Nodes), len(s.Hosts))
	}
	last := s.Hosts[hosts-1]
	if last.Node == "" || last.Machine == nil || s.Pods[hosts].Requests["cpu"] != "250m" {
		t.Fatalf("%+v, %+v", last, s.Pods[hosts])
	}
	runtime.KeepAlive(r)
	return kept, after - before
}

// TestMemory: the state of a cluster is a small part of what it is on the wire, 20 kB a host and
// 10 kB a pod.
func TestMemory(t *testing.T) {
	kept, peak := readBig(t, 100) // 2,000 pods, 22 MB
	t.Logf("kept %.1f MiB, peak %.1f MiB", float64(kept)/mib, float64(peak)/mib)
	if kept > 4*mib {
		t.Errorf("100 hosts and 2,000 pods take %d MiB", kept/mib)
	}
	if peak > 40*mib {
		t.Errorf("the heap rose by %d MiB", peak/mib)
	}
}

// BenchmarkRead1000 reads 1,000 hosts and 20,000 pods.
func BenchmarkRead1000(b *testing.B) {
	var kept, peak int64
	for b.Loop() {
		kept, peak = readBig(b, 1000)
	}
	b.ReportMetric(float64(kept)/mib, "MiB-kept")
	b.ReportMetric(float64(peak)/mib, "MiB-peak")
}
