package store_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(saverPath); path != "" {
		saveForEver(path)
	}
	if path := os.Getenv(fillerPath); path != "" {
		fillDisk(path)
		return
	}
	goleak.VerifyTestMain(m)
}

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// text is as long as asked, always the same for the same words, and cannot be compressed by much.
func text(length int, words ...any) string {
	sum := sha256.Sum256(fmt.Append(nil, words...))
	return hex.EncodeToString(sum[:])[:length]
}

func uuidOf(words ...any) string {
	t := text(32, words...)
	return t[:8] + "-" + t[8:12] + "-" + t[12:16] + "-" + t[16:20] + "-" + t[20:]
}

// record is one as a site has them, host n of many. It has failed n seconds before the test, roughly.
func record(n int) holdoff.Record {
	return holdoff.Record{
		Version: holdoff.RecordVersion, UUID: uuidOf("node", n), Name: fmt.Sprintf("metal3~rack-%02d-server-%05d", n%40, n),
		UID: uuidOf("host", n), Spec: "k1:" + text(16, "image", n) + "/" + text(16, "raid", n),
		Episodes: []holdoff.EpisodeRecord{{
			ID: text(12, "episode", n), Kind: holdoff.Deployment, State: "deploy failed", Failures: 1 + n%3,
			Since: now.Add(-time.Duration(n) * 1_234_567 * time.Microsecond),
			Cause: "timeout reached while waiting for callback for node " + uuidOf("node", n),
		}},
	}
}

func records(n int) (all []holdoff.Record) {
	for i := range n {
		all = append(all, record(i))
	}
	slices.SortFunc(all, func(a, b holdoff.Record) int { return cmp.Compare(a.UUID, b.UUID) })
	return all
}

func limitsText(t testing.TB, limit int) []byte {
	t.Helper()
	text, err := sizing.State{Pools: map[string]sizing.Record{"": {Limit: limit}}}.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func packed(t testing.TB, all []holdoff.Record, limits []byte) []byte {
	t.Helper()
	value, left, err := store.Pack(all, limits, 64<<20)
	if err != nil || left > 0 {
		t.Fatalf("%v, %d left out", err, left)
	}
	return value
}

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	for _, n := range []int{0, 1, 100, 10_000} {
		all := records(n)
		shuffled := slices.Clone(all)
		slices.Reverse(shuffled)
		value := packed(t, shuffled, limitsText(t, 31))
		v, err := store.Unpack(value, now)
		if err != nil || !slices.EqualFunc(v.Records, all, same) || v.Limits.Pools[""].Limit != 31 {
			t.Errorf("%d records: %d, limits %+v, %v", n, len(v.Records), v.Limits, err)
		}
		if !bytes.Equal(value, packed(t, all, limitsText(t, 31))) {
			t.Errorf("%d records: another order is another value", n)
		}
	}
	if v, err := store.Unpack(packed(t, records(2), nil), now); err != nil || len(v.Records) != 2 || len(v.Limits.Pools) != 0 {
		t.Errorf("without limits: %+v, %v", v, err)
	}
}

func same(a, b holdoff.Record) bool { return gocmp.Equal(a, b) }

// A damaged value is always noticed, and no hold in it ends before its time.
func TestDamageIsNoticed(t *testing.T) {
	all := records(20)
	value := packed(t, all, limitsText(t, 31))
	times := map[string]time.Time{}
	for _, r := range all {
		times[r.UUID] = r.Episodes[0].Since
	}
	judge := func(what string, damaged []byte) {
		t.Helper()
		v, err := store.Unpack(damaged, now)
		if err == nil && (!slices.EqualFunc(v.Records, all, same) || v.Limits.Pools[""].Limit != 31) {
			t.Errorf("%s: nobody notices", what)
		}
		for _, r := range v.Records {
			for _, e := range r.Episodes {
				if was, known := times[r.UUID]; known && e.Since.Before(was) {
					t.Errorf("%s: since %v instead of %v", what, e.Since, was)
				}
			}
		}
		if err != nil && len(v.Limits.Pools) > 0 {
			t.Errorf("%s: limits %+v", what, v.Limits)
		}
	}
	for at := range value {
		flipped := bytes.Clone(value)
		flipped[at] ^= 1 << (at % 8)
		judge(fmt.Sprintf("bit flip at %d of %d", at, len(value)), flipped)
	}
	for _, size := range []int{0, 1, 9, 10, len(value) / 2, len(value) - 9, len(value) - 8, len(value) - 1} {
		if _, err := store.Unpack(value[:size], now); err == nil {
			t.Errorf("cut off at %d: nobody notices", size)
		}
	}
	judge("something behind it", append(bytes.Clone(value), "more"...))
}

