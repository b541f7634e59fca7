//go:build linux

package attack

import (
	"fmt"
	"io"
	"sync"
	"testing"
	"text/tabwriter"
)

// table is what make chaos shows at its end.
var table rows

type rows struct {
	mu  sync.Mutex
	all [][4]string
}

// add is called at the end of a test; a test that has failed by then says so.
func (r *rows) add(t *testing.T, times int, fault, result string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	verdict := "ok"
	if t.Failed() {
		verdict = "FAILED"
	}
	r.all = append(r.all, [4]string{fault, fmt.Sprint(times), verdict, result})
}

func (r *rows) print(to io.Writer) {
	if len(r.all) == 0 {
		return
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "\nfault\ttimes\t\twhat was seen")
	for _, row := range r.all {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", row[0], row[1], row[2], row[3])
	}
	_ = w.Flush()
}
