package gateway

import (
	"fmt"
	"net/http"
	"os"
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
