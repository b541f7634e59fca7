package config

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	t.Cleanup(inEnvironment(t, []string{endpoint, "IRONIC_THROTTLE_CONFIG=f.yaml"}))
	src := Sources{ReadFile: f.read}
	c, _, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	return f, src, c
}

// Another valid value of every setting, for a file.
var other = map[string]string{
	"MODE": "observe", "LOG_LEVEL": "warn", "LOG_FORMAT": "json",
	"MAX_CONCURRENT_PROVISIONING_HOSTS": "30", "BMO_CONCURRENCY": "3", "LIMIT_MODE": "adaptive",
	"POOL_LIMITS": "rack1=2", "VIRTUAL_MEDIA_LIMIT": "3",
	"COUNT_MODE": "busy", "COUNT_EXTRA_STATES": "true", "STUCK_AFTER": "2h",
	"POLL_INTERVAL": "6s",
	"LEASE_TTL":     "6m", "LINGER": "46s",
	"TENANT_WEIGHTS":      "prod=2",
	"FAILED_HOST_HOLDOFF": "48h", "HOLDOFF_STAGE": "remediate", "HOLDOFF_GROWTH": "2",
	"HOLDOFF_HOSTS": "metal3/lab=0", "HOLDOFF_FILE": "/i", "MAX_FAILED": "40%",
	"BREAKER_ENABLED": "false", "BREAKER_THRESHOLD": "11", "BREAKER_RECOVERY_TIMEOUT": "16m", "BREAKER_RATE_LIMIT_PER_MINUTE": "10",
	"API_ACCESS": "open", "API_TLS_CERT_FILE": "/k", "API_TLS_KEY_FILE": "/l", "METRICS_TLS_CERT_FILE": "/m", "METRICS_TLS_KEY_FILE": "/n",
	"LISTEN_ADDRESS": "127.0.0.1:1", "LOCAL_LISTEN_ADDRESS": "127.0.0.1:6", "HEALTH_LISTEN_ADDRESS": ":2", "METRICS_LISTEN_ADDRESS": "127.0.0.1:3",
	"GATEWAY_LISTEN_ADDRESS": "127.0.0.1:4", "GATEWAY_TLS_CERT_FILE": "/e", "GATEWAY_TLS_KEY_FILE": "/f", "GATEWAY_CLIENT_CA_FILE": "/g",
	"KUBERNETES": "on", "WATCH_NAMESPACE": "metal3",
	"OPERATOR_DEPLOYMENT": "bmo/manager", "HOLDOFF_CONFIGMAP": "holds",
	"LEADER_ELECT": "true", "LEADER_LEASE_NAME": "other",
	"DISRUPTION": "plan", "DISRUPTION_CONSOLIDATE_AFTER": "30m", "DISRUPTION_BUDGETS": "20%,3,ready:2",
	"DISRUPTION_TARIFF": "0.28",
	"IRONIC_ENDPOINT":   "", "IRONIC_NAME": "", // one or the other
	"IRONIC_NAMESPACE": "irso", "METAL3_AUTH_ROOT_DIR": "/a", "IRONIC_CACERT_FILE": "/b", "IRONIC_CLIENT_CERT_FILE": "/c",
	"IRONIC_CLIENT_PRIVATE_KEY_FILE": "/d", "IRONIC_INSECURE": "true",
}

// Settings of which most are a fault or a warning when they are alone.
const (
	wholeGateway = "gatewayListenAddress: 127.0.0.1:5\ngatewayTlsCertFile: /x\ngatewayTlsKeyFile: /y\n"
	wholeAccess  = "apiTlsCertFile: /x\napiTlsKeyFile: /y\n"
	wholeMetrics = "metricsTlsCertFile: /x\nmetricsTlsKeyFile: /y\n"
)

// without is a file without the line of key.
func without(key, whole string) (file string) {
	for line := range strings.Lines(whole) {
		if !strings.HasPrefix(line, key+":") {
			file += line
		}
	}
	return file
}

// inCluster reports whether s needs KUBERNETES=on.
func inCluster(s setting) bool {
	rows := slices.Concat(kubernetesRows, disruptionRows)
	return s.name == nameHoldMap || s.name != nameKubernetes && slices.ContainsFunc(rows, func(of setting) bool { return of.name == s.name })
}

func TestReloadTakesWhatIsLiveAndNamesTheRest(t *testing.T) {
	for _, s := range table {
		text, ok := other[s.short()]
		if !ok && !s.noFile {
			t.Errorf("%s: no other value in this test", s.name)
		}
		if text == "" {
			continue // given by the environment, which does not change
		}
		var whole, rest string
		if strings.HasPrefix(s.short(), "GATEWAY_") {
			whole, rest = wholeGateway, without(s.key(), wholeGateway)
		}
		if strings.HasPrefix(s.short(), "API_") {
			whole, rest = wholeAccess, without(s.key(), wholeAccess)
		}
		if strings.HasPrefix(s.short(), "METRICS_TLS_") {
			whole, rest = wholeMetrics, without(s.key(), wholeMetrics)
		}
		if inCluster(s) {
			whole = "kubernetes: on\n"
			if strings.HasPrefix(s.short(), "LEADER_") && s.name != nameElect || s.name == nameHoldMap {
				whole += "leaderElect: true\n" // else there is another warning, or an error
			}
			if strings.HasPrefix(s.name, nameDisruption+"_") {
				whole += "disruption: plan\n" // as before
			}
			rest = whole
		}
		f, src, c := start(t, whole)
		f.write(rest+s.key()+": \""+text+"\"", nil)
		next, warnings, err := c.Reload(src)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		moved := next.texts()[s.key()] != c.texts()[s.key()]
		named := len(warnings) == 1 && strings.HasPrefix(string(warnings[0]), s.name+" changed from ")
		if moved != s.hot || named == s.hot {
			t.Errorf("%s: live %t, but taken %t, warnings %q", s.name, s.hot, moved, warnings)
		}
	}
}

