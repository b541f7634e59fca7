package holdoff_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestUnsavedUntilSaved(t *testing.T) {
	s := newStage(t)
	if !s.b.Unsaved(s.now).Empty() || s.b.UnsavedCount() != 0 {
		t.Error("an empty Book has something to save")
	}
	s.fails(failure(1))
	first := s.b.Unsaved(s.now)
	if len(first.Puts) != 1 || first.Puts[0].UUID != "a" || s.b.UnsavedCount() != 1 {
		t.Fatalf("%+v", first)
	}
	// A save that failed: it is still there.
	if diff := cmp.Diff(first.Puts, s.b.Unsaved(s.now).Puts); diff != "" {
		t.Error(diff)
	}
	// It changes while it is being saved: it is to be saved again.
	s.fails(failure(2))
	s.b.Saved(first)
	second := s.b.Unsaved(s.now)
	if len(second.Puts) != 1 || second.Puts[0].Episodes[0].Failures != 2 {
		t.Fatalf("%+v", second)
	}
	s.b.Saved(second)
	if n := s.b.UnsavedCount(); n != 0 {
		t.Errorf("%d unsaved", n)
	}
	// A batch that nobody has given, or an old one, saves nothing.
	s.fails(failure(3))
	s.b.Saved(second)
	s.b.Saved(holdoff.Batch{Puts: second.Puts})
	if n := s.b.UnsavedCount(); n != 1 {
		t.Errorf("%d unsaved", n)
	}
}

func TestLostIsUnsaved(t *testing.T) {
	(*holdoff.Book)(nil).Lost()
	s := newStage(t)
	s.fails(failure(1))
	first := s.b.Unsaved(s.now)
	s.b.Saved(first)
	s.b.Lost()
	again := s.b.Unsaved(s.now)
	if diff := cmp.Diff(first.Puts, again.Puts); diff != "" {
		t.Error(diff)
	}
	s.b.Saved(again)
	if n := s.b.UnsavedCount(); n != 0 {
		t.Errorf("%d unsaved", n)
	}
}

func TestUnsavedDeletes(t *testing.T) {
	s := newStage(t)
	// Gone before it was ever saved: nothing to do.
	s.fails(failure(1))
	s.b.Gone("a")
	if !s.b.Unsaved(s.now).Empty() {
		t.Error("something is to be saved")
	}
	// Gone while it is being saved.
	s.fails(failure(1))
	batch := s.b.Unsaved(s.now)
	s.b.Mended(s.now, "a", "", true)
	s.b.Saved(batch)
	batch = s.b.Unsaved(s.now)
	if diff := cmp.Diff([]string{"a"}, batch.Deletes); diff != "" || len(batch.Puts) != 0 || batch.Empty() {
		t.Fatalf("%+v", batch)
	}
	// Failed again while the record is being removed.
	s.fails(failure(2))
	s.b.Saved(batch)
	batch = s.save()
	if len(batch.Puts) != 1 || len(batch.Deletes) != 0 {
		t.Fatalf("%+v", batch)
	}
	s.b.Gone("a")
	if batch = s.save(); len(batch.Deletes) != 1 {
		t.Fatalf("%+v", batch)
	}
	// Restored ones are on the disk.
	s.b.Restore(s.now, []holdoff.Record{recordOf("b", s.now)})
	if !s.save().Empty() {
		t.Error("what was read is to be saved")
	}
	s.b.Gone("b")
	if batch = s.save(); len(batch.Deletes) != 1 {
		t.Fatalf("%+v", batch)
	}
}

// recordOf is a record with one failure.
func recordOf(uuid string, since time.Time) holdoff.Record {
	return holdoff.Record{
		Version: holdoff.RecordVersion, UUID: uuid, Name: "metal3~" + uuid,
		Episodes: []holdoff.EpisodeRecord{{ID: "id", Kind: holdoff.Cleaning, Failures: 1, Since: since}},
	}
}

func TestRestoreLeavesOut(t *testing.T) {
	s := newStage(t)
	s.fails(failure(1))
	s.save()
	bad := recordOf("b", s.now)
	bad.Episodes[0].Failures = 0
	s.b.Restore(s.now, []holdoff.Record{bad, recordOf("a", s.now), recordOf("c", s.now), recordOf("c", s.now.Add(-time.Hour))})
	v := s.b.View(s.now)
	if len(v) != 2 || v[0].Kind != holdoff.Deployment || v[1].UUID != "c" || v[1].Remaining != hold {
		t.Errorf("%+v", v)
	}
}

