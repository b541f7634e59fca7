package disruption

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestSimulatorRefusesWhatCannotBe(t *testing.T) {
	many := fitPodOf("p", "a")
	many.Requests = Resources{}
	for i := range maxResources + 1 {
		many.Requests[fmt.Sprintf("x.com/r%03d", i)] = "1"
	}
	port := func(text string) State {
		return State{Pods: []Pod{fitPodOf("p", "a", func(p *Pod) { p.HostPorts = []string{"TCP//80", text} })}}
	}
	amount := func(text string) State { return State{Pods: []Pod{fitPodOf("p", "a", fitAsks("memory", text))}} }
	for _, r := range []struct {
		name  string
		state State
		field string
	}{
		{"request", amount("1 GB"), "pods[shop/p].requests.memory"},
		{"negative request", amount("-1"), "pods[shop/p].requests.memory"},
		{"empty request", amount(""), "pods[shop/p].requests.memory"},
		{"a very large exponent", amount("0e1000000000"), "pods[shop/p].requests.memory"},
		{"a very small exponent", amount("1e-1000000000"), "pods[shop/p].requests.memory"},
		{"an exponent that is no number", amount("1e99999999999999999999"), "pods[shop/p].requests.memory"},
		{"a long number", amount(strings.Repeat("9", 1000)), "pods[shop/p].requests.memory"},
		{"allocatable", State{Nodes: []Node{fitNodeOf("a", func(n *Node) { n.Allocatable["cpu"] = "four" })}, Pods: []Pod{fitPodOf("p", "a")}}, "nodes[a].allocatable.cpu"},
		{"port", port("TCP/80"), "pods[shop/p].hostPorts[1]"},
		{"port 0", port("TCP//0"), "pods[shop/p].hostPorts[1]"},
		{"port 65536", port("TCP//65536"), "pods[shop/p].hostPorts[1]"},
		{"port 080", port("TCP//080"), "pods[shop/p].hostPorts[1]"},
		{"too many resources", State{Pods: []Pod{many}}, "pods[shop/p].requests"},
	} {
		t.Run(r.name, func(t *testing.T) {
			_, err := newSimulator(t.Context(), &r.state, nil)
			var field *api.FieldError
			if !errors.As(err, &field) || field.Field != r.field || len(err.Error()) > 300 || strings.HasPrefix(r.name, "too many") && !strings.Contains(field.Rule, " 256 ") {
				t.Errorf("error is %v, want one of %s", err, r.field)
			}
		})
	}
	one := &State{Nodes: []Node{fitNodeOf("a")}, Pods: []Pod{fitPodOf("p", "a")}}
	c, err := newSimulator(t.Context(), one, nil)
	if err != nil {
		t.Fatal(err)
	}
	volume := func(p *Pod) { p.Volumes = []Volume{{Name: "data", Driver: "csi.x"}} }
	delete(many.Requests, "x.com/r000")
	if _, err := newSimulator(t.Context(), &State{Pods: []Pod{many}}, nil); err == nil {
		t.Errorf("%d resources and the number of pods are read", maxResources)
	}
	delete(many.Requests, "x.com/r001")
	if _, err := newSimulator(t.Context(), &State{Pods: []Pod{many, fitPodOf("q", "a", volume, func(p *Pod) { p.Requests = nil })}}, nil); err == nil {
		t.Error("a driver more is read")
	}
	if _, err := newSimulator(t.Context(), &State{Pods: []Pod{many}}, nil); err != nil {
		t.Errorf("%d resources and the number of pods: %v", maxResources-1, err)
	}
	for text, want := range map[string]string{"e31": "must have an exponent from -30 to 30", "1e": `is not a quantity such as "500m" or "16Gi"`, strings.Repeat("9", 64): "", strings.Repeat("9", 65): "must have at most 64 characters"} {
		if _, err := quantity("memory", text); err != nil && err.Error() != want || err == nil && want != "" {
			t.Errorf("of %d characters: %v", len(text), err)
		}
	}
	spare := fitNodeOf("new", func(n *Node) { n.Allocatable["memory"] = "much" })
	if _, err = c.without(t.Context(), fitNamed(one, "a"), &spare); err == nil || !strings.Contains(err.Error(), "replacement.allocatable.memory") {
		t.Errorf("error is %v", err)
	}
}

// Amounts that no machine has neither wrap around nor fit.
func TestSimulatorHugeAmounts(t *testing.T) {
	huge := func(n *Node) { n.Allocatable = Resources{"cpu": "9e18", "memory": "7Ei", "pods": "9e18"} }
	for _, asks := range []string{"2Ei", "7Ei", "9e18", "1e30"} {
		fitRow{nodes: []Node{fitNodeOf("a"), fitNodeOf("b", huge)}, pods: []Pod{fitPodOf("p", "a", fitAsks("memory", asks))}, blocked: "too little memory"}.run(t)
	}
	var pods []Pod
	for i := range 20 {
		pods = append(pods, fitPodOf(fmt.Sprintf("q%02d", i), "b", fitAsks("memory", "1Ei")))
	}
	fitRow{nodes: []Node{fitNodeOf("a"), fitNodeOf("b", huge)}, pods: append(pods, fitPodOf("p", "a", fitAsks("memory", "1"))), blocked: "too little memory"}.run(t)
}
