package ironic

import (
	"net/http"
	"strings"
	"testing"
)

func TestHasNodeIsOneRequestForOneRow(t *testing.T) {
	one := func(field, value string) string {
		return `{"nodes": [{"uuid": "a", "` + field + `": "` + value + `"}], "next": "http://ironic.test/v1/nodes?limit=1&marker=a"}`
	}
	const none = `{"nodes": []}`
	for _, row := range []struct {
		name, field, value, answer string
		max                        int
		want                       bool
		path                       string // "" = Ironic is not asked
	}{
		{"a group", "conductor_group", "rack1", one("conductor_group", "rack1"), 82, true, "/v1/nodes?conductor_group=rack1&limit=1&fields=uuid,conductor_group"},
		{"no group", "conductor_group", "", one("conductor_group", ""), 82, true, "/v1/nodes?conductor_group=&limit=1&fields=uuid,conductor_group"},
		{"a driver", "driver", "redfish", one("driver", "redfish"), 82, true, "/v1/nodes?driver=redfish&limit=1&fields=uuid,driver"},
		{"nobody", "driver", "a&b=c", none, 82, false, "/v1/nodes?driver=a%26b%3Dc&limit=1&fields=uuid,driver"},
		{"in other letters, as MySQL finds it", "conductor_group", "Rack1", one("conductor_group", "rack1"), 82, false, "/v1/nodes?conductor_group=Rack1&limit=1&fields=uuid,conductor_group"},
		{"before conductor groups", "conductor_group", "rack1", "", 45, false, ""},
		{"before the filter", "driver", "redfish", "", 15, false, ""},
		{"no name", "driver", strings.Repeat("x", maxKeyLen+1), "", 82, false, ""},
	} {
		asked := ""
		w := newWire()
		w.max = row.max
		w.before = func(_ int, r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/v1" {
				return nil, nil
			}
			asked += r.URL.RequestURI()
			return reply(200, row.answer), nil
		}
		got, err := client(t, w).HasNode(t.Context(), row.field, row.value)
		if got != row.want || err != nil || asked != row.path {
			t.Errorf("%s: %v, %v, asked %q; want %v, asked %q", row.name, got, err, asked, row.want, row.path)
		}
	}
}

func TestHasNodeFails(t *testing.T) {
	w := always(func() *http.Response { return refusal(500, "broken") })
	if got, err := client(t, w).HasNode(t.Context(), "driver", "x"); got || err == nil {
		t.Errorf("%v, %v; want an error", got, err)
	}
	if got, err := client(t, newWire()).HasNode(t.Context(), "owner", "x"); got || err == nil {
		t.Errorf("%v, %v; want an error about the field", got, err)
	}
}
