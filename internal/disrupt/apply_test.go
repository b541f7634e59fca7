package disrupt

import "context"

// Do implements Cluster.
func (w *world) Do(_ context.Context, x Write) error {
	apply := func() error { return w.apply(x) }
	if w.hook != nil {
		return w.hook(x, apply)
	}
	return apply()
}

func (w *world) find(o Object) *Object {
	switch o.Kind {
	case KindHost:
		if h := w.hosts[o.Name]; h != nil {
			return &h.Object
		}
	case KindMachine:
		if m := w.machines[o.Name]; m != nil {
			return &m.Object
		}
	case KindNode:
		if n := w.nodes[o.Name]; n != nil {
			return &n.Object
		}
	case KindPod:
		if p := w.pods[o.Name]; p != nil {
			return &p.Object
		}
	default:
		if w.owner != nil {
			return &w.owner.Object
		}
	}
	return nil
}

// apply is what the API server does with a write: all of it, if the version is that.
func (w *world) apply(x Write) error {
	o := w.find(x.Object)
	switch {
	case o == nil:
		return ErrGone
	case o.UID != x.Object.UID:
		return ErrConflict
	case x.Evict && w.guarded[o.Name]:
		return ErrBudget
	case o.Version != x.Object.Version && !x.Evict:
		return ErrConflict
	}
	w.writes = append(w.writes, x)
	w.bump(o)
	if x.Delete || x.Evict {
		o.Deleting = true
		return nil
	}
	if x.Label != nil {
		o.Label = *x.Label
	}
	w.enter(x)
	return nil
}

func (w *world) enter(x Write) {
	for key, value := range x.Annotations {
		switch key {
		case AnnotationCommand:
			w.hosts[x.Object.Name].Record = value
		case AnnotationPlanned:
			w.hosts[x.Object.Name].Planned = value != ""
		case AnnotationDelete:
			m := w.machines[x.Object.Name]
			m.Marked, m.Mark = value != "", value
		case AnnotationStopped:
			w.owner.Stopped = value
		}
	}
	if x.Replicas != nil {
		w.owner.Replicas = *x.Replicas
	}
	if x.Online != nil {
		w.hosts[x.Object.Name].Online = *x.Online
	}
	if x.Taint != nil {
		w.nodes[x.Object.Name].Tainted = *x.Taint
	}
}
