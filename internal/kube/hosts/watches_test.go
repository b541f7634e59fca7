package hosts

import "testing"

func TestWatchedNamespaces(t *testing.T) {
	for _, row := range []struct {
		namespaces []string
		a, b       bool
	}{{nil, true, true}, {[]string{"a"}, true, false}, {[]string{"b", "a"}, true, true}} {
		d, err := New(Options{Config: newConfig("http://kube"), Namespaces: row.namespaces})
		if err != nil {
			t.Fatal(err)
		}
		if d.Watches("a") != row.a || d.Watches("b") != row.b {
			t.Errorf("%q: %v %v", row.namespaces, d.Watches("a"), d.Watches("b"))
		}
	}
}
