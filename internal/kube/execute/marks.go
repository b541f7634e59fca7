package execute

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// Labels, annotations and a taint.
const (
	prefix = "ironic-throttle.metal3.io/"
	// commandMark is the label of a command on the hosts, Machines and owners that it has changed: ID, or ID.WORD. The
	// annotation of that name, on the BareMetalHost, is the record.
	commandMark = prefix + "command"
	// plannedMark lets the work of a host wait behind all other work.
	plannedMark = prefix + "planned"
	// executeMark is "true" on an owner whose plans the throttle may carry out.
	executeMark = prefix + "execute"
	// stoppedMark says, on an owner, why the throttle carries out nothing there until somebody removes it.
	stoppedMark = prefix + "execute-stopped"
	// deleteMark tells Cluster API which Machine goes first when its owner gets smaller.
	deleteMark = "cluster.x-k8s.io/delete-machine"
	// taintKey is the key of the taint that keeps new pods off a node that goes. Its value is the command's id.
	taintKey = prefix + "disrupting"
)

// On an owner, the label is ID.WORD.REPLICAS: what the command has done to the replicas, and the number that it wrote.
// It is a label because Cluster API copies annotations of a MachineDeployment to its MachineSets, but no labels.
const (
	wordUp   = "up"   // for the replacement
	wordDown = "down" // for the Machine that goes
	wordBack = "back" // the replacement taken back
	wordEnd  = "end"  // nothing: an earlier write that is still on its way meets another version
	wordKept = "kept" // on a host: somebody had set plannedMark before
)

// done reads the label of an object.
func done(o client.Object) (id, word string, replicas int) {
	id, rest, _ := strings.Cut(o.GetLabels()[commandMark], ".")
	word, number, _ := strings.Cut(rest, ".")
	replicas, _ = strconv.Atoi(number)
	return id, word, replicas
}

// ours reports whether the command has marked the object.
func (r *record) ours(o client.Object) bool {
	id, _, _ := done(o)
	return found(o) && id == r.ID
}

// others reports whether another command has marked the object.
func (r *record) others(o client.Object) bool { return o.GetLabels()[commandMark] != "" && !r.ours(o) }

// mark returns our value of deleteMark.
func mark(id string) string { return "ironic-throttle-" + id }

// marks returns a write of the label (nil removes it) and of annotations.
func marks(what string, on client.Object, label any, annotations map[string]any) write {
	return write{what: what, on: on, labels: map[string]any{commandMark: label}, annotations: annotations}
}

// plans reports whether this command has marked the host, and its work is planned.
func (r *record) plans(h *objects.Host) bool {
	return r.ours(h) && h.Annotations[plannedMark] == "true"
}

func (r *record) plan(h *objects.Host) write {
	label := r.ID
	if _, word, _ := done(h); word == wordKept || !r.ours(h) && h.Annotations[plannedMark] == "true" {
		label += "." + wordKept
	}
	return marks("marks its host as planned work", h, label, map[string]any{plannedMark: "true"})
}

// clean removes our marks from a host, but not a plannedMark that somebody else set.
func clean(h *objects.Host) write {
	w := marks("removes its marks", h, nil, map[string]any{commandMark: nil, plannedMark: nil})
	if _, word, _ := done(h); word == wordKept {
		delete(w.annotations, plannedMark)
	}
	return w
}

// markMachine marks the Machine that goes.
func (r *record) markMachine(m *objects.Machine) write {
	var annotations map[string]any
	if r.scales() {
		annotations = map[string]any{deleteMark: mark(r.ID)}
	}
	return marks("marks the Machine", m, r.ID, annotations)
}

// unmark removes our marks from a Machine, and deleteMark only if it has our value.
func unmark(m *objects.Machine) write {
	var annotations map[string]any
	if id, _, _ := done(m); m.Annotations[deleteMark] == mark(id) {
		annotations = map[string]any{deleteMark: nil}
	}
	return marks("removes its mark", m, nil, annotations)
}

// scale changes the replicas and the label in one write.
func (r *record) scale(o *objects.Owner, by int, word string) write {
	from := objects.Replicas(o)
	to := max(0, from+by)
	w := marks("makes the owner smaller", o, fmt.Sprintf("%s.%s.%d", r.ID, word, to), nil)
	w.spec, w.from, w.to = map[string]any{"replicas": to}, strconv.Itoa(from), strconv.Itoa(to)
	if by > 0 {
		w.what = "makes the owner larger"
	} else if by == 0 {
		w.what, w.spec = "lets no earlier write pass", nil
	}
	return w
}

// taintOf returns the value of our taint; "": there is none.
func taintOf(taints []corev1.Taint) string {
	for _, t := range taints {
		if t.Key == taintKey {
			return t.Value
		}
	}
	return ""
}

// taint sets our taint, or removes it if id is "".
func taint(n *corev1.Node, cluster disruption.Key, id string) write {
	w := write{what: "removes its taint", on: n, cluster: cluster}
	taints := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t.Key == taintKey })
	if id != "" {
		w.what = "taints the node"
		taints = append(taints, corev1.Taint{Key: taintKey, Value: id, Effect: corev1.TaintEffectNoSchedule})
	}
	w.spec = map[string]any{"taints": taints}
	return w
}
