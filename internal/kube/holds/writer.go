package holds

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	annotationWriter = "ironic-throttle.metal3.io/writer"
	// annotationBefore has the writer of another pod that was there before.
	annotationBefore = "ironic-throttle.metal3.io/writer-before"
)

// remedy is for whoever has two processes and no election.
const remedy = "without IRONIC_THROTTLE_LEADER_ELECT, one throttle at a time may use these ConfigMaps: one replica, best with strategy Recreate"

// writer is who writes: what all shards of a Map have in common.
type writer struct {
	pod     string // "" = unknown
	name    string // of this Map alone
	elected bool
	leading func() bool
	// packing is held by the one shard that packs or unpacks: side by side they would
	// need eight times the memory, and the CPU is no faster for it.
	packing sync.Mutex
}

func newWriter(o Options) *writer {
	w := &writer{pod: o.Identity, name: strings.ToLower(rand.Text()), elected: o.Leading != nil, leading: o.Leading}
	if w.pod != "" { // a container that was started anew in the same pod is another process
		w.name = w.pod + "_" + w.name[:8]
	}
	if w.leading == nil {
		w.leading = func() bool { return true }
	}
	return w
}

// podOf is the pod of a writer.
func podOf(name string) string {
	if end := strings.LastIndexByte(name, '_'); end >= 0 {
		return name[:end]
	}
	return name
}

// sign puts our name on a ConfigMap, and keeps that of the pod before.
func (w *writer) sign(meta *metav1.ObjectMeta) {
	if before := meta.Annotations[annotationWriter]; before != "" && podOf(before) != podOf(w.name) {
		metav1.SetMetaDataAnnotation(meta, annotationBefore, before)
	}
	metav1.SetMetaDataAnnotation(meta, annotationWriter, w.name)
}

// may fails with ErrTakenOver where another one has signed after us.
func (w *writer) may(annotations map[string]string) error {
	name := annotations[annotationWriter]
	switch {
	case name == w.name || name == "":
		return nil
	case w.elected:
		return fmt.Errorf("%w: %s", ErrTakenOver, name)
	default:
		return fmt.Errorf("%w: %s; %s", ErrTakenOver, name, remedy)
	}
}

// newer is the one that has taken the ledger from a process of our pod; "" where none
// has. Whoever took it after the one that was seen already counts, too.
func (w *writer) newer(annotations map[string]string, seen string) string {
	name, before := annotations[annotationWriter], annotations[annotationBefore]
	if seen == "" && podOf(before) != w.pod {
		return ""
	}
	return name
}
