package execute

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/objects"
	"github.com/ironic-throttle/ironic-throttle/pkg/disruption"
)

// seen is what a command is about, read at one time. What is not there has no UID.
type seen struct {
	hosts    []*objects.Host // of the targets, as machines and nodes
	machines []machine
	nodes    []node
	spare    *objects.Host
	owner    *objects.Owner
	members  []machine     // of the owner
	pods     []*corev1.Pod // that must leave the node of the target that is drained
}

// machine is a Machine with what leads to it.
type machine struct {
	*objects.Machine
	owner string // KIND NAMESPACE/NAME of the pool, or of whatever else owns it; "": nobody does
	set   string // its MachineSet
	// host is NAMESPACE/NAME of the one that it has chosen, ready whether its node is, and away why that is not known. They
	// are read of Machines that are younger than the record's Newest.
	host  string
	ready bool
	away  *away
}

// node is a node with its cluster.
type node struct {
	*corev1.Node
	cluster disruption.Key
	away    *away
}

// away is why a workload cluster was not read; nil: it was.
type away struct {
	cluster disruption.Key
	err     error
}

func (a *away) Error() string { return fmt.Sprintf("cluster %s cannot be read: %v", a.cluster, a.err) }

// write is one change. It holds only for the version of the object that was seen.
type write struct {
	what    string // it does: "marks the Machine"
	on      client.Object
	cluster disruption.Key // of a node or pod
	// A nil value removes a label or annotation.
	labels, annotations, spec map[string]any
	remove, evict             bool   // in place of these
	from, to                  string // for the log
}

// keyOf is NAMESPACE/NAME, or the name of a node.
func keyOf(o client.Object) string {
	return disruption.Key{Namespace: o.GetNamespace(), Name: o.GetName()}.String()
}

func found(o client.Object) bool { return o.GetUID() != "" }

func deleted(o client.Object) bool { return o.GetDeletionTimestamp() != nil }

// name is KIND NAMESPACE/NAME.
func name(o client.Object) string {
	return o.GetObjectKind().GroupVersionKind().Kind + " " + keyOf(o)
}

// ours reports whether a command has marked the object.
func (r *record) ours(o client.Object) bool {
	id, _, _ := done(o)
	return found(o) && id == r.ID
}

// others reports whether another command has.
func (r *record) others(o client.Object) bool { return o.GetLabels()[commandMark] != "" && !r.ours(o) }

// What a command has done to the replicas of an owner is told by the owner's label: ID.WORD.REPLICAS, with the number that
// was written. Cluster API does not hand labels on to MachineSets, annotations it does.
const (
	wordUp   = "up"   // for the replacement
	wordDown = "down" // for a target, whose number follows
	wordBack = "back" // the replacement taken back
	wordEnd  = "end"  // nothing any more: a write that is still on its way meets another version
)

// done reads the label of an object.
func done(o client.Object) (id, word string, replicas int) {
	id, rest, _ := strings.Cut(o.GetLabels()[commandMark], ".")
	word, number, _ := strings.Cut(rest, ".")
	replicas, _ = strconv.Atoi(number)
	return id, word, replicas
}

// lowered is the word for the target that is worked on.
func (r *record) lowered() string { return wordDown + strconv.Itoa(r.At) }

// mark is the value of deleteMark by which ours is known.
func mark(id string) string { return "ironic-throttle-" + id }

func consumer(h *objects.Host) string {
	c := h.Spec.ConsumerRef
	if c == nil || c.Name == "" {
		return ""
	}
	return c.Kind + " " + cmp.Or(c.Namespace, h.Namespace) + "/" + c.Name
}

// infrastructure is what claims the host of a Machine, as consumer has it.
func (m *machine) infrastructure() string {
	ref := m.Spec.InfrastructureRef
	if ref.Name == "" {
		return ""
	}
	return ref.Kind + " " + m.Namespace + "/" + ref.Name
}

func free(h *objects.Host) bool {
	state := h.Status.Provisioning.State
	return consumer(h) == "" && (state == "available" || state == "ready")
}

func replicas(o *objects.Owner) int {
	if o.Spec.Replicas == nil {
		return 1
	}
	return *o.Spec.Replicas
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

// unmark removes our marks from a Machine: deleteMark if it is as we have set it.
func unmark(m *objects.Machine) write {
	w := write{what: "removes its mark", on: m, labels: map[string]any{commandMark: nil}}
	if id := m.Labels[commandMark]; m.Annotations[deleteMark] == mark(id) {
		w.annotations = map[string]any{deleteMark: nil}
	}
	return w
}

// clean removes our marks from a host, plannedMark among them unless that is somebody's.
func clean(h *objects.Host, keep bool) write {
	w := write{what: "removes its marks", on: h, labels: map[string]any{commandMark: nil}, annotations: map[string]any{commandMark: nil}}
	if !keep {
		w.annotations[plannedMark] = nil
	}
	return w
}

// scale changes the replicas, and says so, in one write.
func (r *record) scale(o *objects.Owner, by int, word string) write {
	from := replicas(o)
	to := max(0, from+by)
	w := write{
		what: "makes the owner smaller", on: o, labels: map[string]any{commandMark: fmt.Sprintf("%s.%s.%d", r.ID, word, to)},
		spec: map[string]any{"replicas": to}, from: strconv.Itoa(from), to: strconv.Itoa(to),
	}
	if by > 0 {
		w.what = "makes the owner larger"
	} else if by == 0 {
		w.what, w.spec = "lets no earlier write pass", nil
	}
	return w
}
