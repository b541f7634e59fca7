package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/ironic-throttle/ironic-throttle/internal/cli"
)

// No word of Go's own is in what a user reads.
func TestFlagsNameValueAndRule(t *testing.T) {
	for args, want := range map[string]string{
		"--hosts 1e9":      `--hosts "1e9": must be of type int`,
		"--duration=":      `--duration "": must be a duration with its unit, such as 30m`,
		"--untold=perhaps": `--untold "perhaps": must be of type bool`,
		"--output yaml":    `--output "yaml": must be text or json`,
		"--durtion 1":      "unknown flag: --durtion",
	} {
		cmd := (&cli.Process{}).Root(&cobra.Command{Use: "any"})
		cmd.Flags().Int("hosts", 0, "")
		cmd.Flags().Duration("duration", 0, "")
		cmd.Flags().Bool("untold", false, "")
		if err := cmd.FlagErrorFunc()(cmd, cmd.ParseFlags(strings.Split(args, " "))); err == nil || err.Error() != want {
			t.Errorf("%s:\n%v, want\n%s", args, err, want)
		}
	}
}
