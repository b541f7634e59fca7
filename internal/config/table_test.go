package config

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTableIsSound(t *testing.T) {
	seen := map[string]string{}
	for _, s := range table {
		for _, name := range []string{s.name, s.key(), "--" + s.flag()} {
			if other, ok := seen[name]; ok {
				t.Errorf("%s and %s are both called %s", s.name, other, name)
			}
			seen[name] = s.name
		}
		if _, ok := Default().values()[s.key()]; !ok {
			t.Errorf("%s: no field of Config has the tag %s", s.name, s.key())
		}
		if s.def != "" {
			text, ok := s.read(s.def)
			if !ok {
				t.Errorf("%s: default %q", s.name, s.def)
			}
			if _, ok := s.read(text); !ok {
				t.Errorf("%s: cannot read its own text %q", s.name, text)
			}
		}
		if s.help == "" || strings.ContainsAny(s.help+s.rule.text, "|\n") {
			t.Errorf("%s: help %q or rule %q is empty or breaks the table", s.name, s.help, s.rule.text)
		}
	}
}

func TestNames(t *testing.T) {
	s := setting{name: "IRONIC_THROTTLE_POLL_INTERVAL"}
	if diff := cmp.Diff([]string{"IRONIC_THROTTLE_POLL_INTERVAL", "pollInterval", "poll-interval"}, []string{s.name, s.key(), s.flag()}); diff != "" {
		t.Error(diff)
	}
	s = setting{name: "IRONIC_CACERT_FILE"}
	if diff := cmp.Diff([]string{"IRONIC_CACERT_FILE", "ironicCacertFile", "ironic-cacert-file"}, []string{s.name, s.key(), s.flag()}); diff != "" {
		t.Error(diff)
	}
}

func FuzzFile(f *testing.F) {
	paths, _ := filepath.Glob(filepath.Join("..", "..", "testdata", "config", "*"))
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(filepath.Ext(path), body)
	}
	f.Fuzz(func(t *testing.T, ext string, body []byte) {
		c, _, err := loadFile(t, "f"+ext, string(body))
		holds(t, c, err)
	})
}

func FuzzEnvironment(f *testing.F) {
	f.Add("IRONIC_THROTTLE_POOL_LIMITS", "rack1=8,rack2=12")
	f.Add("PROVISIONING_LIMIT", "0")
	f.Add("IRONIC_ENDPOINT", "http://a:b@c")
	f.Add("IRONIC_THROTTLE_LINGERR", "45s")
	f.Add("IRONIC_THROTTLE_TENANT_WEIGHTS", "prod=3,dev=0.5")
	f.Add("IRONIC_THROTTLE_GATEWAY_LISTEN_ADDRESS", "localhost:6385")
	f.Add("IRONIC_THROTTLE_FAILED_HOST_HOLDOFF", "1.5h")
	f.Add("IRONIC_THROTTLE_HOLDOFF_GROWTH", "9.99")
	f.Add("IRONIC_THROTTLE_HOLDOFF_HOSTS", "metal3/worker-1=48h,metal3/lab.1=0")
	f.Add("IRONIC_THROTTLE_MAX_FAILED", "40%")
	f.Add("IRONIC_THROTTLE_BREAKER_ENABLED", "TRUE")
	f.Add("IRONIC_THROTTLE_BREAKER_RECOVERY_TIMEOUT", "1ms")
	f.Add("IRONIC_THROTTLE_DISRUPTION_BUDGETS", `[{"nodes":"0","schedule":"0 8 * * 1-5","duration":"8h","reasons":["Empty"]}]`)
	f.Add("IRONIC_THROTTLE_DISRUPTION_CONSOLIDATE_AFTER", "Never")
	f.Add("IRONIC_THROTTLE_DISRUPTION_TARIFF", "0.28")
	f.Fuzz(func(t *testing.T, name, text string) {
		c, _, err := loadFrom(t, Sources{ReadFile: files}, name+"="+text, endpoint)
		holds(t, c, err)
	})
}

// FuzzSetting reaches every row, which a name of the fuzzer's own hardly does.
func FuzzSetting(f *testing.F) {
	for i, s := range table {
		f.Add(uint8(i), s.def)
		f.Add(uint8(i), s.pairs)
	}
	f.Fuzz(func(t *testing.T, row uint8, text string) {
		rows := table
		s := rows[int(row)%len(rows)]
		c, _, err := loadFrom(t, Sources{ReadFile: files}, s.name+"="+text, endpoint)
		holds(t, c, err)
	})
}

// holds fails unless a config that Load let pass keeps its promises.
func holds(t *testing.T, c Config, err error) {
	t.Helper()
	if err != nil {
		for _, text := range faults(err) {
			if text != oneLine(text) {
				t.Errorf("control characters in %q", text)
			}
		}
		return
	}
	l, v, s := c.Limits, c.View, c.Leases
	if l.Total < 1 || l.Total > maxLimit || l.VirtualMedia < MediaCounted {
		t.Errorf("limits %+v", l)
	}
	for name, n := range l.Pools {
		if name == "" || n < 1 || n > l.Total {
			t.Errorf("pool %q=%d of %d", name, n, l.Total)
		}
	}
	if v.PollInterval <= 0 || v.MaxStale < 6*v.PollInterval || s.TTL < 2*v.PollInterval || s.StartupSettle < s.Linger ||
		c.Kubernetes.Leader.Elect && s.StartupSettle < LeaseRenewDeadline {
		t.Errorf("times %+v %+v", v, s)
	}
	for name, w := range c.Turns.Weights {
		if !(w >= 0.01 && w <= 100) || name == "" {
			t.Errorf("weight of %q: %v", name, w)
		}
	}
}

