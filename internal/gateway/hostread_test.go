package gateway

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
)

// A name may be another node's by now, which is written to by its UUID: only what is asked
// by UUID is kept.
func TestGW18_OnlyWhatIsAskedByUUIDIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const name = "ns-01~host-00002"
		l := full(t, labOptions{})
		defer l.close()
		l.refuse(1)
		l.poll()
		patch := func(n int, body string) {
			if got := l.do(named(request(http.MethodPatch, "/v1/nodes/"+l.uuids[n], body))); got.Code != http.StatusOK {
				t.Fatalf("%d %s", got.Code, got.Body)
			}
		}
		rename := func(n int, name string) {
			patch(n, fmt.Sprintf(`[{"op": "replace", "path": "/name", "value": %q}]`, name))
		}
		rename(1, "elsewhere")
		rename(2, name)
		paths := append(readsOf(name), readsOf("elsewhere")...)
		paths = append(paths, "/v1/nodes/"+name+"?fields=name,extra", "/v1/nodes/ns-01%7Ehost-00002")
		for _, path := range paths {
			l.do(read(path))
		}
		patch(2, `[{"op": "add", "path": "/extra/k", "value": "new"}]`)
		for _, path := range paths {
			l.same(func() *http.Request { return read(path) }, "")
		}
	})
}
