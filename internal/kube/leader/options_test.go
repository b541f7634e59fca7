package leader

import (
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestOptionsAreChecked(t *testing.T) {
	good := Options{
		Config: &rest.Config{Host: "http://api"}, Namespace: "metal3", Name: "ironic-throttle", Identity: "a",
		Duration: duration, RenewDeadline: deadline, RetryPeriod: retry,
	}
	for _, row := range []struct {
		want   string
		change func(*Options)
	}{
		{"", func(*Options) {}},
		{"config: must be set", func(o *Options) { o.Config = nil }},
		{`namespace: "" is not`, func(o *Options) { o.Namespace = "" }},
		{`name: "A/B" is not`, func(o *Options) { o.Name = "A/B" }},
		{`identity: "" must have`, func(o *Options) { o.Identity = "" }},
		{`identity: "xxx`, func(o *Options) { o.Identity = strings.Repeat("x", maxIdentity+1) }},
		{`duration: "15.5s" must be whole seconds`, func(o *Options) { o.Duration += time.Second / 2 }},
		{`duration: "0s" must be`, func(o *Options) { o.Duration = 0 }},
		{`renew deadline: "15s" must be less than the duration, 15s`, func(o *Options) { o.RenewDeadline = o.Duration }},
		{`renew deadline: "10s" must be more than 1.2 times the retry period, 9s`, func(o *Options) { o.RetryPeriod = 9 * time.Second }},
		{`retry period: "0s" must be more than 0`, func(o *Options) { o.RetryPeriod = 0 }},
	} {
		o := good
		row.change(&o)
		e, err := New(o)
		if row.want == "" {
			if err != nil || e.Leading() || e.Status().Identity != "a" {
				t.Errorf("%v", err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%v, want %s", err, row.want)
		}
	}
}
