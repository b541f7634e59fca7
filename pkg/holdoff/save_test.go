package holdoff_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// disk keeps lines as a Store does.
type disk map[string]string

func (d disk) save(t rapid.TB, b *holdoff.Book, now time.Time, works bool) {
	t.Helper()
	records, revision := b.Records(now)
	if !works {
		return
	}
	clear(d)
	for _, r := range records {
		line, err := r.Line()
		if err != nil {
			t.Fatal(err)
		}
		d[r.UUID] = string(line)
	}
	b.Saved(revision)
	if b.Unsaved() != 0 {
		t.Fatalf("%d are unsaved after a save", b.Unsaved())
	}
}

func (d disk) load(t rapid.TB) (records []holdoff.Record) {
	t.Helper()
	for _, uuid := range slices.Sorted(maps.Keys(d)) {
		r, err := holdoff.ParseRecord([]byte(d[uuid]))
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	return records
}

// Whatever happens, what was saved is there after a restart, to the nanosecond.
func TestARestartKeepsWhatWasSaved(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cfg := holdoff.DefaultConfig()
		cfg.Timeout, cfg.Growth = time.Hour, 2
		now, kept := start, disk{}
		book, err := holdoff.New(cfg, nil)
		if err != nil {
			rt.Fatal(err)
		}
		host := rapid.SampledFrom([]string{"a", "b", "c"})
		kind := rapid.SampledFrom([]holdoff.Kind{holdoff.Inspection, holdoff.Cleaning, holdoff.Deployment})
		rt.Repeat(map[string]func(*rapid.T){
			"time passes": func(rt *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(0, 100).Draw(rt, "minutes")) * time.Minute)
			},
			"fails": func(rt *rapid.T) {
				book.Failed(now, holdoff.Failure{
					UUID: host.Draw(rt, "host"), Name: "ns~x", State: "failed", Token: rapid.StringN(0, 2, 4).Draw(rt, "token"), Kind: kind.Draw(rt, "kind"),
					Cause: rapid.String().Draw(rt, "cause"),
				})
			},
			"goes well": func(rt *rapid.T) {
				book.Succeeded(now, host.Draw(rt, "host"), kind.Draw(rt, "kind"), rapid.Bool().Draw(rt, "active"))
			},
			"is released": func(rt *rapid.T) { book.Release(now, host.Draw(rt, "host")) },
			"asks": func(rt *rapid.T) {
				book.Note(now, holdoff.Ask{UUID: host.Draw(rt, "host"), Op: api.OpProvision, Spec: rapid.SampledFrom([]string{"", "k:1/b", "k:2/b"}).Draw(rt, "spec")})
			},
			"is gone":  func(rt *rapid.T) { book.Gone(host.Draw(rt, "host")) },
			"tick":     func(*rapid.T) { book.Tick(now) },
			"is saved": func(rt *rapid.T) { kept.save(rt, book, now, rapid.Bool().Draw(rt, "works")) },
			"restart": func(rt *rapid.T) {
				kept.save(rt, book, now, true)
				again, err := holdoff.New(cfg, nil)
				if err != nil {
					rt.Fatal(err)
				}
				again.Restore(now, kept.load(rt))
				if got, want := fmt.Sprintf("%+v", again.View(now)), fmt.Sprintf("%+v", book.View(now)); got != want {
					rt.Fatalf("after a restart:\n%s\nbefore:\n%s", got, want)
				}
				book = again
			},
			"": func(rt *rapid.T) {
				before := fmt.Sprintf("%+v", book.View(now))
				for _, e := range book.View(now) {
					judged := book.Judge(now, holdoff.Ask{UUID: e.UUID, Op: api.OpProvision})
					if judged.Held != e.Held || e.Held != (e.Remaining > 0) || e.Held && e.Released || e.Remaining > 48*time.Hour {
						rt.Fatalf("%+v is judged %+v", e, judged)
					}
				}
				if after := fmt.Sprintf("%+v", book.View(now)); after != before {
					rt.Fatalf("judging has changed it:\n%s\n%s", before, after)
				}
			},
		})
	})
}

