package cache

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What real Ironics wrote (21.4.4 and 29.0.5) is what we would write.
func TestGW11_FormOfARealIronic(t *testing.T) {
	for _, name := range []string{"04-list-page-fields.http", "81-v29-list-fields.http"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "rig", "fakeironic", "testdata", "captures", name))
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := bytes.Cut(bytes.TrimSpace(text), []byte(`{"nodes": [`))
		body = append([]byte(`{"nodes": [`), body...)
		// Its first row alone is an answer to limit=1.
		first, rest, _ := bytes.Cut(body, []byte(`"rel": "bookmark"}]}`))
		_, next, _ := bytes.Cut(rest, []byte(`"next": "`))
		base, _, _ := strings.Cut(string(next), "/v1/nodes?")
		uuid := string(first[len(`{"nodes": [{"uuid": "`):][:36])
		one := string(first) + `"rel": "bookmark"}]}], "next": "` + base +
			`/v1/nodes?sort_key=id&sort_dir=asc&fields=uuid,name,provision_state,boot_interface&limit=1&marker=` + uuid + `"}`
		f, ok := learnForm(http.Header{"Content-Type": {"application/json"}}, []byte(one))
		if !ok || f.base != base {
			t.Errorf("%s: not learnt, base %q: %s", name, f.base, one)
		}
	}
}

func TestGW11_OtherFormsAreNotAnsweredFor(t *testing.T) {
	const good = `{"nodes": [{"uuid": "u", "name": null, "provision_state": "active", "boot_interface": "pxe", "links": [` +
		`{"href": "http://h/v1/nodes/u", "rel": "self"}, {"href": "http://h/nodes/u", "rel": "bookmark"}]}], ` +
		`"next": "http://h/v1/nodes?sort_key=id&sort_dir=asc&fields=uuid,name,provision_state,boot_interface&limit=1&marker=u"}`
	for _, row := range []struct {
		name, old, instead string
		ok                 bool
	}{
		{"as it is", "", "", true},
		{"another base", "http://h/", "https://ironic.example:6385/prefix/", true},
		{"a name", "null", `"metal3~h"`, true},
		{"no spaces", `": "`, `":"`, false},
		{"another order", `"name": null, "provision_state": "active"`, `"provision_state": "active", "name": null`, false},
		{"one more field", `"name": null`, `"name": null, "driver": "ipmi"`, false},
		{"two bases", "http://h/nodes", "http://other/nodes", false},
		{"next leads elsewhere", "http://h/v1/nodes?", "http://other/v1/nodes?", false},
		{"no next", onwards(good, `, "next"`), "}", false},
		{"an escape", "active", `\u0061ctive`, false},
		{"a letter beyond ASCII", "null", `"h\u00f6st"`, false},
		{"no links", onwards(good, `, "links"`), "}]}", false},
		{"no JSON", "{", "", false},
	} {
		body := good
		if row.old != "" {
			body = strings.ReplaceAll(good, row.old, row.instead)
		}
		if _, ok := learnForm(http.Header{}, []byte(body)); ok != row.ok {
			t.Errorf("%s: learnt %t, want %t: %s", row.name, ok, row.ok, body)
		}
	}
	if _, ok := learnForm(http.Header{"Content-Encoding": {"gzip"}}, []byte(good)); ok {
		t.Error("learnt from what is packed")
	}
}

// onwards is text from mark on.
func onwards(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return mark + rest
}
