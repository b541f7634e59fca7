package realironic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestTruthKeepsChanges: states, names and deletions, in the order of the samples; one that fails changes nothing.
func TestTruthKeepsChanges(t *testing.T) {
	truth := &Truth{last: map[string]Change{}}
	for _, text := range []string{
		"u1|a|enroll\nu2||active\n", "u1|a|enroll\nu2||active\n", "no answer", "u1|a|manageable\n", "u1|b|manageable\n", "",
	} {
		var err error
		if text == "no answer" {
			err = errors.New(text)
		}
		truth.sample(t.Context(), func(context.Context, string) (string, error) { return text, err })
	}
	var got []string
	for _, c := range truth.Changes() {
		got = append(got, fmt.Sprint(c.UUID, " ", c.Name, " ", c.State))
	}
	slices.Sort(got[:2]) // of one sample
	slices.Sort(got[2:4])
	want := []string{"u1 a enroll", "u2  active", "u1 a manageable", "u2  ", "u1 b manageable", "u1 b "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
