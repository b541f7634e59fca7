package play_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/play"
)

// TestWrongLinesAreNamed: what a play cannot mean is an error with file and line, before anything is played.
func TestWrongLinesAreNamed(t *testing.T) {
	for _, row := range []struct{ line, want string }{
		{"dance", `"dance" is no step: there are api, ask`},
		{"set MAX", "a setting is NAME=value"},
		{"node a1 sleeping", `"sleeping" is no provision state`},
		{"node a1 available colour=red", `"colour" is not known here: there are agent`},
		{"node a1 available maintenance=perhaps", "maintenance is true or false"},
		{"ironic lists-fail often", `"often" is no share`},
		{"ask a1 dance -> yes", `"dance" is no operation`},
		{"ask a1 provision", ""},
		{"ask a1 provision ->", "-> must be followed"},
		{"ask a1 provision -> grated", `nobody answers "grated"`},
		{"ask a1 provision -> yes:some", `"yes:some" has no number behind the colon`},
		{"ask a1 provision errors=few -> yes", "errors=few is no number"},
		{"host a1 provision every=2s", "work=D and every=D are needed"},
		{"working", "a comparison with a number is missing"},
		{"status a.b == 1 -> 1", "nothing is answered here"},
		{"http GET /v1/status -> fine", `"fine" is no status`},
		{"kill now", `"now" is one word too many`},
	} {
		_, err := play.Parse("bad.play", "# what it shows\n"+row.line+" # why\n")
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%s: %v", row.line, err)
		case row.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "bad.play:2: "+row.want)):
			t.Errorf("%s: %v, want line 2: %s", row.line, err, row.want)
		}
	}
	if _, err := play.Parse("bad.play", "# nothing\n"); err == nil {
		t.Error("a play without a step is taken")
	}
}

// begin is what bad plays begin with: a1 has the only slot, a2 waits.
const begin = `set MAX_CONCURRENT_PROVISIONING_HOSTS=1
node a1..a3 available
+70s ask a1 provision -> granted
`

// TestEachExpectationCanFail: a play that says something wrong fails in that line, with the time and what
// was instead.
func TestEachExpectationCanFail(t *testing.T) {
	for _, row := range []struct{ step, want string }{
		{"ask a2..a3 provision -> granted", "answered full:2 no:2, want granted\n\tfull no to a2: "},
		{"ask a1..a3 provision -> yes:2 no:1", "answered full:2 held-slot:1 no:2 yes:1, want yes:2\n\theld-slot yes to a1: "},
		{"put a2 active -> 202", "answered 409:1 full:1, want 202\n\t409 full to a2: {\"error_message\""},
		{"done a1 == 1", "none of the 1 hosts asks by itself"},
		{"working >= 1", "working is 0, want >= 1"},
		{"peak == 1", "peak is 0, want == 1"},
		{"status slots.total.occupied == 2", "slots.total.occupied is 1, want == 2"},
		{"status slots.occupants.0.name == metal3~a2", "slots.occupants.0.name is metal3~a1, want == metal3~a2"},
		{"status no.such.thing == 0", "no.such.thing is null, want == 0"},
		{"http GET /v1/nowhere -> 200", "answered 404, want 200: "},
		{"http GET /v1/status -> 200 !enforce", "answered 200, want no enforce: "},
		{"get /v1/queue pools.0.hosts.# == 2", "pools.0.hosts.# is 0, want == 2"},
		{"prints -> 1_of_1 unicorn", "want unicorn in:\n1 of 1 slots are taken"},
		{"events a1 == 2", "Events is 0, want == 2"},
		{"bmh delete a7", "the cluster has no such BareMetalHost"},
		{"log level=INFO == 77", "lines of the log is "},
		{"start -> oops", "the throttle runs already"},
		{"set MAX_CONCURRENT_PROVISIONING_HOSTS=2", "MAX_CONCURRENT_PROVISIONING_HOSTS is set too late"},
		{"node a1 available", "A node with name metal3~a1 already exists"},
	} {
		failures := perform(t, begin+"+1m "+row.step)
		if len(failures) == 0 {
			t.Errorf("%s: nothing fails", row.step)
			continue
		}
		got := failures[0].Error()
		head := "bad.play:4 at 2m10s: +1m " + row.step + "\n"
		if !strings.HasPrefix(got, head) || !strings.Contains(got, row.want) {
			t.Errorf("%s\nfails with: %s\nwant: %s", row.step, got, row.want)
		}
	}
}

