package disrupt

import (
	"errors"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

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

// unfinished are the commands that have not ended.
type unfinished struct {
	commands []Command
	// later are hosts with one that a later version has begun, with its id.
	later  map[disruption.Key]string
	faults []error
}

// unfinishedOf reads records. One that cannot be read, or is another host's, is none.
func unfinishedOf(m Marks) unfinished {
	u := unfinished{later: map[disruption.Key]string{}}
	for _, host := range m.Hosts {
		if host.Record == "" {
			continue
		}
		switch c, err := ReadCommand(host.Record); {
		case errors.Is(err, errLater) && host.Label == c.ID:
			u.later[host.Key] = c.ID
		case err != nil:
			u.faults = append(u.faults, err)
		case host.Label == c.ID && c.of(host):
			u.commands = append(u.commands, c)
		}
	}
	return u
}

// alive are the ids of commands whose marks stay.
func (u *unfinished) alive() map[string]bool {
	alive := map[string]bool{}
	for _, c := range u.commands {
		alive[c.ID] = true
	}
	for _, id := range u.later {
		alive[id] = true
	}
	return alive
}

// laterHosts names the hosts of later, in order.
func (u *unfinished) laterHosts() string {
	var names []string
	for host := range u.later {
		names = append(names, host.String())
	}
	slices.Sort(names)
	return cut(strings.Join(names, ", "))
}
