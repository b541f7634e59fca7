package execute

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/capiplayer"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sight is a command with what is seen of it, and may be changed.
type sight struct {
	record
	*seen
	moment
	newer *machine // the replacement
}

func meta(o client.Object, name string) {
	o.SetNamespace("metal3")
	o.SetName(name)
	o.SetUID(types.UID(name))
	o.SetCreationTimestamp(metav1.NewTime(noon.Add(-time.Hour)))
	o.SetLabels(map[string]string{})
	o.SetAnnotations(map[string]string{})
}

func hostOf(name, state, claimedBy string) *objects.Host {
	h := objects.As(&objects.Host{}, capiplayer.Hosts)
	meta(h, name)
	h.Spec.Online, h.Status.Provisioning.State = true, state
	if claimedBy != "" {
		h.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", Name: claimedBy}
	}
	return h
}

func machineOf(name string) machine {
	m := machine{Machine: objects.As(&objects.Machine{}, capiplayer.Machines), set: "set"}
	meta(m, name)
	m.Spec.InfrastructureRef = objects.Reference{Kind: "Metal3Machine", Name: name}
	m.Status.NodeRef.Name = "node-of-" + name
	return m
}

// look is what is seen at a step where nothing is in the way: of a release of machine-1 on host-1, or of its replacement by
// machine-2 on host-2. machine-0 is of the pool too.
func look(at step, decision api.PlanDecision) *sight {
	s := &sight{moment: moment{now: noon, live: true}, seen: &seen{spare: &objects.Host{}, owner: objects.As(&objects.Owner{}, capiplayer.Deployments)}}
	s.record = record{
		ID: "command1", Decision: decision, Reason: api.PlanUnderutilized, Pool: "MachineDeployment metal3/workers", Step: at,
		Host: "metal3/host-1", HostUID: "host-1", Machine: "metal3/machine-1", MachineUID: "machine-1", Node: "node-of-machine-1",
		Consumer: "Metal3Machine metal3/machine-1", PowerOff: true,
		Newest: noon.Add(-time.Hour), Started: noon, Since: noon,
	}
	s.host = hostOf("host-1", "provisioned", "machine-1")
	s.host.Labels[commandMark], s.host.Annotations[plannedMark] = s.ID, "true"
	target := machineOf("machine-1")
	s.machine = target.Machine
	n := &corev1.Node{}
	meta(n, "node-of-machine-1")
	if at != begun {
		n.Spec.Taints = []corev1.Taint{{Key: taintKey, Value: s.ID, Effect: corev1.TaintEffectNoSchedule}}
	}
	s.node.Node = n
	meta(s.owner, "workers")
	s.owner.Annotations[executeMark] = "true"
	s.owner.Spec.Replicas = new(2)
	s.members = []machine{machineOf("machine-0"), target}
	if decision == api.PlanReplace {
		s.Spare = "metal3/host-2"
		s.spare = hostOf("host-2", "available", "")
		if at != begun {
			s.spare = hostOf("host-2", "provisioned", "machine-2")
			newer := machineOf("machine-2")
			newer.CreationTimestamp, newer.ready, newer.host = metav1.NewTime(noon), true, "metal3/host-2"
			s.members = append(s.members, newer)
			s.owner.Spec.Replicas, s.owner.Labels[commandMark] = new(3), "command1.up.3"
		}
	}
	if len(s.members) > 2 {
		s.newer = &s.members[2]
	}
	return s
}

// mark makes the Machine one that the command has marked.
func (s *sight) marked() {
	s.machine.Labels[commandMark], s.machine.Annotations[deleteMark] = s.ID, mark(s.ID)
}

// lowers makes the owner one that the command has made smaller.
func (s *sight) lowers() {
	s.marked()
	s.owner.Labels[commandMark], s.owner.Spec.Replicas = "command1.down.1", new(1)
}

// left makes the Machine gone, and its host free.
func (s *sight) left() {
	s.lowers()
	s.machine = &objects.Machine{}
	s.members = s.members[:1]
	s.host = hostOf("host-1", "available", "")
}

func goes(o client.Object) { o.SetDeletionTimestamp(&metav1.Time{Time: noon}) }

