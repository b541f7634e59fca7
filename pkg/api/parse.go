package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ParseAsk reads the body of POST /v1/isready strictly: one JSON object and nothing behind it, only known fields in
// exactly their spelling, each once. A misspelt field would otherwise be a host that quietly asks for less than it
// meant. The error is a *FieldError wherever one field is to blame. The Ask is normalized and valid.
func ParseAsk(body []byte) (Ask, error) {
	var a Ask
	err := parseObject(body, map[string]any{
		"namespace": &a.Namespace, "name": &a.Name, "uid": &a.UID, "nodeUUID": &a.NodeUUID,
		"op": &a.Op, "bmhState": &a.BMHState,
		"errorCount": &a.ErrorCount, "provisioningFailCount": &a.ProvisioningFailCount,
		"specHash": &a.SpecHash, "virtualMedia": &a.VirtualMedia, "conductorGroup": &a.ConductorGroup,
		"deleting": &a.Deleting, "planned": &a.Planned, "dryRun": &a.DryRun,
	})
	if err == nil {
		a = a.Normalize()
		err = a.Validate()
	}
	if err != nil {
		return Ask{}, err
	}
	return a, nil
}

// parseObject reads one JSON object into what fields point to, by their names, and takes out of fields what it has
// read. What null means would be a guess.
func parseObject(body []byte, fields map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return notJSON(err)
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return notJSON(err)
		}
		name, _ := t.(string) // a key is always a string
		target, known := fields[name]
		switch {
		case !known:
			return fieldError(name, "", "is not a field of this request")
		case target == nil:
			return fieldError(name, "", "is given twice")
		}
		fields[name] = nil
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return notJSON(err)
		}
		wrong := &json.UnmarshalTypeError{Value: "null"}
		if string(value) != "null" {
			err := json.Unmarshal(value, target)
			if err == nil {
				continue
			}
			if !errors.As(err, &wrong) {
				return notJSON(err)
			}
		}
		return fieldError(name, "", fmt.Sprintf("must be %s, not %s", kindOf(target), wrong.Value))
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("body: something follows the JSON object")
	}
	return nil
}

// notJSON is the error of a body that is no JSON object.
func notJSON(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return errors.New("body: must be one JSON object")
	}
	return fmt.Errorf("body: must be one JSON object: %w", err)
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
