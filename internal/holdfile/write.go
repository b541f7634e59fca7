package holdfile

import (
	"bufio"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"time"
)

// slack is how much may be added to a file, beyond its own size, before it is written anew.
const slack = 1 << 20

// renew writes the file anew, beside, and puts it in the place of what is at path.
func (f *File) renew() error {
	file, err := create(f.path)
	if err != nil {
		return err
	}
	info, err := f.fill(file)
	if err == nil && f.broken {
		err = f.keepOld()
	}
	if err == nil {
		err = os.Rename(file.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, file.Close(), os.Remove(file.Name()))
	}
	f.giveUp()
	f.broken, f.gone = false, false
	if err := syncDir(f.path); err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.info, f.size, f.most = file, info, info.Size(), 2*info.Size()+slack
	return nil
}

// fill writes all that is known to a new file. It is on the disk then.
func (f *File) fill(file *os.File) (os.FileInfo, error) {
	text := bufio.NewWriter(file)
	_, _ = text.Write(firstLine) // Flush says what has failed
	for _, uuid := range slices.Sorted(maps.Keys(f.lines)) {
		_, _ = text.Write(appendLine(nil, verbPut, f.lines[uuid]))
	}
	_, _ = text.Write(appendLine(nil, verbWhole, nil))
	if err := errors.Join(text.Flush(), file.Sync()); err != nil {
		return nil, err
	}
	return file.Stat()
}

// add adds to the file. When it returns nil that is on the disk; else nobody knows what is.
func (f *File) add(puts map[string][]byte, deletes []string) error {
	var text []byte
	for _, uuid := range slices.Sorted(maps.Keys(puts)) {
		text = appendLine(text, verbPut, puts[uuid])
	}
	for _, uuid := range deletes {
		name, err := json.Marshal(uuid)
		if err != nil {
			return err
		}
		text = appendLine(text, verbDelete, name)
	}
	if f.size += int64(len(text)); f.size > maxFile {
		return errTooLarge // the next Save writes it anew
	}
	_, err := f.file.Write(text)
	return errors.Join(err, f.file.Sync())
}

// giveUp closes a file that must be written anew before it is used again.
func (f *File) giveUp() {
	if f.file != nil {
		_ = f.file.Close()
	}
	f.file = nil
}

// keepOld keeps what is at path, if anything is in it.
func (f *File) keepOld() error {
	aside, err := keepAside(f.path, time.Now())
	if err != nil || aside == "" {
		return err
	}
	f.log.Error("the old holds file is kept", "file", aside)
	if err := prune(f.path); err != nil {
		f.log.Warn("old holds files cannot be removed", "error", err)
	}
	return nil
}
