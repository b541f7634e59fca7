package proxy

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/request"
)

func TestAccessIsBounded(t *testing.T) {
	a := access{}
	for i := range 2 * maxAccepted {
		h := http.Header{"X-Auth-Token": {fmt.Sprint(i)}}
		a.accept(time.Now(), request.CredentialsOf(h))
	}
	if len(a.accepted) > maxAccepted {
		t.Errorf("%d are kept", len(a.accepted))
	}
	if request.CredentialsOf(http.Header{"Authorization": {"a"}}) == request.CredentialsOf(http.Header{"X-Auth-Token": {"a"}}) {
		t.Error("two kinds of credentials are one")
	}
}
