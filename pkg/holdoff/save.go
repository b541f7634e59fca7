package holdoff

import (
	"maps"
	"slices"
	"time"
)

// Store keeps the records. Load is called once, before the first Save; known is false where nothing was ever kept. Save is
// called by one at a time, has kept all of the batch when it returns nil, and may be given it again when it does not.
type Store interface {
	Load() (records []Record, known bool, err error)
	Save(Batch) error
	Close() error
}

// Batch is what has changed.
type Batch struct {
	Puts    []Record // by UUID
	Deletes []string // UUIDs, sorted

	revisions map[string]uint64
}

// Empty reports whether there is nothing to save.
func (b Batch) Empty() bool { return len(b.Puts) == 0 && len(b.Deletes) == 0 }

// Lines are the Puts as Line writes them, by UUID.
func (b Batch) Lines() (map[string][]byte, error) {
	lines := make(map[string][]byte, len(b.Puts))
	for _, r := range b.Puts {
		line, err := r.Line()
		if err != nil {
			return nil, err
		}
		lines[r.UUID] = line
	}
	return lines, nil
}

// Restore enters what a Store has loaded, before anything else happens. Records that no Book has written are left out.
func (b *Book) Restore(now time.Time, records []Record) {
	for _, r := range records {
		if r.check() != nil || len(r.Episodes) == 0 {
			continue
		}
		h := hostOf(now, r)
		h.holds = b.left(now, h) > 0
		b.hosts[h.uuid] = h
	}
}

// Unsaved returns what has changed since the last save. The owner saves it outside its lock and then calls Saved.
func (b *Book) Unsaved(now time.Time) Batch {
	batch := Batch{revisions: maps.Clone(b.unsaved)}
	for _, uuid := range slices.Sorted(maps.Keys(b.unsaved)) {
		if h, known := b.hosts[uuid]; known {
			batch.Puts = append(batch.Puts, h.record(now))
		} else {
			batch.Deletes = append(batch.Deletes, uuid)
		}
	}
	return batch
}

// Saved notes that a Store has batch. What has changed since Unsaved returned it stays unsaved.
func (b *Book) Saved(batch Batch) {
	maps.DeleteFunc(b.unsaved, func(uuid string, revision uint64) bool { return batch.revisions[uuid] == revision })
}

// Lost notes that the Store has lost its records: all of them are unsaved again.
func (b *Book) Lost() {
	for uuid := range b.hosts {
		b.changed(uuid)
	}
}

// UnsavedCount is the number of hosts whose records are to be saved.
func (b *Book) UnsavedCount() int { return len(b.unsaved) }
