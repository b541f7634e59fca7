package store_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(saverPath); path != "" {
		saveForEver(path)
	}
	goleak.VerifyTestMain(m)
}

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// record is one as a site has them, host n of many. It has failed n seconds before the test, roughly.
func record(n int) holdoff.Record {
	digits := func(words ...any) string { // which cannot be compressed by much
		return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, words...)))[:32]
	}
	return holdoff.Record{
		Version: holdoff.RecordVersion, UUID: digits("node", n), Name: fmt.Sprintf("metal3~rack-%02d-server-%05d", n%40, n),
		UID: digits("host", n), Spec: "k1:" + digits("image", n),
		Episodes: []holdoff.EpisodeRecord{{
			ID: digits("episode", n)[:12], Kind: holdoff.Deployment, State: "deploy failed", Failures: 1 + n%3,
			Since: now.Add(-time.Duration(n) * 1_234_567 * time.Microsecond),
			Cause: "timeout reached while waiting for callback for node " + digits("node", n),
		}},
	}
}

func records(n int) (all []holdoff.Record) {
	for i := range n {
		all = append(all, record(i))
	}
	return all
}

func packed(t *testing.T, all []holdoff.Record) []byte {
	t.Helper()
	value, left, err := store.Pack(store.Value{Records: all, Limits: limits(31)}, 64<<20)
	if err != nil || left > 0 {
		t.Fatalf("%v, %d left out", err, left)
	}
	return value
}

func limits(n int) sizing.State {
	return sizing.State{Version: sizing.StateVersion, Pools: map[string]sizing.Record{"": {Limit: n}}}
}

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	for _, n := range []int{0, 1, 1_000} {
		want := store.Value{Records: records(n), Limits: limits(31)}
		value := packed(t, want.Records)
		v, err := store.Unpack(value)
		if err != nil || !cmp.Equal(v, want, cmpopts.EquateEmpty()) { // the newest failures first
			t.Errorf("%d records: %d, limits %+v, %v", n, len(v.Records), v.Limits, err)
		}
		slices.Reverse(want.Records)
		if !bytes.Equal(value, packed(t, want.Records)) {
			t.Errorf("%d records: another order is another value", n)
		}
	}
}

// A damaged value, or one of another version, is noticed, and none of it counts.
func TestDamageIsNoticed(t *testing.T) {
	value := packed(t, records(5))
	good, err := store.Unpack(value)
	if err != nil {
		t.Fatal(err)
	}
	judge := func(what string, damaged []byte) {
		t.Helper()
		if v, err := store.Unpack(damaged); err == nil && !cmp.Equal(v, good) {
			t.Errorf("%s: nobody notices", what)
		} else if err != nil && !cmp.Equal(v, store.Value{}) {
			t.Errorf("%s: %+v counts", what, v)
		}
	}
	for at := range value {
		flipped := bytes.Clone(value)
		flipped[at] ^= 1 << (at % 8)
		judge(fmt.Sprintf("bit flip at %d of %d", at, len(value)), flipped)
		judge(fmt.Sprintf("cut off at %d of %d", at, len(value)), value[:at])
	}
	judge("something behind it", append(bytes.Clone(value), "more"...))
	const line = `{"version":1,"uuid":"a","episodes":[{"id":"e","kind":"deployment","failures":1,"since":"2026-11-20T00:00:00Z"}]}` + "\n"
	for _, text := range []string{
		"", line + line, `{"format":2}` + "\n" + line, `{"format":1}` + "\n" + `{"uuid":"a"}` + "\n" + line,
		`{"format":1,"limits":{"version":9,"pools":{"":{"limit":7}}}}` + "\n" + line,
	} {
		if v, err := store.Unpack(zipped(t, text)); err == nil {
			t.Errorf("%q: %+v", text, v)
		}
	}
	if v, err := store.Unpack(zipped(t, `{"format":1}`+"\n"+line)); err != nil || len(v.Records) != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	if err = errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// 100 KiB have room for the holds of 800 hosts. Where there are more, those are left out that matter least.
func TestWhatHasNoRoomIsLeftOut(t *testing.T) {
	const room = 100 << 10
	all := records(800)
	if _, left, err := store.Pack(store.Value{Records: all}, room); err != nil || left > 0 {
		t.Errorf("of 800 hosts %d are left out, %v", left, err)
	}
	all = records(2_000)
	for i := range all {
		all[i].Episodes[0].Released = i%4 == 0
	}
	value, left, err := store.Pack(store.Value{Records: all}, room)
	v, wrong := store.Unpack(value)
	if err != nil || wrong != nil || len(value) > room || len(value) < room*9/10 || left != 2_000-len(v.Records) || left < 100 {
		t.Fatalf("%d bytes, %d left out, %d kept, %v, %v", len(value), left, len(v.Records), err, wrong)
	}
	slices.SortStableFunc(all, func(a, b holdoff.Record) int { // they are in the order of their failures
		return map[bool]int{true: 1}[a.Episodes[0].Released] - map[bool]int{true: 1}[b.Episodes[0].Released]
	})
	if !cmp.Equal(v.Records, all[:len(v.Records)]) {
		t.Error("not those that failed last are kept, or released ones before them")
	}
}
