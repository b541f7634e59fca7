package disrupt

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// A record is on a BareMetalHost, which a tenant may write. So it is no proof of anything: fault refuses what
// reaches beyond the host's namespace or was never written by us, and unproven looks for our marks on what the
// tenant may not write, before anything of it changes.

// maxTargets is how many hosts a plan's action has at most (DC-14).
const maxTargets = 100

// maxText is how much of a text a record has.
const maxText = 512

// maxTexts bounds what each line of the log tells of a command.
const maxTexts = 4 << 10

func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxText)], "") }

// maxName is the longest name of an object.
const maxName = 253

var nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

func isName(text string) bool { return len(text) <= maxName && nameForm.MatchString(text) }

// fault says what of a record cannot be ours; nil: nothing.
func (c *Command) fault() error {
	if len(c.Targets) > maxTargets {
		return fmt.Errorf("%d targets, at most %d", len(c.Targets), maxTargets)
	}
	if n := len(c.Action) + len(c.Reason) + len(c.Evidence) + len(c.Abandoned); n > maxTexts {
		return fmt.Errorf("texts of %d bytes, at most %d", n, maxTexts)
	}
	home := c.Targets[0].Host.Namespace
	at := func(what string, key disruption.Key) error {
		if !isName(key.Name) || !isName(key.Namespace) {
			return fmt.Errorf("%s %.300q is not NAMESPACE/NAME", what, key)
		}
		if key.Namespace != home {
			return fmt.Errorf("%s %s is not in namespace %s, which is the host's", what, key, home)
		}
		return nil
	}
	for _, t := range c.Targets {
		if err := at("host", t.Host); err != nil {
			return err
		}
		if err := at("Machine", t.Machine); err != nil {
			return err
		}
		if t.Node != "" && !isName(t.Node) {
			return fmt.Errorf("node %.300q is no name", t.Node)
		}
	}
	if c.Pool != (Pool{}) {
		if k := c.Pool.Kind; k != disruption.PoolMachineDeployment && k != disruption.PoolMachineSet {
			return fmt.Errorf("pool %.300q: %w", c.Pool, errPool)
		}
		if err := at("pool", c.Pool.Key); err != nil {
			return err
		}
	}
	if c.Decision == api.PlanReplace {
		if c.Pool == (Pool{}) {
			return fmt.Errorf("decision %s without pool", c.Decision)
		}
		return at("replacement", c.Replacement)
	}
	return c.faultAlone()
}

// faultAlone is fault of a command without replacement.
func (c *Command) faultAlone() error {
	switch {
	case len(c.Targets) != 1:
		return fmt.Errorf("decision %s of %d hosts, and it is of one", c.Decision, len(c.Targets))
	case c.Replacement != disruption.Key{}:
		return fmt.Errorf("decision %s with a replacement", c.Decision)
	case slices.Contains([]Stage{stageDeploying, stageDraining, stageReleasing, stageWithdrawing}, c.Stage):
		return fmt.Errorf("decision %s has no stage %s", c.Decision, c.Stage)
	}
	return nil
}

// of reports whether the record is of that host, and not of one that it is a copy of: where clusterctl moves
// objects, or a backup brings them back, all Machines are new ones.
func (c *Command) of(h Host) bool {
	return c.Targets[0].Host == h.Key && c.Targets[0].HostUID == h.UID
}

// same reports whether o is the same work, however far.
func (c *Command) same(o Command) bool {
	return c.ID == o.ID && c.Decision == o.Decision && c.Pool == o.Pool && c.Replacement == o.Replacement &&
		c.Newest.Equal(o.Newest) && slices.Equal(c.Targets, o.Targets)
}

// unmarked says why the owner does not show that the command has changed it; "" = it does.
func (c *Command) unmarked(s *Seen) string {
	if s.Owner.Found() && !s.Owner.ours(c) {
		return fmt.Sprintf("somebody has removed the mark %s of %s", LabelCommand, c.Pool)
	}
	return ""
}

// unproven says why nothing of the target may be disrupted: its node was not tainted by this command, or
// belongs to another Machine; "" = it may.
func (c *Command) unproven(s *Seen) string {
	if why := c.unmarked(s); why != "" {
		return why
	}
	t, node, machine := c.target(), s.Nodes[c.At], s.Machines[c.At]
	switch {
	case t.Node == "" || machine.Node != t.Node:
		return fmt.Sprintf("Machine %s has node %q, and the command is of %q", t.Machine, machine.Node, t.Node)
	case !node.ours(c):
		return fmt.Sprintf("node %s lacks the mark %s", t.Node, LabelCommand)
	}
	return ""
}
