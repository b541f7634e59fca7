package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

const uuid = "3f2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"

func TestValidate(t *testing.T) {
	good := Ask{Namespace: "metal3", Name: "host-1", Op: OpProvision}
	for _, row := range []struct {
		name   string
		change func(*Ask)
		field  string // "" = valid
	}{
		{"as it is", func(*Ask) {}, ""},
		{"UUID alone", func(a *Ask) { *a = Ask{NodeUUID: uuid, Op: OpNone} }, ""},
		{"UUID in capitals", func(a *Ask) { a.NodeUUID = strings.ToUpper(uuid) }, ""},
		{"longest name", func(a *Ask) { a.Name = strings.Repeat("n", 253) }, ""},
		{"unknown state of a BareMetalHost", func(a *Ask) { a.BMHState = "powering off before delete" }, ""},
		{"no op", func(a *Ask) { a.Op = "" }, "op"},
		{"unknown op", func(a *Ask) { a.Op = "Provision" }, "op"},
		{"nobody", func(a *Ask) { a.Name = "" }, "name"},
		{"short UUID", func(a *Ask) { a.NodeUUID = uuid[1:] }, "nodeUUID"},
		{"UUID without dashes", func(a *Ask) { a.NodeUUID = strings.ReplaceAll(uuid, "-", "0") }, "nodeUUID"},
		{"long namespace", func(a *Ask) { a.Namespace = strings.Repeat("n", 254) }, "namespace"},
		{"long name", func(a *Ask) { a.Name = strings.Repeat("n", 254) }, "name"},
		{"tilde in namespace", func(a *Ask) { a.Namespace = "a~b" }, "namespace"},
		{"tilde in name", func(a *Ask) { a.Name = "a~b" }, "name"},
		{"newline in name", func(a *Ask) { a.Name = "a\nb" }, "name"},
		{"escape in state", func(a *Ask) { a.BMHState = "\x1b[2J" }, "bmhState"},
		{"no UTF-8 in uid", func(a *Ask) { a.UID = "\xff" }, "uid"},
		{"long hash", func(a *Ask) { a.SpecHash = strings.Repeat("u", 256) }, "specHash"},
		{"long group", func(a *Ask) { a.ConductorGroup = strings.Repeat("u", 256) }, "conductorGroup"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := good
			row.change(&a)
			err := a.Validate()
			if row.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var f *FieldError
			if !errors.As(err, &f) || f.Field != row.field || f.Rule == "" || !strings.Contains(err.Error(), row.field) {
				t.Errorf("error %v, want one of field %s", err, row.field)
			}
			if len(err.Error()) > 200 {
				t.Errorf("%d bytes of error", len(err.Error()))
			}
		})
	}
}

func TestCountsAreClamped(t *testing.T) {
	for given, want := range map[int]int{math.MinInt: 0, -1: 0, 0: 0, 9: 9, 10: 9, math.MaxInt: 9} {
		body := fmt.Sprintf(`{"name":"h","op":"none","errorCount":%d,"provisioningFailCount":%[1]d}`, given)
		a, err := ParseAsk([]byte(body))
		if err != nil || a.ErrorCount != want || a.ProvisioningFailCount != want {
			t.Errorf("%d: %+v, %v; want %d", given, a, err, want)
		}
	}
}

func TestParseAsk(t *testing.T) {
	want := Ask{
		Namespace: "n", Name: "h", UID: "u", NodeUUID: uuid, Op: OpInspect, BMHState: BMHInspecting,
		ErrorCount: 1, ProvisioningFailCount: 2, SpecHash: "s", VirtualMedia: true, ConductorGroup: "g",
		Deleting: true, Planned: true, DryRun: true,
	}
	for i := range reflect.TypeFor[Ask]().NumField() {
		if reflect.ValueOf(want).Field(i).IsZero() {
			t.Errorf("the test has no %s", reflect.TypeFor[Ask]().Field(i).Name)
		}
	}
	body, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(body), strings.Replace(strings.Replace(string(body), uuid, strings.ToUpper(uuid), 1), `"g"`, `"G"`, 1)} {
		if got, err := ParseAsk([]byte(text)); got != want || err != nil { // Ironic's UUIDs and groups are in lower case
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
	}
}

func TestParseAskRefuses(t *testing.T) {
	for _, row := range []struct{ body, field, text string }{
		{``, "", "body: must be one JSON object"},
		{`[]`, "", "body: must be one JSON object"},
		{`{`, "", "body: must be one JSON object"},
		{`{"op":}`, "", "body: must be one JSON object"},
		{`{"op":"none"`, "", "body: must be one JSON object"},
		{`{"op":"none"}}`, "", "body: something follows the JSON object"},
		{`{"op":"none"}{"op":"none"}`, "", "body: something follows the JSON object"},
		{`{"op":"none","op":"none"}`, "op", "op: is given twice"},
		{`{"Op":"none"}`, "Op", "Op: is not a field of this request"},
		{`{"nodeUuid":"x"}`, "nodeUuid", "nodeUuid: is not a field of this request"},
		{`{"op":1}`, "op", "op: must be a string, not number"},
		{`{"errorCount":"1"}`, "errorCount", "errorCount: must be a whole number, not string"},
		{`{"errorCount":1.5}`, "errorCount", "errorCount: must be a whole number, not number 1.5"},
		{`{"errorCount":null}`, "errorCount", "errorCount: must be a whole number, not null"},
		{`{"name":null}`, "name", "name: must be a string, not null"},
		{`{"dryRun":null}`, "dryRun", "dryRun: must be true or false, not null"},
		{`{"op":"none","name":"a\nb"}`, "name", `name: "a\nb" may hold letters, digits, '-', '.' and '_' only`},
		{`{"op":"none","name":"h","uid":"\u0001"}`, "uid", `uid: "\x01" contains a control or an unreadable character`},
		{`{"op":"none"}`, "name", "name: must be set where nodeUUID is not"},
		{`{"deleting":"yes"}`, "deleting", "deleting: must be true or false, not string"},
	} {
		_, err := ParseAsk([]byte(row.body))
		if err == nil || !strings.HasPrefix(err.Error(), row.text) {
			t.Errorf("%s: error %v, want %s", row.body, err, row.text)
		}
		var f *FieldError
		if errors.As(err, &f) != (row.field != "") || f != nil && f.Field != row.field {
			t.Errorf("%s: field of %#v, want %q", row.body, err, row.field)
		}
	}
}

func FuzzParseAsk(f *testing.F) {
	f.Add([]byte(`{"namespace":"n","name":"h","op":"provision","errorCount":-1}`))
	f.Add([]byte(`{"op":"none","op":"none"}`))
	f.Add([]byte(`{"nodeUUID":"` + uuid + `","deleting":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := ParseAsk(body)
		if err != nil {
			return
		}
		if !json.Valid(body) {
			t.Fatalf("accepted what is no JSON: %q", body)
		}
		if a.ErrorCount < 0 || a.ErrorCount > maxErrors || a.Validate() != nil {
			t.Errorf("accepted %+v", a)
		}
		again, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		b, err := ParseAsk(again)
		if b != a || err != nil {
			t.Errorf("%+v, %v, want %+v", b, err, a)
		}
	})
}
