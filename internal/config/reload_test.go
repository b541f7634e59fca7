package config

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeFile is a config file that tests change.
type fakeFile struct {
	mu   sync.Mutex
	body string
	err  error
}

func (f *fakeFile) write(body string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.body, f.err = body, err
}

func (f *fakeFile) read(string) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return []byte(f.body), f.err
}

// start loads a config from a file with body.
func start(t *testing.T, body string) (*fakeFile, Sources, Config) {
	t.Helper()
	f := &fakeFile{body: body}
	t.Cleanup(inEnvironment(t, []string{ours("CONFIG", "f.yaml")}))
	src := Sources{ReadFile: f.read, Exists: func(string) bool { return false }}
	c, _, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return f, src, c
}

// another is a value of each setting that the default is not, where the rule does not say one.
var another = map[string]string{
	"poolLimits": "rack1=2", "tenantWeights": "prod=2", "holdoffHosts": "metal3/lab=0", "maxFailed": "40%",
	"disruptionBudgets": "20%", "disruptionTariff": "0.28", "disruptionConsolidateAfter": "30m",
	"watchNamespace": "metal3", "operatorDeployment": "bmo/manager", "ironicEndpoint": "http://b",
	"tlsCipherSuites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "stuckAfter": "2h", "virtualMediaLimit": "counted", "breakerEnabled": "false", "kubernetes": "on", "mode": "observe", "disruption": "plan",
	"failedHostHoldoff": "48h", "holdoffGrowth": "2", "leaseTtl": "6m",
}

// different is such a value.
func different(s setting) string {
	if text := another[s.key]; text != "" {
		return text
	}
	candidates := []string{"7s", "46s", "61s", "6m", "16m", "4", "true", "127.0.0.1:9", "other", "/other"}
	if words, ok := strings.CutPrefix(s.rule.must, "one of "); ok {
		candidates = strings.Split(words, ", ")
	}
	for _, text := range candidates {
		if value, err := s.read(text); err == nil && asText(value.Interface()) != s.def {
			return text
		}
	}
	return ""
}

func TestReloadTakesWhatIsLiveAndNamesTheRest(t *testing.T) {
	const rest = "ironicEndpoint: http://a\n"
	for _, s := range settings {
		if s.key == "config" {
			continue
		}
		f, src, c := start(t, rest)
		body := rest
		if s.key == "ironicEndpoint" {
			body = ""
		}
		f.write(body+s.key+": '"+different(s)+"'\n"+neededBy(s), nil)
		next, warnings, err := c.Reload(src)
		if err != nil {
			t.Errorf("%s: %v", s.name(), err)
			continue
		}
		moved, told := s.text(next) != s.text(c), false
		for _, w := range warnings {
			told = told || strings.HasPrefix(string(w), s.name()+" changed from ")
		}
		if moved == s.restart || told != s.restart {
			t.Errorf("%s=%s: restart %t, but taken %t, told %t: %q", s.name(), different(s), s.restart, moved, told, warnings)
		}
	}
}

// neededBy are lines without which a setting is a fault.
func neededBy(s setting) string {
	switch s.key {
	case "leaderElect", "disruption", "ironicName":
		return "kubernetes: on"
	case "apiAccess":
		return "kubernetes: on\ntlsCertDir: /certs"
	}
	return ""
}

func TestReloadOfABrokenFileChangesNothing(t *testing.T) {
	f, src, c := start(t, "ironicEndpoint: http://u:one@h\nmaxConcurrentProvisioningHosts: 9")
	f.write("ironicEndpoint: http://u:one@h\nmaxConcurrentProvisioningHosts: 8\npoolLimits: a=9", nil)
	next, _, err := c.Reload(src)
	if !errors.As(err, new(*Fault)) {
		t.Errorf("error %v, want a fault", err)
	}
	if diff := cmp.Diff(c, next); diff != "" {
		t.Errorf("changed (-old +new):\n%s", diff)
	}
	// A new password is told and not shown.
	f.write("ironicEndpoint: http://u:two@h\nmaxConcurrentProvisioningHosts: 8", nil)
	next, warnings, _ := c.Reload(src)
	if len(warnings) != 1 || strings.Contains(string(warnings[0]), "two") || next.Ironic != c.Ironic || next.Limits.Total != 8 {
		t.Errorf("warnings %q, %+v", warnings, next.Ironic)
	}
}

// TestWatchTellsEachChangeOnce: a file that is being written is empty, or ends in the middle of a number: only what two
// reads in a row have found counts, and what stays empty never does.
func TestWatchTellsEachChangeOnce(t *testing.T) {
	const rest = "ironicEndpoint: http://a\nmaxConcurrentProvisioningHosts: "
	synctest.Test(t, func(t *testing.T) {
		f, src, c := start(t, rest+"40")
		f.write(rest+"39", nil) // before Watch has begun
		ctx, cancel := context.WithCancel(t.Context())
		var updates []Update
		done := make(chan struct{})
		go func() {
			defer close(done)
			Watch(ctx, c, src, func(u Update) { updates = append(updates, u) })
		}()
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
			{rest + "zehn", nil, 3, 40, true},
			{"", errors.New("gone"), 3, 40, true},
			{" \n", nil, 3, 40, true},
			{rest + "41", nil, 3, 41, false},
			{rest + "41\nlinger: 46s", nil, 3, 41, false},
		} {
			updates = nil
			f.write(step.body, step.err)
			passes(time.Duration(step.reads) * watchEvery)
			switch {
			case step.limit == 0 && len(updates) > 0 || step.limit > 0 && len(updates) != 1:
				t.Errorf("%q: %d updates", step.body, len(updates))
			case step.limit > 0 && (updates[0].Config.Limits.Total != step.limit || (updates[0].Err != nil) != step.bad):
				t.Errorf("%q: %+v", step.body, updates[0])
			}
		}
		cancel()
		<-done
		Watch(t.Context(), Default(), Sources{}, nil) // without a file it returns
	})
}

// passes lets virtual time go by.
func passes(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
