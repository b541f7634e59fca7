package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The pages speak of MODE, COUNT_MODE and so on. Set like that they are not read, which
// in silence would be a trap: with MODE=observe the throttle refuses.
func TestEveryNameWithoutThePrefixIsWarnedAbout(t *testing.T) {
	// A value that is valid and not the default, for the names that others use too.
	other := map[string]string{
		"CONFIG": "throttle.yaml", "MODE": "observe", "LOG_LEVEL": "debug", "LOG_FORMAT": "json",
		"POLL_INTERVAL": "7s", "LISTEN_ADDRESS": ":80", "HEALTH_LISTEN_ADDRESS": ":81",
		"METRICS_LISTEN_ADDRESS": ":82",
	}
	for _, s := range table {
		if s.shared() {
			continue
		}
		name := s.short()
		text, common := other[name]
		if !common {
			text = "hunter2" // not valid, and a secret perhaps
		}
		_, warnings, err := load(t, name+"="+text)
		want := []string{name + " in the environment is not read: the name is " + s.name}
		if diff := cmp.Diff(want, warnings); diff != "" || err != nil {
			t.Errorf("%s=%s: error %v, warnings (-want +got):\n%s", name, text, err, diff)
		}
	}
}

func TestWarningsOfNamesWithoutThePrefix(t *testing.T) {
	const notRead = " in the environment is not read: the name is IRONIC_THROTTLE_"
	for _, row := range []struct {
		name    string
		environ []string
		want    []string
	}{
		{"one line each, in the order of the environment", []string{"TENANT_WEIGHTS=prod=0", "MODE=observe", "COUNT_MODE=busy", "POOL_LIMITS=g=1"},
			[]string{"TENANT_WEIGHTS" + notRead + "TENANT_WEIGHTS", "MODE" + notRead + "MODE", "COUNT_MODE" + notRead + "COUNT_MODE", "POOL_LIMITS" + notRead + "POOL_LIMITS"}},
		{"an empty value is an unset one", []string{"COUNT_MODE=", "MODE="}, nil},
		{"given twice", []string{"MODE=observe", "MODE=observe"}, []string{"MODE" + notRead + "MODE"}},
		{"words of somebody else", []string{"MODE=production", "LOG_LEVEL=trace", "LOG_FORMAT=logfmt", "POLL_INTERVAL=10",
			"LISTEN_ADDRESS=10.0.0.1", "CONFIG=release", "METRICS_LISTEN_ADDRESS=9090"}, nil},
		{"what is in force anyway", []string{"MODE=enforce", "LOG_LEVEL=info", "LISTEN_ADDRESS=127.0.0.1:8087"}, nil},
		{"set under both names", []string{"LOG_LEVEL=debug", envPrefix + "LOG_LEVEL=warn", "STUCK_AFTER=1h", envPrefix + "STUCK_AFTER=1h"}, nil},
		{"beside a fault", []string{"COUNT_MODE=busy", envPrefix + "LINGER=x"}, []string{"COUNT_MODE" + notRead + "COUNT_MODE"}},
		{"names that are read", []string{"PROVISIONING_LIMIT=3", "MAX_CONCURRENT_PROVISIONING_HOSTS=3", "POD_NAME=a", "KUBECONFIG=/k"}, nil},
	} {
		if _, warnings, _ := load(t, row.environ...); !cmp.Equal(row.want, warnings) {
			t.Errorf("%s: warnings (-want +got):\n%s", row.name, cmp.Diff(row.want, warnings))
		}
	}
}