func TestWhatChangesDuringASaveStaysUnsaved(t *testing.T) {
	d := newDesk(t, nil)
	d.play("fails deployment 1 spec=k:a/b")
	_, saved := d.book.Records(d.now)
	d.play("ask provision spec=k:c/b -> free")
	if d.book.Saved(saved); d.book.Unsaved() != 1 {
		t.Fatal("a repair during the save of the failure is taken for saved")
	}
	d = newDesk(t, nil)
	d.play("fails deployment 1")
	_, revision := d.book.Records(d.now)
	d.play("release -> true")
	if d.book.Saved(revision); d.book.Unsaved() != 1 {
		t.Fatal("a release during the save of its failure is taken for saved")
	}
	records, revision := d.book.Records(d.now)
	if len(records) != 1 || !records[0].Episodes[0].Released {
		t.Errorf("%+v", records)
	}
	d.play("gone")
	if d.book.Saved(revision); d.book.Unsaved() != 1 {
		t.Fatal("a host that goes during the save of its release is taken for saved")
	}
}

func TestRecordsAreReadAsTheyAreWritten(t *testing.T) {
	since := start.Add(-30 * time.Minute).Format(time.RFC3339Nano)
	for name, of := range map[string]struct{ line, want string }{
		"as it is written": {
			`{"version":1,"uuid":"a","name":"metal3~a","episodes":[{"id":"e","kind":"deployment","failures":1,"since":"` + since + `"}]}`, "hold:1:30m0s",
		},
		"released": {
			`{"version":1,"uuid":"a","episodes":[{"id":"e","kind":"deployment","failures":1,"since":"` + since + `","released":true}]}`, "free",
		},
		"of a later version, with more fields": {
			`{"version":9,"uuid":"a","more":{},"episodes":[{"id":"e","kind":"deployment","failures":1,"since":"` + since + `"}]}`, "hold:1:30m0s",
		},
		"from the future, as a clock was set: it counts from now on": {
			`{"version":1,"uuid":"a","episodes":[{"id":"e","kind":"deployment","failures":1,"since":"2099-01-01T00:00:00Z"}]}`, "hold:1:1h0m0s",
		},
	} {
		r, err := holdoff.ParseRecord([]byte(of.line))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		d := newDesk(t, nil)
		d.book.Restore(d.now, []holdoff.Record{r})
		if got := d.do("ask provision"); got != of.want {
			t.Errorf("%s: %s, want %s", name, got, of.want)
		}
		d = newDesk(t, nil)
		d.book.Restore(d.now, []holdoff.Record{r})
		if d.play("active"); (len(d.ended) == 1) != strings.HasPrefix(of.want, "hold") {
			t.Errorf("%s: it was %s, and %q ended with its success", name, of.want, d.ended)
		}
	}
}

func TestRecordsThatNobodyWroteAreRefused(t *testing.T) {
	for line, fault := range map[string]string{
		"": "JSON", "[]": "unmarshal", `{"uuid":"a"}`: "version", `{"version":1}`: "uuid",
		`{"version":1,"uuid":"a","episodes":[{"failures":1}]}`: "episodes", `{"version":1,"uuid":"a","episodes":[{"id":"e","failures":0}]}`: "episodes",
		`{"version":1,"uuid":"` + strings.Repeat("a", holdoff.MaxLine) + `"}`: "longer",
	} {
		if r, err := holdoff.ParseRecord([]byte(line)); err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("%.40s: %+v, %v", line, r, err)
		}
	}
	r := holdoff.Record{Version: holdoff.RecordVersion}
	empty, _ := r.Line()
	r.UUID = strings.Repeat("a", holdoff.MaxLine-len(empty))
	line, err := r.Line()
	if err == nil {
		_, err = holdoff.ParseRecord(line)
	}
	if err != nil {
		t.Errorf("the longest record: %v", err)
	}
	r.UUID += "a"
	if line, err = r.Line(); err == nil {
		t.Errorf("a record of %d bytes was written", len(line))
	}
}
