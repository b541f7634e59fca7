//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/ironicsuite"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
)

var trixieSuite = flag.Bool("trixie.suite", false, "run the suite of Ironic on Debian 13's too")

// differs29 is where Ironic 29.0.5 is not as 21.4.4, which the fake is like.
var differs29 = map[string]string{
	"RootDocument":     "GET / has the headers of the version, and is refused (406) with one that is too new",
	"MicroversionOfV1": "a 406 of GET /v1 has title, code and description instead of a faultstring, and no Openstack-Request-Id",
	"ListRefused":      "fields may be given twice",
	"CreateRefused":    "an unknown driver is refused with one sentence more",
	"Rebuild":          "rebuild is answered 500 (UnboundLocalError auto_lessee)",
}

// TestTrixieSuite runs on Ironic 29 what TestIronicPlain runs on 21. make e2e-ironic runs it on
// MariaDB.
func TestTrixieSuite(t *testing.T) {
	if !*trixieSuite {
		t.Skip("-args -trixie.suite runs it")
	}
	target := serveFrom(t, trixie(t, realironic.Options{Settings: slowWork}))
	target.Differs = differs29
	ironicsuite.Run(t, target)
}

// trixie is a real Ironic 29 from Debian 13.
func trixie(t *testing.T, o realironic.Options) *realironic.Ironic {
	t.Helper()
	o.Root = realironic.Chroot()
	if err := realironic.Installed(o); errors.Is(err, realironic.ErrNotInstalled) {
		t.Skipf("no Debian 13 here, make e2e makes it: %v", err)
	}
	return startIronic(t, o)
}

// pretendedHost is a node that is driven as the operator drives it.
type pretendedHost struct {
	t      *testing.T
	ironic *realironic.Ironic
	truth  *realironic.Truth
	uuid   string
}

// askTrixie sends a request that must be answered 2xx.
func askTrixie(t *testing.T, i *realironic.Ironic, method, path string, body any) []byte {
	t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, i.URL+path, bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-OpenStack-Ironic-API-Version", "1.89")
	resp, err := i.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		t.Fatalf("%s %s: %s, %v: %s", method, path, resp.Status, err, answer)
	}
	return answer
}

func newPretendedHost(t *testing.T, i *realironic.Ironic, truth *realironic.Truth, name string) pretendedHost {
	t.Helper()
	var node struct {
		UUID string `json:"uuid"`
	}
	answer := askTrixie(t, i, http.MethodPost, "/v1/nodes", map[string]any{
		"driver": "ipmi", "name": name, "boot_interface": "ipxe", "deploy_interface": "direct",
		"inspect_interface": "agent", "management_interface": "ipmitool", "power_interface": "ipmitool",
		"vendor_interface": "ipmitool", "driver_info": map[string]any{"ipmi_address": "192.0.2.3"},
	})
	if err := json.Unmarshal(answer, &node); err != nil {
		t.Fatal(err)
	}
	return pretendedHost{t, i, truth, node.UUID}
}

// states are those that the host has gone through.
func (h pretendedHost) states() (all []string) {
	for _, c := range h.truth.Changes() {
		if c.UUID == h.uuid {
			all = append(all, c.State)
		}
	}
	return all
}

// to asks for a state and waits until the host has ended in one of two.
func (h pretendedHost) to(target, end string) {
	h.t.Helper()
	before := len(h.states())
	askTrixie(h.t, h.ironic, http.MethodPut, "/v1/nodes/"+h.uuid+"/states/provision", map[string]any{"target": target})
	h.await(func(now []string) bool { return len(now) > before && now[len(now)-1] == end }, target+" to "+end)
}

// await waits until the host's states are as wanted, while they change.
func (h pretendedHost) await(done func([]string) bool, what string) {
	h.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	last, since := 0, time.Now()
	for now := h.states(); !done(now); now = h.states() {
		if len(now) != last {
			last, since = len(now), time.Now()
		}
		if time.Since(since) > 2*time.Minute {
			h.t.Fatalf("%s: nothing has changed for two minutes, states were %q", what, now)
		}
		<-tick.C
	}
}

