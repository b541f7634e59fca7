package holdoff

import (
	"maps"
	"slices"
	"time"
)

// maxStep is by how much the wall clock may be set without all records being saved
// again: holds outlive a restart to within this.
const maxStep = time.Second

// Store keeps the records. Load is called once, before the first Save; known is as in
// New. Save is called by one at a time, has kept all of the batch when it returns nil,
// and may be given it again when it does not.
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

// Restore enters what a Store has loaded, before anything else happens. Records that
// no Book has written, and those of hosts that are known already, are left out.
func (b *Book) Restore(now time.Time, records []Record) {
	now = b.clock(now)
	for _, r := range records {
		if b.hosts[r.UUID] != nil || r.check() != nil {
			continue
		}
		e, exact := entryOf(now, r)
		b.put(now, e)
		b.stored[r.UUID] = true
		if b.left(now, &e) > 0 {
			b.counts.held[r.UUID] = e.name
		}
		if exact {
			delete(b.unsaved, r.UUID)
		}
	}
}

// Unsaved returns what has changed since the last save. The owner saves it outside
// its lock and then calls Saved. If the wall clock was set since, it returns
// all records: a t0 that a wrong clock wrote must not be read by a right one.
func (b *Book) Unsaved(now time.Time) Batch {
	if b == nil {
		return Batch{}
	}
	now = b.clock(now)
	if step := now.Round(0).Sub(b.wall.Round(0)) - now.Sub(b.wall); step > maxStep || step < -maxStep {
		b.Lost()
		b.wall = now
	}
	batch := Batch{revisions: maps.Clone(b.unsaved)}
	for _, uuid := range slices.Sorted(maps.Keys(b.unsaved)) {
		if e := b.hosts[uuid]; e != nil {
			batch.Puts = append(batch.Puts, e.record(now))
			b.stored[uuid] = true
		} else {
			batch.Deletes = append(batch.Deletes, uuid)
		}
	}
	return batch
}

// Saved notes that a Store has batch. What has changed since Unsaved returned it stays
// unsaved.
func (b *Book) Saved(batch Batch) {
	for uuid, revision := range batch.revisions {
		if b.unsaved[uuid] != revision {
			continue
		}
		delete(b.unsaved, uuid)
		if b.hosts[uuid] == nil {
			delete(b.stored, uuid)
		}
	}
}

// Lost notes that the Store has lost its records: all of them are unsaved again.
func (b *Book) Lost() {
	if b == nil {
		return
	}
	for uuid := range b.hosts {
		b.changed(uuid)
	}
}

// UnsavedCount is the number of hosts whose records are to be saved.
func (b *Book) UnsavedCount() int { return len(b.unsaved) }