// TestStartsThatFail: a play expects that the throttle does not start, and why.
func TestStartsThatFail(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"set MAX_CONCURRENT_PROVISIONING_HOSTS=0\nstart -> MAX_CONCURRENT_PROVISIONING_HOSTS 1..100000", ""},
		{"set MAX_CONCURRENT_PROVISIONING_HOSTS=0\nstart -> unicorn", "the start fails, want unicorn: MAX_CONCURRENT"},
		{"set MAX_CONCURRENT_PROVISIONING_HOSTS=0\n+1s start", "the throttle does not start: MAX_CONCURRENT"},
		{"set MAX_CONCURRENT_PROVISIONING_HOSTS=1\nstart -> rule", "the throttle starts, want an error with: rule"},
	} {
		failures := perform(t, row.text)
		var all string
		for _, f := range failures {
			all += f.Error()
		}
		if (all == "") != (row.want == "") || !strings.Contains(all, row.want) {
			t.Errorf("%s\nfails with: %s\nwant: %q", row.text, all, row.want)
		}
	}
}

// TestEachStepDoesWhatItSays plays steps that no play of testdata has, or has in one form only.
func TestEachStepDoesWhatItSays(t *testing.T) {
	for subject, text := range map[string]string{
		"time, also while the throttle is dead": begin + `
			@2m status view.polls > 10
			@2m kill
			+5m start
			ask a2 provision -> starting
			+70s ask a2 provision -> granted`,
		"PUTs that are refused, and whose answer is lost": begin + `
			ironic puts-fail 400
			put a1 active -> 400
			working == 0
			ironic puts-fail 0
			ironic puts-lost 503
			put a1 active -> 503
			working == 1`,
		"what a check may say; a dry run changes nothing": begin + `
			ask a2 provision state=provisioning errors=3 fails=2 group=r1 -> failing-cap|full
			ask a2 provision deleting -> full
			ask a3 provision dryRun -> no
			status slots.total.waiting == 1
			ask v1 provision virtualMedia uuid=no -> exempt
			ask a3 none -> done`,
		"hosts that leave ask no more": begin + `
			ironic a1 deploying agent
			host a2..a3 provision work=10s every=3s
			leave a3
			+1m ironic a1 active
			+30s done a2..a3 == 1
			grants a3 == 0`,
		"hosts that fail come back, after a clean-up": begin + `
			ironic a1 deploying agent
			+10s ironic a1 active
			+6s host a2 provision work=10s every=3s retry=20s fails undo
			+11m grants a2 >= 8`,
		"names": `
			set MAX_CONCURRENT_PROVISIONING_HOSTS=5
			node b1 active ns=beta
			node p1 active plain
			node c08..c10,d1 active
			+70s gateway GET /v1/nodes/beta~b1 -> 200
			gateway GET /v1/nodes/p1 -> 200
			gateway GET /v1/nodes/metal3~c09 -> 200 active
			ironic delete c08..c10,d1
			gateway GET /v1/nodes/metal3~c10 -> 404`,
		"both names of a reason": begin + `
			ironic a1 deploying agent
			node a4 available
			+10s ask a2..a4 provision -> full
			ironic a1 active noagent
			+6s ask a4 provision -> not-called
			ask a4 provision -> turn`,
	} {
		for _, f := range perform(t, text) {
			t.Errorf("%s: %v", subject, f)
		}
	}
}

// perform plays a text.
func perform(t *testing.T, text string) (failures []*play.Failure) {
	t.Helper()
	p, err := play.Parse("bad.play", text)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) { failures, _ = p.Run(t.Context(), dir, func(string) {}) })
	return failures
}
