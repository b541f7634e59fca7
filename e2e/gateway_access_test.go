//go:build e2e

package e2e

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/realironic"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// as shows credentials.
func as(user, password string) func(*step) {
	return with("Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)))
}

// TestCredentials holds that Ironic alone says who may come in: its 401 goes
// through the gateway as it is, and who gets it has neither a slot nor a place.
func TestCredentials(t *testing.T) {
	t.Parallel()
	i := startIronic(t, realironic.Options{BasicAuth: true, TLS: true})
	own := newCertificate(t)
	g := serveGateway(t, i, append(append(soon, limitOne), own.settings()...)...).settled()
	s := newSameness(&lab{T: t, ironic: i}, g)
	s.direct.trust = trusted(i.Client())
	s.through.trust = trusted(own.client(t))
	granted := g.status().Totals.Granted
	right := as(i.User, i.Password)
	s.run("Create", []step{
		do("POST /v1/nodes", right, sending(`{"driver":"fake-hardware","uuid":"`+node1+`","name":"@-1"}`)),
		do("PUT"+one+"/states/provision", right, sending(`{"target":"manage"}`)), rests(node1, "manageable"),
	})
	strangers := []step{do("GET /v1"), do("GET /"), do("GET /v1/lookup?node_uuid=" + nobody0), do("GET /v1/nodes"), do("GET /v1/nodes", as(i.User, "wrong"))}
	for _, who := range []func(*step){nil, as(i.User, "wrong"), as(i.User, ""), as("nobody", i.Password), with("Authorization: Bearer x"), with("Authorization: Basic !"), with("X-Auth-Token: x")} {
		for _, path := range []string{one, " /v1/nodes/@-1", " /v1/nodes/" + nobody0, " /nodes/" + node1} {
			st := do("PUT"+path+"/states/provision", sending(`{"target":"inspect"}`))
			if who != nil {
				who(&st)
			}
			strangers = append(strangers, st)
		}
	}
	outside := func() {
		t.Helper()
		if st := g.status(); st.Slots.Total.Waiting != 0 || st.Totals.Granted != granted {
			t.Errorf("strangers got a place or a slot: %+v, %+v", st.Slots.Total, st.Totals)
		}
	}
	s.run("FreeSlot", strangers)
	outside()
	if err := i.AddNodes(t.Context(), realironic.Batch{Count: 1, Prefix: key("taken-"), State: "clean wait", AgentURL: true}); err != nil {
		t.Fatal(err)
	}
	g.awaitStatus("no free slot", func(st api.Status) bool { return st.Slots.Total.Free == 0 })
	s.run("NoSlot", strangers)
	outside()

	put := do("PUT"+one+"/states/provision", right, sending(`{"target":"inspect"}`))
	if got := s.through.send(http.MethodPut, s.through.message(put)); !strings.HasPrefix(got.Status, "409") {
		t.Errorf("PUT with credentials and without a slot: %+v, want 409", got)
	}
	g.awaitStatus("one that waits", func(st api.Status) bool { return st.Slots.Total.Waiting == 1 })
	s.run("NoSlotAgain", strangers)
	if strings.Contains(g.log.String(), i.Password) {
		t.Error("the password is in the log")
	}
	g.stop()
}
