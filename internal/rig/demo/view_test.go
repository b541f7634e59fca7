package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// The last frame said 99 of 100 where the summary said 100: a view shows one sample in
// many, and the last one was rarely among them.
func TestTheLastFrameIsTheEnd(t *testing.T) {
	for name, row := range map[string]struct {
		terminal bool
		want     string
	}{
		"lines":    {false, "provisioned 4/4"},
		"terminal": {true, "4 of 4, 0 given up"},
	} {
		m := newStorm()
		var out screen
		view := newView(&stage{opt: Options{Speed: 1}}, m.meter, Output{Stderr: &out, Terminal: row.terminal})
		for i := range m.now.hosts {
			m.now.at = m.now.at.Add(time.Millisecond)
			m.now.hosts[i].State = api.BMHProvisioned
			m.add(m.copy())
			view.show(m.meter)
		}
		view.end(m.meter)
		if !strings.Contains(out.String(), row.want) {
			t.Errorf("%s: no %q in\n%s", name, row.want, out.String())
		}
	}
}
