package child

import (
	"errors"
	"io"
	"os"
)

// tailBytes is how much of what a program says is shown where it fails.
const tailBytes = 6 << 10

// Tail is the end of a text, for an error message.
func Tail(s string) string { return s[max(0, len(s)-tailBytes):] }

// TailFile is the end of a log, for an error message; where there is none, it says so.
func TailFile(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return "(no log: " + err.Error() + ")"
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return "(log: " + err.Error() + ")"
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, tailBytes))
	if err != nil && !errors.Is(err, io.EOF) {
		return string(b) + " (" + err.Error() + ")"
	}
	return string(b)
}
