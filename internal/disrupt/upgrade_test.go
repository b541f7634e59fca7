package disrupt

import (
	"os"
	"strings"
	"testing"
)

// TestWorkThatALaterVersionHasBegun: a rollback in the midst of a replacement. The older program changes
// nothing of what it does not understand, begins nothing else, and tells what to do; back again, the
// later one goes on. Until then its marks were removed, and the pool kept a Machine too many.
func TestWorkThatALaterVersionHasBegun(t *testing.T) {
	w := newWorld(3, 1)
	w.pod("pod-1", "node-of-machine-1")
	s := newStage(t, w, w.replace("host-3", 1))
	s.until("makes the owner larger")
	host := w.hosts["host-1"]
	ours := host.Record
	host.Record = strings.NewReplacer(`"version":1`, `"version":2`, `"stage":"deploying"`, `"stage":"warming"`).Replace(ours)

	s.restart()
	s.planner.hold = ""
	before := len(w.writes)
	s.settle()
	if n := len(w.writes) - before; n > 0 || w.owner.Replicas != 4 {
		t.Errorf("%d writes, %d replicas: %+v", n, w.owner.Replicas, w.writes[before:])
	}
	warnings := strings.Join(s.r.Status().Warnings(w.now), "\n")
	if !strings.Contains(warnings, "host metal3/host-1") || !strings.Contains(warnings, "remove the annotation "+AnnotationCommand) {
		t.Errorf("warnings: %s", warnings)
	}
	if n := strings.Count(s.log.String(), "a later version has begun"); n != 1 {
		t.Errorf("told %d times:\n%s", n, s.log.String())
	}

	host.Record = ours
	s.settle()
	s.replaced("machine-1")
	s.clean()
	if len(s.r.Status().Warnings(w.now)) > 0 {
		t.Error("it is told still")
	}
}

// TestSomebodyRemovesTheRecordOfALaterVersion: that is how an operator ends it.
func TestSomebodyRemovesTheRecordOfALaterVersion(t *testing.T) {
	w := newWorld(3, 1)
	s := newStage(t, w, w.release(1))
	s.until("marks the Machine")
	host := w.hosts["host-1"]
	host.Record = strings.Replace(host.Record, `"version":1`, `"version":2`, 1)
	s.restart()
	s.planner.hold = "not now"
	s.settle()
	host.Record = ""
	s.settle()
	s.clean()
}

// TestARecordOfBefore: testdata/record-without-version.json was written by commit 71b6de7, in the midst of the
// same replacement.
func TestARecordOfBefore(t *testing.T) {
	text, err := os.ReadFile("testdata/record-without-version.json")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(3, 1)
	w.pod("pod-1", "node-of-machine-1")
	s := newStage(t, w, w.replace("host-3", 1))
	s.until("makes the owner larger")
	if strings.TrimSpace(string(text)) == w.hosts["host-1"].Record {
		t.Fatal("it is what is written now")
	}
	w.hosts["host-1"].Record = strings.TrimSpace(string(text))
	s.restart()
	s.settle()
	s.replaced("machine-1")
	s.clean()
}
