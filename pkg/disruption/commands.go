package disruption

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Words of commands. Full names of resources: short ones may mean another's.
const (
	prefix        = "ironic-throttle.metal3.io/"
	kindHosts     = "baremetalhosts.metal3.io"
	kindMachines  = "machines.cluster.x-k8s.io"
	markToDelete  = "cluster.x-k8s.io/delete-machine=true"
	timeout       = "--timeout=2h" // slow hardware
	provisioning  = "--for=jsonpath={.status.provisioning.state}="
	readyReplicas = "--for=jsonpath={.status.readyReplicas}="
)

// script collects command lines of an action.
type script struct {
	lines    []string
	replicas map[*pool]int // of pools after the lines so far, where they differ
}

// plain is a word that no shell reads.
var plain = regexp.MustCompile(`^[-\w./:=,@%+]+$`)

// kubectl adds a command line; words that a shell would read are quoted.
func (c *script) kubectl(words ...string) {
	line := "kubectl"
	for _, w := range words {
		if !plain.MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		line += " " + w
	}
	c.lines = append(c.lines, line)
}

// in is a command about an object of a namespace; k has the namespace.
func (c *script) in(k Key, verb string, words ...string) {
	if k.Namespace != "" {
		words = append([]string{"-n", k.Namespace}, words...)
	}
	c.kubectl(append([]string{verb}, words...)...)
}

// node is a command about nodes of the host's cluster, with the kubeconfig that access gets.
func (c *script) node(h *host, words ...string) {
	if h.Cluster != (Key{}) {
		words = append(words, "--kubeconfig="+h.Cluster.Name+".kubeconfig")
	}
	c.kubectl(words...)
}

// access gets the kubeconfig of the host's cluster, which nobody else may read.
func (c *script) access(h *host) {
	if k := h.Cluster; k != (Key{}) {
		c.in(k, "get", "secret", k.Name+"-kubeconfig", "-o", "go-template={{.data.value | base64decode}}")
		c.lines[len(c.lines)-1] = "(umask 077 && " + c.lines[len(c.lines)-1] + " > " + k.Name + ".kubeconfig)"
	}
}

// scale writes a pool's replicas, if they are still as they were.
func (c *script) scale(q *pool, by int) {
	was, ok := c.replicas[q]
	if !ok {
		was = q.Replicas
	}
	c.replicas[q] = was + by
	c.in(q.Key, "scale", q.resource(), fmt.Sprintf("--current-replicas=%d", was), fmt.Sprintf("--replicas=%d", was+by))
}

func (q *pool) resource() string {
	return strings.ToLower(string(q.Kind)) + "s.cluster.x-k8s.io/" + q.Name
}

// planned marks a host, so that its slot is asked for in the planned lane; unplanned takes that back.
func (c *script) planned(h *host) {
	c.in(h.Key, "annotate", kindHosts, h.Name, prefix+"planned=true", "--overwrite")
}

func (c *script) unplanned(h *host) { c.in(h.Key, "annotate", kindHosts, h.Name, prefix+"planned-") }

// release takes a Machine away for good, and ends with the host's power.
func (c *script) release(h *host) {
	c.planned(h)
	c.in(h.Machine.Key, "annotate", kindMachines, h.Machine.Name, markToDelete, "--overwrite")
	c.scale(h.pool, -1)
	c.in(h.Key, "wait", kindHosts+"/"+h.Name, provisioning+stateAvailable, timeout)
	if h.saving.powerOff {
		c.in(h.Key, "patch", kindHosts, h.Name, "--type=merge", "-p", `{"spec":{"online":false}}`)
	}
	c.unplanned(h)
}

// replace deploys another host before what the set has is drained.
func (c *script) replace(set []*host, spare *host) {
	c.access(set[0])
	for _, h := range set {
		c.node(h, "taint", "nodes", h.Node, prefix+"disrupting=true:NoSchedule", "--overwrite")
	}
	q := set[0].pool
	c.planned(spare)
	c.scale(q, 1)
	c.in(spare.Key, "wait", kindHosts+"/"+spare.Name, provisioning+stateProvisioned, timeout)
	c.in(q.Key, "wait", q.resource(), fmt.Sprintf("%s%d", readyReplicas, c.replicas[q]), timeout)
	c.unplanned(spare)
	for _, h := range set {
		c.node(h, "drain", h.Node, "--ignore-daemonsets", timeout)
	}
}

// commandsFor are what an operator would run, in order: each only after those before it went well, so that no
// host that still serves is drained or powered off. d.replicas is kept up to date.
func commandsFor(does api.PlanDecision, d draft) []string {
	c := &script{replicas: d.replicas}
	if does == api.PlanReplace {
		c.replace(d.set, d.spare)
	}
	for _, h := range d.set {
		if does != api.PlanReprovision {
			c.release(h)
			continue
		}
		c.planned(h)
		c.in(h.Machine.Key, "delete", kindMachines, h.Machine.Name, timeout)
		c.unplanned(h)
	}
	for i := range c.lines[1:] {
		c.lines[i] += " &&"
	}
	return c.lines
}
