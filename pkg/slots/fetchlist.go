package slots

import "slices"

// fetchList holds the hosts whose nodes the next polls fetch because somebody asked about
// them (LH-16), oldest first. A host is on it once at most: one that is not wanted any more keeps
// its entry until next or tidy removes it, and is wanted again in that place.
type fetchList []*host

// fetchState says whether a host is on the fetch list, and whether it still has to be fetched.
type fetchState uint8

const (
	unlisted fetchState = iota
	unwanted            // on the list, and answered or at work since
	wanted              // on the list
)

// add puts h at the end of the list, unless it is on it.
func (f *fetchList) add(h *host) {
	if h.fetch == unlisted {
		*f = append(*f, h)
	}
	h.fetch = wanted
}

// unwant notes that h need not be fetched any more.
func (h *host) unwant() {
	if h.fetch == wanted {
		h.fetch = unwanted
	}
}

// next appends the keys of the first hosts until there are maxWanted of them. These hosts
// go to the end of the list, so that one that cannot be fetched does not delay the others.
func (f *fetchList) next(keys []string) []string {
	var again []*host
	taken := 0
	for _, h := range *f {
		if len(keys) >= maxWanted {
			break
		}
		taken++
		if h.fetch != wanted {
			h.fetch = unlisted
			continue
		}
		again = append(again, h)
		if !slices.Contains(keys, h.key()) {
			keys = append(keys, h.key())
		}
	}
	*f = append(slices.Delete(*f, 0, taken), again...)
	return keys
}

// tidy takes off the hosts that are not wanted any more, so that their memory is freed.
func (f *fetchList) tidy() {
	*f = slices.DeleteFunc(*f, func(h *host) bool {
		if h.fetch == wanted {
			return false
		}
		h.fetch = unlisted
		return true
	})
}
