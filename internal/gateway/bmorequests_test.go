package gateway

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// bmoRequest is a line of testdata/bmo-requests.txt.
type bmoRequest struct{ touches, method, path, body string }

func (q bmoRequest) reads() bool { return q.touches == "read" || q.touches == "repeated" }

// of is the request for a node.
func (q bmoRequest) of(node, name string, nth int) *http.Request {
	fill := strings.NewReplacer("{node}", node, "{name}", name, "{mac}", fmt.Sprintf("02:00:00:00:%02x:%02x", nth/256, nth%256))
	return named(request(q.method, fill.Replace(q.path), fill.Replace(q.body)))
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
	l := full(t, labOptions{start: day})
	defer l.close()
	node, repeated := l.uuids[1], map[string]int{}
	want := map[string]touch{"none": {}, "node": {node: node}, "all": {all: true}}
	for n, q := range bmoRequests(t) {
		r := q.of(node, "ns-01~host-00002", n)
		if writes(r) == q.reads() {
			t.Errorf("%s %s: writes %t", q.method, q.path, writes(r))
		}
		got, ok := readOfHost(r)
		if ok != (q.touches == "repeated") || ok && got.uuid != "" && got.uuid != node {
			t.Errorf("%s %s: kept %t, node %q", q.method, q.path, ok, got.uuid)
		}
		repeated[q.touches]++
		if q.reads() {
			continue
		}
		release, ok := l.gate.inhale(nil, r)
		if !ok {
			t.Fatal("no room")
		}
		if got := touched(r, ""); got != want[q.touches] {
			t.Errorf("%s %s: touches %+v, want %+v", q.method, q.path, got, want[q.touches])
		}
		release()
	}
	if repeated["repeated"] < 7 || repeated["node"] < 20 {
		t.Errorf("%v: too few requests", repeated)
	}
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
