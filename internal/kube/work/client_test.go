package work

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/ironic-throttle/ironic-throttle/internal/disrupt"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers from a table of paths; what is sent is kept.
type server struct {
	mu      sync.Mutex
	answers map[string]string // by "METHOD /path", query included where one is in the key
	codes   map[string]int
	sent    []string
}

func serve(t *testing.T, answers map[string]string) (*server, *Client) {
	t.Helper()
	s := &server{answers: answers, codes: map[string]int{}}
	at := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(at.Close)
	c, err := New(Options{Config: &rest.Config{Host: at.URL}, Instance: "me", Now: func() time.Time { return time.Unix(1000, 0).UTC() }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.server.Client.CloseIdleConnections)
	return s, c
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Method + " " + r.URL.Path
	s.sent = append(s.sent, strings.TrimSpace(key+" "+r.URL.RawQuery+" "+string(body)))
	w.Header().Set("Content-Type", "application/json")
	text, ok := s.answers[key+"?"+r.URL.RawQuery]
	if !ok {
		text, ok = s.answers[key]
	}
	code := s.codes[key]
	if !ok && code == 0 {
		code = http.StatusNotFound
	}
	if code != 0 {
		reason := map[int]string{404: "NotFound", 403: "Forbidden", 409: "Conflict", 429: "TooManyRequests"}[code]
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"no"}`, reason, code)
		return
	}
	fmt.Fprint(w, text)
}

func key(ns, name string) disruption.Key { return disruption.Key{Namespace: ns, Name: name} }

const served = `{"kind":"APIGroup","versions":[{"version":"v1alpha4"},{"version":"v1beta1"},{"version":"v1beta2"}]}`

// TestAPatchHoldsForWhatWasSeen: UID and resourceVersion, replicas and label in one.
func TestAPatchHoldsForWhatWasSeen(t *testing.T) {
	label, two, off, on := "abc.down0.2", 2, false, true
	none := ""
	for want, w := range map[string]disrupt.Write{
		`{"metadata":{"labels":{"ironic-throttle.metal3.io/command":"abc.down0.2"},"resourceVersion":"7","uid":"u"},"spec":{"replicas":2}}`: {Label: &label, Replicas: &two},
		`{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"online":false}}`:                                                            {Online: &off},
		`{"metadata":{"annotations":{"a":"b","c":null},"labels":{"ironic-throttle.metal3.io/command":null},"resourceVersion":"7","uid":"u"}}`: {
			Label: &none, Annotations: map[string]string{"a": "b", "c": ""},
		},
		`{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"taints":[{"key":"x","effect":"NoExecute","other":1},{"key":"ironic-throttle.metal3.io/disrupting","effect":"NoSchedule"}]}}`: {
			Taint: &on, Taints: json.RawMessage(`[{"key":"x","effect":"NoExecute","other":1},{"key":"ironic-throttle.metal3.io/disrupting","effect":"NoSchedule"}]`),
		},
		`{"metadata":{"resourceVersion":"7","uid":"u"},"spec":{"taints":[]}}`: {
			Taint: &off, Taints: json.RawMessage(`[{"key":"ironic-throttle.metal3.io/disrupting","effect":"NoSchedule"}]`),
		},
	} {
		w.Object = disrupt.Object{UID: "u", Version: "7"}
		got, err := patch(w)
		if err != nil || string(got) != want {
			t.Errorf("%v\n%s, want\n%s", err, got, want)
		}
	}
	if _, err := patch(disrupt.Write{Taint: &on, Taints: json.RawMessage(`{}`)}); err == nil {
		t.Error("taints that are none")
	}
}

// TestWritesGoWhereTheyBelong, each once, whatever comes back.
func TestWritesGoWhereTheyBelong(t *testing.T) {
	label := "abc123"
	for want, w := range map[string]disrupt.Write{
		"DELETE /apis/cluster.x-k8s.io/v1beta2/namespaces/n/machines/m": {Object: disrupt.Object{Kind: disrupt.KindMachine, Key: key("n", "m"), UID: "u", Version: "7"}, Delete: true},
		"PATCH /apis/metal3.io/v1alpha1/namespaces/n/baremetalhosts/h":  {Object: disrupt.Object{Kind: disrupt.KindHost, Key: key("n", "h")}, Label: &label},
		"PATCH /api/v1/nodes/w":                     {Object: disrupt.Object{Kind: disrupt.KindNode, Key: key("", "w")}, Label: &label},
		"POST /api/v1/namespaces/n/pods/p/eviction": {Object: disrupt.Object{Kind: disrupt.KindPod, Key: key("n", "p"), UID: "u"}, Evict: true},
	} {
		s, c := serve(t, map[string]string{"GET /apis/cluster.x-k8s.io": served, want: "{}"})
		if err := c.Do(t.Context(), w); err != nil {
			t.Errorf("%s: %v, sent %q", want, err, s.sent)
		}
		for code, mean := range map[int]error{403: disrupt.ErrForbidden, 404: disrupt.ErrGone, 409: disrupt.ErrConflict, 429: disrupt.ErrBudget} {
			s.codes[want] = code
			s.sent = nil
			err := c.Do(t.Context(), w)
			if code == 429 && !w.Evict {
				mean = err // the server's own limit: any error will do
			}
			if err == nil || !errors.Is(err, mean) || len(s.sent) != 1 {
				t.Errorf("%s, %d: %v, sent %q", want, code, err, s.sent)
			}
		}
		if last := s.sent[0]; w.Delete && !strings.Contains(last, `"preconditions":{"uid":"u","resourceVersion":"7"}`) || w.Evict && !strings.Contains(last, `"uid":"u"`) {
			t.Errorf("%s: no preconditions", last)
		}
	}
	_, c := serve(t, nil)
	if err := c.Do(t.Context(), disrupt.Write{Object: disrupt.Object{Kind: "Secret"}}); !errors.Is(err, errKind) {
		t.Error(err)
	}
}

// TestMarks: what has the label, page by page; a cluster without Cluster API has none of its objects.
func TestMarks(t *testing.T) {
	const hosts = "GET /apis/metal3.io/v1alpha1/baremetalhosts?"
	const selector = "labelSelector=ironic-throttle.metal3.io%2Fcommand&limit=250&timeout=10s"
	s, c := serve(t, map[string]string{
		hosts + selector: `{"metadata":{"continue":"next"},"items":[{"metadata":{"name":"a","namespace":"n","uid":"1","labels":{"ironic-throttle.metal3.io/command":"abc"},
			"annotations":{"ironic-throttle.metal3.io/planned":"true","ironic-throttle.metal3.io/command":"{}"}},"spec":{"online":true,"consumerRef":{"kind":"Metal3Machine","name":"m"}},
			"status":{"provisioning":{"state":"provisioned"}}}]}`,
		hosts + "continue=next&" + selector: `{"items":[{"metadata":{"name":"b","namespace":"n","uid":"2"}}]}`,
		"GET /api/v1/nodes":                 `{"items":[{"metadata":{"name":"w","uid":"3"},"spec":{"taints":[{"key":"ironic-throttle.metal3.io/disrupting","effect":"NoSchedule"}]}}]}`,
	})
	m, err := c.Marks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Hosts) != 2 || len(m.Nodes) != 1 || !m.Nodes[0].Tainted || len(m.Machines)+len(m.Owners) != 0 {
		t.Fatalf("%+v, sent %q", m, s.sent)
	}
	want := disrupt.Host{
		Object: disrupt.Object{Kind: disrupt.KindHost, Key: key("n", "a"), UID: "1", Label: "abc"},
		State:  "provisioned", Online: true, Consumer: "Metal3Machine n/m", Planned: true, Record: "{}",
	}
	if diff := cmp.Diff(want, m.Hosts[0]); diff != "" {
		t.Error(diff)
	}
}

func machineItem(name, set, created string) string {
	return `{"metadata":{"name":"` + name + `","namespace":"n","uid":"` + name + `-uid","creationTimestamp":"` + created + `","annotations":{"cluster.x-k8s.io/delete-machine":""},
		"ownerReferences":[{"kind":"MachineSet","name":"` + set + `","uid":"` + set + `-uid","controller":true}]},
		"spec":{"infrastructureRef":{"kind":"Metal3Machine","name":"` + name + `"}},"status":{"nodeRef":{"name":"node-` + name + `"}}}`
}

// TestLook finds the owner above the MachineSet, its Machines and no others, and what newcomers have chosen.
func TestLook(t *testing.T) {
	const api = "GET /apis/cluster.x-k8s.io/v1beta1/namespaces/n/"
	set := `{"metadata":{"name":"s","namespace":"n","uid":"s-uid","ownerReferences":[{"kind":"MachineDeployment","name":"d","uid":"d-uid","controller":true}]}}`
	s, c := serve(t, map[string]string{
		"GET /apis/cluster.x-k8s.io":                strings.Replace(served, "v1beta2", "v1gamma", 1),
		"GET /apis/infrastructure.cluster.x-k8s.io": served,
		api + "machinesets/s":                       set,
		api + "machinesets":                         `{"items":[` + set + `,{"metadata":{"name":"other","uid":"other-uid"}}]}`,
		api + "machinedeployments/d": `{"metadata":{"name":"d","namespace":"n","uid":"d-uid","annotations":{"ironic-throttle.metal3.io/execute":"true"}},
			"spec":{"replicas":3,"selector":{"matchLabels":{"pool":"d"}}}}`,
		api + "machines/old": machineItem("old", "s", "2026-01-01T00:00:00Z"),
		api + "machines":     `{"items":[` + machineItem("old", "s", "2026-01-01T00:00:00Z") + `,` + machineItem("new", "s", "2026-02-01T00:00:00Z") + `,` + machineItem("no", "other", "2026-02-01T00:00:00Z") + `]}`,
		"GET /apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/n/metal3machines/new": `{"metadata":{"name":"new","annotations":{"metal3.io/BareMetalHost":"n/spare"}}}`,
		"GET /api/v1/nodes/node-new": `{"metadata":{"name":"node-new","uid":"x"},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
		"GET /api/v1/nodes/node-old": `{"metadata":{"name":"node-old","uid":"y"}}`,
		"GET /api/v1/pods": `{"items":[{"metadata":{"name":"web","namespace":"d","uid":"1"}},{"metadata":{"name":"done","uid":"2"},"status":{"phase":"Succeeded"}},
			{"metadata":{"name":"agent","uid":"3","ownerReferences":[{"kind":"DaemonSet","controller":true}]}},
			{"metadata":{"name":"static","uid":"4","annotations":{"kubernetes.io/config.mirror":"x"}}},
			{"metadata":{"name":"keep","uid":"5","annotations":{"karpenter.sh/do-not-disrupt":"true"}}}]}`,
	})
	cmd, err := disrupt.ReadCommand(`{"id":"abc123","decision":"replace","stage":"draining","replacement":{"namespace":"n","name":"spare"},"pool":{"kind":"MachineDeployment","namespace":"n","name":"d"},
		"newest":"2026-01-01T00:00:00Z","targets":[{"host":{"namespace":"n","name":"h"},"machine":{"namespace":"n","name":"old"},"node":"node-old"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	seen, err := c.Look(t.Context(), cmd)
	if err != nil {
		t.Fatalf("%v, sent %q", err, s.sent)
	}
	if m := seen.Machines[0]; m.Owner != cmd.Pool || !m.Marked || m.Mark != "" || m.Node != "node-old" || m.Infrastructure != "Metal3Machine n/old" {
		t.Errorf("%+v", m)
	}
	if seen.Hosts[0].Found() || !seen.Nodes[0].Found() || seen.Owner.Replicas != 3 || !seen.Owner.Execute {
		t.Errorf("%+v", seen)
	}
	if len(seen.Members) != 2 || seen.Members[1].Host != "n/spare" || !seen.Members[1].Ready || seen.Members[0].Ready {
		t.Errorf("members %+v", seen.Members)
	}
	if len(seen.Pods) != 2 || seen.Pods[0].Name != "web" || !seen.Pods[1].DoNotDisrupt {
		t.Errorf("pods %+v", seen.Pods)
	}
	if !slices.ContainsFunc(s.sent, func(r string) bool { return strings.Contains(r, "/machines labelSelector=pool%3Dd&limit=250") }) {
		t.Errorf("sent %q", s.sent)
	}
}

// TestTell: an Event as client-go's recorders make them.
func TestTell(t *testing.T) {
	s, c := serve(t, map[string]string{"GET /apis/cluster.x-k8s.io": served, "POST /api/v1/namespaces/n/events": "{}"})
	o := disrupt.Object{Kind: disrupt.KindMachineDeployment, Key: key("n", "d"), UID: "u"}
	if err := c.Tell(t.Context(), o, disrupt.Notice{Warning: true, Reason: "R", Message: "why"}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"apiVersion":"cluster.x-k8s.io/v1beta2"`, `"type":"Warning"`, `"reason":"R"`, `"message":"why"`, `"uid":"u"`, `"name":"u.`} {
		if last := s.sent[len(s.sent)-1]; !strings.Contains(last, part) {
			t.Errorf("%s lacks %s", last, part)
		}
	}
}

