package holdfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ironic-throttle/ironic-throttle/internal/plainfile"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// verbLimits begins the one line of the file beside that keeps what is known of limits.
const verbLimits = "limits"

// maxLimits is the largest such file, in bytes.
const maxLimits = sizing.MaxState + 64

// LoadLimits returns what was saved last of the limits, nothing where that never was. What
// cannot be read, broken or of a later version, is an error; it stays until SaveLimits replaces it.
func (f *File) LoadLimits() (sizing.State, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.path + suffixLimits
	s, err := sizing.State{}, fs.ErrClosed
	if !f.closed {
		s, err = readLimits(path)
	}
	if err != nil {
		return sizing.State{}, fmt.Errorf("limits file: %s: %w", path, err)
	}
	return s, nil
}

func readLimits(path string) (sizing.State, error) {
	if err := checkKind(path); err != nil {
		return sizing.State{}, err
	}
	text, err := plainfile.Read(path, maxLimits)
	if errors.Is(err, fs.ErrNotExist) {
		return sizing.State{}, nil
	}
	if err != nil {
		return sizing.State{}, err
	}
	return parseLimits(text)
}

func parseLimits(text []byte) (sizing.State, error) {
	verb, data, err := cutLine(text)
	switch {
	case err != nil:
		return sizing.State{}, err
	case verb != verbLimits:
		return sizing.State{}, fmt.Errorf("%.20q is not known", verb)
	}
	return sizing.ParseState(data)
}

// SaveLimits keeps the text of a sizing.State. When it returns nil that is on the disk; else that or
// what was saved before. The holds are in another file, and not touched.
func (f *File) SaveLimits(text []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := f.path + suffixLimits
	err := fs.ErrClosed
	if !f.closed {
		err = f.keepLock()
	}
	if err == nil {
		err = replace(path, appendLine(nil, verbLimits, text))
	}
	if err != nil {
		return fmt.Errorf("limits file: %s: %w", path, err)
	}
	return nil
}

// replace puts a file with this text at path: at no moment is there half of it.
func replace(path string, text []byte) error {
	file, err := create(path)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return syncDir(path)
}
