package holdfile

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// bucket is where the records are, and fill how much of a page they take when it is
// full: they are mostly written all at once, in order.
const (
	bucket = "holds"
	fill   = 0.9
)

// lockWait is how long Open waits for another process to let go.
const lockWait = 2 * time.Second

// File is the ledger in a file, a holdoff.Store. It may be used by several goroutines.
type File struct {
	path string
	log  *slog.Logger
	lock *os.File

	mu     sync.Mutex
	closed bool
	// db is the database at path; nil when it must be written anew first.
	db *bbolt.DB
	// file is db's, and info is what it was after the latest transaction.
	file *os.File
	info os.FileInfo
	// values are what a database that is written anew holds, by UUID.
	values map[string][]byte
	// broken tells that what is at path now, if anything, must be kept aside.
	broken bool
	// gone tells that db was no more at path, and was not written anew since.
	gone bool

	loaded []holdoff.Record
	known  bool
}

var _ holdoff.Store = (*File)(nil)

// Open opens the ledger at path and makes one where there is none; the directory must
// be there. A nil log is silent.
//
// It fails when path cannot be ours: no directory, no permission, something else than a
// file, or held by another process. A broken file is no failure: it is moved aside and
// told in the log. A full disk is none either: Save says so until there is room.
func Open(path string, log *slog.Logger) (*File, error) {
	return open(path, log, lockWait)
}

func open(path string, log *slog.Logger, wait time.Duration) (*File, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	if err := checkPlace(path); err != nil {
		return nil, fmt.Errorf("holds file: %w", err)
	}
	lock, err := takeLock(path+suffixLock, wait)
	if err != nil {
		return nil, fmt.Errorf("holds file: %s: %w", path, err)
	}
	f := &File{path: path, log: log, lock: lock, values: map[string][]byte{}}
	err = f.read()
	if err == nil {
		if err = f.renew(); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			log.Error("the holds file cannot be written, holds are lost if this process ends now", "file", path, "error", err)
			err = nil
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("holds file: %w", err), f.Close())
	}
	return f, nil
}

// read takes in what is at path.
func (f *File) read() error {
	r, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		f.log.Warn("there is no holds file yet: hosts that have failed before are held from now on", "file", f.path)
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Close()
	info, err := r.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		f.log.Warn("the holds file is empty: if it has had holds, they are lost; hosts that have failed before are held from now on", "file", f.path)
		return nil
	}
	unread, why := 0, error(nil)
	broken := pairs(r, info.Size(), bucket, func(key, value []byte) {
		record, err := decode(key, value)
		if err != nil {
			unread++
			why = err
			return
		}
		f.loaded = append(f.loaded, record)
		f.values[record.UUID] = bytes.Clone(value)
	})
	switch {
	case broken != nil:
		f.log.Error("the holds file is broken and is moved aside: its holds are lost, hosts that have failed are held from now on",
			"file", f.path, "error", broken)
		f.loaded, f.broken = nil, true
		clear(f.values)
	case unread > 0:
		f.log.Error("the holds file has records that cannot be read, of a later version or broken; it is kept aside and"+
			" hosts without a record that have failed are held from now on",
			"file", f.path, "unread", unread, "read", len(f.loaded), "last", why)
		f.broken = true
	default:
		f.known = true
	}
	return nil
}

// Load returns the records that Open has found. known tells that these are all that
// there were.
func (f *File) Load() (records []holdoff.Record, known bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, false, fs.ErrClosed
	}
	records, f.loaded = f.loaded, nil
	return records, f.known, nil
}

// Save keeps b. When it returns nil, all of b is on the disk; else none of it, and it
// may be given again.
func (f *File) Save(b holdoff.Batch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fmt.Errorf("holds file: %s: %w", f.path, fs.ErrClosed)
	}
	puts := make(map[string][]byte, len(b.Puts))
	for _, r := range b.Puts {
		value, err := encode(r)
		if err != nil {
			return fmt.Errorf("holds file: %w", err)
		}
		puts[r.UUID] = value
	}
	if err := f.save(puts, b.Deletes); err != nil {
		return fmt.Errorf("holds file: %s: %w", f.path, err)
	}
	return nil
}

func (f *File) save(puts map[string][]byte, deletes []string) error {
	if err := f.ready(); err != nil {
		return err
	}
	if err := f.guarded(func() error { return update(f.db, puts, deletes) }); err != nil {
		f.giveUp()
		return err
	}
	if info, err := f.file.Stat(); err == nil {
		f.info = info
	}
	maps.Copy(f.values, puts)
	for _, uuid := range deletes {
		delete(f.values, uuid)
	}
	return nil
}

// Close ends the use of the file. Twice is harmless.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	f.values, f.loaded = nil, nil
	var err error
	if f.db != nil {
		err = f.db.Close()
	}
	return errors.Join(err, f.lock.Close())
}

// renew writes the database anew, puts it in the place of what is at path, and opens it.
func (f *File) renew() error {
	fresh := f.path + suffixNew
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := f.guarded(func() error {
		db, _, err := openDB(fresh)
		if err != nil {
			return err
		}
		return errors.Join(update(db, f.values, nil), db.Close())
	})
	if err != nil {
		return errors.Join(err, os.Remove(fresh))
	}
	if f.broken {
		if err := f.keepAside(); err != nil {
			return err
		}
	}
	if err := os.Rename(fresh, f.path); err != nil {
		return err
	}
	f.broken, f.gone = false, false
	if err := syncDir(f.path); err != nil {
		return err
	}
	return f.guarded(func() error {
		db, file, err := openDB(f.path)
		if err != nil {
			return err
		}
		if f.info, err = file.Stat(); err != nil {
			return errors.Join(err, db.Close())
		}
		f.db, f.file = db, file
		return nil
	})
}

// keepAside gives what is at path another name, if anything is in it.
func (f *File) keepAside() error {
	info, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	aside, err := moveAside(f.path, time.Now())
	if err != nil {
		return err
	}
	f.log.Error("the old holds file is kept", "file", aside)
	if err := prune(f.path); err != nil {
		f.log.Warn("old holds files cannot be removed", "error", err)
	}
	return nil
}

// openDB opens the database at path, which is new or was written by renew.
func openDB(path string) (db *bbolt.DB, file *os.File, err error) {
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{
		Timeout: lockWait,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			var err error
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("open: %w", err)
	}
	return db, file, nil
}

// update is one transaction.
func update(db *bbolt.DB, puts map[string][]byte, deletes []string) error {
	return db.Update(func(tx *bbolt.Tx) error {
		holds, err := tx.CreateBucketIfNotExists([]byte(bucket))
		if err != nil {
			return err
		}
		holds.FillPercent = fill
		for _, uuid := range slices.Sorted(maps.Keys(puts)) {
			if err := holds.Put([]byte(uuid), puts[uuid]); err != nil {
				return err
			}
		}
		for _, uuid := range deletes {
			if err := holds.Delete([]byte(uuid)); err != nil {
				return err
			}
		}
		return nil
	})
}

// errPanic tells that bbolt has panicked.
var errPanic = errors.New("the database failed")

// guarded runs do. A panic, or a fault because the file was cut off under us, is an
// error.
func (f *File) guarded(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			f.db = nil // its locks may be held for ever
			err = fmt.Errorf("%w: %v", errPanic, r)
		}
	}()
	return do()
}

// giveUp closes a database of which it is not known what it holds.
func (f *File) giveUp() {
	if f.db == nil {
		return
	}
	db := f.db
	f.db = nil
	_ = f.guarded(db.Close)
}