// told is a move in words: a write that only writes down a step is an arrow.
func told(m move) string {
	var all []string
	for _, w := range m.writes {
		what := w.what
		if text, ok := w.annotations[commandMark].(string); ok {
			what = "-> " + w.to
			if _, why, ok := strings.Cut(text, `"why":"`); ok {
				what += ": " + strings.TrimSuffix(why, `"}`)
			}
		} else if w.from != "" && !w.evict {
			what += " " + w.from + " " + w.to
		}
		all = append(all, what)
	}
	text := strings.Join(all, ", ")
	if m.stuck {
		text += " stuck"
	}
	if m.wait != "" {
		text += " waits: " + m.wait
	}
	return strings.TrimSpace(text)
}

const (
	release     = api.PlanRelease
	replace     = api.PlanReplace
	reprovision = api.PlanReprovision
)

func TestSteps(t *testing.T) {
	for _, row := range []struct {
		at       step
		decision api.PlanDecision
		name     string
		change   func(s *sight)
		want     string
	}{
		{begun, release, "its node is tainted first", nil, "taints the node"},
		{begun, release, "tainted", func(s *sight) { s.node.Spec.Taints = []corev1.Taint{{Key: taintKey, Value: "command1"}} }, "-> draining"},
		{begun, release, "another process", func(s *sight) { s.live = false }, "-> undoing: the process that began it has ended, or its record was changed, before anything else had"},
		{begun, release, "late", func(s *sight) { s.now = noon.Add(61 * time.Second) }, "-> undoing: nothing could be changed for 1m0s, and the plan is too old now"},
		{begun, release, "a host waits", func(s *sight) { s.hold = "a host waits" }, "-> undoing: a host waits"},
		{begun, release, "paused", func(s *sight) { s.owner.Spec.Paused = true }, "-> undoing: MachineDeployment metal3/workers is paused"},
		{begun, release, "not settled", func(s *sight) { s.owner.Spec.Replicas = new(3) }, "-> undoing: MachineDeployment metal3/workers has 2 Machines and wants 3"},
		{begun, release, "rolled out", func(s *sight) { s.members[0].set = "older" }, "-> undoing: MachineDeployment metal3/workers is being rolled out: Cluster API chooses which of its MachineSets gets smaller"},
		{begun, release, "not allowed", func(s *sight) { delete(s.owner.Annotations, executeMark) }, "-> undoing: MachineDeployment metal3/workers does not allow it any more (annotation ironic-throttle.metal3.io/execute)"},
		{begun, release, "stopped", func(s *sight) { s.owner.Annotations[stoppedMark] = "no" }, "-> undoing: MachineDeployment metal3/workers is stopped: no"},
		{begun, release, "owner gone", func(s *sight) { goes(s.owner) }, "-> undoing: MachineDeployment metal3/workers is gone, or part of another command"},
		{begun, release, "another owner", func(s *sight) { s.members, s.owner.Spec.Replicas = s.members[:1], new(1) }, "-> undoing: Machine metal3/machine-1 has another owner now"},
		{begun, release, "Machine gone", func(s *sight) { s.machine.UID = "other" }, "-> undoing: Machine metal3/machine-1 is gone, or being deleted by somebody else"},
		{begun, release, "Machine goes", func(s *sight) { goes(s.machine); s.members = s.members[:1]; s.owner.Spec.Replicas = new(1) }, "-> undoing: Machine metal3/machine-1 is gone, or being deleted by somebody else"},
		{begun, release, "marked by somebody", func(s *sight) { s.machine.Annotations[deleteMark] = "" }, "-> undoing: Machine metal3/machine-1 is marked by somebody else (annotation cluster.x-k8s.io/delete-machine, label ironic-throttle.metal3.io/command)"},
		{begun, release, "another command", func(s *sight) { s.machine.Labels[commandMark] = "command2" }, "-> undoing: Machine metal3/machine-1 is marked by somebody else (annotation cluster.x-k8s.io/delete-machine, label ironic-throttle.metal3.io/command)"},
		{begun, release, "node of another command", func(s *sight) { s.node.Spec.Taints = []corev1.Taint{{Key: taintKey, Value: "command2"}} }, "-> undoing: node node-of-machine-1 is part of another command"},
		{begun, release, "node gone", func(s *sight) { s.node.UID = "" }, "-> undoing: node node-of-machine-1 is gone"},
		{begun, release, "do not disrupt", func(s *sight) { s.node.Annotations["karpenter.sh/do-not-disrupt"] = "true" }, "-> undoing: host metal3/host-1, its Machine or its node may not be disrupted (annotation do-not-disrupt)"},
		{begun, release, "away", func(s *sight) { s.node.away = &away{disruption.Key{Name: "c"}, errors.New("no")} }, "waits: cluster c answers"},
		{begun, replace, "the spare", func(s *sight) { s.node.Spec.Taints = []corev1.Taint{{Key: taintKey, Value: "command1"}} }, "marks its host as planned work"},
		{begun, replace, "spare taken", func(s *sight) {
			s.node.Spec.Taints = []corev1.Taint{{Key: taintKey, Value: "command1"}}
			s.spare.Status.Provisioning.State = "provisioning"
		}, "-> undoing: host metal3/host-2 is not free any more"},
		{begun, replace, "larger", func(s *sight) {
			s.node.Spec.Taints = []corev1.Taint{{Key: taintKey, Value: "command1"}}
			s.spare.Labels[commandMark], s.spare.Annotations[plannedMark] = s.ID, "true"
		}, "makes the owner larger 2 3"},
		{begun, replace, "it is larger", func(s *sight) { s.owner.Labels[commandMark], s.live = "command1.up.3", false }, "-> deploying"},

		{deploying, replace, "ready", nil, "-> draining"},
		{deploying, replace, "a host waits", func(s *sight) { s.hold = "a host waits" }, "waits: the drain does not begin: a host waits"},
		{deploying, replace, "not yet", func(s *sight) { s.newer.ready = false }, "waits: replacement metal3/machine-2 becomes ready"},
		{deploying, replace, "never", func(s *sight) { s.newer.ready, s.now = false, noon.Add(4*time.Hour) }, "-> undoing: the replacement was not ready after 3h0m0s"},
		{deploying, replace, "its cluster is away for long", func(s *sight) {
			s.newer.away, s.newer.ready, s.now = &away{disruption.Key{Name: "c"}, errors.New("no")}, false, noon.Add(4*time.Hour)
		}, "stuck waits: cluster c answers"},
		{deploying, replace, "none", func(s *sight) { s.members, s.spare = s.members[:2], hostOf("host-2", "available", "") }, "waits: Cluster API makes a Machine for MachineDeployment metal3/workers"},
		{deploying, replace, "another host", func(s *sight) { s.newer.host, s.spare = "metal3/host-7", hostOf("host-2", "available", "") }, "stops execution for the owner"},
		{deploying, replace, "claimed", func(s *sight) { s.spare = hostOf("host-2", "provisioning", "x") }, "-> undoing: host metal3/host-2 was claimed by Metal3Machine metal3/x"},
		{deploying, replace, "claimed, with our mark", func(s *sight) { s.spare = hostOf("host-2", "provisioning", "x"); s.spare.Labels[commandMark] = s.ID }, "removes its marks"},
		{deploying, replace, "it is deleted", func(s *sight) { goes(s.newer) }, "waits: replacement metal3/machine-2 is being deleted, and another one comes"},
		{deploying, replace, "smaller", func(s *sight) { s.owner.Spec.Replicas = new(2) }, "-> undoing: somebody made MachineDeployment metal3/workers smaller before the replacement was ready"},
		{deploying, replace, "label gone", func(s *sight) { delete(s.owner.Labels, commandMark) }, "-> undoing: somebody has removed the label ironic-throttle.metal3.io/command of MachineDeployment metal3/workers"},
		{deploying, replace, "paused", func(s *sight) { s.host.Annotations["baremetalhost.metal3.io/paused"] = "" }, "waits: BareMetalHost metal3/host-1 is paused"},

		{draining, release, "no pods", nil, "-> going"},
		{draining, release, "pods", func(s *sight) { s.pods = podsOf("a", "b") }, "evicts a pod, evicts a pod waits: 2 pods leave node node-of-machine-1"},
		{draining, release, "a host waits", func(s *sight) { s.pods, s.hold = podsOf("a"), "a host waits" }, "evicts a pod waits: 1 pods leave node node-of-machine-1"},
		{draining, release, "a pod that may not", func(s *sight) {
			s.pods = podsOf("a")
			s.pods[0].Annotations = map[string]string{"karpenter.sh/do-not-disrupt": ""}
		}, "waits: pod a may not be disrupted; 1 pods leave node node-of-machine-1"},
		{draining, release, "a pod that goes", func(s *sight) { s.pods = podsOf("a"); goes(s.pods[0]) }, "waits: 1 pods leave node node-of-machine-1"},
		{draining, release, "for long", func(s *sight) { s.pods, s.now = podsOf("a"), noon.Add(61*time.Minute) }, "-> undoing: 1 pods have not left node node-of-machine-1 in 1h0m0s, such as a"},
		{draining, replace, "for long", func(s *sight) { s.pods, s.now = podsOf("a"), noon.Add(61*time.Minute) }, "evicts a pod stuck waits: 1 pods leave node node-of-machine-1"},
		{draining, release, "not empty any more", func(s *sight) { s.Reason, s.pods = api.PlanEmpty, podsOf("a") }, "-> undoing: node node-of-machine-1 is not empty any more: it has pod a"},
		{draining, release, "not tainted", func(s *sight) { s.node.Spec.Taints = nil }, "-> undoing: node node-of-machine-1 lacks the taint ironic-throttle.metal3.io/disrupting=command1"},
		{draining, release, "another node", func(s *sight) { s.machine.Status.NodeRef.Name = "x" }, `-> undoing: Machine metal3/machine-1 has node \"x\", and the command is of \"node-of-machine-1\"`},
		{draining, release, "away", func(s *sight) { s.node.away = &away{disruption.Key{Name: "c"}, errors.New("no")} }, "waits: cluster c answers"},
		{draining, replace, "not ours", func(s *sight) { s.owner.Labels[commandMark] = "" }, "-> undoing: somebody has removed the label ironic-throttle.metal3.io/command of MachineDeployment metal3/workers"},
		{draining, replace, "not allowed", func(s *sight) { s.owner.Annotations[executeMark] = "no" }, "-> undoing: MachineDeployment metal3/workers does not allow it any more (annotation ironic-throttle.metal3.io/execute)"},

		{going, release, "mark", nil, "marks the Machine"},
		{going, release, "smaller", (*sight).marked, "makes the owner smaller 2 1"},
		{going, release, "it is smaller", (*sight).lowers, "-> leaving"},
		{going, release, "its host is planned", func(s *sight) { delete(s.host.Annotations, plannedMark) }, "marks its host as planned work"},
		{going, release, "rolled out", func(s *sight) { s.members[0].set = "older" }, "waits: MachineDeployment metal3/workers is being rolled out: Cluster API chooses which of its MachineSets gets smaller"},
		{going, reprovision, "mark", nil, "marks the Machine"},
		{going, reprovision, "delete", func(s *sight) { s.machine.Labels[commandMark] = s.ID }, "deletes the Machine"},
		{going, reprovision, "deleted", func(s *sight) { s.machine.Labels[commandMark] = s.ID; goes(s.machine) }, "-> leaving"},

		{leaving, release, "Cluster API has not chosen", (*sight).lowers, "waits: Cluster API deletes a Machine of MachineDeployment metal3/workers"},
		{leaving, release, "it goes", func(s *sight) { s.lowers(); goes(s.machine) }, "waits: Machine metal3/machine-1 is being deleted"},
		{leaving, release, "another one goes", func(s *sight) { s.lowers(); goes(s.members[0]) }, "stops execution for the owner"},
		{leaving, release, "another one went", func(s *sight) { s.lowers(); goes(s.members[0]); s.owner.Annotations[stoppedMark] = "x" }, "-> undoing: Cluster API let another Machine of MachineDeployment metal3/workers go than metal3/machine-1, which is marked"},
		{leaving, release, "larger again", func(s *sight) { s.lowers(); s.owner.Spec.Replicas = new(2) }, "-> undoing: somebody made MachineDeployment metal3/workers larger again before Cluster API deleted a Machine"},
		{leaving, release, "its host is cleaned", func(s *sight) { s.left(); s.host.Status.Provisioning.State = "deprovisioning" }, "waits: host metal3/host-1 is deprovisioning"},
		{leaving, release, "power", (*sight).left, "powers the host off online offline"},
		{leaving, release, "somebody took the host", func(s *sight) {
			s.left()
			s.host.Spec.ConsumerRef = &corev1.ObjectReference{Kind: "Metal3Machine", Name: "x"}
		}, "-> ending"},
		{leaving, release, "all done", func(s *sight) { s.left(); s.host.Spec.Online = false }, "-> ending"},
		{leaving, reprovision, "no other Machine yet", func(s *sight) { s.left(); s.PowerOff, s.owner.Spec.Replicas = false, new(2) }, "waits: MachineDeployment metal3/workers gets a Machine that is ready"},
		{leaving, reprovision, "another Machine", func(s *sight) {
			s.left()
			s.PowerOff, s.owner.Spec.Replicas = false, new(2)
			s.members = append(s.members, machineOf("machine-2"))
			s.members[1].CreationTimestamp, s.members[1].ready = metav1.NewTime(noon), true
		}, "-> ending"},

		{undoing, replace, "mark", nil, "marks the Machine"},
		{undoing, replace, "smaller", func(s *sight) { s.newer.Labels[commandMark], s.newer.Annotations[deleteMark] = s.ID, mark(s.ID) }, "makes the owner smaller 3 2"},
		{undoing, replace, "it goes", func(s *sight) { s.newer.Labels[commandMark] = s.ID; s.backs(); goes(s.newer) }, "waits: replacement metal3/machine-2 goes"},
		{undoing, replace, "another one goes", func(s *sight) { s.newer.Labels[commandMark] = s.ID; s.backs(); goes(s.members[0]) }, "stops execution for the owner"},
		{undoing, replace, "gone", func(s *sight) { s.backs(); s.members = s.members[:2] }, "lets no earlier write pass 2 2"},
		{undoing, replace, "smaller by somebody", func(s *sight) { s.owner.Spec.Replicas = new(2) }, "lets no earlier write pass 2 2"},
		{undoing, replace, "none yet", func(s *sight) { s.members = s.members[:2] }, "waits: Cluster API makes a Machine for MachineDeployment metal3/workers, to be taken back"},
		{undoing, replace, "somebody deletes it", func(s *sight) { goes(s.newer) }, "waits: replacement metal3/machine-2 is being deleted by somebody else"},
		{undoing, replace, "somebody's mark", func(s *sight) { s.newer.Annotations[deleteMark] = "yes" }, "waits: Machine metal3/machine-2 is somebody else's to delete"},

		{undoing, release, "no earlier write passes", nil, "lets no earlier write pass 2 2"},
		{undoing, release, "marks", func(s *sight) { s.marked(); s.owner.Labels[commandMark] = "command1.end.2" }, "removes its mark, removes its taint"},
		{undoing, release, "taint", func(s *sight) { s.owner.Labels[commandMark] = "command1.end.2" }, "removes its taint"},
		{undoing, release, "away", func(s *sight) {
			s.owner.Labels[commandMark] = "command1.end.2"
			s.node = node{Node: &corev1.Node{}, away: &away{disruption.Key{Name: "c"}, errors.New("no")}}
		}, "waits: cluster c answers"},
		{undoing, release, "away for long", func(s *sight) {
			s.owner.Labels[commandMark], s.now = "command1.end.2", noon.Add(otherLimit+time.Second)
			s.node = node{Node: &corev1.Node{}, away: &away{disruption.Key{Name: "c"}, errors.New("no")}}
		}, "-> ending"},
		{undoing, release, "all gone", func(s *sight) { s.owner.Labels[commandMark], s.node.Spec.Taints = "command1.end.2", nil }, "-> ending"},
		{undoing, reprovision, "the owner is not touched", nil, "removes its taint"},

		{ending, replace, "owner", nil, "removes its mark"},
		{ending, replace, "spare", func(s *sight) {
			s.left()
			s.owner.Labels = nil
			s.node.UID = ""
			s.spare.Labels[commandMark] = s.ID
		}, "removes its marks"},
		{ending, release, "record", func(s *sight) { s.left(); s.owner.Labels = nil; s.node.UID = "" }, "removes its marks"},
	} {
		t.Run(string(row.at)+" "+string(row.decision)+" "+row.name, func(t *testing.T) {
			s := look(row.at, row.decision)
			if row.change != nil {
				row.change(s)
			}
			if diff := cmp.Diff(row.want, told(s.next(s.seen, s.moment))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// backs makes the owner one that is as large as before the replacement.
func (s *sight) backs() {
	s.owner.Labels[commandMark], s.owner.Spec.Replicas = "command1.back.2", new(2)
}

func podsOf(names ...string) (pods []*corev1.Pod) {
	for _, name := range names {
		pods = append(pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}})
	}
	return pods
}
