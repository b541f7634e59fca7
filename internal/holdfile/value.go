package holdfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode is r as a value of the database: "checksum JSON". bbolt has no checksums of
// its own for what it keeps, and one wrong digit of a time would end a hold.
func encode(r holdoff.Record) ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("record of %s: %w", r.UUID, err)
	}
	return fmt.Appendf(nil, "%08x %s", crc32.Checksum(data, castagnoli), data), nil
}

// decode is the record that encode wrote under key.
func decode(key, value []byte) (holdoff.Record, error) {
	const sumSize = 8
	if len(value) <= sumSize || value[sumSize] != ' ' {
		return holdoff.Record{}, errors.New("there is no checksum")
	}
	data := value[sumSize+1:]
	sum, err := strconv.ParseUint(string(value[:sumSize]), 16, 32)
	if err != nil || sum != uint64(crc32.Checksum(data, castagnoli)) {
		return holdoff.Record{}, errors.New("the checksum is wrong")
	}
	r, err := holdoff.ParseRecord(data)
	if err != nil {
		return holdoff.Record{}, err
	}
	if r.UUID != string(key) {
		return holdoff.Record{}, fmt.Errorf("uuid: %q is not that of the key", r.UUID)
	}
	return r, nil
}
