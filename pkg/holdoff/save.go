package holdoff

import (
	"maps"
	"time"
)

// Restore enters what was kept of an earlier Book, before anything else happens. Records that no Book has written are left out.
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

// Records returns all records, in any order, and a revision for Saved. The owner keeps them outside its lock.
func (b *Book) Records(now time.Time) (records []Record, revision uint64) {
	records = make([]Record, 0, len(b.hosts))
	for _, h := range b.hosts {
		records = append(records, h.record(now))
	}
	return records, b.revision
}

// Saved notes that what Records returned with that revision is kept. What has changed since then stays unsaved.
func (b *Book) Saved(revision uint64) {
	maps.DeleteFunc(b.unsaved, func(_ string, changed uint64) bool { return changed <= revision })
}

// Unsaved is the number of hosts whose record has changed, or ended, since it was saved.
func (b *Book) Unsaved() int { return len(b.unsaved) }
