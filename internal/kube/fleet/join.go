package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// join finds out which host, Machine, node, pool and cluster belong together.
type join struct {
	hosts             []host
	sets, deployments []pool

	byKey      map[disruption.Key]*host
	byProvider map[string]*host // by all that spec.providerID of its node may be
}

func newJoin(
	hosts []host, machines []*objects.Machine, infra []*objects.Metal3Machine,
	sets, deployments []pool, templates []*objects.Template,
) *join {
	j := &join{
		hosts: hosts, sets: sets, deployments: deployments,
		byKey: by(hosts, func(h *host) disruption.Key { return h.Key }), byProvider: map[string]*host{},
	}
	for i := range hosts {
		for _, id := range objects.ProviderIDs(hosts[i].of) {
			j.byProvider[id] = &hosts[i]
		}
	}
	template := by(templates, func(t **objects.Template) disruption.Key { return keyOf(*t) })
	for _, pools := range [][]pool{sets, deployments} {
		for i := range pools {
			of := pools[i].of
			ref := of.Spec.Template.Spec.InfrastructureRef
			t := template[disruption.Key{Namespace: of.Namespace, Name: ref.Name}]
			if t != nil && ref.Kind == "Metal3MachineTemplate" {
				pools[i].use(*t)
			}
		}
	}
	consumer := by(infra, func(m **objects.Metal3Machine) disruption.Key { return keyOf(*m) })
	for _, m := range machines {
		ref := m.Spec.InfrastructureRef
		key := disruption.Key{Namespace: m.Namespace, Name: ref.Name}
		if one := consumer[key]; one != nil && ref.Kind == "Metal3Machine" {
			j.addMachine(m, *one)
		}
	}
	return j
}

// addMachine finds the host of a Machine. Its Metal3Machine names the host, whose consumer is this Metal3Machine.
func (j *join) addMachine(m *objects.Machine, by *objects.Metal3Machine) {
	namespace, name, _ := strings.Cut(by.Annotations[hostAnnotation], "/")
	h := j.byKey[disruption.Key{Namespace: namespace, Name: name}]
	if h == nil || h.consumer != keyOf(by) {
		return
	}
	h.machine, h.Machine = m, newMachine(m, by)
	h.DoNotDisrupt = h.DoNotDisrupt || objects.Forbids(m)
	var owner disruption.Key
	h.Machine.Pool, h.Machine.OtherOwner = ownedBy(m, "MachineSet")
	if h.Machine.Pool == owner {
		return
	}
	h.Machine.PoolKind = disruption.PoolMachineSet
	if h.pool = j.pool(j.sets, h.Machine.Pool); h.pool == nil {
		return
	}
	if owner, h.Machine.OtherOwner = ownedBy(h.pool.of, "MachineDeployment"); owner != (disruption.Key{}) {
		h.pool = j.pool(j.deployments, owner)
	}
	if h.pool != nil {
		h.Machine.Pool, h.Machine.PoolKind = h.pool.Key, h.pool.Kind
		h.Machine.Paused = h.Machine.Paused || h.pool.paused()
	}
}

// pool finds one by its name; nil: it is not there.
func (j *join) pool(among []pool, key disruption.Key) *pool {
	if at := slices.IndexFunc(among, func(p pool) bool { return p.Key == key }); at >= 0 {
		return &among[at]
	}
	return nil
}

// addNode finds the host of a Node. Names of hosts and nodes of two clusters may be the same, so the host must be in
// this one, and its Machine must be the one that has the Node.
func (j *join) addNode(n *node) {
	h := j.byProvider[n.provider]
	if h == nil || h.Cluster != n.Cluster {
		return
	}
	if h.machine != nil && h.machine.Status.NodeRef.Name != "" && h.machine.Status.NodeRef.Name != n.Name {
		return
	}
	if h.node != nil { // one of both is a leftover, and nothing says which
		const fault = "nodes %s and %s have the same spec.providerID: it must be of one node"
		h.Faults = append(h.Faults, fmt.Sprintf(fault, h.Node, n.Name))
		return
	}
	h.Node, h.node = n.Name, n
	h.DoNotDisrupt, h.Storage = h.DoNotDisrupt || n.doNotDisrupt, h.Storage || n.storage
	if h.pool != nil && n.Ready {
		h.pool.ready = append(h.pool.ready, n)
	}
}

// place says of each host in which cluster it is, and returns those that are not the throttle's own. A Cluster that
// has a node among these, the own ones, for one of its Machines is the own cluster itself.
func (j *join) place(own []node) (others []disruption.Key) {
	local := map[disruption.Key]bool{}
	for i := range own {
		h := j.byProvider[own[i].provider]
		if h != nil && h.machine != nil && objects.Runs(h.machine, h.of, own[i].Name, own[i].provider) {
			local[h.inCluster()] = true
		}
	}
	for i := range j.hosts {
		h := &j.hosts[i]
		key := h.inCluster()
		if key == (disruption.Key{}) || local[key] {
			continue
		}
		if h.Cluster = key; !slices.Contains(others, key) {
			others = append(others, key)
		}
	}
	slices.SortFunc(others, func(a, b disruption.Key) int { return strings.Compare(a.String(), b.String()) })
	return others
}

// inCluster is Cluster API's Cluster that the host's Machine is of; zero: none.
func (h *host) inCluster() disruption.Key {
	if h.machine == nil || h.machine.Spec.ClusterName == "" {
		return disruption.Key{}
	}
	return disruption.Key{Namespace: h.machine.Namespace, Name: h.machine.Spec.ClusterName}
}

// pools are the owners of Machines that nothing else owns.
func (j *join) pools() (all []disruption.Pool) {
	for i := range j.deployments {
		j.deployments[i].expect()
		all = append(all, j.deployments[i].Pool)
	}
	for i := range j.sets {
		if objects.Controller(j.sets[i].of).Kind == "" {
			j.sets[i].expect()
			all = append(all, j.sets[i].Pool)
		}
	}
	return all
}
