package gateway_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
)

// bmoRequest is a line of testdata/bmo-requests.txt.
type bmoRequest struct{ touches, method, path, body string }

func (q bmoRequest) reads() bool { return q.touches == "read" || q.touches == "repeated" }

// of is the request for a node.
func (q bmoRequest) of(node, name string, nth int) *http.Request {
	fill := strings.NewReplacer("{node}", node, "{name}", name, "{mac}", fmt.Sprintf("02:00:00:00:%02x:%02x", nth/256, nth%256))
	return named(newRequest(q.method, fill.Replace(q.path), fill.Replace(q.body)))
}

// bmoRequests is all that BMO asks of Ironic.
func bmoRequests(t *testing.T) (all []bmoRequest) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/bmo-requests.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		head, body, _ := strings.Cut(line, " {")
		if body != "" {
			body = "{" + body
		} else if head, body, _ = strings.Cut(line, " ["); body != "" {
			body = "[" + body
		}
		words := strings.Fields(head)
		if len(words) != 3 {
			t.Fatalf("%q: want what it touches, method, path and body", line)
		}
		all = append(all, bmoRequest{words[0], words[1], words[2], body})
	}
	return all
}

// What each request of BMO's may change is known, and what a waiting host repeats is kept.
func TestGW18_WhatBMOAsks(t *testing.T) {
	want := map[string]request.Touch{"none": {}, "node": {Node: touchedNode}, "all": {All: true}}
	counted := map[string]int{}
	for n, q := range bmoRequests(t) {
		r := q.of(touchedNode, "ns-01~host-00002", n)
		if request.Writes(r) == q.reads() {
			t.Errorf("%s %s: writes %t", q.method, q.path, request.Writes(r))
		}
		counted[q.touches]++
		if q.reads() {
			continue
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
		if got := request.Touched(r, ""); got != want[q.touches] {
			t.Errorf("%s %s: touches %+v, want %+v", q.method, q.path, got, want[q.touches])
		}
	}
	if counted["repeated"] < 7 || counted["node"] < 20 {
		t.Errorf("%v: too few requests", counted)
	}
}

const touchedNode = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"

// Of what BMO reads, that which it repeats is answered again, and nothing else.
func TestGW18_WhatBMORepeatsIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := full(t, labOptions{})
		defer l.close()
		l.refuse(1)
		l.poll()
		for n, q := range bmoRequests(t) {
			if !q.reads() {
				continue
			}
			ask := func() string {
				return l.do(q.of(l.uuids[1], "ns-01~host-00002", n)).Header().Get(cacheHeader)
			}
			ask()
			if got := ask(); (got == "host") != (q.touches == "repeated") {
				t.Errorf("%s %s, %s: answered from %q", q.method, q.path, q.touches, got)
			}
		}
	})
}

// What a released BMO was recorded to ask (testdata/bmo-traffic.txt) is among what is read
// in its source.
func TestGW18_WhatBMOWasSeenToAsk(t *testing.T) {
	known := map[string]bool{}
	for _, q := range bmoRequests(t) {
		path, query, _ := strings.Cut(q.path, "?")
		var names []string
		for part := range strings.SplitSeq(query, "&") {
			name, _, _ := strings.Cut(part, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		path = strings.Replace(path, "{name}", "{node}", 1)
		known[q.method+" "+path+"?"+strings.Join(names, "&")] = true
	}
	text, err := os.ReadFile("../../testdata/bmo-traffic.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		column := strings.Split(line, "\t")
		if len(column) < 5 {
			t.Fatalf("%q: want method, path, query, body and status", line)
		}
		seen++
		if ask := column[0] + " " + column[1] + "?" + strings.TrimSuffix(column[2], "-"); !known[ask] {
			t.Errorf("%s is not in bmo-requests.txt", ask)
		}
	}
	if seen < 20 {
		t.Errorf("only %d recorded requests", seen)
	}
}