func TestRestoreOfAnyAge(t *testing.T) {
	for _, row := range []struct {
		since time.Time
		left  time.Duration
	}{
		{begin, hold},
		{begin.Add(-time.Hour), hold - time.Hour},
		{begin.Add(-hold), 0},
		{begin.Add(time.Hour), hold}, // a clock that was set back
		{time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), hold},
		{time.Time{}, 0},
		{time.Date(-9999, 1, 1, 0, 0, 0, 0, time.UTC), 0},
	} {
		s := newStage(t)
		s.b.Restore(s.now, []holdoff.Record{recordOf("a", row.since)})
		if row.left == 0 {
			s.isFree(provision())
		} else {
			s.isHeld(provision(), row.left)
		}
	}
}

func TestBoundOfHosts(t *testing.T) {
	s := newStage(t)
	s.b.SetMost(10)
	for n := range 10 {
		f := failure(n)
		f.UUID = fmt.Sprint(n)
		s.fails(f)
		s.wait(time.Hour)
	}
	// 0 to 6 are over by now, 5 the oldest of those that were released.
	if _, err := s.b.Release(s.now, "9", ""); err != nil {
		t.Error(err)
	}
	left := func() string {
		var uuids []string
		for _, e := range s.b.View(s.now) {
			uuids = append(uuids, e.UUID)
		}
		return strings.Join(uuids, " ")
	}
	want := []string{
		"7 8 new-0 1 2 3 4 5 6 9", "7 8 new-0 new-1 2 3 4 5 6 9", "7 8 new-0 new-1 new-2 3 4 5 6 9",
	}
	for n, want := range want {
		f := failure(n)
		f.UUID, f.Name = fmt.Sprint("new-", n), ""
		s.fails(f)
		if got := left(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for n := 3; n < 9; n++ {
		f := failure(n)
		f.UUID, f.Name = fmt.Sprint("new-", n), ""
		s.fails(f)
	}
	// None but held ones: the oldest of these.
	if got, want := left(), "8 new-0 new-1 new-2 new-3 new-4 new-5 new-6 new-7 new-8"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// A host that is known needs no room.
	f := failure(50)
	f.UUID = "8"
	s.fails(f)
	if s.b.Len() != 10 {
		t.Errorf("%d hosts", s.b.Len())
	}
}

func TestTextsAreBounded(t *testing.T) {
	s := newStage(t)
	long := strings.Repeat("ä", 10_000)
	f := failure(1)
	f.Name, f.UID, f.State, f.Token, f.Spec, f.Cause = long, long, long, long, long, "\xff"+long
	s.fails(f)
	f.Token += "x"
	s.fails(f) // the token counts in full
	r := s.save().Puts[0]
	for _, text := range []string{r.Name, r.UID, r.Spec, r.Episodes[0].State, r.Episodes[0].Cause} {
		if !utf8.ValidString(text) || len(text) > holdoff.MaxText || len(text) < holdoff.MaxCause-4 {
			t.Errorf("%d bytes, valid %v", len(text), utf8.ValidString(text))
		}
	}
	if n := len(r.Episodes[0].Cause); n > holdoff.MaxCause {
		t.Errorf("%d bytes of cause", n)
	}
	reread(t, r)
	// Cut in the same way, the texts of an ask are the same.
	a := provision()
	a.Name, a.UID, a.Spec = long, long, long
	if v := s.b.Ask(s.now, a); !v.Held || s.b.UnsavedCount() != 0 {
		t.Errorf("%+v, %d unsaved", v, s.b.UnsavedCount())
	}
}

func TestParseRecordRefuses(t *testing.T) {
	const good = `{"version":1,"uuid":"a","episodes":[{"id":"e","kind":"cleaning","failures":1,"since":"2026-11-22T08:00:00Z"}]}`
	want := holdoff.Record{Version: 1, UUID: "a", Episodes: []holdoff.EpisodeRecord{{ID: "e", Kind: holdoff.Cleaning, Failures: 1, Since: begin}}}
	if r, err := holdoff.ParseRecord([]byte(good)); err != nil || !cmp.Equal(r, want) {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := holdoff.ParseRecord([]byte(strings.Replace(good, `"uuid"`, `"later":1,"uuid"`, 1))); err != nil {
		t.Errorf("a field that we do not know: %v", err)
	}
	for _, row := range []struct{ from, to, want string }{
		{good, ``, "record: "},
		{good, `null`, "version: 0 is not 1"},
		{good, good + strings.Repeat(" ", holdoff.MaxLine), "record: is longer than 65536 bytes"},
		{`"version":1`, `"version":2`, "version: 2 is not 1"},
		{`"version":1`, `"version":"1"`, "record: "},
		{`"version":1,"uuid":"a"`, `"version":3,"uuid":{}`, "version: 3 is not 1"},
		{`"uuid":"a"`, `"uuid":""`, "uuid: must be set"},
		{`"uuid":"a"`, `"uuid":1`, "record: "},
		{`"uuid":"a"`, `"uuid":"` + strings.Repeat("a", 600) + `"`, "uuid: is longer"},
		{`"uuid":"a"`, `"uuid":"a","spec":"` + strings.Repeat("a", 600) + `"`, "spec: is longer"},
		{`"uuid":"a"`, `"uuid":"a","recounted":-1`, "recounted: -1"},
		{`"uuid":"a"`, `"uuid":"a","recounted":1000001`, "recounted: 1000001"},
		{`"kind":"cleaning"`, `"kind":"rescue"`, `episodes: kind "rescue"`},
		{`"failures":1`, `"failures":0`, "episodes: failures: 0"},
		{`"failures":1`, `"failures":1000001`, "episodes: failures: 1000001"},
		{`"id":"e"`, `"id":""`, "episodes: a text"},
		{`"id":"e"`, `"id":"e","cause":"` + strings.Repeat("a", 300) + `"`, "episodes: a text"},
		{`"id":"e"`, `"id":"e","state":"` + strings.Repeat("a", 600) + `"`, "episodes: a text"},
		{`"since":"2026-11-22T08:00:00Z"`, `"since":"today"`, "record: "},
		{`{"id":"e"`, `{"id":"e","kind":"cleaning","failures":1,"since":"2026-11-22T08:00:00Z"},{"id":"e"`, `episodes: kind "cleaning"`},
	} {
		text := strings.Replace(good, row.from, row.to, 1)
		_, err := holdoff.ParseRecord([]byte(text))
		if err == nil || !strings.HasPrefix(err.Error(), row.want) {
			t.Errorf("%s: %v, want %s", text, err, row.want)
		}
	}
	if _, err := holdoff.ParseRecord([]byte(`{"version":1,"uuid":"a"}`)); err == nil || !strings.HasPrefix(err.Error(), "episodes: must be set") {
		t.Errorf("neither episodes nor void: %v", err)
	}
	if _, err := holdoff.ParseRecord([]byte(`{"version":1,"uuid":"a","void":"e"}`)); err != nil {
		t.Errorf("void alone: %v", err)
	}
}

// The longest record that a Book has is a line that can be read.
func TestLineIsBounded(t *testing.T) {
	text, cause := strings.Repeat("\x00", holdoff.MaxText), strings.Repeat("\x00", holdoff.MaxCause)
	r := holdoff.Record{Version: 1, UUID: text, Name: text, UID: text, Spec: text, Void: text}
	for _, kind := range []holdoff.Kind{holdoff.Inspection, holdoff.Cleaning, holdoff.Deployment} {
		r.Episodes = append(r.Episodes, holdoff.EpisodeRecord{ID: text, Kind: kind, State: text, Cause: cause, Failures: 1, Since: begin})
	}
	line, err := r.Line()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := holdoff.ParseRecord(line); err != nil || !cmp.Equal(again, r) {
		t.Errorf("%d bytes: %v", len(line), err)
	}
	r.Name = strings.Repeat("x", holdoff.MaxLine)
	if _, err := (holdoff.Batch{Puts: []holdoff.Record{r}}).Lines(); err == nil || !strings.Contains(err.Error(), ": is longer than 65536 bytes") {
		t.Error(err)
	}
}

// Whatever is accepted can be restored, shown and written, and is the same then, but
// for an age that cannot be.
func FuzzParseRecord(f *testing.F) {
	seed, err := json.Marshal(recordOf("a", begin))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte(`{"version":1,"uuid":"a","void":"e","recounted":3}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := holdoff.ParseRecord(data)
		if err != nil {
			return
		}
		if diff := cmp.Diff(r, reread(t, r), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("read again: %s", diff)
		}
		s := newStage(t)
		s.b.Restore(s.now, []holdoff.Record{r})
		if s.b.Len() != 1 {
			t.Fatalf("%d hosts", s.b.Len())
		}
		a := provision()
		a.UUID, a.FailCount, a.Spec = r.UUID, 3, "spec"
		peek, _ := s.b.Peek(s.now, a)
		if v := s.b.Ask(s.now, a); v != peek || v.Wait < 0 || v.Wait > hold {
			t.Errorf("%+v", v)
		}
		s.b.Failed(s.now, failure(1))
		s.b.View(s.now)
		s.b.Mended(s.now, r.UUID, holdoff.Cleaning, false)
		for _, put := range s.b.Unsaved(s.now).Puts {
			reread(t, put)
		}
	})
}
