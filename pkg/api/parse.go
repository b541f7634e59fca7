package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// ParseAsk reads the body of POST /v1/isready strictly: one JSON object and
// nothing behind it, only known fields in exactly their spelling, each once. A
// misspelt field would otherwise be a host that quietly asks for less than it
// meant. The error is a *FieldError wherever one field is to blame. The Ask is
// neither validated nor normalized.
func ParseAsk(body []byte) (Ask, error) {
	var a Ask
	if err := parseObject(body, a.field); err != nil {
		return Ask{}, err
	}
	return a, nil
}

// parseObject reads one JSON object into what field points to for each of its names;
// nil is no field.
func parseObject(body []byte, field func(name string) any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return notJSON(err)
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return notJSON(err)
		}
		name, _ := t.(string) // a key is always a string
		target := field(name)
		switch {
		case target == nil:
			return fieldError(name, "", "is not a field of this request")
		case seen[name]:
			return fieldError(name, "", "is given twice")
		}
		seen[name] = true
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return notJSON(err)
		}
		if err := set(name, target, raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("body: something follows the JSON object")
	}
	return nil
}

// set reads one value, which is sound JSON, into target. Of null nobody could say
// what the asker meant.
func set(field string, target any, raw json.RawMessage) error {
	if n, ok := target.(*int); ok {
		if whole, ok := wholeNumber(string(raw)); ok {
			*n = whole
			return nil
		}
	}
	not := "null"
	if string(raw) != not {
		err := json.Unmarshal(raw, target)
		if err == nil {
			return nil
		}
		wrong := new(json.UnmarshalTypeError)
		if !errors.As(err, &wrong) {
			return notJSON(err)
		}
		not = wrong.Value
	}
	return fieldError(field, "", fmt.Sprintf("must be %s, not %s", kindOf(target), not))
}

// wholeNumber reads a JSON number in any of its forms, such as 1e3, and clamps it
// to what an int32 holds: the largest counts all mean the same.
func wholeNumber(text string) (int, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrRange) {
		err = nil // f is the infinity of its sign
	}
	if err != nil || f != math.Trunc(f) {
		return 0, false
	}
	return int(min(max(f, math.MinInt32), math.MaxInt32)), true
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
	case "planned":
		return &a.Planned
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
