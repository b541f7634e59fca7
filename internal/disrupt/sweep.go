package disrupt

// strays are the writes that remove marks of commands that are no more (DC-29). Where an owner was
// made smaller by such a command, its Machine keeps its mark: another one would go instead.
func strays(m Marks, alive map[string]bool) (writes []Write) {
	stray := func(o Object) bool {
		id, _, _ := doneTo(o.Label)
		return o.Label != "" && !alive[id]
	}
	going, lowered := map[string]bool{}, map[string]bool{}
	for _, machine := range m.Machines {
		going[machine.Label] = going[machine.Label] || !machine.Deleting
	}
	for _, o := range m.Owners {
		// Where somebody has made it larger again, no Machine is to go any more.
		if id, word, to := doneTo(o.Label); word != didRaise && word != didEnd && o.Replicas <= to {
			lowered[id] = true
		}
	}
	none := ""
	for _, machine := range m.Machines {
		if stray(machine.Object) && !lowered[machine.Label] && !machine.Deleting {
			writes = append(writes, unmarkMachine(machine, (&Command{ID: machine.Label}).mark()))
		}
	}
	for _, o := range m.Owners {
		if id, _, _ := doneTo(o.Label); stray(o.Object) && (!lowered[id] || !going[id]) {
			writes = append(writes, Write{What: "removes its mark", Object: o.Object, Label: &none})
		}
	}
	for _, node := range m.Nodes {
		if stray(node.Object) {
			writes = append(writes, untaint(node))
		}
	}
	for _, host := range m.Hosts {
		if stray(host.Object) {
			writes = append(writes, clean(host))
		}
	}
	return writes
}

// commands are the unfinished ones. A record that cannot be read, or is another host's, is none.
func commands(m Marks) (found []Command, faults []error) {
	for _, host := range m.Hosts {
		if host.Record == "" {
			continue
		}
		c, err := ReadCommand(host.Record)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		if host.Label == c.ID && c.of(host) {
			found = append(found, c)
		}
	}
	return found, faults
}