// roundTrip fails unless c can be read from its own texts.
func roundTrip(t *testing.T, c Config) {
	t.Helper()
	texts := c.texts()
	var environ []string
	for _, s := range table {
		switch text := texts[s.key()]; s.name {
		case nameConfig:
		case nameEndpoint: // credentials are masked
			environ = append(environ, s.name+"="+c.Ironic.Endpoint)
		default:
			environ = append(environ, s.name+"="+text)
		}
	}
	again, _, err := loadFrom(t, Sources{}, environ...)
	again.File, again.FileSum = c.File, c.FileSum
	if diff := cmp.Diff(texts, again.texts()); err != nil || diff != "" {
		t.Errorf("%v (-texts +read again):\n%s", err, diff)
	}
}

func holdsHoldoff(t *testing.T, h Holdoff) {
	t.Helper()
	if h.Timeout < 0 || !(h.Growth >= 1 && h.Growth <= 10) || h.Stage != HoldRetry && h.Stage != HoldRemediate {
		t.Errorf("holdoff %+v", h)
	}
	for host, d := range h.Hosts {
		namespace, name, _ := strings.Cut(host, "/")
		if d < 0 || namespace == "" || name == "" || strings.ContainsAny(host, "~=, ") || strings.Contains(name, "/") {
			t.Errorf("hold of %q: %v", host, d)
		}
	}
	digits := strings.TrimSuffix(h.MaxFailed, "%")
	if n, err := strconv.ParseUint(digits, 10, 32); err != nil || n > maxQuota || digits != h.MaxFailed && n > 100 {
		t.Errorf("at most %q failed", h.MaxFailed)
	}
}

func holdsBreaker(t *testing.T, b Breaker) {
	t.Helper()
	if b.Threshold < 2 || b.GroupThreshold() < 2 || b.RateLimitPerMinute < 0 || b.RecoveryTimeout <= 0 {
		t.Errorf("breaker %+v", b)
	}
}

// loadFile runs Load with a file of that name and body.
func loadFile(t *testing.T, path, body string) (Config, []string, error) {
	t.Helper()
	src := Sources{ReadFile: func(string) ([]byte, error) { return []byte(body), nil }}
	return loadFrom(t, src, endpoint, "IRONIC_THROTTLE_CONFIG="+path)
}

func TestTimesThatFollow(t *testing.T) {
	for _, row := range []struct {
		poll, linger, elect string
		stale, list, settle time.Duration
	}{
		{"", "", "", 30 * time.Second, time.Minute, time.Minute},
		{"1s", "1s", "", 30 * time.Second, 12 * time.Second, 4 * time.Second / 3},
		{"10s", "3s", "true", time.Minute, 2 * time.Minute, 10 * time.Second},
		{"1m", "90s", "true", 6 * time.Minute, 12 * time.Minute, 2 * time.Minute},
	} {
		c, _, err := load(t, ours("POLL_INTERVAL", row.poll), ours("LINGER", row.linger), ours("LEADER_ELECT", row.elect), ours("KUBERNETES", "on"))
		if err != nil || c.View.MaxStale != row.stale || c.View.ListMaxAge != row.list || c.Leases.StartupSettle.Round(time.Millisecond) != row.settle.Round(time.Millisecond) {
			t.Errorf("%+v: %v, %+v %+v", row, err, c.View, c.Leases)
		}
	}
}

func TestHostsThatBootFromVirtualMedia(t *testing.T) {
	for _, row := range []struct {
		environ []string
		want    mediaLimit
		fault   bool
	}{
		{nil, MediaExempt, false},
		{[]string{ours("VIRTUAL_MEDIA_LIMIT", "counted")}, MediaCounted, false},
		{[]string{ours("VIRTUAL_MEDIA_LIMIT", "7")}, 7, false},
		{[]string{ours("EXEMPT_VIRTUAL_MEDIA", "false")}, MediaCounted, false},
		{[]string{ours("EXEMPT_VIRTUAL_MEDIA", "true")}, MediaExempt, false},
		{[]string{ours("EXEMPT_VIRTUAL_MEDIA", "false"), ours("VIRTUAL_MEDIA_LIMIT", "7")}, 7, false},
		{[]string{ours("VIRTUAL_MEDIA_LIMIT", "0")}, 0, true},
		{[]string{ours("VIRTUAL_MEDIA_LIMIT", "-1")}, 0, true},
		{[]string{ours("VIRTUAL_MEDIA_LIMIT", "100001")}, 0, true},
		{[]string{ours("EXEMPT_VIRTUAL_MEDIA", "fasle")}, 0, true},
	} {
		c, warnings, err := load(t, row.environ...)
		if (err != nil) != row.fault || c.Limits.VirtualMedia != row.want || warnings != nil {
			t.Errorf("%q: %v, %v, %q", row.environ, c.Limits.VirtualMedia, err, warnings)
		}
	}
}
