package holdoff

import (
	"maps"
	"time"
)

// Restore enters the records of an earlier Book. Call it before any other method. It skips records that are not valid.
func (b *Book) Restore(now time.Time, records []Record) {
	for _, r := range records {
		if r.check() != nil || len(r.Episodes) == 0 {
			continue
		}
		h := hostOf(now, r)
		h.holds = b.remaining(now, h) > 0
		b.hosts[h.uuid] = h
	}
}

// Records returns all records, in any order, and a revision for Saved. The caller may save them outside its lock.
func (b *Book) Records(now time.Time) (records []Record, revision uint64) {
	records = make([]Record, 0, len(b.hosts))
	for _, h := range b.hosts {
		records = append(records, h.record(now))
	}
	return records, b.revision
}

// Saved notes that a store keeps what Records returned with that revision. Later changes stay unsaved.
func (b *Book) Saved(revision uint64) {
	maps.DeleteFunc(b.unsaved, func(_ string, changed uint64) bool { return changed <= revision })
}

// Unsaved returns how many records have changed, or ended, since they were saved.
func (b *Book) Unsaved() int { return len(b.unsaved) }
