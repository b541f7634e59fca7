package disruption

import (
	"fmt"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Words of annotations and taints.
const (
	prefix           = "ironic-throttle.metal3.io/"
	annotatePlanned  = prefix + "planned"
	taintDisrupting  = prefix + "disrupting"
	annotationDelete = "cluster.x-k8s.io/delete-machine"
)

// Full names of resources: short ones may mean another's.
const (
	kindHosts    = "baremetalhosts.metal3.io"
	kindMachines = "machines.cluster.x-k8s.io"
)

// waitLimit bounds a wait for slow hardware.
const waitLimit = "--timeout=2h"

// quote makes one word of a shell of text.
func quote(text string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,@%+", r)
	}
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !plain(r) }) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// kubectl is one command line.
func kubectl(words ...string) string {
	line := "kubectl"
	for _, w := range words {
		line += " " + quote(w)
	}
	return line
}

// in is the namespace of an object, where it has one.
func in(k Key) []string {
	if k.Namespace == "" {
		return nil
	}
	return []string{"-n", k.Namespace}
}

func on(k Key, words ...string) string {
	verb, rest := words[0], words[1:]
	return kubectl(append(append([]string{verb}, in(k)...), rest...)...)
}

// script collects command lines of an action.
type script struct {
	lines    []string
	replicas map[*pool]int
}

func (c *script) add(line string) { c.lines = append(c.lines, line) }

// scale writes a pool's replicas, if they are still as they were.
func (c *script) scale(q *pool, by int) {
	if _, ok := c.replicas[q]; !ok {
		c.replicas[q] = q.Replicas
	}
	was := c.replicas[q]
	c.replicas[q] = was + by
	c.add(on(q.Key, "scale", q.resource()+"/"+q.Name, fmt.Sprintf("--current-replicas=%d", was), fmt.Sprintf("--replicas=%d", was+by)))
}

func (q *pool) resource() string { return strings.ToLower(string(q.Kind)) + "s.cluster.x-k8s.io" }

// planned marks a host, so that its slot is asked for in the planned lane.
func (c *script) planned(h *host) {
	c.add(on(h.Key, "annotate", kindHosts, h.Name, annotatePlanned+"=true", "--overwrite"))
}

func (c *script) unplanned(h *host) {
	c.add(on(h.Key, "annotate", kindHosts, h.Name, annotatePlanned+"-"))
}

func (c *script) await(h *host, state string) {
	c.add(on(h.Key, "wait", kindHosts+"/"+h.Name, "--for=jsonpath={.status.provisioning.state}="+state, waitLimit))
}

// release takes a Machine away for good, and ends with the host's power.
func (c *script) release(h *host, powerOff bool) {
	c.planned(h)
	if h.owned() {
		c.add(on(h.Machine.Key, "annotate", kindMachines, h.Machine.Name, annotationDelete+"=true", "--overwrite"))
		c.scale(h.pool, -1)
	} else {
		c.add(on(h.Machine.Key, "delete", kindMachines, h.Machine.Name, "--wait=false"))
	}
	c.await(h, stateAvailable)
	if powerOff {
		c.add(on(h.Key, "patch", kindHosts, h.Name, "--type=merge", "-p", `{"spec":{"online":false}}`))
	}
	c.unplanned(h)
}

// commandsFor are what an operator would run, in order: each only after those before it went well, so that no
// host that still serves is drained or powered off. d.replicas is kept up to date.
func commandsFor(d draft) []string {
	if d.replicas == nil {
		d.replicas = map[*pool]int{}
	}
	c := &script{lines: []string{}, replicas: d.replicas}
	set, spare := d.set, d.spare
	switch d.decision {
	case api.PlanRelease:
		for _, h := range set {
			c.release(h, h.verdict.rank.saving.powerOff)
		}
	case api.PlanReplace:
		for _, h := range set {
			c.add(kubectl("taint", "nodes", h.Node, taintDisrupting+"=true:NoSchedule", "--overwrite"))
		}
		q := set[0].pool
		c.planned(spare)
		c.scale(q, 1)
		c.await(spare, stateProvisioned)
		c.add(on(q.Key, "wait", q.resource()+"/"+q.Name, fmt.Sprintf("--for=jsonpath={.status.readyReplicas}=%d", c.replicas[q]), waitLimit))
		c.unplanned(spare)
		for _, h := range set {
			c.add(kubectl("drain", h.Node, "--ignore-daemonsets", waitLimit))
		}
		for _, h := range set {
			c.release(h, h.verdict.rank.saving.powerOff)
		}
	case api.PlanReprovision:
		for _, h := range set {
			c.planned(h)
			c.add(on(h.Machine.Key, "delete", kindMachines, h.Machine.Name, waitLimit))
			c.unplanned(h)
		}
	case api.PlanReport:
	}
	for i := range len(c.lines) - 1 {
		c.lines[i] += " &&"
	}
	return c.lines
}
