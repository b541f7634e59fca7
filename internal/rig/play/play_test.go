package play_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/play"
)

const root = "../../.."

// long are the plays with many hosts or hours; the race detector, and make quick, do without.
var long = []string{
	"breaker-one-host.play", "breaker-operator.play", "breaker-step.play", "breaker-storm.play", "holdoff.play", "holdoff-again.play",
	"holdoff-annotation-and-settings.play", "holdoff-remediate.play", "slots-asking-for-ever.play", "slots-done-late.play",
	"slots-failing-hosts-starve-nobody.play", "slots-lists-fail.play", "slots-stuck.play", "turns-absence.play", "turns-asking-often.play", "turns-claims.play",
	"turns-expected-wait.play", "turns-failing-cap.play", "turns-silent-host-comes-back.play", "turns-silent-many.play", "turns-slot-use.play",
	"turns-slow-asker.play", "turns-two-pools.play", "turns-two-tenants.play", "turns-weights.play",
}

// TestPlays plays testdata/plays, or the files of the glob in PLAYS, from the root of the repository.
func TestPlays(t *testing.T) {
	glob := os.Getenv("PLAYS")
	if glob == "" {
		glob = "testdata/plays/*.play"
	}
	if !filepath.IsAbs(glob) {
		glob = filepath.Join(root, glob)
	}
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no file %s (%v)", glob, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".play"), func(t *testing.T) {
			if testing.Short() && slices.Contains(long, filepath.Base(file)) {
				t.Skip("long")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			failures, log := perform(t, strings.TrimPrefix(file, root+"/"), string(text))
			for _, f := range failures {
				t.Error(f)
			}
			if len(failures) > 0 && testing.Verbose() {
				t.Logf("the log of the throttle:\n%s", log)
			}
		})
	}
}

func perform(t *testing.T, file, text string) (failures []string, log string) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { failures, log = play.Run(t.Context(), file, text, dir, nil) })
	return failures, log
}

// begin is what bad plays begin with: a1 has the only slot, a2 waits.
const begin = `set MAX_CONCURRENT_PROVISIONING_HOSTS=1
node a1..a3 available
+70s ask a1 provision -> granted
`

// TestEachStepCanFail: a play that says something wrong, or what nobody understands, fails in that line, with the time
// and what was instead.
func TestEachStepCanFail(t *testing.T) {
	for step, want := range map[string]string{
		"ask a2..a3 provision -> granted":            "answered full:2 no:2, want granted\n\tfull no to a2: ",
		"ask a1..a3 provision -> yes:2 no:1":         "answered full:2 held-slot:1 no:2 yes:1, want yes:2\n\theld-slot yes to a1: ",
		"put a2 active -> 202":                       "answered 409:1 full:1, want 202\n\t409 full to a2: {\"error_message\"",
		"done a1 == 1":                               "none of the 1 hosts asks by itself",
		"working >= 1":                               "working is 0, want >= 1",
		"peak == 1":                                  "peak is 0, want == 1",
		"status slots.total.occupied == 2":           "slots.total.occupied is 1, want == 2",
		"status slots.occupants.0.name == metal3~a2": "slots.occupants.0.name is metal3~a1, want == metal3~a2",
		"status no.such.thing == 0":                  "no.such.thing is null, want == 0",
		"status no.such.thing <= 0":                  "no.such.thing is null, want <= 0",
		"http GET /v1/nowhere -> 200":                "answered 404, want 200: ",
		"http GET /v1/status -> 200 !enforce":        "answered 200, want no enforce in: ",
		"get /v1/queue pools.0.hosts.# == 2":         "pools.0.hosts.# is 0, want == 2",
		"prints -> 1_of_1 unicorn":                   "want unicorn in: 1 of 1 slots are taken",
		"events a1 == 2":                             "Events is 0, want == 2",
		"bmh delete a7":                              "the cluster has no such BareMetalHost",
		"log level=INFO == 77":                       "lines of the log is ",
		"set MAX_CONCURRENT_PROVISIONING_HOSTS=2":    "MAX_CONCURRENT_PROVISIONING_HOSTS is set too late",
		"node a1 available":                          "A node with name metal3~a1 already exists",
		"dance":                                      `"dance" is no step`,
		"node a9 sleeping":                           `"sleeping" is no provision state`,
		"node a9 available colour=red":               `"colour" is not known here: there are agent`,
		"ask a1 provision":                           "nothing is expected: -> is missing",
		"ask a1 provision -> yes:some":               `parsing "some": invalid syntax`,
		"host a1 provision every=2s":                 `invalid duration ""`,
		"working":                                    "a comparison such as >= 58 is missing",
		"kill now":                                   `"now" is one word too many`,
	} {
		failures, _ := perform(t, "bad.play", begin+"+1m "+step+" # why")
		head := "bad.play:4 at 2m10s: +1m " + step + "\n"
		if len(failures) == 0 || !strings.HasPrefix(failures[0], head) || !strings.Contains(failures[0], want) {
			t.Errorf("%s\nfails with: %s\nwant: %s", step, failures, want)
		}
	}
}

// TestStartsThatFail: a play expects that the throttle does not start, and why.
func TestStartsThatFail(t *testing.T) {
	for text, want := range map[string]string{
		"set MAX_CONCURRENT_PROVISIONING_HOSTS=0\nstart -> unicorn": "want unicorn in: the throttle does not start: MAX_CONCURRENT",
		"set MAX_CONCURRENT_PROVISIONING_HOSTS=0\n+1s start":        "the throttle does not start: MAX_CONCURRENT",
		"set MAX_CONCURRENT_PROVISIONING_HOSTS=1\nstart -> rule":    "the throttle starts, want an error with: rule",
	} {
		if failures, _ := perform(t, "bad.play", text); len(failures) != 1 || !strings.Contains(failures[0], want) {
			t.Errorf("%s\nfails with: %s\nwant: %q", text, failures, want)
		}
	}
}

// TestWhatNoPlayHas plays steps that no play of testdata has, or has in one form only.
func TestWhatNoPlayHas(t *testing.T) {
	for subject, text := range map[string]string{
		"hosts that leave ask no more, and those that fail come back after a clean-up": begin + `
			ironic a1 deploying agent
			host a3 provision work=10s every=3s
			leave a3
			+10s ironic a1 active
			+6s host a2 provision work=10s every=3s retry=20s fails undo
			+11m grants a2 >= 8
			grants a3 == 0`,
		"names": `
			node b1 active ns=beta
			node c08..c10,d1 active
			gateway GET /v1/nodes/beta~b1 -> 200
			gateway GET /v1/nodes/metal3~c09 -> 200 active
			ironic delete c08..c10,d1
			gateway GET /v1/nodes/metal3~c10 -> 404`,
	} {
		if failures, _ := perform(t, "good.play", text); len(failures) > 0 {
			t.Errorf("%s: %v", subject, failures)
		}
	}
}
