package server

import (
	"net/http"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestWhyIsTheDeciders(t *testing.T) {
	for path, host := range map[string]string{"metal3/host-0": "metal3|host-0", "-/3f2b8a6e": "|3f2b8a6e", "metal3/a%2Fb": "metal3|a/b"} {
		f := seen()
		f.why = api.Why{Standing: api.StandingWaiting, Story: []string{"It waits."}}
		if got := decoded[api.Why](t, send(t, made(t, f).API(), http.MethodGet, "/v1/why/"+path, "")); got.Host != host || len(got.Story) != 1 {
			t.Errorf("%s: %+v", path, got)
		}
	}
}
