package ironic

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
)

// roll is a Catalog that is being read.
type roll struct {
	Catalog
	arena strings.Builder
	seq   uint64 // of the mark before the page
	last  int    // the row that was read last

	id, called []byte // room for the row that is being read
}

// maxWord is the highest number of a word.
const maxWord = math.MaxUint16

var (
	errManyWords = fmt.Errorf("more than %d different states, or boot interfaces and conductor groups, or %d bytes of them", maxWord+1, maxWordBytes)
	errMuchText  = fmt.Errorf("more than %d bytes of uuids and names", maxRosterBytes)
	errManyNodes = fmt.Errorf("more than %d nodes", maxNodes)
)

func newRoll() *roll {
	return &roll{Catalog: Catalog{
		words:  newWords(),
		roster: &roster{shared: newWords(), byUUID: newIndex(0, true)},
	}}
}

// row takes a row up; false for one without a usable uuid.
func (r *roll) row(in *reader) (bool, error) {
	r.id, r.called = r.id[:0], r.called[:0]
	state, okState := r.words.code(nil)
	boot, okBoot := r.shared.code(nil)
	group, okGroup := boot, okBoot
	err := in.object(func(name []byte) (err error) {
		var text []byte
		switch string(name) {
		case "uuid":
			text, err = in.text(maxKeyLen + 1)
			r.id = append(r.id[:0], text...)
		case "name":
			text, err = in.text(maxTextLen)
			r.called = append(r.called[:0], text...)
		case "provision_state":
			text, err = in.text(maxTextLen)
			state, okState = r.words.code(text)
		case "boot_interface":
			text, err = in.text(maxTextLen)
			boot, okBoot = r.shared.code(text)
		case "conductor_group":
			text, err = in.text(maxTextLen)
			group, okGroup = r.shared.code(text)
		default:
			err = in.skip()
		}
		return err
	})
	switch {
	case err != nil:
		return false, err
	case !okState || !okBoot || !okGroup:
		return false, errManyWords
	case len(r.id) > maxKeyLen || len(bytes.TrimSpace(r.id)) == 0:
		return false, nil
	}
	return true, r.put(state, boot, group)
}

// put adds the row that was read, or puts it where its node is already.
func (r *roll) put(state, boot, group uint16) error {
	start := r.arena.Len()
	switch {
	case start+len(r.id)+len(r.called) > maxRosterBytes:
		return errMuchText
	case len(r.starts) >= maxNodes:
		return errManyNodes
	}
	r.arena.Write(r.id)
	r.arena.Write(r.called)
	r.text = r.arena.String()
	id := r.text[start:][:len(r.id)]

	i, added := r.byUUID.put(id, len(r.starts), r.uuid)
	if added {
		r.starts, r.uuids, r.names = append(r.starts, 0), append(r.uuids, 0), append(r.names, 0)
		r.boots, r.groups = append(r.boots, 0), append(r.groups, 0)
		r.states, r.seqs = append(r.states, 0), append(r.seqs, 0)
	}
	r.starts[i], r.uuids[i], r.names[i] = uint32(start), uint8(len(r.id)), uint16(len(r.called)) //nolint:gosec // all bounded above
	r.states[i], r.seqs[i], r.boots[i], r.groups[i] = state, r.seq, boot, group
	r.last = i
	return nil
}

// done returns the Catalog, without the room that was kept to grow.
func (r *roll) done(pageLimit int) *Catalog {
	old := r.roster
	return &Catalog{
		words: r.words, states: slices.Clone(r.states), seqs: slices.Clone(r.seqs),
		roster: &roster{
			begun: old.begun, pageLimit: pageLimit, text: strings.Clone(old.text),
			starts: slices.Clone(old.starts), uuids: slices.Clone(old.uuids), names: slices.Clone(old.names),
			boots: slices.Clone(old.boots), groups: slices.Clone(old.groups), shared: old.shared, byUUID: old.byUUID,
		},
	}
}