// TestVersionsThatNobodyKnows is an error that says so.
func TestVersionsThatNobodyKnows(t *testing.T) {
	_, c := serve(t, map[string]string{"GET /apis/cluster.x-k8s.io": `{"versions":[{"version":"v2"}]}`})
	if _, err := c.Marks(t.Context()); err == nil || !strings.Contains(err.Error(), "none of [v1beta2 v1beta1]") {
		t.Error(err)
	}
}

// TestMarksOfOtherNamespacesAreOthers: another throttle, which watches them, carries their commands out.
func TestMarksOfOtherNamespacesAreOthers(t *testing.T) {
	const item = `{"items":[{"metadata":{"name":"h","namespace":"%s","uid":"%s"}}]}`
	const path = "GET /apis/metal3.io/v1alpha1/"
	s, c := serve(t, map[string]string{
		path + "baremetalhosts":              fmt.Sprintf(item, "c", "3"),
		path + "namespaces/a/baremetalhosts": fmt.Sprintf(item, "a", "1"),
		path + "namespaces/b/baremetalhosts": fmt.Sprintf(item, "b", "2"),
		"GET /api/v1/nodes":                  fmt.Sprintf(item, "", "4"),
	})
	c.namespaces = []string{"a", "b"}
	m, err := c.Marks(t.Context())
	if err != nil || len(m.Hosts) != 2 || m.Hosts[0].Namespace != "a" || m.Hosts[1].Namespace != "b" || len(m.Nodes) != 0 {
		t.Errorf("%v, %+v, sent %q", err, m, s.sent)
	}
}

