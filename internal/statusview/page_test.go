package statusview

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

const someUUID = "3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"

func TestFold(t *testing.T) {
	for _, row := range []struct {
		text  string
		width int
		want  []string
	}{
		{"as wide as it may", 17, []string{"as wide as it may"}},
		{"a node " + someUUID, 43, []string{"a node " + someUUID}},
		{"a node " + someUUID, 42, []string{"a node 3f2b8a6e…"}},
		{"a node " + someUUID, 0, []string{"a node " + someUUID}},
		{"warning   it is broken at blanks alone", 24, []string{"warning   it is broken", "    at blanks alone"}},
		{"warning   it ends after the third line of those that it is given", 20,
			[]string{"warning   it ends", "    after the third", "    line of those t…"}},
		{strings.Repeat("é", 30), 20, []string{strings.Repeat("é", 20), "    " + strings.Repeat("é", 10)}},
		{"too narrow for folds", 10, []string{"too narro…"}},
		{"x", 1, []string{"x"}},
		{"xy", 1, []string{"…"}},
	} {
		if diff := cmp.Diff(row.want, fold(row.text, row.width, 4)); diff != "" {
			t.Errorf("%q in %d columns (-want +got):\n%s", row.text, row.width, diff)
		}
	}
}

func TestTablesGiveUpWhatMattersLeast(t *testing.T) {
	occupants := []api.Occupant{
		{Name: "metal3~host-1", NodeUUID: someUUID, Kind: "granted", State: "wait call-back", SinceSeconds: 60, Counted: true},
		{Name: "a-namespace-of-many-words~a-host-of-many-words-0017", NodeUUID: someUUID, Kind: "adopted", State: "deploying", Busy: true, Counted: true},
	}
	holders := func(width int) []string {
		p := &page{width: width}
		p.holders(occupants)
		return strings.Split(p.String(), "\n")
	}
	for _, row := range []struct {
		width int
		want  string // the header and the first host
	}{
		{0, "HOST KIND STATE SINCE NODE; metal3/host-1 granted wait call-back 1m0s " + someUUID},
		{150, "HOST KIND STATE SINCE NODE; metal3/host-1 granted wait call-back 1m0s " + someUUID},
		{120, "HOST KIND STATE SINCE NODE; metal3/host-1 granted wait call-back 1m0s 3f2b8a6e…"},
		{100, "HOST KIND STATE SINCE NODE; metal3/host-1 granted wait call-back 1m0s 3f2b8a6e…"},
		{80, "HOST STATE SINCE; metal3/host-1 wait call-back 1m0s"},
	} {
		out := holders(row.width)
		if got := strings.Join(strings.Fields(out[1]), " ") + "; " + strings.Join(strings.Fields(out[2]), " "); got != row.want {
			t.Errorf("%d columns: %q, want %q", row.width, got, row.want)
		}
	}
	if got := holders(50)[3]; !strings.HasPrefix(got, "a-namespace-o…ny-words-0017 ") {
		t.Errorf("a name is not cut in its middle: %q", got)
	}
	occupants[0].Name = ""
	if got := holders(80)[2]; !strings.Contains(got, "3f2b8a6e…") {
		t.Errorf("nothing names a host without a name: %q", got)
	}
}
