package work

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/internal/disrupt"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// marked selects what has the label of a command.
var marked = map[string]string{"labelSelector": disrupt.LabelCommand}

// Marks implements disrupt.Cluster.
func (c *Client) Marks(ctx context.Context) (m disrupt.Marks, err error) {
	for kind, enter := range map[disrupt.Kind]func(*item){
		disrupt.KindHost:    func(i *item) { m.Hosts = append(m.Hosts, i.host()) },
		disrupt.KindMachine: func(i *item) { m.Machines = append(m.Machines, i.machine()) },
		disrupt.KindNode:    func(i *item) { m.Nodes = append(m.Nodes, i.node()) },
		disrupt.KindMachineSet: func(i *item) {
			m.Owners = append(m.Owners, i.pool(disrupt.KindMachineSet))
		},
		disrupt.KindMachineDeployment: func(i *item) {
			m.Owners = append(m.Owners, i.pool(disrupt.KindMachineDeployment))
		},
	} {
		namespaces := c.namespaces
		if len(namespaces) == 0 {
			namespaces = []string{""}
		} else if kind == disrupt.KindNode {
			continue // nodes are everybody's: a mark may be that of a throttle of another namespace
		}
		for _, namespace := range namespaces {
			found, err := c.list(ctx, places[kind], namespace, marked)
			if err != nil {
				return m, err
			}
			for i := range found {
				enter(&found[i])
			}
		}
	}
	return m, nil
}

// Look implements disrupt.Cluster.
func (c *Client) Look(ctx context.Context, cmd disrupt.Command) (*disrupt.Seen, error) {
	s := &disrupt.Seen{}
	if err := c.lookAtTargets(ctx, cmd, s); err != nil {
		return nil, err
	}
	// Before the Machines: whoever has claimed it is among them.
	spare, err := c.get(ctx, places[disrupt.KindHost], cmd.Replacement.Namespace, cmd.Replacement.Name)
	if err != nil {
		return nil, err
	}
	s.Spare = spare.host()
	if err := c.lookAtPool(ctx, cmd, s); err != nil {
		return nil, err
	}
	if cmd.Drains() {
		s.PodsOf = cmd.Targets[cmd.At].Node
		s.Pods, err = c.pods(ctx, s.PodsOf)
	}
	return s, err
}

func (c *Client) lookAtTargets(ctx context.Context, cmd disrupt.Command, s *disrupt.Seen) error {
	for _, t := range cmd.Targets {
		host, err := c.get(ctx, places[disrupt.KindHost], t.Host.Namespace, t.Host.Name)
		if err != nil {
			return err
		}
		machine, err := c.get(ctx, places[disrupt.KindMachine], t.Machine.Namespace, t.Machine.Name)
		if err != nil {
			return err
		}
		node, err := c.get(ctx, places[disrupt.KindNode], "", t.Node)
		if err != nil {
			return err
		}
		m := machine.machine()
		if m.Owner, m.Other, err = c.ownerOf(ctx, &machine); err != nil {
			return err
		}
		s.Hosts, s.Machines, s.Nodes = append(s.Hosts, host.host()), append(s.Machines, m), append(s.Nodes, node.node())
	}
	return nil
}

// ownerOf is the MachineDeployment that owns a Machine's MachineSet, or that, or whoever else owns it.
func (c *Client) ownerOf(ctx context.Context, machine *item) (pool disrupt.Pool, other string, err error) {
	namespace := machine.Metadata.Namespace
	by := machine.controller()
	switch by.Kind {
	case "":
		return pool, "", nil
	case string(disrupt.KindMachineSet):
	default:
		return pool, by.Kind + " " + by.Name, nil
	}
	set, err := c.get(ctx, places[disrupt.KindMachineSet], namespace, by.Name)
	if err != nil {
		return pool, "", err
	}
	kind, name := disruption.PoolMachineSet, by.Name
	if above := set.controller(); above.Kind == string(disrupt.KindMachineDeployment) {
		kind, name = disruption.PoolMachineDeployment, above.Name
	}
	return disrupt.Pool{Kind: kind, Key: disruption.Key{Namespace: namespace, Name: name}}, "", nil
}

// lookAtPool reads the owner and its Machines.
func (c *Client) lookAtPool(ctx context.Context, cmd disrupt.Command, s *disrupt.Seen) error {
	kind := disrupt.Kind(cmd.Pool.Kind)
	if kind == "" {
		return nil
	}
	owner, err := c.get(ctx, places[kind], cmd.Pool.Namespace, cmd.Pool.Name)
	if err != nil {
		return err
	}
	if s.Owner = owner.pool(kind); !s.Owner.Found() {
		s.Owner = disrupt.Owner{}
		return nil
	}
	selectors := map[string]string{}
	if text, err := metav1.LabelSelectorAsSelector(owner.Spec.Selector); owner.Spec.Selector != nil && err == nil {
		selectors["labelSelector"] = text.String()
	}
	sets := map[string]bool{owner.Metadata.UID: true}
	if kind == disrupt.KindMachineDeployment {
		found, err := c.list(ctx, places[disrupt.KindMachineSet], cmd.Pool.Namespace, selectors)
		if err != nil {
			return err
		}
		clear(sets)
		for i := range found {
			sets[found[i].Metadata.UID] = string(found[i].controller().UID) == owner.Metadata.UID
		}
	}
	machines, err := c.list(ctx, places[disrupt.KindMachine], cmd.Pool.Namespace, selectors)
	if err != nil {
		return err
	}
	for i := range machines {
		if !sets[string(machines[i].controller().UID)] {
			continue
		}
		m := machines[i].machine()
		m.Owner, m.Set = cmd.Pool, machines[i].controller().Name
		if m.Created.After(cmd.Newest) && !cmd.Newest.IsZero() {
			if err := c.lookAtNewcomer(ctx, &machines[i], &m); err != nil {
				return err
			}
		}
		s.Members = append(s.Members, m)
	}
	return nil
}

// lookAtNewcomer finds which host a Machine has chosen, and whether its node is Ready.
func (c *Client) lookAtNewcomer(ctx context.Context, i *item, m *disrupt.Machine) error {
	node, err := c.get(ctx, places[disrupt.KindNode], "", m.Node)
	if err != nil {
		return err
	}
	m.Ready = node.ready()
	if ref := i.Spec.InfrastructureRef; ref != nil && ref.Kind == "Metal3Machine" {
		chosen, err := c.get(ctx, metal3Machines, i.Metadata.Namespace, ref.Name)
		if err != nil {
			return err
		}
		m.Host = chosen.Metadata.Annotations["metal3.io/BareMetalHost"]
	}
	return nil
}

// pods lists those that must leave a node before it goes.
func (c *Client) pods(ctx context.Context, node string) ([]disrupt.Pod, error) {
	if node == "" {
		return nil, nil
	}
	found, err := c.list(ctx, places[disrupt.KindPod], "", map[string]string{"fieldSelector": "spec.nodeName=" + node})
	if err != nil {
		return nil, fmt.Errorf("pods of node %s: %w", node, err)
	}
	var pods []disrupt.Pod
	for i := range found {
		if !found[i].stays() {
			pods = append(pods, found[i].pod())
		}
	}
	return pods, nil
}
