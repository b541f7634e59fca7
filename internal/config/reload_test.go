package config

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// start loads a config from a file with body, and returns what changes the file.
func start(t *testing.T, body string) (write func(body string, err error), src Sources, c Config) {
	t.Helper()
	var file atomic.Value
	write = func(body string, err error) { file.Store(func() ([]byte, error) { return []byte(body), err }) }
	src.ReadFile = func(string) ([]byte, error) { return file.Load().(func() ([]byte, error))() }
	write(body, nil)
	c, _, faults := load(t, src, ours("CONFIG", "f.yaml"))
	if faults != nil {
		t.Fatal(faults)
	}
	return write, src, c
}

func TestReloadTakesWhatIsLiveAndNamesTheRest(t *testing.T) {
	file := func(key, value string) (text string) {
		all := map[string]string{"ironicEndpoint": "http://a", "kubernetes": "on", "tlsCertDir": "/certs"}
		if value != "" {
			all[key] = value
		}
		for k, v := range all {
			text += fmt.Sprintf("%s: %q\n", k, v)
		}
		return text
	}
	another := map[string]string{"kubernetes": "off"} // a value that is not the default
	for _, row := range values(t) {
		if s := named(row[0]); row[2] != "must" && row[2] != s.text(Default()) {
			another[row[0]] = row[1]
		}
	}
	for _, s := range settings[1:] { // the first is the path of the file
		write, src, c := start(t, file(s.key, ""))
		write(file(s.key, another[s.key]), nil)
		next, warnings, err := c.Reload(src)
		moved, told := s.text(next) != s.text(c), strings.Contains(strings.Join(warnings, "\n"), s.names[0]+" changed from ")
		if err != nil || moved == s.has("restart") || told != s.has("restart") {
			t.Errorf("%s=%s: %v, taken %t, told %t: %q", s.names[0], another[s.key], err, moved, told, warnings)
		}
	}
}

func TestANewPasswordIsToldAndNotShown(t *testing.T) {
	write, src, c := start(t, "ironicEndpoint: http://u:one@h")
	write("ironicEndpoint: http://u:two@h", nil)
	next, warnings, err := c.Reload(src)
	if len(warnings) != 1 || strings.Contains(warnings[0], "two") || next.Ironic != c.Ironic || err != nil {
		t.Errorf("warnings %q, %+v, %v", warnings, next.Ironic, err)
	}
}

// TestWatchTellsEachChangeOnce: a file that is being written is empty, or ends in the middle of a number: only what two
// reads in a row have found counts, and what stays empty never does.
func TestWatchTellsEachChangeOnce(t *testing.T) {
	const rest = "ironicEndpoint: http://a\nmaxConcurrentProvisioningHosts: "
	synctest.Test(t, func(t *testing.T) {
		write, src, c := start(t, rest+"40")
		write(rest+"39", nil) // before Watch has begun
		ctx, cancel := context.WithCancel(t.Context())
		var updates int
		var last Config
		var bad bool
		done := make(chan struct{})
		go func() {
			defer close(done)
			Watch(ctx, c, src, func(c Config, _ []string, err error) { updates, last, bad = updates+1, c, err != nil })
		}()
		passes := func(d time.Duration) { <-time.After(d); synctest.Wait() }
		passes(time.Second)
		for _, step := range []struct {
			body  string
			err   error
			reads int
			limit int // of the update, 0 = none
			bad   bool
		}{
			{rest + "39", nil, 2, 39, false},
			{rest + "39", nil, 3, 0, false},
			{"", nil, 1, 0, false},
			{rest + "4", nil, 1, 0, false},
			{rest + "40", nil, 2, 40, false},
			{rest + "39\nlinger: zehn", nil, 3, 40, true},
			{"", errors.New("gone"), 3, 40, true},
			{" \n", nil, 3, 40, true},
			{rest + "41", nil, 3, 41, false},
			{rest + "41\nlinger: 46s", nil, 3, 41, false},
		} {
			updates = 0
			write(step.body, step.err)
			passes(time.Duration(step.reads) * watchEvery)
			switch {
			case updates != min(1, step.limit):
				t.Errorf("%q: %d updates", step.body, updates)
			case updates > 0 && (last.Limits.Total != step.limit || bad != step.bad):
				t.Errorf("%q: %d, %t", step.body, last.Limits.Total, bad)
			}
		}
		cancel()
		<-done
		Watch(t.Context(), Default(), Sources{}, nil) // without a file it returns
	})
}
