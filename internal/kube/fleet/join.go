package fleet

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// join finds out which host, machine, node and pool belong together.
type join struct {
	options Options
	fleet   []host
	nodes   []node

	byHost    map[disruption.Key]*host
	byUID     map[string]*host
	machines  map[disruption.Key]*machine // by Metal3Machine
	infra     map[disruption.Key]*infrastructure
	templates map[disruption.Key]*template
	owners    []*owner                  // that are pools
	sets      map[disruption.Key]*owner // MachineSets
	parents   map[disruption.Key]*owner // MachineDeployments
	of        map[disruption.Key]*owner // the pool of a host
	nodesOf   map[*owner][]*node        // Ready nodes of a pool
	nodeByKey map[disruption.Key]*node  // by host
}

func newJoin(o Options, hosts []host, all capi, nodes []node) *join {
	j := &join{
		options: o, fleet: hosts, nodes: nodes,
		byHost: map[disruption.Key]*host{}, byUID: map[string]*host{}, machines: map[disruption.Key]*machine{},
		infra: map[disruption.Key]*infrastructure{}, templates: map[disruption.Key]*template{}, sets: map[disruption.Key]*owner{},
		parents: map[disruption.Key]*owner{}, of: map[disruption.Key]*owner{}, nodesOf: map[*owner][]*node{}, nodeByKey: map[disruption.Key]*node{},
	}
	for i := range hosts {
		j.byHost[hosts[i].Key], j.byUID[hosts[i].uid] = &hosts[i], &hosts[i]
	}
	for i := range all.machines {
		if m := &all.machines[i]; m.infrastructure != (disruption.Key{}) {
			j.machines[m.infrastructure] = m
		}
	}
	for i := range all.infrastructures {
		j.infra[all.infrastructures[i].Key] = &all.infrastructures[i]
	}
	for i := range all.templates {
		j.templates[all.templates[i].Key] = &all.templates[i]
	}
	for i := range all.deployments {
		j.parents[all.deployments[i].Key] = &all.deployments[i]
		j.owners = append(j.owners, &all.deployments[i])
	}
	for i := range all.sets {
		set := &all.sets[i]
		j.sets[set.Key] = set
		if set.deployment == (disruption.Key{}) && set.other == "" {
			j.owners = append(j.owners, set)
		}
	}
	return j
}

// hosts completes the hosts.
func (j *join) hosts() {
	for i := range j.fleet {
		j.machine(&j.fleet[i])
	}
	for i := range j.nodes {
		j.node(&j.nodes[i])
	}
	for i := range j.fleet {
		j.image(&j.fleet[i])
	}
	j.capacities()
}

// machine finds the Machine of a host: its consumer is a Metal3Machine, which says so too.
func (j *join) machine(h *host) {
	infra := j.infra[h.consumer]
	m := j.machines[h.consumer]
	if infra == nil || m == nil || infra.host != h.Key.String() {
		return
	}
	one := m.Machine
	one.TemplateHash = templateHash(infra.template)
	one.Paused = one.Paused || infra.paused
	h.DoNotDisrupt = h.DoNotDisrupt || m.doNotDisrupt
	if m.set != (disruption.Key{}) {
		one.Pool, one.PoolKind = m.set, disruption.PoolMachineSet
		if pool := j.pool(m.set); pool != nil {
			one.Pool, one.PoolKind = pool.Key, pool.Kind
			one.Paused = one.Paused || pool.paused
			j.of[h.Key] = pool
		}
		if set := j.sets[m.set]; set != nil && set.other != "" {
			one.OtherOwner = set.other
		}
	}
	h.Machine = &one
}

// pool is the MachineDeployment that owns a MachineSet, or the MachineSet; nil: not there.
func (j *join) pool(set disruption.Key) *owner {
	of := j.sets[set]
	if of == nil || of.deployment == (disruption.Key{}) {
		return of
	}
	return j.parents[of.deployment]
}

