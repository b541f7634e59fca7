package holdfile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// Verbs of a line.
const (
	verbFormat = "format" // of the file: the first line
	verbPut    = "put"    // a record
	verbWhole  = "whole"  // the end of what the file was written with
	verbDelete = "delete" // the UUID of a host that has no record any more
)

// format is what we write; a record has a version of its own.
const format = "1"

// maxLine is the longest line that is read, and maxFile the largest file: twice what the
// most hosts need that a Book has, each with three long episodes.
const (
	maxLine = holdoff.MaxLine + 64
	maxFile = 1 << 30
)

var (
	errTooLarge = fmt.Errorf("more than %d bytes are too many", maxFile)

	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	firstLine  = appendLine(nil, verbFormat, []byte(format))
)

// appendLine adds a line to text. It has a checksum, as one wrong digit of a time would
// end a hold.
func appendLine(text []byte, verb string, data []byte) []byte {
	body := fmt.Appendf(nil, "%s %s", verb, data)
	return fmt.Appendf(text, "%08x %s\n", crc32.Checksum(body, castagnoli), body)
}

// cutLine takes apart what appendLine has made.
func cutLine(line []byte) (verb string, data []byte, err error) {
	_, body, _ := bytes.Cut(line, []byte(" "))
	word, data, _ := bytes.Cut(bytes.TrimSuffix(body, []byte("\n")), []byte(" "))
	if !bytes.Equal(line, appendLine(nil, string(word), data)) {
		return "", nil, errors.New("a checksum is wrong")
	}
	return string(word), data, nil
}

// ledger is what was read of a file.
type ledger struct {
	records map[string]holdoff.Record
	lines   map[string][]byte // the same, as they were written
	seen    int               // lines of the file
	format  string            // "": not known
	whole   bool              // what it was written with is there
	unread  int               // lines that could not be read, or are missing
	why     error             // the last of these
	torn    int               // bytes of an unfinished last line
}

// read reads a file, with no more memory than for a line and the records. What is wrong
// with single lines is in the ledger; it fails where nothing can be read.
func read(r io.Reader) (*ledger, error) {
	l := &ledger{records: map[string]holdoff.Record{}, lines: map[string][]byte{}}
	text := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := text.ReadSlice('\n')
		size := len(line)
		for ; errors.Is(err, bufio.ErrBufferFull); size += len(line) {
			line, err = text.ReadSlice('\n')
		}
		switch {
		case errors.Is(err, io.EOF):
			l.torn = size
			return l, l.end()
		case err != nil:
			l.miss(err)
			return l, l.end()
		case size > len(line):
			l.miss(fmt.Errorf("a line is longer than %d bytes", maxLine))
		default:
			if err := l.take(line); err != nil {
				l.miss(err)
			}
		}
		l.seen++
	}
}

func (l *ledger) miss(why error) {
	l.unread++
	l.why = why
}

// take takes one line in.
func (l *ledger) take(line []byte) error {
	verb, data, err := cutLine(line)
	if err != nil {
		return err
	}
	switch verb {
	case verbPut:
		r, err := holdoff.ParseRecord(data)
		if err != nil {
			return err
		}
		l.records[r.UUID], l.lines[r.UUID] = r, bytes.Clone(data)
	case verbDelete:
		var uuid string
		if err := json.Unmarshal(data, &uuid); err != nil {
			return err
		}
		delete(l.records, uuid)
		delete(l.lines, uuid)
	case verbWhole:
		l.whole = true
	case verbFormat:
		if l.format = string(data); l.seen > 0 {
			return errors.New("a first line is not the first one")
		}
	default:
		return fmt.Errorf("%.20q is not known", verb)
	}
	return nil
}

// end judges the whole.
func (l *ledger) end() error {
	switch {
	case l.unread >= l.seen:
		return errors.New("it is no file of holds")
	case l.format != "" && l.format != format:
		return fmt.Errorf("format: %.20q is not %s", l.format, format)
	case l.format == "" && l.unread == 0:
		l.miss(errors.New("its first line is missing"))
	case !l.whole:
		l.miss(errors.New("it was cut off"))
	}
	return nil
}