// What another version has written, or nobody, is an error; what can be read of it counts.
func TestValuesOfOthers(t *testing.T) {
	const line = `{"version":1,"uuid":"a","episodes":[{"id":"e","kind":"deployment","failures":1,"since":"2026-11-20T00:00:00Z"}]}` + "\n"
	for _, row := range []struct {
		name, text string
		read       int
	}{
		{"a later format", `{"format":2}` + "\n" + line, 1},
		{"no format", line + line, 1},
		{"no record", `{"format":1}` + "\n" + `{"uuid":"a"}` + "\n" + line, 1},
		{"limits of a later version", `{"format":1,"limits":{"version":9,"pools":{"":{"limit":7}}}}` + "\n" + line, 1},
		{"nothing", "", 0},
	} {
		v, err := store.Unpack(zipped(t, row.text), now)
		if err == nil || len(v.Records) != row.read || len(v.Limits.Pools) > 0 {
			t.Errorf("%s: %+v, %v", row.name, v, err)
		}
	}
	for _, text := range []string{"", "{}", "\x1f\x8b", "bolt"} {
		if v, err := store.Unpack([]byte(text), now); err == nil || len(v.Records) > 0 {
			t.Errorf("%q: %+v", text, v)
		}
	}
}

func zipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// 1000 KiB have room for the holds of 8,000 hosts. Where there are more, those are left out that matter least.
func TestWhatHasNoRoomIsLeftOut(t *testing.T) {
	const room = 1000 << 10
	all := records(8_000)
	if _, left, err := store.Pack(all, nil, room); err != nil || left > 0 {
		t.Errorf("of 8,000 hosts %d are left out, %v", left, err)
	}
	all = records(12_000)
	for i := range all {
		all[i].Episodes[0].Released = i%4 == 0
	}
	value, left, err := store.Pack(all, nil, room)
	v, wrong := store.Unpack(value, now)
	if err != nil || wrong != nil || len(value) > room || len(value) < room*9/10 || left != 12_000-len(v.Records) || left < 1_000 {
		t.Fatalf("%d bytes, %d left out, %d kept, %v, %v", len(value), left, len(v.Records), err, wrong)
	}
	slices.SortFunc(all, func(a, b holdoff.Record) int { // those to be kept first
		x, y := a.Episodes[0], b.Episodes[0]
		if x.Released != y.Released {
			return map[bool]int{true: 1, false: -1}[x.Released]
		}
		return y.Since.Compare(x.Since)
	})
	for _, kept := range v.Records {
		if !slices.ContainsFunc(all[:len(v.Records)], func(r holdoff.Record) bool { return r.UUID == kept.UUID }) {
			t.Fatalf("%+v is kept, and more urgent ones are left out", kept)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(packed(f, records(3), limitsText(f, 31)))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, value []byte) {
		v, err := store.Unpack(value, now)
		if err != nil {
			return
		}
		limits, err := v.Limits.Text()
		if err != nil {
			t.Fatal(err)
		}
		again, err := store.Unpack(packed(t, v.Records, limits), now)
		if err != nil || len(again.Records) != len(v.Records) {
			t.Errorf("%d records, then %d, %v", len(v.Records), len(again.Records), err)
		}
	})
}
