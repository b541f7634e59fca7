package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	kjson "sigs.k8s.io/json"
)

// readPage gives each object of a page of a list to show, one at a time: only one is in memory
// as a whole. It returns the token of the next page. What is cut short is an error: it must not
// pass for a list on which many are missing.
func readPage[W any](body io.Reader, show func(*W)) (next string, err error) {
	d := kjson.NewDecoderCaseSensitivePreserveInts(body)
	if err := expect(d, json.Delim('{')); err != nil {
		return "", err
	}
	items := false
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return "", whole(err)
		}
		switch name {
		case "metadata":
			var meta struct {
				Continue string `json:"continue"`
			}
			err = d.Decode(&meta)
			next = meta.Continue
		case "items":
			items = true
			err = readItems(d, show)
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return "", whole(err)
		}
	}
	if err := expect(d, json.Delim('}')); err != nil {
		return "", err
	}
	if !items {
		return "", errors.New("the answer is no list: it has no items")
	}
	return next, nil
}

func readItems[W any](d kjson.Decoder, show func(*W)) error {
	token, err := d.Token()
	if err != nil || token == nil { // null is how Go writes an empty list
		return err
	}
	if token != json.Delim('[') {
		return fmt.Errorf("the answer is no list: %v where items must be", token)
	}
	for d.More() {
		w := new(W)
		if err := d.Decode(w); err != nil {
			return err
		}
		show(w)
	}
	return expect(d, json.Delim(']'))
}

func expect(d kjson.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return whole(err)
	}
	if token != want {
		return fmt.Errorf("the answer is no list: %v where %v must be", token, want)
	}
	return nil
}

// whole is err, which ends an answer too early.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
