package bmopatch

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metal3api "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// throttled is a Throttle in front of h.
func throttled(t *testing.T, fallback string, h http.HandlerFunc) *Throttle {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	t.Setenv(urlVariable, s.URL)
	t.Setenv(fallbackVariable, fallback)
	throttle, err := FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(throttle.client.CloseIdleConnections)
	return throttle
}

func host() *metal3api.BareMetalHost {
	h := &metal3api.BareMetalHost{}
	h.Namespace, h.Name, h.UID = "metal3", "host-1", "1b4e28ba"
	h.Spec.Online, h.Spec.Image = true, &metal3api.Image{URL: "http://images/a"}
	h.Status.ErrorCount = 3
	return h
}

// never is the operator's own rule where it must not be asked.
func never(t *testing.T) func(context.Context) (bool, error) {
	return func(context.Context) (bool, error) {
		t.Helper()
		t.Error("the operator's own rule was asked")
		return true, nil
	}
}

func TestLH29_TheThrottleDecides(t *testing.T) {
	for _, want := range []bool{true, false} {
		var asked api.Ask
		throttle := throttled(t, "", func(w http.ResponseWriter, r *http.Request) {
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			reason := map[bool]api.Reason{true: api.ReasonGranted, false: api.ReasonFull}[want]
			fmt.Fprintf(w, `{"ready":%t,"reason":%q}`, want, reason)
		})
		got, err := throttle.HasCapacity(t.Context(), logr.Discard(), host(), metal3api.StateProvisioning, false, never(t))
		if got != want || err != nil {
			t.Errorf("HasCapacity = %t, %v, want %t", got, err, want)
		}
		if asked.Namespace != "metal3" || asked.Name != "host-1" || asked.Op != api.OpProvision || asked.ErrorCount != 3 {
			t.Errorf("asked %+v", asked)
		}
	}
}

// TestLH29_NoAnswerIsANo: refused connections, errors, nonsense, and answers that do not
// come.
func TestLH29_NoAnswerIsANo(t *testing.T) {
	gone := make(chan struct{})
	for name, h := range map[string]http.HandlerFunc{
		"503":      func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"nonsense": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ready":true}`) },
		"silence":  func(http.ResponseWriter, *http.Request) { <-gone },
	} {
		t.Run(name, func(t *testing.T) {
			throttle := throttled(t, "deny", h)
			if name == "silence" {
				defer close(gone)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*timeout)
			defer cancel()
			got, err := throttle.HasCapacity(ctx, logr.Discard(), host(), metal3api.StateInspecting, false, never(t))
			if got || err != nil {
				t.Errorf("HasCapacity = %t, %v, want a no without an error", got, err)
			}
			if ctx.Err() != nil {
				t.Error("it did not give up by itself")
			}
		})
	}
}

func TestLH29_BuiltinIsForThoseWhoAskForIt(t *testing.T) {
	down := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	for _, want := range []bool{true, false} {
		throttle := throttled(t, "builtin", down)
		got, err := throttle.HasCapacity(t.Context(), logr.Discard(), host(), metal3api.StateProvisioning, false,
			func(context.Context) (bool, error) { return want, nil })
		if got != want || err != nil {
			t.Errorf("HasCapacity = %t, %v, want what the operator's rule says: %t", got, err, want)
		}
	}
	full := throttled(t, "builtin", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"ready":false,"reason":"full"}`) })
	if got, err := full.HasCapacity(t.Context(), logr.Discard(), host(), metal3api.StateProvisioning, false, never(t)); got || err != nil {
		t.Errorf("HasCapacity = %t, %v: a no of the throttle is final", got, err)
	}
}

func TestFromEnv(t *testing.T) {
	for _, c := range []struct{ url, fallback, fault string }{
		{"", "nonsense", ""},
		{"http://127.0.0.1:8087", "", ""},
		{"127.0.0.1:8087", "", urlVariable},
		{"http://127.0.0.1:8087", "none", fallbackVariable},
	} {
		t.Setenv(urlVariable, c.url)
		t.Setenv(fallbackVariable, c.fallback)
		throttle, err := FromEnv()
		switch {
		case c.fault != "" && (err == nil || !strings.HasPrefix(err.Error(), c.fault+":")):
			t.Errorf("%+v: error %v, want one that names %s", c, err, c.fault)
		case c.fault == "" && (err != nil || (throttle == nil) != (c.url == "")):
			t.Errorf("%+v: %v, %v", c, throttle, err)
		}
	}
}

func TestLH38_Operation(t *testing.T) {
	deleting := host()
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	imageless := host()
	imageless.Spec.Image = nil
	for _, c := range []struct {
		name  string
		host  *metal3api.BareMetalHost
		state metal3api.ProvisioningState
		want  api.Op
	}{
		{"inspect", host(), metal3api.StateInspecting, api.OpInspect},
		{"prepare", host(), metal3api.StatePreparing, api.OpPrepare},
		{"wants an image", host(), metal3api.StateAvailable, api.OpProvision},
		{"wants none", imageless, metal3api.StateAvailable, api.OpNone},
		{"in the middle", imageless, metal3api.StateProvisioning, api.OpProvision},
		{"is used", host(), metal3api.StateProvisioned, api.OpNone},
		{"goes", deleting, metal3api.StateProvisioned, api.OpDeprovision},
		{"deprovision", host(), metal3api.StateDeprovisioning, api.OpDeprovision},
		{"power off", deleting, metal3api.StatePoweringOffBeforeDelete, api.OpNone},
	} {
		if got := operation(c.host, c.state); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
