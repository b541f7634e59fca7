package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

// No word of Go's own is in what a user reads.
func TestFlagsNameValueAndRule(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--hosts 1e9", `--hosts "1e9": must be a whole number`},
		{"--hosts 99999999999999999999", `--hosts "99999999999999999999": must be a whole number, within 64 bits`},
		{"--limit 5,x", `--limit "5,x": must be whole numbers, such as 10,20`},
		{"--seed -1", `--seed "-1": must be whole numbers of at least 0, such as 1,2`},
		{"--failing much", `--failing "much": must be a number`},
		{"--duration=", `--duration "": must be a duration, such as 90m or 4h`},
		{"--work 10", `--work "10": must be a duration or a range MIN-MAX, such as 10m-60m`},
		{"--errors-untold=perhaps", `--errors-untold "perhaps": must be true or false`},
	} {
		g := simulate.DefaultGrid()
		fs := pflag.NewFlagSet("", pflag.ContinueOnError)
		g.Flags(fs)
		if err := valueError(fs.Parse(strings.Split(c.args, " "))); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v, want\n%s", c.args, err, c.want)
		}
	}
	other := errors.New("another")
	if got := valueError(other); !errors.Is(got, other) {
		t.Errorf("an error of another kind became %v", got)
	}
}