func TestReloadOfABrokenFileChangesNothing(t *testing.T) {
	f, src, c := start(t, "maxConcurrentProvisioningHosts: 9")
	f.write("maxConcurrentProvisioningHosts: 8\npoolLimits: rack1=9", nil)
	next, _, err := c.Reload(src)
	if !errors.As(err, new(*Fault)) {
		t.Errorf("error %v, want a fault", err)
	}
	if diff := cmp.Diff(c, next); diff != "" {
		t.Errorf("changed (-old +new):\n%s", diff)
	}
}

func TestReloadNamesANewPasswordWithoutShowingIt(t *testing.T) {
	f := &fakeFile{body: "ironicEndpoint: http://u:one@h"}
	t.Cleanup(inEnvironment(t, []string{"IRONIC_THROTTLE_CONFIG=f.yaml"}))
	src := Sources{ReadFile: f.read}
	c, _, err := Load(src)
	if err != nil {
		t.Fatal(err)
	}
	f.write("ironicEndpoint: http://u:two@h", nil)
	_, warnings, _ := c.Reload(src)
	if len(warnings) != 1 || strings.Contains(string(warnings[0]), "two") {
		t.Errorf("warnings %q", warnings)
	}
}

func TestWatchTellsEachChangeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, src, c := start(t, "maxConcurrentProvisioningHosts: 9")
		ctx, cancel := context.WithCancel(t.Context())
		updates := make(chan Update, 16)
		done := make(chan struct{})
		go func() {
			defer close(done)
			Watch(ctx, c, src, func(u Update) { updates <- u })
		}()
		// Three checks of the file fit between two steps of the story.
		next := func() []Update {
			passes(t, 3*watchEvery)
			var got []Update
			for len(updates) > 0 {
				got = append(got, <-updates)
			}
			return got
		}
		if got := next(); got != nil {
			t.Errorf("unchanged file: %+v", got)
		}
		f.write("maxConcurrentProvisioningHosts: 10", nil)
		if got := next(); len(got) != 1 || got[0].Err != nil || got[0].Config.Limits.Total != 10 {
			t.Errorf("new limit: %+v", got)
		}
		f.write("maxConcurrentProvisioningHosts: zehn", nil)
		if got := next(); len(got) != 1 || got[0].Err == nil || got[0].Config.Limits.Total != 10 {
			t.Errorf("broken file: %+v", got)
		}
		f.write("", errors.New("gone"))
		if got := next(); len(got) != 1 || got[0].Err == nil || got[0].Config.Limits.Total != 10 {
			t.Errorf("file gone: %+v", got)
		}
		f.write("maxConcurrentProvisioningHosts: 11", nil)
		if got := next(); len(got) != 1 || got[0].Err != nil || got[0].Config.Limits.Total != 11 {
			t.Errorf("file back: %+v", got)
		}
		cancel()
		<-done
	})
}

func TestWatchFindsWhatChangedSinceTheStart(t *testing.T) {
	f, src, c := start(t, "maxConcurrentProvisioningHosts: 9")
	f.write("maxConcurrentProvisioningHosts: 10", nil)
	w := newWatcher(c, src)
	w.step()
	if u, news := w.step(); !news || u.Config.Limits.Total != 10 {
		t.Errorf("%+v, %t", u, news)
	}
}

// A file that is being written is empty, or ends in the middle of a number.
func TestWatchTakesOnlyWhatStays(t *testing.T) {
	f, src, c := start(t, "maxConcurrentProvisioningHosts: 40")
	w := newWatcher(c, src)
	for _, body := range []string{"", "maxConcurrentProvisioningHosts: 4", "", "maxConcurrentProvisioningHosts: 40"} {
		f.write(body, nil)
		if u, news := w.step(); news {
			t.Errorf("%q after one check: %+v", body, u)
		}
	}
	f.write(" \n", nil)
	w.step()
	if u, news := w.step(); !news || u.Err == nil || u.Config.Limits.Total != 40 {
		t.Errorf("emptied: %+v, %t", u, news)
	}
	f.write("maxConcurrentProvisioningHosts: 41", nil)
	w.step()
	if u, news := w.step(); !news || u.Err != nil || u.Config.Limits.Total != 41 {
		t.Errorf("written: %+v, %t", u, news)
	}
}

func TestWatchNamesWhatNeedsARestartSinceTheStart(t *testing.T) {
	f, src, c := start(t, "linger: 45s")
	w := newWatcher(c, src)
	if u, news := w.step(); news {
		t.Errorf("unchanged: %+v", u)
	}
	f.write("linger: 46s", nil)
	w = newWatcher(c, src)
	w.step()
	u, news := w.step()
	if !news || len(u.Warnings) != 1 || !strings.HasPrefix(string(u.Warnings[0]), "IRONIC_THROTTLE_LINGER changed from ") {
		t.Errorf("%+v, %t", u, news)
	}
}

func TestWatchWithoutAFileReturns(t *testing.T) {
	Watch(t.Context(), Default(), Sources{}, func(Update) { t.Error("called") })
}

// passes lets virtual time go by.
func passes(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}