// node finds the host of a Node. The names of hosts of two clusters may be the same, so its
// Machine must be the one that the Node has.
func (j *join) node(n *node) {
	h, infra := j.hostOf(n.provider)
	if h == nil {
		return
	}
	if infra != "" && infra != h.consumer.Name {
		return
	}
	if m := j.machines[h.consumer]; m != nil && m.node != "" && m.node != n.Name {
		return
	}
	if h.Node != "" { // one of both is a leftover, and nothing says which
		h.Faults = append(h.Faults, fmt.Sprintf("nodes %s and %s have the same spec.providerID: it must be of one node", h.Node, n.Name))
		return
	}
	h.Node = n.Name
	h.DoNotDisrupt = h.DoNotDisrupt || n.doNotDisrupt
	h.Storage = h.Storage || n.storage
	j.nodeByKey[h.Key] = n
	if pool := j.of[h.Key]; pool != nil && n.Ready {
		j.nodesOf[pool] = append(j.nodesOf[pool], n)
	}
}

// hostOf finds the host that a spec.providerID names: metal3://NAMESPACE/HOST/METAL3MACHINE or
// metal3://UID of Cluster API's provider, baremetalhost:///NAMESPACE/NAME/UID of OpenShift's.
func (j *join) hostOf(provider string) (h *host, infra string) {
	if rest, ok := strings.CutPrefix(provider, "metal3://"); ok {
		parts := strings.Split(rest, "/")
		switch len(parts) {
		case 1:
			return j.byUID[parts[0]], ""
		case 3:
			return j.byHost[disruption.Key{Namespace: parts[0], Name: parts[1]}], parts[2]
		}
	}
	if rest, ok := strings.CutPrefix(provider, "baremetalhost:///"); ok {
		if parts := strings.Split(rest, "/"); len(parts) == 3 {
			return j.byUID[parts[2]], ""
		}
	}
	return nil, ""
}

// image notes which image a host should have: that of its pool's template, else its own.
func (j *join) image(h *host) {
	want := image{}
	pool := j.of[h.Key]
	switch {
	case pool != nil:
		t := j.templates[pool.template]
		if t == nil {
			break
		}
		want = t.image
		if h.Machine.TemplateHash != "" && h.Machine.TemplateHash != pool.TemplateHash {
			h.DriftedSince = earliest(h.DriftedSince, t.created)
		}
	case h.Machine == nil && h.wants != nil:
		want = *h.wants
	}
	h.differs("image.url", want.URL, h.runs.URL)
	h.differs("image.checksum", want.Checksum, h.runs.Checksum)
}

// capacities tells what a node on each host could allocate: what its own does, or the least that
// the Ready nodes of its class do.
func (j *join) capacities() {
	least := map[string]disruption.Resources{}
	for i := range j.fleet {
		h := &j.fleet[i]
		n := j.nodeByKey[h.Key]
		if n == nil {
			continue
		}
		h.Capacity = n.Allocatable
		if h.Class == "" || !n.Ready || len(n.Allocatable) == 0 {
			continue
		}
		if was, ok := least[h.Class]; ok {
			least[h.Class] = smaller(was, n.Allocatable)
		} else {
			least[h.Class] = n.Allocatable
		}
	}
	for i := range j.fleet {
		if h := &j.fleet[i]; h.Node == "" {
			h.Capacity = least[h.Class]
		}
	}
}

// smaller has of each resource the smaller quantity, and none that one of both has not.
func smaller(a, b disruption.Resources) disruption.Resources {
	all := disruption.Resources{}
	for name, x := range a {
		y, ok := b[name]
		if !ok {
			continue
		}
		p, errP := resource.ParseQuantity(x)
		q, errQ := resource.ParseQuantity(y)
		if cmp.Or(errP, errQ) == nil {
			if all[name] = x; q.Cmp(p) < 0 {
				all[name] = y
			}
		}
	}
	return all
}
