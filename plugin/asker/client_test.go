package asker

import (
	"strings"
	"testing"
)

func TestNewClient(t *testing.T) {
	for _, row := range []struct {
		name  string
		env   map[string]string
		fault string // what the error is about; "" is none
	}{
		{"nothing is set", nil, ""},
		{"elsewhere", map[string]string{serverVariable: "https://throttle:8087", tokenVariable: "/token"}, ""},
		{"no URL", map[string]string{serverVariable: "throttle:8087"}, serverVariable + " or " + caVariable + ": base URL"},
		{"a token in the clear", map[string]string{serverVariable: "http://throttle:8087", tokenVariable: "/token"}, serverVariable + " or " + caVariable + ": base URL"},
		{"no CA", map[string]string{serverVariable: "https://throttle:8087", caVariable: "missing.pem"}, serverVariable + " or " + caVariable + ": root CAs"},
	} {
		client, err := NewClient(func(name string) string { return row.env[name] })
		switch {
		case row.fault == "" && (err != nil || client == nil):
			t.Errorf("%s: %v, %v", row.name, client, err)
		case row.fault != "" && (err == nil || !strings.HasPrefix(err.Error(), row.fault+": ")):
			t.Errorf("%s: error %v, want one that begins with %s", row.name, err, row.fault)
		}
	}
}
