package cli_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
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
		{"--untold=perhaps", `--untold "perhaps": must be true or false`},
		{"--output yaml", `--output "yaml": must be text or json`},
		{"--faling 1", "unknown flag: --faling; did you mean --failing?"},
		{"--f", "unknown flag: --f"},
	} {
		cmd := (&cli.Process{}).Root(&cobra.Command{Use: "any"})
		fs := cmd.Flags()
		fs.Int("hosts", 0, "")
		fs.IntSlice("limit", nil, "")
		fs.UintSlice("seed", nil, "")
		fs.Float64("failing", 0, "")
		fs.Duration("duration", 0, "")
		fs.Bool("untold", false, "")
		if err := cli.FlagError(cmd, cmd.ParseFlags(strings.Split(c.args, " "))); err == nil || err.Error() != c.want {
			t.Errorf("%s:\n%v, want\n%s", c.args, err, c.want)
		}
	}
	other := errors.New("another")
	if got := cli.FlagError(&cobra.Command{}, other); !errors.Is(got, other) {
		t.Errorf("an error of another kind became %v", got)
	}
}
