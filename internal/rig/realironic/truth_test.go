package realironic

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTruthKeepsChangesAndTheWorstGap(t *testing.T) {
	truth := &Truth{first: make(chan struct{})}
	for _, text := range []string{
		`{"began":100.0,"ended":100.01,"changes":[["u1","a","enroll"],["u2","","active"]]}` + "\n" + `{"began":100.05,`,
		`"ended":100.06,"changes":[]}` + "\n" + `{"error":"database is locked"}` + "\n",
		`{"began":100.30,"ended":100.31,"changes":[["u1","a","manageable"],["u2","",""]]}` + "\n",
		"Traceback\n",
	} {
		if _, err := truth.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	<-truth.first
	first, last := time.UnixMilli(100_010), time.UnixMilli(100_310)
	want := []Change{
		{first, "u1", "a", "enroll"}, {first, "u2", "", "active"},
		{last, "u1", "a", "manageable"}, {last, "u2", "", ""},
	}
	rounded := truth.Changes()
	for n := range rounded {
		rounded[n].At = rounded[n].At.Round(time.Millisecond)
	}
	if diff := cmp.Diff(want, rounded); diff != "" {
		t.Error(diff)
	}
	if got := truth.WorstGap().Round(time.Millisecond); got != 260*time.Millisecond {
		t.Errorf("worst gap %s, want from the beginning of a sample to the end of the next", got)
	}
	if diff := cmp.Diff([]string{"database is locked", "Traceback"}, truth.failures); diff != "" {
		t.Error(diff)
	}
}

// python runs a script as the sampler of a database that the test makes.
func python(t *testing.T, script string) (*Truth, *Ironic, error) {
	t.Helper()
	for _, name := range []string{"python3", "sqlite3"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s here: hack/ironic/install.sh brings it, and make e2e runs the real thing", name)
		}
	}
	i := &Ironic{Dir: t.TempDir()}
	i.place = place{dir: i.Dir}
	sql(t, i, "CREATE TABLE nodes (uuid TEXT, name TEXT, provision_state TEXT); INSERT INTO nodes VALUES ('u1', 'a', NULL);")
	truth, err := watch(t.Context(), i.place, script)
	if truth != nil {
		t.Cleanup(func() { _ = truth.Stop() })
	}
	return truth, i, err
}

func sql(t *testing.T, i *Ironic, statements string) {
	t.Helper()
	if _, err := i.SQL(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

func TestTruthSamplesADatabase(t *testing.T) {
	truth, i, err := python(t, truthPy)
	if err != nil {
		t.Fatal(err)
	}
	seen := func(n int) {
		t.Helper()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for len(truth.Changes()) < n {
			<-tick.C // the package's time-out ends one that misses a change
		}
	}
	sql(t, i, "INSERT INTO nodes VALUES ('u2', NULL, 'enroll');")
	seen(2)
	sql(t, i, "UPDATE nodes SET provision_state = 'deploying' WHERE uuid = 'u1';")
	seen(3)
	sql(t, i, "DELETE FROM nodes WHERE uuid = 'u1';")
	seen(4)
	var got []string
	for _, c := range truth.Changes() {
		got = append(got, fmt.Sprint(c.UUID, " ", c.Name, " ", c.State))
	}
	want := []string{"u1 a available", "u2  enroll", "u1 a deploying", "u1 a "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	err = truth.Stop()
	if missed := truth.WorstGap() >= truthGap; missed != (err != nil) {
		t.Errorf("worst gap %s, error %v", truth.WorstGap(), err)
	}
	if again := truth.Stop(); !errors.Is(again, err) {
		t.Errorf("second Stop: %v, first %v", again, err)
	}
}

func TestTruthTellsThatItCouldNotSample(t *testing.T) {
	sample := `print('{"began":%f,"ended":%f,"changes":[]}' % (time.time()-9, time.time()-9), flush=True)`
	truth, _, err := python(t, "import time\n"+sample+"\ntime.sleep(600)")
	if err != nil {
		t.Fatal(err)
	}
	if err := truth.Stop(); err == nil || !strings.Contains(err.Error(), "nobody looked for 9.") {
		t.Errorf("nine seconds without a sample: %v", err)
	}
	truth, _, err = python(t, "import time\n"+sample+"\nraise SystemExit('out of order')")
	if err != nil {
		t.Fatal(err)
	}
	<-truth.sampler.Done()
	if err := truth.Stop(); err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("a sampler that ended: %v", err)
	}
	if _, _, err := python(t, "raise SystemExit('no database')"); err == nil || !strings.Contains(err.Error(), "no database") {
		t.Errorf("a sampler that never began: %v", err)
	}
}
