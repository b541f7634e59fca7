package cache

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

const fuzzPage = `{"nodes": [{"uuid": "u", "name": null, "provision_state": "active", "boot_interface": "pxe", "links": [` +
	`{"href": "http://h/v1/nodes/u", "rel": "self"}, {"href": "http://h/nodes/u", "rel": "bookmark"}]}], ` +
	`"next": "http://h/v1/nodes?sort_key=id&sort_dir=asc&fields=uuid,name,provision_state,boot_interface&limit=1&marker=u"}`

// FuzzLearnForm: a form is learnt only from an answer that is JSON, and rows written in it are JSON that says the same.
func FuzzLearnForm(f *testing.F) {
	f.Add([]byte(fuzzPage), "name", "pxe")
	f.Add([]byte(`{"nodes": []}`), "", "")
	f.Fuzz(func(t *testing.T, body []byte, name, boot string) {
		learnt, ok := learnForm(http.Header{}, body)
		if !ok {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("learnt from %q", body)
		}
		row, ok := learnt.row(nil, ironic.Entry{UUID: "u", Name: name, State: ironic.Active, BootInterface: boot})
		if !ok {
			return
		}
		var read struct {
			UUID, Name string
			Boot       string `json:"boot_interface"`
		}
		if err := json.Unmarshal(row, &read); err != nil || read.UUID != "u" || read.Name != name || read.Boot != boot {
			t.Errorf("%s: %+v, %v", row, read, err)
		}
	})
}

// FuzzToldOfAHost: a document of another node, or of one with work before it, is never believed.
func FuzzToldOfAHost(f *testing.F) {
	f.Add(`{"uuid":"u","provision_state":"available","provision_updated_at":null,"target_power_state":null,"reservation":null}`)
	f.Add(`{"UUID":"U","provision_state":"available","provision_updated_at":"2026","reservation":"x","reservation":null}`)
	f.Fuzz(func(t *testing.T, body string) {
		told, ok := (&ticket{uuid: "u", document: true}).told(http.StatusOK, []byte(body))
		if !ok {
			return
		}
		var read struct {
			UUID              string
			TargetPower       any `json:"target_power_state"`
			Reservation       any `json:"reservation"`
			ProvisionState    any `json:"provision_state"`
			ProvisionUpdateAt any `json:"provision_updated_at"`
		}
		if err := json.Unmarshal([]byte(body), &read); err != nil {
			t.Fatalf("believed: %s", body)
		}
		if read.UUID != "" && read.UUID != "u" && read.UUID != "U" || read.TargetPower != nil || read.Reservation != nil {
			t.Errorf("believed: %s", body)
		}
		if state, _ := read.ProvisionState.(string); told != nil && string(told.state) != state {
			t.Errorf("%s: %+v", body, told)
		}
	})
}