// TestTrixieHostLives drives a pretended host through a whole life.
func TestTrixieHostLives(t *testing.T) {
	second := realironic.Span{Least: time.Second, Most: time.Second}
	hardware := realironic.Hardware{Inspect: second, Clean: second, Deploy: second, Power: second, TearDown: second}
	i := trixie(t, realironic.Options{Hardware: &hardware})
	if got := maxMinor(t, i); got < 89 {
		t.Errorf("newest API version is 1.%d, the operator wants 1.89", got)
	}
	truth, err := i.WatchTruth(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		// States last a second here, so on a busy machine a gap above half of one is no fault.
		err := truth.Stop()
		t.Logf("worst gap between two samples: %s (%v)", truth.WorstGap(), err)
		if truth.WorstGap() < time.Second/2 && err != nil {
			t.Error(err)
		}
	}()

	h := newPretendedHost(t, i, truth, "metal3~host-1")
	h.to("manage", "manageable")
	h.to("inspect", "manageable")
	// Each PATCH of 29.0.5 as it comes would make the node its own child, which nobody can power off.
	askTrixie(t, i, http.MethodPatch, "/v1/nodes/"+h.uuid, []map[string]any{{"op": "add", "path": "/extra/seen", "value": "yes"}})
	h.to("provide", "available")
	h.to("active", "active")
	h.to("deleted", "available")

	hardware.FailDeploy = "~host-1$"
	if err := i.SetHardware(hardware); err != nil {
		t.Fatal(err)
	}
	h.to("active", "deploy failed")
	h.to("deleted", "available")
	askTrixie(t, i, http.MethodDelete, "/v1/nodes/"+h.uuid, nil)
	h.await(func(now []string) bool { return now[len(now)-1] == "" }, "delete")

	// Those that last; what is over at once may be seen or not.
	lasting := []string{"enroll", "manageable", "inspecting", "manageable", "cleaning", "available", "deploying", "active",
		"deleting", "cleaning", "available", "deploying", "deploy failed", "deleting", "cleaning", "available", ""}
	got := slices.DeleteFunc(h.states(), func(s string) bool { return s == "verifying" })
	if diff := cmp.Diff(lasting, got); diff != "" {
		t.Errorf("states, want - got +\n%s", diff)
	}
	for _, c := range truth.Changes() {
		if c.UUID == h.uuid && c.Name != "metal3~host-1" {
			t.Errorf("change %+v has another name", c)
		}
	}
}

// TestTrixieAPIIsLimited lets the API work hard with and without a limit.
func TestTrixieAPIIsLimited(t *testing.T) {
	i := trixie(t, realironic.Options{})
	// share is how much of a core the API takes while it is asked all the time.
	share := func() float64 {
		t.Helper()
		began, before := time.Now(), cpu(t, i)
		for time.Since(began) < 3*time.Second {
			askTrixie(t, i, http.MethodGet, "/v1/drivers?detail=true", nil)
		}
		return float64(cpu(t, i)-before) / float64(time.Since(began))
	}
	free := share()
	undo, err := i.LimitAPI(0.1)
	if err != nil {
		t.Fatal(err)
	}
	limited := share()
	undo()
	again := share()
	t.Logf("cores of the API: %.2f, limited to 0.1: %.2f, then %.2f", free, limited, again)
	// The tick of the account and a period that has begun blur it; other work on the
	// machine only ever takes from it.
	if limited > 0.2 {
		t.Errorf("the API took %.2f cores of 0.1", limited)
	}
	if _, err := i.LimitAPI(0); err == nil || !strings.Contains(err.Error(), "0.01") {
		t.Errorf("a limit of 0: %v", err)
	}
}

func cpu(t *testing.T, i *realironic.Ironic) time.Duration {
	t.Helper()
	d, err := i.APICPU()
	if err != nil {
		t.Fatal(err)
	}
	return d
}
