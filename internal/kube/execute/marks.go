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

// Names on objects.
const (
	prefix = "ironic-throttle.metal3.io/"
	// commandMark is a label on hosts, Machines and owners that a command has changed: its id, and a word besides. As an
	// annotation, on the BareMetalHost, it is the record.
	commandMark = prefix + "command"
	// plannedMark lets the work of a host wait behind everybody.
	plannedMark = prefix + "planned"
	// executeMark is "true" on an owner where plans may be carried out.
	executeMark = prefix + "execute"
	// stoppedMark is on an owner, and says why nothing is carried out there until somebody removes it.
	stoppedMark = prefix + "execute-stopped"
	// deleteMark tells Cluster API which Machine goes first when its owner gets smaller.
	deleteMark = "cluster.x-k8s.io/delete-machine"
	// taintKey is of the taint that keeps new pods off a node that goes. Its value is the command's id.
	taintKey = prefix + "disrupting"
)

// The label is ID, or ID.WORD.REPLICAS on an owner: what the command has done to its replicas, with the number that was
// written. Cluster API does not hand labels on to MachineSets, annotations it does.
const (
	wordUp   = "up"   // for the replacement
	wordDown = "down" // for the Machine that goes
	wordBack = "back" // the replacement taken back
	wordEnd  = "end"  // nothing any more: a write that is still on its way meets another version
	wordKept = "kept" // on a host: it had plannedMark before, which is somebody's
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

// others reports whether another command has.
func (r *record) others(o client.Object) bool { return o.GetLabels()[commandMark] != "" && !r.ours(o) }

// mark is the value of deleteMark by which ours is known.
func mark(id string) string { return "ironic-throttle-" + id }

// marks is a write of the label, nil to remove it, and of annotations.
func marks(what string, on client.Object, label any, annotations map[string]any) write {
	return write{what: what, on: on, labels: map[string]any{commandMark: label}, annotations: annotations}
}

// plans reports whether the work of a host is marked as planned by this command.
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

// clean removes our marks from a host, plannedMark unless that is somebody's.
func clean(h *objects.Host) write {
	w := marks("removes its marks", h, nil, map[string]any{commandMark: nil, plannedMark: nil})
	if _, word, _ := done(h); word == wordKept {
		delete(w.annotations, plannedMark)
	}
	return w
}

// markMachine says which Machine goes first.
func (r *record) markMachine(m *objects.Machine) write {
	var annotations map[string]any
	if r.scales() {
		annotations = map[string]any{deleteMark: mark(r.ID)}
	}
	return marks("marks the Machine", m, r.ID, annotations)
}

// unmark removes our marks from a Machine: deleteMark if it is as we have set it.
func unmark(m *objects.Machine) write {
	var annotations map[string]any
	if id, _, _ := done(m); m.Annotations[deleteMark] == mark(id) {
		annotations = map[string]any{deleteMark: nil}
	}
	return marks("removes its mark", m, nil, annotations)
}

// scale changes the replicas, and says so, in one write.
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

// taintOf is the value of our taint; "" = there is none.
func taintOf(taints []corev1.Taint) string {
	for _, t := range taints {
		if t.Key == taintKey {
			return t.Value
		}
	}
	return ""
}

// taint sets our taint, or removes it where id is "".
func taint(n *corev1.Node, of disruption.Key, id string) write {
	w := write{what: "removes its taint", on: n, cluster: of}
	taints := slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t.Key == taintKey })
	if id != "" {
		w.what = "taints the node"
		taints = append(taints, corev1.Taint{Key: taintKey, Value: id, Effect: corev1.TaintEffectNoSchedule})
	}
	w.spec = map[string]any{"taints": taints}
	return w
}