// TestWhatProtects: what cannot be read forbids, as where plans are made.
func TestWhatProtects(t *testing.T) {
	for text, want := range map[string][2]bool{
		`{"metadata":{"annotations":{"ironic-throttle.metal3.io/do-not-disrupt":"yes"}}}`:        {true, false},
		`{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":"True"}}}`:                    {true, false},
		`{"metadata":{"annotations":{"karpenter.sh/do-not-disrupt":" false "}}}`:                 {false, false},
		`{"metadata":{"annotations":{"baremetalhost.metal3.io/paused":""}}}`:                     {false, true},
		`{"metadata":{"annotations":{"cluster.x-k8s.io/paused":"true"}},"spec":{"online":true}}`: {false, true},
		`{"spec":{"paused":true}}`: {false, true},
		`{"spec":{"online":true}}`: {false, false},
	} {
		var i item
		if err := json.Unmarshal([]byte(text), &i); err != nil {
			t.Fatal(err)
		}
		if o := i.object(disrupt.KindHost); [2]bool{o.DoNotDisrupt, o.Paused} != want {
			t.Errorf("%s: %+v", text, o)
		}
	}
}

// TestAVersionThatIsServedNoMore: after an upgrade of Cluster API nothing is gone, it is only elsewhere.
func TestAVersionThatIsServedNoMore(t *testing.T) {
	var now string
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path := r.URL.Path; {
		case path == "/apis/cluster.x-k8s.io":
			fmt.Fprintf(w, `{"versions":[{"version":%q}]}`, now)
		case strings.HasPrefix(path, "/apis/cluster.x-k8s.io/"+now+"/"):
			fmt.Fprint(w, `{"metadata":{"name":"m","namespace":"n","uid":"u"}}`)
		default:
			http.NotFound(w, r) // as the API server answers what it does not serve
		}
	}))
	t.Cleanup(at.Close)
	c, err := New(Options{Config: &rest.Config{Host: at.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.server.Client.CloseIdleConnections)
	for _, now = range []string{"v1beta1", "v1beta2"} {
		for try := range 2 {
			found, err := c.get(t.Context(), places[disrupt.KindMachine], "n", "m")
			if found.Metadata.UID != "u" && (err == nil || try > 0) {
				t.Errorf("%s, try %d: %+v, %v", now, try, found.Metadata, err)
			}
		}
	}
	s, other := serve(t, map[string]string{"GET /apis/cluster.x-k8s.io": served})
	for range 2 {
		if found, err := other.get(t.Context(), places[disrupt.KindMachine], "n", "gone"); err != nil || found.Metadata.UID != "" {
			t.Errorf("a Machine that is gone: %v, sent %q", err, s.sent)
		}
	}
	now = "v1beta1"
	if _, err := c.list(t.Context(), places[disrupt.KindMachine], "", nil); err == nil {
		t.Error("an empty list")
	}
	if all, err := c.list(t.Context(), places[disrupt.KindHost], "", nil); err != nil || len(all) != 0 {
		t.Errorf("a cluster without hosts: %v, %v", all, err)
	}
}
