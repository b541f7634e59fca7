package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ParseAsk reads the body of POST /v1/isready strictly: one JSON object and
// nothing behind it, only known fields in exactly their spelling, each once. A
// misspelt field would otherwise be a host that quietly asks for less than it
// meant. The error is a *FieldError wherever one field is to blame. The Ask is
// neither validated nor normalized.
func ParseAsk(body []byte) (Ask, error) {
	var a Ask
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return Ask{}, notJSON(err)
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return Ask{}, notJSON(err)
		}
		field, _ := t.(string) // a key is always a string
		target := a.field(field)
		switch {
		case target == nil:
			return Ask{}, fieldError(field, "", "is not a field of this request")
		case seen[field]:
			return Ask{}, fieldError(field, "", "is given twice")
		}
		seen[field] = true
		if err := d.Decode(target); err != nil {
			if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
				return Ask{}, fieldError(field, "", fmt.Sprintf("must be %s, not %s", kindOf(target), wrong.Value))
			}
			return Ask{}, notJSON(err)
		}
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return Ask{}, notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Ask{}, errors.New("body: something follows the JSON object")
	}
	return a, nil
}

// notJSON is the error of a body that is no JSON object.
func notJSON(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return errors.New("body: must be one JSON object")
	}
	return fmt.Errorf("body: must be one JSON object: %w", err)
}

// field points to the field of a that the JSON calls name, or is nil. A test
// holds the list equal to the tags of Ask.
func (a *Ask) field(name string) any {
	switch name {
	case "namespace":
		return &a.Namespace
	case "name":
		return &a.Name
	case "uid":
		return &a.UID
	case "nodeUUID":
		return &a.NodeUUID
	case "op":
		return &a.Op
	case "bmhState":
		return &a.BMHState
	case "errorCount":
		return &a.ErrorCount
	case "provisioningFailCount":
		return &a.ProvisioningFailCount
	case "specHash":
		return &a.SpecHash
	case "virtualMedia":
		return &a.VirtualMedia
	case "conductorGroup":
		return &a.ConductorGroup
	case "deleting":
		return &a.Deleting
	case "dryRun":
		return &a.DryRun
	}
	return nil
}

// kindOf names the JSON type that target takes.
func kindOf(target any) string {
	switch target.(type) {
	case *int:
		return "a whole number"
	case *bool:
		return "true or false"
	}
	return "a string"
}
