package holdfile

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestMain(m *testing.M) {
	if work := children[os.Getenv(envChild)]; work != nil {
		work()
		return
	}
	goleak.VerifyTestMain(m)
}

// envChild makes the test binary one of the children, in the directory of holds.db.
const envChild = "HOLDFILE_TEST_CHILD"

var children = map[string]func(){"saves": childSaves}

// startChild returns the command of one. It ends with the test, or when its stdin does.
func startChild(t *testing.T, name, path string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), self)
	c.Env, c.Dir = append(os.Environ(), envChild+"="+name), filepath.Dir(path)
	c.Stderr = os.Stderr
	return c
}

var since = time.Date(2026, 11, 22, 1, 2, 3, 456, time.UTC)

// record is one with a failure.
func record(uuid string, since time.Time) holdoff.Record {
	return holdoff.Record{
		Version: holdoff.RecordVersion, UUID: uuid, Name: "metal3~" + uuid, Spec: "s",
		Episodes: []holdoff.EpisodeRecord{{ID: "e-" + uuid, Kind: holdoff.Deployment, State: "deploy failed", Failures: 1, Since: since}},
	}
}

// desk is a place for a file, and what was said about it.
type desk struct {
	t    *testing.T
	path string
	log  bytes.Buffer
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	return &desk{t: t, path: filepath.Join(t.TempDir(), "holds.db")}
}

// open opens the file; it is closed with the test.
func (d *desk) open() *File {
	d.t.Helper()
	f, err := open(d.path, slog.New(slog.NewTextHandler(&d.log, nil)), time.Millisecond)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if err := f.Close(); err != nil {
			d.t.Error(err)
		}
	})
	return f
}

func (d *desk) close(f *File) {
	d.t.Helper()
	if err := f.Close(); err != nil {
		d.t.Error(err)
	}
}

func (d *desk) save(f *File, deletes []string, puts ...holdoff.Record) {
	d.t.Helper()
	if err := f.Save(holdoff.Batch{Puts: puts, Deletes: deletes}); err != nil {
		d.t.Fatal(err)
	}
}

// holds loads f and compares.
func (d *desk) holds(f *File, known bool, want ...holdoff.Record) {
	d.t.Helper()
	got, isKnown, err := f.Load()
	if diff := cmp.Diff(want, got); diff != "" || isKnown != known || err != nil {
		d.t.Errorf("known %v, error %v: %s", isKnown, err, diff)
	}
}

// says reports whether the log has a line of that level with all of the texts.
func (d *desk) says(level string, texts ...string) bool {
lines:
	for line := range strings.Lines(d.log.String()) {
		for _, text := range append(texts, "level="+level+" ") {
			if !strings.Contains(line, text) {
				continue lines
			}
		}
		return true
	}
	return false
}

// beside lists what is in the directory besides the file and its lock.
func (d *desk) beside() []string {
	d.t.Helper()
	entries, err := os.ReadDir(filepath.Dir(d.path))
	if err != nil {
		d.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "holds.db" && e.Name() != "holds.db.lock" {
			names = append(names, e.Name())
		}
	}
	return names
}

func (d *desk) write(data []byte) {
	d.t.Helper()
	if err := os.WriteFile(d.path, data, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) read() []byte {
	d.t.Helper()
	data, err := os.ReadFile(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	return data
}
