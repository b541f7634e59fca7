package admission

import (
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// resizes lets the limits of a process in adaptive mode change at any moment: windows of boots are far
// longer than a history. Whatever they are below their ceilings, the truth stays within these (SZ-8).
func (w *world) resizes(process int) {
	if !w.cfg.Adaptive {
		return
	}
	w.after(time.Duration(5+w.sizing.IntN(300))*time.Second, func() {
		if process != w.process {
			return
		}
		for _, l := range w.c.sizer.by {
			l.Restore(w.clock(), sizing.Record{Limit: 1 + w.sizing.IntN(l.Ceiling())})
		}
		w.c.update(w.clock(), func() { w.c.resize(w.clock()) })
		w.runs.Resized++
		w.resizes(process)
	})
}
